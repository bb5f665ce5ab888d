"""What the web chat shows, in Redis: the messages of a chat, and a stream that tells which of them changed.

Above: `adapter`. The stream holds message ids only, and the messages are read as they are now: whoever
follows it sees every message's newest form, at least once. A message with buttons is never left out nor trimmed. Keys
of a chat share a hash tag, so that a cluster keeps them together.
"""

import re
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict
from redis.asyncio import Redis

from gateway.adapter import Button
from gateway.text import Span

KEPT_MESSAGES = 1_000
KEPT_CHANGES = 5_000
SNAPSHOT_MESSAGES = 200
FILE_SECONDS = 7 * 24 * 3600
BATCH_CHANGES = 500
START = "0-0"
"""The position before the first change."""
POSITION = re.compile(r"[0-9]{1,19}-[0-9]{1,19}")
"""A stream id as Redis reads it: two numbers of 64 bits."""

ADD = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 0 end
local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], (tonumber(last[2]) or 0) + 1, ARGV[1])
if ARGV[5] == '1' then redis.call('SADD', KEYS[4], ARGV[1]) end
for _, old in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1 - ARGV[3])) do
    if redis.call('SISMEMBER', KEYS[4], old) == 0 then
        redis.call('HDEL', KEYS[1], old)
        redis.call('ZREM', KEYS[2], old)
    end
end
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[4], '*', 'id', ARGV[1])
return 1
"""

REPLACE = """
local old = redis.call('HGET', KEYS[1], ARGV[1])
if not old or old == ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call(ARGV[5] == '1' and 'SADD' or 'SREM', KEYS[4], ARGV[1])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[4], '*', 'id', ARGV[1])
return 1
"""


SINCE = """
local position, ids, found = ARGV[1], {}, {}
local known = #redis.call('XRANGE', KEYS[3], position, position) == 1
if known then
    local seen = {}
    for _, change in ipairs(redis.call('XRANGE', KEYS[3], '(' .. position, '+', 'COUNT', ARGV[2])) do
        local id = change[2][2]
        position = change[1]
        if not seen[id] then ids[#ids + 1] = id end
        seen[id] = true
    end
else
    local newest = redis.call('XREVRANGE', KEYS[3], '+', '-', 'COUNT', 1)[1]
    position = newest and newest[1] or '0-0'
    ids = redis.call('ZRANGE', KEYS[2], -ARGV[3], -1)
    local shown = {}
    for _, id in ipairs(ids) do shown[id] = true end
    for _, id in ipairs(redis.call('SMEMBERS', KEYS[4])) do
        if not shown[id] then table.insert(ids, id) end
    end
    table.sort(ids, function(one, other)
        return tonumber(redis.call('ZSCORE', KEYS[2], one) or 0) < tonumber(redis.call('ZSCORE', KEYS[2], other) or 0)
    end)
end
for _, id in ipairs(ids) do
    local body = redis.call('HGET', KEYS[1], id)
    if body then found[#found + 1] = {redis.call('ZSCORE', KEYS[2], id), body} end
end
return {known and 0 or 1, position, found}
"""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WebFile(_Record):
    """A file that a message carries; its bytes lie apart and expire."""

    name: str
    size: int


class WebMessage(_Record):
    """One message as the page shows it. `number` orders the messages of a chat; the log gives it."""

    id: str
    role: Literal["user", "progress", "card", "answer", "notice", "file"]
    at: datetime
    text: str = ""
    spans: tuple[Span, ...] = ()
    buttons: tuple[tuple[Button, ...], ...] = ()
    diff: str = ""
    editable: dict[str, str] = {}
    file: WebFile | None = None
    edited: bool = False
    number: int = 0


class Batch(_Record):
    """What happened up to `position`. A `fresh` one is all there is to show; others are changes to what is shown."""

    fresh: bool
    position: str
    messages: tuple[WebMessage, ...]


class WebLog:
    """The messages of all web chats. The client must give bytes; every method raises `redis.RedisError`."""

    def __init__(self, redis: Redis, *, prefix: str) -> None:
        self._redis = redis
        self._prefix = prefix
        self._add = redis.register_script(ADD)
        self._replace = redis.register_script(REPLACE)
        self._since = redis.register_script(SINCE)

    async def add(self, chat_id: str, message: WebMessage) -> None:
        """Append a message; one whose id is there already changes nothing."""
        await self._add(keys=self._keys(chat_id), args=_arguments(message))

    async def replace(self, chat_id: str, message: WebMessage) -> None:
        """Put a message in the place of the one with its id; one that is gone or equal changes nothing."""
        await self._replace(keys=self._keys(chat_id), args=_arguments(message))

    async def get(self, chat_id: str, message_id: str) -> WebMessage | None:
        """The message with this id, or None when it is gone; its `number` is not filled in."""
        body = await self._redis.hget(self._key(chat_id, "messages"), message_id)
        return None if body is None else WebMessage.model_validate_json(body)

    async def put_file(self, chat_id: str, message_id: str, data: bytes) -> None:
        """Keep the bytes of a message's file for `FILE_SECONDS`."""
        await self._redis.set(self._key(chat_id, f"file:{message_id}"), data, ex=FILE_SECONDS)

    async def get_file(self, chat_id: str, message_id: str) -> bytes | None:
        """The bytes of a message's file, or None when they expired."""
        data = await self._redis.get(self._key(chat_id, f"file:{message_id}"))
        return data if isinstance(data, bytes) else None

    async def since(self, chat_id: str, position: str) -> Batch:
        """The changes after `position`; all there is to show when that is not, or no longer, in the stream."""
        asked = position if POSITION.fullmatch(position) else START
        fresh, reached, found = await self._since(
            keys=self._keys(chat_id), args=[asked, BATCH_CHANGES, SNAPSHOT_MESSAGES]
        )
        messages = (
            WebMessage.model_validate_json(body).model_copy(update={"number": int(number)}) for number, body in found
        )
        return Batch(fresh=bool(fresh), position=reached.decode(), messages=tuple(messages))

    async def wait(self, chat_id: str, position: str, milliseconds: int) -> bool:
        """Whether something changed after `position`, as soon as it did or when the time is over."""
        changes = self._key(chat_id, "changes")
        return bool(await self._redis.xread({changes: position}, count=1, block=milliseconds))

    def _key(self, chat_id: str, part: str) -> str:
        return f"{self._prefix}:{{web:{chat_id}}}:{part}"

    def _keys(self, chat_id: str) -> list[str]:
        return [self._key(chat_id, part) for part in ("messages", "order", "changes", "live")]


def _arguments(message: WebMessage) -> list[str | int]:
    body = message.model_dump_json(exclude={"number"}, exclude_defaults=True)
    return [message.id, body, KEPT_MESSAGES, KEPT_CHANGES, "1" if message.buttons else "0"]
