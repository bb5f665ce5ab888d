"""A task that is cancelled at any point leaves a history that is valid and goes on."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from agent.calls import STOPPED
from agent.events import Answered, ApprovalNeeded, CallFinished, CallStarted, Event, TextStreamed
from tests.agent.bench import Bench
from tests.servers.model import Gate, ModelServer, Scripted, calls, held, text

LOOK = ("list_dir", {"path": "."})
RUN = ("execute_command", {"command": "echo begun > begun; sleep 60; echo ended > ended"})


def before_the_call(event: Event, server: ModelServer) -> bool:
    return type(event).__name__ == "StepStarted"


def before_the_first_token(event: Event, server: ModelServer) -> bool:
    return False


def at_text(event: Event, server: ModelServer) -> bool:
    return isinstance(event, TextStreamed)


def between_tools(event: Event, server: ModelServer) -> bool:
    return isinstance(event, CallFinished)


def in_a_tool(event: Event, server: ModelServer) -> bool:
    return isinstance(event, CallStarted)


@pytest.mark.requirement("loop.cancel", "loop.every-call")
@pytest.mark.parametrize(
    ("reply", "point"),
    [
        (text("never read"), before_the_call),
        (held(text("never read"), Gate()), before_the_first_token),
        (held(text("a long answer, of which the end never comes"), Gate(), after=4), at_text),
        (held(calls(LOOK, answer="I look"), Gate(), after=4), at_text),
        (calls(LOOK, ("list_dir", {"path": "./."})), between_tools),
        (calls(LOOK, LOOK), in_a_tool),
    ],
    ids=["before the call", "before the first token", "in the text", "in the arguments", "between tools", "in a tool"],
)
def test_a_cancel_leaves_a_history_that_the_model_accepts(
    bench: Bench, server: ModelServer, reply: Scripted, point: Any
) -> None:
    server.add(reply)
    bench.inbox.say("go", "1")

    async def run_and_cancel() -> None:
        reached = asyncio.Event()
        with bench.session() as session:

            async def work() -> None:
                async with aclosing(session.run()) as events:
                    async for event in events:
                        if point(event, server):
                            reached.set()
                            await asyncio.Event().wait()

            working = asyncio.create_task(work())
            if point is before_the_first_token:
                await asyncio.to_thread(server.wait_for, 1)
            else:
                async with asyncio.timeout(20):
                    await reached.wait()
            working.cancel()
            await asyncio.wait({working})
            assert working.cancelled()
            session.stop()
            assert session.conversation.open_calls == ()
        await bench.close()

    asyncio.run(run_and_cancel())
    server.clear()
    server.add(text("going on"))
    bench.inbox.say("go on", "2")

    events = asyncio.run(bench.run())
    assert isinstance(events[-1], Answered)
    assert events[-1].text == "going on"
    assert [message["role"] for message in server.requests[-1].json["messages"]][-1] == "user"


@pytest.mark.requirement("loop.cancel")
def test_a_cancel_in_a_command_ends_it_and_its_call_is_answered(bench: Bench, server: ModelServer) -> None:
    server.add(calls(RUN, LOOK), text("fine"))
    bench.inbox.say("run", "1")
    asked = asyncio.run(bench.run())
    assert isinstance(asked[-1], ApprovalNeeded)

    async def run_and_cancel() -> None:
        working = asyncio.create_task(bench.answer(asked, "once"))
        async with asyncio.timeout(20):
            while not (bench.project_path / "begun").exists():
                await asyncio.to_thread(lambda: None)
        working.cancel()
        await asyncio.wait({working})
        assert working.cancelled()
        with bench.session() as session:
            session.stop()

    asyncio.run(run_and_cancel())
    bench.inbox.say("and now?", "2")

    assert isinstance(asyncio.run(bench.run())[-1], Answered)
    told = [m["content"] for m in server.requests[-1].json["messages"] if m["role"] == "tool"]
    assert told == [STOPPED, STOPPED]
    assert not (bench.project_path / "ended").exists()


@pytest.mark.requirement("loop.cancel")
def test_a_stop_while_asking_answers_every_call_of_the_step(bench: Bench, server: ModelServer) -> None:
    server.add(calls(("write_file", {"path": "a", "content": "x"}), LOOK), text("fine"))
    bench.inbox.say("write", "1")
    assert isinstance(asyncio.run(bench.run())[-1], ApprovalNeeded)
    with bench.session() as session:
        session.stop()
        session.stop()
    bench.inbox.say("and now?", "2")

    assert isinstance(asyncio.run(bench.run())[-1], Answered)
    assert not (bench.project_path / "a").exists()
