import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agent.errors import FileUnsuitable, PathOutside, ToolFailure
from agent.project import Project
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.text_file import MAX_TEXT_BYTES
from agent.tool import FileChange, Preview, Risk, ToolContext, ToolResult
from agent.tools import TOOLS, load, load_tools


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    path.mkdir()
    return path


@pytest.fixture
def context(root: Path) -> Any:
    with Project.open(root) as project:
        yield ToolContext(project=project, sandbox=BubblewrapSandbox())


def run(context: ToolContext, tool: str, **arguments: object) -> ToolResult:
    found = load(tool)
    return asyncio.run(found.run(found.arguments.model_validate(arguments), context))


def preview(context: ToolContext, tool: str, **arguments: object) -> Preview:
    found = load(tool)
    return asyncio.run(found.preview(found.arguments.model_validate(arguments), context))


# The registry


@pytest.mark.requirement("tools.six")
def test_there_are_six_tools_sorted_and_each_is_what_the_registry_says() -> None:
    names = [tool.name for tool in load_tools()]

    assert names == ["create_project", "edit_file", "execute_command", "list_dir", "read_file", "write_file"]
    assert names == sorted(TOOLS)


@pytest.mark.requirement("policy.asks")
def test_only_reading_is_without_risk() -> None:
    risks = {tool.name: tool.risk for tool in load_tools()}

    assert {name for name, risk in risks.items() if risk is Risk.READ} == {"list_dir", "read_file"}
    assert risks["execute_command"] is Risk.EXECUTE


def test_a_model_is_told_what_each_tool_and_argument_is_for() -> None:
    for tool in load_tools():
        schema = tool.schema()
        assert schema.description.endswith(".")
        assert schema.parameters["additionalProperties"] is False
        assert all(entry["description"] for entry in schema.parameters["properties"].values())


def test_an_unknown_tool_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="create_project, edit_file"):
        load("rm")


@pytest.mark.requirement("tools.arguments")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {}),
        ("read_file", {"path": "f", "offset": 0}),
        ("read_file", {"path": "f", "limit": 2001}),
        ("read_file", {"path": "f", "lines": 3}),
        ("write_file", {"path": "f"}),
        ("edit_file", {"path": "f", "old_text": "x"}),
        ("execute_command", {"command": " "}),
        ("execute_command", {"command": "a\0b"}),
        ("execute_command", {"command": "true", "timeout_seconds": 601}),
        ("create_project", {"name": "../x", "type": "java"}),
        ("create_project", {"name": "x", "type": "cobol"}),
    ],
)
def test_wrong_arguments_are_refused_by_name(tool: str, arguments: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as told:
        load(tool).arguments.model_validate(arguments)
    assert told.value.errors()[0]["loc"]


# read_file


@pytest.mark.requirement("tools.read")
def test_a_small_file_is_given_whole_and_unchanged(context: ToolContext) -> None:
    context.project.write("f", b"one\r\n  two\n\nthree")

    assert run(context, "read_file", path="f").text == "one\r\n  two\n\nthree"


@pytest.mark.requirement("tools.read")
def test_a_range_is_numbered_and_tells_how_to_go_on(context: ToolContext) -> None:
    context.project.write("f", "".join(f"line {number}\r\n" for number in range(1, 31)).encode())

    middle = run(context, "read_file", path="f", offset=9, limit=2).text
    end = run(context, "read_file", path="f", offset=29).text
    assert middle == "lines 9-10 of 30\n    9 | line 9\n   10 | line 10\n… continue with offset=11"
    assert end == "lines 29-30 of 30\n   29 | line 29\n   30 | line 30"


@pytest.mark.requirement("tools.read")
def test_a_large_file_is_given_in_pieces_that_join_to_the_whole(context: ToolContext) -> None:
    lines = [f"{number} {'x' * 90}" for number in range(1, 1001)]
    context.project.write("f", "\n".join(lines).encode())

    first = run(context, "read_file", path="f").text
    assert first.startswith("lines 1-200 of 1000\n    1 | 1 x")
    seen: list[str] = []
    while len(seen) < 1000:
        text = run(context, "read_file", path="f", offset=len(seen) + 1, limit=2000).text
        assert len(text) < 33_000
        seen += [line[8:] for line in text.split("\n")[1:] if not line.startswith("…")]
    assert seen == lines


@pytest.mark.requirement("tools.read")
def test_a_very_long_line_is_shortened(context: ToolContext) -> None:
    context.project.write("f", b"x" * 100_000)

    assert run(context, "read_file", path="f").text.endswith("x… (98,000 more characters in this line)")


@pytest.mark.requirement("tools.read")
def test_an_offset_past_the_end_tells_the_number_of_lines(context: ToolContext) -> None:
    context.project.write("f", b"a\nb\n")

    with pytest.raises(ToolFailure, match="has 2 lines; offset 3"):
        run(context, "read_file", path="f", offset=3)


@pytest.mark.requirement("tools.read")
def test_an_empty_file_and_a_byte_order_mark_are_read_kindly(context: ToolContext) -> None:
    context.project.write("empty", b"")
    context.project.write("marked", "\ufeffx".encode())

    assert run(context, "read_file", path="empty").text == "(the file is empty)"
    assert run(context, "read_file", path="marked").text == "x"


@pytest.mark.requirement("tools.read")
def test_what_is_no_text_is_refused_kindly(context: ToolContext, root: Path) -> None:
    context.project.write("zeros", b"a\0b")
    context.project.write("latin", "caf\xe9".encode("latin-1"))
    context.project.make_directory("dir")
    os.mkfifo(root / "pipe")
    with (root / "huge").open("wb") as file:
        file.truncate(10 << 30)

    told = {
        "zeros": "binary",
        "latin": "not UTF-8",
        "dir": "directory",
        "pipe": "pipe",
        "no": "not exist",
        "huge": "larger",
    }
    for path, message in told.items():
        with pytest.raises(FileUnsuitable, match=message):
            run(context, "read_file", path=path)
    with pytest.raises(PathOutside):
        run(context, "read_file", path="/etc/passwd")


# write_file


@pytest.mark.requirement("tools.write")
def test_a_new_file_is_previewed_and_then_written_with_its_parents(context: ToolContext) -> None:
    shown = preview(context, "write_file", path="a/b.txt", content="one\ntwo\n")
    assert (shown.title, shown.kind, shown.whole) == ("a/b.txt (new)", "diff", True)
    assert shown.pre_image == context.project.place("a/b.txt").pre_image(None)
    assert shown.detail == "@@ -0,0 +1,2 @@\n+one\n+two"
    assert not context.project.exists("a")

    result = run(context, "write_file", path="a/b.txt", content="one\ntwo\n")
    assert context.project.read("a/b.txt", max_bytes=100) == b"one\ntwo\n"
    assert result.changes == shown.changes == (FileChange(path="a/b.txt", added=2, removed=0),)
    assert result.text == "Created 'a/b.txt': 8 bytes, 2 lines added, 0 removed."


@pytest.mark.requirement("tools.write")
def test_replacing_a_file_shows_what_changes_and_is_bound_to_what_was_there(context: ToolContext) -> None:
    context.project.write("f", b"one\ntwo\n")
    shown = preview(context, "write_file", path="f", content="one\n2\n")

    assert shown.detail == "@@ -1,2 +1,2 @@\n one\n-two\n+2"
    assert shown.pre_image == context.project.place("f").pre_image(b"one\ntwo\n")
    assert run(context, "write_file", path="f", content="one\n2\n").text.startswith("Replaced 'f'")


def test_writing_what_is_there_already_shows_no_change(context: ToolContext) -> None:
    context.project.write("f", b"same")

    assert preview(context, "write_file", path="f", content="same").detail == "no change"


def test_an_empty_file_is_not_shown_as_no_change(context: ToolContext) -> None:
    assert preview(context, "write_file", path="f", content="").detail == "an empty file"
    context.project.write("f", b"\0")

    emptied = preview(context, "write_file", path="f", content="").detail
    assert emptied == "replaces a binary file of 1 bytes\nby an empty one"


@pytest.mark.requirement("approval.whole")
def test_a_change_too_long_to_be_shown_says_so(context: ToolContext) -> None:
    shown = preview(context, "write_file", path="f", content="x\n" * 200_000)

    assert not shown.whole
    assert shown.detail.endswith("lines are not shown")
    assert shown.changes == (FileChange(path="f", added=200_000, removed=0),)


@pytest.mark.requirement("approval.bound")
def test_a_card_names_the_place_that_a_link_leads_to(context: ToolContext, root: Path) -> None:
    (root / "hidden").mkdir()
    (root / "src").symlink_to("hidden")
    shown = preview(context, "write_file", path="src/exclude", content="x\n")

    assert shown.title == "src/exclude → hidden/exclude (new)"
    assert shown.changes == (FileChange(path="hidden/exclude", added=1, removed=0),)
    assert run(context, "write_file", path="src/exclude", content="x\n").changes == shown.changes
    assert preview(context, "write_file", path="/project/./a", content="x\n").title == "a (new)"


@pytest.mark.requirement("approval.whole")
def test_titles_and_listings_cannot_be_written_by_a_name(context: ToolContext, root: Path) -> None:
    (root / "a\u202eb").touch()
    (root / "safe.txt (new)").write_text("x")

    assert preview(context, "write_file", path="safe.txt (new)", content="y").title == "'safe.txt (new)'"
    assert preview(context, "read_file", path="a\u202eb").title == "a⟨U+202E⟩b"
    assert preview(context, "list_dir", path="a\n[D] b").title == "'a\\n[D] b'"
    for tool, more in (("write_file", {"content": ""}), ("edit_file", {"old_text": "x", "new_text": "y"})):
        with pytest.raises(FileUnsuitable, match=r"U\+000A|does not exist"):
            preview(context, tool, path="a\n✅ approved", **more)


def test_replacing_a_binary_file_says_so(context: ToolContext) -> None:
    context.project.write("f", b"\0\1\2")

    assert preview(context, "write_file", path="f", content="x\n").detail.startswith(
        "replaces a binary file of 3 bytes"
    )


@pytest.mark.requirement("tools.write")
def test_too_much_or_impossible_text_is_refused_and_changes_nothing(context: ToolContext) -> None:
    context.project.write("f", b"old")

    for content, message in {"x" * (MAX_TEXT_BYTES + 1): "limit is", "\ud800": "surrogate"}.items():
        with pytest.raises(ToolFailure, match=message):
            run(context, "write_file", path="f", content=content)
    assert context.project.read("f", max_bytes=10) == b"old"


# list_dir


@pytest.mark.requirement("tools.list")
def test_a_directory_is_listed_directories_first(context: ToolContext, root: Path) -> None:
    context.project.write("z/f", b"")
    context.project.write("b", b"12345")
    (root / "a\nb").touch()

    assert run(context, "list_dir").text == "[D] z/\n[F] a⟨U+000A⟩b (0 bytes)\n[F] b (5 bytes)"
    assert run(context, "list_dir", path="z").text == "[F] f (0 bytes)"
    context.project.make_directory("empty")
    assert run(context, "list_dir", path="empty").text == "(the directory is empty)"


@pytest.mark.requirement("tools.list")
def test_a_crowded_directory_is_cut_and_says_how_much(context: ToolContext, root: Path) -> None:
    for number in range(600):
        (root / f"{number:03d}").touch()
    lines = run(context, "list_dir").text.split("\n")

    assert len(lines) == 501
    assert lines[-1] == "… 100 more of 600 are not listed"


def test_a_name_that_is_not_utf_8_can_be_told_to_a_model(context: ToolContext, root: Path) -> None:
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT))

    assert run(context, "list_dir").text == "[F] ⟨U+DCFF⟩ (0 bytes)"
