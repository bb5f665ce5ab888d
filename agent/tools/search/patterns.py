"""File name patterns with `*`, `?`, `[…]`, `{a,b}` and `**`, matched name by name along a path.

Matching keeps the set of places in the pattern that a path has reached, so no pattern takes long, and a directory
below which nothing can match is known as such.
"""

import fnmatch
import re
from collections.abc import Iterable

from agent.errors import ToolFailure
from agent.paths import parts_of

Reached = frozenset[tuple[int, int]]
"""Places in a pattern: which alternative, and how many of its parts a path has used up."""

_MOST_ALTERNATIVES = 64
_INNERMOST_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")


class Glob:
    """A pattern; `literals` are those of its parts that are plain names.

    A pattern without `/` is looked for at any depth. `**` as a whole part stands for any number of directories.

    Raises:
        ToolFailure: it is empty, or has too many alternatives.
        PathOutside, FileUnsuitable: no path in a project is like that.
    """

    def __init__(self, pattern: str) -> None:
        alternatives = [_parts(alternative) for alternative in _without_braces(pattern)]
        self._alternatives = [[_compiled(part) for part in parts] for parts in alternatives]
        self.literals = frozenset(part for parts in alternatives for part in parts if not set(part) & set("*?["))

    def start(self) -> Reached:
        """Where a path begins."""
        return self._spread((number, 0) for number in range(len(self._alternatives)))

    def step(self, reached: Reached, name: str) -> Reached:
        """Where a path that had come so far is after its next name; empty when nothing below can match."""
        further = set[tuple[int, int]]()
        for number, used in reached:
            parts = self._alternatives[number]
            if used == len(parts):
                continue
            part = parts[used]
            if part is None:
                further.add((number, used))
            elif part.match(name):
                further.add((number, used + 1))
        return self._spread(further)

    def matches(self, reached: Reached) -> bool:
        """Whether a path that ends here is meant."""
        return any(used == len(self._alternatives[number]) for number, used in reached)

    def _spread(self, reached: Iterable[tuple[int, int]]) -> Reached:
        """The same places, and those behind every `**`, which may stand for nothing."""
        spread = set[tuple[int, int]]()
        for number, first in reached:
            used, parts = first, self._alternatives[number]
            spread.add((number, used))
            while used < len(parts) and parts[used] is None:
                used += 1
                spread.add((number, used))
        return frozenset(spread)


def _parts(pattern: str) -> tuple[str, ...]:
    parts = parts_of(pattern)
    if not parts:
        raise ToolFailure("The pattern names no file. Give one such as '*.py' or 'src/**/test_*.py'.")
    return parts if "/" in pattern else ("**", *parts)


def _compiled(part: str) -> re.Pattern[str] | None:
    """What a name must look like; None for `**`."""
    return None if part == "**" else re.compile(fnmatch.translate(part))


def _without_braces(pattern: str) -> list[str]:
    """Every pattern that one with `{a,b}` stands for."""
    waiting, done = [pattern], list[str]()
    while waiting:
        if len(waiting) + len(done) > _MOST_ALTERNATIVES:
            raise ToolFailure(f"The pattern has more than {_MOST_ALTERNATIVES} alternatives. Give a simpler one.")
        each = waiting.pop()
        if found := _INNERMOST_BRACES.search(each):
            waiting += [f"{each[: found.start()]}{one}{each[found.end() :]}" for one in found.group(1).split(",")]
        else:
            done.append(each)
    return done
