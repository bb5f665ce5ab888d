"""A passage of whole lines that stands further in, or further out, than it was given."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.tools.edit.reading import MOST_COUNTED, Found, Original, Span, plainest

# Lines whose indentation is compared, over all places with the same words.
_MOST_WORK = 1_000_000
# What an indentation is made of; other blanks, such as a form feed, belong to the line.
_INDENTING = " \t\u00a0\u3000"


@dataclass(frozen=True, slots=True)
class _Shift:
    """What begins each line in the text but not in the passage, or in the passage but not in the text."""

    added: str
    removed: str


def find_block(original: Original, old: str, new: str) -> tuple[Found, str]:
    """Find a passage all of whose lines are shifted by the same blanks, and shift what replaces it alike.

    Lines are compared as `Original.normalised` reads them, blank ones to blank ones. Nothing is found in the only place
    when the new text cannot be shifted so, because one of its lines has not the blanks that would have to go.
    """
    # An empty line at the beginning is the end of whatever line comes before.
    head = "" if old.partition("\n")[0].strip() else "\n"
    lines = old.split("\n")[len(head) :]
    ends = old.endswith("\n")
    # What comes after the last line break of a text is no line that could have another one.
    present = original.lines[:-1] if ends and original.text.endswith("\n") else original.lines
    places, whole = _places(present, lines[:-1] if ends else lines, after=len(head))
    spans = [_span(original, line, old, head) for line, _ in places]
    if len(spans) != 1:
        return Found(spans, whole=whole), new
    shifted = _shifted(new, places[0][1], bool(head))
    if shifted is None:
        return Found(), new
    at_end = ends and spans[0].end == len(original.text) and not original.text.endswith("\n")
    return Found(spans, at_end=at_end), shifted


def _places(present: Sequence[str], lines: Sequence[str], *, after: int) -> tuple[list[tuple[int, _Shift]], bool]:
    """The first line, counted from 0, and the shift of each place, and whether these are all."""
    words, text = _words(lines), _words(present)
    places: list[tuple[int, _Shift]] = []
    if not words.strip():
        return places, True
    line = position = work = 0
    start = text.find(words)
    while start >= 0:
        line += text.count("\n", position, start)
        position = start
        shift = _shift(lines, present[line : line + len(lines)]) if line >= after else None
        if shift:
            places.append((line, shift))
        work += len(lines) + 3
        if len(places) == MOST_COUNTED or work > _MOST_WORK:
            return (places if len(places) > 1 else []), False
        start = text.find(words, start + 1)
    return places, True


def _shift(given: Sequence[str], present: Sequence[str]) -> _Shift | None:
    pairs = [(_indent(ours), _indent(theirs)) for ours, theirs in zip(given, present, strict=True) if ours.strip()]
    ours, theirs = pairs[0]
    common = len(ours) if theirs.endswith(ours) else len(theirs)
    shift = _Shift(added=theirs[: len(theirs) - common], removed=ours[: len(ours) - common])
    fits = all(
        ours.startswith(shift.removed) and shift.added + ours[len(shift.removed) :] == theirs for ours, theirs in pairs
    )
    return shift if fits else None


def _words(lines: Sequence[str]) -> str:
    """The lines without the blanks around them, each between two line feeds."""
    return plainest("\n".join(["", *(line.rstrip().lstrip(_INDENTING) for line in lines), ""]))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_INDENTING))]


def _span(original: Original, line: int, old: str, head: str) -> Span:
    last = line + old.count("\n") - len(head)
    if old.endswith("\n"):
        end = original.starts[last] if last < len(original.lines) else len(original.text)
    else:
        end = original.starts[last] + len(original.lines[last].rstrip())
    if head:
        return Span(original.line_break(line - 1), end, line)
    return Span(original.starts[line], end, line + 1)


def _shifted(new: str, shift: _Shift, inside_line: bool) -> str | None:
    lines = new.split("\n")
    for place, line in enumerate(lines):
        # What follows the end of another line has no indentation.
        if not line.strip() or (place == 0 and inside_line):
            continue
        if not line.startswith(shift.removed):
            return None
        lines[place] = shift.added + line[len(shift.removed) :]
    return "\n".join(lines)
