"""The calls of one reply, from the model's wish to the result in the history: checked, judged, asked for, run.

Calls that only look run beside each other; every other call runs alone and in its turn. Whatever happens, each call is
answered exactly once, in the order in which the model asked.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import takewhile

from agent.boundary import wrap
from agent.cancelling import end
from agent.errors import CallForbidden, ProjectError, ToolFailure
from agent.events import ApprovalNeeded, CallFinished, CallPrinted, CallStarted, Event
from agent.journal import Journal
from agent.model import ToolCall
from agent.policy import JudgedCall, Judgement, Rules, Verdict, call_digest
from agent.tool import Risk, ToolResult
from agent.toolbox import CheckedCall, Toolbox
from agent.visible import visible

MOST_LOOKS = 4
"""So many calls run at once."""
MOST_EDITABLE = 8_000
"""Longer texts are not offered to be changed on a card."""

INTERRUPTED = "Interrupted: the process ended while this call was running; whether it took effect is unknown."
STOPPED = "Stopped by the person. If the call was running, how far it came is unknown."
CHANGED = "Not run: what it touches changed just now. Look again, and make the call anew if it is still right."
CUT = "Not run: the answer was cut off before it was complete. Send a shorter call."
_LATE = "Timed out: it and the calls beside it had {seconds:g} s in all. Ask for less at once."
_EDITED = "The person changed the arguments before allowing the call; this ran: {arguments}"


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
        while calls := self._journal.conversation.open_calls:
            looks = tuple(takewhile(self._only_looks, calls))
            async with aclosing(self._look(looks) if looks else self._settle(calls[0])) as events:
                async for event in events:
                    yield event
                    if isinstance(event, ApprovalNeeded):
                        return

    def finish_all(self, ours: str) -> None:
        """Answer every open call with a sentence of Paigate's own, as one that did not run."""
        for call in self._journal.conversation.open_calls:
            self._finish(call, call.name, _Outcome(ours=ours, refused=True))

    async def _look(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Event, None]:
        """Run calls that only look, side by side; one that fails does not end the others."""
        outcomes: dict[str, _Outcome] = {}
        running: dict[str, CheckedCall] = {}
        for call in calls:
            checked = await self._checked(call)
            if isinstance(checked, _Outcome):
                outcomes[call.id] = checked
            elif (judgement := self._judge(checked, "", "")).verdict is Verdict.REFUSE:
                outcomes[call.id] = _Outcome(ours=judgement.why, refused=True)
            else:
                running[call.id] = checked
                yield CallStarted(call=call, title=checked.preview.title)
        async with aclosing(self._run(list(running.values()), self._look_seconds)) as parts:
            async for part in parts:
                if isinstance(part, CallPrinted):
                    yield part
                else:
                    outcomes.update(part)
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
        asked_digest = digest if effective is call else await self._asked_digest(call, checked)
        judgement = self._judge(checked, digest, asked_digest)
        match judgement.verdict:
            case Verdict.REFUSE:
                yield self._finish(call, checked.preview.title, _Outcome(ours=judgement.why, refused=True))
            case Verdict.RUN:
                async with aclosing(self._start(call, checked, digest)) as events:
                    async for event in events:
                        yield event
            case Verdict.ASK | Verdict.ASK_AGAIN:
                yield self._ask(checked, digest, stale=judgement.verdict is Verdict.ASK_AGAIN)

    def _ask(self, checked: CheckedCall, digest: str, *, stale: bool) -> ApprovalNeeded:
        self._journal.record("approval_asked", {"call_id": checked.call.id, "digest": digest})
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
        preview = checked.preview
        durable = checked.tool.risk is not Risk.READ
        if durable:
            intent = {"digest": digest, "pattern": preview.pattern, "command": preview.command}
            self._journal.record("call_started", {"call_id": call.id, **intent})
        yield CallStarted(call=checked.call, title=preview.title)
        again = await self._checked(checked.call) if durable else checked
        if isinstance(again, CheckedCall) and durable and self._digest(again) != digest:
            # What it touches changed in the moment since it was judged.
            again = _Outcome(result=ToolResult(text=CHANGED, ok=False))
        if isinstance(again, _Outcome):
            yield self._finish(call, preview.title, again)
            return
        async with aclosing(self._run([again], None)) as parts:
            async for part in parts:
                if isinstance(part, CallPrinted):
                    yield part
                else:
                    yield self._finish(call, preview.title, self._told(call, part[call.id]), durable=durable)

    async def _run(
        self, calls: Sequence[CheckedCall], seconds: float | None
    ) -> AsyncGenerator[CallPrinted | dict[str, _Outcome], None]:
        """Run calls at once; yields what they print, and last all that came of them."""
        slots = asyncio.Semaphore(MOST_LOOKS)
        printed: asyncio.Queue[CallPrinted | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        deadline = None if seconds is None else loop.time() + seconds

        async def run(checked: CheckedCall) -> ToolResult:
            show = partial(_show, printed, checked.call)
            try:
                async with slots, asyncio.timeout_at(deadline):
                    return await self._toolbox.run(checked, show)
            except TimeoutError:
                return ToolResult(text=_LATE.format(seconds=seconds), ok=False)

        tasks = [asyncio.create_task(run(checked)) for checked in calls]
        waiting = asyncio.gather(*tasks)
        waiting.add_done_callback(lambda _done: printed.put_nowait(None))
        try:
            while (part := await printed.get()) is not None:
                yield part
            results = await waiting
        finally:
            await end(tasks)
        yield {checked.call.id: _Outcome(result=result) for checked, result in zip(calls, results, strict=True)}

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

    async def _asked_digest(self, call: ToolCall, edited: CheckedCall) -> str:
        """The digest of the call as it was shown; empty when its edited form touches something that was not shown."""
        shown = await self._checked(call)
        if isinstance(shown, _Outcome) or shown.preview.pre_image != edited.preview.pre_image:
            return ""
        return self._digest(shown)

    def _judge(self, checked: CheckedCall, digest: str, asked_digest: str) -> Judgement:
        task = self._journal.conversation.task
        if task is None:
            return Judgement(verdict=Verdict.REFUSE, why=STOPPED)
        call = JudgedCall(
            call_id=checked.call.id,
            tool=checked.call.name,
            risk=checked.tool.risk,
            preview=checked.preview,
            digest=digest,
            asked_digest=asked_digest,
        )
        return task.permissions.judge(call, self._rules())

    def _digest(self, checked: CheckedCall) -> str:
        return call_digest(
            tool=checked.call.name,
            arguments=checked.call.arguments,
            project=self._toolbox.project,
            pre_image=checked.preview.pre_image,
        )

    def _told(self, call: ToolCall, outcome: _Outcome) -> _Outcome:
        """The outcome, with a word to the model when a person changed what ran."""
        effective = self._effective(call)
        if effective is call:
            return outcome
        arguments = json.dumps(effective.arguments, ensure_ascii=False)
        return replace(outcome, ours=_EDITED.format(arguments=arguments))

    def _finish(self, call: ToolCall, title: str, outcome: _Outcome, *, durable: bool = True) -> CallFinished:
        result = outcome.result or ToolResult(text="", ok=False)
        told = [outcome.ours] if outcome.ours else []
        told += [wrap(call.name, result.text)] if outcome.result else []
        finished = {
            "call_id": call.id,
            "ok": result.ok,
            "text": "\n".join(told),
            "changes": [asdict(change) for change in result.changes],
            "seen": {file.path: file.digest for file in result.seen},
            "refused": outcome.refused,
        }
        self._journal.record("call_finished", finished, durable=durable)
        return CallFinished(call=call, title=title, ok=result.ok, changes=result.changes, alarm=result.alarm)


def _show(printed: "asyncio.Queue[CallPrinted | None]", call: ToolCall, text: str) -> None:
    printed.put_nowait(CallPrinted(call=call, text=text))


def _editable(checked: CheckedCall) -> dict[str, str]:
    """The texts that a person may change: short enough to be changed by hand, and with nothing that hides in them."""
    texts = {name: checked.call.arguments.get(name) for name in checked.tool.editable}
    return {
        name: text
        for name, text in texts.items()
        if isinstance(text, str) and len(text) <= MOST_EDITABLE and visible(text) == text
    }
