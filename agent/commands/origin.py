"""Where the output of commands comes from: the network, an encoded text, or the command line itself."""

import re
from collections.abc import Sequence

from agent.commands.call import has_option
from agent.commands.tables import DOWNLOADERS
from agent.commands.tree import DECODED, DOWNLOADED, Word
from agent.commands.wrappers import WRAPPERS

# More than that is not made of a format with many values.
MAX_PRINTED_CHARACTERS = 20_000

_PASSED_OVER = re.compile(r"-|\d|[A-Za-z_]\w*=", re.ASCII)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|([abeEfnrtv\\\"']))"
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
# What has a reason to be written as an escape: blanks, quotes and what is special within them.
_NEEDS_ESCAPE = frozenset(" \"'\\$`!%")
_DIRECTIVE = re.compile(r"%(?:[-+ #0]*\d*(?:\.\d+)?([a-zA-Z])|(%))")
_PRINTERS = frozenset({"echo", "printf"})


def program_of(words: Sequence[Word] | Sequence[str]) -> str:
    """The base name of the program that runs in the end, behind `env`, `timeout` and their like."""
    for word in words[:12]:
        name = (word if isinstance(word, str) else word.text).rpartition("/")[2]
        if name not in WRAPPERS and not _PASSED_OVER.match(name):
            return name
    return ""


def output_mark(words: tuple[str, ...]) -> str:
    """`DOWNLOADED` or `DECODED` if that is where the output of a program comes from, or nothing."""
    program = program_of(words)
    if program in DOWNLOADERS:
        return DOWNLOADED
    if _decodes(program, words):
        return DECODED
    return mark_in(" ".join(words))


def mark_in(text: str) -> str:
    """The mark that stands in a text, or nothing."""
    return next((mark for mark in (DOWNLOADED, DECODED) if mark in text), "")


def _decodes(program: str, texts: tuple[str, ...]) -> bool:
    if program in {"base64", "base32", "basenc", "openssl", "gpg"}:
        return has_option(texts, "dD", "--decode", "--decrypt")
    if program == "xxd":
        return has_option(texts, "r", "--revert")
    return program == "uudecode" or (program in _PRINTERS and _hides(" ".join(texts)))


def _hides(text: str) -> bool:
    """Whether characters are encoded in it that could as well stand there themselves."""
    codes = (match for match in _ESCAPE.finditer(text) if match.group(5) is None)
    return any(char.isascii() and char.isprintable() and char not in _NEEDS_ESCAPE for char in map(_decoded, codes))


def _decoded(match: re.Match[str]) -> str:
    *hexadecimal, octal, letter = match.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    code = int(octal, 8) & 0xFF if octal else int(next(digits for digits in hexadecimal if digits), 16)
    # What is below stands for what is unknown, and cannot be part of a command.
    return chr(code) if 0x20 <= code < 0xD800 or 8 < code < 14 else "\ufffd"


def printed_text(words: tuple[str, ...], given: str | None) -> str | None:
    """What `echo`, `printf` or `cat` print, if that is known; `given` is the text that they read."""
    program, arguments = program_of(words), words[1:]
    if (program == "cat" and not arguments) or program == "tee":
        return given
    if program not in _PRINTERS or words[:1] != (program,):
        return None
    if program == "printf":
        return _formatted(arguments[arguments[:1] == ("--",) :])
    start = next((index for index, word in enumerate(arguments) if not re.fullmatch("-[neE]+", word)), len(arguments))
    text = " ".join(arguments[start:])
    return _ESCAPE.sub(_decoded, text) if any("e" in option for option in arguments[:start]) else text


def _formatted(arguments: tuple[str, ...]) -> str | None:
    """What `printf` makes of a format, which is used again while there are values."""
    if not arguments or arguments[0] == "-v":
        return None
    form, *values = arguments
    directives = sum(not match.group(2) for match in _DIRECTIVE.finditer(form))
    rounds = -(-len(values) // directives) if directives else 1
    if rounds * len(form) > MAX_PRINTED_CHARACTERS:
        return None
    rest = iter(values)

    def value(match: re.Match[str]) -> str:
        if match.group(2):
            return "%"
        text = next(rest, "")
        return _ESCAPE.sub(_decoded, text) if match.group(1) == "b" else text

    plain = _ESCAPE.sub(_decoded, form)
    return "".join(_DIRECTIVE.sub(value, plain) for _ in range(max(1, rounds)))
