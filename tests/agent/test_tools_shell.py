import asyncio
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent.commands import command_pattern
from agent.errors import CallForbidden, SandboxUnavailable, ToolFailure
from agent.tool import Preview, ToolContext, ToolResult
from agent.tools import load
from agent.tools.shell.printed import PIECE_CHARACTERS, PIECE_SECONDS, Pieces, plain
from tests.sandbox.places import make_project, make_sandbox, public_directory


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    with public_directory() as install_dir, make_project(tmp_path / "project") as project:
        yield ToolContext(project=project, sandbox=make_sandbox(install_dir))


def run(context: ToolContext, tool: str, **arguments: object) -> ToolResult:
    found = load(tool)
    return asyncio.run(found.run(found.arguments.model_validate(arguments), context))


def preview(context: ToolContext, tool: str, **arguments: object) -> Preview:
    found = load(tool)
    return asyncio.run(found.preview(found.arguments.model_validate(arguments), context))


# execute_command


@pytest.mark.requirement("tools.execute")
def test_exit_code_and_output_are_told(context: ToolContext) -> None:
    result = run(context, "execute_command", command="echo out; echo err >&2; exit 3")

    assert result.text == "exit code 3\nout\nerr"
    assert not result.ok
    assert run(context, "execute_command", command="true") == ToolResult(text="exit code 0\n(no output)")


@pytest.mark.requirement("tools.execute")
def test_a_long_output_is_given_whole_and_is_for_a_file_above_8000_characters(context: ToolContext) -> None:
    text = run(context, "execute_command", command="echo first; seq 100000; echo last").text

    assert text == "\n".join(["exit code 0", "first", *map(str, range(1, 100_001)), "last"])
    assert load("execute_command").most_characters == 8_000


@pytest.mark.requirement("tools.execute")
def test_of_a_huge_output_head_and_tail_are_given(context: ToolContext) -> None:
    text = run(
        context, "execute_command", command="echo first; head -c 9000000 /dev/zero | tr '\\0' x; echo; echo last"
    ).text

    assert text.startswith("exit code 0\nfirst\nxxx")
    assert text.endswith("xxx\nlast")
    assert "… 7,000,012 bytes left out …" in text
    assert len(text) < 2_000_100


@pytest.mark.requirement("tools.stream")
def test_what_a_command_prints_is_passed_on_while_it_runs(context: ToolContext) -> None:
    async def first_piece() -> str:
        printed: asyncio.Queue[str] = asyncio.Queue()
        watched = replace(context, emit=printed.put_nowait)
        tool = load("execute_command")
        arguments = tool.arguments.model_validate({"command": r"printf '\033[1mlistening\033[0m\n'; sleep 300"})
        task = asyncio.create_task(tool.run(arguments, watched))
        piece = await asyncio.wait_for(printed.get(), 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return piece

    assert asyncio.run(first_piece()) == "listening\n"


@pytest.mark.requirement("tools.stream")
def test_a_flood_is_passed_on_in_few_and_short_pieces(context: ToolContext) -> None:
    pieces: list[str] = []
    watched = replace(context, emit=pieces.append)
    begin = time.monotonic()
    run(watched, "execute_command", command="head -c 300000000 /dev/zero | tr '\\0' x; echo; echo last")

    assert len(pieces) <= (time.monotonic() - begin) / PIECE_SECONDS + 3
    assert max(map(len, pieces)) <= PIECE_CHARACTERS
    assert pieces[-1].endswith("x\nlast\n")


@pytest.mark.requirement("tools.execute")
def test_a_command_that_takes_too_long_is_told_with_what_it_printed(context: ToolContext) -> None:
    result = run(context, "execute_command", command="echo before; sleep 300", timeout_seconds=1)

    assert result.text == "timed out after 1 s; the command and all its processes were ended\nbefore"
    assert not result.ok


@pytest.mark.requirement("tools.execute")
def test_a_signal_is_named(context: ToolContext) -> None:
    assert run(context, "execute_command", command="kill -9 $$").text.startswith("exit code 137 (SIGKILL)\n")


@pytest.mark.requirement("tools.execute")
def test_terminal_escapes_and_overwritten_lines_are_taken_out(context: ToolContext) -> None:
    codes = r"\033[1;31mred\033[0m \033]0;title\007plain\n10%%\r100%%\r\na\0b\033]unfinished\nnext\n"
    result = run(context, "execute_command", command=f"printf '{codes}'")

    assert result.text == "exit code 0\nred plain\n100%\nab\nnext"


def test_a_command_reads_no_input(context: ToolContext) -> None:
    assert run(context, "execute_command", command="cat; read -r line || echo nothing").text == "exit code 0\nnothing"


@pytest.mark.requirement("tools.execute")
def test_the_whole_command_is_shown_with_nothing_hidden(context: ToolContext) -> None:
    one = preview(context, "execute_command", command="ls -la")
    several = preview(context, "execute_command", command="ls \x1b[8m\nrm -r x \u202e\n")

    assert (one.title, one.detail, one.kind, one.command) == ("ls -la", "ls -la", "command", "ls -la")
    assert several.title == "ls ⟨U+001B⟩[8m …"
    assert several.detail == "ls ⟨U+001B⟩[8m\nrm -r x ⟨U+202E⟩\n"


@pytest.mark.requirement("approval.whole")
def test_a_time_limit_that_is_asked_for_stands_before_the_command_and_cannot_be_imitated(context: ToolContext) -> None:
    asked = preview(context, "execute_command", command="make", timeout_seconds=300)
    imitated = preview(context, "execute_command", command="⟨timeout 5 s⟩\nmake")

    assert (asked.title, asked.detail) == ("make", "⟨timeout 300 s⟩\nmake")
    assert imitated.detail == "⟨U+27E8⟩timeout 5 s⟩\nmake"


@pytest.mark.requirement("approval.whole", "tools.arguments")
def test_the_longest_command_is_shown_whole_and_runs_and_a_longer_one_is_refused(context: ToolContext) -> None:
    command = "true # " + "\U000e0041" * 7_993
    shown = preview(context, "execute_command", command=command)

    assert shown.whole
    assert shown.detail.count("⟨U+E0041⟩") == 7_993
    assert run(context, "execute_command", command=command).ok
    with pytest.raises(ValidationError, match="put it into a script file and run that"):
        preview(context, "execute_command", command=f"{command}x")


@pytest.mark.requirement("policy.before-asking", "policy.refuses")
def test_a_destructive_command_is_refused_before_anybody_is_asked_and_the_model_is_told_why(
    context: ToolContext,
) -> None:
    with pytest.raises(CallForbidden, match=r"nobody can allow it: .+\. It was not run\."):
        preview(context, "execute_command", command="rm -rf /")
    with pytest.raises(CallForbidden, match="name the files relative to the project's root"):
        preview(context, "execute_command", command="sleep 1 && rm -rf ~", background=True)
    with pytest.raises(CallForbidden, match="There is no sudo here; run the command without it"):
        preview(context, "execute_command", command="sudo make install")


@pytest.mark.requirement("policy.levels")
def test_what_a_command_may_do_is_shown_with_reasons_and_the_form_that_may_be_allowed(context: ToolContext) -> None:
    reads = preview(context, "execute_command", command="ls -la")
    leaves = preview(context, "execute_command", command="curl https://example.org")
    tests = preview(context, "execute_command", command="pytest -q tests")

    assert (reads.level, leaves.level) == ("read", "network")
    assert leaves.reasons
    assert tests.pattern == command_pattern("pytest -q tests")


@pytest.mark.requirement("sandbox.only")
def test_without_a_sandbox_no_command_runs(context: ToolContext, tmp_path: Path) -> None:
    bare = ToolContext(
        project=context.project, sandbox=make_sandbox(tmp_path, search_path=str(tmp_path), bundled=False)
    )

    with pytest.raises(SandboxUnavailable):
        run(bare, "execute_command", command="touch ran")
    assert not context.project.exists("ran")


# What is printed

PRINTABLE = ["a", "\n", "\r\n", "字", "😀", "\x1b[31m", "\x1b[0m", "\x1b]0;t\x07", "\x1b(B", "\t", "\0"]


async def passed_on(chunks: list[bytes]) -> list[str]:
    pieces: list[str] = []
    printing = Pieces(pieces.append, asyncio.get_running_loop())
    for chunk in chunks:
        printing.add(chunk)
    printing.close()
    return pieces


@pytest.mark.requirement("tools.stream")
@given(st.data())
def test_however_it_is_cut_the_same_text_is_passed_on(data: st.DataObject) -> None:
    raw = "".join(data.draw(st.lists(st.sampled_from(PRINTABLE), max_size=40))).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    pieces = asyncio.run(passed_on(chunks))

    assert "".join(pieces) == plain(raw.decode())
    assert all(0 < len(piece) <= PIECE_CHARACTERS for piece in pieces)


@pytest.mark.requirement("tools.stream")
def test_what_comes_between_two_pieces_follows_when_the_pause_is_over() -> None:
    async def run() -> list[str]:
        pieces: asyncio.Queue[str] = asyncio.Queue()
        printing = Pieces(pieces.put_nowait, asyncio.get_running_loop())
        for chunk in (b"one\n", b"two\n", b"10%\r20%\r"):
            printing.add(chunk)
        told = [await asyncio.wait_for(pieces.get(), 20) for _ in range(2)]
        printing.add(b"30%\r\n\xff")
        printing.close()
        return [*told, pieces.get_nowait()]

    assert asyncio.run(run()) == ["one\n", "two\n20%", "30%\n\ufffd"]


# create_project


@pytest.mark.requirement("tools.create")
@pytest.mark.parametrize(("kind", "program"), [("java", "java"), ("python", "python3"), ("node", "node")])
def test_a_new_project_runs_as_it_says(context: ToolContext, kind: str, program: str) -> None:
    shown = preview(context, "create_project", name="demo-1", type=kind)
    assert not context.project.exists("demo-1")
    result = run(context, "create_project", name="demo-1", type=kind)

    assert result.changes == shown.changes
    assert shown.pre_image
    assert all(context.project.exists(change.path) and change.path in shown.detail for change in result.changes)
    if shutil.which(program, path="/usr/bin:/bin") is None:
        pytest.skip(f"{program} is not installed on this machine")
    command = result.text.partition("Run it with: ")[2]
    assert run(context, "execute_command", command=command).text == "exit code 0\nHello, world!"


@pytest.mark.requirement("tools.create")
def test_a_project_that_is_there_already_is_refused(context: ToolContext) -> None:
    context.project.write("demo/mine", b"")

    for use in (preview, run):
        with pytest.raises(ToolFailure, match="already there"):
            use(context, "create_project", name="demo", type="python")
    assert [entry.name for entry in context.project.list("demo")] == ["mine"]
