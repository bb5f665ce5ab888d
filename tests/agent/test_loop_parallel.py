"""Which calls run beside each other, and that results keep the order in which they were asked for."""

import asyncio
from typing import Any, ClassVar

import pytest

from agent.events import Answered, CallFinished, CallPrinted, CallStarted, Event
from agent.exchange import Terms
from agent.running import MOST_AT_ONCE
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from tests.agent.bench import Bench
from tests.servers.model import ModelServer, calls, text


class NumberedArguments(ToolArguments):
    """Which of the calls it is."""

    number: int


class Meet(Tool[NumberedArguments]):
    """Looks, and waits until `expected` calls are at it at once; then the later ones end first."""

    name: ClassVar[str] = "meet"
    description: ClassVar[str] = "Wait for others."
    risk: ClassVar[Risk] = Risk.READ
    parallel_safe: ClassVar[bool] = True
    arguments = NumberedArguments

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.inside = self.most = 0
        self.met = asyncio.Event()
        self.ended: list[int] = []

    async def preview(self, arguments: NumberedArguments, context: ToolContext) -> Preview:
        return Preview(title=f"meet {arguments.number}")

    async def run(self, arguments: NumberedArguments, context: ToolContext) -> ToolResult:
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside == self.expected:
            self.met.set()
        await self.met.wait()
        while arguments.number < self.expected and arguments.number + 1 not in self.ended:
            await asyncio.sleep(0)
        self.ended.append(arguments.number)
        self.inside -= 1
        return ToolResult(text=f"met {arguments.number}")


class Never(Meet):
    """Looks for ever."""

    name: ClassVar[str] = "never"

    async def run(self, arguments: NumberedArguments, context: ToolContext) -> ToolResult:
        await asyncio.Event().wait()
        raise AssertionError


def told(server: ModelServer) -> list[str]:
    return [message["content"] for message in server.requests[-1].json["messages"] if message["role"] == "tool"]


def meet(*numbers: int) -> list[tuple[str, dict[str, Any]]]:
    return [("meet", {"number": number}) for number in numbers]


@pytest.mark.requirement("loop.parallel")
def test_looks_run_four_at_once_and_their_results_keep_the_order(bench: Bench, server: ModelServer) -> None:
    meeting = Meet(MOST_AT_ONCE)
    bench.tools.append(meeting)
    server.add(calls(*meet(1, 2, 3, 4, 5, 6)), text("done"))
    bench.inbox.say("go", "1")

    events = asyncio.run(bench.run())

    assert meeting.most == MOST_AT_ONCE == 4
    assert [number for number in meeting.ended if number <= 4] == [4, 3, 2, 1]
    assert [int(result.split("met ")[1].split("\n")[0]) for result in told(server)] == [1, 2, 3, 4, 5, 6]
    finished = [event.call.arguments["number"] for event in events if isinstance(event, CallFinished)]
    assert finished == [1, 2, 3, 4, 5, 6]


@pytest.mark.requirement("loop.parallel")
def test_a_write_between_looks_splits_them(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(mode="edits")
    write = ("write_file", {"path": "a", "content": "x"})
    server.add(calls(("list_dir", {"path": "."}), write, ("list_dir", {"path": "./."})), text("done"))
    bench.inbox.say("go", "1")

    events = asyncio.run(bench.run())

    order = [
        (type(event).__name__, event.call.name) for event in events if isinstance(event, CallStarted | CallFinished)
    ]
    assert order == [
        (kind, name) for name in ("list_dir", "write_file", "list_dir") for kind in ("CallStarted", "CallFinished")
    ]
    first, _, last = told(server)
    assert "[F] a " not in first
    assert "[F] a " in last


@pytest.mark.requirement("loop.parallel-fails")
def test_a_look_that_fails_or_never_ends_does_not_end_the_ones_beside_it(bench: Bench, server: ModelServer) -> None:
    bench.tools.append(Never(1))
    bench.terms = Terms(look_seconds=0.2)
    wanted = [("read_file", {"path": "missing"}), ("never", {"number": 1}), ("list_dir", {"path": "."}), ("fly", {})]
    server.add(calls(*wanted), text("done"))
    bench.inbox.say("go", "1")

    events = asyncio.run(bench.run())

    missing, late, listed, unknown = told(server)
    assert "does not exist" in missing
    assert "Timed out" in late
    assert "(the directory is empty)" in listed
    assert "There is no tool 'fly'" in unknown
    assert isinstance(events[-1], Answered)


@pytest.mark.requirement("loop.order", "turn.recovers")
def test_a_look_that_was_running_when_the_process_died_is_simply_done_again(bench: Bench, server: ModelServer) -> None:
    server.add(calls(("list_dir", {"path": "."})), text("done"))
    bench.inbox.say("go", "1")
    asyncio.run(bench.run(until=CallStarted))

    assert isinstance(asyncio.run(bench.run())[-1], Answered)
    assert "(the directory is empty)" in told(server)[0]


@pytest.mark.requirement("tools.stream")
def test_what_a_command_prints_is_told_while_it_runs(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(mode="auto")
    wait = "echo first; until [ -e go ]; do sleep 0.01; done; echo second"
    server.add(calls(("execute_command", {"command": wait})), text("done"))
    bench.inbox.say("go", "1")

    def let_go(event: Event) -> None:
        if isinstance(event, CallPrinted) and "first" in event.text:
            (bench.project_path / "go").touch()

    events = asyncio.run(bench.run(watch=let_go))

    printed = "".join(event.text for event in events if isinstance(event, CallPrinted))
    assert printed == "first\nsecond\n"
    kinds = [type(event) for event in events]
    assert kinds.index(CallStarted) < kinds.index(CallPrinted) < kinds.index(CallFinished)
