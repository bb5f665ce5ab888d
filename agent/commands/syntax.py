"""Reading a shell command line into its simple commands, as bash would find them (POSIX 2.9, 2.10).

Pure, linear in the length, and kind to anything: what cannot be read ends the reading, and what came before counts.
"""

import re

from agent.commands.scope import Frame, HereDocument, Scope
from agent.commands.tree import END, SPLIT, UNKNOWN, VARIABLE, Reading, Redirect, Script, Word
from agent.commands.words import ARITHMETIC, WORD_ENDS, Unreadable, WordReader

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_LINES = re.compile(r"(?:[ \t\n]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_FOR_ARITHMETIC = re.compile(r"\(\(([^\n]*?)\)\)")
_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-?|<>|>>|>\||>&|<&|<(?!\()|>(?!\()|&>>?)", re.ASCII)
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|;|\|&|\||&")
_LINE = re.compile(r"([^\n]*)(?:\n|\Z)")
_NO_ARGUMENTS = re.compile(r"\([ \t]*\)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=", re.ASCII)
_OPENERS = {"if": "if", "while": "do", "until": "do", "{": "{"}
_CLOSERS = {"fi": "if", "done": "do", "esac": "case", "}": "{"}
_IGNORED = frozenset({"then", "else", "elif", "do", "!", "coproc"})
# Characters that stand for what is unknown in what is read, so they may not come from outside.
_CONTROLS = dict.fromkeys(range(9), "\ufffd")


def read(command: str) -> Reading:
    """Read a command line. It never raises; `problem` says why something could not be read."""
    text = command.translate(_CONTROLS)
    reader = _Reader(text, depth=0)
    outermost = reader.scope
    try:
        script = reader.script("")
    except Unreadable as error:
        return Reading(Script(tuple(outermost.commands), compound=True), str(error))
    return Reading(script, "" if text == command else "it has control characters")


class _Reader(WordReader):
    """Reads scripts; `WordReader` calls back for those within words."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.scope = Scope()

    def beginning(self, text: str) -> "_Reader":
        """See `WordReader.beginning`."""
        self.check_depth(self.depth + 1)
        return _Reader(text, self.depth + 1)

    def nested(self, closing: str) -> Script:
        """See `WordReader.nested`."""
        outer = self.scope
        self.scope = Scope(function=outer.defining or outer.inside())
        self.depth += 1
        self.check_depth(self.depth)
        script = self.script(closing)
        self.depth -= 1
        self.scope = outer
        return script

    def nested_text(self, text: str) -> Script:
        """See `WordReader.nested_text`."""
        return self.beginning(text).script("")

    def script(self, closing: str) -> Script:
        """Read commands up to and with `closing`, or to the end of the text.

        Raises:
            Unreadable: bash would not accept them.
        """
        while self._skip(_BLANKS, _COMMENT) not in {"", ")"} or self._in_pattern():
            self._token(self.peek())
        self.scope.finish()
        if self.peek() != closing or self.scope.frames:
            raise Unreadable("a bracket, a loop or a condition is not closed, or closed twice")
        self.at += len(closing)
        return Script(tuple(self.scope.commands), self.scope.compound)

    def _skip(self, *patterns: re.Pattern[str]) -> str:
        for pattern in patterns:
            self.take(pattern)
        return self.peek()

    def _in_pattern(self) -> bool:
        frames = self.scope.frames
        return bool(frames) and frames[-1].awaits_pattern

    def _token(self, char: str) -> None:
        if self._in_pattern():
            self._pattern(self.scope.frames[-1])
        elif char == "\n":
            self._newline()
        elif redirect := _REDIRECT.match(self.text, self.at):
            self.at = redirect.end()
            self._redirect(redirect.group(1))
        elif operator := self.take(_OPERATOR):
            self._operator(operator)
        elif char == "(":
            self._parenthesis()
        else:
            self._word()

    def _newline(self) -> None:
        self.at += 1
        scope = self.scope
        scope.finish()
        scope.put_texts([self._here_document(awaited) for awaited in scope.awaited])
        # After an operator the command goes on in the next line.
        if not scope.joined:
            scope.join(";")

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

    def _redirect(self, operator: str) -> None:
        self.take(_BLANKS)
        target, *others = self.words() or [Word("")]
        if not target.text and not target.quoted:
            raise Unreadable("a redirection goes nowhere")
        scope = self.scope
        if operator in {"<<", "<<-"}:
            scope.draft.redirects.append(Redirect(operator, Word(UNKNOWN)))
            scope.await_text(operator, target)
        else:
            scope.draft.redirects.extend(Redirect(operator, word) for word in (target, *others))

    def _operator(self, operator: str) -> None:
        self.scope.join(operator)
        frames = self.scope.frames
        if frames and frames[-1].kind == "case" and operator in {";;", ";&", ";;&"}:
            frames[-1].awaits_pattern = True

    def _pattern(self, frame: Frame) -> None:
        """Read `PATTERN | PATTERN)` of a case, or its end."""
        if self._skip(_LINES, _COMMENT) in {"\n", ""}:
            self._progress()
            return
        self.at += self.peek() == "("
        words: list[Word] = []
        while self._skip(_LINES) != ")":
            if self.peek() == "|":
                self.at += 1
                continue
            words.extend(self._some_words())
            if [word.text for word in words] == ["esac"]:
                self.scope.close("case")
                return
        self.at += 1
        self.scope.note(words)
        frame.awaits_pattern = False

    def _progress(self) -> None:
        if self.at >= len(self.text):
            raise Unreadable("a case is not closed")

    def _some_words(self) -> list[Word]:
        """Read what must be a word."""
        before = self.at
        words = [word for word in self.words() if word.text or word.quoted]
        if self.at == before:
            raise Unreadable("a word is missing")
        return words

    def _parenthesis(self) -> None:
        scope = self.scope
        draft = scope.draft
        if draft.empty and (arithmetic := self.take(ARITHMETIC)):
            self._arithmetic(arithmetic)
        elif draft.empty:
            self.at += 1
            draft.body = self.nested(")")
            scope.defining, scope.compound = "", True
        elif len(draft.words) == 1 and not draft.redirects and self.take(_NO_ARGUMENTS):
            scope.defining, scope.compound = draft.words.pop().text, True
        else:
            raise Unreadable("a parenthesis stands where none can")

    def _arithmetic(self, arithmetic: str) -> None:
        scope = self.scope
        scope.note([self.quoted_text(arithmetic)])
        scope.compound, scope.joined = True, False

    def _word(self) -> None:
        draft = self.scope.draft
        words = self._some_words()
        if draft.empty and len(words) == 1 and not words[0].quoted and self._keyword(words[0].text):
            return
        for word in words:
            assignment = _ASSIGNMENT.match(word.text)
            if assignment is None:
                draft.words.append(word)
            elif draft.words:
                value = self._value(word, assignment.end())
                draft.words.append(Word(word.text[: assignment.end()] + value.text, word.quoted, value.scripts))
            else:
                draft.assignments.append((assignment.group(1), self._value(word, assignment.end())))

    def _value(self, word: Word, start: int) -> Word:
        text = word.text[start:]
        if not text and self.peek() == "(":
            return self._array()
        if text.startswith("~") and not word.quoted:
            text = f"{VARIABLE}HOME{END}{text[1:]}"
        return Word(text, word.quoted, word.scripts)

    def _array(self) -> Word:
        self.at += 1
        words: list[Word] = []
        while self._skip(_LINES, _COMMENT, _LINES) != ")":
            words.extend(self._some_words())
        self.at += 1
        return _joined(words)

    def _keyword(self, text: str) -> bool:
        """Take a reserved word for what it is; tell whether it was one."""
        scope = self.scope
        if text in _OPENERS:
            scope.open(_OPENERS[text])
        elif text in _CLOSERS:
            scope.close(_CLOSERS[text])
        elif text in {"for", "select"}:
            self._loop_header()
        elif text == "case":
            self._case_header()
        elif text == "function":
            self.take(_BLANKS)
            scope.defining, scope.compound = _joined(self._some_words()).text, True
            self._skip(_BLANKS, _NO_ARGUMENTS)
        elif text == "[[":
            self._condition()
        else:
            return text in _IGNORED
        return True

    def _loop_header(self) -> None:
        self.take(_BLANKS)
        self.scope.open("do")
        if arithmetic := self.take(_FOR_ARITHMETIC):
            self.scope.note([self.quoted_text(arithmetic)])
            return
        name = _joined(self._some_words()).text
        words: list[Word] = []
        while self._skip(_BLANKS) not in {"", "\n", ";"}:
            words.extend(self._some_words())
        values = words[1:] if words and words[0].text == "in" else [Word(UNKNOWN)]
        self.scope.note([_joined(values)], name)

    def _case_header(self) -> None:
        self.take(_BLANKS)
        subject = self._some_words()
        self.take(_LINES)
        if _joined(self._some_words()).text != "in":
            raise Unreadable("a case has no patterns")
        self.scope.note(subject)
        self.scope.open("case").awaits_pattern = True

    def _condition(self) -> None:
        """Read `[[ … ]]`, in which brackets and comparisons are no operators of the shell."""
        words = [Word("[[")]
        while words[-1].text != "]]":
            if self._skip(_LINES) in WORD_ENDS and self.peek(2) not in {"<(", ">("}:
                self._progress()
                self.at += 1
            else:
                words.extend(self._some_words())
        self.scope.draft.words.extend(words)


def _joined(words: list[Word]) -> Word:
    """Several words as one value that falls into them again."""
    return Word(SPLIT.join(word.text for word in words), True, tuple(each for word in words for each in word.scripts))
