"""What an idle installation holds in memory, part by part, and what each running turn adds."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.benchmarks.parts import Memory, embedded_address, memory, message, wait_for_workers, worker
from tests.benchmarks.report import Sizes, line
from tests.servers.model import Gate, ModelServer, held, text
from tests.servers.ports import free_port
from tests.servers.product import ROOT, wait_until
from worker.control import open_doors

WORKERS = 5
"""As many as an installation has that sets nothing: four take turns, one takes errands only."""

MIB = 1 << 20


def run(directory: Path, sizes: Sizes) -> list[str]:
    directory.mkdir(mode=0o700)
    return [*_idle(directory / "idle"), _turn(directory, sizes.turns)]


def _idle(data_dir: Path) -> list[str]:
    with _up(data_dir) as supervisor:
        wait_for_workers(embedded_address(data_dir), WORKERS)
        parts = _parts(supervisor)
        total = _settled(lambda: memory(process for part in parts.values() for process in part))
        lines = [_line(f"idle, {name}", memory(part), len(part)) for name, part in parts.items()]
        return [*lines, _line("idle, everything", total)]


def _parts(supervisor: psutil.Process) -> dict[str, list[psutil.Process]]:
    """Every process of an installation by what it is; its command line tells."""
    parts: dict[str, list[psutil.Process]] = {"supervisor": [supervisor]}
    for process in supervisor.children():
        command = process.cmdline()
        name = "Valkey" if "valkey-server" in command[0] else command[-1]
        parts[name] = [process]
        children = process.children(recursive=True)
        if demo := [child for child in children if "agent.models.demo" in child.cmdline()]:
            parts["demo model"] = demo
        if workers := [child for child in children if child not in demo]:
            parts["RQ workers"] = workers
    assert len(parts["RQ workers"]) == WORKERS, parts
    return parts


def _turn(directory: Path, turns: int) -> str:
    never = Gate()
    with (
        ModelServer(respond=lambda _: held(text("Done, and said in a few chunks."), never, after=3)) as model,
        worker(directory, model.base_url, workers=turns) as (url, product),
    ):
        wait_for_workers(url, turns + 1)
        before = _settled(lambda: memory(product.children("worker")))
        asyncio.run(_say(url, turns))
        model.wait_for(turns)
        # Each turn is a process below its worker; one worker takes errands only.
        wait_until(lambda: len(product.children("worker")) == 2 * turns + 1, "every turn runs")
        during = _settled(lambda: memory(product.children("worker")))
    added = Memory(during.resident - before.resident, during.proportional - before.proportional)
    return _line("added by running turns", added, turns)


async def _say(url: str, turns: int) -> None:
    doors = open_doors(url)
    try:
        for number in range(turns):
            await doors.inbox.accept(message(f"chat{number}", number))
    finally:
        await doors.close()


def _settled(measure: Callable[[], Memory]) -> Memory:
    """Measure until nothing grows any more."""
    last = Memory(0, 0)
    deadline = time.monotonic() + 5

    def still() -> bool:
        nonlocal last
        before, last = last, measure()
        return last.proportional <= before.proportional * 1.002 or time.monotonic() > deadline

    wait_until(still, "memory is steady")
    return last


def _line(name: str, total: Memory, count: int = 1) -> str:
    told = _told(total)
    if count > 1:
        told += f", n {count}; each {_told(Memory(total.resident // count, total.proportional // count))}"
    return line(name, told)


def _told(held_memory: Memory) -> str:
    proportional, resident = held_memory.proportional / MIB, held_memory.resident / MIB
    return f"proportional {proportional:.1f} MiB, resident {resident:.1f} MiB"


@contextmanager
def _up(data_dir: Path) -> Iterator[psutil.Process]:
    """`paigate up` with nothing configured but where to live."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PAIGATE_")}
    own = {"PAIGATE_DATA_DIR": str(data_dir), "PAIGATE_HTTP_PORT": str(free_port()), "PAIGATE_LOG_LEVEL": "warning"}
    command = [sys.executable, "-c", "from gateway.cli import main; main()", "up"]
    process = subprocess.Popen(command, env=kept | own, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert any("Ctrl-C" in said for said in process.stdout), "paigate up ended early"
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
