"""DOOR: what is to be said, durable and in order per conversation, until its delivery is recorded."""

import base64
import json
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from worker.identity import is_dead, this_process
from worker.keys import REMEMBERED_SECONDS, Keys, deliverer_key, penalty_key, ready_key
from worker.messages import OutboxEntry
from worker.store import CLOCK, Store

CLAIM_SECONDS = 10.0

_POST = (
    CLOCK
    + """
local outbox, entries, done, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, entry, slot, fence = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if fence ~= '' and not (held_lease(turn) and redis.call('HGET', turn, 'fence') == fence) then return {'lost'} end
if redis.call('EXISTS', done) == 1 then return {'known'} end
if redis.call('HSETNX', entries, id, entry) == 0 then
  if slot ~= '' then redis.call('HSET', entries, id, entry) end
  return {'replaced'}
end
redis.call('RPUSH', outbox, id)
return {'posted'}
"""
)

_DELIVERED = """
local outbox, entries, done, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, seen, once, refusal = ARGV[1], ARGV[2], ARGV[3], ARGV[5]
if redis.call('HGET', entries, id) ~= seen then return {'replaced'} end
redis.call('LREM', outbox, 1, id)
redis.call('HDEL', entries, id)
if once ~= '' then redis.call('SET', done, 1, 'EX', ARGV[4]) end
if refusal ~= '' then
  redis.call('RPUSH', dead, refusal)
  redis.call('LTRIM', dead, -100, -1)
  redis.call('EXPIRE', dead, ARGV[4])
end
return {'delivered'}
"""

_FIRST = """
while true do
  local id = redis.call('LINDEX', KEYS[1], 0)
  if not id then return {'', 0} end
  local entry = redis.call('HGET', KEYS[2], id)
  if entry then return {entry, redis.call('LLEN', KEYS[1])} end
  redis.call('LPOP', KEYS[1])
end
"""

_CLAIM = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[2] then return {holder} end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return {ARGV[1]}
"""


class LeaseLost(Exception):
    """The turn that wrote this no longer owns the conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The next thing to say: the entry, how it lies in Redis, and how many wait behind it."""

    entry: OutboxEntry
    raw: str
    behind: int


class Outbox:
    """Posts entries, and hands them to the one who delivers."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def post(self, entry: OutboxEntry, *, fence: int | None = None) -> None:
        """Append an entry, once per `entry_id`; one with a slot replaces what waits there, in its place.

        Raises:
            LeaseLost: `fence` is given and no longer the conversation's lease.
        """
        keys = Keys(entry.conversation_id)
        entry_id = _name(entry)
        (outcome,) = await self._store.call(
            _POST,
            [keys.outbox, keys.entries, keys.done(entry_id), keys.turn],
            entry_id,
            entry.model_dump_json(),
            entry.slot,
            "" if fence is None else fence,
        )
        if outcome == "lost":
            raise LeaseLost(entry.conversation_id)
        ready = ready_key(entry.address.platform)
        pipeline = self._store.redis.pipeline(transaction=False)
        pipeline.sadd(ready, entry.conversation_id)
        pipeline.publish(ready, entry.conversation_id)
        await self._store.answer(pipeline.execute())

    async def first(self, conversation_id: str) -> Pending | None:
        """The next thing to say in a conversation."""
        keys = Keys(conversation_id)
        raw, count = await self._store.call(_FIRST, [keys.outbox, keys.entries])
        if not raw:
            return None
        return Pending(entry=OutboxEntry.model_validate_json(raw), raw=raw, behind=count - 1)

    async def receipt(self, entry: OutboxEntry, part: int) -> str | None:
        """The platform's message id of a part that was sent, by the entry or by an earlier one in its slot."""
        return await self._store.text(Keys(entry.conversation_id).receipt(_name(entry), part))

    async def was_attempted(self, entry: OutboxEntry, part: int) -> bool:
        """Whether a send of this part was begun and its outcome never learnt."""
        return await self._store.text(Keys(entry.conversation_id).attempt(_name(entry), part)) is not None

    async def begin(self, entry: OutboxEntry, part: int) -> None:
        """Note that a send of this part is about to begin."""
        key = Keys(entry.conversation_id).attempt(_name(entry), part)
        await self._store.set(key, "1", seconds=REMEMBERED_SECONDS)

    async def withdraw(self, entry: OutboxEntry, part: int) -> None:
        """Note that the send surely did not happen."""
        await self._store.delete(Keys(entry.conversation_id).attempt(_name(entry), part))

    async def record(self, entry: OutboxEntry, part: int, message_id: str) -> None:
        """Keep the receipt of a sent part."""
        keys, name = Keys(entry.conversation_id), _name(entry)
        pipeline = self._store.redis.pipeline(transaction=True)
        pipeline.set(keys.receipt(name, part), message_id, ex=REMEMBERED_SECONDS)
        pipeline.delete(keys.attempt(name, part))
        await self._store.answer(pipeline.execute())

    async def delivered(self, pending: Pending, *, refusal: str = "") -> bool:
        """Take a delivered entry out; false when a newer one took its place meanwhile, which is next then.

        With `refusal`, the reason why a platform did not take it, it is set aside where an operator finds it.
        """
        entry, keys, name = pending.entry, Keys(pending.entry.conversation_id), _name(pending.entry)
        (outcome,) = await self._store.call(
            _DELIVERED,
            [keys.outbox, keys.entries, keys.done(name), keys.dead],
            name,
            pending.raw,
            "" if entry.slot else "once",
            REMEMBERED_SECONDS,
            json.dumps({"entry": pending.raw, "reason": refusal}) if refusal else "",
        )
        return outcome == "delivered"

    async def ready(self, platform: str) -> set[str]:
        """Conversations that may have something to say on a platform."""
        return await self._store.members(ready_key(platform))

    @asynccontextmanager
    async def told(self, platform: str) -> AsyncGenerator[Callable[[float], Awaitable[str | None]]]:
        """Listen for news: the yielded function waits so many seconds for a conversation with something to say."""
        async with self._store.redis.pubsub() as listening:
            await listening.subscribe(ready_key(platform))

            async def wait(seconds: float) -> str | None:
                message = await listening.get_message(ignore_subscribe_messages=True, timeout=seconds)
                return str(message["data"]) if message else None

            yield wait

    async def claim(self, platform: str) -> bool:
        """Be the one process that delivers on a platform, for `CLAIM_SECONDS`; false while another one lives."""
        key, milliseconds = deliverer_key(platform), int(CLAIM_SECONDS * 1000)
        (holder,) = await self._store.call(_CLAIM, [key], this_process(), "", milliseconds)
        if holder != this_process() and is_dead(holder):
            (holder,) = await self._store.call(_CLAIM, [key], this_process(), holder, milliseconds)
        return holder == this_process()

    async def settle(self, platform: str, conversation_id: str) -> bool:
        """Take a conversation with nothing left to say off the list; false when something came meanwhile."""
        await self._store.exclude(ready_key(platform), conversation_id)
        if await self.first(conversation_id) is None:
            return True
        await self._store.include(ready_key(platform), conversation_id)
        return False

    async def penalise(self, address_key: str, seconds: float) -> None:
        """Keep the platform's penalty, for this process and the next."""
        await self._store.set(penalty_key(address_key), "1", seconds=seconds)

    async def penalty(self, address_key: str) -> float:
        """Seconds until something may be sent to a chat again."""
        milliseconds: int = await self._store.answer(self._store.redis.pttl(penalty_key(address_key)))
        return max(0, milliseconds) / 1000

    async def keep_blob(self, conversation_id: str, data: bytes) -> str:
        """Keep a file's bytes until they are delivered, a week at most; returns their id."""
        blob_id = uuid.uuid4().hex
        key = Keys(conversation_id).blob(blob_id)
        await self._store.set(key, base64.b64encode(data).decode(), seconds=REMEMBERED_SECONDS)
        return blob_id

    async def blob(self, conversation_id: str, blob_id: str) -> bytes | None:
        """The bytes of a file, or nothing when they expired."""
        text = await self._store.text(Keys(conversation_id).blob(blob_id))
        return None if text is None else base64.b64decode(text)


def _name(entry: OutboxEntry) -> str:
    return entry.slot or entry.entry_id
