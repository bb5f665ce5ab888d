"""From what a person wrote, in Chinese or English, to the things they want done."""

import re
from dataclasses import dataclass, replace

from agent.models.demo.grammar import (
    ASKED_NICELY,
    BREAK,
    CHINESE,
    FENCED,
    HERE,
    IT,
    JOINT,
    NO_TARGET,
    PAIRS,
    POLITE,
    QUOTED,
    RULES,
    RUN_AFTER,
    WRITE_RULES,
    Kind,
    Language,
)

WHATEVER_WAS_LAST = ""
_LONGEST = 20_000
"""Characters of the longest text that is looked at: the patterns are not made for more."""
_GAPING = re.compile(r"\s{100}")
"""Blanks that no sentence has: the patterns, which allow blanks nearly everywhere, would take hours."""
_FILE_NAME = re.compile(r"\w\.\w+$")
_PATH_LIKE = re.compile(r"\.\w|/|^(?:readme|makefile|dockerfile|license)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Change:
    """Replace `old` by `new` in a file, or `literal` where that is there: "all hands" may be each "hands" or itself."""

    path: str
    old: str
    new: str
    literal: str = ""


@dataclass(frozen=True, slots=True)
class Write:
    """Make a file, or replace all of it."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Run:
    """Run a file, a project or, if `is_command`, a command as it stands."""

    target: str
    is_command: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    """Start a project in one of the languages python, java and node; without a name if none was given."""

    name: str
    language: str


@dataclass(frozen=True, slots=True)
class List:
    """List a directory."""

    path: str


@dataclass(frozen=True, slots=True)
class Read:
    """Show a file."""

    path: str


Wish = Change | Write | Run | Create | List | Read


@dataclass(frozen=True, slots=True)
class Asked:
    """A clause and its wish, or clauses without one that is clear; one that `follows` builds on what is before it."""

    wish: Wish | None
    words: str
    follows: bool


@dataclass(frozen=True, slots=True)
class Understood:
    """What a text asks for, clause by clause."""

    language: Language
    wishes: tuple[Asked, ...]

    @property
    def unclear(self) -> bool:
        """Whether there is something in the text, and none of it is clear."""
        return bool(self.wishes) and all(asked.wish is None for asked in self.wishes)


@dataclass(frozen=True, slots=True)
class _Found:
    """What the beginning of a text says, and the rest of it."""

    words: str
    rest: str
    language: Language | None = None
    wish: Wish | None = None


def understand(text: str) -> Understood:
    """Read a text clause by clause."""
    rest = text.strip()
    if len(text) > _LONGEST or _GAPING.search(rest):
        return Understood(_language_of(rest[:_LONGEST]), (Asked(None, rest, follows=False),))
    wishes: list[Asked] = []
    language: Language | None = None
    while rest:
        follows, rest = _joint(rest)
        found = _written_file(rest) or _clause(rest)
        language = language or found.language
        if found.wish is None and wishes and wishes[-1].wish is None:
            wishes[-1] = replace(wishes[-1], words=f"{wishes[-1].words}\n{found.words}")
        elif found.words:
            wishes.append(Asked(found.wish, found.words, follows or found.wish == Run(WHATEVER_WAS_LAST)))
        rest = found.rest
    return Understood(language or _language_of(text), tuple(wishes))


def _joint(text: str) -> tuple[bool, str]:
    """Whether the first clause is tied to what was said before, and the text from that clause on."""
    joint = JOINT.match(text)
    if joint is None:
        return False, text
    marks = joint["marks"]
    tied = joint["word"] is not None or ("\n" not in marks and re.search(r"[,，;；]", marks) is not None)
    return tied, POLITE.sub("", text[joint.end() :])


def _clause(text: str) -> _Found:
    """The first clause; a break inside quotes is none."""
    end = len(text)
    quoted = [match.span() for match in re.finditer(QUOTED, text)]
    for match in BREAK.finditer(text):
        if match.start() > 0 and not any(begin < match.start() < close for begin, close in quoted):
            end = match.start()
            break
    clause = text[:end].strip()
    for language, kind, pattern in RULES:
        match = pattern.match(clause)
        wish = _wish(kind, match) if match else None
        if wish is not None:
            return _Found(clause, text[end:], language, wish)
    return _Found(clause, text[end:])


def _written_file(text: str) -> _Found | None:
    """A file to be written; its content is the next fenced or quoted part, else all the rest."""
    for language, _, pattern in WRITE_RULES:
        match = pattern.match(text)
        if match is not None and _PATH_LIKE.search(path := _plain(match["file"])):
            content, rest = _content(text[match.end() :])
            return _Found(text[: len(text) - len(rest)].strip(), rest, language, Write(path, content))
    return None


def _content(text: str) -> tuple[str, str]:
    """The content at the beginning of a text, and the rest of the text."""
    if fence := FENCED.match(text):
        return _lines(fence[2]), text[fence.end() :]
    if quoted := re.match(rf"\s*({QUOTED})(?=\s|[,，.。;；!！]|$)", text):
        return _lines(_plain(quoted[1])), text[quoted.end() :]
    run = None if "\n" in text.strip() else RUN_AFTER.search(text)
    end = run.start() if run else len(text)
    return _lines(text[:end].strip()), text[end:]


def _lines(content: str) -> str:
    """`content`, ending with a line break unless it is empty."""
    return content if not content or content.endswith("\n") else f"{content}\n"


def _plain(text: str | None) -> str:
    """`text` without the quotes around it."""
    text = (text or "").strip()
    return text[1:-1] if len(text) >= 2 and PAIRS.get(text[0]) == text[-1] else text


def _wish(kind: Kind, match: re.Match[str]) -> Wish | None:
    """The wish that a clause of this kind expresses; None if on a closer look it is none."""
    groups = {name: _plain(value) for name, value in match.groupdict().items()}
    match kind:
        case "change":
            return _change(groups, match)
        case "write_into":
            return Write(groups["file"], _lines(groups["new"])) if _PATH_LIKE.search(groups["file"]) else None
        case "create":
            return _create(groups)
        case "list":
            return _list(groups["file"])
        case "read":
            return Read(groups["file"]) if _PATH_LIKE.search(groups["file"]) else None
        case "run":
            return _run(groups, quoted=groups["target"] != match["target"].strip())


def _list(path: str) -> Wish:
    if _FILE_NAME.search(path):
        return Read(path)
    return List("." if HERE.fullmatch(path) else path)


def _change(groups: dict[str, str], match: re.Match[str]) -> Change | None:
    if not groups["old"]:
        return None
    quoted = groups["old"] != match["old"].strip()
    literal = match.string[match.start("all") : match.end("old")] if groups["all"] and not quoted else ""
    return Change(groups["file"], groups["old"], groups["new"], literal)


def _create(groups: dict[str, str]) -> Create:
    written = groups["kind"].lower()
    language = {"": "python", "py": "python", "java": "java", "python": "python"}.get(written, "node")
    return Create(groups["name"], language)


def _run(groups: dict[str, str], *, quoted: bool) -> Run | None:
    target = groups["target"]
    bare = ASKED_NICELY.sub("", target)
    if not quoted and not groups["command"] and (" " not in bare or IT.fullmatch(bare) or NO_TARGET.fullmatch(bare)):
        target = bare
    if IT.fullmatch(target):
        return Run(WHATEVER_WAS_LAST)
    if NO_TARGET.fullmatch(target):
        return None
    return Run(target, is_command=bool(groups["command"]) or (quoted and " " in target))


def _language_of(text: str) -> Language:
    return "zh" if CHINESE.search(re.sub(QUOTED, "", text)) else "en"
