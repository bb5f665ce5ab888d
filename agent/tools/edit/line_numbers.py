"""Line numbers that were pasted together with the lines, as a listing of a file shows them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# More digits than any line has are no line number, and costly to read.
_PREFIX = re.compile(r"\s*([0-9]{1,9})(?: \| ?|→|\t)")


@dataclass(frozen=True, slots=True)
class Unnumbered:
    """A text without its line numbers, and the first of these."""

    text: str
    first: int


def unnumbered(text: str) -> Unnumbered | None:
    """Take off the numbers of a listing, or None when it is none.

    Each line needs its number, blanks before it and ` | `, ` |`, `→` or a tab behind it; a blank line may have none.
    The numbers rise by one from line to line, where blank lines without one are counted throughout, or not at all.
    """
    lines = text.split("\n")
    numbers: list[tuple[int, int]] = []
    for place, line in enumerate(lines):
        if prefix := _PREFIX.match(line):
            numbers.append((int(prefix[1]), place))
        elif line.strip():
            return None
    if not numbers or not _rise(numbers):
        return None
    return Unnumbered("\n".join(map(without_number, lines)), numbers[0][0])


def without_numbers(text: str) -> str:
    """The same for a text that need not be the listing of one passage: as it is, unless all its lines are numbered."""
    lines = text.split("\n")
    if not all(_PREFIX.match(line) or not line.strip() for line in lines):
        return text
    return "\n".join(map(without_number, lines))


def without_number(line: str) -> str:
    """A line without the number it begins with, or as it is if it begins with none."""
    prefix = _PREFIX.match(line)
    return line[prefix.end() :] if prefix else line


def _rise(numbers: Sequence[tuple[int, int]]) -> bool:
    counted = all(number - place == numbers[0][0] - numbers[0][1] for number, place in numbers)
    return counted or all(number - index == numbers[0][0] for index, (number, _) in enumerate(numbers))
