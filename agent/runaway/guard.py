"""The guard against a task that goes round in circles: one reminder, then an end.

Above: whoever folds the steps of a task, telling each step once its calls are answered, and each reply's text. It
forbids nothing itself; it says `go`, `remind` or `stop`, and why.
"""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, TypeVar

from agent.model import JsonObject
from agent.runaway.chanting import ChantWatch
from agent.runaway.error_family import error_family
from agent.runaway.fingerprint import action_fingerprint, text_fingerprint

Outcome = Literal["go", "remind", "stop"]
ReasonKind = Literal["repeated", "errors", "cycle", "monologue", "chanting", "refused"]
CYCLE_LENGTHS = (2, 3)
_LEAST_REMIND = 3

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One answered call. `arguments` may be the raw JSON text; `refused` is one that policy or a person kept back."""

    tool: str
    arguments: JsonObject | str
    result: str
    ok: bool
    refused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why the guard spoke: what was seen how often, of which tools, and for errors of which family."""

    kind: ReasonKind
    count: int
    tool: str = ""
    family: str = ""


@dataclass(frozen=True, slots=True)
class _Action:
    """A call as far as it counts as the same one."""

    tool: str
    fingerprint: bytes
    refused: bool


_Step = frozenset[_Action]


class RunawayGuard:
    """Watches one task; a message of the person begins it anew (`reset`).

    It reminds, once: of the same action with the same result `remind_after` times in steps that follow each other,
    whatever else these hold, several in one step adding up; of one tool failing alike in as many steps in a row; of a
    cycle of two or three steps seen as often; of the same text as often. It stops: at the same step, as a set of
    actions, `stop_after` times in a row; at a cycle seen as often; at the same text as often with no call in between;
    at a chant. Failing alike alone stops nothing. Refused calls bring no reminder, yet they stop. A step is all calls
    of one reply. A changing result is no repetition, but volatile parts of it do not count as a change. What a refused
    call was told is no result.
    """

    def __init__(self, remind_after: int = 3, stop_after: int = 5) -> None:
        """Set the two numbers.

        Raises:
            ValueError: a reminder after fewer than three, or a stop that leaves no time after the reminder.
        """
        if remind_after < _LEAST_REMIND:
            raise ValueError(f"remind_after is {remind_after}, and must be at least {_LEAST_REMIND}")
        if stop_after <= remind_after:
            raise ValueError(f"stop_after is {stop_after}, and must be greater than remind_after, {remind_after}")
        self._remind_after = remind_after
        self._stop_after = stop_after
        self.reset()

    def reset(self) -> None:
        """Begin anew: a person said something, so nothing seen so far counts, and there may be a reminder again."""
        kept = max(CYCLE_LENGTHS) * self._stop_after
        self._steps: deque[_Step] = deque(maxlen=kept)
        self._counted_steps: deque[_Step] = deque(maxlen=kept)
        self._actions: Counter[_Action] = Counter()
        self._errors: Counter[tuple[str, str]] = Counter()
        self._text = b""
        self._text_count = 0
        self._text_count_alone = 0
        self._chant = ChantWatch()
        self._reminded = False
        self._reason: Reason | None = None

    @property
    def reason(self) -> Reason | None:
        """Why the last verdict was not `go`; None if it was."""
        return self._reason

    def observe(self, step: Sequence[CallOutcome]) -> Outcome:
        """Take all calls of one reply, with their results. A step without any call breaks every row."""
        if step:
            self._text_count_alone = 0
        self._chant = ChantWatch()
        actions = [_action(outcome) for outcome in step]
        self._steps.append(frozenset(actions))
        counted = [action for action in actions if not action.refused]
        self._counted_steps.append(frozenset(counted))
        self._actions = _added_to(self._actions, Counter(counted))
        self._errors = _added_to(self._errors, Counter(_families(step)))
        return self._judge(stop=self._why_stop(), remind=self._why_remind())

    def observe_text(self, text: str) -> Outcome:
        """Take the text of a reply, or a piece of it: pieces with no step between them are heard as one stream.

        Each call counts as one saying for the same text again; a stream in small pieces is better heard by a
        `ChantWatch`. Blank text is passed over.
        """
        if self._chant.feed(text):
            self._chant = ChantWatch()
            return self._judge(stop=Reason(kind="chanting", count=1), remind=None)
        if not text.strip():
            return self._judge(stop=None, remind=None)
        fingerprint = text_fingerprint(text)
        if fingerprint != self._text:
            self._text, self._text_count, self._text_count_alone = fingerprint, 0, 0
        self._text_count += 1
        self._text_count_alone += 1
        stops = self._text_count_alone >= self._stop_after
        reminds = self._text_count >= self._remind_after
        reason = Reason(kind="monologue", count=self._text_count)
        return self._judge(stop=reason if stops else None, remind=reason if reminds else None)

    def _judge(self, *, stop: Reason | None, remind: Reason | None) -> Outcome:
        self._reason = stop or (None if self._reminded else remind)
        if stop is not None:
            return "stop"
        if self._reason is None:
            return "go"
        self._reminded = True
        return "remind"

    def _why_stop(self) -> Reason | None:
        if (count := _times_seen(self._steps, 1)) >= self._stop_after:
            step = self._steps[-1]
            kind = "refused" if all(action.refused for action in step) else "repeated"
            return Reason(kind=kind, count=count, tool=_tools(step))
        return _cycle(self._steps, self._stop_after)

    def _why_remind(self) -> Reason | None:
        for (tool, family), count in self._errors.items():
            if count >= self._remind_after:
                return Reason(kind="errors", count=count, tool=tool, family=family)
        for action, count in self._actions.items():
            if count >= self._remind_after:
                return Reason(kind="repeated", count=count, tool=action.tool)
        return _cycle(self._counted_steps, self._remind_after)


def _action(outcome: CallOutcome) -> _Action:
    result = "" if outcome.refused else outcome.result
    fingerprint = action_fingerprint(outcome.tool, outcome.arguments, result)
    return _Action(outcome.tool, fingerprint, outcome.refused)


def _families(step: Sequence[CallOutcome]) -> set[tuple[str, str]]:
    """Which tools failed in which way; a step counts once, so that looking for three missing files at once is one."""
    return {(call.tool, error_family(call.result)) for call in step if not call.ok and not call.refused}


def _added_to(row: Counter[_Key], step: Counter[_Key]) -> Counter[_Key]:
    """The counts with one more step; what is not in the step has broken its row."""
    return Counter({key: row[key] + count for key, count in step.items()})


def _cycle(steps: Sequence[_Step], least: int) -> Reason | None:
    for length in CYCLE_LENGTHS:
        if (count := _times_seen(steps, length)) >= least:
            actions = [action for step in list(steps)[-length:] for action in step]
            return Reason(kind="cycle", count=count, tool=_tools(actions))
    return None


def _times_seen(steps: Sequence[_Step], length: int) -> int:
    """How often the last `length` steps have come, one time right after the other.

    Steps without a call are no cycle, and neither is one step again and again, which is a matter of its own.
    """
    cycle = list(steps)[-length:]
    if len(cycle) < length or not all(cycle) or (length > 1 and len(set(cycle)) == 1):
        return 0
    alike = takewhile(lambda pair: pair[1] == cycle[-1 - pair[0] % length], enumerate(reversed(steps)))
    return sum(1 for _ in alike) // length


def _tools(actions: Iterable[_Action]) -> str:
    return ", ".join(sorted({action.tool for action in actions}))
