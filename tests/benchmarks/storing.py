"""How fast the inbox stores: no worker runs, so nothing else is measured. Every message is the first of its chat."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from redis.asyncio import Redis

from tests.benchmarks.parts import embedded_valkey, message
from tests.benchmarks.report import Sizes, line, percentile, times
from worker.control import open_doors

IN_FLIGHT = 64

Store = Callable[[int], Awaitable[object]]


def run(directory: Path, sizes: Sizes) -> list[str]:
    directory.mkdir(mode=0o700)
    with embedded_valkey(directory / "data") as url:
        return asyncio.run(_measure(url, sizes))


async def _measure(url: str, sizes: Sizes) -> list[str]:
    doors = open_doors(url)
    plain = Redis.from_url(url)

    async def accept(number: int) -> None:
        accepted = await doors.inbox.accept(message(f"chat{number}", number))
        assert accepted.outcome == "started", accepted

    async def push(number: int) -> None:
        inbound = message(f"chat{number}", number)
        await plain.rpush(f"plain:{number}", inbound.model_dump_json())

    try:
        await _together(accept, range(-IN_FLIGHT, 0))
        await _together(push, range(-IN_FLIGHT, 0))
        alone = [await _timed(accept, number) for number in range(sizes.alone)]
        plain_alone = [await _timed(push, number) for number in range(sizes.alone)]
        busy = range(sizes.alone, sizes.alone + sizes.stored)
        rate, seconds = await _together(accept, busy)
        plain_rate, _ = await _together(push, busy)
    finally:
        await doors.close()
        await plain.aclose()
    told = f"{rate:.0f} a second, n {sizes.stored}, {IN_FLIGHT} in flight, p99 of one {percentile(seconds, 0.99) * 1000:.1f} ms"
    told += f"; {plain_rate / rate:.1f} times fewer than bare RPUSHes ({plain_rate:.0f} a second)"
    plain_line = ("a bare RPUSH", plain_alone)
    return [line("stored, no worker running", told), times("stored, one at a time", alone, plain=plain_line)]


async def _timed(store: Store, number: int) -> float:
    begin = time.monotonic()
    await store(number)
    return time.monotonic() - begin


async def _together(store: Store, numbers: range) -> tuple[float, list[float]]:
    """Store all of them, so many in flight; returns how many a second, and how long each took."""
    waiting, seconds = iter(numbers), list[float]()

    async def take() -> None:
        for number in waiting:
            seconds.append(await _timed(store, number))

    begin = time.monotonic()
    await asyncio.gather(*(take() for _ in range(IN_FLIGHT)))
    return len(seconds) / (time.monotonic() - begin), seconds
