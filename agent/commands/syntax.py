"""Reading a shell command line into its simple commands, as bash would find them (POSIX 2.9, 2.10).

Pure, linear in the length, and kind to anything: what cannot be read ends the reading, and what came before counts.
"""

import re

from agent.commands.compounds import BLANKS, COMMENT, LINES, NO_ARGUMENTS, CompoundReader, joined
from agent.commands.scope import Frame, Scope
from agent.commands.tree import (
    END,
    PROCESS,
    SCRIPT,
    SILENT,
    UNKNOWN,
    VARIABLE,
    Command,
    Reading,
    Redirect,
    Script,
    Word,
)
from agent.commands.words import ARITHMETIC, Unreadable

_REDIRECT = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-?|<>|>>|>\||>&|<&|<(?!\()|>(?!\()|&>>?)", re.ASCII)
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|;|\|&|\||&")
_PLACES = re.compile(f"[{SCRIPT}{PROCESS}{SILENT}]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=", re.ASCII)
# Characters that stand for what is unknown in what is read, so they may not come from outside.
_CONTROLS = dict.fromkeys((*range(9), ord(PROCESS), ord(SILENT)), "\ufffd")


def read(command: str) -> Reading:
    """Read a command line. It never raises; `problem` says why something could not be read."""
    text = command.translate(_CONTROLS)
    reader = _Reader(text, depth=0, open_scopes=[])
    try:
        script = reader.script("")
    except Unreadable as error:
        return Reading(_so_far(reader.open_scopes), str(error))
    return Reading(script, "" if text == command else "it has control characters")


def _so_far(scopes: list[Scope]) -> Script:
    """The commands that were read before the reading ended, also those of scripts within words."""
    for scope in scopes:
        scope.finish()
    outermost, *inner = (tuple(scope.commands) for scope in scopes)
    return Script((*outermost, *(Command(body=Script(commands)) for commands in inner)), compound=True)


class _Reader(CompoundReader):
    """Reads scripts; `WordReader` calls back for those within words. `open_scopes` is shared by all of one text."""

    def __init__(self, text: str, depth: int, open_scopes: list[Scope]) -> None:
        super().__init__(text, depth)
        self.scope = Scope()
        self.open_scopes = open_scopes

    def beginning(self, text: str) -> "_Reader":
        """See `WordReader.beginning`."""
        self.check_depth(self.depth + 1)
        return _Reader(text, self.depth + 1, self.open_scopes)

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
        self.open_scopes.append(self.scope)
        while self.skip(BLANKS, COMMENT) not in {"", ")"} or self._in_pattern():
            self._token(self.peek())
        self.scope.finish()
        if self.peek() != closing or self.scope.frames:
            raise Unreadable("a bracket, a loop or a condition is not closed, or closed twice")
        self.at += len(closing)
        self.open_scopes.pop()
        return Script(tuple(self.scope.commands), self.scope.compound)

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
        self.line_end()
        # After an operator the command goes on in the next line.
        if not self.scope.joined:
            self.scope.join(";")

    def _redirect(self, operator: str) -> None:
        self.take(BLANKS)
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
        if self.skip(LINES, COMMENT) in {"\n", ""}:
            self.progress()
            return
        bracket = self.peek() == "("
        self.at += bracket
        words: list[Word] = []
        while self.skip(LINES) != ")":
            if self.peek() == "|":
                self.at += 1
                continue
            words.extend(self.some_words())
            if not bracket and [word.text for word in words] == ["esac"]:
                self.scope.close("case")
                return
        self.at += 1
        self.scope.note(words)
        frame.awaits_pattern = False

    def _parenthesis(self) -> None:
        scope = self.scope
        draft = scope.draft
        if draft.empty and (arithmetic := self.take(ARITHMETIC)):
            self._arithmetic(arithmetic)
        elif draft.empty:
            self.at += 1
            draft.body = self.nested(")")
            scope.defining, scope.compound = "", True
        elif len(draft.words) == 1 and not draft.redirects and self.take(NO_ARGUMENTS):
            scope.defining, scope.compound = draft.words.pop().text, True
        else:
            raise Unreadable("a parenthesis stands where none can")

    def _arithmetic(self, arithmetic: str) -> None:
        scope = self.scope
        scope.note([self.quoted_text(arithmetic)])
        scope.compound, scope.joined = True, False

    def _word(self) -> None:
        draft = self.scope.draft
        words = self.some_words()
        if draft.empty and len(words) == 1 and not words[0].quoted and self.keyword(words[0].text):
            return
        for word in words:
            assignment = _ASSIGNMENT.match(word.text)
            if assignment is None:
                draft.words.append(word)
                continue
            left = assignment.group()
            # The scripts in an index run as well.
            inside = len(_PLACES.findall(left))
            value = self._value(Word(word.text[len(left) :], word.quoted, word.scripts[inside:]))
            scripts = word.scripts[:inside] + value.scripts
            if draft.words:
                draft.words.append(Word(left + value.text, word.quoted, scripts))
            else:
                name = assignment.group(1)
                draft.assignments.append((name, Word(SILENT * inside + value.text, value.quoted, scripts)))

    def _value(self, word: Word) -> Word:
        text = word.text
        if not text and self.peek() == "(":
            return self._array()
        if text.startswith("~") and not word.quoted:
            text = f"{VARIABLE}HOME{END}{text[1:]}"
        return Word(text, word.quoted, word.scripts)

    def _array(self) -> Word:
        self.at += 1
        words: list[Word] = []
        while self.skip(LINES, COMMENT, LINES) != ")":
            words.extend(self.some_words())
        self.at += 1
        return joined(words)
