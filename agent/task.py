"""What one request of a person has come to so far, over all its runs; folded from the ledger with its conversation."""

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from agent.closing import Valve, ValveKind
from agent.events import TaskReport
from agent.model import ToolCall, Usage
from agent.policy import Permissions
from agent.provider import Currency
from agent.restrictions import Restrictions, restrictions_in
from agent.runaway import CallOutcome, Reason, RunawayGuard
from agent.tool import FileChange

NO_USAGE = Usage(prompt_tokens=0, completion_tokens=0)
MOST_CONTINUATIONS = 3
"""How often an answer that was cut at the length limit is continued."""
MOST_MISFIRES = 3
"""So many replies in a row whose calls could not be read end the task."""


@dataclass(slots=True)
class Task:
    """One request at work."""

    task_id: str
    steps: int = 0
    usage: Usage = NO_USAGE
    cost: Decimal | None = Decimal(0)
    """None as soon as a price was unknown."""
    currency: Currency | None = None
    worked: timedelta = timedelta()
    permissions: Permissions = field(default_factory=Permissions)
    changes: dict[str, FileChange] = field(default_factory=dict[str, FileChange])
    restrictions: Restrictions = field(default_factory=Restrictions)
    reminder: Reason | None = None
    """What the next request must remind the model of."""
    valve: Valve | None = None
    """Why the task must be closed now."""
    partly: bool = False
    pieces: list[str] = field(default_factory=list[str])
    """Parts of an answer that was cut at the length limit."""
    calls_done: int = 0
    calls_failed: int = 0
    _guard: RunawayGuard = field(default_factory=RunawayGuard)
    _step: list[CallOutcome] = field(default_factory=list[CallOutcome])
    _misfires: int = 0
    _has_message: bool = False

    def report(self) -> TaskReport:
        """What it took, with the time spent waiting for a person left out."""
        return TaskReport(
            steps=self.steps,
            changes=tuple(self.changes.values()),
            usage=self.usage,
            seconds=self.worked.total_seconds(),
            cost=self.cost if self.currency else None,
            currency=self.currency,
        )

    def take_message(self, text: str) -> None:
        """Take what a person said: it may forbid more, it settles what to ask first, and no circle goes through it."""
        said, before = restrictions_in(text), self.restrictions
        # A title beside a request is part of it; only a task of nothing but titles has none.
        ask_first = said.ask_first and (before.ask_first or not self._has_message)
        self.restrictions = Restrictions(no_network=said.no_network or before.no_network, ask_first=ask_first)
        self._has_message = True
        self.reminder = self.valve = None
        self.pieces.clear()
        self._misfires = 0
        self._guard.reset()

    def take_reply(self, text: str, calls: tuple[ToolCall, ...], *, cut: bool) -> None:
        """Count one reply of the model."""
        self.steps += 1
        self.reminder = None
        self._step = []
        if not calls:
            self.pieces.append(text)
            return
        self.pieces.clear()
        self._misfires = self._misfires + 1 if cut or any(call.malformed is not None for call in calls) else 0
        if self._misfires >= MOST_MISFIRES:
            self.valve = Valve(kind="malformed", count=self._misfires)
        if text.strip():
            self._heed(self._guard.observe_text(text))

    def abandon_reply(self, why: ValveKind | None) -> None:
        """Count a reply that did not get into the history; one that was cut off on purpose ends the task."""
        self.steps += 1
        self.valve = Valve(kind=why) if why else None

    def charge(self, usage: dict[str, Any], cost: str | None, currency: Currency | None) -> None:
        """Add what a model call took; a call of unknown price makes the whole unknown."""
        self.usage = _sum(self.usage, Usage(**usage))
        known = cost is not None and self.currency in {None, currency}
        self.cost = self.cost + Decimal(cost) if known and cost is not None and self.cost is not None else None
        self.currency = currency or self.currency

    def finish_call(self, call: ToolCall, data: dict[str, Any], *, last: bool) -> None:
        """Take a call's result; the last one of a step shows whether the task goes round in circles."""
        for change in data["changes"]:
            self._merge(FileChange(**change))
        self.calls_done += data["ok"]
        self.calls_failed += not data["ok"]
        arguments = call.arguments if call.malformed is None else call.malformed
        result = data.get("mark") or data["text"]
        outcome = CallOutcome(call.name, arguments, result, data["ok"], data.get("refused", False))
        self._step.append(outcome)
        if last:
            self._heed(self._guard.observe(self._step))
            self._step = []

    def _heed(self, verdict: str) -> None:
        reason = self._guard.reason
        if verdict == "remind":
            self.reminder = reason
        elif reason is not None:
            self.valve = Valve(kind=reason.kind, subject=reason.tool, count=reason.count)

    def _merge(self, change: FileChange) -> None:
        before = self.changes.get(change.path, FileChange(path=change.path, added=0, removed=0))
        self.changes[change.path] = FileChange(
            path=change.path, added=before.added + change.added, removed=before.removed + change.removed
        )


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens + other.prompt_tokens,
        completion_tokens=one.completion_tokens + other.completion_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
        written_tokens=one.written_tokens + other.written_tokens,
        estimated=one.estimated or other.estimated,
    )
