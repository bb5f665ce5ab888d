"""Reading the options of a program, as getopt does, where it is known which of them take a value."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Given:
    """The options of a call in order, each with its value or nothing, and the words that are no options."""

    options: tuple[tuple[str, str], ...]
    words: tuple[str, ...]

    def values(self, *names: str) -> list[str]:
        """The values given to some options."""
        return [value for name, value in self.options if name in names]

    def has(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(name in names for name, _ in self.options)


def given(arguments: tuple[str, ...], values: frozenset[str], whole: frozenset[str] = frozenset()) -> Given:
    """Read options; `values` are those that take one: in the same word, after `=`, or in the next word.

    `whole` are words with one dash that are no cluster of short options.
    """
    options: list[tuple[str, str]] = []
    words: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            words.extend(rest)
        elif argument.startswith("--") or argument.partition("=")[0] in whole:
            name, equals, value = argument.partition("=")
            options.append((name, value if equals or name not in values else next(rest, "")))
        elif argument.startswith("-") and argument != "-":
            options.extend(_cluster(argument[1:], values, rest))
        else:
            words.append(argument)
    return Given(tuple(options), tuple(words))


def _cluster(letters: str, values: frozenset[str], rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    """Short options in one word: what follows one that takes a value is that value."""
    for index, letter in enumerate(letters):
        name = f"-{letter}"
        if name in values:
            yield name, letters[index + 1 :] or next(rest, "")
            return
        yield name, ""
