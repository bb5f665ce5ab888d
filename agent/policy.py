"""Which calls run, which ask a person first, and which are refused. A missing answer is a no."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Literal

from agent.commands import CommandRisk, assess_command, matches
from agent.events import Decision
from agent.model import JsonObject
from agent.restrictions import Restrictions
from agent.tool import Preview, Risk

__all__ = [
    "CommandForm",
    "CommandRisk",
    "Grant",
    "JudgedCall",
    "Judgement",
    "Mode",
    "Permissions",
    "Rules",
    "Verdict",
    "assess_command",
    "call_digest",
    "form_of",
]

Mode = Literal["plan", "ask", "edits", "auto"]
"""How much runs unasked in a conversation: only looking; that (the default); edits as well; all that stays inside."""

_PLAN = "Plan mode: nothing but looking runs now. Describe what you would do, and let the person change the mode."
_NO_NETWORK = "The person asked not to go online, and this call would. Work with what is here."
_ASK_FIRST = "The person sent only a title. Ask what they want done before anything is changed."


class Verdict(Enum):
    """What becomes of a call now."""

    RUN = auto()
    ASK = auto()
    ASK_AGAIN = auto()
    """An answer was given, but what it was given for has changed since."""
    ASK_CHANGED = auto()
    """A person changed the call so that it touches something they were not shown."""
    REFUSE = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict, and for a refusal the sentence that tells the model why."""

    verdict: Verdict
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandForm:
    """Which command a call runs, how, and its wider form, if it has one; all empty for a call that runs none."""

    command: str = ""
    pattern: str = ""
    variant: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A standing yes for a tool; for commands only for those that `pattern` covers, or else for `command` itself.

    It is for one `variant` of running them, and ends at `until`, if given. `by` names who gave it.
    """

    tool: str
    pattern: str = ""
    command: str = ""
    variant: str = ""
    until: datetime | None = None
    by: str = ""

    def covers(self, tool: str, form: CommandForm, now: datetime) -> bool:
        """Whether a call needs no question."""
        if (tool, form.variant) != (self.tool, self.variant) or (self.until is not None and now >= self.until):
            return False
        return matches(self.pattern, form.command) if self.pattern else form.command == self.command


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCall:
    """What there is to know of a call before it may run.

    `asked_digest` is that of the call as it was last shown to a person; `acts` tells that it does something, whether or
    not anybody has to be asked.
    """

    call_id: str
    tool: str
    risk: Risk
    acts: bool
    preview: Preview
    asked_digest: str
    stays_in_place: bool = True
    """Whether it touches only what it did when it was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for every call at this moment."""

    mode: Mode
    restrictions: Restrictions
    grants: Sequence[Grant]
    now: datetime


def call_digest(*, tool: str, arguments: JsonObject, project: str, pre_image: str) -> str:
    """SHA-256 in hex over everything an approval is bound to; the order of keys in `arguments` does not matter."""
    canonical = json.dumps(
        [tool, arguments, project, pre_image], ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class Permissions:
    """The answers given so far in a task."""

    grants: list[Grant] = field(default_factory=list[Grant])
    decisions: dict[str, Decision] = field(default_factory=dict[str, Decision])
    edits: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Arguments that a call has by the will of a person, whole, by call."""
    shown: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    """Arguments that a person was last asked about, by call."""

    def record(self, decision: Decision) -> None:
        """Keep an answer."""
        self.decisions[decision.call_id] = decision
        if decision.arguments is not None:
            self.edits[decision.call_id] = {**self.shown.get(decision.call_id, {}), **decision.arguments}

    def start(self, call_id: str, tool: str, form: CommandForm) -> Grant | None:
        """Note that a call ran: an answer for longer that fitted it stands for later calls like it.

        Returns the grant if it outlives the task. What a person changed was never shown as something for longer.
        """
        decision = self.decisions.get(call_id)
        if decision is None or decision.scope not in {"task", "project"} or call_id in self.edits:
            return None
        exact = "" if form.pattern else form.command
        grant = Grant(
            tool=tool,
            pattern=form.pattern,
            command=exact,
            variant=form.variant,
            until=decision.until,
            by=decision.by,
        )
        self.grants.append(grant)
        return grant if decision.scope == "project" else None

    def judge(self, call: JudgedCall, rules: Rules) -> Judgement:
        """Decide about one call: looking runs, what the rules forbid is refused, the rest needs an answer that fits."""
        if why := _forbidden(call, rules):
            return Judgement(verdict=Verdict.REFUSE, why=why)
        if call.risk is Risk.READ:
            return Judgement(verdict=Verdict.RUN)
        decision = self.decisions.get(call.call_id)
        if decision is not None:
            return _answered(decision, call)
        if _runs_unasked(call, rules.mode):
            return Judgement(verdict=Verdict.RUN)
        form = form_of(call.preview)
        granted = any(grant.covers(call.tool, form, rules.now) for grant in (*self.grants, *rules.grants))
        return Judgement(verdict=Verdict.RUN if granted else Verdict.ASK)


def form_of(preview: Preview) -> CommandForm:
    """Which command a call would run, and how."""
    return CommandForm(command=preview.command, pattern=preview.pattern, variant=preview.variant)


def _forbidden(call: JudgedCall, rules: Rules) -> str:
    """Why nobody is even asked about the call; empty when nothing forbids it."""
    if rules.restrictions.no_network and call.preview.level == "network":
        return _NO_NETWORK
    if not call.acts:
        return ""
    if rules.mode == "plan":
        return _PLAN
    return _ASK_FIRST if rules.restrictions.ask_first else ""


def _answered(decision: Decision, call: JudgedCall) -> Judgement:
    """What an answer to this very call means for it as it stands now."""
    if decision.scope == "deny":
        return Judgement(verdict=Verdict.REFUSE, why=_denial(decision))
    if decision.digest != call.asked_digest:
        return Judgement(verdict=Verdict.ASK_AGAIN)
    return Judgement(verdict=Verdict.RUN if call.stays_in_place else Verdict.ASK_CHANGED)


def _denial(decision: Decision) -> str:
    if not decision.by:
        return "Nobody allowed this call in time; it was not run."
    reason = f" Their reason: {decision.reason}" if decision.reason else ""
    return f"The person refused this call; it was not run.{reason}"


def _runs_unasked(call: JudgedCall, mode: Mode) -> bool:
    """Whether the mode lets the call run; what may leave the sandbox asks in every mode."""
    if mode == "edits":
        return call.risk is Risk.WRITE
    return mode == "auto" and call.preview.level != "network"
