"""One turn at a time per conversation: a lease with a fencing token, kept alive by a heartbeat."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from redis.exceptions import RedisError

from worker.identity import this_process
from worker.keys import Keys
from worker.outbox import LeaseLost
from worker.store import CLOCK, WAKE, Store

LEASE_SECONDS = 15.0
HEARTBEAT_SECONDS = 0.25
"""Also how soon a running turn notices that a person said stop."""

_log = structlog.get_logger()

_BEGIN = (
    CLOCK
    + """
local turn = KEYS[1]
if held_lease(turn) and redis.call('HGET', turn, 'holder') ~= ARGV[1] then return {'busy', 0, 0, 0} end
local fence = redis.call('HINCRBY', turn, 'fence', 1)
local tries = redis.call('HINCRBY', turn, 'tries', 1)
redis.call('HSET', turn, 'holder', ARGV[1], 'until', now_ms() + ARGV[2], 'running', 1, 'wake', '')
return {'begun', fence, tries, tonumber(redis.call('HGET', turn, 'stop') or '0') or 0}
"""
)

_RENEW = (
    CLOCK
    + """
local turn = KEYS[1]
if redis.call('HGET', turn, 'fence') ~= ARGV[1] or not held_lease(turn) then return {'lost', 0} end
redis.call('HSET', turn, 'until', now_ms() + ARGV[2])
return {'held', tonumber(redis.call('HGET', turn, 'stop') or '0') or 0}
"""
)

# Leaving looks once more, in the same instant: what came while the turn was finishing is not left behind.
_LEAVE = """
local turn, waiting, pending, decided, how = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[2]
if redis.call('HGET', turn, 'fence') ~= ARGV[1] then return {'lost'} end
local count = redis.call('LLEN', waiting)
if how == '' then
  if redis.call('HGET', turn, 'stop') == '1' or redis.call('LLEN', decided) > 0 then return {'more'} end
  if redis.call('SCARD', pending) == 0 and count > 0 then return {'more'} end
end
if how == 'stopped' then
  redis.call('HSET', turn, 'stop', 0)
  if count > tonumber(redis.call('HGET', turn, 'stop_count') or '0') then return {'more'} end
end
if how == 'stopped' or how == 'hold' then redis.call('HSET', turn, 'held', 1) end
if how ~= 'resume' then redis.call('HSET', turn, 'running', 0, 'stop', 0) end
redis.call('HSET', turn, 'holder', '', 'until', 0, 'tries', 0)
return {'left'}
"""

# What the reconciler finds: work that nobody has in hand is called for again under a new epoch.
_RECONCILE = (
    WAKE
    + """
local turn, waiting, pending, decided = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if ARGV[1] ~= '' and redis.call('HGET', turn, 'holder') == ARGV[1] then redis.call('HSET', turn, 'until', 0) end
if held_lease(turn) then return {'running', 0, 0} end
local unread = redis.call('LLEN', waiting) > 0 and redis.call('SCARD', pending) == 0
local fresh = (unread or redis.call('LLEN', decided) > 0) and redis.call('HGET', turn, 'held') ~= '1'
local work = fresh or redis.call('HGET', turn, 'running') == '1'
local waking = redis.call('HGET', turn, 'wake')
if waking and waking ~= '' and waking ~= ARGV[2] then
  return {'called', tonumber(waking), now_ms() - tonumber(redis.call('HGET', turn, 'woken'))}
end
if not work then return {'idle', 0, 0} end
redis.call('HSET', turn, 'wake', '')
return {'called', wake(turn)[2], 0}
"""
)


_OVERDUE = (
    CLOCK
    + """
local lease = redis.call('HMGET', KEYS[1], 'holder', 'until')
if not lease[1] or lease[1] == '' then return {0} end
return {now_ms() - tonumber(lease[2])}
"""
)


_STOP_FACTS = """
local stop = redis.call('HMGET', KEYS[1], 'stop_count', 'left')
return {tonumber(stop[1] or '0'), tonumber(stop[2] or '0'), redis.call('LLEN', KEYS[2])}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopFacts:
    """A stop as it was asked for: how many messages it holds back, and whether the chat left the conversation."""

    held: int
    left: bool


@dataclass(slots=True)
class Lease:
    """A held lease. `check` costs nothing, and refuses as soon as the lease may have run out."""

    conversation_id: str
    fence: int
    tries: int
    monotonic: Callable[[], float] = time.monotonic
    renewed: float = field(default=0.0)
    stop_asked: asyncio.Event = field(default_factory=asyncio.Event)
    lost: asyncio.Event = field(default_factory=asyncio.Event)

    def check(self) -> None:
        """Refuse to go on without the lease.

        Raises:
            LeaseLost: it ran out or was taken over.
        """
        if self.lost.is_set() or self.monotonic() - self.renewed > LEASE_SECONDS:
            raise LeaseLost(self.conversation_id)


class Leases:
    """Takes, keeps and returns leases."""

    def __init__(self, store: Store, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._monotonic = monotonic

    async def begin(self, conversation_id: str) -> Lease | None:
        """Take the lease, or nothing when another turn holds it."""
        started = self._monotonic()
        outcome, fence, tries, stop = await self._store.call(
            _BEGIN, [Keys(conversation_id).turn], this_process(), int(LEASE_SECONDS * 1000)
        )
        if outcome == "busy":
            return None
        lease = Lease(conversation_id, fence, tries, self._monotonic, renewed=started)
        if stop:
            lease.stop_asked.set()
        return lease

    async def keep(self, lease: Lease) -> None:
        """Renew the lease until cancelled or lost, and pass on that a person said stop.

        While Redis cannot be reached it is tried again as long as the lease may still be ours.
        """
        try:
            while self._monotonic() - lease.renewed <= LEASE_SECONDS:
                try:
                    if not await self._renew(lease):
                        return
                except RedisError as error:
                    _log.warning("lease.not_renewed", conversation_id=lease.conversation_id, error=str(error))
                await asyncio.sleep(HEARTBEAT_SECONDS)
        finally:
            lease.lost.set()

    async def _renew(self, lease: Lease) -> bool:
        started = self._monotonic()
        outcome, stop = await self._store.call(
            _RENEW, [Keys(lease.conversation_id).turn], lease.fence, int(LEASE_SECONDS * 1000)
        )
        if outcome == "lost":
            return False
        lease.renewed = started
        if stop:
            lease.stop_asked.set()
        return True

    async def leave(self, lease: Lease, how: str = "") -> bool:
        """Return the lease, unless there is more to do; false means stay.

        `how` is "" to look for more first, "stopped" to leave what waited when the person said stop, "hold" to leave
        all that waits for the next message, "resume" when the turn is not finished and must be taken up again.
        """
        keys = Keys(lease.conversation_id)
        (outcome,) = await self._store.call(
            _LEAVE, [keys.turn, keys.waiting, keys.pending, keys.decided], lease.fence, how
        )
        return outcome != "more"

    async def reconcile(self, conversation_id: str, *, gone: str = "", stale: int = 0) -> tuple[str, int, int]:
        """How a conversation stands: `running`, `idle`, or `called` with the epoch of its wake-up and its age in ms.

        `gone` is a holder known to be dead, `stale` an epoch whose job is known to be lost.
        """
        keys = Keys(conversation_id)
        outcome, epoch, age = await self._store.call(
            _RECONCILE, [keys.turn, keys.waiting, keys.pending, keys.decided], gone, stale or ""
        )
        return outcome, epoch, age

    async def stop_facts(self, conversation_id: str) -> StopFacts:
        """What belongs to the stop that a person asked for."""
        held, left, count = await self._store.call(
            _STOP_FACTS, [Keys(conversation_id).turn, Keys(conversation_id).waiting]
        )
        return StopFacts(held=held if count <= held else 0, left=bool(left))

    async def overdue_ms(self, conversation_id: str) -> int:
        """How long ago the lease of a turn ran out that never left; not above 0 while it is held or nobody has it."""
        (overdue,) = await self._store.call(_OVERDUE, [Keys(conversation_id).turn])
        return overdue

    async def holder(self, conversation_id: str) -> str:
        """The process that holds the lease, or held it last."""
        return await self._store.field(Keys(conversation_id).turn, "holder") or ""
