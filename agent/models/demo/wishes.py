"""From what a person wrote, in Chinese or English, to the things they want done."""

import re
from dataclasses import dataclass

from agent.models.demo.grammar import (
    BREAK,
    CHINESE,
    CONNECTOR,
    FENCED,
    HERE,
    IT,
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
_FILE_NAME = re.compile(r"\w\.\w+$")
_PATH_LIKE = re.compile(r"\.\w|/|^(?:readme|makefile|dockerfile|license)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Change:
    """Replace `old` by `new` in a file."""

    path: str
    old: str
    new: str


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
    """Start a project in one of the languages python, java and node."""

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
class Understood:
    """What was understood of a text, and the clauses that were not."""

    language: Language
    wishes: tuple[Wish, ...]
    unclear: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """What the beginning of a text says, and the rest of it."""

    clause: str
    rest: str
    language: Language | None = None
    wish: Wish | None = None


def understand(text: str) -> Understood:
    """Read a text clause by clause."""
    if len(text) > _LONGEST:
        return Understood(_language_of(text[:_LONGEST]), (), (text,))
    wishes: list[Wish] = []
    unclear: list[str] = []
    language: Language | None = None
    rest = text.strip()
    while rest:
        rest = POLITE.sub("", rest)
        found = _written_file(rest) or _clause(rest)
        language = language or found.language
        if found.wish is not None:
            wishes.append(found.wish)
        elif found.clause:
            unclear.append(found.clause)
        rest = CONNECTOR.sub("", found.rest)
    return Understood(language or _language_of(text), tuple(wishes), tuple(unclear))


def _clause(text: str) -> _Found:
    """The first clause; a break inside quotes is none."""
    end = after = len(text)
    quoted = [match.span() for match in re.finditer(QUOTED, text)]
    for match in BREAK.finditer(text):
        if match.start() > 0 and not any(begin < match.start() < close for begin, close in quoted):
            end, after = match.span()
            break
    clause = text[:end].strip()
    for language, kind, pattern in RULES:
        match = pattern.match(clause)
        wish = _wish(kind, match) if match else None
        if wish is not None:
            return _Found(clause, text[after:], language, wish)
    return _Found(clause, text[after:])


def _written_file(text: str) -> _Found | None:
    """A file to be written; its content is the next fenced or quoted part, else all the rest."""
    for language, _, pattern in WRITE_RULES:
        match = pattern.match(text)
        if match is not None and _PATH_LIKE.search(path := _plain(match["file"])):
            content, rest = _content(text[match.end() :])
            return _Found(text, rest, language, Write(path, content))
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
            return Change(groups["file"], groups["old"], groups["new"]) if groups["old"] else None
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


def _create(groups: dict[str, str]) -> Create:
    written = groups["kind"].lower() or "python"
    language = "node" if "js" in written or "node" in written or written == "javascript" else written
    language = "python" if language == "py" else language
    name = re.sub(r"[^a-z0-9_-]+", "-", groups["name"].lower()).strip("-_")
    if name and not name[0].isalpha():
        name = f"app-{name}"
    return Create(name[:64] or f"{language}-app", language)


def _run(groups: dict[str, str], *, quoted: bool) -> Run | None:
    target = groups["target"]
    if IT.fullmatch(target):
        return Run(WHATEVER_WAS_LAST)
    if NO_TARGET.fullmatch(target):
        return None
    return Run(target, is_command=bool(groups["command"]) or (quoted and " " in target))


def _language_of(text: str) -> Language:
    return "zh" if CHINESE.search(re.sub(QUOTED, "", text)) else "en"
