"""Where the output of commands comes from: the network, an encoded text, or the command line itself."""

import re
from collections.abc import Iterable, Sequence

from agent.commands.call import has_option, is_unknown, positionals, values_of
from agent.commands.tables import DOWNLOADERS
from agent.commands.tree import DECODED, DOWNLOADED, Command, Script, Word
from agent.commands.wrappers import WRAPPERS

_PASSED_OVER = re.compile(r"-|\d|[A-Za-z_]\w*=", re.ASCII)
_ESCAPES = re.compile(r"\\(?:x[0-9a-fA-F]|0?[0-7]{2,3}|u[0-9a-fA-F])")
_PRINTERS = frozenset({"echo", "printf"})


def program_of(words: Sequence[Word] | Sequence[str]) -> str:
    """The base name of the program that runs in the end, behind `env`, `timeout` and their like."""
    for word in words[:12]:
        name = (word if isinstance(word, str) else word.text).rpartition("/")[2]
        if name not in WRAPPERS and not _PASSED_OVER.match(name):
            return name
    return ""


def output_mark(command: Command) -> str:
    """`DOWNLOADED` or `DECODED` if that is where its output comes from, or nothing."""
    program = program_of(command.words)
    texts = tuple(word.text for word in command.words)
    if program in DOWNLOADERS:
        return DOWNLOADED
    if _decodes(program, texts):
        return DECODED
    for script in _scripts(command):
        if mark := script_mark(script):
            return mark
    return ""


def script_mark(script: Script) -> str:
    """The same for all that a script prints."""
    for command in script.commands:
        if mark := output_mark(command):
            return mark
    return ""


def _scripts(command: Command) -> Iterable[Script]:
    if command.body is not None:
        yield command.body
    for word in (*command.words, *(redirect.target for redirect in command.redirects)):
        yield from word.scripts


def _decodes(program: str, texts: tuple[str, ...]) -> bool:
    if program in {"base64", "base32", "basenc", "openssl", "gpg"}:
        return has_option(texts, "dD", "--decode", "--decrypt")
    if program == "xxd":
        return has_option(texts, "r", "--revert")
    return program == "uudecode" or (program in _PRINTERS and _ESCAPES.search(" ".join(texts)) is not None)


def printed_text(words: tuple[str, ...], given: str | None) -> str | None:
    """What `echo`, `printf` or `cat` print, if that is known; `given` is the text that they read."""
    program, arguments = program_of(words), words[1:]
    if program == "cat" and not arguments:
        return given
    if program not in _PRINTERS or words[:1] != (program,):
        return None
    if program == "printf":
        return _formatted(arguments)
    start = next((index for index, word in enumerate(arguments) if not re.fullmatch("-[neE]+", word)), len(arguments))
    return " ".join(arguments[start:])


def _formatted(arguments: tuple[str, ...]) -> str | None:
    if not arguments:
        return None
    form, *values = arguments
    return "\n".join(values) if "%" in form else form.replace("\\n", "\n")


def downloaded_files(program: str, arguments: tuple[str, ...]) -> list[str]:
    """The files that a download puts down, as far as they are named."""
    if program == "curl":
        files = values_of(arguments, "-o", "--output")
        return files + (_last_parts(arguments) if has_option(arguments, "O", "--remote-name") else [])
    if program in {"wget", "wget2", "aria2c"}:
        return values_of(arguments, "-O", "--output-document", "-o", "--out") or _last_parts(arguments)
    return positionals(arguments)[-1:] if program in {"scp", "http", "https"} else []


def _last_parts(arguments: tuple[str, ...]) -> list[str]:
    """The file names at the ends of addresses."""
    addresses = (word.partition("?")[0].rstrip("/") for word in positionals(arguments) if not is_unknown(word))
    return [address.rpartition("/")[2] for address in addresses if "/" in address or "." in address]
