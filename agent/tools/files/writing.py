"""Making a file, or replacing all of it."""

from typing import ClassVar

from pydantic import Field

from agent.paths import named
from agent.places import Place
from agent.text_file import change_of, change_preview, encoded, present, require_fresh, seen_file
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult


class WriteFileArguments(ToolArguments):
    """Which file, and all that is to be in it."""

    path: str = Field(description="Path relative to the project's root, as in src/main.py.")
    content: str = Field(description="The whole content of the file.")


class WriteFile(Tool[WriteFileArguments]):
    """Makes a file or replaces all of it, in one step."""

    name: ClassVar[str] = "write_file"
    description: ClassVar[str] = (
        "Create a file or replace its whole content (at most 5 MB); missing directories are made. A file that changed "
        "since you last saw it must be read again first. To change part of a file use edit_file."
    )
    risk: ClassVar[Risk] = Risk.WRITE
    editable: ClassVar[tuple[str, ...]] = ("content",)
    arguments = WriteFileArguments

    async def preview(self, arguments: WriteFileArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        _, before, after = _sides(arguments, context)
        return change_preview(context.project, arguments.path, before, after)

    async def run(self, arguments: WriteFileArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`. Between reading and writing nothing else of this process runs."""
        place, before, after = _sides(arguments, context)
        change = change_of(place, before, after).file
        context.project.write(arguments.path, after)
        verb = "Created" if before is None else "Replaced"
        text = f"{verb} {named(arguments.path)}: {len(after):,} bytes, "
        text += f"{change.added} lines added, {change.removed} removed."
        return ToolResult(text=text, changes=(change,), seen=(seen_file(place.path, after),))


def _sides(arguments: WriteFileArguments, context: ToolContext) -> tuple[Place, bytes | None, bytes]:
    """Where the file is, what it holds if there is one, and what it shall hold.

    Raises:
        ToolFailure: the text cannot be written, the file changed since the model last saw it, or nobody knows it.
    """
    after = encoded(arguments.path, arguments.content)
    before = present(context.project, arguments.path)
    place = context.project.place(arguments.path)
    if before is not None:
        # Where a person sees the change, they know what is lost; where nobody does, the model must.
        require_fresh(place.path, before, context.seen, must_know=context.unattended and bool(before))
    return place, before, after
