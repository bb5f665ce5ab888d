"""Listing a directory."""

from typing import ClassVar

from pydantic import Field

from agent.paths import PRIVATE, parts_of
from agent.places import Entry
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.tree import Listing, list_directory
from agent.visible import visible_line, visible_path

MAX_ENTRIES = 500


class ListDirectoryArguments(ToolArguments):
    """Which directory."""

    path: str = Field(default=".", description="Directory relative to the project's root; the root itself is '.'.")


class ListDirectory(Tool[ListDirectoryArguments]):
    """Names what is in one directory."""

    name: ClassVar[str] = "list_dir"
    description: ClassVar[str] = (
        "List a directory of the project, sorted by name: [D] marks directories, [F] files with their size, [L] links "
        f"and where they point. At most {MAX_ENTRIES} entries."
    )
    risk: ClassVar[Risk] = Risk.READ
    parallel_safe: ClassVar[bool] = True
    arguments = ListDirectoryArguments

    async def preview(self, arguments: ListDirectoryArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        return Preview(title=visible_path(arguments.path))

    async def run(self, arguments: ListDirectoryArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        hidden = () if parts_of(arguments.path) else (PRIVATE,)
        listing = list_directory(context.project, arguments.path, at_most=MAX_ENTRIES, hidden=hidden)
        lines = [*map(_line, listing.entries), *_rest(listing)]
        return ToolResult(text="\n".join(lines) or "(the directory is empty)")


def _line(entry: Entry) -> str:
    # A line break in a name would make one entry look like two.
    name = visible_line(entry.name)
    if entry.is_directory:
        return f"[D] {name}/"
    if entry.target is not None:
        return f"[L] {visible_path(entry.name)} → {visible_path(entry.target)}"
    return f"[F] {name} ({entry.kind or f'{entry.size:,} bytes'})"


def _rest(listing: Listing) -> list[str]:
    left_out = listing.total - len(listing.entries)
    if not left_out:
        return []
    total = f"{listing.total:,}" if listing.whole else f"more than {listing.total:,}"
    return [f"… {left_out:,} more of {total} are not listed; find files by name with glob_files"]
