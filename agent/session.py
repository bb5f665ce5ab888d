"""The loop: ask the model, run the calls it asks for, hand the results back, until it asks for none.

Everything that happened is in the ledger before anybody is told, so a session that was killed at any instruction is
made again from its ledger and goes on: `run` looks at where the conversation stands, not at what it did before.

    async with contextlib.aclosing(session.run()) as events:
        async for event in events:
            show(event)
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from agent.boundary import wrap
from agent.context import system_prompt
from agent.conversation import Conversation
from agent.errors import ModelBroken, ProjectError, ToolFailure
from agent.events import (
    Answered,
    ApprovalNeeded,
    CallFinished,
    CallStarted,
    Decision,
    Event,
    MessageTaken,
    StepStarted,
    TextStreamed,
)
from agent.ledger import Ledger
from agent.model import Model, ModelRequest, Reply, TextDelta, ToolCall, Usage
from agent.policy import Verdict, call_digest
from agent.tool import Tool, ToolContext, ToolResult
from agent.toolbox import CheckedCall, Toolbox

INTERRUPTED = "Interrupted: the process ended while this call was running; whether it took effect is unknown."
STOPPED = "Stopped by the person. If the call was running, how far it came is unknown."
CHANGED = "Not run: what it touches changed just now. Look again, and make the call anew if it is still right."
CUT = "Not run: the answer was cut off before it was complete. Send a shorter call."


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What a person said; `message_id` makes taking it twice harmless."""

    message_id: str
    text: str


class Inbox(Protocol):
    """Where a session finds what people said in the meantime."""

    async def waiting(self) -> Sequence[UserMessage]:
        """Messages not yet taken, oldest first; the same ones again until `taken` is told."""
        ...

    async def taken(self, message_ids: Sequence[str]) -> None:
        """These are on record now."""
        ...


class Session:
    """One conversation at work. Not safe for two tasks at once: the ledger's lock keeps others out."""

    def __init__(
        self,
        *,
        model: Model,
        tools: Iterable[Tool[Any]],
        context: ToolContext,
        ledger: Ledger,
        inbox: Inbox,
        new_id: Callable[[], str],
    ) -> None:
        self._model = model
        self._toolbox = Toolbox(tools, context)
        self._ledger = ledger
        self._inbox = inbox
        self._new_id = new_id
        self.conversation = Conversation(ledger.read())

    async def run(self) -> AsyncGenerator[Event, None]:
        """Work until nothing is left to answer, or until a person must decide; the last event tells which.

        Raises:
            ModelError: the model could not be asked; everything before is on record, and running again goes on from it.
        """
        while True:
            async for event in self._settle_calls():
                yield event
                if isinstance(event, ApprovalNeeded):
                    return
            if answered := self._answered():
                yield answered
                self.finish_task("answered")
            for event in await self._take_messages():
                yield event
            if not self.conversation.awaits_reply:
                return
            async for event in self._ask_model():
                yield event

    def resume(self, decisions: Iterable[Decision]) -> AsyncGenerator[Event, None]:
        """Record what people answered to the approval the session stopped at, at once, and go on as `run`."""
        for decision in decisions:
            self._record("approval_decided", **asdict(decision))
        return self.run()

    def stop(self) -> None:
        """Close the task where it stands: every open call is answered, so that the history stays valid."""
        for call in self.conversation.open_calls:
            self._finish(call, call.name, ToolResult(text=STOPPED, ok=False))
        self.finish_task("stopped")

    def finish_task(self, outcome: str) -> None:
        """Record how the task ended."""
        if self.conversation.task:
            self._record("task_finished", outcome=outcome)

    # What the loop is made of, in the order it happens.

    async def _settle_calls(self) -> AsyncGenerator[Event, None]:
        for call in self.conversation.open_calls:
            if self.conversation.was_started(call.id):
                yield self._finish(call, call.name, ToolResult(text=INTERRUPTED, ok=False))
                continue
            try:
                checked = await self._toolbox.check(call)
            except (ToolFailure, ProjectError) as failure:
                yield self._finish(call, call.name, ToolResult(text=str(failure), ok=False))
                continue
            digest = self._digest(checked)
            verdict = self._judge(checked, digest)
            if verdict is Verdict.REFUSE:
                yield self._refuse(checked)
            elif verdict is Verdict.RUN:
                self._record("call_started", call_id=call.id, digest=digest)
                yield CallStarted(call=call, title=checked.preview.title)
                yield self._finish(call, checked.preview.title, await self._run_unchanged(checked, digest))
            else:
                self._record("approval_asked", call_id=call.id, digest=digest)
                yield ApprovalNeeded(
                    call=call,
                    preview=checked.preview,
                    risk=checked.tool.risk,
                    digest=digest,
                    stale=verdict is Verdict.ASK_AGAIN,
                )

    async def _run_unchanged(self, checked: CheckedCall, digest: str) -> ToolResult:
        """Run the call, unless what it touches changed in the moment since it was judged."""
        try:
            again = await self._toolbox.check(checked.call)
        except (ToolFailure, ProjectError) as failure:
            return ToolResult(text=str(failure), ok=False)
        if self._digest(again) != digest:
            return ToolResult(text=CHANGED, ok=False)
        return await self._toolbox.run(again)

    def _answered(self) -> Answered | None:
        task, answer = self.conversation.task, self.conversation.answer
        if task is None or answer is None:
            return None
        return Answered(task_id=task.task_id, text=answer, report=task.report())

    async def _take_messages(self) -> list[Event]:
        waiting = await self._inbox.waiting()
        events: list[Event] = []
        for message in waiting:
            if message.message_id not in self.conversation.message_ids:
                self._take(message)
                events.append(MessageTaken(message_id=message.message_id))
        if waiting:
            await self._inbox.taken([message.message_id for message in waiting])
        return events

    def _take(self, message: UserMessage) -> None:
        if not self.conversation.messages:
            self._record("conversation_started", system=system_prompt(self._toolbox.project))
        task = self.conversation.task
        task_id = task.task_id if task else self._new_id()
        self._record("message_taken", message_id=message.message_id, text=message.text, task_id=task_id)

    async def _ask_model(self) -> AsyncGenerator[Event, None]:
        task = self.conversation.task
        yield StepStarted(step=task.steps + 1 if task else 1)
        request = ModelRequest(messages=tuple(self.conversation.messages), tools=self._toolbox.schemas)
        async with aclosing(self._model.stream(request)) as stream:
            async for part in stream:
                if isinstance(part, TextDelta):
                    yield TextStreamed(text=part.text)
                else:
                    self._receive(part, request)

    def _receive(self, reply: Reply, request: ModelRequest) -> None:
        if not reply.complete:
            raise ModelBroken("the answer ended in the middle")
        calls = [self._with_unused_id(call) for call in reply.tool_calls]
        usage = reply.usage or _estimate(request, reply)
        self._record(
            "reply_received",
            text=reply.text,
            reasoning=reply.reasoning,
            calls=[asdict(call) for call in calls],
            finish_reason=reply.finish_reason,
            usage=asdict(usage),
        )
        if reply.finish_reason == "length":
            for call in calls:
                self._finish(call, call.name, ToolResult(text=CUT, ok=False))

    def _with_unused_id(self, call: ToolCall) -> ToolCall:
        return replace(call, id=f"call_{self._new_id()}") if call.id in self.conversation.call_ids else call

    def _judge(self, checked: CheckedCall, digest: str) -> Verdict:
        if self.conversation.task is None:
            return Verdict.REFUSE
        return self.conversation.task.permissions.judge(
            call_id=checked.call.id, tool=checked.call.name, risk=checked.tool.risk, digest=digest
        )

    def _digest(self, checked: CheckedCall) -> str:
        return call_digest(
            tool=checked.call.name,
            arguments=checked.call.arguments,
            project=self._toolbox.project,
            pre_image=checked.preview.pre_image,
        )

    def _refuse(self, checked: CheckedCall) -> CallFinished:
        decision = self.conversation.task.permissions.decisions[checked.call.id] if self.conversation.task else None
        if decision is None or not decision.by:
            text = "Nobody allowed this call in time; it was not run."
        else:
            text = "The person refused this call; it was not run."
            text += f" Their reason: {decision.reason}" if decision.reason else ""
        return self._finish(checked.call, checked.preview.title, ToolResult(text=text, ok=False), trusted=True)

    def _finish(self, call: ToolCall, title: str, result: ToolResult, *, trusted: bool = False) -> CallFinished:
        self._record(
            "call_finished",
            call_id=call.id,
            ok=result.ok,
            text=result.text if trusted else wrap(call.name, result.text),
            changes=[asdict(change) for change in result.changes],
        )
        return CallFinished(call=call, title=title, ok=result.ok, changes=result.changes, alarm=result.alarm)

    def _record(self, kind: str, **data: Any) -> None:
        self.conversation.apply(self._ledger.append(kind, data))


def _estimate(request: ModelRequest, reply: Reply) -> Usage:
    """Tokens by length, for endpoints that report none: about four characters each."""
    prompt = sum(len(message.text) + len(message.reasoning) for message in request.messages)
    return Usage(
        prompt_tokens=prompt // 4 + 1,
        completion_tokens=(len(reply.text) + len(reply.reasoning)) // 4 + 1,
        estimated=True,
    )
