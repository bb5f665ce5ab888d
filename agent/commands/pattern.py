"""Which wider form of a command a person may allow for longer, like `pytest *`, and what that covers.

A pattern names a program that only does what its name says, with its verb, module or file: `git commit *`. It covers
every command whose parts are such a call or only read. It never covers a substitution, a variable, a redirection into
a file, something left running, an option that `allowed` does not list, or a variable that changes what it loads.
Only what stands in the tables here gets a pattern; everything else is allowed word for word or not at all.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from agent.commands.allowed import BUILT_BY_TARGET, are_allowed
from agent.commands.call import has_option
from agent.commands.paths import is_harmless, place_of
from agent.commands.risk import assess_command
from agent.commands.syntax import read
from agent.commands.tables import ENVIRONMENT_FOR_SHOW
from agent.commands.tree import Command, Redirect, Script
from agent.commands.walk import Walk
from agent.paths import INSIDE

_PLAIN = re.compile(r"[A-Za-z0-9_./:@+-]+\Z")
_READS = "\0"
_CONTROLS = re.compile("[\x00-\x08]")
_PROGRAMS = frozenset(
    {"pytest", "py.test", "tsc", "eslint", "prettier", "ruff", "black", "isort", "mypy", "pyright", "basedpyright"}
    | {"flake8", "pylint", "jest", "vitest", "mocha", "gofmt", "rustfmt", "shfmt", "golangci-lint", "phpunit", "rspec"}
    | {"mkdir", "touch", "ctest"}
)
_VERBS = {
    "git": frozenset({"add", "commit", "mv", "switch", "tag", "branch"}),
    "cargo": frozenset({"test", "build", "check", "clippy", "fmt", "bench", "doc", "run"}),
    "go": frozenset({"test", "build", "vet", "fmt"}),
    "npm": frozenset({"test", "t", "start", "run", "run-script"}),
    "pnpm": frozenset({"test", "t", "start", "run", "build", "lint", "format"}),
    "yarn": frozenset({"test", "start", "run", "build", "lint", "format"}),
    "bun": frozenset({"test", "run"}),
    "dotnet": frozenset({"build", "test"}),
}
_SCRIPT_VERBS = frozenset({"run", "run-script"})
_MODULES = frozenset({"pytest", "unittest", "mypy", "ruff", "black", "isort", "flake8", "pylint", "pyright", "doctest"})
_FILES = {
    "python": (".py",),
    "python3": (".py",),
    "node": (".js", ".mjs", ".cjs"),
    "ruby": (".rb",),
    "perl": (".pl",),
    "php": (".php",),
}
_PACKAGE_SCRIPTS = frozenset({"npm", "pnpm", "yarn", "bun"})
_MOVERS = frozenset({"cd", "pushd", "popd"})
_STATEFUL = frozenset(
    {
        "export",
        "declare",
        "typeset",
        "readonly",
        "local",
        "set",
        "shopt",
        "read",
        "mapfile",
        "readarray",
        "unset",
        "let",
    }
    | {"trap", "exec", "ulimit", "umask", "getopts", "command", "builtin"}
)


def command_pattern(command: str) -> str:
    """The wider form that a person may be offered for a command, or nothing where none is sensible."""
    patterns = set(_patterns(_parts(command))) - {_READS}
    return patterns.pop() if len(patterns) == 1 else ""


def matches(pattern: str, command: str) -> bool:
    """Whether a pattern that `command_pattern` gave covers a command: each part is such a call or only reads."""
    patterns = set(_patterns(_parts(command)))
    return bool(pattern) and pattern in patterns and patterns <= {pattern, _READS}


def _parts(command: str) -> tuple[Command, ...]:
    """The simple commands of a command; none if there is anything else in it, or it does more than write."""
    reading = read(command)
    if not command.strip() or reading.problem or reading.script.compound:
        return ()
    return reading.script.commands if assess_command(command).level in {"read", "write"} else ()


def _patterns(parts: tuple[Command, ...]) -> Iterator[str]:
    """The pattern of each part; elsewhere a name means another file, target or script than the one it was given for."""
    moved = False
    for part in parts:
        yield _pattern_of(part, moved=moved)
        moved |= part.words[:1] != () and part.words[0].text in _MOVERS


def _pattern_of(part: Command, *, moved: bool) -> str:
    """The pattern of one simple command; nothing if it has none, `_READS` if it only reads."""
    if not _is_plain(part):
        return ""
    words = tuple(word.text for word in part.words)
    if _only_reads(part):
        return "" if words[0] in _STATEFUL or (words[0] == "printf" and has_option(words, "v")) else _READS
    prefix = _prefix(words)
    if not prefix or not all(_PLAIN.match(word) for word in prefix) or (moved and _names_file(prefix)):
        return ""
    fits = _is_file(prefix) or are_allowed(prefix, words[len(prefix) :])
    return f"{' '.join(prefix)} *" if fits else ""


def _is_plain(part: Command) -> bool:
    """Whether it has nothing but words that are known, variables that only show, and harmless redirections."""
    if part.body is not None or not part.words or not all(map(_is_harmless, part.redirects)):
        return False
    values = [value for _, value in part.assignments]
    if any("/" in word.text and place_of(word.text, INSIDE) == "outside" for word in part.words[1:]):
        return False
    if any(word.scripts or _CONTROLS.search(word.text) for word in (*part.words, *values)):
        return False
    return all(name in ENVIRONMENT_FOR_SHOW for name, _ in part.assignments)


def _is_harmless(redirect: Redirect) -> bool:
    target = redirect.target
    if redirect.operator in {">&", "<&"} and target.text.isdigit():
        return True
    return redirect.operator in {">", ">>", "&>", "<"} and is_harmless(target.text, INSIDE)


def _only_reads(part: Command) -> bool:
    walk = Walk()
    walk.script(Script((replace(part, upstream=(0, 0)),)))
    return all(finding.level == "read" for finding in walk.findings)


def _prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that a pattern keeps: the program with its verb, module, target or file."""
    program, first, second = (*words, "", "")[:3]
    if program in _PROGRAMS:
        return words[:1]
    if first in _VERBS.get(program, ()):
        if first in _SCRIPT_VERBS and program != "cargo":
            return words[:3] if second and not second.startswith("-") else ()
        return words[:2]
    if program in {"python", "python3"} and first == "-m":
        return words[:3] if second in _MODULES else ()
    if program in BUILT_BY_TARGET:
        return words[:2] if first and not first.startswith("-") and "=" not in first else ()
    return _file_prefix(words)


def _file_prefix(words: tuple[str, ...]) -> tuple[str, ...]:
    """A file of the project, run by an interpreter or by itself."""
    program, file = (*words, "")[:2]
    if "/" in program and place_of(program, INSIDE) == "inside" and not program.startswith("/"):
        known = program.rpartition("/")[2] in _FILES or program.rpartition("/")[2].startswith((".", "python"))
        return () if known or "bin/" in program else words[:1]
    suffixes = _FILES.get(program, ())
    return words[:2] if suffixes and file.endswith(suffixes) and place_of(file, INSIDE) == "inside" else ()


def _is_file(prefix: tuple[str, ...]) -> bool:
    """Whether a file of the project is run, which takes what arguments it likes."""
    return "/" in prefix[0] or (prefix[0] in _FILES and prefix[1] != "-m")


def _names_file(prefix: tuple[str, ...]) -> bool:
    """Whether a pattern names a file, a target or a script, which each directory may have."""
    return _is_file(prefix) or prefix[0] in BUILT_BY_TARGET | _PACKAGE_SCRIPTS
