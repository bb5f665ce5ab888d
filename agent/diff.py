"""How a change of a text looks to a person: a bounded unified diff, and how many lines came and went."""

import difflib
from dataclasses import dataclass

from agent.visible import visible

MAX_DIFF_CHARACTERS = 200_000
_CONTEXT = 3
# difflib is quadratic at worst; a larger window is shown as taken out and put in whole.
_MAX_WINDOW_LINES = 5_000
_END_OF_FILE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """A unified diff without file headers, and its counts, which are never cut short.

    `whole` is false when the text ends at `MAX_DIFF_CHARACTERS`, with a last line that says how much is missing.
    """

    text: str
    added: int
    removed: int
    whole: bool


def diff(before: str, after: str) -> Diff:
    """Compare two texts line by line; equal texts give an empty diff.

    Lines end at line feeds and nowhere else. A carriage return before one is part of the line, so that changed line
    ends are changed lines; it is shown as `visible` shows it, like all that could deceive the eye.
    """
    hunks = _hunks(_lines(before), _lines(after))
    added = sum(line.startswith("+") for line in hunks)
    removed = sum(line.startswith("-") for line in hunks)
    text, whole = _bounded(hunks)
    return Diff(text=text, added=added, removed=removed, whole=whole)


def _lines(text: str) -> list[str]:
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1]:
        return [*lines[:-1], f"{lines[-1]}\n{_END_OF_FILE}"]
    return lines[:-1]


def _hunks(old: list[str], new: list[str]) -> list[str]:
    """The lines of the diff: `@@ … @@`, then lines that begin with a blank, `-` or `+`."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if start == len(old) == len(new):
        return []
    from_line = max(0, start - _CONTEXT)
    old_window = old[from_line : len(old) - max(0, end - _CONTEXT)]
    new_window = new[from_line : len(new) - max(0, end - _CONTEXT)]
    if max(len(old_window), len(new_window)) <= _MAX_WINDOW_LINES:
        return _compared(old_window, new_window, from_line)
    before = [f" {line}" for line in old[from_line:start]]
    removed = [f"-{line}" for line in old[start : len(old) - end]]
    added = [f"+{line}" for line in new[start : len(new) - end]]
    after = [f" {line}" for line in old[len(old) - end : len(old) - max(0, end - _CONTEXT)]]
    return [_header(from_line, len(old_window), len(new_window)), *before, *removed, *added, *after]


def _compared(old: list[str], new: list[str], offset: int) -> list[str]:
    lines: list[str] = []
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        lines.append(_header(offset + first[1], last[2] - first[1], last[4] - first[3], offset + first[3]))
        for kind, old_from, old_to, new_from, new_to in group:
            if kind == "equal":
                lines += [f" {line}" for line in old[old_from:old_to]]
            else:
                lines += [f"-{line}" for line in old[old_from:old_to]]
                lines += [f"+{line}" for line in new[new_from:new_to]]
    return lines


def _header(old_from: int, old_count: int, new_count: int, new_from: int | None = None) -> str:
    if new_from is None:
        new_from = old_from
    # An empty side is named by the line before it.
    old_line, new_line = (start + (count > 0) for start, count in ((old_from, old_count), (new_from, new_count)))
    return f"@@ -{old_line},{old_count} +{new_line},{new_count} @@"


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
