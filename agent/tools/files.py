"""Reading, writing and listing the files of a project."""

from typing import ClassVar

from pydantic import Field

from agent.errors import ToolFailure
from agent.paths import named
from agent.project import Entry
from agent.text_file import BYTE_ORDER_MARK, MAX_TEXT_BYTES, change_of, change_preview, decoded, encoded, present
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.visible import visible_line, visible_path

MAX_WHOLE_CHARACTERS = 32_000
DEFAULT_LINES = 200
MAX_LINES = 2_000
MAX_LINE_CHARACTERS = 2_000
MAX_ENTRIES = 500

_PATH = "Path relative to the project's root, as in src/main.py."


class ReadFileArguments(ToolArguments):
    """Which file, and optionally which lines of it."""

    path: str = Field(description=_PATH)
    offset: int | None = Field(default=None, ge=1, description="First line to read, counted from 1.")
    limit: int | None = Field(default=None, ge=1, le=MAX_LINES, description="How many lines to read (default 200).")


class ReadFile(Tool[ReadFileArguments]):
    """Gives a text file: a small one whole and unchanged, otherwise a range of numbered lines."""

    name: ClassVar[str] = "read_file"
    description: ClassVar[str] = (
        "Read a UTF-8 text file of the project. Large files, or calls with offset or limit, give numbered lines; the "
        "numbers are not part of the file."
    )
    risk: ClassVar[Risk] = Risk.READ
    arguments = ReadFileArguments

    async def preview(self, arguments: ReadFileArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        return Preview(title=visible_path(arguments.path))

    async def run(self, arguments: ReadFileArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        content = context.project.read(arguments.path, max_bytes=MAX_TEXT_BYTES)
        text = decoded(arguments.path, content).removeprefix(BYTE_ORDER_MARK)
        if not text:
            return ToolResult(text="(the file is empty)")
        whole = arguments.offset is None and arguments.limit is None and len(text) <= MAX_WHOLE_CHARACTERS
        return ToolResult(text=text if whole else _lines(text, arguments.offset or 1, arguments.limit or DEFAULT_LINES))


class WriteFileArguments(ToolArguments):
    """Which file, and all that is to be in it."""

    path: str = Field(description=_PATH)
    content: str = Field(description="The whole content of the file.")


class WriteFile(Tool[WriteFileArguments]):
    """Makes a file or replaces all of it, in one step."""

    name: ClassVar[str] = "write_file"
    description: ClassVar[str] = (
        "Create a file or replace its whole content (at most 5 MB); missing directories are made. "
        "To change part of a file use edit_file."
    )
    risk: ClassVar[Risk] = Risk.WRITE
    arguments = WriteFileArguments

    async def preview(self, arguments: WriteFileArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        after = encoded(arguments.path, arguments.content)
        return change_preview(context.project, arguments.path, present(context.project, arguments.path), after)

    async def run(self, arguments: WriteFileArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        after = encoded(arguments.path, arguments.content)
        before = present(context.project, arguments.path)
        change = change_of(context.project.place(arguments.path), before, after).file
        context.project.write(arguments.path, after)
        verb = "Created" if before is None else "Replaced"
        text = f"{verb} {named(arguments.path)}: {len(after):,} bytes, "
        return ToolResult(text=f"{text}{change.added} lines added, {change.removed} removed.", changes=(change,))


class ListDirectoryArguments(ToolArguments):
    """Which directory."""

    path: str = Field(default=".", description="Directory relative to the project's root; the root itself is '.'.")


class ListDirectory(Tool[ListDirectoryArguments]):
    """Names what is in one directory."""

    name: ClassVar[str] = "list_dir"
    description: ClassVar[str] = "List a directory of the project: [D] marks directories, [F] files with their size."
    risk: ClassVar[Risk] = Risk.READ
    arguments = ListDirectoryArguments

    async def preview(self, arguments: ListDirectoryArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        return Preview(title=visible_path(arguments.path))

    async def run(self, arguments: ListDirectoryArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        entries = sorted(context.project.list(arguments.path), key=lambda entry: (not entry.is_directory, entry.name))
        lines = [_entry_line(entry) for entry in entries[:MAX_ENTRIES]]
        if len(entries) > MAX_ENTRIES:
            lines.append(f"… {len(entries) - MAX_ENTRIES:,} more of {len(entries):,} are not listed")
        return ToolResult(text="\n".join(lines) or "(the directory is empty)")


def _lines(text: str, first: int, limit: int) -> str:
    """Lines from `first` on under a header, as many as fit; the last line tells how to go on."""
    lines = text.removesuffix("\n").split("\n")
    if first > len(lines):
        raise ToolFailure(f"The file has {len(lines)} lines; offset {first} is past its end.")
    shown: list[str] = []
    room = MAX_WHOLE_CHARACTERS
    for number, line in enumerate(lines[first - 1 : first - 1 + limit], first):
        numbered = f"{number:5d} | {_shortened(line.removesuffix(chr(13)))}"
        room -= len(numbered) + 1
        if room < 0:
            break
        shown.append(numbered)
    last = first + len(shown) - 1
    rest = [f"… continue with offset={last + 1}"] if last < len(lines) else []
    return "\n".join([f"lines {first}-{last} of {len(lines)}", *shown, *rest])


def _shortened(line: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    return f"{line[:MAX_LINE_CHARACTERS]}… ({len(line) - MAX_LINE_CHARACTERS:,} more characters in this line)"


def _entry_line(entry: Entry) -> str:
    # A line break in a name would make one entry look like two.
    name = visible_line(entry.name)
    return f"[D] {name}/" if entry.is_directory else f"[F] {name} ({entry.size:,} bytes)"
