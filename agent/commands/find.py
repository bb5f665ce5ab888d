"""What a call of find looks at, deletes and runs."""

import re

from agent.commands.call import Call, Finding, Found, Inner
from agent.commands.deletes import deletion, written
from agent.commands.paths import is_everything, is_like
from agent.commands.tree import UNKNOWN

_RUNNERS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITERS = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_NAMES = frozenset({"-name", "-iname"})
_PATHS = frozenset({"-path", "-ipath", "-wholename", "-iwholename", "-samefile"})
_REGEXES = frozenset({"-regex", "-iregex"})
_TYPES = frozenset("lpsbc")
# Each of them is looked at again for every `-exec`.
_MAX_ROOTS = 20
_WILD = re.compile(r"\[[^][]*\]|[][*?./\\]")
# Of a regular expression: what may be missing, classes, and what is no literal; an escaped dot is one.
_REGEX_WILD = re.compile(r"\[[^][]*\]|\\?[^\\][*?{]|\\[^.]|[^\w\\]")
_MAY_BE_MISSING = re.compile(r"\)[*?{]|\\\)\\?[*?{]")
_HISTORY = ("./.git", "./.git/objects", "./.git/HEAD")


def judge_find(call: Call) -> Found:
    """Find what `find` does besides looking."""
    roots, tests = _split(call.arguments)
    if any(is_everything(root, call.directory) for root in roots):
        yield Finding("read", "looks through the whole machine or a home directory")
    yield Finding("read")
    picking, index = _Picking(), 0
    while index < len(tests):
        word, rest = tests[index], index + 1
        paths = picking.paths(roots)
        if word == "-delete":
            yield from deletion(paths, call.directory)
        elif word in _WRITERS:
            yield from written(tests[rest : rest + 1], call.directory, "find writes a file")
        elif word in _RUNNERS:
            index = next((end for end in range(rest, len(tests)) if tests[end] in {";", "+"}), len(tests))
            yield Inner(_command(tests[rest:index], paths))
        else:
            picking.see(tests, index)
        index += 1


def found_paths(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """What stands for the paths that `find` writes: its roots, or something below them if it picks some."""
    roots, tests = _split(arguments)
    picking = _Picking()
    for index in range(len(tests)):
        picking.see(tests, index)
    return picking.paths(roots)


def _split(arguments: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The places where `find` begins, and the tests and actions after them."""
    start = 0
    while start < len(arguments) and arguments[start] in {"-H", "-L", "-P"}:
        start += 1
    end = start
    while end < len(arguments) and not arguments[end].startswith(("-", "(", "!")):
        end += 1
    roots = arguments[start:end] or (".",)
    return roots if len(roots) <= _MAX_ROOTS else (*roots[:_MAX_ROOTS], UNKNOWN), arguments[end:]


class _Picking:
    """Whether only some files are left: a test that is not turned round, since the last `-o` outside brackets.

    Tests of size, age, owner or permissions may fit everything, and nobody can see whether they do.
    """

    def __init__(self) -> None:
        self.picks = False
        self.history = False
        self.depth = 0

    def see(self, tests: tuple[str, ...], index: int) -> None:
        """Take note of one word."""
        word = tests[index]
        self.depth += (word == "(") - (word == ")")
        if word in {"-o", "-or", ","} and self.depth == 0:
            self.picks = self.history = False
        elif not (index > 0 and tests[index - 1] in {"!", "-not"}):
            value = "".join(tests[index + 1 : index + 2])
            self.picks |= _picks(word, value)
            self.history |= _takes_history(word, value)

    def paths(self, roots: tuple[str, ...]) -> tuple[str, ...]:
        """What stands for the paths that are left."""
        if not self.picks:
            return roots
        return tuple(f"{root}/{'.git' if self.history else UNKNOWN}" for root in roots)


def _picks(test: str, value: str) -> bool:
    """Whether a test leaves out what its value does not name."""
    if test in _NAMES | _PATHS:
        return _WILD.sub("", value) != ""
    if test in _REGEXES:
        pieces = re.split(r"\\?\|", value)
        return not _MAY_BE_MISSING.search(value) and all(_REGEX_WILD.sub("", piece) for piece in pieces)
    if test in {"-type", "-xtype"}:
        return value != "" and set(value) <= _TYPES | {","}
    return test in {"-empty", "-inum", "-lname", "-ilname"}


def _takes_history(test: str, value: str) -> bool:
    """Whether a test fits git's own directory or what is in it."""
    if test in _NAMES:
        return is_like(value, ".git")
    return test in _PATHS and any(is_like(value, path) for path in _HISTORY)


def _command(words: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    """A command with the paths in place of the first `{}`; what else they are put into is unknown."""
    place = words.index("{}") if "{}" in words else len(words)
    head, tail = words[:place], words[place + 1 :]
    given = paths if place < len(words) else ()
    return (*_filled(head), *given, *_filled(tail))


def _filled(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.replace("{}", UNKNOWN) for word in words)
