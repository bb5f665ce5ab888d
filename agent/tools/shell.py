"""Running a shell command in the project's sandbox."""

import re
import signal
from typing import ClassVar

from pydantic import Field, field_validator

from agent.sandbox import CommandLimits, CommandResult
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.visible import visible, visible_line

MAX_OUTPUT_CHARACTERS = 8_000
# What a person can still read before saying yes.
MAX_COMMAND_CHARACTERS = 8_000
DEFAULT_SECONDS = 60
MAX_SECONDS = 600

# ECMA-48: control sequences, then strings (titles, links) up to their terminator, then every other escape.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class ExecuteCommandArguments(ToolArguments):
    """Which command, and how long it may take."""

    command: str = Field(
        description=f"A command for bash, run in the project's root; at most {MAX_COMMAND_CHARACTERS:,} characters."
    )
    timeout_seconds: int = Field(
        default=DEFAULT_SECONDS, ge=1, le=MAX_SECONDS, description="The command is ended after so many seconds."
    )

    @field_validator("command")
    @classmethod
    def _something_to_run(cls, command: str) -> str:
        if not command.strip():
            raise ValueError("the command is empty")
        if len(command) > MAX_COMMAND_CHARACTERS:
            raise ValueError(
                f"the command has {len(command):,} characters, and the limit is {MAX_COMMAND_CHARACTERS:,}: "
                "put it into a script file and run that"
            )
        if any(char == "\0" or "\ud800" <= char <= "\udfff" for char in command):
            raise ValueError("the command has a NUL or a lone surrogate, which no program can be given")
        return command


class ExecuteCommand(Tool[ExecuteCommandArguments]):
    """Runs a command in the sandbox and tells how it ended."""

    name: ClassVar[str] = "execute_command"
    description: ClassVar[str] = (
        "Run a bash command in a sandbox with the project as its directory, without network or input; give its exit "
        "code and its output. Processes it leaves in the background end with it."
    )
    risk: ClassVar[Risk] = Risk.EXECUTE
    arguments = ExecuteCommandArguments

    async def preview(self, arguments: ExecuteCommandArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`. A time limit that was asked for stands first, in brackets that no command can show."""
        first, *rest = arguments.command.strip().split("\n")
        title = f"{visible_line(first)} …" if rest else visible_line(first)
        detail = visible(arguments.command)
        if "timeout_seconds" in arguments.model_fields_set:
            detail = f"⟨timeout {arguments.timeout_seconds} s⟩\n{detail}"
        return Preview(title=title, detail=detail, kind="command")

    async def run(self, arguments: ExecuteCommandArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        seconds = arguments.timeout_seconds
        # Several threads use up processor time faster than the clock runs.
        limits = CommandLimits(wall_seconds=float(seconds), cpu_seconds=4 * seconds)
        result = await context.sandbox.run(
            ["/bin/bash", "-c", arguments.command], project=context.project, limits=limits
        )
        output = _shortened(_plain(result.output)).strip("\n") or "(no output)"
        return ToolResult(text=f"{_ending(result, seconds)}\n{output}", ok=result.exit_code == 0)


def _ending(result: CommandResult, seconds: int) -> str:
    if result.exit_code is None:
        return f"timed out after {seconds} s; the command and all its processes were ended"
    return f"exit code {result.exit_code}{_signal_name(result.exit_code - 128)}"


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def _plain(output: str) -> str:
    """The output without terminal escapes; of a line that was overwritten, as by a progress bar, the last state."""
    text = _ESCAPES.sub("", output).replace("\r\n", "\n")
    last_states = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(last_states))


def _shortened(text: str) -> str:
    if len(text) <= MAX_OUTPUT_CHARACTERS:
        return text
    half = MAX_OUTPUT_CHARACTERS // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out:,} characters left out …\n{text[-half:]}"
