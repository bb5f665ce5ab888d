"""One agent history, folded from its ledger: the same fold serves a running session and one rebuilt after a crash."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from agent.events import Decision, TaskReport
from agent.ledger import Entry
from agent.model import Message, ToolCall, Usage
from agent.policy import Permissions
from agent.tool import FileChange

STOPPED = "The person stopped this task before it was finished. I leave it unless I am asked to go on."
"""What the history says of a stopped task, so that the next message does not set it going again."""

NO_USAGE = Usage(prompt_tokens=0, completion_tokens=0)


@dataclass(slots=True)
class Task:
    """What one request of a person has come to so far, over all its runs."""

    task_id: str
    steps: int = 0
    usage: Usage = NO_USAGE
    worked: timedelta = timedelta()
    permissions: Permissions = field(default_factory=Permissions)
    changes: dict[str, FileChange] = field(default_factory=dict[str, FileChange])

    def report(self) -> TaskReport:
        """What it took, with the time spent waiting for a person left out."""
        return TaskReport(
            steps=self.steps,
            changes=tuple(self.changes.values()),
            usage=self.usage,
            seconds=self.worked.total_seconds(),
        )


class Conversation:
    """The state that a ledger's entries amount to."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.messages: list[Message] = []
        self.message_ids: set[str] = set()
        self.call_ids: set[str] = set()
        self.task: Task | None = None
        self.answer: str | None = None
        """The final answer of the current task, until the task is finished."""
        self._open: dict[str, ToolCall] = {}
        self._started: set[str] = set()
        self._waiting_since_ask = False
        self._last_at: datetime | None = None
        for entry in entries:
            self.apply(entry)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last reply that have no result yet, in the order they were asked for."""
        return tuple(self._open.values())

    @property
    def awaits_reply(self) -> bool:
        """Whether the model has something to answer."""
        return self.task is not None and self.answer is None

    def was_started(self, call_id: str) -> bool:
        """Whether the intent to run this call is on record: it may have happened."""
        return call_id in self._started

    def apply(self, entry: Entry) -> None:
        """Fold one entry in.

        Entries of an unknown kind carry nothing that the model sees, and are passed over.
        """
        self._count_time(entry)
        match entry.kind:
            case "conversation_started":
                self.messages.append(Message(role="system", text=entry.data["system"]))
            case "message_taken":
                self._take_message(entry.data)
            case "reply_received":
                self._receive_reply(entry.data)
            case "call_started":
                self._start_call(entry.data["call_id"])
            case "call_finished":
                self._finish_call(entry.data)
            case "approval_decided":
                self._decide(entry.data)
            case "task_finished":
                self._finish_task(entry.data)
            case _:
                pass

    def _count_time(self, entry: Entry) -> None:
        if self.task and self._last_at and not self._waiting_since_ask:
            self.task.worked += entry.at - self._last_at
        self._last_at = entry.at
        self._waiting_since_ask = entry.kind == "approval_asked"

    def _take_message(self, data: dict[str, Any]) -> None:
        self.message_ids.add(data["message_id"])
        self.messages.append(Message(role="user", text=data["text"]))
        if self.task is None:
            self.task = Task(task_id=data["task_id"])

    def _receive_reply(self, data: dict[str, Any]) -> None:
        calls = tuple(ToolCall(**call) for call in data["calls"])
        self.messages.append(
            Message(role="assistant", text=data["text"], reasoning=data["reasoning"], tool_calls=calls)
        )
        self._open = {call.id: call for call in calls}
        self.call_ids.update(self._open)
        if not calls:
            self.answer = data["text"]
        if self.task:
            self.task.steps += 1
            self.task.usage = _add(self.task.usage, Usage(**data["usage"]))

    def _start_call(self, call_id: str) -> None:
        self._started.add(call_id)
        if self.task and call_id in self._open:
            self.task.permissions.start(call_id, self._open[call_id].name)

    def _finish_call(self, data: dict[str, Any]) -> None:
        call = self._open.pop(data["call_id"])
        self._started.discard(call.id)
        self.messages.append(Message(role="tool", text=data["text"], call_id=call.id, tool=call.name))
        if self.task:
            for change in data["changes"]:
                _merge(self.task.changes, FileChange(**change))

    def _finish_task(self, data: dict[str, Any]) -> None:
        if data["outcome"] == "stopped":
            self.messages.append(Message(role="assistant", text=STOPPED))
        self.task = self.answer = None

    def _decide(self, data: dict[str, Any]) -> None:
        decision = Decision(**data)
        if self.task and decision.call_id in self._open:
            self.task.permissions.record(decision)


def _add(one: Usage, other: Usage) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        estimated=one.estimated or other.estimated,
    )


def _merge(changes: dict[str, FileChange], change: FileChange) -> None:
    before = changes.get(change.path, FileChange(path=change.path, added=0, removed=0))
    changes[change.path] = FileChange(
        path=change.path, added=before.added + change.added, removed=before.removed + change.removed
    )
