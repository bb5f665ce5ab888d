"""One call of a program within a command, and what is found about it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from agent.commands.tree import DECODED, DOWNLOADED, UNKNOWN
from agent.commands.verbs import Level


@dataclass(frozen=True, slots=True)
class Finding:
    """A level, and the reason that a person is told; a reason that says nothing new is left empty."""

    level: Level
    reason: str = ""
    advice: str = ""
    """For what is refused: what the model may do instead."""


def refused(reason: str, advice: str) -> Finding:
    """Find that something is destructive."""
    return Finding("destructive", reason, advice)


@dataclass(frozen=True, slots=True)
class Inner:
    """Another command that a program runs, word by word."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A text that a program gives to a shell, which reads what the program reads."""

    text: str


@dataclass(frozen=True, slots=True)
class RunsFile:
    """A file that a program runs."""

    path: str


@dataclass(frozen=True, slots=True)
class Feed:
    """What a program reads from its standard input."""

    given: bool = False
    """It does not read the terminal."""
    text: str | None = None
    """All of it, if that is known."""
    mark: str = ""
    """`DOWNLOADED` or `DECODED`, if it comes from there."""
    paths: tuple[str, ...] | None = None
    """The paths in it, if `find` writes them."""


@dataclass(frozen=True, slots=True)
class Call:
    """One program with its arguments, in a directory that may be unknown."""

    program: str
    arguments: tuple[str, ...] = ()
    directory: str | None = None
    feed: Feed = Feed()

    def of(self, program: str, arguments: Iterable[str]) -> "Call":
        """The same place with another program."""
        return replace(self, program=program, arguments=tuple(arguments))


Found = Iterator[Finding | Inner | Code | RunsFile]


def is_unknown(text: str) -> bool:
    """Whether some of it is only known when the command runs."""
    return any(mark in text for mark in (UNKNOWN, DOWNLOADED, DECODED))


def positionals(arguments: Iterable[str], values: frozenset[str] = frozenset()) -> list[str]:
    """The arguments that are no options, nor the values of the options named."""
    found: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            found.extend(rest)
        elif not argument.startswith("-") or argument == "-":
            found.append(argument)
        elif argument in values:
            next(rest, None)
    return found


def has_option(arguments: Iterable[str], short: str, *long: str) -> bool:
    """Whether one of the letters stands in a cluster of short options, or a long option in full or abbreviated."""
    for argument in arguments:
        if argument == "--":
            return False
        if argument.startswith("--"):
            name = argument.partition("=")[0]
            if any(option.startswith(name) and len(name) > 3 for option in long):
                return True
        elif argument.startswith("-") and any(letter in _cluster(argument) for letter in short):
            return True
    return False


def _cluster(argument: str) -> str:
    """The letters at the beginning of short options; what follows belongs to a value."""
    letters = argument[1:]
    end = next((index for index, char in enumerate(letters) if not (char.isascii() and char.isalpha())), len(letters))
    return letters[:end]


def values_of(arguments: tuple[str, ...], *options: str) -> list[str]:
    """The values given to options, in the next word, after `=`, or attached to a short option."""
    found: list[str] = []
    for index, argument in enumerate(arguments):
        for option in options:
            if argument == option:
                found.extend(arguments[index + 1 : index + 2])
            elif option.startswith("--") and argument.startswith(f"{option}="):
                found.append(argument[len(option) + 1 :])
            elif not option.startswith("--") and argument.startswith(option):
                found.append(argument[len(option) :])
    return found
