"""The Redis or Valkey server we are pointed at: whether it is there, and whether it keeps what it is told."""

import asyncio
import os
import ssl
from typing import Any, cast
from urllib.parse import urlsplit

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from worker.checks import Check

ANSWER_SECONDS = 5.0


class RedisUnreachable(Exception):
    """The server cannot be used; the message is one line that names its address, and never the password."""


def shown_address(url: str) -> str:
    """The address of a Redis URL without user, password and options."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


async def ping(url: str) -> None:
    """Have the server answer once, within five seconds.

    Raises:
        RedisUnreachable: it does not.
    """
    try:
        await _ask(url, "PING")
    except exceptions.ResponseError as error:
        raise RedisUnreachable(f"Redis at {shown_address(url)} refuses to work: {error}") from error


async def check_redis(url: str) -> list[Check]:
    """Find whether the server is there, writes its data to disk, and never throws any away."""
    address = shown_address(url)
    try:
        append_only = await _setting(url, "appendonly")
        eviction = await _setting(url, "maxmemory-policy")
    except RedisUnreachable as error:
        return [Check(name="redis", state="fail", detail=str(error), fix="start it, or mend PAIGATE_REDIS_URL")]
    return [
        Check(name="redis", state="ok", detail=f"answers at {address}"),
        _judge("redis durability", "appendonly", append_only, "yes", "messages may be lost when it ends"),
        _judge("redis eviction", "maxmemory-policy", eviction, "noeviction", "messages may be thrown away"),
    ]


def _judge(name: str, setting: str, value: str | None, wanted: str, danger: str) -> Check:
    if value is None:
        return Check(name=name, state="warn", detail=f"{setting} cannot be read here", fix=f"see that it is {wanted}")
    if value == wanted:
        return Check(name=name, state="ok", detail=f"{setting} {value}")
    return Check(
        name=name, state="fail", detail=f"{setting} is {value}: {danger}", fix=f"CONFIG SET {setting} {wanted}"
    )


async def _setting(url: str, name: str) -> str | None:
    """One setting of the server; None where a managed server does not let us ask."""
    try:
        answer = await _ask(url, "CONFIG", "GET", name)
    except exceptions.ResponseError:
        return None
    return cast("dict[str, str]", answer).get(name)


async def _ask(url: str, *command: str) -> object:
    try:
        client: Redis = cast(Any, Redis).from_url(
            url,
            decode_responses=True,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        async with client, asyncio.timeout(ANSWER_SECONDS):
            return await cast(Any, client).execute_command(*command)
    except exceptions.ResponseError:
        raise
    except (exceptions.RedisError, OSError, ValueError) as error:
        raise RedisUnreachable(f"Redis at {shown_address(url)} {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """Why it failed, in our own words where the library's repeat the address."""
    match error if not isinstance(error.__cause__, exceptions.AuthenticationError) else error.__cause__:
        case exceptions.AuthenticationError():
            return "refuses the password"
        case exceptions.BusyLoadingError():
            return "is still loading its data"
        case exceptions.InvalidResponse():
            return "does not speak the Redis protocol"
        case exceptions.TimeoutError() | TimeoutError():
            return f"does not answer within {ANSWER_SECONDS:.0f} s"
        case _:
            return f"cannot be reached: {_system_reason(error)}"


def _system_reason(error: BaseException) -> str:
    cause = error.__cause__ or error.__context__
    source = error if isinstance(error, OSError) or not isinstance(cause, OSError) else cause
    if isinstance(source, ssl.SSLError):
        return str(source.reason)
    if isinstance(source, OSError) and source.errno is not None:
        return os.strerror(source.errno) if source.errno > 0 else str(source.strerror)
    return str(source)
