"""Which lines two texts have in common: divided at lines that occur once in each, so that the work stays bounded."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeAlias

# difflib is cubic at worst, so what it may cost is reckoned beforehand: for one gap, and for all.
_MOST_FOR_ONE = 2_000_000
_MOST_FOR_ALL = 8_000_000
# Every round looks at all that is left again.
_MOST_ROUNDS = 16

Run: TypeAlias = tuple[int, int, int]
"""Where equal lines begin in the old text and in the new one, counted from 0, and how many they are."""


@dataclass(frozen=True, slots=True)
class _Gap:
    """Lines of both texts that are not compared yet, and how often what was around them has been divided."""

    old_from: int
    old_to: int
    new_from: int
    new_to: int
    round: int = 0

    @property
    def cost(self) -> int:
        """How many steps difflib may take at worst."""
        old, new = self.old_to - self.old_from, self.new_to - self.new_from
        return old * new * min(old, new)


def equal_runs(old: Sequence[str], new: Sequence[str]) -> list[Run]:
    """The runs of equal lines, from top to bottom; where one ends the next may begin.

    Where looking for more would take too long, lines are left out of the runs that could have been in: what is made of
    them is then right, but not the smallest change.
    """
    runs: list[Run] = []
    gaps = [_Gap(0, len(old), 0, len(new))]
    left = _MOST_FOR_ALL
    while gaps:
        gap = _trimmed(gaps.pop(), old, new, runs)
        parts = list(_divided(gap, old, new)) if gap.cost and gap.round < _MOST_ROUNDS else []
        if parts:
            gaps += parts
        elif gap.cost <= min(left, _MOST_FOR_ONE):
            left -= gap.cost
            runs += _compared(gap, old, new)
    return sorted(runs)


def _trimmed(gap: _Gap, old: Sequence[str], new: Sequence[str], runs: list[Run]) -> _Gap:
    """The gap without the lines that are equal at its beginning and at its end; those go to `runs`."""
    begin, new_begin, end, new_end = gap.old_from, gap.new_from, gap.old_to, gap.new_to
    while begin < end and new_begin < new_end and old[begin] == new[new_begin]:
        begin, new_begin = begin + 1, new_begin + 1
    while begin < end and new_begin < new_end and old[end - 1] == new[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    if begin > gap.old_from:
        runs.append((gap.old_from, gap.new_from, begin - gap.old_from))
    if end < gap.old_to:
        runs.append((end, new_end, gap.old_to - end))
    return _Gap(begin, end, new_begin, new_end, gap.round)


def _divided(gap: _Gap, old: Sequence[str], new: Sequence[str]) -> Iterator[_Gap]:
    """The parts between lines that occur once in each text; none if there is no such line."""
    here, there = _unique(old, gap.old_from, gap.old_to), _unique(new, gap.new_from, gap.new_to)
    anchors = _rising([(place, there[line]) for line, place in here.items() if line in there])
    if anchors:
        # All parts but the first begin with an anchor, which is then trimmed off as equal.
        edges = [(gap.old_from, gap.new_from), *anchors, (gap.old_to, gap.new_to)]
        for (old_from, new_from), (old_to, new_to) in pairwise(edges):
            yield _Gap(old_from, old_to, new_from, new_to, gap.round + 1)


def _unique(lines: Sequence[str], begin: int, end: int) -> dict[str, int]:
    places: dict[str, int] = {}
    for place in range(begin, end):
        line = lines[place]
        places[line] = -1 if line in places else place
    return {line: place for line, place in places.items() if place >= 0}


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest selection, from pairs whose first number rises, in which the second rises too."""
    lowest: list[int] = []  # for each length, the lowest second number that such a selection ends with,
    last: list[int] = []  # the pair that has it,
    before: list[int] = []  # and for each pair, the one before it
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(lowest, number)
        before.append(last[length - 1] if length else -1)
        lowest[length : length + 1] = [number]
        last[length : length + 1] = [index]
    selected: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        selected.append(pairs[index])
        index = before[index]
    return selected[::-1]


def _compared(gap: _Gap, old: Sequence[str], new: Sequence[str]) -> Iterator[Run]:
    here, there = old[gap.old_from : gap.old_to], new[gap.new_from : gap.new_to]
    for block in SequenceMatcher(None, here, there, autojunk=False).get_matching_blocks():
        if block.size:
            yield gap.old_from + block.a, gap.new_from + block.b, block.size
