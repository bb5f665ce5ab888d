"""Reading one word of a shell command: quotes, escapes, variables, substitutions and braces (POSIX 2.2, 2.6; bash)."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence

from agent.commands.tree import END, PROCESS, QUOTED_VARIABLE, SCRIPT, SILENT, UNKNOWN, VARIABLE, Script, Word

ARITHMETIC = re.compile(r"""\(\([^()'"`;\n]*(?:\([^()'"`;\n]*\)[^()'"`;\n]*)*\)\)""")
"""`((…))` that cannot be two subshells: what is doubtful is read as commands."""
MAX_DEPTH = 25

_PLAIN = re.compile(r"[^ \t\n;|&<>()'\"\\$`{},~]+")
_QUOTED_PLAIN = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"[0-9@*#?$!-]")
_ANSI_C = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_C_QUOTE = re.compile(r"(?:[^'\\]|\\.)*", re.DOTALL)
_BACKQUOTED = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": UNKNOWN, "b": UNKNOWN, "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
WORD_ENDS = frozenset(" \t\n;|&<>()")
_OPEN, _COMMA, _CLOSE = "\x05", "\x06", "\x07"
_BRACES = {"{": _OPEN, ",": _COMMA, "}": _CLOSE}
_PLAIN_BRACES = str.maketrans({mark: char for char, mark in _BRACES.items()})
_ALTERNATIVES = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*{_COMMA}[^{_OPEN}{_CLOSE}]*){_CLOSE}")
_MAX_ALTERNATIVES = 64


class Unreadable(Exception):
    """The text ends or goes on where a shell would not accept it."""


class WordReader(ABC):
    """A place in a text, from which words are read."""

    at: int
    depth: int

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth

    @abstractmethod
    def nested(self, closing: str) -> Script:
        """Read commands from here up to and with `closing`, one level deeper."""

    @abstractmethod
    def nested_text(self, text: str) -> Script:
        """Read a text of its own as commands, one level deeper."""

    def peek(self, length: int = 1) -> str:
        """What comes next, without moving on."""
        return self.text[self.at : self.at + length]

    def take(self, pattern: re.Pattern[str]) -> str:
        """Move over what fits the pattern here, and return it; nothing if nothing fits."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match.group()

    def words(self) -> list[Word]:
        """Read the word that begins here: more than one if it has braces like `{a,b}`.

        Raises:
            Unreadable: a quote or a substitution has no end.
        """
        word = _Word()
        while self.at < len(self.text) and self._part(word):
            pass
        return word.finish()

    def quoted_text(self, text: str) -> Word:
        """Read the text of a here-document, in which variables and substitutions count but quotes do not."""
        inner = self.beginning(text)
        word = _Word(quoted=True)
        while inner.at < len(text):
            if inner.peek() == '"':
                inner.at += 1
                word.pieces.append('"')
            else:
                inner.in_quotes(word)
        return word.finish()[0]

    @abstractmethod
    def beginning(self, text: str) -> "WordReader":
        """Give a reader at the beginning of another text."""

    def _part(self, word: "_Word") -> bool:
        char = self.peek()
        if char in WORD_ENDS:
            return self.peek(2) in {"<(", ">("} and self._process(word)
        if char == "\\":
            self._escape(word)
        elif char in {"'", '"'}:
            self._quote(word, char)
        elif char in {"$", "`"}:
            self._expansion(word, quoted=False)
        elif char == "~" and not word.pieces:
            self.at += 1
            word.pieces.append(f"{VARIABLE}HOME{END}")
        else:
            word.pieces.append(self.take(_PLAIN) or self._single())
        return True

    def _single(self) -> str:
        char = self.peek()
        self.at += 1
        return _BRACES.get(char, char)

    def _process(self, word: "_Word") -> bool:
        self.at += 2
        word.add_script(self.nested(")"), PROCESS)
        return True

    def _escape(self, word: "_Word") -> None:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        if escaped != "\n":
            word.quoted = True
            word.pieces.append(escaped or "\\")

    def _quote(self, word: "_Word", quote: str) -> None:
        word.quoted = True
        self.at += 1
        if quote == '"':
            while self.peek() != '"':
                self.in_quotes(word)
        else:
            word.pieces.append(self.text[self.at : self._find("'")])
            self.at = self._find("'")
        self.at += 1

    def _find(self, end: str) -> int:
        place = self.text.find(end, self.at)
        if place < 0:
            raise Unreadable("a quote has no end")
        return place

    def in_quotes(self, word: "_Word") -> None:
        """Read one part of what stands in double quotes."""
        char = self.peek()
        if char == "\\":
            escaped = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            word.pieces.append({"\n": ""}.get(escaped, escaped) if escaped in '$`"\\\n' else f"\\{escaped}")
        elif char in {"$", "`"}:
            self._expansion(word, quoted=True)
        elif plain := self.take(_QUOTED_PLAIN):
            word.pieces.append(plain)
        else:
            raise Unreadable("a quote has no end")

    def _expansion(self, word: "_Word", *, quoted: bool) -> None:
        if self.peek() == "`":
            self._backquotes(word)
            return
        self.at += 1
        following = self.peek()
        if following in {"'", '"'} and not quoted:
            self._dollar_quote(word, following)
        elif following == "(":
            self._parentheses(word)
        elif following == "{":
            self._parameter(word, quoted=quoted)
        elif name := self.take(_NAME):
            word.add_variable(name, quoted=quoted)
        else:
            word.pieces.append(UNKNOWN if self.take(_SPECIAL) else "$")

    def _dollar_quote(self, word: "_Word", quote: str) -> None:
        if quote == '"':
            self._quote(word, quote)
            return
        self.at += 1
        word.quoted = True
        word.pieces.append(_ANSI_C.sub(_unescaped, self.take(_ANSI_C_QUOTE)))
        self.at = self._find("'") + 1

    def _backquotes(self, word: "_Word") -> None:
        self.at += 1
        inner = re.sub(r"\\([`\\$])", r"\1", self.take(_BACKQUOTED))
        if self.peek() != "`":
            raise Unreadable("a backquote has no end")
        self.at += 1
        word.add_script(self.nested_text(inner))

    def _parentheses(self, word: "_Word") -> None:
        if arithmetic := self.take(ARITHMETIC):
            word.add_unknown(self.quoted_text(arithmetic[2:-2]).scripts)
            return
        self.at += 1
        word.add_script(self.nested(")"))

    def _parameter(self, word: "_Word", *, quoted: bool) -> None:
        self.at += 1
        name = self.take(_NAME)
        if name and self.peek() == "}":
            self.at += 1
            word.add_variable(name, quoted=quoted)
            return
        inner = _Word()
        self.depth += 1
        self.check_depth(self.depth)
        while self.peek() != "}":
            self._parameter_part(inner)
        self.depth -= 1
        self.at += 1
        word.add_unknown(inner.scripts)

    def _parameter_part(self, inner: "_Word") -> None:
        if self.at >= len(self.text):
            raise Unreadable("${ has no end")
        if self.peek() in WORD_ENDS or self.peek() in _BRACES:
            self.at += 1
        else:
            self._part(inner)

    def check_depth(self, depth: int) -> None:
        """Raise `Unreadable` for what is nested deeper than anyone writes by hand."""
        if depth > MAX_DEPTH:
            raise Unreadable("it is nested too deeply")


class _Word:
    """A word while it is read."""

    def __init__(self, *, quoted: bool = False) -> None:
        self.pieces: list[str] = []
        self.scripts: list[Script] = []
        self.quoted = quoted

    def add_script(self, script: Script, mark: str = SCRIPT) -> None:
        self.scripts.append(script)
        self.pieces.append(mark)

    def add_unknown(self, scripts: Sequence[Script]) -> None:
        self.scripts.extend(scripts)
        self.pieces.append(UNKNOWN + SILENT * len(scripts))

    def add_variable(self, name: str, *, quoted: bool) -> None:
        self.pieces.append(f"{QUOTED_VARIABLE if quoted else VARIABLE}{name}{END}")

    def finish(self) -> list[Word]:
        first, *others = (text.translate(_PLAIN_BRACES) for text in _alternatives("".join(self.pieces)))
        return [Word(first, self.quoted, tuple(self.scripts)), *(Word(other, self.quoted) for other in others)]


def _alternatives(text: str) -> list[str]:
    """What braces like `{a,b}` make of a word; too many stay unknown, since each doubles the work."""
    texts = [text]
    while found := _ALTERNATIVES.search(texts[0]):
        if len(texts) * (found.group().count(_COMMA) + 1) > _MAX_ALTERNATIVES:
            return [UNKNOWN]
        texts = [chosen for each in texts for chosen in _chosen(each)]
    return texts


def _chosen(text: str) -> list[str]:
    head, choices, tail = _ALTERNATIVES.split(text, maxsplit=1)
    return [f"{head}{choice}{tail}" for choice in choices.split(_COMMA)]


def _unescaped(match: re.Match[str]) -> str:
    """One escape of `$'…'`. What cannot be a character stays unknown."""
    *hexadecimal, octal, letter = match.groups()
    if letter is not None:
        return _LETTERS.get(letter, letter)
    code = int(octal, 8) & 0xFF if octal else int(next(digits for digits in hexadecimal if digits), 16)
    return chr(code) if 0x20 <= code < 0xD800 or 8 < code < 14 else UNKNOWN
