"""Where state lies in Redis: the keys, the connections, and the parts of Lua that several doors share.

All keys of a conversation carry its id as hash tag, so that one script may touch them on a Redis Cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError
from redis.retry import Retry

PREFIX = "paigate"
REMEMBERED_SECONDS = 7 * 24 * 3600
"""How long a platform message id, a receipt and a decision are remembered."""

_LOST = [RedisConnectionError, RedisTimeoutError]


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one conversation."""

    conversation_id: str

    def _key(self, name: str) -> str:
        return f"{PREFIX}:{{{self.conversation_id}}}:{name}"

    @property
    def about(self) -> str:
        """Hash: address, person, project, language."""
        return self._key("about")

    @property
    def waiting(self) -> str:
        """List of `Inbound`, oldest first: said, and not yet in the ledger."""
        return self._key("waiting")

    @property
    def known(self) -> str:
        """Set of platform message ids that were accepted."""
        return self._key("known")

    @property
    def turn(self) -> str:
        """Hash: how the conversation's turn stands; see `WAKE` for its fields."""
        return self._key("turn")

    @property
    def decided(self) -> str:
        """List of approval ids whose decision no turn has taken up yet."""
        return self._key("decided")

    @property
    def pending(self) -> str:
        """Set of approval ids that wait for a person."""
        return self._key("pending")

    def approval(self, approval_id: str) -> str:
        """String: one `Approval`, as it was asked."""
        return self._key(f"approval:{approval_id}")

    def decision(self, approval_id: str) -> str:
        """String: the first decision on it."""
        return self._key(f"decision:{approval_id}")

    @property
    def outbox(self) -> str:
        """List of entry ids, in the order to be said."""
        return self._key("outbox")

    @property
    def entries(self) -> str:
        """Hash: entry id -> `OutboxEntry`."""
        return self._key("entries")

    @property
    def receipts(self) -> str:
        """Hash: slot or entry id, `#`, part -> the platform's message id."""
        return self._key("receipts")

    @property
    def attempts(self) -> str:
        """Hash: entry id, `#`, part -> a send was begun."""
        return self._key("attempts")

    @property
    def dead(self) -> str:
        """List of `OutboxEntry` that the platform refused for good."""
        return self._key("dead")

    def blob(self, blob_id: str) -> str:
        """String: the bytes of a file on its way to a person."""
        return self._key(f"blob:{blob_id}")


ACTIVE = f"{PREFIX}:active"
"""Sorted set: conversation id -> when it was last touched (ms); what the reconciler looks after."""

PARKED = f"{PREFIX}:parked"
"""Sorted set: `conversation id/approval id` -> when the approval expires (ms)."""


def chat_key(address_key: str) -> str:
    """String: the conversation that a chat is bound to."""
    return f"{PREFIX}:chat:{address_key}"


def seen_key(address_key: str, message_id: str) -> str:
    """String: the conversation that a platform message went to."""
    return f"{PREFIX}:seen:{address_key}:{message_id}"


def handled_key(address_key: str, message_id: str) -> str:
    """String: this platform message was for Paigate itself, and was dealt with."""
    return f"{PREFIX}:handled:{address_key}:{message_id}"


def person_key(platform: str, user_id: str) -> str:
    """String: the person behind a platform user."""
    return f"{PREFIX}:person:{platform}:{user_id}"


def ready_key(platform: str) -> str:
    """Set of conversations with something to say on a platform; also the name of the channel that tells so."""
    return f"{PREFIX}:ready:{platform}"


def reason_key(address_key: str) -> str:
    """String with an expiry: the approval that the next message in this chat denies."""
    return f"{PREFIX}:reason:{address_key}"


def deliverer_key(platform: str) -> str:
    """String with an expiry: the process that delivers on a platform."""
    return f"{PREFIX}:deliverer:{platform}"


def penalty_key(address_key: str) -> str:
    """String with an expiry: nothing may be sent to this chat until then."""
    return f"{PREFIX}:penalty:{address_key}"


# Fields of the turn hash: `wake` the epoch of a job that was called for and has not begun, `woken` when (ms), `epoch`
# the last one given, `holder` and `until` (ms) the lease, `fence` its token, `running` 1 from begin to leave, `tries`
# begins since the last orderly leave, `stop` 1 when a person said stop, `held` 1 when waiting messages must stay.
CLOCK = """
local function now_ms()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function held_lease(turn)
  local lease = redis.call('HMGET', turn, 'holder', 'until')
  return lease[1] and lease[1] ~= '' and tonumber(lease[2]) > now_ms()
end
"""

WAKE = (
    CLOCK
    + """
local function wake(turn)
  if held_lease(turn) then return {'joined', 0} end
  local waking = redis.call('HGET', turn, 'wake')
  if waking and waking ~= '' then return {'queued', tonumber(waking)} end
  local epoch = redis.call('HINCRBY', turn, 'epoch', 1)
  redis.call('HSET', turn, 'wake', epoch, 'woken', now_ms())
  return {'started', epoch}
end
"""
)


def milliseconds(moment: datetime) -> int:
    """A moment as Redis scores hold it."""
    return int(moment.timestamp() * 1000)


def utc_now() -> datetime:
    """The clock of both processes."""
    return datetime.now(UTC)


class Store:
    """One process's way to our state. Its connections survive a restart of the server by trying again for about 5 s.

    A command may therefore run twice when its answer was lost: every script here may be run again without harm.
    """

    def __init__(self, url: str) -> None:
        # Any: the library's own types leave half of its methods unknown; the helpers below say what comes back.
        self.redis: Any = connect_async(url, decode_responses=True)
        self._scripts: dict[str, AsyncScript] = {}

    async def call(self, script: str, keys: Sequence[str], *arguments: str | int) -> list[Any]:
        """Run a Lua script that returns a list."""
        if script not in self._scripts:
            self._scripts[script] = self.redis.register_script(script)
        return cast(list[Any], await self._scripts[script](keys=list(keys), args=list(arguments)))

    async def fields(self, key: str) -> dict[str, str]:
        """A whole hash; empty when there is none."""
        return cast(dict[str, str], await self.redis.hgetall(key))

    async def field(self, key: str, name: str) -> str | None:
        """One field of a hash, or nothing."""
        return cast(str | None, await self.redis.hget(key, name))

    async def set_fields(self, key: str, values: Mapping[str, str | int]) -> None:
        """Set fields of a hash."""
        await self.redis.hset(key, mapping=dict(values))

    async def drop_field(self, key: str, name: str) -> None:
        """Remove a field of a hash."""
        await self.redis.hdel(key, name)

    async def push(self, key: str, value: str) -> None:
        """Append to a list."""
        await self.redis.rpush(key, value)

    async def remove(self, key: str, value: str) -> None:
        """Remove the first equal item of a list."""
        await self.redis.lrem(key, 1, value)

    async def drop_head(self, key: str, count: int) -> None:
        """Remove the first `count` items of a list."""
        await self.redis.ltrim(key, count, -1)

    async def include(self, key: str, member: str) -> None:
        """Add to a set."""
        await self.redis.sadd(key, member)

    async def exclude(self, key: str, member: str) -> None:
        """Remove from a set."""
        await self.redis.srem(key, member)

    async def items(self, key: str) -> list[str]:
        """A whole list, from its head."""
        return cast(list[str], await self.redis.lrange(key, 0, -1))

    async def members(self, key: str) -> set[str]:
        """A whole set."""
        return cast(set[str], await self.redis.smembers(key))

    async def text(self, key: str) -> str | None:
        """A string, or nothing."""
        return cast(str | None, await self.redis.get(key))

    async def keep_first(self, key: str, value: str, *, seconds: int | None = None) -> str:
        """Set a string unless it is set, and return what it is now."""
        before = cast(str | None, await self.redis.set(key, value, nx=True, get=True, ex=seconds))
        return value if before is None else before

    async def touch(self, conversation_id: str) -> None:
        """Put a conversation on the reconciler's list."""
        await self.redis.zadd(ACTIVE, {conversation_id: milliseconds(utc_now())})

    async def close(self) -> None:
        """Let the connections go."""
        await self.redis.aclose()


def connect_async(url: str, *, decode_responses: bool) -> AsyncRedis:
    """Make a connection pool for asyncio; nothing is opened yet."""
    return cast(Any, AsyncRedis).from_url(
        url,
        decode_responses=decode_responses,
        retry=AsyncRetry(ExponentialBackoff(cap=1.0, base=0.05), 8),
        retry_on_error=_LOST,
        socket_connect_timeout=5,
        # With a time-out the library writes through asyncio.wait_for, which on Python 3.11 can swallow a cancellation.
        socket_timeout=None,
        health_check_interval=30,
        **({} if url.startswith("unix:") else {"socket_keepalive": True}),
    )


def connect_queue(url: str) -> Redis:
    """The connection for RQ, which works on bytes and blocks."""
    return cast(Any, Redis).from_url(
        url, retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), 8), retry_on_error=_LOST, socket_connect_timeout=5
    )
