"""The tool edit_file, on real files."""

import asyncio
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import FileUnsuitable, PathOutside, ToolFailure
from agent.project import Project
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.text_file import require_fresh, seen_file
from agent.tool import FileChange, ToolContext, ToolResult
from agent.tools import load
from agent.tools.edit import EditError, EditFile, EditFileArguments

pytestmark = pytest.mark.requirement("tools.edit")

Known = dict[str, str]


@pytest.fixture
def known() -> Known:
    """What the conversation has seen."""
    return {}


@pytest.fixture
def context(tmp_path: Path, known: Known) -> Iterator[ToolContext]:
    with Project.open(tmp_path) as project:
        yield ToolContext(project=project, sandbox=BubblewrapSandbox(), seen=known)


def put(context: ToolContext, known: Known, content: bytes, path: str = "f") -> None:
    """Write a file that the model then knows."""
    context.project.write(path, content)
    known[path] = seen_file(path, content).digest


def content_of(context: ToolContext, path: str = "f") -> bytes:
    return context.project.read(path, max_bytes=10 << 20)


def call(old_text: str, new_text: str, *, path: str = "f", replace_all: bool = False) -> EditFileArguments:
    return EditFileArguments(path=path, old_text=old_text, new_text=new_text, replace_all=replace_all)


def run(context: ToolContext, arguments: EditFileArguments) -> ToolResult:
    return asyncio.run(EditFile().run(arguments, context))


def refusal(context: ToolContext, arguments: EditFileArguments, kind: type[Exception] = ToolFailure) -> str:
    """Why the call is refused, which a preview tells as the run does."""
    with pytest.raises(kind) as previewed:
        asyncio.run(EditFile().preview(arguments, context))
    with pytest.raises(kind) as ran:
        run(context, arguments)
    assert str(previewed.value) == str(ran.value)
    return str(ran.value)


def test_the_tool_is_in_the_registry() -> None:
    assert isinstance(load("edit_file"), EditFile)


@pytest.mark.requirement("edit.span")
def test_an_edit_is_previewed_bound_to_the_file_and_then_done(context: ToolContext, known: Known) -> None:
    before = "\ufeffone\r\ntwo\r\nthree".encode()
    put(context, known, before)
    shown = asyncio.run(EditFile().preview(call("two", "2"), context))

    assert (shown.title, shown.kind, shown.pre_image) == ("f", "diff", context.project.place("f").pre_image(before))
    assert "\n-two⟨U+000D⟩\n+2⟨U+000D⟩\n" in shown.detail
    assert content_of(context) == before

    result = run(context, call("two", "2"))
    assert content_of(context) == "\ufeffone\r\n2\r\nthree".encode()
    assert result.changes == shown.changes == (FileChange(path="f", added=1, removed=1),)
    assert result.ok


@pytest.mark.requirement("edit.diff")
def test_the_result_shows_what_became_of_the_file_with_its_new_line_numbers(context: ToolContext, known: Known) -> None:
    put(context, known, "".join(f"line {number}\r\n" for number in range(1, 31)).encode() + b"end")
    result = run(context, call("line 2\n", "line 2\nmore\nand more\n"))
    known.update((file.path, file.digest) for file in result.seen)
    result = run(context, call("line 12\nline 13", "line 12+13"))
    assert result.text.split("\n") == [
        "Edited 'f' in 1 place, first at line 14: 1 lines added, 2 removed. With the line numbers it has now:",
        "    11 | line 9",
        "    12 | line 10",
        "    13 | line 11",
        "-      | line 12",
        "-      | line 13",
        "+   14 | line 12+13",
        "    15 | line 14",
        "    16 | line 15",
        "    17 | line 16",
    ]


@pytest.mark.requirement("edit.diff")
def test_the_diff_in_a_result_is_bounded(context: ToolContext, known: Known) -> None:
    put(context, known, b"a\n" * 20_000 + b"x" * 100_000)
    result = run(context, call("a\n", "b\n", replace_all=True))
    assert result.text.startswith("Edited 'f' in 20,000 places, first at line 1: 20000 lines added, 20000 removed.")
    assert result.text.endswith("more lines of the diff are not shown")
    assert len(result.text) < 4_300
    known.update((file.path, file.digest) for file in result.seen)
    assert len(run(context, call("b\nx", "b\ny")).text) < 4_300


@pytest.mark.requirement("edit.stale")
def test_a_file_is_read_before_it_is_edited(context: ToolContext, known: Known) -> None:
    context.project.write("d/f", b"a\n")
    assert "'d/f' has not been read" in refusal(context, call("a", "b", path="d/../d/f"))
    known["d/f"] = seen_file("d/f", b"a\n").digest
    run(context, call("a", "b", path="/project/d/f"))
    assert content_of(context, "d/f") == b"b\n"


@pytest.mark.requirement("edit.stale")
def test_a_file_that_changed_since_it_was_seen_is_not_edited(context: ToolContext, known: Known) -> None:
    put(context, known, b"a\n")
    context.project.write("f", b"a\nsomebody's work\n")
    assert "'f' has changed since you last read it. Read it again" in refusal(context, call("a", "b"))
    assert content_of(context) == b"a\nsomebody's work\n"


@pytest.mark.requirement("edit.stale")
def test_after_an_edit_the_file_is_known_as_it_is_now(context: ToolContext, known: Known) -> None:
    put(context, known, b"a\n")
    result = run(context, call("a", "b"))
    assert result.seen == (seen_file("f", b"b\n"),)
    assert "has changed" in refusal(context, call("b", "c"))
    known.update((file.path, file.digest) for file in result.seen)
    run(context, call("b", "c"))
    assert content_of(context) == b"c\n"


@pytest.mark.requirement("edit.stale")
def test_a_file_need_not_be_known_where_that_is_not_asked() -> None:
    require_fresh("f", b"a", {}, must_know=False)
    require_fresh("f", b"a", {"f": seen_file("f", b"a").digest}, must_know=True)
    with pytest.raises(ToolFailure, match="has changed"):
        require_fresh("f", b"b", {"f": seen_file("f", b"a").digest}, must_know=False)


@pytest.mark.requirement("edit.errors")
def test_errors_come_in_order_bad_arguments_then_the_file_then_the_edit(context: ToolContext, known: Known) -> None:
    placeholder = "# ... existing code ..."
    assert "old_text is empty" in refusal(context, call("", placeholder, path="missing"))
    assert "does not exist" in refusal(context, call("a", placeholder, path="missing"), FileUnsuitable)
    context.project.write("f", b"a\n")
    assert "not been read" in refusal(context, call("a", placeholder))
    put(context, known, b"a\na\n")
    assert "left out" in refusal(context, call("q", placeholder))
    assert "No change" in refusal(context, call("q", "q"))
    assert "not found" in refusal(context, call("q", "b"))
    assert "2 times in 'f'" in refusal(context, call("a", "b"))
    assert content_of(context) == b"a\na\n"


@pytest.mark.requirement("edit.errors")
def test_what_is_no_text_file_of_the_project_is_refused_and_nothing_is_written(
    context: ToolContext, known: Known, tmp_path: Path
) -> None:
    put(context, known, b"a\0", "binary")
    put(context, known, b"a\xff", "latin")
    put(context, known, b"a", "text")
    put(context, known, b"a" * ((5 << 20) + 1), "big")
    context.project.make_directory("d")
    (tmp_path / "link").symlink_to("text")
    for path, kind, message in (
        ("binary", FileUnsuitable, "binary"),
        ("latin", FileUnsuitable, "not UTF-8"),
        ("big", FileUnsuitable, "larger than"),
        ("d", FileUnsuitable, "directory"),
        ("link", FileUnsuitable, "is a link to 'text'"),
        ("../f", PathOutside, "leads out"),
    ):
        assert message in refusal(context, call("a", "b", path=path), kind)
    assert "lone surrogate" in refusal(context, call("a", "\ud800", path="text"))
    assert "the limit is" in refusal(context, call("a", "b" * ((5 << 20) + 1), path="text"))
    assert content_of(context, "text") == b"a"


def test_edits_at_the_same_time_lose_nothing(context: ToolContext, known: Known) -> None:
    put(context, known, "".join(f"<{number}>\n" for number in range(20)).encode())

    async def edit(number: int) -> None:
        result = await EditFile().run(call(f"<{number}>", f"[{number}]"), context)
        known.update((file.path, file.digest) for file in result.seen)

    async def edit_all() -> None:
        await asyncio.gather(*map(edit, range(20)))

    asyncio.run(edit_all())
    assert content_of(context).decode() == "".join(f"[{number}]\n" for number in range(20))


@pytest.mark.requirement("edit.stale")
def test_of_two_edits_made_from_the_same_reading_the_second_is_refused(context: ToolContext, known: Known) -> None:
    put(context, known, b"a\nb\n")
    other = dataclasses.replace(context, seen=dict(known))
    run(context, call("a", "1"))
    with pytest.raises(ToolFailure, match="has changed"):
        run(other, call("b", "2"))
    assert content_of(context) == b"1\nb\n"


def test_errors_of_the_edit_are_failures_of_the_tool() -> None:
    assert issubclass(EditError, ToolFailure)
