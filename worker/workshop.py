"""What turns work with: one workshop a process, and one workplace for each conversation that is open."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from agent.exchange import Terms
from agent.ledger import Ledger
from agent.model import Model
from agent.policy import Grant
from agent.project import Project
from agent.sandbox import Sandbox
from agent.session import Inbox, Session
from agent.tool import Tool, ToolContext
from worker.about import About, read_about
from worker.approvals import Approvals
from worker.asking import Patience
from worker.grants import Grants
from worker.lease import Lease, Leases
from worker.messages import StandingGrant
from worker.narration import Narrator
from worker.outbox import Outbox
from worker.store import Store
from worker.workspaces import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplace:
    """One conversation, open for work: its project, its ledger, and what a session is made from."""

    about: About
    project: Project
    ledger: Ledger
    model: Model
    tools: Sequence[Tool[Any]]
    sandbox: Sandbox
    terms: Terms
    grants: Sequence[Grant]
    background: Path

    def session(self, inbox: Inbox) -> Session:
        """The conversation's session, rebuilt from its ledger.

        Raises:
            LedgerCorrupt: the ledger cannot be read.
        """
        return Session(
            model=self.model,
            tools=self.tools,
            context=ToolContext(
                project=self.project,
                sandbox=self.sandbox,
                background=self.background,
                # The RQ worker, which outlives the process of a turn.
                lifeline=os.getppid(),
            ),
            ledger=self.ledger,
            inbox=inbox,
            terms=self.terms,
            grants=self.grants,
        )

    async def end_background(self) -> int:
        """End the conversation's background commands; returns how many ran."""
        return await end_background(self.sandbox, self.background)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Everything that turns share in one process."""

    store: Store
    outbox: Outbox
    approvals: Approvals
    grants: Grants
    leases: Leases
    workspaces: Workspaces
    ledgers: Path
    background: Path
    model: Model
    demo: bool
    tools: Sequence[Tool[Any]]
    sandbox: Sandbox
    terms: Terms
    patience: Patience
    clock: Callable[[], datetime]

    async def close(self) -> None:
        """Let all connections go."""
        await self.model.aclose()
        await self.store.close()

    async def about(self, conversation_id: str) -> About:
        """Whose conversation it is.

        Raises:
            KeyError: there is no such conversation.
        """
        return await read_about(self.store, conversation_id)

    @contextmanager
    def open(
        self, conversation_id: str, about: About, lease: Lease, grants: Sequence[StandingGrant]
    ) -> Generator[Workplace]:
        """Open a conversation for work; only the holder of its lease may write to its ledger.

        Raises:
            LedgerBusy: another process still has the ledger open.
        """
        path = self.ledgers / f"{conversation_id}.jsonl"
        with (
            self.workspaces.open(about.person_id, about.project) as project,
            Ledger(path, clock=self.clock, guard=lease.check) as ledger,
        ):
            yield Workplace(
                about=about,
                project=project,
                ledger=ledger,
                model=self.model,
                tools=self.tools,
                sandbox=self.sandbox,
                terms=replace(self.terms, mode=about.mode, language=about.language),
                grants=[_grant(grant) for grant in grants],
                background=self.background / conversation_id,
            )

    def narrator(self, about: About, lease: Lease) -> Narrator:
        """Who tells the conversation's chat how its turn goes."""
        return Narrator(
            outbox=self.outbox,
            conversation_id=lease.conversation_id,
            address=about.address,
            language=about.language,
            fence=lease.fence,
            demo=self.demo,
            clock=self.clock,
        )


def _grant(standing: StandingGrant) -> Grant:
    return Grant(
        tool=standing.tool,
        pattern=standing.pattern,
        command=standing.command,
        variant=standing.variant,
        until=standing.until,
        by=standing.by,
    )


async def end_background(sandbox: Sandbox, directory: Path, *, older_than: float | None = None) -> int:
    """End all background commands kept in `directory`, for certain; returns how many ran.

    With `older_than` only those that have run for so many seconds: what began later is let be.

    Raises:
        SandboxUnavailable: something of one cannot be ended.
    """
    background = sandbox.background(directory)
    running = [command for command in background.all() if command.running]
    old = [command for command in running if older_than is None or command.seconds >= older_than]
    if old == running:
        await background.end_all()
        return len(running)
    for command in old:
        await background.stop(command.command_id)
    return len(old)
