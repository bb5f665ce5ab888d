import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import FileUnsuitable, ToolFailure
from agent.project import Project
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.tool import FileChange, ToolContext
from agent.tools.edit import EditError, EditFile, EditFileArguments, replace

pytestmark = pytest.mark.requirement("tools.edit")


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    with Project.open(tmp_path) as project:
        yield ToolContext(project=project, sandbox=BubblewrapSandbox())


def call(old_text: str, new_text: str, *, path: str = "f", replace_all: bool = False) -> EditFileArguments:
    return EditFileArguments(path=path, old_text=old_text, new_text=new_text, replace_all=replace_all)


# The core


def test_a_unique_passage_is_replaced_and_told_with_its_line() -> None:
    edited = replace("a\nb\nc\n", "b\n", "x\ny\n")

    assert (edited.content, edited.count, edited.lines) == ("a\nx\ny\nc\n", 1, (2,))


def test_replacements_are_literal() -> None:
    assert replace("f(x) = a.*b", "a.*b", r"\1 $1 \g<0>").content == r"f(x) = \1 $1 \g<0>"


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n"),
        ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n"),
        ("a\r\nb\nc\n", "a\nb\nc", "x\ny", "x\r\ny\n"),
        ("a\r\n\r\nb\r\n", "\n\n", "\n", "a\r\nb\r\n"),
        ("one line", "one", "1\n", "1\n line"),
        ("a\rb\r\n", "a\rb", "c", "c\r\n"),
        ("\ufeffa\r\n", "\ufeffa", "b\n", "\ufeffb\r\n\r\n"),
    ],
)
def test_line_ends_and_marks_of_the_file_stay(content: str, old: str, new: str, after: str) -> None:
    assert replace(content, old, new).content == after


def test_a_passage_found_several_times_is_refused_with_its_first_lines() -> None:
    with pytest.raises(EditError, match=r"4 times in 'f', at lines 1, 2, 3 and more.*replace_all"):
        replace("x\nx\nx\nx\n", "x", "y", path="f")


def test_overlapping_places_count_each() -> None:
    with pytest.raises(EditError, match="2 times"):
        replace("aaa", "aa", "b")


def test_a_line_break_at_the_start_is_one_place_with_crlf() -> None:
    assert replace("a\r\nb", "\nb", "\nc").content == "a\r\nc"


def test_all_occurrences_are_replaced_from_left_to_right() -> None:
    edited = replace("aaa\na", "aa", "b", replace_all=True)
    assert (edited.content, edited.count, edited.lines) == ("ba\na", 1, (1,))
    edited = replace("x\r\nx\n", "x\n", "y\n", replace_all=True)
    assert (edited.content, edited.lines) == ("y\r\ny\n", (1, 2))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "x", "old_text is empty"),
        ("\ufeff", "x", "old_text is empty"),
        ("a", "a", "same"),
        ("a\r\n", "a\n", "same"),
        ("no", "no", "same"),
        ("A", "b", r"not found in 'f'.*indentation"),
        (" a", "b", "not found"),
    ],
)
def test_what_cannot_be_replaced_is_told_so_that_the_call_can_be_mended(old: str, new: str, message: str) -> None:
    for replace_all in (False, True):
        with pytest.raises(EditError, match=message):
            replace("a\n", old, new, replace_all=replace_all, path="f")


def test_a_million_places_are_not_counted_to_the_end() -> None:
    with pytest.raises(EditError, match="at least 1000 times"):
        replace("a" * 1_000_000, "a", "b")


PIECES = st.lists(st.sampled_from(["a", "b", " ", "\n", "\r\n", "\r", "é"]), max_size=12).map("".join)


@given(PIECES, PIECES.filter(bool), PIECES, PIECES.map(lambda text: text.replace("\r", "")))
def test_everything_around_the_passage_is_kept(before: str, old: str, after: str, new: str) -> None:
    content = f"{before}[{old}]{after}"
    try:
        edited = replace(content, f"[{old}]", f"<{new}>")
    except EditError:
        return
    assert edited.content.startswith(f"{before}<")
    assert edited.content.endswith(f">{after}")
    inside = edited.content[len(before) + 1 : len(edited.content) - len(after) - 1]
    assert inside.replace("\r\n", "\n") == new.replace("\r\n", "\n")


# The tool


def test_an_edit_is_previewed_bound_to_the_file_and_then_done(context: ToolContext) -> None:
    context.project.write("f", "\ufeffone\r\ntwo\r\nthree".encode())
    tool = EditFile()
    shown = asyncio.run(tool.preview(call("two", "2"), context))

    before = context.project.read("f", max_bytes=100)
    assert (shown.title, shown.kind, shown.pre_image) == ("f", "diff", context.project.place("f").pre_image(before))
    assert "\n-two⟨U+000D⟩\n+2⟨U+000D⟩\n" in shown.detail
    assert context.project.read("f", max_bytes=100) == "\ufeffone\r\ntwo\r\nthree".encode()

    result = asyncio.run(tool.run(call("two", "2"), context))
    assert context.project.read("f", max_bytes=100) == "\ufeffone\r\n2\r\nthree".encode()
    assert result.changes == shown.changes == (FileChange(path="f", added=1, removed=1),)
    assert result.text == "Edited 'f' in 1 place, first at line 2: 1 lines added, 1 removed."


def test_a_preview_names_what_is_wrong_and_nothing_is_written(context: ToolContext) -> None:
    context.project.write("f", b"x\nx\n")
    context.project.write("binary", b"\0")
    tool = EditFile()

    for arguments, error in (
        (call("x", "y"), EditError),
        (call("x", "y", path="no"), FileUnsuitable),
        (call("x", "y", path="binary"), FileUnsuitable),
        (call("x\n", "y" * (5 << 20), replace_all=True), ToolFailure),
    ):
        for use in (tool.preview, tool.run):
            with pytest.raises(error):
                asyncio.run(use(arguments, context))
    assert context.project.read("f", max_bytes=100) == b"x\nx\n"


def test_edits_at_the_same_time_lose_nothing(context: ToolContext) -> None:
    context.project.write("f", "".join(f"<{number}>\n" for number in range(20)).encode())

    async def edit_all() -> None:
        tool = EditFile()
        await asyncio.gather(*(tool.run(call(f"<{number}>", f"[{number}]"), context) for number in range(20)))

    asyncio.run(edit_all())
    assert context.project.read("f", max_bytes=1000).decode() == "".join(f"[{number}]\n" for number in range(20))
