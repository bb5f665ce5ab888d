"""Repair what a crash left: work without a job, jobs without a worker, approvals whose time has run out.

Every pass may be run by any worker at any time and changes nothing where all is well.
"""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field

import structlog
from pydantic import ValidationError

from worker.approvals import Approvals
from worker.errands import reconcile_errands
from worker.identity import is_dead, local_pid
from worker.keys import ACTIVE
from worker.lease import Leases
from worker.outbox import Outbox
from worker.queue import TurnQueue
from worker.store import Store, milliseconds, utc_now

MOST_A_PASS = 500
LOST_MS = 5_000
"""A wake-up that no turn took up for so long, and whose job is not in the queue, is lost."""

QUIET_MS = 60_000
FROZEN_MS = 120_000
"""A process of this host that lost its lease so long ago and is still there will not come to its senses."""

_FORGET = """
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('ZREM', KEYS[1], ARGV[1]) end
return {'ok'}
"""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciler:
    """Looks after conversations that were touched lately, and after pending approvals."""

    store: Store
    queue: TurnQueue
    leases: Leases
    approvals: Approvals
    outbox: Outbox
    _broken: set[str] = field(default_factory=set[str])

    async def run(self) -> None:
        """One pass over at most `MOST_A_PASS` conversations, the longest untouched first.

        A record that cannot be read is told of once and left, so that it does not hold up the others.
        """
        touched: list[tuple[str, float]] = await self.store.answer(
            self.store.redis.zrange(ACTIVE, 0, MOST_A_PASS - 1, withscores=True)
        )
        for conversation_id, score in touched:
            try:
                await self._look_after(conversation_id, score)
            except (ValidationError, KeyError) as error:
                self._tell_once(conversation_id, error)
        for approval in await self.approvals.overdue(utc_now(), MOST_A_PASS):
            await self.approvals.expire(approval)

    async def close(self) -> None:
        """Let the connections go."""
        await self.store.close()
        self.queue.close()

    async def _look_after(self, conversation_id: str, score: float) -> None:
        await reconcile_errands(self.store, self.queue, self.outbox, conversation_id, utc_now())
        holder = await self.leases.holder(conversation_id)
        if await self._is_frozen(conversation_id, holder):
            return
        gone = holder if holder and is_dead(holder) else ""
        state, epoch, age = await self.leases.reconcile(conversation_id, gone=gone)
        if state == "called" and age > LOST_MS and self.queue.has_lost_turn(conversation_id, epoch):
            _log.warning("reconcile.job_lost", conversation_id=conversation_id, epoch=epoch)
            state, epoch, age = await self.leases.reconcile(conversation_id, stale=epoch)
        if state == "called":
            await self.queue.call_turn(conversation_id, epoch)
        elif state == "idle" and milliseconds(utc_now()) - score > QUIET_MS:
            await self.store.call(_FORGET, [ACTIVE], conversation_id, str(int(score)))

    async def _is_frozen(self, conversation_id: str, holder: str) -> bool:
        """Whether a living process of this host lost its lease: it still has the ledger, so nobody can take over."""
        overdue = await self.leases.overdue_ms(conversation_id)
        pid = local_pid(holder)
        if pid is None or overdue <= 0:
            return False
        if overdue > FROZEN_MS:
            _log.error("reconcile.frozen_turn_killed", conversation_id=conversation_id, pid=pid)
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return True

    def _tell_once(self, conversation_id: str, error: Exception) -> None:
        if conversation_id not in self._broken:
            self._broken.add(conversation_id)
            _log.error("reconcile.unreadable", conversation_id=conversation_id, error=repr(error)[:500])
