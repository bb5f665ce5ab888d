"""What a session tells while it works; frozen, in the past tense, and the same for every listener."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from agent.model import JsonObject, ToolCall, Usage
from agent.provider import Currency
from agent.tool import FileChange, Preview, Risk

Scope = Literal["once", "task", "project", "deny"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """The model is being asked; `step` counts from 1 within the task."""

    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextStreamed:
    """A piece of the model's text arrived."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTaken:
    """A person's message joined the history."""

    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A tool call is about to run; the intent of one that does something is already on disk."""

    call: ToolCall
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPrinted:
    """A running call printed something: the latest of it, for whoever watches."""

    call: ToolCall
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A tool call was answered, by its result, a refusal or an error; that of one that did something is on disk."""

    call: ToolCall
    title: str
    ok: bool
    changes: tuple[FileChange, ...] = ()
    alarm: str = ""
    """What whoever runs this must mend, such as a sandbox that cannot start."""
    kept_back: str = ""
    """Why a call that a person had allowed did not run after all: policy or the mode stood against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeeded:
    """The session stops here: a person must say whether this exact call may run.

    `digest` is SHA-256 over tool, canonical arguments, project and the pre-image of touched files. `stale` tells that
    an earlier answer fell because the files changed since it was asked.
    """

    call: ToolCall
    preview: Preview
    risk: Risk
    digest: str
    stale: bool = False
    editable: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arguments that the person may change before allowing the call, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectGrant:
    """A person allowed something in this project until a date, and the call they were asked about fits it."""

    call_id: str
    tool: str
    pattern: str
    command: str
    variant: str
    until: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What a finished task did, counted over all its runs."""

    steps: int
    changes: tuple[FileChange, ...]
    usage: Usage
    seconds: float
    cost: Decimal | None = None
    """What the model calls cost; None when any price is unknown."""
    currency: Currency | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The final answer of the task; `partly` when a limit or the guard against going in circles ended it."""

    task_id: str
    text: str
    report: TaskReport
    partly: bool = False


Event = (
    ProjectGrant
    | StepStarted
    | TextStreamed
    | MessageTaken
    | CallStarted
    | CallPrinted
    | CallFinished
    | ApprovalNeeded
    | Answered
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An answer to one `ApprovalNeeded`.

    `scope` is once, for the rest of the task, in this project until `until`, or no, with an optional reason. `by` names
    the person; it is empty when the question ended without an answer, which is a no. `arguments` are those
    of the call's that the person changed; they stand in for the model's, once policy has looked at them.
    """

    call_id: str
    digest: str
    scope: Scope
    by: str
    reason: str = ""
    until: datetime | None = None
    arguments: JsonObject | None = None
