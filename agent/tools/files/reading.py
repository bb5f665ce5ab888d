"""Reading a text file, whole or by ranges of lines."""

from typing import ClassVar

from pydantic import Field

from agent.errors import FileUnsuitable, ToolFailure
from agent.paths import named
from agent.text_file import BYTE_ORDER_MARK, MAX_TEXT_BYTES, seen_file
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.tools.files.kinds import unreadable
from agent.visible import visible_line, visible_path

MAX_WHOLE_CHARACTERS = 32_000
DEFAULT_LINES = 200
MAX_LINES = 2_000
MAX_LINE_CHARACTERS = 2_000


class ReadFileArguments(ToolArguments):
    """Which file, and optionally which lines of it."""

    path: str = Field(description="Path relative to the project's root, as in src/main.py.")
    offset: int | None = Field(default=None, ge=1, description="First line to read, counted from 1.")
    limit: int | None = Field(default=None, ge=1, le=MAX_LINES, description="How many lines to read (default 200).")

    @property
    def ranged(self) -> bool:
        """Whether lines were asked for, and not the file."""
        return self.offset is not None or self.limit is not None


class ReadFile(Tool[ReadFileArguments]):
    """Gives a text file: a small one whole and unchanged, otherwise a range of numbered lines."""

    name: ClassVar[str] = "read_file"
    description: ClassVar[str] = (
        "Read a UTF-8 text file of the project (at most 5 MB). Large files, or calls with offset or limit, give "
        "numbered lines; the numbers are not part of the file."
    )
    risk: ClassVar[Risk] = Risk.READ
    parallel_safe: ClassVar[bool] = True
    # It bounds itself; a piece that was asked for must not become another file to read.
    most_characters: ClassVar[int | None] = None
    arguments = ReadFileArguments

    async def preview(self, arguments: ReadFileArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        return Preview(title=visible_path(arguments.path))

    async def run(self, arguments: ReadFileArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        content = context.project.head(arguments.path, max_bytes=MAX_TEXT_BYTES + 1)
        text = _text(arguments, content).removeprefix(BYTE_ORDER_MARK)
        seen = seen_file(context.project.real_path(arguments.path), content)
        whole = not arguments.ranged and len(text) <= MAX_WHOLE_CHARACTERS
        shown = text if whole else _lines(text, arguments.offset or 1, arguments.limit or DEFAULT_LINES)
        return ToolResult(text=shown or "(the file is empty)", seen=(seen,))


def _text(arguments: ReadFileArguments, content: bytes) -> str:
    """The file as text.

    Raises:
        FileUnsuitable: it is none, or too large; the message says what to do instead.
    """
    path = arguments.path
    if found := unreadable(path, content, ranged=arguments.ranged):
        raise FileUnsuitable(f"{named(path)} is {found.what}; {found.advice}")
    if len(content) > MAX_TEXT_BYTES:
        raise FileUnsuitable(
            f"{named(path)} is larger than {MAX_TEXT_BYTES:,} bytes; take a part of it with execute_command, "
            "as with grep -n, or sed -n '1,200p'"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileUnsuitable(
            f"{named(path)} is not UTF-8 text: byte 0x{content[error.start]:02X} at offset {error.start:,}, in line "
            f"{line:,}. When it is text in another coding, convert it with execute_command, as with iconv -f GB18030"
        ) from error


def _lines(text: str, first: int, limit: int) -> str:
    """Lines from `first` on under a header, as many as fit; the last line tells how to go on."""
    if not text:
        return ""
    # Old files of the Mac end their lines with CR alone.
    line_end = "\n" if "\n" in text else "\r"
    lines = text.removesuffix(line_end).split(line_end)
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
    """The line, cut where it is very long; a CR inside would look like the end of a line."""
    cut = line[:MAX_LINE_CHARACTERS].replace("\r", visible_line("\r"))
    left_out = len(line) - MAX_LINE_CHARACTERS
    return f"{cut}… ({left_out:,} more characters in this line)" if left_out > 0 else cut
