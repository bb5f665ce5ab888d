"""The commands of one script while `agent.commands.syntax` reads them: pipelines, compound commands, here-documents."""

from dataclasses import dataclass, field, replace
from itertools import groupby

from agent.commands.tree import Command, Joint, Redirect, Script, Word
from agent.commands.words import Unreadable

_JOINTS: dict[str, Joint] = {"&&": "&&", "||": "||", "|": "|", "|&": "|", "&": "&"}


@dataclass(slots=True)
class Draft:
    """A command while it is read."""

    words: list[Word] = field(default_factory=list[Word])
    assignments: list[tuple[str, Word]] = field(default_factory=list[tuple[str, Word]])
    redirects: list[Redirect] = field(default_factory=list[Redirect])
    body: Script | None = None

    @property
    def empty(self) -> bool:
        """Nothing of it was read yet."""
        return not (self.words or self.assignments or self.redirects or self.body)


@dataclass(slots=True)
class Frame:
    """A compound command that is open, and the pipeline that it is part of."""

    kind: str
    function: str
    pipe_start: int
    upstream: tuple[int, int]
    start: int
    awaits_pattern: bool = False


@dataclass(frozen=True, slots=True)
class HereDocument:
    """A text that begins in the next line, and the redirection that waits for it."""

    command: int
    redirect: int
    operator: str
    delimiter: Word


@dataclass(slots=True)
class Scope:
    """One script while it is read. `defining` is a function whose body comes next."""

    function: str = ""
    commands: list[Command] = field(default_factory=list[Command])
    draft: Draft = field(default_factory=Draft)
    frames: list[Frame] = field(default_factory=list[Frame])
    awaited: list[HereDocument] = field(default_factory=list[HereDocument])
    defining: str = ""
    compound: bool = False
    joint: Joint = ""
    joined: bool = True
    """Nothing was read since the last operator."""
    pipe_start: int = 0
    upstream: tuple[int, int] = (0, 0)
    closed: int | None = None
    """Where the compound command began whose redirections may come next."""

    def inside(self) -> str:
        """The function that is being defined here, or nothing."""
        return self.frames[-1].function if self.frames else self.function

    def open(self, kind: str) -> Frame:
        """Begin a compound command; its commands read what it reads."""
        frame = Frame(kind, self.defining or self.inside(), self.pipe_start, self.upstream, len(self.commands))
        self.frames.append(frame)
        self.defining, self.compound, self.pipe_start = "", True, len(self.commands)
        return frame

    def close(self, kind: str) -> None:
        """End the innermost compound command.

        Raises:
            Unreadable: it is of another kind, or there is none.
        """
        if not self.frames or self.frames[-1].kind != kind:
            raise Unreadable("something is closed that was not opened")
        frame = self.frames.pop()
        self.closed = frame.start
        self.joined, self.pipe_start, self.upstream = False, frame.pipe_start, frame.upstream

    def await_text(self, operator: str, delimiter: Word) -> None:
        """Take note of a here-document, whose redirection was just put into the draft."""
        place = len(self.draft.redirects) - 1
        self.awaited.append(HereDocument(len(self.commands), place, operator, delimiter))

    def put_texts(self, texts: list[Word]) -> None:
        """Give finished commands the texts that they waited for, in order."""
        waiting = zip(self.awaited, texts, strict=True)
        for index, group in groupby(waiting, key=lambda each: each[0].command):
            redirects = list(self.commands[index].redirects)
            for awaited, text in group:
                redirects[awaited.redirect] = Redirect(awaited.operator, text)
            self.commands[index] = replace(self.commands[index], redirects=tuple(redirects))
        self.awaited.clear()

    def note(self, words: list[Word], name: str = "") -> None:
        """Put words that are no command where what they may run is seen, as values of a variable."""
        self.commands.append(Command(assignments=tuple((name, word) for word in words), upstream=self.upstream))

    def finish(self) -> None:
        """Put the command that was read with the others."""
        draft, self.draft = self.draft, Draft()
        closed, self.closed = self.closed, None
        if draft.empty:
            return
        self.joined = False
        self.commands.append(
            Command(
                words=tuple(draft.words),
                assignments=tuple(draft.assignments),
                redirects=tuple(draft.redirects),
                body=draft.body,
                upstream=self.upstream,
                joint=self.joint,
                function=self.inside(),
                around=None if draft.words else closed,
            )
        )

    def join(self, operator: str) -> None:
        """Finish a command, and take note of what comes between it and the next."""
        self.finish()
        self.joint, self.joined = _JOINTS.get(operator, ";"), True
        if operator == "&":
            self._leave_running()
        if self.joint == "|":
            self.upstream = (self.pipe_start, len(self.commands))
        else:
            self.pipe_start = len(self.commands)
            self.upstream = self.frames[-1].upstream if self.frames else (0, 0)

    def _leave_running(self) -> None:
        self.compound = True
        for index in range(self.pipe_start, len(self.commands)):
            self.commands[index] = replace(self.commands[index], background=True)
