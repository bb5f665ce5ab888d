"""Where the output of commands comes from: the network, an encoded text, or the command line itself."""

import re
from collections.abc import Sequence

from agent.commands.call import has_option
from agent.commands.tables import DOWNLOADERS
from agent.commands.tree import DECODED, DOWNLOADED, Word
from agent.commands.wrappers import WRAPPERS

_PASSED_OVER = re.compile(r"-|\d|[A-Za-z_]\w*=", re.ASCII)
_CODE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3}))")
# What has a reason to be written as an escape: blanks, quotes and what is special within them.
_NEEDS_ESCAPE = frozenset(" \"'\\$`!%")
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
    return any(0x20 < code < 0x7F and chr(code) not in _NEEDS_ESCAPE for code in map(_code_of, _CODE.finditer(text)))


def _code_of(match: re.Match[str]) -> int:
    *hexadecimal, octal = match.groups()
    return int(octal, 8) & 0xFF if octal else int(next(digits for digits in hexadecimal if digits), 16)
