"""How a task ends: whole, continued, filtered, empty, in circles, at a limit; and what stays in the history."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from agent.conversation import CONTINUE, FAILED
from agent.errors import ModelBroken, ModelFiltered, ModelOverloaded
from agent.events import Answered, ApprovalNeeded, CallStarted, Event
from agent.exchange import Terms
from agent.limits import TaskLimits
from agent.providers import Price
from tests.agent.bench import Bench
from tests.servers.model import ModelServer, Scripted, calls, delta, event, raw, status, text


def ended(events: list[Event]) -> Answered:
    assert isinstance(events[-1], Answered)
    return events[-1]


def messages(server: ModelServer, request: int = -1) -> list[dict[str, Any]]:
    return server.requests[request].json["messages"]


def notes(server: ModelServer, request: int = -1) -> list[str]:
    """What Paigate itself says in a request."""
    contents = [message["content"] or "" for message in messages(server, request)]
    return [content for content in contents if content.startswith("[paigate]")]


def big(number: int) -> Scripted:
    """A look whose reply took 21,000 tokens."""
    reply = look(number)
    usage = {"prompt_tokens": 20_000, "completion_tokens": 1_000}
    return replace(reply, pieces=(*reply.pieces[:-2], event({"choices": [], "usage": usage}), event(b"[DONE]")))


def look(number: int = 1) -> Scripted:
    return calls(("list_dir", {"path": "/" * number}))


@pytest.mark.requirement("loop.continued")
def test_an_answer_that_was_cut_is_continued_and_arrives_as_one_text(bench: Bench, server: ModelServer) -> None:
    server.add(text("One, two, ", finish="length"), text("three, ", finish="length"), text("four."))
    bench.inbox.say("count", "1")

    assert ended(asyncio.run(bench.run())).text == "One, two, three, four."
    assert [message["content"] for message in messages(server)][-1] == CONTINUE


@pytest.mark.requirement("loop.continued")
@pytest.mark.parametrize(("language", "notice"), [("en", "length limit"), ("zh", "已被截断")])
def test_an_answer_is_continued_three_times_at_most_and_says_that_it_is_cut(
    bench: Bench, server: ModelServer, language: Any, notice: str
) -> None:
    bench.terms = Terms(language=language)
    server.add(*[text(f"{number};", finish="length") for number in range(4)], text("never asked for"))
    bench.inbox.say("count", "1")

    answer = ended(asyncio.run(bench.run())).text
    assert answer.startswith("0;1;2;3;\n\n")
    assert notice in answer
    assert len(server.requests) == 4


@pytest.mark.requirement("loop.cut-call")
def test_a_call_that_was_cut_never_runs_and_the_model_may_send_a_shorter_one(bench: Bench, server: ModelServer) -> None:
    half = Scripted(
        (
            delta(
                tool_calls=[{"index": 0, "id": "c1", "function": {"name": "write_file", "arguments": '{"path": "a", '}}]
            ),
            delta(finish="length"),
            event(b"[DONE]"),
        )
    )
    server.add(half, calls(("list_dir", {"path": "."}), finish="length"), text("shorter"))
    bench.inbox.say("go", "1")

    events = asyncio.run(bench.run())

    assert ended(events).text == "shorter"
    assert not [event for event in events if isinstance(event, CallStarted | ApprovalNeeded)]
    told = [message["content"] for message in messages(server) if message["role"] == "tool"]
    assert ["Send a shorter call" in content for content in told] == [True, True]


@pytest.mark.requirement("loop.filtered")
def test_an_answer_that_the_filter_ended_says_so_and_runs_no_call(bench: Bench, server: ModelServer) -> None:
    server.add(calls(("write_file", {"path": "a", "content": "x"}), answer="I will", finish="content_filter"))
    bench.inbox.say("go", "1")

    answer = ended(asyncio.run(bench.run())).text
    assert answer.startswith("I will\n\n")
    assert "content filter" in answer
    assert not (bench.project_path / "a").exists()


@pytest.mark.requirement("loop.filtered", "loop.failed")
def test_a_filter_that_leaves_nothing_is_an_error_of_its_own(bench: Bench, server: ModelServer) -> None:
    server.add(text("", finish="content_filter"))
    bench.inbox.say("go", "1")
    with pytest.raises(ModelFiltered):
        asyncio.run(bench.run())


@pytest.mark.requirement("loop.empty")
def test_a_model_that_returns_nothing_is_asked_once_more(bench: Bench, server: ModelServer) -> None:
    server.add(text(""), text("here"))
    bench.inbox.say("go", "1")
    assert ended(asyncio.run(bench.run())).text == "here"

    server.add(text(""), text(""), text("never asked for"))
    bench.inbox.say("again", "2")
    with pytest.raises(ModelBroken, match="nothing"):
        asyncio.run(bench.run())
    assert len(server.requests) == 4


@pytest.mark.requirement("loop.failed")
def test_after_an_error_the_next_message_does_not_follow_another_of_the_persons(
    bench: Bench, server: ModelServer
) -> None:
    server.add(status(400))
    bench.inbox.say("one", "1")
    with bench.session() as session:

        async def fail() -> None:
            async with aclosing(session.run()) as events:
                try:
                    async for _ in events:
                        pass
                finally:
                    await bench.close()

        with pytest.raises(Exception, match="400"):
            asyncio.run(fail())
        session.finish_task("failed")
    server.add(text("fine"))
    bench.inbox.say("two", "2")

    asyncio.run(bench.run())
    said = [(message["role"], message["content"]) for message in messages(server)[1:]]
    assert said == [("user", "one"), ("assistant", FAILED), ("user", "two")]


@pytest.mark.requirement("loop.malformed", "loop.partly")
def test_arguments_that_are_no_json_are_told_and_three_such_replies_end_the_task(
    bench: Bench, server: ModelServer
) -> None:
    def broken(number: int) -> Scripted:
        function = {"name": "list_dir", "arguments": f'{{"path": {number}'}
        call = {"index": 0, "id": f"c{number}", "type": "function", "function": function}
        return Scripted((delta(tool_calls=[call]), delta("stop")))

    server.add(broken(1), broken(2), look(), broken(3), broken(4), broken(5), text("It did not work."))
    bench.inbox.say("go", "1")

    answered = ended(asyncio.run(bench.run()))

    assert answered.partly
    assert answered.text == "⚠️ Partly done (3 calls in a row that could not be read)\n\nIt did not work."
    told = [message["content"] for message in messages(server) if message["role"] == "tool"]
    assert "not a JSON object" in told[0]


@pytest.mark.requirement("runaway.remind", "loop.transient")
def test_a_step_that_is_repeated_three_times_is_reminded_of_once_and_in_one_request(
    bench: Bench, server: ModelServer
) -> None:
    server.add(look(), look(), look(), look(2), text("done"))
    bench.inbox.say("go", "1")
    assert ended(asyncio.run(bench.run())).text == "done"

    reminders = [notes(server, n) for n in range(5)]
    assert [len(found) for found in reminders] == [0, 0, 0, 1, 0]
    assert messages(server, 3)[-1]["role"] == "user"
    assert "3 times in a row" in reminders[3][0]


@pytest.mark.requirement("runaway.stop", "loop.partly", "loop.transient")
def test_a_step_repeated_five_times_ends_the_task_with_a_partial_report(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(language="zh")
    server.add(*[look() for _ in range(5)], text("已完成：无。"), text("好"))
    bench.inbox.say("看看", "1")

    answered = ended(asyncio.run(bench.run()))

    assert answered.partly
    assert answered.text == "⚠️ 部分完成（同一步骤连续重复 5 次）\n\n已完成：无。"
    closing = server.requests[5].json
    assert "tools" not in closing
    instruction = closing["messages"][-1]["content"]
    for part in ("Do not call tools", "done", "verified", "not done or blocked", "next step"):
        assert part in instruction

    bench.inbox.say("继续", "2")
    asyncio.run(bench.run())
    assert notes(server) == []
    assert messages(server)[-2] == {"role": "assistant", "content": answered.text}
    assert "tools" in server.requests[-1].json


@pytest.mark.requirement("loop.closing-fails")
def test_when_the_closing_call_fails_the_person_still_gets_what_was_done(bench: Bench, server: ModelServer) -> None:
    server.add(calls(("write_file", {"path": "a.txt", "content": "x\n"})), *[look() for _ in range(5)], status(400))
    bench.inbox.say("go", "1")
    answered = ended(asyncio.run(bench.answer(asyncio.run(bench.run()), "once")))

    assert answered.partly
    assert "⚠️ Partly done" in answered.text
    assert "1 tool calls" in answered.text
    assert "a.txt" in answered.text


@pytest.mark.requirement("limits.each", "loop.partly")
def test_a_limit_of_steps_ends_the_task_after_them(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(limits=TaskLimits(steps=2))
    server.add(look(1), look(2), text("So far."))
    bench.inbox.say("go", "1")

    answered = ended(asyncio.run(bench.run()))
    assert answered.text == "⚠️ Partly done (limit of 2 steps)\n\nSo far."
    assert len(server.requests) == 3


@pytest.mark.requirement("limits.each")
def test_a_limit_of_seconds_counts_work_and_not_waiting(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(limits=TaskLimits(seconds=60))
    server.add(calls(("write_file", {"path": "a", "content": "1"})), look(1), text("So far."))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())
    bench.clock.pass_seconds(3600)

    def work(event: Event) -> None:
        if isinstance(event, CallStarted) and event.call.name == "list_dir":
            bench.clock.pass_seconds(50)

    answered = ended(asyncio.run(bench.answer(asked, "once", watch=work)))
    assert answered.text.startswith("⚠️ Partly done (time limit of 60 s)")
    assert len(server.requests) == 3


@pytest.mark.requirement("limits.each", "limits.reserve")
def test_a_limit_of_tokens_keeps_enough_for_the_report(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(limits=TaskLimits(tokens=50_000))
    server.add(big(1), big(2), big(3), text("So far."))
    bench.inbox.say("go", "1")

    answered = ended(asyncio.run(bench.run()))
    assert answered.partly
    assert "token limit" in answered.text
    assert answered.report.usage.prompt_tokens + answered.report.usage.completion_tokens <= 50_000 + 21_000


@pytest.mark.requirement("limits.each")
def test_a_limit_of_money_counts_what_the_price_makes_of_the_tokens(bench: Bench, server: ModelServer) -> None:
    price = Price(input=100.0, cached=10.0, output=200.0, currency="CNY")
    bench.terms = Terms(limits=TaskLimits(cost=Decimal(9), currency="CNY"), prices={"compatible:scripted": price})
    server.add(big(1), big(2), text("So far."))
    bench.inbox.say("go", "1")

    answered = ended(asyncio.run(bench.run()))
    assert answered.text.startswith("⚠️ Partly done (cost limit 9 CNY)")
    assert answered.report.currency == "CNY"
    # Two replies of 20,000 tokens at 100 and 1,000 at 200 a million; the report's 60 at 100, 40 at 10 and 20 at 200.
    assert answered.report.cost == Decimal("4.4104")


@pytest.mark.requirement("limits.unknown-price")
def test_a_cost_of_unknown_price_is_unknown_and_not_nothing(bench: Bench, server: ModelServer) -> None:
    server.add(text("ok"))
    bench.inbox.say("go", "1")
    assert ended(asyncio.run(bench.run())).report.cost is None


@pytest.mark.requirement("runaway.chanting", "loop.partly")
def test_a_model_that_chants_is_cut_off_and_the_task_closed(bench: Bench, server: ModelServer) -> None:
    chant = "I am going to look at the file now and then I will fix it. " * 400
    server.add(text(chant), text("Nothing was done."))
    bench.inbox.say("go", "1")

    answered = ended(asyncio.run(bench.run()))

    assert answered.text.endswith("Nothing was done.")
    assert answered.partly
    assert chant[:200] not in str(messages(server))
    assert answered.report.usage.estimated


@pytest.mark.requirement("loop.not-run")
def test_a_call_that_was_written_as_text_is_not_passed_off_as_done(bench: Bench, server: ModelServer) -> None:
    block = '<｜DSML｜function_calls>\n<｜DSML｜invoke name="write_file">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>'
    server.add(text(f"Done.\n{block}"))
    bench.inbox.say("go", "1")

    answer = ended(asyncio.run(bench.run())).text
    assert "was not executed" in answer


@pytest.mark.requirement("loop.failed", "model.errors")
def test_text_that_streamed_before_an_error_is_charged(bench: Bench, server: ModelServer) -> None:
    server.add(
        raw(delta(content="Half an answer"), event({"error": {"message": "overloaded", "code": "server_error"}})),
        text("whole"),
    )
    bench.inbox.say("go", "1")
    with pytest.raises(ModelOverloaded):
        asyncio.run(bench.run())

    answered = ended(asyncio.run(bench.run()))
    assert answered.report.usage.estimated
    assert answered.report.usage.completion_tokens > 20
