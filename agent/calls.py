"""The calls of one reply, from the model's wish to the result in the history: checked, judged, asked for, run.

Calls that only look run beside each other; every other call runs alone and in its turn. Whatever happens, each call is
answered exactly once, in the order in which the model asked.
"""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any

from agent.boundary import wrap
from agent.errors import CallForbidden, ProjectError, ToolFailure
from agent.events import ApprovalNeeded, CallFinished, CallPrinted, CallStarted, Event, ProjectGrant
from agent.journal import Journal
from agent.model import ToolCall
from agent.policy import JudgedCall, Judgement, Rules, Verdict, call_digest, form_of
from agent.running import run_calls
from agent.tool import ToolResult
from agent.toolbox import MOST_MARKED, CheckedCall, Toolbox
from agent.visible import visible

MOST_EDITABLE = 8_000
"""Longer texts are not offered to be changed on a card."""

INTERRUPTED = "Interrupted: the process ended while this call was running; whether it took effect is unknown."
STOPPED = "Stopped by the person. If the call was running, how far it came is unknown."
CHANGED = "Not run: what it touches changed just now. Look again, and make the call anew if it is still right."
CUT = "Not run: the answer was cut off before it was complete. Send a shorter call."
_EDITED = "The person changed the arguments of this call: {arguments}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """How a call ended, for the record: `ours` is what Paigate itself says, `result` what the tool gave, if it ran."""

    ours: str = ""
    result: ToolResult | None = None
    refused: bool = False


class Calls:
    """Settles the open calls of a conversation."""

    def __init__(self, *, toolbox: Toolbox, journal: Journal, rules: Callable[[], Rules], look_seconds: float) -> None:
        self._toolbox = toolbox
        self._journal = journal
        self._rules = rules
        self._look_seconds = look_seconds

    async def settle(self) -> AsyncGenerator[Event, None]:
        """Answer every open call; stops after `ApprovalNeeded`, which then is the last event."""
        if self._journal.conversation.was_cut:
            self.finish_all(CUT, refused=False)
        while calls := self._journal.conversation.open_calls:
            looks = tuple(takewhile(self._only_looks, calls))
            async with aclosing(self._look(looks) if looks else self._settle(calls[0])) as events:
                async for event in events:
                    yield event
                    if isinstance(event, ApprovalNeeded):
                        return

    def finish_all(self, ours: str, *, refused: bool = True) -> None:
        """Answer every open call with a sentence of Paigate's own, as one that did not run."""
        for call in self._journal.conversation.open_calls:
            self._finish(call, call.name, _Outcome(ours=ours, refused=refused))

    async def _look(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Event, None]:
        """Run calls that only look, side by side; one that fails does not end the others."""
        outcomes: dict[str, _Outcome] = {}
        running: dict[str, CheckedCall] = {}
        for call in calls:
            checked = await self._checked(call)
            if isinstance(checked, _Outcome):
                outcomes[call.id] = checked
            elif (judgement := self._judge(checked, "", checked)).verdict is not Verdict.RUN:
                outcomes[call.id] = _Outcome(ours=judgement.why, refused=True)
            else:
                running[call.id] = checked
                yield CallStarted(call=call, title=checked.preview.title)
        looking = run_calls(self._toolbox, list(running.values()), seconds=self._look_seconds)
        async with aclosing(looking) as parts:
            async for part in parts:
                if isinstance(part, CallPrinted):
                    yield part
                else:
                    outcomes.update({call_id: _Outcome(result=result) for call_id, result in part.items()})
        for call in calls:
            title = running[call.id].preview.title if call.id in running else call.name
            yield self._finish(call, title, outcomes[call.id], durable=False)

    async def _settle(self, call: ToolCall) -> AsyncGenerator[Event, None]:
        """Answer a call that does something, or ask about it."""
        if self._journal.conversation.was_started(call.id):
            yield self._finish(call, call.name, _Outcome(result=ToolResult(text=INTERRUPTED, ok=False)))
            return
        effective = self._effective(call)
        checked = await self._checked(effective)
        if isinstance(checked, _Outcome):
            yield self._finish(call, call.name, checked)
            return
        digest = self._digest(checked)
        judgement = self._judge(checked, digest, await self._as_shown(call, checked))
        if judgement.verdict is Verdict.REFUSE:
            yield self._finish(call, checked.preview.title, _Outcome(ours=judgement.why, refused=True))
        elif judgement.verdict is Verdict.RUN:
            async with aclosing(self._start(call, checked, digest)) as events:
                async for event in events:
                    yield event
        else:
            edited = effective is not call
            yield self._ask(checked, digest, edited=edited, stale=judgement.verdict is Verdict.ASK_AGAIN)

    def _ask(self, checked: CheckedCall, digest: str, *, edited: bool, stale: bool) -> ApprovalNeeded:
        asked: dict[str, Any] = {"call_id": checked.call.id, "digest": digest}
        if edited:  # otherwise they are those of the call
            asked["arguments"] = checked.call.arguments
        self._journal.record("approval_asked", asked)
        return ApprovalNeeded(
            call=checked.call,
            preview=checked.preview,
            risk=checked.tool.risk,
            digest=digest,
            stale=stale,
            editable=_editable(checked),
        )

    async def _start(self, call: ToolCall, checked: CheckedCall, digest: str) -> AsyncGenerator[Event, None]:
        """Run a call that may do something: its intent is on disk before, its result after."""
        title, acts = checked.preview.title, checked.acts
        if acts:
            for grant in self._record_intent(call, checked, digest):
                yield grant
        yield CallStarted(call=checked.call, title=title)
        again = await self._checked(checked.call) if acts else checked
        if isinstance(again, CheckedCall) and acts and self._digest(again) != digest:
            # What it touches changed in the moment since it was judged.
            again = _Outcome(result=ToolResult(text=CHANGED, ok=False))
        if isinstance(again, _Outcome):
            yield self._finish(call, title, again)
            return
        async with aclosing(run_calls(self._toolbox, [again])) as parts:
            async for part in parts:
                if isinstance(part, CallPrinted):
                    yield part
                else:
                    yield self._finish(call, title, _Outcome(result=part[call.id]), durable=acts)

    def _record_intent(self, call: ToolCall, checked: CheckedCall, digest: str) -> list[ProjectGrant]:
        """Put on disk that the call is about to run; returns what its person thereby allowed in the project."""
        grants = self._journal.conversation.grants
        before = len(grants)
        intent = {"call_id": call.id, "digest": digest, **asdict(form_of(checked.preview))}
        self._journal.record("call_started", intent)
        return [ProjectGrant(call_id=call.id, **asdict(grant)) for grant in grants[before:] if grant.until is not None]

    async def _checked(self, call: ToolCall) -> CheckedCall | _Outcome:
        """The call, ready to run, or what is wrong with it."""
        try:
            return await self._toolbox.check(call)
        except (ToolFailure, ProjectError) as failure:
            refused = isinstance(failure, CallForbidden)
            return _Outcome(result=ToolResult(text=str(failure), ok=False), refused=refused)

    def _only_looks(self, call: ToolCall) -> bool:
        return self._toolbox.only_looks(call.name)

    def _effective(self, call: ToolCall) -> ToolCall:
        """The call with what a person made of its arguments."""
        task = self._journal.conversation.task
        edited = task.permissions.edits.get(call.id) if task else None
        return call if edited is None else replace(call, arguments={**call.arguments, **edited}, malformed=None)

    async def _as_shown(self, call: ToolCall, checked: CheckedCall) -> CheckedCall | None:
        """The call as a person was last shown it, as it is now; nothing if it could not be shown any more."""
        task = self._journal.conversation.task
        arguments = task.permissions.shown.get(call.id, call.arguments) if task else call.arguments
        if arguments == checked.call.arguments:
            return checked
        shown = await self._checked(replace(call, arguments=arguments, malformed=None))
        return None if isinstance(shown, _Outcome) else shown

    def _judge(self, checked: CheckedCall, digest: str, shown: CheckedCall | None) -> Judgement:
        task = self._journal.conversation.task
        if task is None:
            return Judgement(verdict=Verdict.REFUSE, why=STOPPED)
        asked_digest = digest if shown is checked else self._digest(shown) if shown else ""
        call = JudgedCall(
            call_id=checked.call.id,
            tool=checked.call.name,
            risk=checked.tool.risk,
            acts=checked.acts,
            preview=checked.preview,
            asked_digest=asked_digest,
            stays_in_place=shown is not None and shown.preview.pre_image == checked.preview.pre_image,
        )
        return task.permissions.judge(call, self._rules())

    def _digest(self, checked: CheckedCall) -> str:
        return call_digest(
            tool=checked.call.name,
            arguments=checked.call.arguments,
            project=self._toolbox.project,
            pre_image=checked.preview.pre_image,
        )

    def _finish(self, call: ToolCall, title: str, outcome: _Outcome, *, durable: bool = True) -> CallFinished:
        result = outcome.result or ToolResult(text="", ok=False)
        effective = self._effective(call)
        edited = "" if effective is call else _EDITED.format(arguments=json.dumps(effective.arguments))
        told = [text for text in (edited, outcome.ours) if text]
        told += [wrap(call.name, result.text)] if outcome.result else []
        finished = {
            "call_id": call.id,
            "ok": result.ok,
            "text": "\n".join(told),
            "changes": [asdict(change) for change in result.changes],
            "seen": {file.path: file.digest for file in result.seen},
            "refused": outcome.refused,
            "mark": result.mark or outcome.ours or result.text[:MOST_MARKED],
        }
        self._journal.record("call_finished", finished, durable=durable)
        return CallFinished(
            call=call,
            title=title,
            ok=result.ok,
            changes=result.changes,
            alarm=result.alarm,
            kept_back=(outcome.ours or result.text) if outcome.refused and self._was_allowed(call) else "",
        )

    def _was_allowed(self, call: ToolCall) -> bool:
        task = self._journal.conversation.task
        decision = task.permissions.decisions.get(call.id) if task else None
        return decision is not None and decision.scope != "deny"


def _editable(checked: CheckedCall) -> dict[str, str]:
    """The texts that a person may change: short enough to be changed by hand, and with nothing that hides in them."""
    texts = {name: checked.call.arguments.get(name) for name in checked.tool.editable}
    return {
        name: text
        for name, text in texts.items()
        if isinstance(text, str) and len(text) <= MOST_EDITABLE and visible(text) == text
    }
