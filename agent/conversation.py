"""One agent history, folded from its ledger: the same fold serves a running session and one rebuilt after a crash."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from agent.errors import LedgerCorrupt
from agent.events import Decision
from agent.ledger import Entry
from agent.limits import estimate_tokens
from agent.model import Message, ToolCall
from agent.policy import CommandForm, Grant
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
        """About how many tokens the messages have; once a vendor counted a request, its tools are among them."""
        self.counted = False
        """Whether a vendor counted, so that `tokens` holds the tools as well."""
        self.mode: str = ""
        """The mode that the model was told of last; empty for the usual one."""
        self.grants: list[Grant] = []
        """Standing answers that were given in this conversation."""
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
            "answer_continued": self._continue_answer,
            "mode_told": self._tell_mode,
            "task_closed": self._close_task,
            "approval_asked": self._ask,
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

    @property
    def was_cut(self) -> bool:
        """Whether the last reply ended at the length limit: its calls never run."""
        return self.ending == "length"

    @property
    def can_continue(self) -> bool:
        """Whether the answer was cut and may be gone on with."""
        pieces = self.task.pieces if self.task else []
        return self.was_cut and self.answer is not None and len(pieces) <= MOST_CONTINUATIONS

    def was_started(self, call_id: str) -> bool:
        """Whether the intent to run this call is on record: it may have happened."""
        return call_id in self._started

    def apply(self, entry: Entry) -> None:
        """Fold one entry in.

        Entries of an unknown kind carry nothing that the model sees, and are passed over.

        Raises:
            LedgerCorrupt: the entry does not fit to those before it.
        """
        self._count_time(entry)
        if fold := self._folds.get(entry.kind):
            fold(entry.data)

    def _say(self, message: Message) -> None:
        self.messages.append(message)
        more = "".join(f"{part}" for part in (*message.blocks, *(call.arguments for call in message.tool_calls)))
        self.tokens += estimate_tokens(message.text + message.reasoning + more) + _MESSAGE_TOKENS

    def _count_time(self, entry: Entry) -> None:
        # Nobody works between two runs, nor while a person is asked.
        if self.task and self._last_at and not self._waiting_since_ask and entry.kind != "run_begun":
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
        task = self._current("a reply")
        task.charge(data["usage"], data.get("cost"), data.get("currency"))
        task.take_reply(text, calls, cut=self.was_cut)
        self._count_tokens(data["usage"])
        if not calls:
            self.answer = "".join(task.pieces)

    def _count_tokens(self, usage: dict[str, Any]) -> None:
        """Go on from what the vendor counted, where it did."""
        if not usage["estimated"]:
            self.tokens, self.counted = usage["prompt_tokens"] + usage["completion_tokens"], True

    def _continue_answer(self, _data: dict[str, Any]) -> None:
        self.answer = None
        self._say(Message(role="user", text=CONTINUE))

    def _tell_mode(self, data: dict[str, Any]) -> None:
        self.mode = data["mode"]
        self._say(Message(role="user", text=data["text"]))

    def _abandon_reply(self, data: dict[str, Any]) -> None:
        """Charge a reply that was not taken into the history."""
        task = self._current("a reply")
        task.charge(data["usage"], data.get("cost"), data.get("currency"))
        task.abandon_reply(data["why"])

    def _close_task(self, data: dict[str, Any]) -> None:
        self._say(Message(role="assistant", text=data["text"]))
        self.answer, self.ending = data["text"], ""
        task = self._current("a report")
        task.partly = True
        if "usage" in data:
            task.charge(data["usage"], data.get("cost"), data.get("currency"))

    def _start_call(self, data: dict[str, Any]) -> None:
        call = self._open_call(data["call_id"])
        self._started.add(call.id)
        permissions = self._current("a call").permissions
        form = CommandForm(**{name: data.get(name, "") for name in ("pattern", "command", "variant")})
        if grant := permissions.start(call.id, call.name, form):
            self.grants.append(grant)

    def _finish_call(self, data: dict[str, Any]) -> None:
        call = self._open_call(data["call_id"])
        del self._open[call.id]
        self._started.discard(call.id)
        self._say(Message(role="tool", text=data["text"], call_id=call.id, tool=call.name))
        self.seen.update(data.get("seen", {}))
        self._current("a call").finish_call(call, data, last=not self._open)

    def _finish_task(self, data: dict[str, Any]) -> None:
        if data["outcome"] == "stopped" and self.answer is None:
            self._say(Message(role="assistant", text=STOPPED))
        elif data["outcome"] == "failed":
            self._say(Message(role="assistant", text=FAILED))
        self.task = self.answer = None

    def _ask(self, data: dict[str, Any]) -> None:
        if "arguments" in data and self.task:
            self.task.permissions.shown[data["call_id"]] = data["arguments"]

    def _decide(self, data: dict[str, Any]) -> None:
        until = datetime.fromisoformat(data["until"]) if data.get("until") else None
        said: dict[str, Any] = {**data, "until": until}
        decision = Decision(**said)
        # An answer may come when its task was stopped already: then it answers nothing.
        if self.task and decision.call_id in self._open:
            self.task.permissions.record(decision)

    def _current(self, what: str) -> Task:
        if self.task is None:
            raise LedgerCorrupt(f"{what} belongs to no task")
        return self.task

    def _open_call(self, call_id: str) -> ToolCall:
        call = self._open.get(call_id)
        if call is None:
            raise LedgerCorrupt(f"the call {call_id!r} is not open")
        return call
