"""What of a text comes nearest to a passage that is not in it, for the message that says so."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from itertools import islice

from agent.tools.edit.reading import Original

_MOST_REGIONS = 3
_MOST_CHARACTERS = 2_400
_MOST_LINES = 12
_MOST_OF_A_LINE = 160
# A region that is less like the passage would only mislead.
_LEAST_RATIO = 0.5
# Bounds of the work: words looked for, places of one word, regions compared, and how much of each.
_MOST_WORDS = 24
_MOST_PLACES = 200
_MOST_COMPARED = 12
_MOST_TOKENS = 250
_FEW_LINES = 500

# Scripts without blanks between words are looked for two characters at a time.
_WORD = re.compile(r"[A-Za-z0-9_]{3,}|[^\x00-\x7f]{2}")
_TOKEN = re.compile(r"[A-Za-z0-9_]+|\S")


def nearest(original: Original, old: str) -> str:
    """The regions most like a passage, at most three, with line numbers; empty when there is none worth showing."""
    if not old.strip():
        return ""
    wanted = old.strip("\n").split("\n")
    tokens = _tokens(wanted)
    scored = [
        (_ratio(tokens, _tokens(_region(original, line, len(wanted)))), line) for line in _lines(original, wanted)
    ]
    best: list[int] = []
    for ratio, line in sorted(scored, key=lambda each: (-each[0], each[1])):
        if ratio >= _LEAST_RATIO and all(abs(line - other) >= len(wanted) for other in best):
            best.append(line)
    return _shown(original, sorted(best[:_MOST_REGIONS]), len(wanted))


def _lines(original: Original, wanted: Sequence[str]) -> list[int]:
    """Where a region may begin, counted from 0: where it would have the most words in the right line."""
    if len(original.lines) <= _FEW_LINES and len(wanted) == 1:
        return list(range(len(original.lines)))
    votes: defaultdict[int, float] = defaultdict(float)
    for word, place in _words(wanted):
        found = list(islice(_places(original.text, word), _MOST_PLACES))
        for offset in found:
            line = bisect_right(original.starts, offset) - 1 - place
            votes[max(0, line)] += len(word) / len(found)
    return nlargest(_MOST_COMPARED, votes, key=lambda line: votes[line])


def _words(wanted: Sequence[str]) -> list[tuple[str, int]]:
    """The longest words, and the line each is first in."""
    places: dict[str, int] = {}
    for place, line in enumerate(wanted[:_FEW_LINES]):
        for word in _WORD.findall(line[:_MOST_CHARACTERS]):
            places.setdefault(word, place)
    return sorted(places.items(), key=lambda each: -len(each[0]))[:_MOST_WORDS]


def _places(text: str, word: str) -> Iterator[int]:
    offset = text.find(word)
    while offset >= 0:
        yield offset
        offset = text.find(word, offset + len(word))


def _region(original: Original, line: int, count: int) -> list[str]:
    return original.lines[line : line + min(count, _MOST_TOKENS)]


def _tokens(lines: Sequence[str]) -> list[str]:
    """Words and signs of the first lines; of one short line all characters, so that a slip in a word shows."""
    text = "\n".join(line[:_MOST_CHARACTERS] for line in lines[:_MOST_TOKENS]).strip()
    if "\n" not in text and len(text) <= _MOST_OF_A_LINE:
        return list(text)
    return list(islice((found.group() for found in _TOKEN.finditer(text)), _MOST_TOKENS))


def _ratio(wanted: Sequence[str], tokens: Sequence[str]) -> float:
    matcher = SequenceMatcher(None, tokens, wanted, autojunk=False)
    if matcher.real_quick_ratio() < _LEAST_RATIO or matcher.quick_ratio() < _LEAST_RATIO:
        return 0.0
    return matcher.ratio()


def _shown(original: Original, lines: Sequence[int], count: int) -> str:
    """The regions as a listing of the file shows them; the numbers make clear that what is between them is left out."""
    shown: list[str] = []
    room = _MOST_CHARACTERS
    for line in lines:
        region = _region(original, line, min(count, _MOST_LINES))
        shown.append(f"Nearest, at line {line + 1}:")
        for number, text in enumerate(region, line + 1):
            cut = text.removesuffix("\r") if len(text) <= _MOST_OF_A_LINE else f"{text[:_MOST_OF_A_LINE]}…"
            room -= len(cut)
            if room >= 0:
                shown.append(f"{number:5d} | {cut}")
    return "\n".join(shown)
