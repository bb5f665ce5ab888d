"""DOOR: what people said, stored before their platform is told, and waiting for the agent."""

import hashlib
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


async def bind_conversation(store: Store, address: Address, sender: Sender) -> str:
    """The conversation a chat is bound to, made on first use."""
    bound = await store.text(chat_key(address.key))
    if bound:
        return bound
    conversation_id = uuid.uuid4().hex[:16]
    await _make_conversation(store, conversation_id, address, sender)
    return await store.keep_first(chat_key(address.key), conversation_id)


async def renew_conversation(store: Store, address: Address, sender: Sender, conversation_id: str) -> None:
    """Bind a chat to a new conversation in the same project, and let the old one's state go in time."""
    left = await bind_conversation(store, address, sender)
    await _make_conversation(store, conversation_id, address, sender)
    await store.set(chat_key(address.key), conversation_id)
    if left != conversation_id:
        for key in (Keys(left).about, Keys(left).turn):
            await store.expire(key, LEFT_SECONDS)


def conversation_of_message(address: Address, message_id: str) -> str:
    """The id of the conversation that this message begins: the same one however often it is delivered."""
    return hashlib.sha256(f"{address.key}/{message_id}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


async def _make_conversation(store: Store, conversation_id: str, address: Address, sender: Sender) -> None:
    person_id = await identify(store, sender)
    about = {"address": address.model_dump_json(), "person": person_id, "project": FIRST_PROJECT}
    await store.set_fields(Keys(conversation_id).about, about)


async def identify(store: Store, sender: Sender) -> str:
    """The person behind a platform user, made on first sight."""
    return await store.keep_first(person_key(sender.platform, sender.user_id), f"p{uuid.uuid4().hex[:12]}")
