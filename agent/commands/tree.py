"""What a shell command line consists of, as `agent.commands.syntax` reads it.

What is known only when the command runs stands in a text as a control character, none of which can be in a command.
"""

from dataclasses import dataclass
from typing import Literal

UNKNOWN = "\x00"
"""Something that only the running shell knows."""
VARIABLE = "\x01"
"""Followed by a name and `END`: an unquoted variable."""
QUOTED_VARIABLE = "\x03"
END = "\x02"
SPLIT = "\x04"
"""Where the value of an unquoted variable falls into two words."""
SCRIPT = "\x08"
"""The output of the next script in `Word.scripts`."""
PROCESS = "\x0e"
"""A file that the next script in `Word.scripts` writes or reads."""
SILENT = "\x0f"
"""Nothing: the next script in `Word.scripts` runs, but what it prints goes into what is unknown."""
DOWNLOADED = "\x05"
DECODED = "\x06"
"""Like `UNKNOWN`, in words whose variables are put in: what comes from the network, or was encoded."""

Joint = Literal["", "&&", "||", ";", "|", "&"]


@dataclass(frozen=True, slots=True)
class Word:
    """One word with its quotes taken off."""

    text: str
    quoted: bool = False
    """Some of it was quoted."""
    scripts: tuple["Script", ...] = ()
    """The commands in it: `$(…)`, backquotes, `<(…)`, `>(…)`."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """Where a command reads from or writes to; for `<<` and `<<<` the target is the text itself."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command, or commands in parentheses (`body`)."""

    words: tuple[Word, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    body: "Script | None" = None
    upstream: tuple[int, int] = (0, 0)
    """The commands of the same script, from and up to, whose output it may read."""
    joint: Joint = ""
    """What stands between it and the command before it."""
    background: bool = False
    function: str = ""
    """The innermost function whose definition it is part of."""
    around: int | None = None
    """For the redirections of a compound command: the first command of the same script that is part of it."""


@dataclass(frozen=True, slots=True)
class Script:
    """The commands of one line, one subshell or one substitution, in order."""

    commands: tuple[Command, ...] = ()
    compound: bool = False
    """It has loops, conditions, functions or groups, or leaves something running."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What could be read of a text, and why that is not all of it, or nothing."""

    script: Script
    problem: str = ""
