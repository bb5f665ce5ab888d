"""What the words of a command become when variables are put in, as far as that is known beforehand."""

import re
from collections.abc import Iterator, Mapping

from agent.commands.paths import HOME
from agent.commands.tree import END, PROCESS, QUOTED_VARIABLE, SCRIPT, SILENT, SPLIT, UNKNOWN, VARIABLE, Word

MAX_VALUE_CHARACTERS = 1_000
MAX_VARIABLES = 100
STANDARD = {"HOME": HOME, "TMPDIR": "/tmp", "IFS": " "}  # noqa: S108  the sandbox's own

_MARK = re.compile(f"([{VARIABLE}{QUOTED_VARIABLE}])([A-Za-z0-9_]+){END}|[{SCRIPT}{PROCESS}{SILENT}]")
_BLANKS = re.compile(r"\s+")


def expand(word: Word, variables: Mapping[str, str], outputs: Iterator[str]) -> tuple[str, ...]:
    """The words that one word becomes; `outputs` gives what stands for each script in it."""

    def value(match: re.Match[str]) -> str:
        if match.group(1) is None:
            return next(outputs, UNKNOWN)
        known = variables.get(match.group(2), UNKNOWN)
        return known if match.group(1) == QUOTED_VARIABLE else _BLANKS.sub(SPLIT, known)

    text = _MARK.sub(value, word.text)
    if SPLIT in text:
        return tuple(filter(None, text.split(SPLIT)))
    return (text,) if text or word.quoted else ()


def assign(variables: dict[str, str], name: str, values: tuple[str, ...]) -> None:
    """Remember a value; what is too long, or one variable too many, stays unknown."""
    value = SPLIT.join(values)
    fits = len(value) <= MAX_VALUE_CHARACTERS and (name in variables or len(variables) < MAX_VARIABLES)
    if fits:
        variables[name] = value
    else:
        variables.pop(name, None)
