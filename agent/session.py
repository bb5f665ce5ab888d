"""The loop: ask the model, run the calls it asks for, hand the results back, until it asks for none.

Everything that happened is in the ledger before anybody is told, so a session that was killed at any instruction is
made again from its ledger and goes on: `run` looks at where the conversation stands, not at what it did before.

    async with contextlib.aclosing(session.run()) as events:
        async for event in events:
            show(event)
"""

import secrets
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Protocol

from agent.calls import STOPPED, Calls
from agent.closing import ending_notice
from agent.context import system_prompt
from agent.events import Answered, ApprovalNeeded, Decision, Event, MessageTaken
from agent.exchange import Exchange, Terms
from agent.journal import Journal
from agent.ledger import Ledger
from agent.model import Model
from agent.policy import Grant, Rules
from agent.restrictions import Restrictions
from agent.tool import Tool, ToolContext
from agent.toolbox import Toolbox
from agent.wording import mode_notice, noted


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
    """One conversation at work. Not safe for two tasks at once: the ledger's lock keeps others out.

    `terms` are the mode, the limits and the language; `grants` are standing answers from before this conversation.
    """

    def __init__(
        self,
        *,
        model: Model,
        tools: Iterable[Tool[Any]],
        context: ToolContext,
        ledger: Ledger,
        inbox: Inbox,
        new_id: Callable[[], str] = lambda: secrets.token_hex(6),
        terms: Terms | None = None,
        grants: Sequence[Grant] = (),
    ) -> None:
        self._terms = terms or Terms()
        self._grants = grants
        self._inbox = inbox
        self._new_id = new_id
        self._journal = Journal(ledger)
        self.conversation = self._journal.conversation
        unattended = self._terms.mode in {"edits", "auto"}
        context = replace(context, seen=self.conversation.seen, unattended=unattended)
        self._toolbox = Toolbox(tools, context, new_id)
        self._calls = Calls(
            toolbox=self._toolbox, journal=self._journal, rules=self._rules, look_seconds=self._terms.look_seconds
        )
        self._exchange = Exchange(
            model=model, schemas=self._toolbox.schemas, journal=self._journal, terms=self._terms, new_id=new_id
        )

    async def run(self) -> AsyncGenerator[Event, None]:
        """Work until nothing is left to answer, or until a person must decide; the last event tells which.

        Raises:
            ModelError: the model could not be asked; everything before is on record, and running again goes on from it.
        """
        self._begin_run()
        while True:
            async with aclosing(self._calls.settle()) as events:
                async for event in events:
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
            async with aclosing(self._step()) as events:
                async for event in events:
                    yield event

    def resume(self, decisions: Iterable[Decision]) -> AsyncGenerator[Event, None]:
        """Record what people answered to the approval the session stopped at, at once, and go on as `run`."""
        for decision in decisions:
            until = decision.until.isoformat() if decision.until else None
            self._journal.record("approval_decided", {**asdict(decision), "until": until})
        return self.run()

    def stop(self) -> None:
        """Close the task where it stands: every open call is answered, so that the history stays valid."""
        self._calls.finish_all(STOPPED)
        self.finish_task("stopped")

    def finish_task(self, outcome: Literal["answered", "stopped", "failed"]) -> None:
        """Record how the task ended; a failed one may have calls open, which then were not run."""
        if self.conversation.task:
            self._calls.finish_all(STOPPED)
            self._journal.record("task_finished", {"outcome": outcome})

    async def _step(self) -> AsyncGenerator[Event, None]:
        """Ask the model, unless the task must be closed."""
        task = self.conversation.task
        if task is None:
            return
        if self._terms.mode != (self.conversation.mode or "ask"):
            told = {"mode": self._terms.mode, "text": noted(mode_notice(self._terms.mode))}
            self._journal.record("mode_told", told)
        if valve := self._exchange.valve(task):
            await self._exchange.close(task, valve)
            return
        async with aclosing(self._exchange.ask(task)) as events:
            async for event in events:
                yield event

    def _begin_run(self) -> None:
        """Note that somebody works at an open task again: the time since the last run was not work."""
        if self.conversation.task:
            self._journal.record("run_begun", {}, durable=False)

    def _answered(self) -> Answered | None:
        """The answer of the task, if there is one; one that was cut is gone on with instead."""
        if self.conversation.can_continue:
            self._journal.record("answer_continued", {})
        task, answer = self.conversation.task, self.conversation.answer
        if task is None or answer is None:
            return None
        notice = ending_notice(self.conversation.ending, answer, self._terms.language)
        text = f"{answer}\n\n{notice}".strip() if notice else answer
        return Answered(task_id=task.task_id, text=text, report=task.report(), partly=task.partly)

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
            self._journal.record("conversation_started", {"system": system_prompt(self._toolbox.project)})
        task = self.conversation.task
        task_id = task.task_id if task else self._new_id()
        taken = {"message_id": message.message_id, "text": message.text, "task_id": task_id}
        self._journal.record("message_taken", taken)

    def _rules(self) -> Rules:
        task = self.conversation.task
        restrictions = task.restrictions if task else Restrictions()
        grants = (*self._grants, *self.conversation.grants)
        return Rules(mode=self._terms.mode, restrictions=restrictions, grants=grants, now=self._journal.now())
