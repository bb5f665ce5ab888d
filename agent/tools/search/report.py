"""What a model is told of a search: the lines or files, within its caps, and plainly when that is not all."""

import json
from collections.abc import Iterator, Sequence

from agent.errors import ProjectError
from agent.project import Project
from agent.tools.search.hits import FoundFile, FoundLine, read_counts, read_json, read_names
from agent.tools.search.ripgrep import LARGEST_FILE, OutputMode, Printed
from agent.tree import entry
from agent.visible import quoted, visible_path

_MOST_READS = 3
_LINES_BEFORE, _LINES_TO_READ = 20, 80
_MOST_NAMED = 3
_LARGEST = f"{LARGEST_FILE // 1_000_000} MB"


class Report:
    """Words the search for a pattern. Files over 2 MB are left out, and named when they have hits."""

    def __init__(self, project: Project, pattern: str, *, max_results: int, head_limit: int, max_chars: int) -> None:
        self._project = project
        self._pattern = pattern
        self._max_results = max_results
        self._head_limit = head_limit
        self._max_chars = max_chars
        self._shown: list[str] = []
        self._reasons: list[str] = []
        self._reads: list[tuple[str, int]] = []
        self._large: list[str] = []
        self._hits = 0
        self._nothing = ""

    def of(self, printed: Printed, mode: OutputMode) -> str:
        """The text; it says so when nothing was found."""
        if mode == "content":
            self._add_lines(read_json(printed.data))
        else:
            self._add_files(read_names(printed.data) if mode == "files" else read_counts(printed.data), mode)
        if printed.partial:
            self._reasons.append(printed.partial)
        if not self._shown:
            looked_at = f" in files up to {_LARGEST}" if self._large else ""
            self._nothing = f"No hits for {quoted(self._pattern)}{looked_at}{' so far' if printed.partial else ''}."
        return self._fitted(printed)

    def _add_lines(self, files: Sequence[FoundFile]) -> None:
        total = sum(file.hits for file in files)
        for file in self._small(files):
            self._add_file(file)
            if self._hits == self._max_results and total > self._hits:
                self._cut(f"max_results {self._max_results} of about {total:,} hits")
                return

    def _add_file(self, file: FoundFile) -> None:
        last, hits = 0, 0
        for line in file.lines():
            hits += line.hit
            if hits > self._head_limit:
                self._cut(f"head_limit {self._head_limit} hits of a file")
                return
            if line.hit and self._hits == self._max_results:
                return
            if last and line.number != last + 1 and file.has_context:
                self._shown.append("--")
            last = line.number
            self._add_line(file.path, line)

    def _add_line(self, path: str, line: FoundLine) -> None:
        self._shown.append(f"{'>' if line.hit else ' '} {visible_path(path)}:{line.number} | {line.text}")
        self._hits += line.hit
        offset = max(1, line.number - _LINES_BEFORE)
        covered = any(path == known and offset <= line.number < begin + _LINES_TO_READ for known, begin in self._reads)
        if line.hit and not covered and len(self._reads) < _MOST_READS:
            self._reads.append((path, offset))

    def _add_files(self, files: Sequence[FoundFile], mode: OutputMode) -> None:
        for file in self._small(files):
            if len(self._shown) == self._max_results:
                self._cut(f"max_results {self._max_results} of {len(files):,} files")
                return
            self._shown.append(visible_path(file.path) + (f": {file.hits:,}" if mode == "count" else ""))

    def _small(self, files: Sequence[FoundFile]) -> Iterator[FoundFile]:
        for file in files:
            if _size(self._project, file.path) > LARGEST_FILE:
                self._large.append(file.path)
            else:
                yield file

    def _cut(self, reason: str) -> None:
        if reason not in self._reasons:
            self._reasons.append(reason)

    def _fitted(self, printed: Printed) -> str:
        """Everything, with lines taken away from the end until it is no longer than it may be."""
        length = sum(len(line) + 1 for line in self._shown)
        notes = self._notes(printed)
        while self._shown and length + sum(len(note) + 1 for note in notes) > self._max_chars + 1:
            length -= len(self._shown.pop()) + 1
            self._cut(f"max_chars {self._max_chars}")
            notes = self._notes(printed)
        return "\n".join([*self._shown, *notes])

    def _notes(self, printed: Printed) -> list[str]:
        notes = [self._nothing] if self._nothing else []
        if self._reasons:
            notes.append(f"partial: true ({'; '.join(self._reasons)})")
        if self._large:
            named = ", ".join(map(visible_path, self._large[:_MOST_NAMED])) + (
                " …" if self._large[_MOST_NAMED:] else ""
            )
            notes.append(f"has hits but is over {_LARGEST}; use grep in execute_command: {named}")
        if printed.unreadable:
            notes.append("Some files could not be read.")
        if self._reads:
            notes.append("suggested_reads:")
            notes += [f"  {_arguments(path, offset)}" for path, offset in self._reads]
        return notes


def _size(project: Project, path: str) -> int:
    try:
        return entry(project, path).size
    except ProjectError:
        return 0  # gone by now, or too deep to be read


def _arguments(path: str, offset: int) -> str:
    """Arguments for read_file, that it understands whatever the name is."""
    arguments = {"path": path, "offset": offset, "limit": _LINES_TO_READ}
    return json.dumps(arguments, ensure_ascii=not path.isprintable())
