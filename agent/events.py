"""What a session tells while it works; frozen, in the past tense, and the same for every listener."""

from dataclasses import dataclass
from typing import Literal

from agent.model import ToolCall, Usage
from agent.tool import FileChange, Preview, Risk

Scope = Literal["once", "task", "deny"]


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
    """A tool call is about to run; its intent is already on disk."""

    call: ToolCall
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A tool call was answered, by its result, a refusal or an error; the answer is already on disk."""

    call: ToolCall
    title: str
    ok: bool
    changes: tuple[FileChange, ...] = ()
    alarm: str = ""
    """What whoever runs this must mend, such as a sandbox that cannot start."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What a finished task did, counted over all its runs."""

    steps: int
    changes: tuple[FileChange, ...]
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The final answer of the task."""

    task_id: str
    text: str
    report: TaskReport


Event = StepStarted | TextStreamed | MessageTaken | CallStarted | CallFinished | ApprovalNeeded | Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An answer to one `ApprovalNeeded`: once, for the rest of the task, or no, with an optional reason.

    `by` names the person; it is empty when the question ended without an answer, which is a no.
    """

    call_id: str
    digest: str
    scope: Scope
    by: str
    reason: str = ""
