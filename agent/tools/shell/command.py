"""Running a shell command in the project's sandbox."""

import asyncio
import signal
from typing import ClassVar

from pydantic import Field, field_validator

from agent.commands import command_pattern
from agent.errors import CallForbidden, ToolFailure
from agent.policy import CommandRisk, assess_command
from agent.sandbox import Background, CommandLimits, CommandResult
from agent.tool import Preview, Risk, Tool, ToolArguments, ToolContext, ToolResult
from agent.tools.shell.background import background_of, told
from agent.tools.shell.printed import Pieces, plain
from agent.visible import visible, visible_line

# What a person can still read before saying yes.
MAX_COMMAND_CHARACTERS = 8_000
DEFAULT_SECONDS = 60
MAX_SECONDS = 600
DEFAULT_BACKGROUND_SECONDS = 1_800
MAX_BACKGROUND_SECONDS = 4 * 3_600
MOST_IN_BACKGROUND = 4
# Several threads use up processor time faster than the clock runs.
_THREADS = 4


class ExecuteCommandArguments(ToolArguments):
    """Which command, whether to wait for it, and how long it may take."""

    command: str = Field(
        description=f"A command for bash, run in the project's root; at most {MAX_COMMAND_CHARACTERS:,} characters."
    )
    timeout_seconds: int = Field(
        default=DEFAULT_SECONDS, ge=1, le=MAX_SECONDS, description="The command is ended after so many seconds."
    )
    background: bool = Field(
        default=False,
        description="Start it and return at once with an id for command_output and stop_command, as for a server.",
    )
    deadline_seconds: int = Field(
        default=DEFAULT_BACKGROUND_SECONDS,
        ge=1,
        le=MAX_BACKGROUND_SECONDS,
        description="A background command is ended after so many seconds; timeout_seconds does not count for it.",
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
    """Runs a command in the sandbox and tells how it ended, or starts it in the background."""

    name: ClassVar[str] = "execute_command"
    description: ClassVar[str] = (
        "Run a bash command in a sandbox with the project as its directory, without network or input; give its exit "
        "code and its output. Processes it leaves behind end with it: what is to go on runs with background=true."
    )
    risk: ClassVar[Risk] = Risk.EXECUTE
    editable: ClassVar[tuple[str, ...]] = ("command",)
    most_characters: ClassVar[int | None] = 8_000
    arguments = ExecuteCommandArguments

    async def preview(self, arguments: ExecuteCommandArguments, context: ToolContext) -> Preview:
        """See `Tool.preview`. Limits that were asked for stand first, in brackets that no command can show.

        Raises:
            CallForbidden: policy refuses the command.
        """
        risk = _allowed(arguments.command)
        if arguments.background:
            _with_room(context)
        first, *rest = arguments.command.strip().split("\n")
        return Preview(
            title=f"{visible_line(first)} …" if rest else visible_line(first),
            detail=f"{_limits_shown(arguments)}{visible(arguments.command)}",
            kind="command",
            command=arguments.command,
            variant="background" if arguments.background else "",
            level=risk.level,
            reasons=risk.reasons,
            pattern=command_pattern(arguments.command),
        )

    async def run(self, arguments: ExecuteCommandArguments, context: ToolContext) -> ToolResult:
        """See `Tool.run`."""
        if arguments.background:
            return await _start(arguments, context)
        pieces = Pieces(context.emit, asyncio.get_running_loop())
        try:
            result = await context.sandbox.run(
                _bash(arguments.command),
                project=context.project,
                limits=_limits(arguments.timeout_seconds),
                on_output=pieces.add,
            )
        finally:
            pieces.close()
        output = plain(result.output).strip("\n") or "(no output)"
        return ToolResult(text=f"{_ending(result, arguments.timeout_seconds)}\n{output}", ok=result.exit_code == 0)


async def _start(arguments: ExecuteCommandArguments, context: ToolContext) -> ToolResult:
    started = await _with_room(context).start(
        _bash(arguments.command),
        project=context.project,
        limits=_limits(arguments.deadline_seconds),
        command=arguments.command,
        at_most=MOST_IN_BACKGROUND,
        lifeline=context.lifeline,
    )
    if started is None:
        raise _too_many(background_of(context))
    text = f"{told(started)}\nLook at it with command_output, and end it with stop_command: id {started.command_id}."
    return ToolResult(text=text)


def _with_room(context: ToolContext) -> Background:
    """The conversation's background commands, if one more may run; asked before any person is."""
    background = background_of(context)
    if sum(command.running for command in background.all()) >= MOST_IN_BACKGROUND:
        raise _too_many(background)
    return background


def _too_many(background: Background) -> ToolFailure:
    running = "\n".join(told(command) for command in background.all() if command.running)
    return ToolFailure(
        f"{MOST_IN_BACKGROUND} background commands run already, and there cannot be more. Stop one first:\n{running}"
    )


def _allowed(command: str) -> CommandRisk:
    """What the command may do.

    Raises:
        CallForbidden: it is plainly destructive.
    """
    risk = assess_command(command)
    if risk.level == "destructive":
        reasons = "; ".join(risk.reasons)
        raise CallForbidden(
            f"Policy refuses this command, and nobody can allow it: {reasons}. It was not run. {risk.advice}"
        )
    return risk


def _limits_shown(arguments: ExecuteCommandArguments) -> str:
    if arguments.background:
        return f"⟨in the background, for {arguments.deadline_seconds} s at most⟩\n"
    return f"⟨timeout {arguments.timeout_seconds} s⟩\n" if "timeout_seconds" in arguments.model_fields_set else ""


def _limits(seconds: int) -> CommandLimits:
    return CommandLimits(wall_seconds=float(seconds), cpu_seconds=_THREADS * seconds)


def _bash(command: str) -> list[str]:
    return ["/bin/bash", "-c", command]


def _ending(result: CommandResult, seconds: int) -> str:
    if result.exit_code is None:
        return f"timed out after {seconds} s; the command and all its processes were ended"
    return f"exit code {result.exit_code}{_signal_name(result.exit_code - 128)}"


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
