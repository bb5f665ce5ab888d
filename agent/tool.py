"""PORT: something the agent can do.

Above: `agent.session` validates the arguments, asks the policy and a person, then runs the tool. Below:
`agent/tools/`, one file for a family of tools.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from agent.model import ToolSchema
from agent.project import Project
from agent.sandbox import Sandbox


class Risk(StrEnum):
    """What a call can do: `read` changes nothing, `write` changes files of the project, `execute` runs a program."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"


class ToolArguments(BaseModel):
    """Base of every tool's arguments: unknown names are refused, so that a model's slip is told and not swallowed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """Lines added to and removed from one file; `path` is its real place, as `visible_path` writes it."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a call would do, as a person is shown it before it runs.

    `pre_image` is a digest of the place and the present state of every file the call touches; an approval holds only
    while it stays. Texts are as `agent.visible` writes them: what is shown is what is there.
    """

    title: str
    """One line: the path, or how the command begins."""
    detail: str = ""
    """All of it: a unified diff, or the command."""
    kind: Literal["diff", "command", "text"] = "text"
    command: str = ""
    """What a shell would be given, exactly; empty for a call that runs none."""
    level: Literal["read", "write", "network", "destructive"] | None = None
    """For a command: what it may do, as `agent.policy.assess_command` reads it."""
    reasons: tuple[str, ...] = ()
    """Why the level is what it is, for the person who decides."""
    variant: str = ""
    """How the command runs, where that is not the usual way, such as `background`."""
    pattern: str = ""
    """For a command: the wider form that may be allowed for longer, such as `pytest *`; empty when there is none."""
    whole: bool = True
    """False when `detail` was too long to be given whole; its last line then says how much is missing."""
    pre_image: str = ""
    changes: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFile:
    """What the model knows of a file: its real place, and SHA-256 in hex over the bytes it was shown or wrote."""

    path: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a call gave: text for the model, whether it worked, which files it changed, and which it now knows.

    `alarm` is what whoever runs this must mend, when that is why it did not work.
    """

    text: str
    ok: bool = True
    changes: tuple[FileChange, ...] = ()
    seen: tuple[SeenFile, ...] = ()
    mark: str = ""
    """What stands for the result when it is compared with others; empty as a tool gives it."""
    alarm: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What tools work with: the project's files and its sandbox, and what the conversation knows."""

    project: Project
    sandbox: Sandbox
    seen: Mapping[str, str] = field(default_factory=dict[str, str])
    """Real place of a file -> digest of what the model last saw of it (`SeenFile`)."""
    unattended: bool = False
    """Whether changes of files run without a person seeing them."""
    emit: Callable[[str], None] = lambda _text: None
    """Takes what a running call prints, as it comes, for whoever watches."""
    background: Path | None = None
    """A private directory, outside of the project, that keeps the conversation's background commands; none without."""
    lifeline: int | None = None
    """A process whose end is the end of all background commands; without one they may outlive everything but their
    deadline."""


ArgumentsT = TypeVar("ArgumentsT", bound=ToolArguments)


class Tool(ABC, Generic[ArgumentsT]):
    """One tool. Subclasses set the class variables and hold no state of a conversation."""

    name: ClassVar[str]
    description: ClassVar[str]
    risk: ClassVar[Risk]
    parallel_safe: ClassVar[bool] = False
    """Whether calls may run beside each other; only for tools that only look."""
    acts: ClassVar[bool] = False
    """Whether a call has an effect although nobody needs to be asked, as ending what the conversation began."""
    editable: ClassVar[tuple[str, ...]] = ()
    """Arguments that a person may change before allowing a call; they are texts."""
    most_characters: ClassVar[int | None] = 32_000
    """A longer result goes to a file of the project, and its head and tail to the model; None never does."""
    arguments: type[ArgumentsT]

    @abstractmethod
    async def preview(self, arguments: ArgumentsT, context: ToolContext) -> Preview:
        """Tell what the call would do, without doing it.

        Raises:
            ToolFailure, ProjectError: the call could not work; the text tells the model how to mend it.
        """

    @abstractmethod
    async def run(self, arguments: ArgumentsT, context: ToolContext) -> ToolResult:
        """Do it.

        Raises:
            ToolFailure, ProjectError: it did not work, and nothing was changed.
            SandboxUnavailable: no sandbox, so nothing was run.
        """

    def schema(self) -> ToolSchema:
        """What the model is told of this tool."""
        parameters = _parameters(self.arguments)
        return ToolSchema(name=self.name, description=self.description, parameters=parameters)


@cache
def _parameters(arguments: type[ToolArguments]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments. Kept, since making it costs more than a whole step of the loop."""
    parameters = arguments.model_json_schema()
    parameters.pop("title", None)
    for entry in parameters.get("properties", {}).values():
        entry.pop("title", None)
    return parameters
