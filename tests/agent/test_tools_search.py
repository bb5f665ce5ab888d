import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from agent.errors import FileUnsuitable, PathOutside, SandboxUnavailable, ToolFailure
from agent.project import Project
from agent.tool import ToolContext, ToolResult
from agent.tools import load
from agent.tools.search import GlobFiles, GrepCode
from agent.tools.search.hits import read_json
from agent.tools.search.patterns import Glob
from agent.tools.search.ripgrep import LARGEST_FILE
from agent.tools.search.skipped import SKIPPED
from agent.tree import MOST_LOOKED_AT
from tests.sandbox.places import make_project, make_sandbox, public_directory


@pytest.fixture(scope="module")
def install_dir() -> Iterator[Path]:
    with public_directory() as path:
        yield path


@pytest.fixture
def context(tmp_path: Path, install_dir: Path) -> Iterator[ToolContext]:
    with make_project(tmp_path / "project") as project:
        yield ToolContext(project=project, sandbox=make_sandbox(install_dir))


@pytest.fixture
def root(tmp_path: Path, context: ToolContext) -> Path:
    return tmp_path / "project"


def fill(context: ToolContext, *paths: str, content: bytes = b"") -> None:
    for path in paths:
        context.project.write(path, content)


def glob(context: ToolContext, pattern: str, **more: Any) -> list[str]:
    return text(context, GlobFiles(), pattern=pattern, **more).split("\n")


def grep(context: ToolContext, pattern: str, **more: Any) -> list[str]:
    return text(context, GrepCode(), pattern=pattern, **more).split("\n")


def text(context: ToolContext, tool: Any, **arguments: object) -> str:
    result: ToolResult = asyncio.run(tool.run(tool.arguments.model_validate(arguments), context))
    assert (result.ok, result.seen, result.changes) == (True, (), ())
    return result.text


# glob_files


@pytest.mark.requirement("tools.glob")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py", "src/.hidden.py", "src/deep/x.py", "src/test_a.py"]),
        ("a.py", ["a.py"]),
        ("./*.py", ["a.py"]),
        ("/project/*.py", ["a.py"]),
        ("**/x.py", ["src/deep/x.py"]),
        ("**/a.py", ["a.py"]),
        ("src/*.py", ["src/.hidden.py", "src/test_a.py"]),
        ("src/**/*.py", ["src/.hidden.py", "src/deep/x.py", "src/test_a.py"]),
        ("src/**", ["src/.hidden.py", "src/deep/x.py", "src/deep/y.ts", "src/test_a.py"]),
        ("**", ["a.py", "src/.hidden.py", "src/deep/x.py", "src/deep/y.ts", "src/test_a.py"]),
        ("*.{py,ts}", ["a.py", "src/.hidden.py", "src/deep/x.py", "src/deep/y.ts", "src/test_a.py"]),
        ("{src/{deep,no},.}/*.{ts,py}", ["a.py", "src/deep/x.py", "src/deep/y.ts"]),
        ("src/?eep/[xz].p[!a]", ["src/deep/x.py"]),
        ("src/x/../deep/*", ["src/deep/x.py", "src/deep/y.ts"]),
    ],
)
def test_files_are_found_by_pattern_in_the_order_of_their_paths(
    context: ToolContext, pattern: str, expected: list[str]
) -> None:
    fill(context, "src/test_a.py", "src/deep/y.ts", "src/deep/x.py", "a.py", "src/.hidden.py")

    assert glob(context, pattern) == expected


@pytest.mark.requirement("tools.glob")
def test_a_pattern_is_relative_to_the_path_and_results_are_not(context: ToolContext) -> None:
    fill(context, "a/b/x.py", "b/x.py")

    assert glob(context, "b/*.py", path="a") == ["a/b/x.py"]
    assert glob(context, "*.py", path="/project/a/b") == ["a/b/x.py"]
    with pytest.raises(FileUnsuitable, match="not a directory"):
        glob(context, "*", path="b/x.py")
    with pytest.raises(FileUnsuitable, match="does not exist"):
        glob(context, "*", path="no")


@pytest.mark.requirement("tools.glob")
def test_what_tools_made_is_skipped_unless_it_is_named(context: ToolContext) -> None:
    fill(context, *(f"{name}/sub/f.js" for name in SKIPPED), "src/build/g.js", "f.js")

    assert glob(context, "f.js") == ["f.js"]
    assert glob(context, "node_modules/**/f.js") == ["node_modules/sub/f.js"]
    assert glob(context, "*.js", path=".paigate") == [".paigate/sub/f.js"]
    assert glob(context, "*.js", path=".paigate/sub") == [".paigate/sub/f.js"]
    assert glob(context, "g.js") == ["No file matches 'g.js'.", f"Not looked into: {', '.join(sorted(SKIPPED))}."]


@pytest.mark.requirement("tools.glob")
def test_too_many_files_are_cut_and_counted(context: ToolContext) -> None:
    fill(context, *(f"f{number}" for number in range(5)))

    assert glob(context, "f*", max_results=2) == ["f0", "f1", "… 3 more of 5 files match"]
    told = text(context, GlobFiles(most_looked_at=3), pattern="f*")
    assert told.endswith("partial: true (stopped at the limit of entries; give a path, or a narrower pattern)")
    assert len(told.split("\n")) == 4
    told = text(context, GlobFiles(most_seconds=0.0), pattern="no")
    assert told.startswith("partial: true (stopped after 0 s;")
    assert MOST_LOOKED_AT == 200_000


@pytest.mark.requirement("tools.glob", "tools.guard")
def test_links_are_named_and_never_followed(context: ToolContext, root: Path) -> None:
    fill(context, "real/f.txt")
    (root / "inside").symlink_to("real")
    (root / "loop").symlink_to(".")
    (root / "out").symlink_to("/etc")

    assert glob(context, "**") == ["inside", "loop", "out", "real/f.txt"]
    assert glob(context, "passwd") == ["No file matches 'passwd'."]
    assert glob(context, "*", path="inside") == ["inside/f.txt"]
    with pytest.raises(PathOutside):
        glob(context, "*", path="out")
    with pytest.raises(PathOutside):
        glob(context, "*", path="..")
    with pytest.raises(PathOutside):
        glob(context, "../*")


@pytest.mark.requirement("tools.glob")
def test_strange_names_pipes_and_closed_directories_do_no_harm(context: ToolContext, root: Path) -> None:
    os.mkfifo(root / "pipe")
    fill(context, "closed/f")
    os.close(os.open(os.fsencode(root) + b"/a\n\xff", os.O_CREAT))
    deep = root
    for _ in range(103):
        deep = deep / "d"
        deep.mkdir()

    assert glob(context, "**") == ["a⟨U+000A⟩⟨U+DCFF⟩", "closed/f", "Directories that could not be opened: 1"]


@pytest.mark.requirement("tools.glob")
def test_a_directory_that_matches_is_told(context: ToolContext) -> None:
    fill(context, "src/deep/f")

    told = ["No file matches 'deep'.", "The directory 'src/deep' does; list it with list_dir."]
    assert glob(context, "deep") == told
    assert glob(context, "src/deep/")[1] == told[1]


@pytest.mark.requirement("tools.glob")
@pytest.mark.parametrize("pattern", ["", ".", "{a,b}" * 7, "{" + "a," * 100 + "}", "a/" * 101, "a\0"])
def test_impossible_patterns_are_refused_in_words(context: ToolContext, pattern: str) -> None:
    with pytest.raises((ToolFailure, FileUnsuitable)) as told:
        glob(context, pattern)
    assert len(str(told.value)) < 400


def test_no_pattern_takes_long() -> None:
    pattern = Glob("**/" * 30 + "*a" * 40 + "b")
    reached = pattern.start()
    for _ in range(50):
        reached = pattern.step(reached, "a" * 200)

    assert not pattern.matches(reached)
    assert pattern.matches(pattern.step(reached, "a" * 200 + "b"))


def test_a_pattern_knows_below_what_nothing_can_match() -> None:
    pattern = Glob("src/*.py")

    assert not pattern.step(pattern.start(), "docs")
    assert pattern.step(pattern.start(), "src")
    assert not pattern.step(pattern.step(pattern.start(), "src"), "deep")
    assert pattern.literals == {"src"}
    ended = pattern.step(pattern.step(pattern.start(), "src"), "a.py")
    assert pattern.matches(ended)
    assert not pattern.step(ended, "more")


# grep_code


@pytest.mark.requirement("tools.grep")
def test_hits_are_marked_with_file_and_line_and_reads_are_suggested(context: ToolContext) -> None:
    fill(context, "b.py", content=b"one\r\ntwo x\r\nthree\r\n")
    fill(context, "a/c.py", content=b"\n" * 99 + b"  x\n")

    assert grep(context, "x") == [
        "> a/c.py:100 |   x",
        "> b.py:2 | two x",
        "suggested_reads:",
        '  {"path": "a/c.py", "offset": 80, "limit": 80}',
        '  {"path": "b.py", "offset": 1, "limit": 80}',
    ]


@pytest.mark.requirement("tools.grep")
def test_lines_around_hits_are_shown_and_groups_are_apart(context: ToolContext) -> None:
    lines = [f"line {number}" for number in range(1, 12)]
    fill(context, "f", content="\n".join(lines).encode())

    assert grep(context, "line [28]", regex=True, context_lines=1)[:7] == [
        "  f:1 | line 1",
        "> f:2 | line 2",
        "  f:3 | line 3",
        "--",
        "  f:7 | line 7",
        "> f:8 | line 8",
        "  f:9 | line 9",
    ]


@pytest.mark.requirement("tools.grep")
def test_text_is_taken_as_it_stands_unless_it_is_a_regular_expression(context: ToolContext) -> None:
    fill(context, "f", content=b"a.b\naxb\nA.B\r\n--files\n")

    def hits(pattern: str, **more: object) -> list[str]:
        return [line[4:] for line in grep(context, pattern, **more) if line.startswith(">")]

    assert hits("a.b") == ["1 | a.b"]
    assert hits("a.b", regex=True) == ["1 | a.b", "2 | axb"]
    assert hits("a.b", case_sensitive=False) == ["1 | a.b", "3 | A.B"]
    assert hits("B$", regex=True) == ["3 | A.B"]
    assert hits("(?<=x)b", regex=True) == ["2 | axb"]
    assert hits("--files") == ["4 | --files"]
    assert grep(context, "nowhere") == ["No hits for 'nowhere'."]


@pytest.mark.requirement("tools.grep")
def test_files_and_counts_can_be_asked_for_instead_of_lines(context: ToolContext) -> None:
    fill(context, "b", "c", content=b"x\nx x\n")
    fill(context, "a\u00e9", content=b"x\n")
    fill(context, "n", content=b"y\n")

    assert grep(context, "x", output_mode="files") == ["aé", "b", "c"]
    assert grep(context, "x", output_mode="count") == ["aé: 1", "b: 2", "c: 2"]
    assert grep(context, "x", output_mode="count", path="b") == ["b: 2"]
    assert grep(context, "x", output_mode="files", max_results=2) == [
        "aé",
        "b",
        "partial: true (max_results 2 of 3 files)",
    ]


@pytest.mark.requirement("tools.grep")
def test_path_and_glob_narrow_the_search(context: ToolContext) -> None:
    fill(context, "a/x.py", "a/x.md", "b/x.py", ".hidden/x.py", content=b"x\n")

    def found(**more: object) -> list[str]:
        return grep(context, "x", output_mode="files", **more)

    assert found() == [".hidden/x.py", "a/x.md", "a/x.py", "b/x.py"]
    assert found(path="a") == ["a/x.md", "a/x.py"]
    assert found(path="/project/a/x.md") == ["a/x.md"]
    assert found(glob="*.py") == [".hidden/x.py", "a/x.py", "b/x.py"]
    assert found(glob="a/**") == ["a/x.md", "a/x.py"]
    assert found(glob="!*.py") == ["a/x.md"]
    for path, error in {"no": FileUnsuitable, "../x": PathOutside, "/etc": PathOutside}.items():
        with pytest.raises(error):
            found(path=path)


@pytest.mark.requirement("tools.grep")
def test_what_tools_made_and_git_ignores_is_searched_only_when_named(context: ToolContext) -> None:
    fill(context, *(f"{name}/f" for name in SKIPPED), "secret.env", "logs/f", "src/f", content=b"x\n")
    fill(context, ".gitignore", content=b"*.env\nlogs/\nnode_modules/\n")
    fill(context, ".paigate/.gitignore", content=b"*\n")
    fill(context, "sub/build", content=b"x\n")

    def found(**more: object) -> list[str]:
        return grep(context, "x", output_mode="files", **more)

    assert found() == ["src/f", "sub/build"]
    assert found(path="node_modules") == ["node_modules/f"]
    assert found(path=".paigate") == [".paigate/f"]
    assert found(glob="dist/*") == ["dist/f"]
    assert found(path="secret.env") == ["secret.env"]
    assert found(path="logs") == ["logs/f"]


@pytest.mark.requirement("tools.grep")
def test_every_cap_is_kept_and_told(context: ToolContext) -> None:
    fill(context, *(f"f{number}" for number in range(9)), content=b"x\n" * 40)

    few = grep(context, "x", max_results=3)
    assert few[:4] == ["> f0:1 | x", "> f0:2 | x", "> f0:3 | x", "partial: true (max_results 3 of about 189 hits)"]
    of_each = grep(context, "x", head_limit=2)
    assert of_each[:3] == ["> f0:1 | x", "> f0:2 | x", "> f1:1 | x"]
    assert of_each[18] == "partial: true (head_limit 2 hits of a file)"
    assert sum(line.startswith(">") for line in of_each) == 18
    assert of_each[-3:] == [f'  {{"path": "f{number}", "offset": 1, "limit": 80}}' for number in range(3)]
    short = "\n".join(grep(context, "x", max_chars=1000, max_results=200, head_limit=50))
    assert 900 < len(short) <= 1000
    assert "partial: true (max_results 200 of about 360 hits; max_chars 1000)" in short


@pytest.mark.requirement("tools.grep")
def test_a_line_of_a_megabyte_is_cut_around_the_hit(context: ToolContext) -> None:
    fill(context, "long", content=b"a" * 600_000 + "é needle".encode() + b"b" * 400_000 + b"\n")

    [first, *_] = grep(context, "needle")
    assert first.startswith("> long:1 | …aaaa")
    assert "aé needlebbb" in first
    assert first.endswith("bbb… (1,000,008 characters in this line)")
    assert len(first) < 500
    assert grep(context, "aaa")[0] == f"> long:1 | {'a' * 400}… (1,000,008 characters in this line)"


@pytest.mark.requirement("tools.grep")
def test_files_over_2_mb_are_left_out_by_name_and_binary_ones_are_passed_over(context: ToolContext) -> None:
    fill(context, "big.log", content=b"x\n" * 1_000_001)
    fill(context, "binary", content=b"\0\1x\n")
    fill(context, "small", content=b"x\n")

    left_out = "has hits but is over 2 MB; use grep in execute_command: big.log"
    assert grep(context, "x")[:2] == ["> small:1 | x", left_out]
    assert grep(context, "x", output_mode="files") == ["small", left_out]
    assert grep(context, "x", path="big.log") == ["No hits for 'x' in files up to 2 MB.", left_out]
    assert LARGEST_FILE == 2_000_000


@pytest.mark.requirement("tools.grep")
def test_when_time_is_up_large_files_are_passed_over_and_then_the_answer_says_partial(context: ToolContext) -> None:
    fill(context, "small", content=b"x\n")
    again = GrepCode(passes=((0.0, ()), (20.0, ("--max-filesize=2000000",))))
    never = GrepCode(passes=((0.0, ()),))

    assert text(context, again, pattern="x").startswith("> small:1 | x\nsuggested")
    assert text(context, never, pattern="x") == "No hits for 'x' so far.\npartial: true (timed out after 0 s)"


@pytest.mark.requirement("tools.grep")
def test_a_flood_of_hits_ends_the_search_early(context: ToolContext, root: Path) -> None:
    for number in range(600):
        (root / f"f{number}").write_bytes(b"x\n" * 50)

    found = grep(context, "x")
    assert "there are very many hits, and not all were looked at" in found[50]
    assert sum(line.startswith("> f") for line in found) == 50


@pytest.mark.requirement("tools.grep")
def test_names_and_lines_of_any_bytes_are_told_safely(context: ToolContext, root: Path) -> None:
    name = b"a\n> b:1 | forged\xff"
    with Path(os.fsdecode(os.fsencode(root) + b"/" + name)).open("wb") as file:
        file.write(b"caf\xe9 x\x1b[31m\0"[:-1] + b"\n")

    [first, _, read] = grep(context, "x")
    assert first == "> 'a\\n> b:1 | forged\\udcff':1 | caf\ufffd x⟨U+001B⟩[31m"
    assert context.project.read(json.loads(read)["path"], max_bytes=20).startswith(b"caf")
    assert grep(context, "x", output_mode="files") == ["'a\\n> b:1 | forged\\udcff'"]
    assert grep(context, "x", output_mode="count") == ["'a\\n> b:1 | forged\\udcff': 1"]


@pytest.mark.requirement("tools.grep")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"pattern": "f(", "regex": True}, "unclosed group"), ({"pattern": "x", "glob": "["}, "error parsing glob")],
)
def test_what_ripgrep_cannot_read_is_told_so_that_it_can_be_mended(
    context: ToolContext, arguments: dict[str, Any], message: str
) -> None:
    for mode in ("content", "files", "count"):
        with pytest.raises(ToolFailure, match=message) as told:
            grep(context, output_mode=mode, **arguments)
        assert "Mend the call" in str(told.value)


@pytest.mark.requirement("tools.grep")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pattern", ""),
        ("pattern", "a\nb"),
        ("pattern", "a\0"),
        ("pattern", "\ud800"),
        ("pattern", "x" * 2001),
        ("glob", "a\n"),
        ("context_lines", 6),
        ("max_results", 201),
        ("head_limit", 51),
        ("max_chars", 999),
        ("max_chars", 60_001),
        ("output_mode", "lines"),
    ],
)
def test_arguments_beyond_the_limits_are_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ValidationError) as told:
        load("grep_code").arguments.model_validate({"pattern": "x", name: value})
    assert told.value.errors()[0]["loc"] == (name,)


@pytest.mark.requirement("tools.grep")
def test_a_named_pipe_is_refused_and_files_that_cannot_be_read_are_mentioned(context: ToolContext, root: Path) -> None:
    os.mkfifo(root / "pipe")
    fill(context, "closed", "open", content=b"x\n")
    (root / "closed").chmod(0)

    with pytest.raises(FileUnsuitable, match="named pipe"):
        grep(context, "x", path="pipe")
    assert grep(context, "x")[:2] == ["> open:1 | x", "Some files could not be read."]
    for mode in ("content", "files", "count"):
        unread = grep(context, "nowhere", output_mode=mode)
        assert unread == ["No hits for 'nowhere'.", "Some files could not be read."]


@pytest.mark.requirement("tools.grep", "sandbox.only")
def test_without_a_sandbox_nothing_is_searched(context: ToolContext, tmp_path: Path, install_dir: Path) -> None:
    (tmp_path / "bin").mkdir()
    sandbox = make_sandbox(install_dir, search_path=str(tmp_path / "bin"), bundled=False)
    bare = ToolContext(project=context.project, sandbox=sandbox)

    with pytest.raises(SandboxUnavailable, match=r"Install util-linux|apt install bubblewrap"):
        grep(bare, "x")


@pytest.mark.requirement("tools.grep")
def test_a_cancelled_search_ends(context: ToolContext, root: Path) -> None:
    async def cancel() -> None:
        tool = GrepCode()
        search = asyncio.ensure_future(tool.run(tool.arguments.model_validate({"pattern": "x"}), context))
        asyncio.get_running_loop().call_later(0.01, search.cancel)
        with pytest.raises(asyncio.CancelledError):
            await search

    for number in range(500):
        (root / f"f{number}").write_bytes(b"x\n" * 50)
    asyncio.run(cancel())


@pytest.mark.requirement("tools.grep")
def test_titles_say_what_is_looked_for_and_cannot_be_forged(context: ToolContext) -> None:
    def title(tool: Any, **arguments: object) -> str:
        return asyncio.run(tool.preview(tool.arguments.model_validate(arguments), context)).title

    assert title(GrepCode(), pattern="a b") == "'a b'"
    assert title(GrepCode(), pattern="a\u202eb", path="src") == "'a\\u202eb' in src"
    assert title(GlobFiles(), pattern="*.py") == "*.py"
    assert title(GlobFiles(), pattern="*\n", path="a b") == "*⟨U+000A⟩ in 'a b'"


@pytest.mark.requirement("tools.parallel-safe")
def test_searches_may_run_beside_each_other(context: ToolContext) -> None:
    fill(context, "f", content=b"x\n")

    async def together() -> list[ToolResult]:
        tool = GrepCode()
        return await asyncio.gather(
            *(tool.run(tool.arguments.model_validate({"pattern": "x"}), context) for _ in range(4))
        )

    assert {result.text.split("\n")[0] for result in asyncio.run(together())} == {"> f:1 | x"}
    assert all(load(name).parallel_safe for name in ("read_file", "list_dir", "glob_files", "grep_code"))
    assert not any(
        load(name).parallel_safe for name in ("write_file", "create_project", "edit_file", "execute_command")
    )


def test_output_that_was_cut_off_is_read_up_to_its_last_whole_line() -> None:
    ripgrep = shutil.which("rg", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert ripgrep is not None
    done = subprocess.run([ripgrep, "--json", "def ", __file__], capture_output=True, check=True)
    whole = read_json(done.stdout)

    for cut in range(0, len(done.stdout), 97):
        files = read_json(done.stdout[:cut])
        lines = [line for file in files for line in file.lines()]
        assert lines == list(whole[0].lines())[: len(lines)]
    assert read_json(b"") == []
    assert len(list(whole[0].lines())) == whole[0].hits > 20


def test_a_project_is_not_touched_by_a_search(context: ToolContext, root: Path) -> None:
    fill(context, "f", content=b"x\n")
    before = {path: path.stat().st_mtime_ns for path in (root, root / "f")}
    grep(context, "x")
    glob(context, "f")

    assert {path: path.stat().st_mtime_ns for path in (root, root / "f")} == before
    assert isinstance(context.project, Project)
