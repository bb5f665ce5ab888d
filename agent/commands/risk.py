"""How risky a shell command is: what each part of it may do at worst.

This is only an aid for the person who decides, and a first refusal of what is plainly destructive. Whoever means harm
finds a way around any list; the sandbox is the wall.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from agent.commands.call import Finding
from agent.commands.syntax import read
from agent.commands.verbs import Level
from agent.commands.walk import Walk

LEVELS: tuple[Level, ...] = ("read", "write", "network", "destructive")
MAX_REASONS = 8
MAX_READ_CHARACTERS = 20_000
"""What is longer is read as well, but counts as at least `write`: nobody looks through it."""


@dataclass(frozen=True, slots=True)
class CommandRisk:
    """What a command may do at worst, and why, for the person who decides; the weightiest reason comes first.

    `read` reads only. `write` changes files, or runs what is not known, or could not be read. `network` may leave the
    machine. `destructive` is what policy refuses; `advice` then says what to do instead.
    """

    level: Level
    reasons: tuple[str, ...] = ()
    advice: str = ""


def assess_command(command: str) -> CommandRisk:
    """Tell what a command for bash may do at worst. Takes time in proportion to its length.

    Raises:
        ValueError: the command is empty.
    """
    if not command.strip():
        raise ValueError("the command is empty")
    reading = read(command)
    walk = Walk()
    if reading.problem:
        walk.add(Finding("write", f"could not be read: {reading.problem}"))
    if len(command) > MAX_READ_CHARACTERS:
        walk.add(Finding("write", "could not be read: it is too long for anyone to look through"))
    walk.script(reading.script)
    return _risk(walk.findings)


def _risk(findings: Iterable[Finding]) -> CommandRisk:
    ranked = sorted(findings, key=lambda finding: -LEVELS.index(finding.level))
    level = ranked[0].level if ranked else "read"
    reasons = dict.fromkeys(finding.reason for finding in ranked if finding.reason)
    advice = dict.fromkeys(finding.advice for finding in ranked if finding.advice)
    return CommandRisk(level, tuple(reasons)[:MAX_REASONS], " ".join(tuple(advice)[:MAX_REASONS]))
