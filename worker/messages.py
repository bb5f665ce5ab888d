"""DOOR: the records that pass between the gateway and the worker, as JSON in Redis.

Texts that Paigate itself says are not here: a record carries a key and its values, and the gateway words it in the
person's language.
"""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Language = Literal["zh", "en"]
Scope = Literal["once", "task", "project", "deny"]
Mode = Literal["plan", "ask", "edits", "auto"]
Level = Literal["read", "write", "network", "destructive"]
ApprovalState = Literal["pending", "approved", "denied", "expired", "withdrawn"]


class Record(BaseModel):
    """A frozen record; unknown fields are refused, so that a newer writer is noticed and not half understood."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Address(Record):
    """A place to talk. A thread or topic is its own chat."""

    platform: str
    chat_id: str
    thread_id: str = ""

    @property
    def key(self) -> str:
        """The address as one string, for Redis keys."""
        return f"{self.platform}:{self.chat_id}:{self.thread_id}"


class Sender(Record):
    """A platform user, as the platform names them; without a name where a platform has one person only."""

    platform: str
    user_id: str
    name: str = ""


class Inbound(Record):
    """One message of a person. `message_id` is the platform's, unique within the chat."""

    message_id: str
    address: Address
    sender: Sender
    text: str
    sent_at: datetime
    language: Language


class FileChange(Record):
    """Lines added to and removed from one file."""

    path: str
    added: int
    removed: int


class CallLine(Record):
    """One line of the live progress: a tool call and how it stands."""

    tool: str
    title: str
    state: Literal["running", "done", "failed", "waiting"]


class Progress(Record):
    """A live message of a task, until its next card or its end; a newer state replaces it in place."""

    kind: Literal["progress"] = "progress"
    task_id: str
    state: Literal["thinking", "working", "waiting", "finished", "partly", "stopped", "failed"]
    step: int = 0
    calls: tuple[CallLine, ...] = ()
    text_tail: str = ""
    started_at: datetime
    seconds: float = 0.0


class ApprovalCard(Record):
    """The question "may this exact call run?", and later its outcome, in the same place."""

    kind: Literal["approval"] = "approval"
    approval_id: str
    tool: str
    risk: Literal["read", "write", "execute"]
    title: str
    detail: str
    detail_kind: Literal["diff", "command", "text"]
    whole: bool = True
    """Whether `detail` is all there is to see."""
    level: Level | None = None
    """For a command: what it may do."""
    reasons: tuple[str, ...] = ()
    """Why it has that level."""
    pattern: str = ""
    """For a command: which commands an answer for longer allows; empty when it allows this very command only."""
    project: str = ""
    grant_until: datetime | None = None
    """Until when an answer for the project would hold; without it that answer is not offered."""
    editable: dict[str, str] = {}
    """Arguments that the person may change before allowing the call, by name."""
    changes: tuple[FileChange, ...] = ()
    stale: bool = False
    expires_at: datetime
    state: ApprovalState = "pending"
    scope: Scope | None = None
    decided_by: str = ""
    decided_at: datetime | None = None
    reason: str = ""
    edited: bool = False
    """Whether the call was allowed with changed arguments."""
    edited_text: str = ""
    """What they were changed to: the beginning of it, as one line."""


class Answer(Record):
    """The final answer of a task, in Markdown, with what it took."""

    kind: Literal["answer"] = "answer"
    task_id: str
    markdown: str
    steps: int
    seconds: float
    changes: tuple[FileChange, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    demo: bool = False
    partly: bool = False
    cost: str = ""
    """What the model calls cost, with its currency, as in `0.12 CNY`; empty when it is unknown."""


class Notice(Record):
    """Something Paigate itself says: a key of the gateway's catalogue and the values to put in."""

    kind: Literal["notice"] = "notice"
    key: str
    values: dict[str, str] = {}


class FileOut(Record):
    """A file for the person; its bytes lie in Redis under `blob` until they are delivered or expire."""

    kind: Literal["file"] = "file"
    name: str
    size: int
    blob: str


Content = Annotated[Progress | ApprovalCard | Answer | Notice | FileOut, Field(discriminator="kind")]


class OutboxEntry(Record):
    """One thing to say in a chat, in order.

    `entry_id` is given by the writer, so that writing it again changes nothing. Entries with the same `slot` are the
    same chat message: a newer one replaces a waiting one in its place, or edits the one that was sent.
    """

    entry_id: str
    conversation_id: str
    address: Address
    language: Language
    content: Content
    slot: str = ""


class Approval(Record):
    """A pending or decided approval. Only `requester_id` (a person) may decide it."""

    approval_id: str
    conversation_id: str
    address: Address
    language: Language
    task_id: str
    call_id: str
    digest: str
    requester_id: str
    command: str = ""
    """For a command: what a shell is given, exactly."""
    card: ApprovalCard


class StandingGrant(Record):
    """A yes that holds in a project until a date: for a tool, and of commands for a pattern or one very command."""

    tool: str
    pattern: str = ""
    command: str = ""
    variant: str = ""
    until: datetime
    by: str
    at: datetime


class Decided(Record):
    """What a tap or a typed answer came to, and the approval as it stands now."""

    outcome: Literal["decided", "already", "expired", "unknown", "foreign"]
    approval: Approval | None = None


class Accepted(Record):
    """What became of a message: a turn was woken, it joined a running one, or it waits for a decision."""

    outcome: Literal["started", "joined", "parked", "duplicate"]
    conversation_id: str
    waiting: int = 0


class Errand(Record):
    """Something a person asked for that needs the project: a file of it, or the end of its background commands."""

    kind: Literal["file", "end_background"] = "file"
    path: str = ""
    asked_at: datetime


class Status(Record):
    """How a chat's conversation stands, for /status."""

    conversation_id: str
    project: str
    state: Literal["idle", "queued", "running", "parked"]
    waiting: int
    mode: Mode = "ask"
    approvals: tuple[ApprovalCard, ...] = ()
