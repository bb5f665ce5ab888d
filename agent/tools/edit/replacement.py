"""Replacing a passage of a text, so that nothing around it changes."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO

from agent.text_file import BYTE_ORDER_MARK, MAX_TEXT_BYTES
from agent.tools.edit import errors
from agent.tools.edit.nearest import nearest
from agent.tools.edit.passage import find_passage
from agent.tools.edit.placeholders import placeholder
from agent.tools.edit.reading import Original, Span

_MOST_PLACES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A text after `count` replacements; `lines` are the numbers, from 1, where they began in the text before."""

    content: str
    count: int
    lines: tuple[int, ...]


def require_passage(old_text: str) -> str:
    """The passage as it is looked for: without a byte order mark, its line breaks as line feeds.

    Raises:
        EditError: nothing is left.
    """
    old = _plain_breaks(old_text)
    if not old:
        raise errors.empty()
    return old


def replace(content: str, old_text: str, new_text: str, *, replace_all: bool = False, path: str = "") -> Edited:
    """Replace the one place in `content` that reads `old_text`, or with `replace_all` every one from left to right.

    Line ends do not have to be those of the text: they match either kind, and new text gets the first kind of the
    passage it replaces, else of the text. A passage that is not there exactly is looked for as `find_passage` does,
    unless with `replace_all`. Byte order marks in the two texts are dropped. Every other character stays. `path` is for
    the messages.

    Raises:
        EditError: `old_text` is empty, not there, or in several places; or new text is a placeholder for what was left
            out; or nothing would change.
    """
    old, new = require_passage(old_text), _plain_breaks(new_text)
    if elision := placeholder(old, new):
        raise errors.left_out(elision)
    if old == new:
        raise errors.no_change()
    mark = BYTE_ORDER_MARK if content.startswith(BYTE_ORDER_MARK) else ""
    original = Original(content.removeprefix(mark))
    replaced = _replaced_all if replace_all else _replaced
    edited, lines = replaced(original, old, new, path)
    if edited == original.text:
        raise errors.no_change()
    return Edited(content=mark + edited, count=len(lines), lines=tuple(lines))


def _plain_breaks(text: str) -> str:
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n")


def _replaced(original: Original, old: str, new: str, path: str) -> tuple[str, list[int]]:
    passage = find_passage(original, old, new)
    if passage is None:
        raise errors.not_found(path, nearest(original, old))
    found = passage.found
    if len(found.spans) > 1:
        lines = [span.line for span in found.spans]
        raise errors.several(path, lines, whole=found.whole, exact=passage.exact, numbered=passage.numbered)
    return _joined(original, found.spans, _at_end(passage.new) if found.at_end else passage.new, path)


def _replaced_all(original: Original, old: str, new: str, path: str) -> tuple[str, list[int]]:
    edited, lines = _joined(original, original.exact.each(old), new, path)
    if lines:
        return edited, lines
    found = original.exact.find(old)
    if not found.spans:
        raise errors.not_found(path, nearest(original, old))
    return _joined(original, found.spans, _at_end(new), path)


def _at_end(new: str) -> str:
    return new.removesuffix("\n")


def _joined(original: Original, spans: Iterable[Span], new: str, path: str) -> tuple[str, list[int]]:
    text, lines, of_text = original.text, list[int](), _first_line_end(original.text) or "\n"
    # As long as what is given, and then as much again as a file may have.
    most = len(text) + MAX_TEXT_BYTES
    edited, position = StringIO(newline=""), 0
    for span in spans:
        edited.write(text[position : span.start])
        line_end = _first_line_end(text[span.start : span.end]) or of_text
        edited.write(_fitting(new, text[span.end : span.end + 2]).replace("\n", line_end))
        position = span.end
        lines.append(span.line)
        if len(lines) > _MOST_PLACES:
            raise errors.too_many(path, _MOST_PLACES)
        if edited.tell() > most:
            raise errors.too_large(path, most)
    edited.write(text[position:])
    return edited.getvalue(), lines


def _fitting(new: str, rest: str) -> str:
    """New text without a lone carriage return at its end where it would become part of the line break after it."""
    return new.removesuffix("\r") if rest.startswith(("\r\n", "\n")) else new


def _first_line_end(text: str) -> str:
    position = text.find("\n")
    if position < 0:
        return ""
    return "\r\n" if text[:position].endswith("\r") else "\n"
