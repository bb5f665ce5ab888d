"""Reading what begins loops, conditions, functions and groups (POSIX 2.9.4; bash: `select`, `[[`, `coproc`, `time`)."""

import re
from abc import ABC
from collections.abc import Callable

from agent.commands.scope import HereDocument, Scope
from agent.commands.tree import SPLIT, UNKNOWN, Word
from agent.commands.words import WORD_ENDS, Unreadable, WordReader

BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
LINES = re.compile(r"(?:[ \t\n]|\\\n)+")
COMMENT = re.compile(r"#[^\n]*")
NO_ARGUMENTS = re.compile(r"\([ \t]*\)")

_LINE = re.compile(r"([^\n]*)(?:\n|\Z)")
_FOR_ARITHMETIC = re.compile(r"\(\([^\n]*?\)\)(?=[ \t\n;]*(?:do[ \t\n]|\{[ \t\n]))")
_IN = re.compile(r"in(?=[ \t\n;]|\\\n)")
_BODIES = {"do": re.compile(r"do(?=[ \t\n(&|<>]|\\\n)"), "{": re.compile(r"\{(?=[ \t\n(&|<>]|\\\n)")}
_COMPOUND = (
    r"(?=(?:[{!]|time|if|for|while|until|case|select|function|coproc|\[\[)[ \t\n]"
    r"|\(|[^\s()<>|&;'\"$`]+[ \t]*\([ \t]*\))"
)
_TIME_OPTIONS = re.compile(rf"[ \t]+(?:-p[ \t]+)?(?:--[ \t]+)?{_COMPOUND}")
_PROCESS_NAME = re.compile(rf"[ \t]+[A-Za-z_]\w*[ \t]+{_COMPOUND}", re.ASCII)
_OPENERS = {"if": "if", "while": "do", "until": "do", "{": "{"}
_CLOSERS = {"fi": "if", "done": "do", "esac": "case", "}": "{"}
_IGNORED = frozenset({"then", "else", "elif", "do", "!"})


class CompoundReader(WordReader, ABC):
    """Reads the parts of compound commands into a scope."""

    scope: Scope

    def skip(self, *patterns: re.Pattern[str]) -> str:
        """Move over what fits these patterns, in turn; tell what comes next."""
        for pattern in patterns:
            self.take(pattern)
        return self.peek()

    def line_end(self) -> None:
        """Go to the next line: the here-documents that were announced in this one begin there."""
        self.at += 1
        self.scope.finish()
        self.scope.put_texts([self._here_document(awaited) for awaited in self.scope.awaited])

    def _here_document(self, awaited: HereDocument) -> Word:
        lines: list[str] = []
        while self.at < len(self.text):
            line = self.take(_LINE).removesuffix("\n")
            line = line.lstrip("\t") if awaited.operator == "<<-" else line
            if line == awaited.delimiter.text:
                break
            lines.append(line)
        text = "\n".join(lines)
        return Word(text, quoted=True) if awaited.delimiter.quoted else self.quoted_text(text)

    def progress(self) -> None:
        """Raise `Unreadable` at the end of the text."""
        if self.at >= len(self.text):
            raise Unreadable("a case is not closed")

    def some_words(self) -> list[Word]:
        """Read what must be a word."""
        before = self.at
        words = [word for word in self.words() if word.text or word.quoted]
        if self.at == before:
            raise Unreadable("a word is missing")
        return words

    def keyword(self, text: str) -> bool:
        """Take a reserved word for what it is; tell whether it was one."""
        if text in _OPENERS:
            self.scope.open(_OPENERS[text])
        elif text in _CLOSERS:
            self.scope.close(_CLOSERS[text])
        elif text in _READ_ON:
            _READ_ON[text](self)
        elif text == "time":
            return bool(self.take(_TIME_OPTIONS))
        else:
            return text in _IGNORED
        return True

    def function_header(self) -> None:
        """Read the name after `function`."""
        self.take(BLANKS)
        self.scope.defining, self.scope.compound = joined(self.some_words()).text, True
        self.skip(BLANKS, NO_ARGUMENTS)

    def process_header(self) -> None:
        """Read the name that a `coproc` may have before a compound command."""
        self.take(_PROCESS_NAME)

    def loop_header(self) -> None:
        """Read `NAME`, `NAME in WORDS;` or `((…))`, and the word that begins the body."""
        self.take(BLANKS)
        name, words = "", [Word(UNKNOWN)]
        if arithmetic := self.take(_FOR_ARITHMETIC):
            words = [self.quoted_text(arithmetic)]
        else:
            name = joined(self.some_words()).text
            self._to_next_line()
            if self.take(_IN):
                words = self._loop_words()
        self._to_next_line()
        self.at += self.peek() == ";"
        self._to_next_line()
        kind = next((kind for kind, pattern in _BODIES.items() if self.take(pattern)), "")
        if not kind:
            raise Unreadable("a loop has no body")
        self.scope.open(kind)
        self.scope.note([joined(words)], name)

    def _loop_words(self) -> list[Word]:
        words: list[Word] = []
        while self.skip(BLANKS, COMMENT) not in {"", "\n", ";"}:
            words.extend(self.some_words())
        return words

    def _to_next_line(self) -> None:
        while self.skip(BLANKS, COMMENT) == "\n":
            self.line_end()

    def case_header(self) -> None:
        """Read up to and with the `in` of a case."""
        self.take(BLANKS)
        subject = self.some_words()
        self.take(LINES)
        if joined(self.some_words()).text != "in":
            raise Unreadable("a case has no patterns")
        self.scope.note(subject)
        self.scope.open("case").awaits_pattern = True

    def condition(self) -> None:
        """Read `[[ … ]]`, in which brackets and comparisons are no operators of the shell."""
        words = [Word("[[")]
        while words[-1].text != "]]":
            if self.skip(LINES) in WORD_ENDS and self.peek(2) not in {"<(", ">("}:
                self.progress()
                self.at += 1
            else:
                words.extend(self.some_words())
        self.scope.draft.words.extend(words)


_READ_ON: dict[str, Callable[[CompoundReader], None]] = {
    "for": CompoundReader.loop_header,
    "select": CompoundReader.loop_header,
    "case": CompoundReader.case_header,
    "function": CompoundReader.function_header,
    "coproc": CompoundReader.process_header,
    "[[": CompoundReader.condition,
}


def joined(words: list[Word]) -> Word:
    """Several words as one value that falls into them again."""
    return Word(SPLIT.join(word.text for word in words), True, tuple(each for word in words for each in word.scripts))
