"""How fast the inbox stores: no worker runs, so nothing else is measured. Every message is the first of its chat."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from redis.asyncio import Redis

from tests.benchmarks.parts import embedded_valkey, message
from tests.benchmarks.report import Sizes, line, percentile, times
from worker.control import open_doors

IN_FLIGHT = 64

ROUND = 4 * IN_FLIGHT


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
        accepting, pushing = Trial(accept), Trial(push)
        await _in_turn(accepting, pushing, sizes)
    finally:
        await doors.close()
        await plain.aclose()
    slowest = percentile(accepting.together, 0.99) * 1000
    told = f"{accepting.rate:.0f} a second, n {sizes.stored}, {IN_FLIGHT} in flight, p99 of one {slowest:.1f} ms"
    told += f"; {pushing.rate / accepting.rate:.1f} times fewer than bare RPUSHes ({pushing.rate:.0f} a second)"
    baseline = ("a bare RPUSH", pushing.alone)
    return [line("stored, no worker running", told), times("stored, one at a time", accepting.alone, plain=baseline)]


@dataclass
class Trial:
    """One way to store, and how long each message took alone and among others."""

    store: Callable[[int], Awaitable[object]]
    alone: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    together_seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Messages a second, many in flight."""
        return len(self.together) / self.together_seconds

    async def one(self, number: int) -> float:
        begin = time.monotonic()
        await self.store(number)
        return time.monotonic() - begin

    async def many(self, numbers: range) -> None:
        waiting = iter(numbers)

        async def take() -> None:
            for number in waiting:
                self.together.append(await self.one(number))

        begin = time.monotonic()
        await asyncio.gather(*(take() for _ in range(IN_FLIGHT)))
        self.together_seconds += time.monotonic() - begin


async def _in_turn(first: Trial, second: Trial, sizes: Sizes) -> None:
    """Both ways by turns, so that a busy moment of the machine meets both."""
    for trial in (first, second):
        # The first ones open connections and load scripts.
        await asyncio.gather(*(trial.store(number) for number in range(-IN_FLIGHT, 0)))
    for number in range(sizes.alone):
        for trial in (first, second):
            trial.alone.append(await trial.one(number))
    for begin in range(sizes.alone, sizes.alone + sizes.stored, ROUND):
        for trial in (first, second):
            await trial.many(range(begin, min(begin + ROUND, sizes.alone + sizes.stored)))
