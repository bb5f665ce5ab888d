"""The live message of a task, from the events that its session tells."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

import pytest

from agent.conversation import Task
from agent.events import (
    ApprovalNeeded,
    CallFinished,
    CallPrinted,
    CallStarted,
    Event,
    MessageTaken,
    StepStarted,
    TextStreamed,
)
from agent.model import ToolCall
from agent.tool import Preview, Risk
from tests.servers.doors import CHAT, Shop
from worker.messages import Notice, Progress
from worker.narration import Narrator

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def call(call_id: str, name: str = "read_file") -> ToolCall:
    return ToolCall(id=call_id, name=name, arguments={})


def started(call_id: str, title: str) -> CallStarted:
    return CallStarted(call=call(call_id), title=title)


def finished(call_id: str, title: str, *, ok: bool = True) -> CallFinished:
    return CallFinished(call=call(call_id), title=title, ok=ok)


@dataclass
class Chat:
    """A narrator with its chat: what it tells is shown as the live message stands then."""

    shop: Shop
    conversation: str
    narrator: Narrator
    task: Task

    async def tell(self, *events: Event) -> None:
        for event in events:
            await self.narrator.tell(event, self.task)

    async def live(self) -> Progress:
        """The latest state of the live message; everything is taken out of the outbox."""
        found: list[Progress] = []
        while pending := await self.shop.doors.outbox.first(self.conversation):
            if isinstance(pending.entry.content, Progress):
                found.append(pending.entry.content)
            await self.shop.doors.outbox.delivered(pending)
        return found[-1]

    async def lines(self) -> list[tuple[str, str]]:
        return [(line.title, line.state) for line in (await self.live()).calls]


@pytest.fixture
async def chat(shop: Shop) -> Chat:
    conversation = await shop.accept("do it")
    lease = await shop.leases.begin(conversation)
    assert lease
    seconds = count()
    narrator = Narrator(
        outbox=shop.doors.outbox,
        conversation_id=conversation,
        address=CHAT,
        language="en",
        fence=lease.fence,
        demo=False,
        clock=lambda: NOW,
        monotonic=lambda: float(next(seconds)),
    )
    return Chat(shop, conversation, narrator, Task(task_id="t"))


@pytest.mark.requirement("web.progress")
@pytest.mark.parametrize(("ok", "state"), [(True, "done"), (False, "failed")])
async def test_a_call_is_one_line_that_changes_as_it_ends(chat: Chat, ok: bool, state: str) -> None:
    await chat.tell(StepStarted(step=1), started("a", "hello.py"))
    assert await chat.lines() == [("hello.py", "running")]
    await chat.tell(finished("a", "hello.py", ok=ok))
    live = await chat.live()
    assert [(line.title, line.state) for line in live.calls] == [("hello.py", state)]
    assert (live.state, live.step) == ("working", 1)


@pytest.mark.requirement("web.progress")
@pytest.mark.parametrize("order", ["abc", "cba", "bac"])
async def test_calls_that_run_at_once_are_one_line_each_in_the_order_they_began(chat: Chat, order: str) -> None:
    await chat.tell(*(started(name, f"{name}.py") for name in "abc"))
    assert await chat.lines() == [("a.py", "running"), ("b.py", "running"), ("c.py", "running")]
    first, *others = order
    await chat.tell(finished(first, f"{first}.py"))
    states = dict(await chat.lines())
    assert [name for name, state in states.items() if state == "done"] == [f"{first}.py"]
    await chat.tell(*(finished(name, f"{name}.py", ok=name != "b") for name in others))
    ended = {name: "failed" if name == "b" and name != first else "done" for name in "abc"}
    assert await chat.lines() == [(f"{name}.py", state) for name, state in ended.items()]


@pytest.mark.requirement("web.progress")
async def test_a_call_that_is_refused_before_it_starts_is_a_line_of_its_own_and_ends_no_other(chat: Chat) -> None:
    await chat.tell(started("a", "a.py"), finished("b", "/etc/passwd", ok=False))
    assert await chat.lines() == [("a.py", "running"), ("/etc/passwd", "failed")]
    await chat.tell(finished("a", "a.py"))
    assert await chat.lines() == [("a.py", "done"), ("/etc/passwd", "failed")]


@pytest.mark.requirement("web.progress", "turn.recovers")
async def test_a_call_that_a_process_before_this_one_started_is_one_line_when_it_ends(chat: Chat) -> None:
    await chat.tell(finished("a", "read_file", ok=False), started("b", "b.py"), finished("b", "b.py"))
    assert await chat.lines() == [("", "failed"), ("b.py", "done")]


@pytest.mark.requirement("web.progress")
async def test_a_call_that_waited_for_a_person_runs_on_its_own_line(chat: Chat) -> None:
    preview = Preview(title="new.txt", detail="+x", kind="diff")
    needed = ApprovalNeeded(call=call("a"), preview=preview, risk=Risk.WRITE, digest="d")
    await chat.tell(needed)
    live = await chat.live()
    assert (live.state, [line.state for line in live.calls]) == ("waiting", ["waiting"])
    await chat.tell(started("a", "new.txt"))
    assert await chat.lines() == [("new.txt", "running")]
    await chat.tell(finished("a", "new.txt"))
    assert await chat.lines() == [("new.txt", "done")]


@pytest.mark.requirement("web.progress")
async def test_the_end_of_what_a_command_prints_is_shown_while_it_runs(chat: Chat) -> None:
    await chat.tell(StepStarted(step=1), TextStreamed(text="I run it.\n"), started("a", "make"))
    await chat.tell(CallPrinted(call=call("a"), text="one\n"), CallPrinted(call=call("a"), text="two\n"))
    live = await chat.live()
    assert live.text_tail == "I run it.\none\ntwo\n"
    assert [(line.title, line.state) for line in live.calls] == [("make", "running")]
    await chat.tell(CallPrinted(call=call("a"), text="x" * 10_000 + "the end"))
    tail = (await chat.live()).text_tail
    assert len(tail) == 400
    assert tail.endswith("x" * 100 + "the end")
    await chat.tell(finished("a", "make"), StepStarted(step=2))
    assert (await chat.live()).text_tail == ""


@pytest.mark.requirement("web.progress")
async def test_the_latest_calls_are_shown_whose_number_is_small(chat: Chat) -> None:
    for number in range(40):
        await chat.tell(started(str(number), f"{number}.py"), finished(str(number), f"{number}.py"))
    assert await chat.lines() == [(f"{number}.py", "done") for number in range(28, 40)]


@pytest.mark.requirement("web.progress")
async def test_the_next_task_begins_with_no_calls(chat: Chat) -> None:
    await chat.tell(started("a", "a.py"), finished("a", "a.py"))
    chat.task = Task(task_id="u")
    await chat.tell(MessageTaken(message_id="2"), StepStarted(step=1))
    assert await chat.lines() == []


@pytest.mark.requirement("web.progress")
async def test_a_call_that_tells_of_a_broken_sandbox_is_a_line_and_a_notice_with_the_fix(chat: Chat) -> None:
    broken = CallFinished(call=call("a"), title="make", ok=False, alarm="No bwrap. Install it.")
    await chat.tell(started("a", "make"), broken)
    told: list[object] = []
    while pending := await chat.shop.doors.outbox.first(chat.conversation):
        told.append(pending.entry.content)
        await chat.shop.doors.outbox.delivered(pending)
    assert Notice(key="sandbox.unavailable", values={"detail": "No bwrap. Install it."}) in told
