"""How a change of a text looks to a person: a bounded unified diff, and how many lines came and went."""

import difflib
import unicodedata
from dataclasses import dataclass

MAX_DIFF_CHARACTERS = 30_000
_MAX_LINE_CHARACTERS = 1_000
_CONTEXT = 3
# difflib is quadratic at worst; a larger window is shown as taken out and put in whole.
_MAX_WINDOW_LINES = 5_000
_END_OF_FILE = "\\ No newline at end of file"
# Joiners make emoji and some scripts; every other format character can make a line look like what it is not.
_HARMLESS_FORMAT = "\u200c\u200d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """A unified diff without file headers, and its counts, which are never cut short."""

    text: str
    added: int
    removed: int


def diff(before: str, after: str) -> Diff:
    """Compare two texts line by line; equal texts give an empty diff.

    The text ends with a line that says so when it was cut at `MAX_DIFF_CHARACTERS`. Line ends are shown only when
    nothing else differs.
    """
    if before.replace("\r\n", "\n") != after.replace("\r\n", "\n"):
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    old, new = _lines(before), _lines(after)
    hunks = _hunks(old, new)
    added = sum(line.startswith("+") for line in hunks)
    removed = sum(line.startswith("-") for line in hunks)
    return Diff(text=_bounded(hunks), added=added, removed=removed)


def visible(text: str) -> str:
    """The text with control and direction characters written as escapes, so that what is shown is what is there."""
    return "".join(char if _is_plain(char) else char.encode("unicode_escape").decode() for char in text)


def _is_plain(char: str) -> bool:
    if char in "\n\t" or char.isprintable() or char in _HARMLESS_FORMAT:
        return True
    return unicodedata.category(char) == "Zs"


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


def _bounded(lines: list[str]) -> str:
    shown: list[str] = []
    room = MAX_DIFF_CHARACTERS
    for line in lines:
        whole = visible(line[:_MAX_LINE_CHARACTERS])
        if len(line) > _MAX_LINE_CHARACTERS:
            whole += f"… {len(line) - _MAX_LINE_CHARACTERS:,} characters of this line are not shown"
        room -= len(whole) + 1
        if room < 0:
            return "\n".join([*shown, f"… {len(lines) - len(shown):,} more lines of this diff are not shown"])
        shown.append(whole)
    return "\n".join(shown)
