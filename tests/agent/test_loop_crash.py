"""A session that was killed between any two entries of its ledger, or stopped at an odd moment, goes on rightly."""

import asyncio
import gc
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import pairwise
from typing import Any, ClassVar

import pytest

from agent.calls import CUT
from agent.conversation import STOPPED
from agent.errors import ModelBroken
from agent.events import Answered, ApprovalNeeded, CallStarted, Event, ProjectGrant
from agent.exchange import Terms
from agent.limits import TaskLimits
from agent.model import ModelRequest, Reply, TextDelta, ToolCall
from agent.session import Session
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from tests.agent.bench import Bench
from tests.servers.model import ModelServer, calls, text

WRITE = ("write_file", {"path": "a", "content": "x"})
LOOK = ("list_dir", {"path": "."})


def kinds(bench: Bench) -> list[str]:
    return [json.loads(line)["kind"] for line in bench.ledger_path.read_text().splitlines()]


def keep_lines(bench: Bench, count: int) -> None:
    """Leave what a process that was killed after so many entries left."""
    lines = bench.ledger_path.read_bytes().splitlines(keepends=True)
    bench.ledger_path.write_bytes(b"".join(lines[:count]))


def told(server: ModelServer) -> list[str]:
    return [message["content"] for message in server.requests[-1].json["messages"] if message["role"] == "tool"]


@pytest.mark.requirement("loop.cut-call", "loop.truncated")
@pytest.mark.parametrize("lines", [3, 4, 5])
def test_a_call_of_a_cut_reply_never_runs_wherever_the_process_died(
    bench: Bench, server: ModelServer, lines: int
) -> None:
    server.add(calls(LOOK, WRITE, finish="length"), text("shorter"), text("shorter"))
    bench.inbox.say("go", "1")
    asyncio.run(bench.run())
    assert kinds(bench)[2:5] == ["reply_received", "call_finished", "call_finished"]
    keep_lines(bench, lines)

    events = asyncio.run(bench.run())

    assert isinstance(events[-1], Answered)
    assert not [event for event in events if isinstance(event, CallStarted | ApprovalNeeded)]
    assert told(server) == [CUT, CUT]


@pytest.mark.requirement("loop.ledger", "turn.recovers", "loop.every-call")
@pytest.mark.parametrize("lines", range(1, 13))
def test_a_task_cut_off_after_any_entry_comes_to_the_same_answer(bench: Bench, server: ModelServer, lines: int) -> None:
    bench.terms = Terms(mode="edits")
    replies = [
        calls(LOOK, ("read_file", {"path": "nope"})),
        calls(WRITE),
        text("done", finish="length"),
        text(" whole"),
    ]
    server.add(*replies)
    bench.inbox.say("go", "1")
    asyncio.run(bench.run())
    assert len(kinds(bench)) >= 13
    keep_lines(bench, lines)
    server.clear()
    server.add(*replies[kinds(bench).count("reply_received") :])
    bench.inbox.say("go", "1")

    events = asyncio.run(bench.run())

    assert isinstance(events[-1], Answered)
    assert events[-1].text == "done whole"
    assert (bench.project_path / "a").read_text() == "x"


@pytest.mark.requirement("limits.each")
def test_the_time_between_two_runs_is_not_work(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(limits=TaskLimits(seconds=3600))
    server.add(calls(LOOK), text("done"))
    bench.inbox.say("go", "1")
    asyncio.run(bench.run(until=CallStarted))
    bench.clock.pass_seconds(5 * 3600)

    answered = asyncio.run(bench.run())[-1]
    assert isinstance(answered, Answered)
    assert not answered.partly
    assert answered.report.seconds == 0


@pytest.mark.requirement("loop.continued")
def test_what_was_cut_before_a_call_or_another_message_is_not_glued_to_what_comes_after(
    bench: Bench, server: ModelServer
) -> None:
    server.add(text("Half of the ans", finish="length"), calls(LOOK), text("All is well."))
    bench.inbox.say("go", "1")
    answered = asyncio.run(bench.run())[-1]
    assert isinstance(answered, Answered)
    assert answered.text == "All is well."


@pytest.mark.requirement("runaway.stop")
def test_a_word_of_the_person_begins_anew_even_when_the_guard_had_spoken(bench: Bench, server: ModelServer) -> None:
    server.add(*[calls(LOOK) for _ in range(5)], text("Doing that instead."))
    bench.inbox.say("go", "1")

    def interrupt(event: Event) -> None:
        if isinstance(event, CallStarted) and len(server.requests) == 5:
            bench.inbox.say("No, do something else", "2")

    answered = asyncio.run(bench.run(watch=interrupt))[-1]
    assert isinstance(answered, Answered)
    assert (answered.text, answered.partly) == ("Doing that instead.", False)


@pytest.mark.requirement("runaway.stop", "tools.spill")
def test_results_that_are_kept_in_files_are_compared_by_what_is_in_them(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(mode="auto")
    again = calls(("execute_command", {"command": "seq 1 4000"}))
    server.add(*[again for _ in range(5)], text("It is always the same."))
    bench.inbox.say("go", "1")
    answered = asyncio.run(bench.run())[-1]
    assert isinstance(answered, Answered)
    assert "the same step 5 times" in answered.text


@pytest.mark.requirement("runaway.chanting", "loop.closing-fails")
def test_a_closing_report_that_chants_is_done_without(bench: Bench, server: ModelServer) -> None:
    chant = "I am going to look at the file now and then I will fix it. " * 400
    server.add(text(chant), text(chant))
    bench.inbox.say("go", "1")
    answered = asyncio.run(bench.run())[-1]
    assert isinstance(answered, Answered)
    assert "The model gave no report" in answered.text
    assert len(answered.text) < 500


@pytest.mark.requirement("loop.empty")
def test_a_length_limit_before_the_first_word_is_an_error_and_no_empty_answer(
    bench: Bench, server: ModelServer
) -> None:
    server.add(text("", reasoning="hm" * 50, finish="length"), text("short"))
    bench.inbox.say("go", "1")
    with pytest.raises(ModelBroken, match="thinking"):
        asyncio.run(bench.run())
    assert isinstance(asyncio.run(bench.run())[-1], Answered)


@pytest.mark.requirement("control.stop")
def test_a_stop_after_the_answer_takes_nothing_of_it_back(bench: Bench, server: ModelServer) -> None:
    server.add(text("The answer."), text("And more."))
    bench.inbox.say("go", "1")
    asyncio.run(bench.run(until=Answered))
    with bench.session() as session:
        session.stop()
    bench.inbox.say("more", "2")
    asyncio.run(bench.run())
    assert STOPPED not in [message["content"] for message in server.requests[-1].json["messages"]]


@pytest.mark.requirement("exposure.ask-first")
def test_a_title_beside_a_request_is_part_of_it(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(mode="auto")
    server.add(calls(WRITE), text("done"))
    bench.inbox.say("write a file for the next title", "1")
    bench.inbox.say("《三体读后感》", "2")
    asyncio.run(bench.run())
    assert (bench.project_path / "a").exists()


@pytest.mark.requirement("loop.steady", "mode.auto")
def test_requests_extend_one_another_in_every_mode(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(mode="auto")
    server.add(calls(LOOK), calls(WRITE), text("done"), text("ok"))
    bench.inbox.say("go", "1")
    asyncio.run(bench.run())
    bench.terms = Terms(mode="ask")
    bench.inbox.say("and now?", "2")
    asyncio.run(bench.run())

    bodies = [request.body for request in server.requests]
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}"))
    notes = [m["content"] for m in server.requests[-1].json["messages"] if (m["content"] or "").startswith("[paigate]")]
    assert [note.split()[1] for note in notes] == ["Auto", "The"]


@pytest.mark.requirement("approval.edit")
def test_a_card_that_was_asked_again_can_be_changed_again(bench: Bench, server: ModelServer) -> None:
    server.add(calls(WRITE), text("ok"))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())
    (bench.project_path / "a").write_text("somebody")
    again = asyncio.run(bench.answer(asked, "once", arguments={"content": "first"}))
    assert isinstance(again[-1], ApprovalNeeded)
    assert again[-1].stale
    assert "+first" in again[-1].preview.detail

    assert isinstance(asyncio.run(bench.answer(again, "once", arguments={"content": "second"}))[-1], Answered)
    assert (bench.project_path / "a").read_text() == "second"


@pytest.mark.requirement("approval.edit")
def test_the_model_is_told_of_a_change_also_when_the_call_did_not_run(bench: Bench, server: ModelServer) -> None:
    server.add(calls(("execute_command", {"command": "ls > out"})), text("ok"))
    bench.inbox.say("go", "1")
    asyncio.run(bench.answer(asyncio.run(bench.run()), "once", arguments={"command": "rm -rf /"}))
    assert "The person changed the arguments of this call" in told(server)[0]
    assert "rm -rf /" in told(server)[0]


@pytest.mark.requirement("grant.project")
def test_an_answer_for_the_project_is_told_once_it_fits_and_holds_at_once(bench: Bench, server: ModelServer) -> None:
    server.add(calls(WRITE), text("ok"), calls(("write_file", {"path": "b", "content": "y"})), text("ok"))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())
    (bench.project_path / "a").write_text("changed meanwhile")
    stale = asyncio.run(bench.answer(asked, "project", days=30))
    assert not [event for event in stale if isinstance(event, ProjectGrant)]

    events = asyncio.run(bench.answer(stale, "project", days=30))
    (given,) = [event for event in events if isinstance(event, ProjectGrant)]
    assert (given.tool, given.by) == ("write_file", "Ann")
    bench.inbox.say("another", "2")
    assert isinstance(asyncio.run(bench.run())[-1], Answered)


class NoArguments(ToolArguments):
    """Nothing."""


class Rash(Tool[NoArguments]):
    """Does something, and says wrongly that it may run beside others."""

    name: ClassVar[str] = "rash"
    description: ClassVar[str] = "Act."
    risk: ClassVar[Risk] = Risk.EXECUTE
    parallel_safe: ClassVar[bool] = True
    arguments = NoArguments

    async def preview(self, arguments: NoArguments, context: ToolContext) -> Preview:
        return Preview(title="rash")

    async def run(self, arguments: NoArguments, context: ToolContext) -> ToolResult:
        return ToolResult(text="acted")


@pytest.mark.requirement("policy.asks", "tools.parallel-safe")
def test_a_tool_that_acts_is_asked_about_whatever_it_says_of_running_beside_others(
    bench: Bench, server: ModelServer
) -> None:
    bench.tools.append(Rash())
    server.add(calls(("rash", {})))
    bench.inbox.say("go", "1")
    assert isinstance(asyncio.run(bench.run())[-1], ApprovalNeeded)


@pytest.mark.requirement("mode.plan", "tools.background")
def test_ending_a_background_command_asks_nobody_is_on_record_and_is_nothing_for_plan_mode(
    bench: Bench, server: ModelServer
) -> None:
    bench.terms = Terms(mode="auto")
    start = calls(("execute_command", {"command": "sleep 100", "background": True}))
    end = calls(("stop_command", {"command_id": "bg1"}))
    server.add(start, text("runs"), end, text("no"), end, text("ended"))
    bench.inbox.say("start", "1")
    asyncio.run(bench.run())
    bench.terms = Terms(mode="plan")
    bench.inbox.say("end it", "2")
    asyncio.run(bench.run())
    assert "Plan mode" in told(server)[-1]
    bench.terms = Terms()
    bench.inbox.say("end it", "3")
    assert isinstance(asyncio.run(bench.run())[-1], Answered)
    assert "Nothing of it is left" in told(server)[-1]
    assert kinds(bench).count("call_started") == 2


class Odd:
    """A model that does not keep the port's promises."""

    name = "odd"

    def __init__(self, *parts: TextDelta | Reply) -> None:
        self.parts = parts
        self.asked = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        self.asked += 1
        for part in self.parts if self.asked == 1 else (Reply(text="ended", complete=True),):
            yield part

    async def aclose(self) -> None:
        """Nothing is kept."""


def with_model(bench: Bench, model: Odd) -> list[Event]:
    async def work(session: Session) -> list[Event]:
        async with aclosing(session.run()) as events:
            return [event async for event in events]

    bench.model = model
    with bench.session() as session:
        return asyncio.run(work(session))


@pytest.mark.requirement("model.complete")
@pytest.mark.parametrize("parts", [(), (TextDelta(text="x"),), (Reply(text="half", complete=False),)])
def test_a_stream_without_a_whole_reply_is_an_error(bench: Bench, parts: tuple[Any, ...]) -> None:
    bench.inbox.say("go", "1")
    with pytest.raises(ModelBroken):
        with_model(bench, Odd(*parts))


@pytest.mark.requirement("loop.every-call")
def test_two_calls_with_one_id_are_both_answered(bench: Bench) -> None:
    twice = tuple(ToolCall(id="same", name="list_dir", arguments={}) for _ in range(2))
    bench.inbox.say("go", "1")
    assert isinstance(with_model(bench, Odd(Reply(tool_calls=twice, complete=True)))[-1], Answered)
    assert kinds(bench).count("call_finished") == 2


@pytest.mark.requirement("loop.every-call", "tools.arguments")
@pytest.mark.parametrize(
    ("name", "kept"), [("x" * 1_000_000, "x" * 64), ("a\nb\u202ec\0", "a_b_c_"), ("", "_"), ("read_file", "read_file")]
)
def test_a_name_that_no_vendor_takes_back_is_made_one(bench: Bench, server: ModelServer, name: str, kept: str) -> None:
    bench.inbox.say("go", "1")
    odd = Odd(Reply(tool_calls=(ToolCall(id="c", name=name, arguments={}),), complete=True))
    assert isinstance(with_model(bench, odd)[-1], Answered)
    with bench.session() as session:
        (asked,) = [call for message in session.conversation.messages for call in message.tool_calls]
    assert asked.name == kept


@pytest.mark.requirement("tools.arguments")
def test_arguments_that_are_too_long_to_be_sent_again_are_dropped_and_the_model_is_told(bench: Bench) -> None:
    bench.inbox.say("go", "1")
    call = ToolCall(id="c", name="write_file", arguments={"path": "a", "content": "x" * (20 << 20)})
    assert isinstance(with_model(bench, Odd(Reply(tool_calls=(call,), complete=True)))[-1], Answered)
    assert bench.ledger_path.stat().st_size < 100_000
    with bench.session() as session:
        (told,) = [message.text for message in session.conversation.messages if message.role == "tool"]
    assert "were dropped" in told


@pytest.mark.requirement("loop.cancel")
def test_ending_a_running_call_leaves_nothing_that_is_reported_as_forgotten(
    bench: Bench, server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.add(calls(("execute_command", {"command": "sleep 60"})))
    bench.terms = Terms(mode="auto")
    bench.inbox.say("go", "1")

    async def run_and_cancel() -> None:
        working = asyncio.create_task(bench.run())
        await asyncio.to_thread(server.wait_for, 1)
        async with asyncio.timeout(20):
            while "call_started" not in (kinds(bench) if bench.ledger_path.exists() else []):
                await asyncio.to_thread(lambda: None)
        working.cancel()
        await asyncio.wait({working})

    asyncio.run(run_and_cancel())
    gc.collect()
    assert [record.message for record in caplog.records if "never retrieved" in record.message] == []
