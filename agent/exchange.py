"""One exchange with the model: a request made from the conversation, and a reply taken into it; also the last one.

A request is the history, which only ever grows, and a tail of what the model is told this once: what the person's
words or the mode forbid, a reminder, the instruction to close the task. No tail is part of the history.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agent.calls import CUT
from agent.closing import Facts, Language, Valve, ValveKind, closing_instruction, heading, plain_report
from agent.errors import ModelError
from agent.events import Event, StepStarted, TextStreamed
from agent.journal import Journal
from agent.limits import (
    LimitReached,
    NextCall,
    Spent,
    TaskLimits,
    can_close,
    cost_of,
    estimate_tokens,
    limit_reached,
)
from agent.model import Message, Model, ModelRequest, Reply, ToolCall, ToolSchema, Usage
from agent.policy import Mode
from agent.providers import Price
from agent.restrictions import announcement
from agent.runaway import ChantWatch
from agent.task import Task
from agent.wording import mode_notice, reminder_notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for the model calls of a session."""

    mode: Mode = "ask"
    language: Language = "en"
    limits: TaskLimits = field(default_factory=TaskLimits)
    prices: Mapping[str, Price] = field(default_factory=dict[str, Price])
    """Price by the name of the model that answered; what is not in it is unknown."""
    look_seconds: float = 90.0
    """What calls that run beside each other may take in all."""


class Exchange:
    """Asks the model for a conversation."""

    def __init__(
        self, *, model: Model, schemas: Sequence[ToolSchema], journal: Journal, terms: Terms, new_id: Callable[[], str]
    ) -> None:
        self._model = model
        self._schemas = schemas
        self._journal = journal
        self._terms = terms
        self._new_id = new_id
        self._schema_tokens = sum(estimate_tokens(f"{asdict(schema)}") for schema in schemas)

    def valve(self, task: Task) -> Valve | None:
        """Why the task must be closed now, if it must."""
        if task.valve is not None:
            return task.valve
        reached = limit_reached(self._terms.limits, self._spent(task), self._next_call())
        return None if reached is None else Valve(kind=reached.name, subject=_limit(reached))

    async def ask(self, task: Task) -> AsyncGenerator[Event, None]:
        """Ask once; the reply is on record before the last event is told.

        Raises:
            ModelError: the model could not be asked; the history is as it was.
        """
        yield StepStarted(step=task.steps + 1)
        request = ModelRequest(
            messages=tuple(self._journal.conversation.messages), tools=self._schemas, tail=self._tail(task)
        )
        streamed = ""
        chant = ChantWatch()
        try:
            async with aclosing(self._model.stream(request)) as stream:
                async for part in stream:
                    if isinstance(part, Reply):
                        self._receive(part)
                        continue
                    streamed += part.text
                    yield TextStreamed(text=part.text)
                    if chant.feed(part.text):
                        self._abandon(streamed, "chanting")
                        return
        except ModelError:
            if streamed:
                self._abandon(streamed, None)
            raise

    async def close(self, task: Task, valve: Valve) -> AsyncGenerator[Event, None]:
        """End the task with a report under a heading that says why; a model that gives none is done without."""
        yield StepStarted(step=task.steps + 1)
        instruction = Message(role="user", text=closing_instruction(valve))
        messages = tuple(self._journal.conversation.messages)
        request = ModelRequest(messages=messages, tools=self._schemas, tail=(instruction,), may_call=False)
        reply = await self._last_reply(request) if self._can_close(task) else None
        report = reply.text.strip() if reply else ""
        if not report:
            files = [change.path for change in task.changes.values()]
            facts = Facts(calls_done=task.calls_done, calls_failed=task.calls_failed, files=files)
            report = plain_report(facts, self._terms.language)
        text = f"{heading(valve, self._terms.language)}\n\n{report}"
        charge = self._charge(reply) if reply else {}
        self._journal.record("task_closed", {"text": text, "valve": asdict(valve), **charge})

    async def _last_reply(self, request: ModelRequest) -> Reply | None:
        try:
            async with aclosing(self._model.stream(request)) as stream:
                async for part in stream:
                    if isinstance(part, Reply):
                        return part
        except ModelError:
            return None
        return None

    def _can_close(self, task: Task) -> bool:
        """Whether the closing call fits into what the limits leave."""
        return can_close(self._terms.limits, self._spent(task), self._next_call())

    def _spent(self, task: Task) -> Spent:
        seconds = self._journal.conversation.seconds_worked(self._journal.now())
        return Spent(usage=task.usage, cost=task.cost, currency=task.currency, steps=task.steps, seconds=seconds)

    def _next_call(self) -> NextCall:
        return NextCall(prompt_tokens=self._prompt_tokens(), price=self._terms.prices.get(self._model.name))

    def _tail(self, task: Task) -> tuple[Message, ...]:
        notices = [announcement(task.restrictions), mode_notice(self._terms.mode)]
        if task.reminder is not None:
            notices.append(reminder_notice(task.reminder))
        text = "\n".join(f"[paigate] {notice}" for notice in notices if notice)
        return (Message(role="user", text=text),) if text else ()

    def _receive(self, reply: Reply) -> None:
        """Take a whole reply into the history; calls of one that was cut are answered at once, so that none runs."""
        filtered = reply.finish_reason == "content_filter"
        calls = [] if filtered else [self._with_unused_id(call) for call in reply.tool_calls]
        received = {
            "text": reply.text,
            "reasoning": reply.reasoning,
            "blocks": list(reply.blocks),
            "calls": [asdict(call) for call in calls],
            "finish_reason": reply.finish_reason,
        }
        # Calls that do something are made durable, with all before them, before they run; words before they are told.
        self._journal.record("reply_received", {**received, **self._charge(reply)}, durable=not calls)
        if reply.finish_reason == "length":
            for call in calls:
                self._journal.record("call_finished", {"call_id": call.id, "ok": False, "text": CUT, "changes": []})

    def _charge(self, reply: Reply) -> dict[str, Any]:
        """What a reply took, for the record."""
        usage = reply.usage or self._estimate(reply.text + reply.reasoning)
        price = self._terms.prices.get(reply.model or self._model.name)
        cost = cost_of(usage, price)
        return {
            "model": reply.model or self._model.name,
            "usage": asdict(usage),
            "cost": None if cost is None else str(cost),
            "currency": price.currency if price else None,
        }

    def _abandon(self, streamed: str, why: ValveKind | None) -> None:
        self._journal.record("reply_abandoned", {"why": why, **self._charge(Reply(text=streamed))})

    def _with_unused_id(self, call: ToolCall) -> ToolCall:
        used = self._journal.conversation.call_ids
        return replace(call, id=f"call_{self._new_id()}") if call.id in used else call

    def _prompt_tokens(self) -> int:
        """About how many tokens the next request has."""
        return self._journal.conversation.tokens + self._schema_tokens

    def _estimate(self, text: str) -> Usage:
        """Tokens by length, for endpoints that report none."""
        return Usage(prompt_tokens=self._prompt_tokens(), completion_tokens=estimate_tokens(text) + 1, estimated=True)


def _limit(reached: LimitReached) -> str:
    """A limit as a person reads it."""
    return f"{reached.limit:,} {reached.currency}" if reached.currency else f"{reached.limit:,}"
