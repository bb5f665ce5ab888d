"""Programs that run another one: `env`, `timeout`, `xargs` and their like."""

import re
import shlex
from dataclasses import dataclass

from agent.commands.call import Call, Code, Finding, Found, Inner, has_option, values_of
from agent.commands.tables import loads_code
from agent.commands.tree import UNKNOWN

# What is repeated more often is judged as if nothing were known of it.
_MAX_REPEATED = 20
_BY_LINE = re.compile(r"-r?[0d]|--null|--delimiter")
_LOGGERS = frozenset({"time", "strace", "ltrace"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """Options that take the next word, and how many words stand before the command."""

    values: frozenset[str] = frozenset()
    before: int = 0


def _wrapper(values: str = "", before: int = 0) -> _Wrapper:
    return _Wrapper(frozenset(values.split()), before)


WRAPPERS: dict[str, _Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir -S --split-string"),
    "nohup": _wrapper(),
    "time": _wrapper("-f --format -o --output"),
    "timeout": _wrapper("-s --signal -k --kill-after", 1),
    "gtimeout": _wrapper("-s --signal -k --kill-after", 1),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c --class -n --classdata"),
    "chrt": _wrapper("-T -P -D", 1),
    "taskset": _wrapper("", 1),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "unbuffer": _wrapper(),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "strace": _wrapper("-o -e -p -s -u -E -a -O -S -P -b -I -X"),
    "ltrace": _wrapper("-o -e -p -s -u -a -n -l -x"),
    "valgrind": _wrapper(),
    "catchsegv": _wrapper(),
    "xvfb-run": _wrapper("-n -s -e -f -w -p"),
    "dbus-run-session": _wrapper(),
    "fakeroot": _wrapper("-l -s -i -b"),
    "proxychains": _wrapper("-f"),
    "chroot": _wrapper("", 1),
    "unshare": _wrapper("-S -G -R -w"),
    "nsenter": _wrapper("-t -S -G"),
    "setpriv": _wrapper(),
    "prlimit": _wrapper("-p"),
    "systemd-run": _wrapper("-p -u -H -M -E"),
    "rlwrap": _wrapper("-a -f -H"),
    "entr": _wrapper(),
    "xargs": _wrapper("-I -n -P -L -d -E -s -a --arg-file --max-args --max-procs --delimiter --max-lines --replace"),
    "parallel": _wrapper("-j --jobs -I -n -N -a --arg-file -S --colsep --joblog --results --timeout --delay"),
    "flock": _wrapper("-w --timeout -E", 1),
    "watch": _wrapper("-n --interval"),
    "script": _wrapper("-c --command -O -I -B -T -E"),
}


def judge_wrapper(call: Call) -> Found:
    """Find what a wrapper runs, and what it changes for it."""
    rest = unwrapped(call.program, call.arguments)
    if call.program == "command" and has_option(call.arguments, "vV"):
        yield Finding("read")
    elif call.program == "env":
        yield from _environment(call, rest)
    elif call.program in {"xargs", "parallel"}:
        yield from _repeated(call, rest)
    elif call.program in {"watch", "script", "flock"}:
        yield from _through_shell(call, rest)
    else:
        options = call.arguments[: len(call.arguments) - len(rest)]
        if call.program in _LOGGERS and values_of(options, "-o", "--output"):
            yield Finding("write", f"{call.program} writes a file of its own")
        yield Finding("read")
        yield from _run(rest)


def unwrapped(program: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The words of the command that a wrapper runs."""
    wrapper = WRAPPERS[program]
    index = 0
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] != "--":
        index += 2 if arguments[index] in wrapper.values else 1
    index += arguments[index : index + 1] == ("--",)
    index += wrapper.before
    while program == "env" and index < len(arguments) and _ASSIGNMENT.match(arguments[index]):
        index += 1
    return arguments[index:]


def _run(words: tuple[str, ...]) -> Found:
    if words:
        yield Inner(words)


def _environment(call: Call, rest: tuple[str, ...]) -> Found:
    split = values_of(call.arguments, "-S", "--split-string")
    if split:
        yield Code(" ".join((*split, *rest)))
        return
    if not rest:
        yield Finding("read", "shows the environment, which may hold secrets")
    for word in call.arguments[: len(call.arguments) - len(rest)]:
        if _ASSIGNMENT.match(word) and loads_code(word.partition("=")[0]):
            yield Finding("write", f"changes what programs load or run ({word.partition('=')[0]})")
    yield from _run(rest)


def _repeated(call: Call, rest: tuple[str, ...]) -> Found:
    """`xargs` and `parallel`: the command with what they read, or with what stands after `:::`."""
    options = call.arguments[: len(call.arguments) - len(rest)]
    replaced = values_of(options, "-I", "--replace")
    command, given = (
        rest,
        _given(call, whole_lines=bool(replaced) or any(map(_BY_LINE.match, options))),
    )
    if ":::" in rest:
        place = rest.index(":::")
        command, given = rest[:place], rest[place + 1 :]
    marks = {"{}", *filter(None, replaced)}
    yield Finding("read")
    if any(mark in word for mark in marks for word in command):
        for value in given if len(given) <= _MAX_REPEATED else (UNKNOWN,):
            yield Inner(tuple(_filled(word, marks, value) for word in command))
    elif command:
        yield Inner((*command, *given))


def _given(call: Call, *, whole_lines: bool) -> tuple[str, ...]:
    """What a command is given that stands in the input: words, or whole lines."""
    if call.feed.text is None:
        return call.feed.paths or (call.feed.mark or UNKNOWN,)
    pieces = call.feed.text.splitlines() if whole_lines else _words(call.feed.text)
    return tuple(filter(None, pieces)) or (UNKNOWN,)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _filled(word: str, marks: set[str], value: str) -> str:
    for mark in marks:
        word = word.replace(mark, value)
    return word


def _through_shell(call: Call, rest: tuple[str, ...]) -> Found:
    yield Finding("read") if call.program == "watch" else Finding("write", f"{call.program} writes a file of its own")
    for code in values_of(rest if call.program == "flock" else call.arguments, "-c", "--command"):
        yield Code(code)
    if call.program == "watch":
        yield Code(" ".join(rest))
    elif call.program == "flock" and not has_option(rest[:1], "c", "--command"):
        yield from _run(rest)


def runner_command(arguments: tuple[str, ...], verb: str) -> tuple[str, ...]:
    """What stands after a verb such as `run` or `exec`, without options."""
    rest = arguments[arguments.index(verb) + 1 :] if verb in arguments else ()
    start = next((index for index, word in enumerate(rest) if not word.startswith("-")), len(rest))
    return rest[start:]
