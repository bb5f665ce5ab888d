"""From the moment a message is accepted to its request at the model, the conversation and the workers being idle.

The same conversation grows by one answered message each time, a new one has its project made first.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis
from rq import Queue
from rq.serializers import JSONSerializer

from tests.benchmarks.bare import QUEUE
from tests.benchmarks.parts import message, wait_for_workers, worker
from tests.benchmarks.report import Sizes, times
from tests.servers.model import ModelServer, text
from tests.servers.product import ROOT, WAIT_SECONDS, Product, wait_until
from worker.control import Doors, open_doors

WORKERS = 4
"""As many as an installation has that sets nothing."""
PROCESSES = WORKERS + 1
"""One more takes errands only."""


def run(directory: Path, sizes: Sizes) -> list[str]:
    directory.mkdir(mode=0o700)
    with (
        ModelServer(respond=lambda _: text("Done.")) as model,
        worker(directory, model.base_url, workers=WORKERS) as (url, product),
        _bare_worker(url),
    ):
        wait_for_workers(url, PROCESSES + 1)
        trial = Trial(url, product, model)
        asyncio.run(trial.run(sizes.messages))
    plain = ("a bare RQ job that sends one request", trial.bare)
    return [
        times("latency, new conversation", trial.new, plain=plain),
        times("latency, same conversation", trial.same, plain=plain),
    ]


@dataclass
class Trial:
    """The three ways in turn, so that a busy moment of the machine meets all of them."""

    url: str
    product: Product
    model: ModelServer
    new: list[float] = field(default_factory=list)
    same: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    async def run(self, count: int) -> None:
        doors = open_doors(self.url)
        with redis.Redis.from_url(self.url) as connection:
            queue = Queue(QUEUE, connection=connection, serializer=JSONSerializer)
            try:
                # The first of each opens connections and loads scripts.
                for number in range(-1, count):
                    new = await self._accept(doors, f"new{number}", number)
                    same = await self._accept(doors, "same", number)
                    bare = self._ask(queue)
                    if number >= 0:
                        self.new.append(new)
                        self.same.append(same)
                        self.bare.append(bare)
            finally:
                await doors.close()

    async def _accept(self, doors: Doors, chat: str, number: int) -> float:
        inbound = message(chat, number)
        before, begin = len(self.model.requests), time.monotonic()
        accepted = await doors.inbox.accept(inbound)
        assert accepted.outcome == "started", accepted
        arrived = self.model.wait_for(before + 1)[before].at
        # A job is a process below its worker; when it has gone, the conversation is idle.
        wait_until(lambda: len(self.product.children("worker")) == PROCESSES, "the turn is over")
        return arrived - begin

    def _ask(self, queue: Queue) -> float:
        before, begin = len(self.model.requests), time.monotonic()
        job = queue.enqueue("tests.benchmarks.bare.ask", self.model.base_url, result_ttl=0)
        arrived = self.model.wait_for(before + 1)[before].at
        wait_until(lambda: not queue.connection.exists(job.key), "the bare job is over")
        return arrived - begin


@contextmanager
def _bare_worker(url: str) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-m", "tests.benchmarks.bare", url], cwd=ROOT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)
