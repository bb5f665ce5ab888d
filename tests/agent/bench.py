"""A session on a real project, real tools, a real sandbox and a scripted model server, for tests of the loop."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from agent.conversation import Conversation
from agent.events import ApprovalNeeded, Decision, Event, Scope
from agent.exchange import Terms
from agent.ledger import Ledger
from agent.model import JsonObject, Model
from agent.models import load_model
from agent.policy import Grant
from agent.project import Owner, Project
from agent.providers import resolve
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from agent.session import Session, UserMessage
from agent.tool import ToolContext
from agent.tools import load_tools

SANDBOX_UID = 61137


class ListInbox:
    """An inbox in memory, as a library user would write one."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self.items = [UserMessage(message_id=f"m{number}", text=text) for number, text in enumerate(texts)]

    def say(self, text: str, message_id: str) -> None:
        self.items.append(UserMessage(message_id=message_id, text=text))

    async def waiting(self) -> Sequence[UserMessage]:
        return list(self.items)

    async def taken(self, message_ids: Sequence[str]) -> None:
        self.items = [item for item in self.items if item.message_id not in message_ids]


class Clock:
    """Time that moves only when told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_seconds(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Bench:
    """Opens sessions again and again over the same ledger and project."""

    def __init__(self, directory: Path, base_url: str) -> None:
        self.project_path = directory / "project"
        self.project_path.mkdir(mode=0o700)
        self.ledger_path = directory / "ledger.jsonl"
        self.background = directory / "background"
        self.inbox = ListInbox()
        self.clock = Clock()
        self.terms = Terms()
        self.grants: list[Grant] = []
        self.tools = [*load_tools()]
        self.as_root = os.geteuid() == 0
        if self.as_root:
            os.chown(self.project_path, SANDBOX_UID, SANDBOX_UID)
        self._ids = count(1)
        self.model: Model = load_model(resolve("compatible:scripted", base_url=base_url, api_key="k"))

    @contextmanager
    def session(self, guard: Callable[[], None] = lambda: None) -> Generator[Session]:
        owner = Owner(SANDBOX_UID, SANDBOX_UID) if self.as_root else None
        sandbox = BubblewrapSandbox(uid=owner.uid, gid=owner.gid) if owner else BubblewrapSandbox()
        with (
            Project.open(self.project_path, owner=owner) as project,
            Ledger(self.ledger_path, clock=self.clock, guard=guard) as ledger,
        ):
            yield Session(
                model=self.model,
                tools=self.tools,
                context=ToolContext(project=project, sandbox=sandbox, background=self.background),
                ledger=ledger,
                inbox=self.inbox,
                new_id=lambda: f"id{next(self._ids)}",
                terms=self.terms,
                grants=self.grants,
            )

    async def close(self) -> None:
        """Let the model's connections go, in the loop that used them."""
        await self.model.aclose()

    async def run(
        self,
        *decisions: Decision,
        until: type[Event] | None = None,
        watch: Callable[[Event], None] = lambda _event: None,
    ) -> list[Event]:
        """Open a session, run it to its end or its question, and close it: as one turn does.

        With `until` the run is dropped at that event, as a process that is killed there would.
        """
        told: list[Event] = []
        with self.session() as session:
            async with aclosing(self.model), aclosing(session.resume(decisions)) as events:
                async for event in events:
                    told.append(event)
                    watch(event)
                    if until and isinstance(event, until):
                        break
        return told

    async def answer(
        self,
        events: Sequence[Event],
        scope: Scope,
        reason: str = "",
        *,
        until: type[Event] | None = None,
        watch: Callable[[Event], None] = lambda _event: None,
        arguments: JsonObject | None = None,
        days: float = 0,
    ) -> list[Event]:
        """Answer the question that a run ended with."""
        asked = events[-1]
        assert isinstance(asked, ApprovalNeeded)
        decision = Decision(
            call_id=asked.call.id,
            digest=asked.digest,
            scope=scope,
            by="Ann",
            reason=reason,
            until=self.clock() + timedelta(days=days) if days else None,
            arguments=arguments,
        )
        return await self.run(decision, until=until, watch=watch)

    async def conversation(self) -> Conversation:
        """Run to the end, and return the conversation as the live session holds it."""
        with self.session() as session:
            async with aclosing(self.model), aclosing(session.run()) as events:
                async for _ in events:
                    pass
            return session.conversation
