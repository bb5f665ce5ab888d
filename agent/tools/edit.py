"""Replacing a passage of a file that is named by its text."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from pydantic import Field

from agent.errors import ToolFailure
from agent.paths import named
from agent.text_file import BYTE_ORDER_MARK, MAX_TEXT_BYTES, change_of, change_preview, decoded, encoded
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult

# Counting on would only change the number in the error.
_MAX_COUNTED = 1_000
# One line break of the file, whole: the newline of a CRLF is not found alone.
_LINE_BREAK = r"(?:\r\n|(?<!\r)\n)"


class EditError(ToolFailure):
    """The passage cannot be replaced; the message tells how to call again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A text after `count` replacements; `lines` are the numbers, from 1, where they began in the text before."""

    content: str
    count: int
    lines: tuple[int, ...]


def replace(content: str, old_text: str, new_text: str, *, replace_all: bool = False, path: str = "") -> Edited:
    """Replace the one place in `content` that reads `old_text`, or with `replace_all` every one from left to right.

    Line ends do not have to be those of the file: they match either kind, and new text gets the first kind of the
    passage it replaces, else of the file. Byte order marks in the two texts are dropped. Every other character stays.
    `path` is for the messages.

    Raises:
        EditError: `old_text` is empty, not there, or in several places; or nothing would change.
    """
    old, new = (text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n") for text in (old_text, new_text))
    if not old:
        raise EditError("old_text is empty. Give the passage to replace; write_file makes and fills files.")
    if old == new:
        raise EditError("old_text and new_text are the same, so nothing would change.")
    pattern = re.compile(_LINE_BREAK.join(re.escape(line) for line in old.split("\n")))
    places = list(pattern.finditer(content)) if replace_all else _overlapping(pattern, content)
    if not places:
        raise EditError(
            f"old_text was not found in {named(path)}. It must match exactly, with its indentation; "
            "read the file again."
        )
    lines = _line_numbers(content, [place.start() for place in places])
    if len(places) > 1 and not replace_all:
        raise EditError(_several(path, lines))
    return Edited(content=_joined(content, places, new), count=len(places), lines=lines)


def _overlapping(pattern: re.Pattern[str], content: str) -> list[re.Match[str]]:
    """Every match, also those that overlap: `aa` is twice in `aaa`."""
    places: list[re.Match[str]] = []
    place = pattern.search(content)
    while place is not None and len(places) < _MAX_COUNTED:
        places.append(place)
        place = pattern.search(content, place.start() + 1)
    return places


def _several(path: str, lines: Sequence[int]) -> str:
    count = f"{len(lines)} times" if len(lines) < _MAX_COUNTED else f"at least {_MAX_COUNTED} times"
    where = ", ".join(map(str, lines[:3])) + (" and more" if len(lines) > 3 else "")
    return (
        f"old_text is {count} in {named(path)}, at lines {where}. Give more of the lines around it so that it is "
        "unique, or set replace_all to true."
    )


def _line_numbers(content: str, offsets: Sequence[int]) -> tuple[int, ...]:
    starts = list(accumulate((len(line) + 1 for line in content.split("\n")), initial=0))
    return tuple(bisect_right(starts, offset) for offset in offsets)


def _joined(content: str, places: Sequence[re.Match[str]], new: str) -> str:
    of_file = _first_line_end(content)
    pieces: list[str] = []
    position = 0
    for place in places:
        line_end = _first_line_end(place.group()) or of_file or "\n"
        pieces += [content[position : place.start()], new.replace("\n", line_end)]
        position = place.end()
    return "".join([*pieces, content[position:]])


def _first_line_end(text: str) -> str:
    position = text.find("\n")
    if position < 0:
        return ""
    return "\r\n" if text[:position].endswith("\r") else "\n"


class EditFileArguments(ToolArguments):
    """Which file, which passage of it, and what shall stand there."""

    path: str = Field(description="Path relative to the project's root, as in src/main.py.")
    old_text: str = Field(description="The passage to replace, exactly as it is in the file, without line numbers.")
    new_text: str = Field(description="What shall stand in its place.")
    replace_all: bool = Field(default=False, description="Replace every occurrence and not only a unique one.")


class EditFile(Tool[EditFileArguments]):
    """Replaces a passage of a file and keeps every other byte."""

    name: ClassVar[str] = "edit_file"
    description: ClassVar[str] = (
        "Replace a passage of an existing text file. old_text must match exactly one place of the file; "
        "give some lines around it when it is not unique."
    )
    risk: ClassVar[Risk] = Risk.WRITE
    arguments = EditFileArguments

    async def preview(self, arguments: EditFileArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        before, after, _ = _edited(arguments, context)
        return change_preview(context.project, arguments.path, before, after)

    async def run(self, arguments: EditFileArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`. Between reading and writing nothing else of this process runs, so no edit is lost."""
        before, after, edited = _edited(arguments, context)
        change = change_of(context.project.place(arguments.path), before, after).file
        context.project.write(arguments.path, after)
        places = "1 place" if edited.count == 1 else f"{edited.count} places"
        text = f"Edited {named(arguments.path)} in {places}, first at line {edited.lines[0]}: "
        return ToolResult(text=f"{text}{change.added} lines added, {change.removed} removed.", changes=(change,))


def _edited(arguments: EditFileArguments, context: ToolContext) -> tuple[bytes, bytes, Edited]:
    before = context.project.read(arguments.path, max_bytes=MAX_TEXT_BYTES)
    edited = replace(
        decoded(arguments.path, before),
        arguments.old_text,
        arguments.new_text,
        replace_all=arguments.replace_all,
        path=arguments.path,
    )
    return before, encoded(arguments.path, edited.content), edited
