"""One agent history, folded from its ledger: the same fold serves a running session and one rebuilt after a crash."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from agent.events import Decision
from agent.ledger import Entry
from agent.limits import estimate_tokens
from agent.model import Message, ToolCall
from agent.task import MOST_CONTINUATIONS, Task

STOPPED = "The person stopped this task before it was finished. I leave it unless I am asked to go on."
"""What the history says of a stopped task, so that the next message does not set it going again."""

FAILED = "This task ended with a technical error before I could answer."
"""What the history says of a task that an error ended, so that no message of a person follows another unanswered."""

CONTINUE = "Your answer was cut at the length limit. Go on exactly where it stopped, without repeating anything."

_MESSAGE_TOKENS = 4


class Conversation:
    """The state that a ledger's entries amount to."""

    def __init__(self, entries: Sequence[Entry] = ()) -> None:
        self.messages: list[Message] = []
        self.message_ids: set[str] = set()
        self.call_ids: set[str] = set()
        self.seen: dict[str, str] = {}
        """What the model last saw of each file: its real place, and the digest of its bytes."""
        self.tokens = 0
        """About how many tokens the messages have."""
        self.task: Task | None = None
        self.answer: str | None = None
        """The final answer of the current task, until the task is finished."""
        self.ending = ""
        """Why the last reply ended, in the vendor's word."""
        self._open: dict[str, ToolCall] = {}
        self._started: set[str] = set()
        self._waiting_since_ask = False
        self._last_at: datetime | None = None
        self._folds: dict[str, Callable[[dict[str, Any]], None]] = {
            "conversation_started": self._start,
            "message_taken": self._take_message,
            "reply_received": self._receive_reply,
            "reply_abandoned": self._abandon_reply,
            "task_closed": self._close_task,
            "call_started": self._start_call,
            "call_finished": self._finish_call,
            "approval_decided": self._decide,
            "task_finished": self._finish_task,
        }
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

    def seconds_worked(self, now: datetime) -> float:
        """How long the task has been at work until `now`, without the time it waited for a person."""
        if self.task is None:
            return 0.0
        since = now - self._last_at if self._last_at and not self._waiting_since_ask else timedelta()
        return (self.task.worked + since).total_seconds()

    def was_started(self, call_id: str) -> bool:
        """Whether the intent to run this call is on record: it may have happened."""
        return call_id in self._started

    def apply(self, entry: Entry) -> None:
        """Fold one entry in.

        Entries of an unknown kind carry nothing that the model sees, and are passed over.
        """
        self._count_time(entry)
        if fold := self._folds.get(entry.kind):
            fold(entry.data)

    def _say(self, message: Message) -> None:
        self.messages.append(message)
        arguments = sum(len(str(call.arguments)) for call in message.tool_calls) // 4
        self.tokens += estimate_tokens(message.text) + arguments + _MESSAGE_TOKENS

    def _count_time(self, entry: Entry) -> None:
        if self.task and self._last_at and not self._waiting_since_ask:
            self.task.worked += entry.at - self._last_at
        self._last_at = entry.at
        self._waiting_since_ask = entry.kind == "approval_asked"

    def _start(self, data: dict[str, Any]) -> None:
        self._say(Message(role="system", text=data["system"]))

    def _take_message(self, data: dict[str, Any]) -> None:
        self.message_ids.add(data["message_id"])
        self._say(Message(role="user", text=data["text"]))
        if self.task is None:
            self.task = Task(task_id=data["task_id"])
        self.task.take_message(data["text"])

    def _receive_reply(self, data: dict[str, Any]) -> None:
        calls = tuple(ToolCall(**call) for call in data["calls"])
        text = data["text"]
        blocks = tuple(data.get("blocks", ()))
        self._say(
            Message(
                role="assistant",
                text=text,
                reasoning=data["reasoning"],
                blocks=blocks,
                model=data.get("model", ""),
                tool_calls=calls,
            )
        )
        self._open = {call.id: call for call in calls}
        self.call_ids.update(self._open)
        self.ending = data["finish_reason"] or ""
        cut = self.ending == "length"
        if self.task:
            self.task.charge(data["usage"], data.get("cost"), data.get("currency"))
            self.task.take_reply(text, calls, cut=cut)
        if not calls:
            self._take_text(self.task, text, cut=cut)

    def _take_text(self, task: Task | None, text: str, *, cut: bool) -> None:
        """Take a reply without calls: the answer, unless it was cut and may be continued."""
        pieces = task.pieces if task else []
        pieces.append(text)
        if cut and len(pieces) <= MOST_CONTINUATIONS:
            self._say(Message(role="user", text=CONTINUE))
        else:
            self.answer = "".join(pieces)

    def _abandon_reply(self, data: dict[str, Any]) -> None:
        """Charge a reply that was not taken into the history."""
        if self.task:
            self.task.charge(data["usage"], data.get("cost"), data.get("currency"))
            self.task.abandon_reply(data["why"])

    def _close_task(self, data: dict[str, Any]) -> None:
        self._say(Message(role="assistant", text=data["text"]))
        self.answer, self.ending = data["text"], ""
        if self.task:
            self.task.partly = True
            if "usage" in data:
                self.task.charge(data["usage"], data.get("cost"), data.get("currency"))

    def _start_call(self, data: dict[str, Any]) -> None:
        call_id = data["call_id"]
        self._started.add(call_id)
        if self.task and call_id in self._open:
            pattern, command = data.get("pattern", ""), data.get("command", "")
            self.task.permissions.start(call_id, self._open[call_id].name, pattern=pattern, command=command)

    def _finish_call(self, data: dict[str, Any]) -> None:
        call = self._open.pop(data["call_id"])
        self._started.discard(call.id)
        self._say(Message(role="tool", text=data["text"], call_id=call.id, tool=call.name))
        self.seen.update(data.get("seen", {}))
        if self.task:
            self.task.finish_call(call, data, last=not self._open)

    def _finish_task(self, data: dict[str, Any]) -> None:
        if data["outcome"] == "stopped":
            self._say(Message(role="assistant", text=STOPPED))
        elif data["outcome"] == "failed":
            self._say(Message(role="assistant", text=FAILED))
        self.task = self.answer = None

    def _decide(self, data: dict[str, Any]) -> None:
        until = datetime.fromisoformat(data["until"]) if data.get("until") else None
        said: dict[str, Any] = {**data, "until": until}
        decision = Decision(**said)
        if self.task and decision.call_id in self._open:
            self.task.permissions.record(decision)
