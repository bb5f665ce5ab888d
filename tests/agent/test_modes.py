"""What runs unasked, what asks and what is refused: modes, the person's words, grants, and edited calls."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from agent.events import Answered, ApprovalNeeded, CallStarted, Event
from agent.exchange import Terms
from agent.policy import Grant, Mode
from tests.agent.bench import Bench
from tests.servers.model import ModelServer, calls, text

READ = ("list_dir", {"path": "."})
WRITE = ("write_file", {"path": "a", "content": "x"})
RUN = ("execute_command", {"command": "echo x > b"})
FETCH = ("execute_command", {"command": "curl https://example.org"})
DESTROY = ("execute_command", {"command": "rm -rf /"})


def told(server: ModelServer) -> list[str]:
    return [message["content"] for message in server.requests[-1].json["messages"] if message["role"] == "tool"]


def what_happens(bench: Bench, server: ModelServer, call: Any, said: str = "go on with it") -> tuple[str, str]:
    """Whether the call asks, runs or is refused, and what the model is told."""
    server.add(calls(call), text("done"))
    bench.inbox.say(said, "1")
    events = asyncio.run(bench.run())
    if isinstance(events[-1], ApprovalNeeded):
        return "asks", ""
    assert isinstance(events[-1], Answered)
    return ("runs" if any(isinstance(event, CallStarted) for event in events) else "refused"), told(server)[0]


@pytest.mark.requirement(
    "mode.plan", "mode.edits", "mode.auto", "policy.asks", "policy.before-asking", "policy.refuses"
)
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("plan", ["runs", "refused", "refused", "refused", "refused"]),
        ("ask", ["runs", "asks", "asks", "asks", "refused"]),
        ("edits", ["runs", "runs", "asks", "asks", "refused"]),
        ("auto", ["runs", "runs", "runs", "asks", "refused"]),
    ],
)
@pytest.mark.parametrize("number", range(5), ids=["read", "write", "run", "fetch", "destroy"])
def test_a_mode_says_what_runs_asks_and_is_refused(
    bench: Bench, server: ModelServer, mode: Mode, expected: list[str], number: int
) -> None:
    bench.terms = Terms(mode=mode)
    call = [READ, WRITE, RUN, FETCH, DESTROY][number]
    assert what_happens(bench, server, call)[0] == expected[number]


@pytest.mark.requirement("exposure.fixed")
def test_the_tools_stay_the_same_whatever_the_mode_and_the_words_are(bench: Bench, server: ModelServer) -> None:
    for number, mode in enumerate(("ask", "plan", "edits", "auto")):
        bench.terms = Terms(mode=mode)
        server.add(text("ok"))
        bench.inbox.say("不要联网，看看" if number % 2 else "look", str(number))
        asyncio.run(bench.run())
    tools = [json.dumps(request.json["tools"]) for request in server.requests]
    assert len(tools) == 4
    assert len(set(tools)) == 1


@pytest.mark.requirement("exposure.no-network")
@pytest.mark.parametrize("said", ["不要联网，把依赖列出来", "List the dependencies. Offline only, please."])
def test_a_person_who_forbids_the_network_is_obeyed_and_the_model_is_told_at_the_end(
    bench: Bench, server: ModelServer, said: str
) -> None:
    bench.terms = Terms(mode="auto")
    outcome, why = what_happens(bench, server, FETCH, said)
    assert outcome == "refused"
    assert "asked not to go online" in why
    last = server.requests[0].json["messages"][-1]
    assert last["role"] == "user"
    assert last["content"].startswith("[paigate]")


@pytest.mark.requirement("exposure.no-network", "loop.transient")
def test_what_was_forbidden_ends_with_its_task(bench: Bench, server: ModelServer) -> None:
    server.add(text("ok"), text("ok"))
    bench.inbox.say("不要联网，看看 a", "1")
    asyncio.run(bench.run())
    bench.inbox.say("now fetch it", "2")
    asyncio.run(bench.run())
    assert not [m for m in server.requests[1].json["messages"] if m["content"].startswith("[paigate]")]


@pytest.mark.requirement("exposure.ask-first")
def test_a_bare_title_changes_nothing_before_the_person_says_what_they_want(bench: Bench, server: ModelServer) -> None:
    bench.terms = Terms(mode="auto")
    outcome, why = what_happens(bench, server, WRITE, "《三体读后感》")
    assert outcome == "refused"
    assert "only a title" in why


@pytest.mark.requirement("exposure.only-tightens")
@pytest.mark.parametrize("said", ["1", "go on", "继续", "go into demo, compile and run", "fix: the login page crashes"])
def test_a_short_message_takes_nothing_away(bench: Bench, server: ModelServer, said: str) -> None:
    bench.terms = Terms(mode="auto")
    assert what_happens(bench, server, WRITE, said)[0] == "runs"


@pytest.mark.requirement("exposure.only-tightens")
@pytest.mark.parametrize("said", ["You may run anything without asking", "全部自动批准，不用问我"])
def test_words_never_grant_anything(bench: Bench, server: ModelServer, said: str) -> None:
    assert what_happens(bench, server, WRITE, said)[0] == "asks"


@pytest.mark.requirement("grant.pattern")
def test_an_answer_for_the_task_covers_the_commands_of_its_pattern_and_no_others(
    bench: Bench, server: ModelServer
) -> None:
    server.add(
        calls(("execute_command", {"command": "pytest -q tests/a.py"})),
        calls(("execute_command", {"command": "pytest tests/b.py"})),
        calls(("execute_command", {"command": "pytest tests/b.py; touch c"})),
        text("done"),
    )
    bench.inbox.say("test it", "1")
    asked = asyncio.run(bench.run())
    assert isinstance(asked[-1], ApprovalNeeded)
    assert asked[-1].preview.pattern == "pytest *"

    again = asyncio.run(bench.answer(asked, "task"))

    assert [event.call.arguments["command"] for event in again if isinstance(event, CallStarted)] == [
        "pytest -q tests/a.py",
        "pytest tests/b.py",
    ]
    assert isinstance(again[-1], ApprovalNeeded)
    assert "touch c" in again[-1].preview.command


@pytest.mark.requirement("grant.pattern")
def test_a_command_without_a_pattern_is_allowed_for_the_task_as_it_is(bench: Bench, server: ModelServer) -> None:
    once = ("execute_command", {"command": "echo 1 >> log"})
    server.add(calls(once), calls(once), calls(("execute_command", {"command": "echo 2 >> log"})), text("done"))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())
    assert isinstance(asked[-1], ApprovalNeeded)
    assert asked[-1].preview.pattern == ""

    again = asyncio.run(bench.answer(asked, "task"))

    assert isinstance(again[-1], ApprovalNeeded)
    assert (bench.project_path / "log").read_text() == "1\n1\n"


@pytest.mark.requirement("grant.project")
def test_a_standing_grant_holds_until_its_date(bench: Bench, server: ModelServer) -> None:
    bench.grants = [Grant(tool="write_file", until=bench.clock() + timedelta(days=30))]
    assert what_happens(bench, server, WRITE)[0] == "runs"
    bench.clock.pass_seconds(30 * 24 * 3600)
    server.clear()
    server.add(calls(WRITE), text("done"))
    bench.inbox.say("again", "2")
    assert isinstance(asyncio.run(bench.run())[-1], ApprovalNeeded)


@pytest.mark.requirement("approval.edit")
def test_a_call_that_the_person_changed_runs_as_they_wrote_it_and_the_model_is_told(
    bench: Bench, server: ModelServer
) -> None:
    server.add(calls(("execute_command", {"command": "echo model > who"})), text("ok"))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())
    assert isinstance(asked[-1], ApprovalNeeded)
    assert asked[-1].editable == {"command": "echo model > who"}

    asyncio.run(bench.answer(asked, "once", arguments={"command": "echo person > who"}))

    assert (bench.project_path / "who").read_text() == "person\n"
    assert "The person changed the arguments" in told(server)[0]
    assert "echo person > who" in told(server)[0]


@pytest.mark.requirement("approval.edit", "policy.refuses")
def test_a_changed_call_is_looked_at_by_policy_again(bench: Bench, server: ModelServer) -> None:
    server.add(calls(("execute_command", {"command": "ls > out"})), text("ok"))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())

    events = asyncio.run(bench.answer(asked, "once", arguments={"command": "rm -rf ~"}))

    assert not [event for event in events if isinstance(event, CallStarted)]
    assert isinstance(events[-1], Answered)


@pytest.mark.requirement("approval.edit", "approval.bound")
def test_a_change_of_a_call_whose_files_changed_since_asks_again_about_the_changed_call(
    bench: Bench, server: ModelServer
) -> None:
    server.add(calls(("write_file", {"path": "a.txt", "content": "model"})), text("ok"))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())
    (bench.project_path / "a.txt").write_text("somebody")

    again = asyncio.run(bench.answer(asked, "once", arguments={"content": "person"}))

    assert isinstance(again[-1], ApprovalNeeded)
    assert again[-1].stale
    assert "+person" in again[-1].preview.detail
    asyncio.run(bench.answer(again, "once"))
    assert (bench.project_path / "a.txt").read_text() == "person"


@pytest.mark.requirement("approval.edit")
def test_a_change_to_another_file_than_was_shown_asks_again(bench: Bench, server: ModelServer) -> None:
    server.add(calls(("write_file", {"path": "a.txt", "content": "x"})), text("ok"))
    bench.inbox.say("go", "1")
    asked = asyncio.run(bench.run())

    again: list[Event] = asyncio.run(bench.answer(asked, "once", arguments={"path": "b.txt"}))

    assert isinstance(again[-1], ApprovalNeeded)
    assert again[-1].preview.title == "b.txt (new)"
    assert not (bench.project_path / "b.txt").exists()


@pytest.mark.requirement("edit.stale", "mode.edits")
@pytest.mark.parametrize(("mode", "expected"), [("ask", "asks"), ("edits", "refused"), ("auto", "refused")])
def test_a_file_that_nobody_looked_at_is_not_replaced_where_nobody_is_asked(
    bench: Bench, server: ModelServer, mode: Mode, expected: str
) -> None:
    (bench.project_path / "a").write_text("the work of a week")
    bench.terms = Terms(mode=mode)
    assert what_happens(bench, server, WRITE)[0] == expected
    assert (bench.project_path / "a").read_text() == "the work of a week"
