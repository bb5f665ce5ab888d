"""One exchange with the model: a request made from the conversation, and a reply taken into it; also the last one.

A request is the history, which only ever grows, and a tail of what the model is told this once: what the person's
words or the mode forbid, a reminder, the instruction to close the task. No tail is part of the history.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from agent.closing import Facts, Language, Valve, ValveKind, closing_instruction, heading, plain_report
from agent.errors import ModelBroken, ModelError
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
from agent.wording import noted, reminder_notice

MOST_NAME = 64
MOST_ARGUMENTS = 8 << 20
"""Longer arguments could not be used by any tool, and would be sent again with every later request."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


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
        messages = tuple(self._journal.conversation.messages)
        request = ModelRequest(messages=messages, tools=self._schemas, tail=self._tail(task))
        try:
            async with aclosing(self._stream(request)) as parts:
                async for part in parts:
                    if isinstance(part, TextStreamed):
                        yield part
                    else:
                        self._receive(part)
        except _Chanted:
            return  # it is on record, and closes the task

    async def close(self, task: Task, valve: Valve) -> None:
        """End the task with a report under a heading that says why; a model that gives none is done without."""
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

    async def _stream(self, request: ModelRequest) -> AsyncGenerator[TextStreamed | Reply, None]:
        """Yield the text as it comes and, last, the whole reply. What does not get that far is charged as well.

        Raises:
            ModelError: there is no whole reply.
            _Chanted: the model repeated itself without end, and was cut off.
        """
        streamed, chant = "", ChantWatch()
        try:
            async with aclosing(self._model.stream(request)) as stream:
                async for part in stream:
                    if isinstance(part, Reply):
                        yield _whole(part)
                        return
                    streamed += part.text
                    yield TextStreamed(text=part.text)
                    if chant.feed(part.text):
                        raise _Chanted
            raise ModelBroken(f"{self._model.name}: the stream ended without a reply")
        except (ModelError, _Chanted) as error:
            if streamed:
                self._abandon(Reply(text=streamed), "chanting" if isinstance(error, _Chanted) else None)
            raise

    async def _last_reply(self, request: ModelRequest) -> Reply | None:
        try:
            async with aclosing(self._stream(request)) as parts:
                async for part in parts:
                    if isinstance(part, Reply):
                        return part
        except (ModelError, _Chanted):
            pass  # what is certain is told without it
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
        notices = [announcement(task.restrictions)]
        if task.reminder is not None:
            notices.append(reminder_notice(task.reminder, {schema.name for schema in self._schemas}))
        text = "\n".join(noted(notice) for notice in notices if notice)
        return (Message(role="user", text=text),) if text else ()

    def _receive(self, reply: Reply) -> None:
        """Take a whole reply into the history; of one that a filter ended no call is taken.

        Raises:
            ModelBroken: the length limit came before the first word.
        """
        if reply.finish_reason == "length" and not (reply.text.strip() or reply.tool_calls):
            self._abandon(reply, None)
            raise ModelBroken(f"{self._model.name}: it used its whole answer for thinking; ask for less at once")
        filtered = reply.finish_reason == "content_filter"
        calls = [] if filtered else self._with_unused_ids(reply.tool_calls)
        received = {
            "text": reply.text,
            "reasoning": reply.reasoning,
            "blocks": list(reply.blocks),
            "calls": [asdict(call) for call in calls],
            "finish_reason": reply.finish_reason,
        }
        # Calls that do something are made durable, with all before them, before they run; words before they are told.
        self._journal.record("reply_received", {**received, **self._charge(reply)}, durable=not calls)

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

    def _abandon(self, reply: Reply, why: ValveKind | None) -> None:
        self._journal.record("reply_abandoned", {"why": why, **self._charge(reply)})

    def _with_unused_ids(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        used = set(self._journal.conversation.call_ids)
        renamed: list[ToolCall] = []
        for call in map(_fitting, calls):
            renamed.append(replace(call, id=f"call_{self._new_id()}") if call.id in used else call)
            used.add(call.id)
        return renamed

    def _prompt_tokens(self) -> int:
        """About how many tokens the next request has."""
        conversation = self._journal.conversation
        return conversation.tokens + (0 if conversation.counted else self._schema_tokens)

    def _estimate(self, text: str) -> Usage:
        """Tokens by length, for endpoints that report none."""
        return Usage(prompt_tokens=self._prompt_tokens(), completion_tokens=estimate_tokens(text) + 1, estimated=True)


class _Chanted(Exception):
    """The model repeated itself without end within one answer."""


def _fitting(call: ToolCall) -> ToolCall:
    """The call as every vendor takes it back: with a name of its signs, and arguments of a size that can be sent."""
    name = _NOT_IN_A_NAME.sub("_", call.name[:MOST_NAME]) or "_"
    size = len(json.dumps(call.arguments)) + len(call.malformed or "")
    if size <= MOST_ARGUMENTS:
        return replace(call, name=name)
    dropped = f"({size:,} characters, of which {MOST_ARGUMENTS:,} may be sent at once, were dropped)"
    return replace(call, name=name, arguments={}, malformed=dropped)


def _whole(reply: Reply) -> Reply:
    if not reply.complete:
        raise ModelBroken("the answer ended in the middle")
    return reply


def _limit(reached: LimitReached) -> str:
    """A limit as a person reads it."""
    limit = f"{reached.limit:,g}" if isinstance(reached.limit, float) else f"{reached.limit:,}"
    return f"{limit} {reached.currency}" if reached.currency else limit
