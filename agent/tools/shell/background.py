"""Looking at the commands that run in the background, and stopping them."""

import codecs
import re
from typing import ClassVar

from pydantic import Field, field_validator

from agent.errors import SandboxUnavailable, ToolFailure
from agent.sandbox import Background, BackgroundCommand, BackgroundOutput
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.tools.shell.lines import MAX_PATTERN_CHARACTERS, matching_lines
from agent.tools.shell.printed import plain
from agent.visible import visible_line

MOST_SHOWN_BYTES = 24_000
MOST_FILTERED_BYTES = 1_000_000
_MOST_TITLE = 200
_ID = "The id that execute_command gave, as in bg1."
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


class CommandOutputArguments(ToolArguments):
    """Which command, from where on, and which lines."""

    command_id: str | None = Field(default=None, description=f"{_ID} Without it, all background commands are listed.")
    offset: int | None = Field(
        default=None, ge=0, description="Byte to go on from, as the last look told it; without it, the latest output."
    )
    filter: str | None = Field(
        default=None, description="A regular expression of Python: only lines that it is found in are given."
    )

    @field_validator("filter")
    @classmethod
    def _usable(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            if len(pattern) > MAX_PATTERN_CHARACTERS:
                raise ValueError(f"the expression is longer than {MAX_PATTERN_CHARACTERS} characters")
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"the expression is not a valid one: {error}") from error
        return pattern


class CommandOutput(Tool[CommandOutputArguments]):
    """Tells how a background command stands and what it printed."""

    name: ClassVar[str] = "command_output"
    description: ClassVar[str] = (
        "Look at a background command: whether it runs or how it ended, and what it printed, from an offset on or the "
        "latest. Only beginning and end of a very long output are kept."
    )
    risk: ClassVar[Risk] = Risk.READ
    parallel_safe: ClassVar[bool] = True
    arguments = CommandOutputArguments

    async def preview(self, arguments: CommandOutputArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        return Preview(title=visible_line(arguments.command_id or "all background commands"))

    async def run(self, arguments: CommandOutputArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        background = background_of(context)
        if arguments.command_id is None:
            return ToolResult(text="\n".join(map(told, background.all())) or "There are no background commands.")
        command = _found(background, arguments.command_id)
        most_bytes = MOST_SHOWN_BYTES if arguments.filter is None else MOST_FILTERED_BYTES
        piece = background.output(command.command_id, offset=arguments.offset, most_bytes=most_bytes)
        text, end = _decoded(piece, more_may_come=command.running)
        shown = plain(text)
        if arguments.filter is not None:
            shown = await matching_lines(arguments.filter, shown, most_characters=MOST_SHOWN_BYTES)
        place = _place(arguments.offset, piece.start, end, max(command.output_bytes, end))
        return ToolResult(text="\n".join((told(command), place, shown.strip("\n") or "(nothing)")))


class StopCommandArguments(ToolArguments):
    """Which command."""

    command_id: str = Field(description=_ID)


class StopCommand(Tool[StopCommandArguments]):
    """Ends a background command.

    Nobody is asked, as it ends what the conversation itself started and takes away no file; it acts all the same.
    """

    name: ClassVar[str] = "stop_command"
    description: ClassVar[str] = "Stop a background command together with all its processes."
    risk: ClassVar[Risk] = Risk.READ
    acts: ClassVar[bool] = True
    arguments = StopCommandArguments

    async def preview(self, arguments: StopCommandArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`."""
        return Preview(title=visible_line(arguments.command_id))

    async def run(self, arguments: StopCommandArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        background = background_of(context)
        command = _found(background, arguments.command_id)
        try:
            await background.stop(command.command_id)
        except SandboxUnavailable as error:
            return ToolResult(text=f"It could not be stopped. {error}", ok=False, alarm=str(error))
        if not command.running:
            return ToolResult(text=f"It had ended before, and nothing of it is left.\n{told(command)}")
        return ToolResult(text=f"Nothing of it is left.\n{told(_found(background, command.command_id))}")


def background_of(context: ToolContext) -> Background:
    """The conversation's background commands.

    Raises:
        ToolFailure: there can be none here.
    """
    if context.background is None:
        raise ToolFailure(
            "Background commands are not possible here. Run the command without background, with a time limit; what it "
            "starts with & runs for as long as the command itself does."
        )
    return context.sandbox.background(context.background)


def told(command: BackgroundCommand) -> str:
    """How a command stands, in one line."""
    lasted = f"{command.seconds:.0f} s"
    how = {
        "running": f"has been running for {lasted} and will be ended in {command.seconds_left:.0f} s at the latest",
        "exited": f"ended after {lasted} with exit code {command.exit_code}",
        "stopped": f"was stopped after {lasted}",
        "deadline": f"was ended at its deadline, after {lasted}",
        "orphaned": f"was ended after {lasted}, when Paigate itself was stopped",
        "lost": "was ended from outside; nothing else is known of how",
    }
    title = visible_line(command.command.strip())
    return f"{command.command_id} {how[command.state]}: {title[:_MOST_TITLE]}{'…' if len(title) > _MOST_TITLE else ''}"


def _found(background: Background, command_id: str) -> BackgroundCommand:
    command = background.find(command_id)
    if command is None:
        known = ", ".join(each.command_id for each in background.all()) or "none"
        raise ToolFailure(f"There is no background command {command_id[:_MOST_TITLE]!r}. There are: {known}.")
    return command


def _decoded(piece: BackgroundOutput, *, more_may_come: bool) -> tuple[str, int]:
    """The piece as text, and the offset to go on from: never within a character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    begun = piece.content[:3].lstrip(_CONTINUATION_BYTES) + piece.content[3:] if piece.start else piece.content
    text = decoder.decode(begun, final=not more_may_come)
    return text, piece.end - len(decoder.getstate()[0])


def _place(offset: int | None, start: int, end: int, total: int) -> str:
    missing = f"; bytes {offset:,}-{start:,} are no longer kept" if offset is not None and offset < start else ""
    return f"bytes {start:,}-{end:,} of {total:,}{missing}; go on with offset={end}"
