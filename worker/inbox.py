"""DOOR: what people said, stored before their platform is told, and waiting for the agent."""

import uuid

from worker.keys import REMEMBERED_SECONDS, Keys, chat_key, handled_key, person_key, seen_key
from worker.messages import Accepted, Address, Inbound, Sender
from worker.queue import TurnQueue
from worker.store import WAKE, Store

LEFT_SECONDS = 60 * 24 * 3600
"""How long the state of a conversation is kept that its chat has left; its ledger stays."""

FIRST_PROJECT = "hello"
"""The project that a new workspace holds."""

_ACCEPT = (
    WAKE
    + """
local waiting, known, turn, pending, about = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
redis.call('ZREMRANGEBYSCORE', known, 0, now_ms() - ARGV[3] * 1000)
if redis.call('ZADD', known, 'NX', now_ms(), ARGV[1]) == 0 then
  return {'duplicate', tonumber(redis.call('HGET', turn, 'wake') or '') or 0, redis.call('LLEN', waiting)}
end
redis.call('EXPIRE', known, ARGV[3])
redis.call('RPUSH', waiting, ARGV[2])
redis.call('HSET', about, 'language', ARGV[4])
redis.call('HDEL', turn, 'held')
local count = redis.call('LLEN', waiting)
if redis.call('SCARD', pending) > 0 then return {'parked', 0, count} end
local woken = wake(turn)
return {woken[1], woken[2], count}
"""
)


class Inbox:
    """Accepts messages; everything it returned for is on disk in Redis."""

    def __init__(self, store: Store, queue: TurnQueue) -> None:
        self._store = store
        self._queue = queue

    async def accept(self, inbound: Inbound) -> Accepted:
        """Store a message and make sure that a turn will take it; the same message again changes nothing."""
        conversation_id = await self._conversation_for(inbound)
        await self._store.touch(conversation_id)
        keys = Keys(conversation_id)
        outcome, epoch, waiting = await self._store.call(
            _ACCEPT,
            [keys.waiting, keys.known, keys.turn, keys.pending, keys.about],
            inbound.message_id,
            inbound.model_dump_json(),
            REMEMBERED_SECONDS,
            inbound.language,
        )
        if epoch:
            await self._queue.call_turn(conversation_id, epoch)
        outcome = "joined" if outcome == "queued" else outcome
        return Accepted(outcome=outcome, conversation_id=conversation_id, waiting=waiting)

    async def was_handled(self, address: Address, message_id: str) -> bool:
        """Whether this message was for Paigate itself, and was dealt with already."""
        return await self._store.text(handled_key(address.key, message_id)) is not None

    async def mark_handled(self, address: Address, message_id: str) -> None:
        """Remember that this message needs nothing more."""
        await self._store.keep_first(handled_key(address.key, message_id), "1", seconds=REMEMBERED_SECONDS)

    async def _conversation_for(self, inbound: Inbound) -> str:
        """The conversation this message belongs to, the same one however often it is delivered."""
        bound = await bind_conversation(self._store, inbound.address, inbound.sender)
        seen = seen_key(inbound.address.key, inbound.message_id)
        return await self._store.keep_first(seen, bound, seconds=REMEMBERED_SECONDS)


async def bind_conversation(store: Store, address: Address, sender: Sender, *, renew: bool = False) -> str:
    """The conversation a chat is bound to, made on first use, or a new one in the same project."""
    key = chat_key(address.key)
    bound = await store.text(key)
    if bound and not renew:
        return bound
    person_id = await identify(store, sender)
    conversation_id = uuid.uuid4().hex[:16]
    about = {"address": address.model_dump_json(), "person": person_id, "project": FIRST_PROJECT}
    await store.set_fields(Keys(conversation_id).about, about)
    if renew:
        await store.set(key, conversation_id)
        for left in (Keys(bound).about, Keys(bound).turn) if bound else ():
            await store.expire(left, LEFT_SECONDS)
        return conversation_id
    return await store.keep_first(key, conversation_id)


async def identify(store: Store, sender: Sender) -> str:
    """The person behind a platform user, made on first sight."""
    return await store.keep_first(person_key(sender.platform, sender.user_id), f"p{uuid.uuid4().hex[:12]}")
