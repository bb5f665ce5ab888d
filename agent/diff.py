"""How a change of a text looks: a bounded unified diff for a person, a numbered one for the model, and its counts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agent.equal_lines import Run, equal_runs
from agent.visible import visible

MAX_DIFF_CHARACTERS = 200_000
_MOST_OF_A_LINE = 400
_CONTEXT = 3
_END_OF_FILE = "\\ No newline at end of file"

_Edit: TypeAlias = tuple[int, int, int, int]
"""Lines taken out, from and to, and lines put in, from and to; counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A part of a diff: lines that begin with a blank, `-` or `+`, and where the first is, counted from 0."""

    old_from: int
    new_from: int
    lines: tuple[str, ...]

    @property
    def header(self) -> str:
        """The line that names the place, as unified diffs have it."""
        old, new = (len(self.lines) - sum(line[0] == sign for line in self.lines) for sign in "+-")
        # An empty side is named by the line before it.
        return f"@@ -{self.old_from + (old > 0)},{old} +{self.new_from + (new > 0)},{new} @@"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """A unified diff without file headers, and its counts, which are never cut short.

    `whole` is false when the text ends at `MAX_DIFF_CHARACTERS`, with a last line that says how much is missing.
    """

    text: str
    added: int
    removed: int
    whole: bool
    hunks: tuple[Hunk, ...] = field(repr=False)


def diff(before: str, after: str) -> Diff:
    """Compare two texts line by line; equal texts give an empty diff.

    Lines end at line feeds and nowhere else. A carriage return before one is part of the line, so that changed line
    ends are changed lines; it is shown as `visible` shows it, like all that could deceive the eye. The work is bounded:
    of texts that differ much, what is shown need not be the smallest change.
    """
    hunks = tuple(_hunks(_lines(before), _lines(after)))
    added, removed = (sum(line[0] == sign for hunk in hunks for line in hunk.lines) for sign in "+-")
    text, whole = _bounded([line for hunk in hunks for line in (hunk.header, *hunk.lines)])
    return Diff(text=text, added=added, removed=removed, whole=whole, hunks=hunks)


def numbered_diff(compared: Diff, *, most_characters: int) -> str:
    """The same change with the numbers that lines have afterwards; long lines are cut, and it ends where it must.

    The numbers look as in a listing of a file. Unlike `Diff.text` this is not made fit for a person's eyes.
    """
    shown: list[str] = []
    room = most_characters
    for index, line in enumerate(lines := list(_numbered(compared.hunks))):
        room -= len(line) + 1
        if room < 0:
            return "\n".join([*shown, f"… {len(lines) - index:,} more lines of the diff are not shown"])
        shown.append(line)
    return "\n".join(shown)


def _numbered(hunks: Iterable[Hunk]) -> Iterator[str]:
    for index, hunk in enumerate(hunks):
        if index:
            yield "…"
        number = hunk.new_from
        for line in hunk.lines:
            number += line[0] != "-"
            text, _, last = line[1:].partition("\n")
            text = text.removesuffix("\r")
            cut = f"{text[:_MOST_OF_A_LINE]}…" if len(text) > _MOST_OF_A_LINE else text
            place = "" if line[0] == "-" else number
            yield f"{line[0]}{place:>5} | {cut}{' (no newline at the end)' if last else ''}"


def _lines(text: str) -> list[str]:
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1]:
        return [*lines[:-1], f"{lines[-1]}\n{_END_OF_FILE}"]
    return lines[:-1]


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[Hunk]:
    """The edits with the lines around them; what is near each other is one hunk."""
    group: list[_Edit] = []
    for edit in _edits(equal_runs(old, new), len(old), len(new)):
        if group and edit[0] - group[-1][1] > 2 * _CONTEXT:
            yield _hunk(group, old, new)
            group = []
        group.append(edit)
    if group:
        yield _hunk(group, old, new)


def _edits(runs: Iterable[Run], old_count: int, new_count: int) -> Iterator[_Edit]:
    old_at = new_at = 0
    for old_from, new_from, length in (*runs, (old_count, new_count, 0)):
        if (old_at, new_at) != (old_from, new_from):
            yield old_at, old_from, new_at, new_from
        old_at, new_at = old_from + length, new_from + length


def _hunk(edits: Sequence[_Edit], old: Sequence[str], new: Sequence[str]) -> Hunk:
    before = min(_CONTEXT, edits[0][0])
    position = edits[0][0] - before
    lines: list[str] = []
    for old_from, old_to, new_from, new_to in edits:
        lines += [f" {line}" for line in old[position:old_from]]
        lines += [f"-{line}" for line in old[old_from:old_to]]
        lines += [f"+{line}" for line in new[new_from:new_to]]
        position = old_to
    lines += [f" {line}" for line in old[position : position + _CONTEXT]]
    return Hunk(old_from=edits[0][0] - before, new_from=edits[0][2] - before, lines=tuple(lines))


def _bounded(lines: list[str]) -> tuple[str, bool]:
    """The lines as they are shown, and whether all of them are."""
    shown: list[str] = []
    room = MAX_DIFF_CHARACTERS
    for index, line in enumerate(lines):
        # What cannot fit is not even written out: a line may have megabytes.
        text = _marked(line) if len(line) <= room else ""
        if not text or len(text) > room:
            kept = _fitting(line, room)
            missing = sum(map(len, lines[index:])) - kept
            note = f"… {missing:,} more characters in {len(lines) - index:,} lines are not shown"
            return "\n".join([*shown, *filter(None, [_marked(line[:kept])]), note]), False
        shown.append(text)
        room -= len(text) + 1
    return "\n".join(shown), True


def _marked(line: str) -> str:
    # The mark is left out of the text, lest what follows be drawn over it.
    return line[:1] + visible(line[1:])


def _fitting(line: str, room: int) -> int:
    """How many characters of a line, from its beginning, fit into so much room once they are written out."""
    kept = max(0, min(len(line), room))
    while kept and (length := len(_marked(line[:kept]))) > room:
        kept = kept * room // length
    return kept
