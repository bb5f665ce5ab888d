"""Finding files by their names."""

import asyncio
from typing import ClassVar

from pydantic import Field

from agent.paths import named, parts_of
from agent.project import Project
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.tools.search.patterns import Glob
from agent.tools.search.skipped import SKIPPED, to_skip
from agent.tree import MOST_LOOKED_AT, Level, Walk
from agent.visible import visible_path

MOST_SECONDS = 5.0


class GlobFilesArguments(ToolArguments):
    """Which names, and where to look."""

    pattern: str = Field(
        max_length=1_000,
        description="Such as *.py, src/**/test_*.py or **/*.{ts,tsx}. Without a / it is looked for at any depth.",
    )
    path: str = Field(default=".", description="Directory to look in, to which the pattern is relative.")
    max_results: int = Field(default=50, ge=1, le=200, description="How many files to name.")


class GlobFiles(Tool[GlobFilesArguments]):
    """Names the files whose path matches a pattern, in the order of their paths.

    That order stays when a file changes, so a later look compares with an earlier one. It ends after `most_seconds`
    or `most_looked_at` entries, and then says so.
    """

    name: ClassVar[str] = "glob_files"
    description: ClassVar[str] = (
        "Find files of the project by name, in the order of their paths; hidden files too. Links are named and not "
        f"followed. Directories called {', '.join(sorted(SKIPPED))} are skipped unless the path or pattern names them."
    )
    risk: ClassVar[Risk] = Risk.READ
    parallel_safe: ClassVar[bool] = True
    arguments = GlobFilesArguments

    def __init__(self, *, most_seconds: float = MOST_SECONDS, most_looked_at: int = MOST_LOOKED_AT) -> None:
        self._most_seconds = most_seconds
        self._most_looked_at = most_looked_at

    async def preview(self, arguments: GlobFilesArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        where = "" if arguments.path == "." else f" in {visible_path(arguments.path)}"
        return Preview(title=f"{visible_path(arguments.pattern)}{where}")

    async def run(self, arguments: GlobFilesArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        search = _Search(context.project, arguments, self._most_looked_at)
        await search.look(self._most_seconds)
        return ToolResult(text=_told(search, arguments))


class _Search:
    """One search, and what it found so far."""

    def __init__(self, project: Project, arguments: GlobFilesArguments, most_looked_at: int) -> None:
        self._walk = Walk(project, arguments.path, most_looked_at=most_looked_at)
        self._start = len(parts_of(arguments.path))
        self._glob = Glob(arguments.pattern)
        self._to_skip = to_skip({*parts_of(arguments.path), *self._glob.literals})
        self.files: list[tuple[str, ...]] = []
        self.directory: tuple[str, ...] | None = None
        """One that matches; it is no file, but may be what was meant."""
        self.skipped: set[str] = set()
        self.partial = ""
        """Why it ended early, or nothing."""

    @property
    def closed(self) -> int:
        """How many directories could not be opened."""
        return len(self._walk.closed)

    async def look(self, seconds: float) -> None:
        """Go through the tree."""
        now = asyncio.get_running_loop().time
        end = now() + seconds
        for level in self._walk:
            self._look_at(level)
            if now() > end:
                self.partial = f"stopped after {seconds:g} s"
                return
            await asyncio.sleep(0)
        if not self._walk.whole:
            self.partial = "stopped at the limit of entries"

    def _look_at(self, level: Level) -> None:
        here = self._glob.start()
        for name in level.parts[self._start :]:
            here = self._glob.step(here, name)
        self.files += [(*level.parts, name) for name in level.files if self._glob.matches(self._glob.step(here, name))]
        self.skipped |= self._to_skip.intersection(level.directories)
        below = {name: self._glob.step(here, name) for name in level.directories if name not in self._to_skip}
        level.directories[:] = [name for name, reached in below.items() if reached]
        matching = (name for name, reached in below.items() if self._glob.matches(reached))
        if self.directory is None and (name := next(matching, None)):
            self.directory = (*level.parts, name)


def _told(search: _Search, arguments: GlobFilesArguments) -> str:
    shown = sorted(search.files)[: arguments.max_results]
    lines = [visible_path("/".join(parts)) for parts in shown]
    if search.partial:
        lines.append(f"partial: true ({search.partial}; give a path, or a narrower pattern)")
    if len(search.files) > len(shown):
        lines.append(f"… {len(search.files) - len(shown):,} more of {len(search.files):,} files match")
    if not search.files:
        lines.append(f"No file matches {named(arguments.pattern)}.")
        if search.directory is not None:
            lines.append(f"The directory {named('/'.join(search.directory))} does; list it with list_dir.")
        if search.skipped:
            lines.append(f"Not looked into: {', '.join(sorted(search.skipped))}.")
    if search.closed:
        lines.append(f"Directories that could not be opened: {search.closed:,}")
    return "\n".join(lines)
