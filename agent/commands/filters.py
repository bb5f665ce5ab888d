"""Programs that read and print, unless an option or their own little language says otherwise."""

import re

from agent.commands.call import Call, Finding, Found, has_option, is_unknown, positionals, values_of
from agent.commands.deletes import written
from agent.commands.paths import is_everything, may_hold_secrets, shown
from agent.commands.tables import OPTIONS_THAT_WRITE, loads_code

_SECOND_IS_WRITTEN = frozenset({"uniq", "xxd"})
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ripgrep", "ag", "ack", "jq", "yq", "pcregrep"})
_TALKERS = frozenset(
    {"echo", "printf", "test", "[", "[[", "basename", "dirname", "which", "type", "whereis", "seq", ":"}
)
_WALKERS = frozenset({"ls", "grep", "egrep", "fgrep", "rg", "ripgrep", "du", "tree", "fd", "ag", "ack"})
_SETTERS = frozenset({"export", "declare", "typeset", "readonly", "local", "read", "mapfile", "readarray", "printf"})
_ENVIRONMENT = frozenset({"printenv", "export", "declare", "typeset", "set"})

# Longer ones take too long to look through.
_MAX_PROGRAM_CHARACTERS = 2_000

_SED_CHANGE = r"s([^\w\s])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1"
_SED_ADDRESS_OR_CHANGE = re.compile(rf"{_SED_CHANGE}|/(?:\\.|[^/\\\n])*/I?")
_SED_TEXT = re.compile(r"(?:^|(?<=[;{}0-9$!/ \t\n]))[aic](?:\\|[ \t]).*")
_SED_WRITES = re.compile(r"[wWe]")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_AWK_RUNS = re.compile(r"\bsystem\s*\(|\bgetline\b|@(?:load|include)|\|&")
_AWK_PRINTS = re.compile(r'\bprintf?\b[^;}\n]*?(?:>|(?<!\|)\|(?!\|))|""\s*\|(?!\|)|(?<!\|)\|\s*""')
_QUOTE_IN_PATTERN = re.compile(r'/[^/"\n]*"[^/"\n]*/')


def judge_reader(call: Call) -> Found:
    """Find what a program that reads does besides."""
    program, arguments = call.program, call.arguments
    words = positionals(arguments)
    if _option_writes(program, arguments):
        yield from written(
            values_of(arguments, "-o", "--output"), call.directory, f"{program} changes files with this option"
        )
    elif program in _SECOND_IS_WRITTEN and len(words) > 1:
        yield from written(words[1:], call.directory, f"{program} writes its second file")
    elif program in _SETTERS and any(loads_code(word.partition("=")[0]) for word in words):
        yield Finding("write", "changes which programs or libraries are run")
    yield Finding("read")
    yield from _remarks(call, words)


def _option_writes(program: str, arguments: tuple[str, ...]) -> bool:
    options = OPTIONS_THAT_WRITE.get(program, frozenset())
    short = "".join(option[1:] for option in options if len(option) == 2)
    if program == "date":
        return any(argument in options or argument.startswith("--set=") for argument in arguments)
    return has_option(arguments, short, *(option for option in options if option.startswith("--")))


def _remarks(call: Call, words: list[str]) -> Found:
    """What a person may want to know although nothing changes."""
    if call.program in _ENVIRONMENT and not words:
        yield Finding("read", "shows the environment, which may hold secrets")
    if call.program in _TALKERS:
        return
    paths = words[1:] if call.program in _SEARCHERS else words
    for path in paths:
        if may_hold_secrets(path):
            yield Finding("read", f"reads {shown(path)}, which may hold secrets")
        elif call.program in _WALKERS and is_everything(path, call.directory) and _goes_deep(call):
            yield Finding("read", "looks through the whole machine or a home directory")


def _goes_deep(call: Call) -> bool:
    return call.program != "ls" or has_option(call.arguments, "R", "--recursive")


def judge_sed(call: Call) -> Found:
    """Find whether `sed` changes files, by `-i` or by its script."""
    values = frozenset({"-e", "-f", "-l", "--expression", "--file", "--line-length"})
    words = positionals(call.arguments, values)
    scripts = values_of(call.arguments, "-e", "--expression")
    files = words if scripts else words[1:]
    if has_option(call.arguments, "i", "--in-place"):
        yield from written(files, call.directory, "sed changes files in place")
    elif has_option(call.arguments, "f", "--file"):
        yield Finding("write", "sed follows a script that may write files")
    elif any(_sed_writes(script) for script in scripts or words[:1]):
        yield Finding("write", "its sed script may write files or run commands")
    yield Finding("read")
    yield from _remarks(call, files)


def _sed_writes(script: str) -> bool:
    """Whether `w`, `W` or `e` is left of a script without its patterns, replacements and texts."""
    if is_unknown(script) or len(script) > _MAX_PROGRAM_CHARACTERS:
        return True
    rest = _SED_TEXT.sub("", _SED_ADDRESS_OR_CHANGE.sub("", script))
    return _SED_WRITES.search(rest) is not None


def judge_awk(call: Call) -> Found:
    """Find whether an `awk` program writes or runs something."""
    values = frozenset({"-F", "-v", "--field-separator", "--assign"})
    program, *files = positionals(call.arguments, values) or [""]
    if has_option(
        _without_values(call.arguments), "fiElDo", "--file", "--include", "--exec", "--load", "--dump-variables"
    ):
        yield Finding("write", "awk follows a program from a file, or an extension")
    elif _awk_writes(program):
        yield Finding("write", "its awk program may write files or run commands")
    yield Finding("read")
    yield from _remarks(call, files)


def _without_values(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The options of awk without those that carry a text."""
    return tuple(argument for argument in arguments if not argument.startswith(("-F", "-v")))


def _awk_writes(program: str) -> bool:
    if is_unknown(program) or len(program) > _MAX_PROGRAM_CHARACTERS or _AWK_RUNS.search(program):
        return True
    # A quote within a pattern makes it doubtful where strings begin.
    plain = program if _QUOTE_IN_PATTERN.search(program) else _STRING.sub('""', program)
    return _AWK_PRINTS.search(plain) is not None
