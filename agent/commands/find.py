"""What a call of find looks at, deletes and runs."""

from agent.commands.call import Call, Finding, Found, Inner
from agent.commands.deletes import deletion, written
from agent.commands.paths import is_everything
from agent.commands.tree import UNKNOWN

_RUNNERS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITERS = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_FILTERS = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-newer", "-anewer", "-cnewer", "-empty"}
    | {"-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-size", "-newermt", "-user", "-group", "-perm"}
    | {"-samefile", "-lname", "-links", "-xtype", "-nouser", "-nogroup", "-inum"}
)
# Each of them is looked at again for every `-exec`.
_MAX_ROOTS = 20
_ANYTHING = frozenset({"*", "*.*", "**", "./*", ".*", "?*"})


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
    """Whether only some files are left: a test that is not turned round, since the last `-o` outside brackets."""

    def __init__(self) -> None:
        self.picks = False
        self.depth = 0

    def see(self, tests: tuple[str, ...], index: int) -> None:
        """Take note of one word."""
        word = tests[index]
        self.depth += (word == "(") - (word == ")")
        if word in {"-o", "-or", ","} and self.depth == 0:
            self.picks = False
        elif word in _FILTERS:
            turned = index > 0 and tests[index - 1] in {"!", "-not"}
            self.picks |= not turned and "".join(tests[index + 1 : index + 2]) not in _ANYTHING

    def paths(self, roots: tuple[str, ...]) -> tuple[str, ...]:
        """What stands for the paths that are left."""
        return tuple(f"{root}/{UNKNOWN}" for root in roots) if self.picks else roots


def _command(words: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    """A command with the paths in place of the first `{}`; what else they are put into is unknown."""
    place = words.index("{}") if "{}" in words else len(words)
    head, tail = words[:place], words[place + 1 :]
    given = paths if place < len(words) else ()
    return (*_filled(head), *given, *_filled(tail))


def _filled(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.replace("{}", UNKNOWN) for word in words)
