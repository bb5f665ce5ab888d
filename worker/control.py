"""DOOR: what a person can do to a chat's work without waiting behind it."""

import secrets
from dataclasses import dataclass
from typing import Literal

from worker.about import mode_in
from worker.approvals import Approvals
from worker.inbox import Inbox, bind_conversation, conversation_of_message, renew_conversation
from worker.keys import Keys, chat_key
from worker.messages import Address, Errand, Mode, Sender, Status
from worker.outbox import Outbox
from worker.queue import TurnQueue
from worker.store import CLOCK, Store, connect_async, connect_queue, utc_now

__all__ = ["Control", "Doors", "connect_async", "open_doors"]

Standing = Literal["running", "queued", "parked", "idle"]

_STANDING = (
    CLOCK
    + """
local function standing(turn, pending)
  if held_lease(turn) then return 'running' end
  if redis.call('SCARD', pending) > 0 then return 'parked' end
  local waking = redis.call('HGET', turn, 'wake')
  if (waking and waking ~= '') or redis.call('HGET', turn, 'running') == '1' then return 'queued' end
  return 'idle'
end
"""
)

_STATE = _STANDING + "return {standing(KEYS[1], KEYS[3]), redis.call('LLEN', KEYS[2])}"

_STOP = (
    _STANDING
    + """
local turn, waiting, pending = KEYS[1], KEYS[2], KEYS[3]
local count, state = redis.call('LLEN', waiting), standing(turn, pending)
if ARGV[1] == 'drop' then redis.call('DEL', waiting) end
redis.call('HSET', turn, 'stop_count', ARGV[1] == 'drop' and 0 or count, 'left', ARGV[1] == 'drop' and 1 or 0)
if state ~= 'idle' then redis.call('HSET', turn, 'stop', 1) end
return {state, count}
"""
)


class Control:
    """Stop, begin anew, look."""

    def __init__(self, store: Store, queue: TurnQueue, approvals: Approvals) -> None:
        self._store = store
        self._queue = queue
        self._approvals = approvals

    async def conversation(self, address: Address, sender: Sender) -> str:
        """The conversation a chat is bound to, made on first use."""
        return await bind_conversation(self._store, address, sender)

    async def renew(self, address: Address, sender: Sender, message_id: str) -> tuple[str, int]:
        """End what runs in the chat, in silence, and begin a new conversation in the same project.

        Returns how the old one stood, and how many of its messages nobody will read. The same message again, as after
        a crash, begins nothing anew.
        """
        begun = conversation_of_message(address, message_id)
        left = await self.conversation(address, sender)
        if left == begun:
            return "idle", 0
        state, dropped = await self._end(left, "drop")
        await renew_conversation(self._store, address, sender, begun)
        return state, dropped

    async def stop(self, conversation_id: str) -> tuple[Standing, int]:
        """End what runs; what waits is kept. Returns how it stood, and how many messages wait.

        A running turn says itself that it has stopped, once nothing of it is left.
        """
        return await self._end(conversation_id, "keep")

    async def _end(self, conversation_id: str, waiting_messages: Literal["keep", "drop"]) -> tuple[Standing, int]:
        keys = Keys(conversation_id)
        state, waiting = await self._store.call(_STOP, [keys.turn, keys.waiting, keys.pending], waiting_messages)
        if state == "parked":
            await self._approvals.withdraw(conversation_id)
        if state != "running":  # a running turn ends them itself
            errand = Errand(kind="end_background", asked_at=utc_now())
            await self._send_errand(conversation_id, f"end-background-{secrets.token_hex(8)}", errand)
        return state, waiting

    async def status(self, address: Address) -> Status | None:
        """How a chat's conversation stands; nothing when nothing was ever said there."""
        conversation_id = await self._store.text(chat_key(address.key))
        if conversation_id is None:
            return None
        keys = Keys(conversation_id)
        state, waiting = await self._store.call(_STATE, [keys.turn, keys.waiting, keys.pending])
        about = await self._store.fields(keys.about)
        cards = tuple(approval.card for approval in await self._approvals.pending(conversation_id))
        return Status(
            conversation_id=conversation_id,
            project=about["project"],
            state=state,
            waiting=waiting,
            mode=mode_in(about),
            approvals=cards,
        )

    async def set_mode(self, conversation_id: str, mode: Mode) -> None:
        """Set how much runs unasked from the conversation's next turn on."""
        await self._store.set_fields(Keys(conversation_id).about, {"mode": mode})

    async def fetch_file(self, conversation_id: str, path: str, entry_id: str) -> None:
        """Have a file of the project sent to the chat."""
        await self._send_errand(conversation_id, entry_id, Errand(path=path, asked_at=utc_now()))

    async def _send_errand(self, conversation_id: str, entry_id: str, errand: Errand) -> None:
        await self._store.touch(conversation_id)
        await self._store.set_fields(Keys(conversation_id).errands, {entry_id: errand.model_dump_json()})
        await self._queue.call_errand(conversation_id, entry_id)

    async def ping(self) -> None:
        """Reach Redis.

        Raises:
            redis.exceptions.RedisError: it cannot be reached.
        """
        await self._store.answer(self._store.redis.ping())


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """All the doors of one process."""

    store: Store
    queue: TurnQueue
    inbox: Inbox
    outbox: Outbox
    approvals: Approvals
    control: Control

    async def close(self) -> None:
        """Let the connections go."""
        await self.store.close()
        self.queue.close()


def open_doors(redis_url: str) -> Doors:
    """The doors to the Redis at an address; nothing is sent yet."""
    store = Store(redis_url)
    queue = TurnQueue(connect_queue(redis_url))
    outbox = Outbox(store)
    approvals = Approvals(store, queue, outbox)
    return Doors(
        store=store,
        queue=queue,
        inbox=Inbox(store, queue),
        outbox=outbox,
        approvals=approvals,
        control=Control(store, queue, approvals),
    )
