"""The real parts, started as `paigate up` starts them, and what each of them holds in memory."""

import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import psutil
import redis

from tests.servers.product import WAIT_SECONDS, Product, wait_until
from worker.messages import Address, Inbound, Sender
from worker.valkey import EmbeddedValkey, socket_path


def embedded_address(data_dir: Path) -> str:
    """Where the embedded Valkey of a data directory listens, whatever other server the settings name."""
    return f"unix://{quote(str(socket_path(data_dir)))}"


@contextmanager
def embedded_valkey(data_dir: Path) -> Iterator[str]:
    """The embedded Valkey of a data directory, with the options of the product; yields its address."""
    server = EmbeddedValkey(data_dir)
    server.prepare()
    process = subprocess.Popen(server.argv())
    url = embedded_address(data_dir)
    try:
        wait_until(lambda: _answers(url), "Valkey answers")
        yield url
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)
        server.tidy()


@contextmanager
def worker(directory: Path, model_url: str, *, workers: int) -> Iterator[tuple[str, Product]]:
    """Valkey and the worker process with its pool, against a model endpoint; yields Valkey's address and the parts."""
    product = Product(directory, WORKERS=str(workers), MODEL="compatible:scripted", MODEL_BASE_URL=model_url)
    try:
        with embedded_valkey(product.data_dir) as url:
            product.start_part("worker", REDIS_URL=url, MODEL_API_KEY="k")
            wait_for_workers(url, workers)
            yield url, product
            product.kill("worker")
    finally:
        product.close()


def wait_for_workers(url: str, count: int) -> None:
    """Wait until so many RQ workers wait for jobs."""
    with redis.Redis.from_url(url, decode_responses=True) as connection:

        def idle() -> bool:
            states = [connection.hget(str(key), "state") for key in connection.smembers("rq:workers")]
            return states.count("idle") >= count

        wait_until(idle, f"{count} workers are idle")


def message(chat: str, number: int) -> Inbound:
    """A person's message in a private chat of their own."""
    return Inbound(
        message_id=str(number),
        address=Address(platform="telegram", chat_id=chat),
        sender=Sender(platform="telegram", user_id=chat, name="Ann"),
        text="Change Hello World to Hello Paigate in hello.py, please.",
        sent_at=datetime.now(UTC),
        language="en",
    )


@dataclass(frozen=True)
class Memory:
    """Bytes: resident, and proportional, in which a page that n processes share counts as an n-th in each (proc(5))."""

    resident: int
    proportional: int


def memory(processes: Iterable[psutil.Process]) -> Memory:
    """What processes hold, summed."""
    resident = proportional = 0
    for process in processes:
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii")
        values = {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+): +(\d+) kB", rollup, re.MULTILINE)}
        resident, proportional = resident + values["Rss"], proportional + values["Pss"]
    return Memory(resident, proportional)


def _answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url) as connection:
            return bool(connection.ping())
    except redis.RedisError:
        return False
