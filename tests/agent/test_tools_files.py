import asyncio
import os
import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agent.errors import FileUnsuitable, PathOutside, ProjectError, ToolFailure
from agent.project import Project
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.text_file import MAX_TEXT_BYTES, seen_file
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
def test_the_tools_are_sorted_and_each_is_what_the_registry_says() -> None:
    names = [tool.name for tool in load_tools()]

    assert names == sorted(TOOLS)
    assert {"create_project", "edit_file", "execute_command", "list_dir", "read_file", "write_file"} <= set(names)
    assert {"glob_files", "grep_code"} <= set(names)


@pytest.mark.requirement("policy.asks")
def test_only_reading_is_without_risk() -> None:
    risks = {tool.name: tool.risk for tool in load_tools()}

    looking = {"glob_files", "grep_code", "list_dir", "read_file"}
    assert looking <= {name for name, risk in risks.items() if risk is Risk.READ}
    assert {risks[name] for name in ("write_file", "edit_file", "create_project")} == {Risk.WRITE}
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
        file.write(b"text\n" * 2_000_000)

    told = {
        "zeros": "binary",
        "latin": "byte 0xE9 at offset 3, in line 1",
        "dir": "directory",
        "pipe": "pipe",
        "no": "not exist",
        "huge": "larger than 5,242,880 bytes; take a part of it with execute_command",
    }
    for path, message in told.items():
        with pytest.raises(FileUnsuitable, match=message):
            run(context, "read_file", path=path)
    with pytest.raises(PathOutside):
        run(context, "read_file", path="/etc/passwd")


@pytest.mark.requirement("tools.read", "tools.kinds")
@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.pdf", b"%PDF-1.7\nplain", "a PDF document; take its text out with execute_command, as with pdftotext"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0", "a PNG image; read_file gives text only"),
        ("a", b"\xff\xd8\xff\xe0\0", "a JPEG image"),
        ("a.mp4", b"\0\0\0\x20ftypisom", "a video or sound file"),
        ("a.mkv", b"\x1aE\xdf\xa3\x01\0", "a video"),
        ("a.zip", b"PK\3\4\0\0", "a ZIP archive; list what is in it with execute_command"),
        ("a.DOCX", b"PK\3\4\0\0", "a Word document; it is a ZIP archive of XML files"),
        ("a.tar", b"f" + b"\0" * 256 + b"ustar\0", "a tar archive"),
        ("a.db", b"SQLite format 3\0", "an SQLite database"),
        ("a.out", b"\x7fELF\2\1\1\0", "a compiled program"),
        ("a.txt", "hi".encode("utf-16"), "UTF-16 text; convert it with execute_command, as with iconv -f UTF-16"),
        ("a.bin", b"text and then \0", "a binary file, not text"),
        ("a.ipynb", b'{"cells": []}', "a notebook; print its cells with a few lines of Python in execute_command"),
    ],
)
def test_a_file_that_is_no_text_is_called_what_it_is_and_what_to_do_is_said(
    context: ToolContext, name: str, content: bytes, what: str
) -> None:
    context.project.write(name, content)

    with pytest.raises(FileUnsuitable) as told:
        run(context, "read_file", path=name)
    assert str(told.value).startswith(f"{name!r} is {what}")


@pytest.mark.requirement("tools.read")
@pytest.mark.parametrize(
    ("name", "content"), [("a.txt", b"GIF89a is old"), ("b.txt", b"BM"), ("c.md", b"ID3 tags"), ("d.ipynb", b"notes")]
)
def test_text_that_begins_like_something_else_is_read(context: ToolContext, name: str, content: bytes) -> None:
    context.project.write(name, content)

    assert run(context, "read_file", path=name).text == content.decode()


@pytest.mark.requirement("tools.read")
def test_the_json_of_a_notebook_is_given_by_ranges(context: ToolContext) -> None:
    context.project.write("a.ipynb", b'{\n "cells": []}')

    assert run(context, "read_file", path="a.ipynb", offset=1).text.startswith("lines 1-2 of 2\n    1 | {")


@pytest.mark.requirement("tools.read")
def test_a_character_cut_where_the_look_at_the_beginning_ends_does_no_harm(context: ToolContext) -> None:
    content = ("x" + "é" * 8000).encode()
    context.project.write("f", content)

    assert run(context, "read_file", path="f").text == content.decode()
    context.project.write("f", content + b"\n\n\xff")
    with pytest.raises(FileUnsuitable, match="byte 0xFF at offset 16,003, in line 3"):
        run(context, "read_file", path="f")


@pytest.mark.requirement("tools.read")
def test_carriage_returns_alone_end_the_lines_of_old_files_and_are_seen_in_others(context: ToolContext) -> None:
    context.project.write("old", b"a\rb\r")
    context.project.write("mixed", b"a\rb\r\nc\n")

    assert run(context, "read_file", path="old", offset=1).text == "lines 1-2 of 2\n    1 | a\n    2 | b"
    shown = run(context, "read_file", path="mixed", offset=1).text
    assert shown == "lines 1-2 of 2\n    1 | a⟨U+000D⟩b\n    2 | c"


@pytest.mark.requirement("tools.read")
def test_a_piece_that_was_read_is_never_put_into_another_file() -> None:
    assert load("read_file").most_characters is None


@pytest.mark.requirement("edit.stale")
def test_reading_whole_or_in_part_makes_the_file_known_at_its_real_place(context: ToolContext, root: Path) -> None:
    context.project.write("real/f", b"\xef\xbb\xbfone\ntwo\n")
    (root / "link").symlink_to("real")
    (root / "file-link").symlink_to("real/f")
    known = (seen_file("real/f", b"\xef\xbb\xbfone\ntwo\n"),)

    assert run(context, "read_file", path="real/f").seen == known
    assert run(context, "read_file", path="link/f", offset=2).seen == known
    assert run(context, "read_file", path="file-link").seen == known
    assert run(context, "list_dir").seen == ()


# write_file


@pytest.mark.requirement("edit.stale")
def test_a_file_that_changed_since_it_was_last_seen_is_not_written_over(context: ToolContext, root: Path) -> None:
    (root / "link").symlink_to(".")
    written = run(context, "write_file", path="link/f", content="one")
    assert written.seen == (seen_file("f", b"one"),)
    later = replace(context, seen={each.path: each.digest for each in written.seen})
    context.project.write("f", b"of somebody else")

    for path in ("f", "link/f"):
        for use in (preview, run):
            with pytest.raises(ToolFailure, match="changed since you last read it"):
                use(later, "write_file", path=path, content="two")
    assert context.project.read("f", max_bytes=100) == b"of somebody else"
    read = run(later, "read_file", path="f").seen
    later = replace(context, seen={each.path: each.digest for each in read})
    assert run(later, "write_file", path="f", content="two").ok


@pytest.mark.requirement("edit.stale")
def test_a_file_never_seen_or_gone_since_can_be_written(context: ToolContext) -> None:
    context.project.write("unseen", b"x")
    later = replace(context, seen={"gone": "0" * 64})

    assert run(later, "write_file", path="unseen", content="y").text.startswith("Replaced")
    assert run(later, "write_file", path="gone", content="y").text.startswith("Created")


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
    assert lines[:2] == ["[F] 000 (0 bytes)", "[F] 001 (0 bytes)"]
    assert lines[-1] == "… 100 more of 600 are not listed; find files by name with glob_files"


@pytest.mark.requirement("tools.list")
def test_links_and_special_files_are_listed_as_what_they_are(context: ToolContext, root: Path) -> None:
    (root / "out").symlink_to("/etc/a b")
    (root / "in").symlink_to("dir")
    os.mkfifo(root / "pipe")
    context.project.make_directory("dir")

    told = "[D] dir/\n[L] in → dir\n[L] out → '/etc/a b'\n[F] pipe (a named pipe)"
    assert run(context, "list_dir").text == told


@pytest.mark.requirement("tools.list")
def test_what_paigate_keeps_in_a_project_is_listed_only_by_its_path(context: ToolContext) -> None:
    context.project.write(".paigate/outputs/f", b"")
    context.project.write("sub/.paigate", b"")

    assert run(context, "list_dir").text == "[D] sub/"
    assert run(context, "list_dir", path="/project/.").text == "[D] sub/"
    assert run(context, "list_dir", path=".paigate").text == "[D] outputs/"
    assert run(context, "list_dir", path="sub").text == "[F] .paigate (0 bytes)"


def test_a_name_that_is_not_utf_8_can_be_told_to_a_model(context: ToolContext, root: Path) -> None:
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT))

    assert run(context, "list_dir").text == "[F] ⟨U+DCFF⟩ (0 bytes)"


# create_project


@pytest.mark.requirement("tools.create", "edit.stale")
@pytest.mark.parametrize("kind", ["java", "python", "node"])
def test_a_new_program_is_made_of_files_that_the_model_then_knows(context: ToolContext, kind: str) -> None:
    result = run(context, "create_project", name="demo", type=kind)

    assert {change.path for change in result.changes} == {each.path for each in result.seen}
    for each in result.seen:
        content = context.project.read(each.path, max_bytes=10_000)
        assert each == seen_file(each.path, content)
    with pytest.raises(ToolFailure, match="already there"):
        run(context, "create_project", name="demo", type=kind)


@pytest.mark.requirement("tools.create")
def test_a_new_program_that_cannot_be_finished_leaves_nothing(context: ToolContext) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(ProjectError, match="File too large"):
            run(context, "create_project", name="demo", type="java")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert context.project.list("") == ()
    assert run(context, "create_project", name="demo", type="java").ok
