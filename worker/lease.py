"""One turn at a time per conversation: a lease with a fencing token, kept alive by a heartbeat."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from worker.identity import this_process
from worker.outbox import LeaseLost
from worker.store import CLOCK, WAKE, Keys, Store

LEASE_SECONDS = 15.0
HEARTBEAT_SECONDS = 0.25
"""Also how soon a running turn notices that a person said stop."""

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
local turn, waiting, pending, decided = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if redis.call('HGET', turn, 'fence') ~= ARGV[1] then return {'lost'} end
if ARGV[2] == '' and redis.call('HGET', turn, 'stop') == '1' then return {'more'} end
if ARGV[2] == '' and redis.call('LLEN', decided) > 0 then return {'more'} end
if ARGV[2] == '' and redis.call('SCARD', pending) == 0 and redis.call('LLEN', waiting) > 0 then return {'more'} end
if ARGV[2] == 'hold' then redis.call('HSET', turn, 'held', 1) end
redis.call('HSET', turn, 'holder', '', 'until', 0, 'stop', 0)
redis.call('HSET', turn, 'tries', 0)
if ARGV[2] ~= 'resume' then redis.call('HSET', turn, 'running', 0) end
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
  and redis.call('HGET', turn, 'held') ~= '1'
local work = unread or redis.call('LLEN', decided) > 0 or redis.call('HGET', turn, 'running') == '1'
local waking = redis.call('HGET', turn, 'wake')
if waking and waking ~= '' and waking ~= ARGV[2] then
  return {'called', tonumber(waking), now_ms() - tonumber(redis.call('HGET', turn, 'woken'))}
end
if not work then return {'idle', 0, 0} end
redis.call('HSET', turn, 'wake', '')
return {'called', wake(turn)[2], 0}
"""
)


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
        """Renew the lease until cancelled, and pass on that a person said stop."""
        while not lease.lost.is_set():
            started = self._monotonic()
            outcome, stop = await self._store.call(
                _RENEW, [Keys(lease.conversation_id).turn], lease.fence, int(LEASE_SECONDS * 1000)
            )
            if outcome == "lost":
                lease.lost.set()
                return
            lease.renewed = started
            if stop:
                lease.stop_asked.set()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def leave(self, lease: Lease, how: str = "") -> bool:
        """Return the lease, unless there is more to do; false means stay.

        `how` is "" to look for more first, "hold" to leave what waits for the next message, "resume" when the turn is
        not finished and another process must take it up.
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

    async def holder(self, conversation_id: str) -> str:
        """The process that holds the lease, or held it last."""
        return await self._store.field(Keys(conversation_id).turn, "holder") or ""
