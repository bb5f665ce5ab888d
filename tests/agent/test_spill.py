import asyncio
import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import spill as spilling
from agent.project import Project
from agent.spill import LINE_CHARACTERS, MOST_FILES, OUTPUTS, spill
from agent.text_file import MAX_TEXT_BYTES
from agent.tool import ToolContext
from agent.tools import load
from tests.sandbox.places import make_project, make_sandbox

PATH = f"{OUTPUTS}/a1-execute_command.txt"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with make_project(tmp_path / "project") as opened:
        yield opened


def spilled(project: Project, text: str, name: str = "a1") -> str:
    return spill(text, tool="execute_command", project=project, name=name, most_characters=8_000)


def read_back(project: Project, directory: Path, path: str = PATH) -> list[str]:
    """All lines of a file, got as a model gets them: range by range."""
    tool = load("read_file")
    context = ToolContext(project=project, sandbox=make_sandbox(directory))
    lines: list[str] = []
    more: re.Match[str] | None = None
    while more or not lines:
        offset = int(more[1]) if more else 1
        arguments = tool.arguments.model_validate({"path": path, "offset": offset, "limit": 2_000})
        text = asyncio.run(tool.run(arguments, context)).text
        more = re.search(r"\n… continue with offset=(\d+)$", text)
        lines += [line.partition(" | ")[2] for line in text[: more.start() if more else None].split("\n")[1:]]
    return lines


@pytest.mark.requirement("tools.spill")
def test_the_model_is_told_head_tail_and_where_all_of_it_is(project: Project) -> None:
    text = "\n".join(f"line {number}" for number in range(10_000))
    view = spilled(project, text)
    first, *_, last = view.split("\n")

    assert first == f"[execute_command: 10,000 lines, {len(text):,} characters, kept in {PATH}]"
    assert view.partition("\n")[2].startswith(f"{text[:2_000]}\n… {len(text) - 2_800:,} characters left out …\n")
    assert f"\n{text[-800:]}\n" in view
    assert last.startswith(
        f'[Read on with read_file: path "{PATH}", with offset and limit; the head above ends in line'
    )
    assert int(last.split()[-1].rstrip(".]")) == text[:2_000].count("\n") + 1
    assert project.read(PATH, max_bytes=1 << 20).decode() == text


@pytest.mark.requirement("tools.spill")
def test_one_line_of_a_megabyte_is_readable_by_ranges(project: Project, tmp_path: Path) -> None:
    text = "".join(f"<{number}>" for number in range(140_000))
    view = spilled(project, text)

    assert len(text) > 1_000_000
    assert f"[Lines longer than {LINE_CHARACTERS:,} characters are broken there.]" in view
    assert "".join(read_back(project, tmp_path)) == text


@pytest.mark.requirement("tools.spill")
def test_many_lines_are_readable_by_ranges(project: Project, tmp_path: Path) -> None:
    lines = [f"{number} " + "字" * (number % 90) for number in range(20_000)]
    spilled(project, "\n".join(lines) + "\n")

    assert read_back(project, tmp_path) == lines


@pytest.mark.requirement("tools.spill")
@pytest.mark.parametrize(
    "unit", ["e\u0301", "\U0001f469\u200d\U0001f4bb", "\U0001f44d\U0001f3fd", "\U0001f1e8\U0001f1f3", "\r\n"]
)
@pytest.mark.parametrize("shift", range(4))
def test_no_cut_falls_into_a_character_as_it_is_seen(project: Project, unit: str, shift: int) -> None:
    text = "x" * shift + "".join(f"{unit}{number % 10}" for number in range(9_000))
    view = spilled(project, text)
    head, tail = re.split(r"\n… [\d,]+ characters left out …\n", view, maxsplit=1)
    whole = re.compile(f"x*(?:{unit}\\d)*(?:{unit})?")

    assert whole.fullmatch(head.split("]\n")[-1])
    assert re.match(f"(?:{unit})?\\d|{unit}", tail)
    for line in project.read(PATH, max_bytes=1 << 20).decode().split("\n"):
        assert unit == "\r\n" or re.fullmatch(f"x*\\d?(?:{unit}\\d)*(?:{unit})?", line)


def test_a_mark_without_end_is_cut_all_the_same(project: Project) -> None:
    view = spilled(project, "a" + "\u0301" * 50_000)

    assert "left out" in view
    assert len(view) < 4_000


@pytest.mark.requirement("tools.spill")
def test_what_no_text_file_can_hold_is_replaced(project: Project, tmp_path: Path) -> None:
    spilled(project, "a\0b\ud800c" + "x" * 9_000)

    assert read_back(project, tmp_path)[0].startswith("a\ufffdb\ufffdc")


@pytest.mark.requirement("tools.spill")
def test_a_text_that_is_too_large_to_be_read_back_loses_its_middle(project: Project, tmp_path: Path) -> None:
    text = "\n".join(f"{number:09}" + "€" * 40 for number in range(60_000))
    view = spilled(project, text)
    lines = read_back(project, tmp_path)

    assert "bytes are left out there.]" in view
    assert len(project.read(PATH, max_bytes=1 << 24)) <= MAX_TEXT_BYTES
    assert (lines[0][:9], lines[-1][:9]) == ("000000000", "000059999")
    assert "... the middle is left out ..." in lines


@pytest.mark.requirement("tools.spill")
def test_git_ignores_the_files_and_an_own_rule_stays(project: Project) -> None:
    spilled(project, "x" * 9_000)
    assert project.read(".paigate/.gitignore", max_bytes=10) == b"*\n"

    project.write(".paigate/.gitignore", b"mine\n")
    spilled(project, "x" * 9_000, name="a2")
    assert project.read(".paigate/.gitignore", max_bytes=10) == b"mine\n"


@pytest.mark.requirement("tools.spill")
def test_the_oldest_files_go_when_there_are_too_many(project: Project, tmp_path: Path) -> None:
    for number in range(MOST_FILES + 3):
        spilled(project, "x" * 9_000, name=f"{number}")
        os.utime(tmp_path / f"project/{OUTPUTS}/{number}-execute_command.txt", (number, number))

    names = {entry.name.partition("-")[0] for entry in project.list(OUTPUTS)}
    assert names == {str(number) for number in range(3, MOST_FILES + 3)}


@pytest.mark.requirement("tools.spill")
def test_the_oldest_files_go_when_they_are_too_large(project: Project, tmp_path: Path) -> None:
    project.make_directory(OUTPUTS)
    for number in range(3):
        path = tmp_path / f"project/{OUTPUTS}/{number}.txt"
        with path.open("wb") as file:
            file.truncate(24_000_000)
        os.utime(path, (number, number))
    spilled(project, "x" * 9_000)

    assert [entry.name for entry in project.list(OUTPUTS)] == ["1.txt", "2.txt", "a1-execute_command.txt"]


@pytest.mark.requirement("tools.spill")
def test_where_no_file_can_be_made_the_text_is_cut_and_the_reason_told(project: Project, tmp_path: Path) -> None:
    text = "begin" + "x" * 50_000 + "end"
    root = tmp_path / "project"

    def cut() -> str:
        view = spilled(project, text)
        assert view.startswith("[execute_command: 50,008 characters, cut here; they could not be kept in a file: ")
        assert "begin" in view
        assert view.endswith("end")
        assert 7_900 < len(view) < 8_400
        return view

    (root / "src").mkdir()
    (root / "src/.gitignore").write_text("precious")
    (root / ".paigate").symlink_to("src")
    assert "is a link" in cut()
    assert [path.name for path in (root / "src").iterdir()] == [".gitignore"]
    assert (root / "src/.gitignore").read_text() == "precious"

    for target in ("/etc", "../..", "nowhere"):
        (root / ".paigate").unlink()
        (root / ".paigate").symlink_to(target)
        cut()
    (root / ".paigate").unlink()
    (root / ".paigate").write_text("a file")
    cut()
    (root / ".paigate").unlink()
    (root / OUTPUTS).mkdir(parents=True)
    (root / PATH).symlink_to("../../src/victim")
    cut()
    assert not (root / "src/victim").exists()
    (root / PATH).unlink()
    (root / PATH).mkdir()
    cut()


@pytest.mark.requirement("tools.spill")
def test_a_file_that_cannot_be_filled_is_told_and_leaves_no_part_of_it(project: Project) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, hard))
    try:
        view = spilled(project, "begin" + "x" * 50_000 + "end")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "could not be kept in a file" in view
    assert project.list(OUTPUTS) == ()


@pytest.mark.parametrize(("tool", "name"), [("../../up", "n"), ("a/b", "../x"), ("", ""), ("工具", "x" * 500)])
def test_a_name_never_leads_elsewhere(project: Project, tool: str, name: str) -> None:
    view = spill("x" * 40_000, tool=tool, project=project, name=name)

    (entry,) = project.list(OUTPUTS)
    assert f"{OUTPUTS}/{entry.name}" in view
    assert [entry.name for entry in project.list("")] == [".paigate"]


def test_what_is_no_file_is_not_cleaned_away(project: Project, tmp_path: Path) -> None:
    project.make_directory(f"{OUTPUTS}/kept")
    (tmp_path / "project" / OUTPUTS / "link").symlink_to("/etc/passwd")
    for number in range(MOST_FILES + 1):
        spilled(project, "x" * 9_000, name=str(number))

    assert {"kept", "link"} < {entry.name for entry in project.list(OUTPUTS)}
    assert len(project.list(OUTPUTS)) == MOST_FILES + 2
    assert spilling.MOST_BYTES == 50_000_000


def test_a_short_text_is_told_whole(project: Project) -> None:
    view = spilled(project, "short\n")

    assert view.split("\n")[:2] == [f"[execute_command: 1 lines, 6 characters, kept in {PATH}]", "short"]
    assert "left out" not in view
