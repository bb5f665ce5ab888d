"""The way to our state in Redis: the connections, and the parts of Lua that several doors share."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
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

from worker.keys import ACTIVE

ANSWER_SECONDS = 10.0
"""How long a command may go without an answer, on top of the time in which the connection is tried again."""

_LOST = [RedisConnectionError, RedisTimeoutError]


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
        return await self.answer(self._scripts[script](keys=list(keys), args=list(arguments)))

    async def answer(self, command: Awaitable[Any]) -> Any:
        """Wait for the answer to a command.

        Raises:
            redis.exceptions.RedisError: it failed, or there was no answer in time; then its connection is dropped.
        """
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await command
        except TimeoutError as error:
            raise RedisTimeoutError(f"no answer within {ANSWER_SECONDS} s") from error

    async def fields(self, key: str) -> dict[str, str]:
        """A whole hash; empty when there is none."""
        return await self.answer(self.redis.hgetall(key))

    async def field(self, key: str, name: str) -> str | None:
        """One field of a hash, or nothing."""
        return await self.answer(self.redis.hget(key, name))

    async def set_fields(self, key: str, values: Mapping[str, str | int]) -> None:
        """Set fields of a hash."""
        await self.answer(self.redis.hset(key, mapping=dict(values)))

    async def drop_field(self, key: str, name: str) -> None:
        """Remove a field of a hash."""
        await self.answer(self.redis.hdel(key, name))

    async def remove(self, key: str, *values: str) -> None:
        """Remove items of a list whose items are all different."""
        pipeline = self.redis.pipeline(transaction=True)
        for value in values:
            pipeline.lrem(key, 1, value)
        await self.answer(pipeline.execute())

    async def include(self, key: str, member: str) -> None:
        """Add to a set."""
        await self.answer(self.redis.sadd(key, member))

    async def exclude(self, key: str, member: str) -> None:
        """Remove from a set."""
        await self.answer(self.redis.srem(key, member))

    async def items(self, key: str) -> list[str]:
        """A whole list, from its head."""
        return await self.answer(self.redis.lrange(key, 0, -1))

    async def length(self, key: str) -> int:
        """How many items a list has."""
        return await self.answer(self.redis.llen(key))

    async def members(self, key: str) -> set[str]:
        """A whole set."""
        return await self.answer(self.redis.smembers(key))

    async def text(self, key: str) -> str | None:
        """A string, or nothing."""
        return await self.answer(self.redis.get(key))

    async def set(self, key: str, value: str, *, seconds: float | None = None) -> None:
        """Set a string, which is gone after so many seconds if they are given."""
        await self.answer(self.redis.set(key, value, px=None if seconds is None else max(1, int(seconds * 1000))))

    async def keep_first(self, key: str, value: str, *, seconds: int | None = None) -> str:
        """Set a string unless it is set, and return what it is now."""
        before: str | None = await self.answer(self.redis.set(key, value, nx=True, get=True, ex=seconds))
        return value if before is None else before

    async def delete(self, *keys: str) -> None:
        """Remove keys."""
        await self.answer(self.redis.delete(*keys))

    async def expire(self, key: str, seconds: int) -> None:
        """Have a key go after so many seconds."""
        await self.answer(self.redis.expire(key, seconds))

    async def touch(self, conversation_id: str) -> None:
        """Put a conversation on the reconciler's list."""
        await self.answer(self.redis.zadd(ACTIVE, {conversation_id: milliseconds(utc_now())}))

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
