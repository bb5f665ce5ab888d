import asyncio
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from agent.errors import CallForbidden, ToolFailure
from agent.tool import Preview, Risk, ToolContext, ToolResult
from agent.tools import load
from agent.tools.shell.background import MOST_SHOWN_BYTES
from tests.sandbox.places import make_project, make_sandbox, public_directory
from tests.sandbox.test_bubblewrap import left_over

MARKER = f"paigate-background-tool-{os.getpid()}"
SERVER = f"echo listening; exec -a {MARKER} sleep 300"


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    with public_directory() as install_dir, make_project(tmp_path / "project") as project:
        sandbox = make_sandbox(install_dir)
        yield ToolContext(project=project, sandbox=sandbox, background=tmp_path / "background")
        asyncio.run(sandbox.background(tmp_path / "background").end_all())
        assert left_over(MARKER) == []


def run(context: ToolContext, tool: str, **arguments: object) -> ToolResult:
    found = load(tool)
    return asyncio.run(found.run(found.arguments.model_validate(arguments), context))


def preview(context: ToolContext, tool: str, **arguments: object) -> Preview:
    found = load(tool)
    return asyncio.run(found.preview(found.arguments.model_validate(arguments), context))


def start(context: ToolContext, command: str = SERVER, **arguments: object) -> str:
    text = run(context, "execute_command", command=command, background=True, **arguments).text
    found = re.search(r"id (bg\d+)\.$", text)
    assert found
    return found[1]


def look_until(context: ToolContext, done: Callable[[str], bool], **arguments: object) -> str:
    async def look() -> str:
        async with asyncio.timeout(20):
            tool = load("command_output")
            while not done(text := (await tool.run(tool.arguments.model_validate(arguments), context)).text):
                await asyncio.sleep(0.02)
            return text

    return asyncio.run(look())


@pytest.mark.requirement("tools.background")
def test_a_command_is_started_looked_at_and_stopped(context: ToolContext) -> None:
    begun = run(context, "execute_command", command=SERVER, background=True, deadline_seconds=100)
    shown = look_until(context, lambda text: "\nlistening" in text, command_id="bg1")
    stopped = run(context, "stop_command", command_id="bg1")
    again = run(context, "stop_command", command_id="bg1")

    assert begun.ok
    assert re.match(
        r"bg1 has been running for 0 s and will be ended in (100|9\d) s at the latest: echo listening", begun.text
    )
    assert begun.text.endswith("\nLook at it with command_output, and end it with stop_command: id bg1.")
    assert re.search(r"\nbytes 0-10 of 10; go on with offset=10\nlistening$", shown)
    assert re.match(r"Nothing of it is left.\nbg1 was stopped after \d s: echo", stopped.text)
    assert re.match(r"It had ended before, and nothing of it is left.\nbg1 was stopped after \d s: echo", again.text)
    assert (stopped.ok, again.ok) == (True, True)
    assert left_over(MARKER) == []


@pytest.mark.requirement("tools.background")
def test_how_a_command_ended_is_told(context: ToolContext) -> None:
    start(context, "echo broken; exit 7")
    start(context, SERVER, deadline_seconds=1)
    failed = look_until(context, lambda text: "exit code" in text, command_id="bg1")
    late = look_until(context, lambda text: "deadline" in text, command_id="bg2")

    assert re.match(r"bg1 ended after \d s with exit code 7: echo broken; exit 7\n.*\nbroken$", failed)
    assert re.match(r"bg2 was ended at its deadline, after \d+ s: ", late)
    assert run(context, "command_output").text == f"{failed.splitlines()[0]}\n{late.splitlines()[0]}"


@pytest.mark.requirement("tools.background")
def test_a_fifth_command_is_refused_before_anybody_is_asked(context: ToolContext) -> None:
    for _ in range(4):
        start(context)

    for use in (preview, run):
        with pytest.raises(ToolFailure, match=r"Stop one first:\nbg1 .*\nbg2 .*\nbg3 .*\nbg4 .*"):
            use(context, "execute_command", command="touch ran", background=True)
    assert run(context, "execute_command", command="true").ok
    run(context, "stop_command", command_id="bg2")
    assert start(context) == "bg5"
    assert not context.project.exists("ran")


@pytest.mark.requirement("tools.background", "approval.whole")
def test_the_card_says_that_it_runs_in_the_background_and_for_how_long(context: ToolContext) -> None:
    shown = preview(context, "execute_command", command="npm run dev", background=True, timeout_seconds=5)
    imitated = preview(context, "execute_command", command="⟨in the background")

    assert shown.detail == "⟨in the background, for 1800 s at most⟩\nnpm run dev"
    assert (shown.title, shown.command) == ("npm run dev", "npm run dev")
    assert imitated.detail.startswith("⟨U+27E8⟩")


@pytest.mark.requirement("tools.background")
def test_without_a_place_for_them_it_is_said_that_there_can_be_none(context: ToolContext) -> None:
    bare = replace(context, background=None)

    for tool, arguments in (
        ("execute_command", {"command": "touch ran", "background": True}),
        ("command_output", {}),
        ("stop_command", {"command_id": "bg1"}),
    ):
        with pytest.raises(ToolFailure, match="Background commands are not possible here"):
            run(bare, tool, **arguments)
    with pytest.raises(ToolFailure, match="not possible here"):
        preview(bare, "execute_command", command="touch ran", background=True)
    assert run(bare, "execute_command", command="echo still").text == "exit code 0\nstill"


@pytest.mark.requirement("policy.before-asking")
def test_a_destructive_command_is_refused_in_the_background_too(context: ToolContext) -> None:
    with pytest.raises(CallForbidden):
        preview(context, "execute_command", command="rm -rf /", background=True)


@pytest.mark.requirement("tools.arguments")
@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("execute_command", {"command": "x", "background": True, "deadline_seconds": 14_401}, "less than or equal"),
        ("execute_command", {"command": "x", "background": True, "deadline_seconds": 0}, "greater than or equal"),
        ("command_output", {"command_id": "bg1", "filter": "("}, "not a valid one"),
        ("command_output", {"command_id": "bg1", "filter": "x" * 501}, "longer than 500"),
        ("command_output", {"command_id": "bg1", "filter": "x{99999999999999}"}, "not a valid one"),
        ("command_output", {"command_id": "bg1", "offset": -1}, "greater than or equal"),
        ("stop_command", {}, "Field required"),
    ],
)
def test_wrong_arguments_are_told(context: ToolContext, tool: str, arguments: dict[str, object], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        run(context, tool, **arguments)


def test_an_id_that_is_none_is_told_with_those_there_are(context: ToolContext) -> None:
    with pytest.raises(ToolFailure, match=r"no background command 'bg9'. There are: none."):
        run(context, "stop_command", command_id="bg9")
    start(context)
    for tool in ("stop_command", "command_output"):
        with pytest.raises(ToolFailure, match=r"There are: bg1\."):
            run(context, tool, command_id="../bg1")


@pytest.mark.requirement("tools.background")
def test_looking_goes_on_from_an_offset_and_never_within_a_character(context: ToolContext) -> None:
    start(context, "printf 'a字b\\xe5\\xad'; until [ -e go ]; do :; done; printf '\\x97\\n\\033[1mc\\033[0m\\xff\\n'")
    first = look_until(context, lambda text: "\na字b" in text, command_id="bg1", offset=0)
    offset = int(first.partition("offset=")[2].split("\n")[0])
    context.project.write("go", b"")
    second = look_until(context, lambda text: "exit code 0" in text, command_id="bg1", offset=offset)

    assert first.endswith("; go on with offset=5\na字b")
    assert second.endswith("字\nc\ufffd")
    assert run(context, "command_output", command_id="bg1", offset=2).text.endswith("\nb字\nc\ufffd")
    assert run(context, "command_output", command_id="bg1", offset=999).text.endswith("\n(nothing)")


@pytest.mark.requirement("tools.background")
def test_the_latest_of_a_long_output_is_shown_and_a_gap_is_told(context: ToolContext) -> None:
    start(context, "echo first; seq 1000000; echo last")
    latest = look_until(context, lambda text: "exit code 0" in text, command_id="bg1")
    gap = run(context, "command_output", command_id="bg1", offset=2_000_000).text
    first = run(context, "command_output", command_id="bg1", offset=0).text

    assert latest.endswith("999999\n1000000\nlast")
    assert len(latest) < MOST_SHOWN_BYTES + 500
    assert "; bytes 2,000,000-" in gap
    assert "are no longer kept; go on with offset=" in gap
    assert first.split("\n")[2:4] == ["first", "1"]


@pytest.mark.requirement("tools.background")
def test_only_lines_that_fit_the_filter_are_shown(context: ToolContext) -> None:
    start(context, "seq 1 2000; echo 'ERROR: 坏了'; seq 30")
    look_until(context, lambda text: "exit code 0" in text, command_id="bg1")

    assert run(context, "command_output", command_id="bg1", filter="^ERROR|^1999$").text.endswith("\n1999\nERROR: 坏了")
    assert run(context, "command_output", command_id="bg1", filter="nowhere").text.endswith("\n(nothing)")


@pytest.mark.requirement("tools.background")
def test_a_filter_that_takes_for_ever_is_given_up(context: ToolContext) -> None:
    start(context, f"echo {'a' * 40}b")
    look_until(context, lambda text: "exit code 0" in text, command_id="bg1")

    with pytest.raises(ToolFailure, match="The filter takes too long"):
        run(context, "command_output", command_id="bg1", filter="(a+)+$")


def test_a_filter_that_finds_very_much_gives_the_last_of_it(context: ToolContext) -> None:
    start(context, "seq 100000")
    look_until(context, lambda text: "exit code 0" in text, command_id="bg1")
    text = run(context, "command_output", command_id="bg1", filter="1").text

    assert "characters of earlier lines left out" in text
    assert text.endswith("99991\n100000")
    assert len(text) < 25_000


def test_looking_and_stopping_ask_nobody() -> None:
    look, stop = load("command_output"), load("stop_command")

    assert (look.risk, look.parallel_safe) == (Risk.READ, True)
    assert (stop.risk, stop.parallel_safe) == (Risk.READ, False)


def test_what_is_shown_of_a_command_s_id_is_what_is_there(context: ToolContext) -> None:
    assert preview(context, "stop_command", command_id="bg1\u202e").title == "bg1⟨U+202E⟩"
    assert preview(context, "command_output").title == "all background commands"
