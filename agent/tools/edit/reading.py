"""A text as it is compared: line by line without what does not count, with the way back to where each match stands."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

# What Unicode's compatibility forms keep apart, though a keyboard has one key for it.
_LIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
# Overlapping long passages cost their length each; beyond this the number of places is not counted to its end.
_MOST_WORK = 100_000_000
MOST_COUNTED = 1_000


class Span(NamedTuple):
    """Where a passage stands in the original: offsets of its first character and behind its last, and its line."""

    start: int
    end: int
    line: int
    """Counted from 1."""


@dataclass(frozen=True, slots=True)
class Found:
    """Every place of a passage, or the first ones if not `whole`; `at_end`: its last line break is the text's end."""

    spans: Sequence[Span] = ()
    whole: bool = True
    at_end: bool = False


class Original:
    """The text that is searched, as it is, and its lines; they end at line feeds."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their line feed, but with a carriage return before it."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """The offset at which each line begins."""
        return list(accumulate((len(line) + 1 for line in self.lines[:-1]), initial=0))

    @cached_property
    def exact(self) -> "Reading":
        """All of it, every line break as a line feed."""
        if "\r\n" not in self.text:
            return Reading(self, self.text)
        return Reading(self, self.text.replace("\r\n", "\n"))

    @cached_property
    def normalised(self) -> "Reading":
        """Lines without trailing blanks, characters in their plainest form."""
        text = "\n".join([line.rstrip() for line in self.lines])
        plain = plainest(text)
        if len(plain) == len(text):
            return Reading(self, plain)
        # A character of several plain ones is marked, so that none of them is taken for a beginning.
        widths = {char: "1" + "0" * (len(plainest(char)) - 1) for char in set(text)}
        return Reading(self, plain, text.translate(str.maketrans(widths)))

    def line_break(self, line: int) -> int:
        """Where the break that ends a line (counted from 0) begins."""
        return self.starts[line] + len(self.lines[line]) - self.lines[line].endswith("\r")


@dataclass(frozen=True, slots=True)
class Reading:
    """What an original reads like, line for line.

    `mask` has a `1` for each character that begins one of the original and a `0` for the rest of it; it is empty when
    every character is one.
    """

    original: Original
    text: str
    mask: str = ""

    def find(self, passage: str, *, ends_line: bool = False) -> Found:
        """Every place of a passage, also those that overlap; with `ends_line` only those that reach a line's end.

        The passage's last line break is also found in the end of a text that has none there, if nowhere else.
        """
        found = self._all(passage, ends_line=ends_line)
        if found.spans or not found.whole:
            return found
        start = len(self.text) - len(passage) + 1
        unended = len(passage) > 1 and passage.endswith("\n") and not self.original.text.endswith("\n")
        if not unended or not self.text.endswith(passage[:-1]) or not self._is_whole(start, len(self.text)):
            return found
        (span,) = self._spans([start], passage[:-1])
        return Found([span._replace(end=len(self.original.text))], at_end=True)

    def each(self, passage: str) -> Iterator[Span]:
        """Every place of a passage from left to right, none of which overlaps the one before."""

        def hits() -> Iterator[int]:
            start = self.text.find(passage)
            while start >= 0:
                yield start
                start = self.text.find(passage, start + len(passage))

        return self._spans(hits(), passage)

    def _all(self, passage: str, *, ends_line: bool) -> Found:
        hits: list[int] = []
        left = _MOST_WORK
        start = self.text.find(passage)
        while start >= 0:
            end = start + len(passage)
            if self._is_whole(start, end) and (not ends_line or self.text[end : end + 1] in {"", "\n"}):
                hits.append(start)
            left -= len(passage) + 50
            if len(hits) == MOST_COUNTED or left < 0:
                # One place, when others may follow, is as good as none.
                return Found(list(self._spans(hits, passage)) if len(hits) > 1 else (), whole=False)
            start = self.text.find(passage, start + 1)
        return Found(list(self._spans(hits, passage)))

    def _is_whole(self, start: int, end: int) -> bool:
        """Whether neither end is inside of a character of the original, such as a ligature."""
        return not self.mask or (self.mask[start : start + 1] == "1" and self.mask[end : end + 1] in {"", "1"})

    def _spans(self, hits: Iterable[int], passage: str) -> Iterator[Span]:
        """Where the original has the passage, for each offset in the text, in rising order, at which it begins."""
        breaks, last = passage.count("\n"), len(passage.rpartition("\n")[2])
        line = column = position = 0
        for hit in hits:
            if passed := self.text.count("\n", position, hit):
                line, column = line + passed, 0
                position = self.text.rfind("\n", position, hit) + 1
            column += self._width(position, hit)
            position, end = hit, hit + len(passage)
            if self.text is self.original.text:
                yield Span(hit, end, line + 1)
            else:
                at_break = self.text.startswith("\n", hit)
                start = self.original.line_break(line) if at_break else self.original.starts[line] + column
                width = self._width(end - last, end) + (0 if breaks else column)
                yield Span(start, self.original.starts[line + breaks] + width, line + 1)

    def _width(self, begin: int, end: int) -> int:
        """How many characters of the original a part of the text is."""
        return self.mask.count("1", begin, end) if self.mask else end - begin


def plainest(text: str) -> str:
    """Every character in its compatibility form (NFKC), with typographic quotes and dashes as the keyboard has them.

    Each stands for itself, so a letter and the accent after it stay two.
    """
    if text.isascii():
        return text
    plain = {char: unicodedata.normalize("NFKC", char).translate(_LIKE) for char in set(text)}
    return text.translate(str.maketrans(plain))
