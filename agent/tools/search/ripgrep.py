"""One search by ripgrep, in the sandbox: its command line, and of what it prints as much as anybody will look at."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.errors import ToolFailure
from agent.paths import parts_of
from agent.project import Project
from agent.sandbox import CommandLimits, CommandResult, Sandbox
from agent.tools.search.skipped import SKIPPED, to_skip

OutputMode = Literal["content", "files", "count"]
Passes = tuple[tuple[float, tuple[str, ...]], ...]
"""How often to search: each time seconds, and options; the next only where the time of the one before was up."""

LARGEST_FILE = 2_000_000
# Looking at the size of every file costs a sixth of the whole search. So at first none is looked at, and what is found
# in large ones is left out later; only where that takes long, as large files do, they are passed over from the start.
PASSES: Passes = ((3.0, ()), (5.0, (f"--max-filesize={LARGEST_FILE}",)))

_MOST_BYTES = 16 << 20
_MOST_HITS: dict[OutputMode, int] = {"content": 4_000, "files": 50_000, "count": 50_000}
# What stands once for every hit, or every file: in JSON a quotation mark of the text itself is always escaped.
_MARKS: dict[OutputMode, bytes] = {"content": b'{"type":"match"', "files": b"\0", "count": b"\0"}
_NOT_FOUND = {126, 127}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for, and where; `path` and `glob` are relative to the project's root."""

    pattern: str
    path: str
    glob: str | None
    regex: bool
    case_sensitive: bool
    context_lines: int
    most_per_file: int
    mode: OutputMode

    def command(self, more: Sequence[str] = ()) -> list[str]:
        """The command line; `--no-config` and the rest make it depend on nothing but the project."""
        parts = parts_of(self.path)
        named = {*parts, *(self.glob or "").split("/")}
        return [
            *("rg", "--no-config", "--no-messages", "--hidden", "--no-require-git", "--no-ignore-global"),
            *self._output(),
            *(("--engine=auto", "--crlf") if self.regex else ("--fixed-strings",)),
            "--case-sensitive" if self.case_sensitive else "--ignore-case",
            *((f"--glob={self.glob}",) if self.glob else ()),
            *(f"--glob=!{name}/" for name in sorted(to_skip(named))),
            # What tools made is ignored by git as well, and yet asked for.
            *(("--no-ignore",) if SKIPPED & named else ()),
            *more,
            *("--", self.pattern, "/".join((".", *parts))),
        ]

    def _output(self) -> tuple[str, ...]:
        if self.mode == "files":
            return ("--files-with-matches", "--null")
        if self.mode == "count":
            return ("--count", "--null", "--with-filename")
        return ("--json", f"--max-count={self.most_per_file}", f"--context={self.context_lines}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What ripgrep printed, whole lines only, and why that may not be all."""

    data: bytes
    partial: str = ""
    unreadable: bool = False
    """Whether some files could not be read."""


class RipgrepMissing(Exception):
    """There is no `rg` in the sandbox."""


async def search(query: Query, *, project: Project, sandbox: Sandbox, passes: Passes) -> Printed:
    """Run the search, for the seconds of all `passes` at most.

    Raises:
        ToolFailure: ripgrep cannot do what is asked; the message has its words.
        RipgrepMissing: it is not there.
        SandboxUnavailable: there is no sandbox, so nothing was run.
    """
    printed = Printed(data=b"")
    for seconds, more in passes:
        output = _Output(query.mode)
        result = await _run(query.command(more), seconds, output, project, sandbox)
        if result is not None and result.timed_out:
            spent = sum(each for each, _ in passes)
            printed = Printed(data=bytes(output.data), partial=f"timed out after {spent:g} s")
            continue
        return _printed(result, output, query.mode)
    return printed


class _Output:
    """What was printed so far; `when_full` is called once it is more than anybody will look at."""

    def __init__(self, mode: OutputMode) -> None:
        self.data = bytearray()
        self.full = False
        self.when_full: Callable[[], object] = lambda: None
        self._mark = _MARKS[mode]
        self._left = _MOST_HITS[mode]

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.data += chunk
        self._left -= chunk.count(self._mark)
        if not self.full and (self._left < 0 or len(self.data) > _MOST_BYTES):
            self.full = True
            self.when_full()


async def _run(
    command: Sequence[str], seconds: float, output: _Output, project: Project, sandbox: Sandbox
) -> CommandResult | None:
    """Run it to its end, or until the output is full; then there is no result."""
    limits = CommandLimits(wall_seconds=seconds, cpu_seconds=600)
    running = asyncio.ensure_future(sandbox.run(command, project=project, limits=limits, on_output=output.add))
    output.when_full = running.cancel
    try:
        return await running
    except asyncio.CancelledError:
        waiting = asyncio.current_task()
        if not output.full or (waiting is not None and waiting.cancelling()):
            raise
        return None


def _printed(result: CommandResult | None, output: _Output, mode: OutputMode) -> Printed:
    data = bytes(output.data)
    if result is None:
        return Printed(data=data, partial="there are very many hits, and not all were looked at")
    if result.exit_code in _NOT_FOUND:
        raise RipgrepMissing
    spoke = bool(data) and not data.startswith(b"{") if mode == "content" else bool(data) and b"\0" not in data
    if result.exit_code not in {0, 1, 2} or (result.exit_code == 2 and spoke):
        said = data.decode("utf-8", "replace").removeprefix("rg: ").strip()[:1_000]
        raise ToolFailure(
            f"ripgrep cannot search for that (exit code {result.exit_code}): {said}\nMend the call: a pattern is "
            "matched within single lines; with regex false it is searched for just as it stands."
        )
    return Printed(data=data, unreadable=result.exit_code == 2)
