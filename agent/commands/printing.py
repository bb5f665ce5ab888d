r"""What `echo`, `printf` and `cat` print, where that is plain to see.

It is run by shells, so it must be what they print to the letter: what is doubtful stays unknown. Shells differ in octal
escapes and in what `echo` does without options, and `\c` ends the output.
"""

import re
from collections.abc import Iterator

from agent.commands.origin import program_of

MAX_PRINTED_CHARACTERS = 20_000
"""More than that is not made of a format with many values."""

_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([abeEfnrtv\\])|([c0-7xuU])|([\"'?]))"
)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "\\": "\\"}
_DIRECTIVE = re.compile(r"%([%sbdi])")
# What a shell sees of a character that is none of its own; it ends no word and no line.
_OTHER = "\ufffd"


def printed_text(words: tuple[str, ...], given: str | None) -> str | None:
    """What a command prints, if that is known; `given` is the text that it reads."""
    program, arguments = program_of(words), words[1:]
    if (program == "cat" and not arguments) or program == "tee":
        return given
    if words[:1] == ("echo",):
        return _echoed(arguments)
    return _formatted(arguments[arguments[:1] == ("--",) :]) if words[:1] == ("printf",) else None


def _echoed(arguments: tuple[str, ...]) -> str | None:
    start = next((index for index, word in enumerate(arguments) if not re.fullmatch("-[neE]+", word)), len(arguments))
    flags, text = "".join(arguments[:start]), " ".join(arguments[start:])
    if _ESCAPE.search(text) is None:
        return text
    return _decoded(text, quotes=False) if "e" in flags and "E" not in flags else None


def _formatted(arguments: tuple[str, ...]) -> str | None:
    """What `printf` makes of a format, which is used again while there are values."""
    if not arguments:
        return None
    form, *values = arguments
    pieces = _DIRECTIVE.split(form)
    texts, kinds = pieces[::2], pieces[1::2]
    taking = sum(kind != "%" for kind in kinds)
    rounds = max(1, -(-len(values) // taking)) if taking else 1
    if form.startswith("-") or any("%" in text for text in texts) or rounds * len(form) > MAX_PRINTED_CHARACTERS:
        return None
    rest = iter(values)
    printed = [piece for _ in range(rounds) for piece in _round(texts, kinds, rest)]
    known = [piece for piece in printed if piece is not None]
    return "".join(known) if len(known) == len(printed) else None


def _round(texts: list[str], kinds: list[str], rest: Iterator[str]) -> Iterator[str | None]:
    yield _decoded(texts[0], quotes=True)
    for kind, text in zip(kinds, texts[1:], strict=True):
        yield _value(kind, rest)
        yield _decoded(text, quotes=True)


def _value(kind: str, rest: Iterator[str]) -> str | None:
    if kind == "%":
        return "%"
    value = next(rest, "")
    if kind == "b":
        return _decoded(value, quotes=False)
    return value if kind == "s" or (value.isascii() and value.isdigit()) else None


def _decoded(text: str, *, quotes: bool) -> str | None:
    """A text without its escapes, or nothing if shells differ in one; only `printf` takes them from quotes."""
    if any(match.group(5) for match in _ESCAPE.finditer(text)):
        return None

    def char(match: re.Match[str]) -> str:
        *codes, letter, _, quote = match.groups()
        if quote is not None:
            return quote if quotes else match.group()
        if letter is not None:
            return _LETTERS.get(letter, _OTHER)
        code = int(next(digits for digits in codes if digits), 16)
        return chr(code) if 0x20 <= code < 0xD800 or 8 < code < 14 else _OTHER

    return _ESCAPE.sub(char, text)
