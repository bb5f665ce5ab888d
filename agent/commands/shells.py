"""Shells and interpreters: where the code comes from that they run."""

import re

from agent.commands.advice import HIDDEN
from agent.commands.call import Call, Code, Finding, Found, Inner, RunsFile, is_unknown, refused
from agent.commands.tree import DECODED, DOWNLOADED

_CODE_LETTERS = {
    "python": "c",
    "pypy": "c",
    "perl": "eE",
    "ruby": "e",
    "node": "ep",
    "nodejs": "ep",
    "php": "rBRE",
    "lua": "e",
    "luajit": "e",
    "Rscript": "e",
    "R": "e",
    "julia": "eE",
    "osascript": "e",
    "pwsh": "c",
    "powershell": "c",
}
_CODE_OPTIONS = frozenset({"--eval", "--print", "--command", "-Command"})
_VALUES = frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"})
_INTERPRETER_VALUES = frozenset({"-X", "-W", "-r", "--require", "-I", "--import", "--loader", "-L", "-d"})
_MODULES_AS_PROGRAMS = frozenset({"pip", "uv", "pipx", "poetry", "twine", "playwright", "pre_commit", "ansible"})
_NETWORK_MODULES = frozenset({"http.server", "build", "smtpd", "webbrowser", "ftplib", "telnetlib", "nltk.downloader"})
_CLUSTER = re.compile(r"-[A-Za-z]+")
_OPTION = re.compile(r"[-+][A-Za-z]+\Z")

_HIDDEN = {
    DOWNLOADED: "runs what it gets from the network, unseen",
    DECODED: "runs what is encoded in the command, unseen",
}


def hidden_code(text: str) -> Found:
    """Find that code comes from the network or was encoded."""
    for mark, reason in _HIDDEN.items():
        if mark in text:
            yield refused(reason, HIDDEN[mark])


def judge_shell(call: Call) -> Found:
    """Find what a shell runs: the text after `-c`, a file, or its input."""
    flags, rest = _split(call.arguments)
    if "c" in flags:
        yield from hidden_code("".join(rest[:1]))
        yield Code("".join(rest[:1]))
    elif rest and "s" not in flags and rest[0] not in {"-", "/dev/stdin"}:
        yield from hidden_code(rest[0])
        yield Finding("read") if "n" in flags else RunsFile(rest[0])
    else:
        yield from judge_input(call)


def _split(arguments: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The letters of a shell's options, and what follows them."""
    flags, index = "", 0
    while index < len(arguments) and arguments[index][:1] in {"-", "+"} and arguments[index] not in {"-", "--"}:
        word = arguments[index]
        flags += word[1:] if _OPTION.match(word) else ""
        index += 2 if word in _VALUES or (_OPTION.match(word) and word[-1] in "oO") else 1
    index += arguments[index : index + 1] == ("--",)
    return flags, arguments[index:]


def judge_input(call: Call) -> Found:
    """Find what a shell runs that reads its commands from its input."""
    feed = call.feed
    yield from hidden_code(feed.mark)
    if feed.text is not None:
        yield Code(feed.text)
    elif feed.given:
        yield Finding("write", f"{call.program} runs what another program or a file gives it")
    else:
        yield Finding("write", f"starts {call.program}")


def judge_source(call: Call) -> Found:
    """Find what `source` runs in the same shell."""
    path = call.arguments[0] if call.arguments else ""
    yield from hidden_code(path)
    if path == "/dev/stdin":
        yield from judge_input(call)
    else:
        yield RunsFile(path)


def judge_eval(call: Call) -> Found:
    """Find what `eval` runs."""
    text = " ".join(call.arguments)
    yield from hidden_code(text)
    yield Code(text)


def judge_trap(call: Call) -> Found:
    """Find what `trap` runs later."""
    yield Finding("read")
    action = call.arguments[0] if len(call.arguments) > 1 else "-"
    if action and not action.startswith("-"):
        yield Code(action)


def judge_interpreter(call: Call) -> Found:
    """Find what an interpreter runs: code in the command, a module, a file, or its input."""
    letters = _CODE_LETTERS.get(call.program, "")
    index = 0
    while index < len(call.arguments) and call.arguments[index].startswith("-") and call.arguments[index] != "-":
        word = call.arguments[index]
        if word.partition("=")[0] in _CODE_OPTIONS or _takes_code(word, letters):
            yield from hidden_code("".join(call.arguments[index:]))
            yield Finding("write", f"{call.program} runs code that stands in the command")
            return
        if word.startswith("-m") and call.program in {"python", "pypy"}:
            module = word[2:] or "".join(call.arguments[index + 1 : index + 2])
            yield from _module(call, module, call.arguments[index + (1 if word[2:] else 2) :])
            return
        index += 2 if word in _INTERPRETER_VALUES else 1
    yield from _file_or_input(call, call.arguments[index:])


def _takes_code(word: str, letters: str) -> bool:
    cluster = _CLUSTER.match(word)
    return cluster is not None and any(letter in letters for letter in cluster.group())


def _module(call: Call, module: str, arguments: tuple[str, ...]) -> Found:
    if module in _MODULES_AS_PROGRAMS:
        yield Inner((module.replace("_", "-"), *arguments))
    elif module.partition(".")[0] in _NETWORK_MODULES or module in _NETWORK_MODULES:
        yield Finding("network", f"the module {module} uses the network")
    elif is_unknown(module):
        yield Finding("write", f"{call.program} runs a module that is only known when it runs")
    else:
        yield Finding("write", f"{call.program} runs the module {module}")


def _file_or_input(call: Call, rest: tuple[str, ...]) -> Found:
    if rest and rest[0] not in {"-", "/dev/stdin"}:
        yield from hidden_code(rest[0])
        yield RunsFile(rest[0])
    else:
        yield from hidden_code(call.feed.mark)
        yield Finding("write", f"{call.program} runs code from its input")
