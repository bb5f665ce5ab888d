"""The tool that replaces a passage of a file of the project."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent.diff import numbered_diff
from agent.paths import named
from agent.project import Place
from agent.text_file import MAX_TEXT_BYTES, change_of, change_preview, decoded, encoded, require_fresh, seen_file
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.tools.edit.replacement import Edited, replace, require_passage

_MOST_DIFF_CHARACTERS = 4_000


class EditFileArguments(ToolArguments):
    """Which file, which passage of it, and what shall stand there."""

    path: str = Field(description="Path relative to the project's root, as in src/main.py.")
    old_text: str = Field(description="The passage to replace, exactly as it is in the file, without line numbers.")
    new_text: str = Field(description="What shall stand in its place, written out in full.")
    replace_all: bool = Field(default=False, description="Replace every occurrence and not only a unique one.")


class EditFile(Tool[EditFileArguments]):
    """Replaces a passage of a file and keeps every other byte."""

    name: ClassVar[str] = "edit_file"
    description: ClassVar[str] = (
        "Replace a passage of an existing text file that you have read. old_text must match exactly one place of the "
        "file; give some lines around it when it is not unique."
    )
    risk: ClassVar[Risk] = Risk.WRITE
    editable: ClassVar[tuple[str, ...]] = ("new_text",)
    arguments = EditFileArguments

    async def preview(self, arguments: EditFileArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        edit = _edit(arguments, context)
        return change_preview(context.project, arguments.path, edit.before, edit.after)

    async def run(self, arguments: EditFileArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`. Between reading and writing nothing else of this process runs, so no edit is lost."""
        edit = _edit(arguments, context)
        change = change_of(edit.place, edit.before, edit.after)
        context.project.write(arguments.path, edit.after)
        places = "1 place" if edit.edited.count == 1 else f"{edit.edited.count:,} places"
        text = f"Edited {named(arguments.path)} in {places}, first at line {edit.edited.lines[0]}: "
        text += f"{change.file.added} lines added, {change.file.removed} removed. With the line numbers it has now:\n"
        return ToolResult(
            text=text + numbered_diff(change.compared, most_characters=_MOST_DIFF_CHARACTERS),
            changes=(change.file,),
            seen=(seen_file(edit.place.path, edit.after),),
        )


@dataclass(frozen=True, slots=True)
class _Edit:
    """What an edit would do, and where."""

    place: Place
    before: bytes
    after: bytes
    edited: Edited


def _edit(arguments: EditFileArguments, context: ToolContext) -> _Edit:
    require_passage(arguments.old_text)
    path = arguments.path
    before = context.project.read(path, max_bytes=MAX_TEXT_BYTES)
    content = decoded(path, before)
    place = context.project.place(path)
    require_fresh(place.path, before, context.seen, must_know=True)
    edited = replace(content, arguments.old_text, arguments.new_text, replace_all=arguments.replace_all, path=path)
    return _Edit(place, before, encoded(path, edited.content), edited)
