"""Neutral rich text: what is said before a platform's form is chosen, and how to split it within a limit."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Self

Style = Literal["bold", "italic", "strike", "code", "pre", "link", "quote"]


@dataclass(frozen=True, slots=True)
class Span:
    """A style over `text[start:end]`, in code points. `value` is a link's address or a code block's language."""

    start: int
    end: int
    style: Style
    value: str = ""


@dataclass(frozen=True, slots=True)
class RichText:
    """Text and the spans over it. Spans may nest, never cross, and are sorted by start, then by falling end."""

    text: str
    spans: tuple[Span, ...] = ()


def plain(text: str) -> RichText:
    """Return text without any style."""
    return RichText(text)


def join(parts: Iterable[RichText], separator: str = "") -> RichText:
    """Put texts one after the other, with `separator` between them."""
    built = Builder()
    for number, part in enumerate(parts):
        built.add(separator if number else "").add(part)
    return built.build()


class Builder:
    """Assembles rich text. No span is empty, and no style nests in itself: the outer one says it already."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._spans: list[Span] = []
        self._open: list[tuple[int, Span]] = []
        self._length = 0

    @property
    def length(self) -> int:
        """Code points added so far."""
        return self._length

    def add(self, text: str | RichText, style: Style | None = None, value: str = "") -> Self:
        """Append text, in `style` if one is given; rich text keeps its own spans inside it."""
        if style:
            return self.open(style, value).add(text).close()
        if isinstance(text, RichText):
            outer = self._open_styles()
            self._spans += [
                Span(span.start + self._length, span.end + self._length, span.style, span.value)
                for span in text.spans
                if span.style not in outer
            ]
            text = text.text
        self._pieces.append(text)
        self._length += len(text)
        return self

    def open(self, style: Style, value: str = "") -> Self:
        """Begin a style that lasts until the matching `close`."""
        self._open.append((len(self._spans), Span(self._length, self._length, style, value)))
        return self

    def close(self) -> Self:
        """End the style opened last."""
        place, begun = self._open.pop()
        if begun.start < self._length and begun.style not in self._open_styles():
            self._spans.insert(place, Span(begun.start, self._length, begun.style, begun.value))
        return self

    def _open_styles(self) -> set[Style]:
        return {span.style for _, span in self._open}

    def build(self) -> RichText:
        """Close what is open and return the whole."""
        while self._open:
            self.close()
        return RichText("".join(self._pieces), tuple(sorted(self._spans, key=_order)))


def _order(span: Span) -> tuple[int, int]:
    return span.start, -span.end


def characters(text: str) -> int:
    """Length in code points."""
    return len(text)


def utf16_units(text: str) -> int:
    """Length in UTF-16 code units, as Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Length in bytes of UTF-8, as WeCom counts."""
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `units` of what `measure` counts. A longer text must never measure less."""

    units: int
    measure: Callable[[str], int]


def split(rich: RichText, limit: Limit) -> list[RichText]:
    """Cut a text into parts within the limit, at the best places; an empty text has no parts.

    Blanks and one newline at a cut may go, nothing else. A span over a cut is closed and opened again. A cluster of
    characters that people see as one (emoji sequence, letter with marks) is cut only when it alone is over the limit,
    and then at a code point; a single code point over the limit is a part by itself.
    """
    return list(_sliced(rich.spans, rich.text, _Cutter(rich, limit).pieces()))


def _sliced(spans: tuple[Span, ...], text: str, pieces: Iterable[tuple[int, int]]) -> Iterator[RichText]:
    waiting, running = iter(spans), list[Span]()
    following = next(waiting, None)
    for start, end in pieces:
        while following is not None and following.start < end:
            running.append(following)
            following = next(waiting, None)
        running = [span for span in running if span.end > start]
        clipped = (Span(max(s.start, start) - start, min(s.end, end) - start, s.style, s.value) for s in running)
        yield RichText(text[start:end], tuple(clipped))


# A cut lies after the first group; blanks that follow it may go.
_SENTENCE = re.compile(r"[.!?;:][)\]\"'”’]*(?=[ \t])|[。！？；…][”’」』）]*")
_BLANKS = " \t"
_SEVERAL_NEWLINES = re.compile(r"[ \t]*\n[ \t]*\n")


class _Cutter:
    """Finds the pieces of one text. Positions are code points of the whole text, so nothing is copied."""

    def __init__(self, rich: RichText, limit: Limit) -> None:
        self._text = rich.text
        self._limit = limit
        self._blocks = [span for span in rich.spans if span.style == "pre"]
        self._starts = [span.start for span in self._blocks]
        self._begun = 0

    def pieces(self) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(self._text):
            furthest = self._furthest(start)
            end, after = self._cut(start, furthest) if furthest < len(self._text) else (furthest, furthest)
            yield start, end
            self._begun = start = after

    def _furthest(self, start: int) -> int:
        """Find the last position up to which the text from `start` fits, at least one code point on."""
        rest = len(self._text) - start
        fits, over, step = 0, rest + 1, 1
        probe = max(1, self._limit.units)
        while over - fits > 1:
            probe = min(probe, over - 1)
            if self._limit.measure(self._text[start : start + probe]) <= self._limit.units:
                fits = probe
            else:
                over = probe
            probe = (fits + over) // 2 if over <= rest else fits + step
            step *= 2
        return start + max(1, fits)

    def _cut(self, start: int, furthest: int) -> tuple[int, int]:
        """Choose where the part ends and where the next one begins: the best kind of place that wastes little."""
        first, half = start + 1, start + max(1, (furthest - start) // 2)
        block = self._block_over(furthest)
        if block is None:
            found = self._at_newline("\n\n", half, furthest) or self._at_newline("\n", half, furthest)
            return self._out_of_block(found) if found else self._in_line(start, half, furthest)
        if block.start > half and self._text[block.start - 1] == "\n":
            return block.start - 1, self._resume(block.start - 1)
        found = self._at_newline("\n", max(first, block.start), furthest)
        return found or self._at_cluster(start, furthest)

    def _out_of_block(self, found: tuple[int, int]) -> tuple[int, int]:
        """Move a cut that fell into a code block to the block's end, which is within the limit too."""
        block = self._block_over(found[0])
        if block and self._text[block.end : block.end + 1] == "\n":
            return block.end, self._resume(block.end)
        return found

    def _block_over(self, position: int) -> Span | None:
        """Find the code block that a cut at `position` would fall into."""
        number = bisect_right(self._starts, position - 1) - 1
        block = self._blocks[number] if number >= 0 else None
        return block if block and block.end > position else None

    def _at_newline(self, newline: str, lowest: int, furthest: int) -> tuple[int, int] | None:
        found = self._text.rfind(newline, lowest, furthest + 1)
        end = found + len(newline) - 1
        return (end, self._resume(end)) if found >= 0 else None

    def _in_line(self, start: int, half: int, furthest: int) -> tuple[int, int]:
        ends = (found.end() for found in _SENTENCE.finditer(self._text, half, furthest + 1))
        sentence = max((end for end in ends if end <= furthest and self._is_boundary(end)), default=None)
        if sentence is not None:
            return sentence, self._resume(sentence)
        return (
            self._between_words(start, furthest)
            or self._at_newline("\n", start + 1, furthest)
            or self._at_cluster(start, furthest)
        )

    def _between_words(self, start: int, furthest: int) -> tuple[int, int] | None:
        place = furthest + 1
        while (place := max(self._text.rfind(blank, start + 1, place) for blank in _BLANKS)) > start:
            after = self._resume(place)
            while place > start + 1 and self._text[place - 1] in _BLANKS:
                place -= 1
            if self._text[place - 1] == "\n":  # an indentation, which stays with its line
                return (place - 1, self._resume(place - 1)) if place - 1 > start else None
            if self._is_boundary(place) and self._is_boundary(after):
                return place, after
        return None

    def _resume(self, end: int) -> int:
        """Find where the next part begins: past blanks and a newline, but of several newlines none goes."""
        if _SEVERAL_NEWLINES.match(self._text, end):
            return end
        while end < len(self._text) and self._text[end] in _BLANKS:
            end += 1
        return end + 1 if self._text[end : end + 1] == "\n" else end

    def _at_cluster(self, start: int, furthest: int) -> tuple[int, int]:
        place = next((place for place in range(furthest, start, -1) if self._is_boundary(place)), furthest)
        return place, place

    def _is_boundary(self, position: int) -> bool:
        """Tell whether no cluster spans the position (the practical part of Unicode's annex 29)."""
        if not 0 < position < len(self._text):
            return True
        before, after = self._text[position - 1], self._text[position]
        if after < "\x80" and before < "\x80":
            return (before, after) != ("\r", "\n")
        if before in _CONTROLS:
            return True
        if _is_flag_letter(before) and _is_flag_letter(after):
            begin = position
            while begin > self._begun and _is_flag_letter(self._text[begin - 1]):
                begin -= 1
            return (position - begin) % 2 == 0
        return not _joins(before, after)


_CONTROLS = "\r\n\t"
_EXTENDING = re.compile("[\u200c\u200d\u0e33\u0eb3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_HANGUL_LEADING = re.compile("[\u1100-\u115f\ua960-\ua97c]")
_HANGUL_TRAILING = re.compile("[\u1160-\u11ff\ud7b0-\ud7fb]")
_HANGUL = re.compile("[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7fb]")
_VIRAMA_CLASS = 9


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _joins(before: str, after: str) -> bool:
    """Tell whether two neighbours belong to one cluster, flags aside."""
    if unicodedata.category(after)[0] == "M" or _EXTENDING.match(after) or before == "\u200d":
        return True
    if unicodedata.combining(before) == _VIRAMA_CLASS and unicodedata.category(after) == "Lo":
        return True
    if "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff":
        return True
    if _HANGUL_LEADING.match(before) and _HANGUL.match(after):
        return True
    return bool(_HANGUL.match(before) and _HANGUL_TRAILING.match(after))
