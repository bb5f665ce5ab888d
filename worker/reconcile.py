"""Repair what a crash left: work without a job, jobs without a worker, approvals whose time has run out.

Every pass may be run by any worker at any time and changes nothing where all is well.
"""

from dataclasses import dataclass

import structlog

from worker.approvals import Approvals
from worker.identity import is_dead
from worker.lease import Leases
from worker.queue import TurnQueue
from worker.store import ACTIVE, Store, milliseconds, utc_now

MOST_A_PASS = 500
LOST_MS = 5_000
"""A wake-up whose job is not in the queue, and which no turn took up for so long, is lost."""

QUIET_MS = 60_000
_log = structlog.get_logger()

_FORGET = """
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then redis.call('ZREM', KEYS[1], ARGV[1]) end
return {'ok'}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciler:
    """Looks after conversations that were touched lately, and after pending approvals."""

    store: Store
    queue: TurnQueue
    leases: Leases
    approvals: Approvals

    async def run(self) -> None:
        """One pass over at most `MOST_A_PASS` conversations, the longest untouched first."""
        now = milliseconds(utc_now())
        touched: list[tuple[str, float]] = await self.store.redis.zrange(ACTIVE, 0, MOST_A_PASS - 1, withscores=True)
        for conversation_id, score in touched:
            await self._look_after(conversation_id, score, now)
        for approval in await self.approvals.overdue(utc_now(), MOST_A_PASS):
            await self.approvals.expire(approval)

    async def _look_after(self, conversation_id: str, score: float, now: int) -> None:
        holder = await self.leases.holder(conversation_id)
        gone = holder if holder and is_dead(holder) else ""
        state, epoch, age = await self.leases.reconcile(conversation_id, gone=gone)
        if state == "called" and age > LOST_MS and not self.queue.waits(conversation_id, epoch):
            _log.warning("reconcile.job_lost", conversation_id=conversation_id, epoch=epoch)
            state, epoch, age = await self.leases.reconcile(conversation_id, stale=epoch)
        if state == "called":
            await self.queue.call_turn(conversation_id, epoch)
        elif state == "idle" and now - score > QUIET_MS:
            await self.store.call(_FORGET, [ACTIVE], conversation_id, repr(score) if score % 1 else str(int(score)))
