"""One turn: take the lease, take the messages, run the session, say what happens, leave; or again.

A turn ends when nothing is left to answer or when a person must decide; nothing waits with it. What it was in the
middle of when it was killed stands in the ledger, and the next turn goes on from there.
"""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial

import structlog
from redis.exceptions import RedisError

from agent.cancelling import end
from agent.errors import LedgerCorrupt, ModelError, ProjectError, SandboxUnavailable
from agent.events import ApprovalNeeded, Decision, ProjectGrant
from agent.ledger import LedgerBusy
from agent.session import Session, UserMessage
from worker.about import About
from worker.approvals import Approvals, Taken, new_approval_id
from worker.asking import card_of
from worker.keys import Keys
from worker.lease import Lease, StopFacts
from worker.messages import Approval, Inbound, StandingGrant
from worker.narration import Narrator
from worker.outbox import LeaseLost
from worker.store import Store
from worker.workshop import Workplace, Workshop

MOST_TRIES = 3
"""A turn that was begun so often without an orderly end is given up."""

DRAIN_SECONDS = 6.0
"""How long a turn may go on to its next step boundary after the host asked it to leave."""

TICK_SECONDS = 5.0
"""How often the live message shows at least that time goes by."""

_log = structlog.get_logger()


class Suspended(Exception):
    """The host is shutting down; another process takes the turn up where it stands."""


@dataclass(slots=True)
class WaitingMessages:
    """What people said meanwhile, for the session; also where a turn that must leave finds its step boundary."""

    store: Store
    conversation_id: str
    _raw: dict[str, str] = field(default_factory=dict[str, str])
    leaving: asyncio.Event = field(default_factory=asyncio.Event)

    async def waiting(self) -> Sequence[UserMessage]:
        """Messages no turn has taken yet.

        Raises:
            Suspended: the turn must leave now.
        """
        if self.leaving.is_set():
            raise Suspended
        items = await self.store.items(Keys(self.conversation_id).waiting)
        inbound = [Inbound.model_validate_json(item) for item in items]
        self._raw = {message.message_id: item for message, item in zip(inbound, items, strict=True)}
        return [UserMessage(message_id=message.message_id, text=message.text) for message in inbound]

    async def taken(self, message_ids: Sequence[str]) -> None:
        """Take what is on record now out of the queue: these very items, so that doing it twice takes no other."""
        await self.store.remove(Keys(self.conversation_id).waiting, *(self._raw[name] for name in message_ids))


async def run_turn(workshop: Workshop, conversation_id: str) -> None:
    """Run a conversation's turn, unless another process does."""
    lease = await workshop.leases.begin(conversation_id)
    if lease is None:
        return
    keeper = asyncio.create_task(workshop.leases.keep(lease))
    try:
        await _run_leased(workshop, lease)
    except LeaseLost:
        _log.warning("turn.lease_lost", conversation_id=conversation_id)
    finally:
        await end([keeper])


async def _run_leased(workshop: Workshop, lease: Lease) -> None:
    """Run the turn, or give it up where trying again cannot help."""
    about = await workshop.about(lease.conversation_id)
    give_up = partial(_give_up, workshop, about, lease)
    if lease.tries > MOST_TRIES:
        await give_up("turn.poison")
        return
    try:
        grants = await workshop.grants.standing(about.person_id, about.project, workshop.clock())
        with workshop.open(lease.conversation_id, about, lease, grants) as place:
            await Turn(workshop, place, lease).run()
    except LedgerBusy:
        _log.warning("turn.ledger_busy", conversation_id=lease.conversation_id)
        await workshop.leases.leave(lease, "resume")
    except LedgerCorrupt as error:
        await give_up("turn.ledger_corrupt", str(error))
    except ProjectError as error:
        await give_up("turn.project_unusable", str(error))
    except OSError as error:
        await give_up("turn.disk", error.strerror or "input/output error")


async def _give_up(workshop: Workshop, about: About, lease: Lease, key: str, detail: str = "") -> None:
    """Leave the conversation as it is until its person says something, and tell them why: never in silence."""
    _log.error(key, conversation_id=lease.conversation_id, detail=detail)
    await workshop.narrator(about, lease).notice(key, f"{key}:{lease.fence}", detail=detail)
    await workshop.leases.leave(lease, "hold")


class Turn:
    """A turn that holds its lease and its ledger."""

    def __init__(self, workshop: Workshop, place: Workplace, lease: Lease) -> None:
        self._leases = workshop.leases
        self._approvals: Approvals = workshop.approvals
        self._grants = workshop.grants
        self._patience = workshop.patience
        self._clock = workshop.clock
        self._place = place
        self._lease = lease
        self._messages = WaitingMessages(workshop.store, lease.conversation_id)
        self._narrator: Narrator = workshop.narrator(place.about, lease)

    async def run(self) -> None:
        """Work until the conversation can be left.

        Raises:
            LeaseLost: somebody else owns the conversation now; nothing more was written or said.
            LedgerCorrupt: the conversation's record cannot be read.
        """
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._messages.leaving.set)
        session = self._place.session(self._messages)
        while True:
            how = await self._work(session)
            if await self._leases.leave(self._lease, how):
                return

    async def _work(self, session: Session) -> str:
        """Run the session once; returns how to leave."""
        if self._lease.stop_asked.is_set():
            return await self._after_stop(session)
        running = asyncio.create_task(self._run_session(session))
        stopping = asyncio.create_task(self._wait_for_stop())
        ticking = asyncio.create_task(self._tick())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                await end([running])
                return await self._after_stop(session)
            await running
        except ModelError as error:
            await self._fail(session, error)
        except Suspended:
            return "resume"
        finally:
            await end([ticking, stopping])
        return ""

    async def _run_session(self, session: Session) -> None:
        taken = await self._approvals.taken(self._lease.conversation_id)
        events = session.resume([_decision(item) for item in taken])
        await self._settle(taken)
        async with aclosing(events):
            async for event in events:
                task = session.conversation.task
                await self._narrator.tell(event, task)
                if isinstance(event, ApprovalNeeded):
                    await self._ask(event, task.task_id if task else "")
                elif isinstance(event, ProjectGrant):
                    await self._keep(event)

    async def _keep(self, given: ProjectGrant) -> None:
        """Keep an answer for the project; lost in a crash just here, the next call like it asks again."""
        grant = StandingGrant(
            tool=given.tool,
            pattern=given.pattern,
            command=given.command,
            variant=given.variant,
            until=given.until,
            by=given.by,
            at=self._clock(),
        )
        about = self._place.about
        grant_id = f"{self._lease.conversation_id}:{given.call_id}"
        await self._grants.give(about.person_id, about.project, grant_id, grant)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            with suppress(RedisError):  # the next tick tells as much
                await self._narrator.tick()

    async def _settle(self, taken: Sequence[Taken]) -> None:
        for item in taken:
            await self._approvals.show(item.approval)
        ids = [item.approval.approval_id for item in taken]
        await self._approvals.settled(self._lease.conversation_id, ids)

    async def _ask(self, needed: ApprovalNeeded, task_id: str) -> None:
        """Put the question to the person; asked again after a crash, it is the same question."""
        for pending in await self._approvals.pending(self._lease.conversation_id):
            if (pending.call_id, pending.digest) == (needed.call.id, needed.digest):
                return await self._approvals.ask(pending, fence=self._lease.fence)
        return await self._approvals.ask(self._question(needed, task_id), fence=self._lease.fence)

    def _question(self, needed: ApprovalNeeded, task_id: str) -> Approval:
        approval_id, about = new_approval_id(self._lease.conversation_id), self._place.about
        return Approval(
            approval_id=approval_id,
            conversation_id=self._lease.conversation_id,
            address=about.address,
            language=about.language,
            task_id=task_id,
            call_id=needed.call.id,
            digest=needed.digest,
            requester_id=about.person_id,
            command=needed.preview.command,
            card=card_of(needed, approval_id, about.project, self._clock(), self._patience),
        )

    async def _wait_for_stop(self) -> None:
        """Return when the session must end now: stopped by the person, lease lost, or the host has waited enough."""
        leaving = asyncio.create_task(self._messages.leaving.wait())
        ends = [asyncio.create_task(self._lease.stop_asked.wait()), asyncio.create_task(self._lease.lost.wait())]
        try:
            await asyncio.wait({leaving, *ends}, return_when=asyncio.FIRST_COMPLETED)
            if leaving.done() and not any(end.done() for end in ends):
                await asyncio.wait(ends, timeout=DRAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end([leaving, *ends])

    async def _after_stop(self, session: Session) -> str:
        self._lease.check()
        if not self._lease.stop_asked.is_set():
            return "resume"
        task = session.conversation.task
        session.stop()
        unended = await self._end_background()
        self._lease.stop_asked.clear()
        await self._approvals.withdraw(self._lease.conversation_id)
        withdrawn = await self._approvals.taken(self._lease.conversation_id)
        await self._settle(withdrawn)
        if not withdrawn:
            await self._narrator.close("stopped", task)
        stop = await self._leases.stop_facts(self._lease.conversation_id)
        if unended or not stop.left:
            values = {"waiting": str(stop.held), "detail": unended}
            await self._narrator.notice(_stop_key(stop, unended), f"stopped:{self._lease.fence}", **values)
        return "stopped"

    async def _end_background(self) -> str:
        """End the background commands; returns what to mend when that fails, as trying again at once would too."""
        try:
            await self._place.end_background()
        except SandboxUnavailable as error:
            _log.error("turn.background_unended", conversation_id=self._lease.conversation_id, detail=str(error))
            return str(error)
        return ""

    async def _fail(self, session: Session, error: ModelError) -> None:
        _log.warning("turn.model_failed", conversation_id=self._lease.conversation_id, error=error.detail)
        task = session.conversation.task
        session.finish_task("failed")
        await self._narrator.close("failed", task)
        entry_id = f"failed:{self._lease.fence}:{len(session.conversation.messages)}"
        await self._narrator.notice(f"model.{type(error).__name__}", entry_id, detail=error.detail)


def _stop_key(stop: StopFacts, unended: str) -> str:
    """What is told after a stop."""
    if stop.left:
        return "new.background_failed"
    key = "stop.background_failed" if unended else "stop.done"
    return f"{key}_waiting" if stop.held else key


def _decision(taken: Taken) -> Decision:
    person = taken.approval.requester_id
    return Decision(
        call_id=taken.approval.call_id,
        digest=taken.approval.digest,
        scope=taken.decision.scope,
        by="" if taken.decision.ended else taken.decision.by or person,
        reason=taken.decision.reason,
        until=taken.decision.until,
        arguments=dict(taken.decision.edits) if taken.decision.edits is not None else None,
    )
