"""Keeping a few processes running: in order, each when the one before is ready, again when one dies, none at the end.

It knows nothing of what it runs. `gateway.up` tells it, and so do tests.
"""

import asyncio
import itertools
import os
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.processes import adopt_orphans, death_signal, end_orphans, reap_orphans
from worker import host

_POLL_SECONDS = 0.03
_FIRST_PAUSE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 10.0
_STEADY_SECONDS = 60.0
"""A process that ran so long did not fail at its start: the next pause is the first one again."""

Ready = Callable[[int], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One process to keep running. `ready` is asked again and again, with its pid, until it says yes."""

    name: str
    argv: Sequence[str]
    environment: Mapping[str, str]
    ready: Ready
    pass_fds: Sequence[int] = ()
    log: Path | None = None
    """Where the process writes its reasons, if not to our own standard error."""


class PartFailed(Exception):
    """A process cannot be brought to work; the message is one line. `exit_code` is what to end with."""

    def __init__(self, line: str, exit_code: int) -> None:
        super().__init__(line)
        self.exit_code = exit_code


def ready_file(path: Path) -> Ready:
    """A process is ready once it wrote its pid to `path`."""

    def holds(pid: int) -> bool:
        try:
            return path.read_text(encoding="ascii").strip() == str(pid)
        except OSError:
            return False

    async def is_ready(pid: int) -> bool:
        return holds(pid)

    return is_ready


class Supervisor:
    """Runs its parts until it is told to end by SIGINT, SIGTERM or SIGHUP; a second signal kills without waiting."""

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        say: Callable[[str], None],
        start_seconds: float = 60.0,
        grace_seconds: float = 10.0,
    ) -> None:
        self._parts = tuple(parts)
        self._say = say
        self._start_seconds = start_seconds
        self._grace_seconds = grace_seconds
        self._running: dict[str, Process] = {}
        self._stopping = asyncio.Event()
        self._hurrying = asyncio.Event()
        self._spawning = asyncio.Lock()
        self._prefix: list[str] = []

    async def run(self, on_ready: Callable[[], None]) -> int:
        """Start everything, call `on_ready`, watch until told to end, and return the exit code: 0 if all went well.

        No process that was started, nor any of their children, is left when it returns; were one to outlive SIGKILL,
        it is named and the code is 1.
        """
        adopt_orphans()
        self._prefix = death_signal()
        code = 0
        with self._signals():
            try:
                for part in self._parts:
                    await self._start(part)
                if not self._stopping.is_set():
                    on_ready()
                    await self._watch()
            except PartFailed as failure:
                self._say(str(failure))
                code = failure.exit_code
            finally:
                left = await self._stop_all()
        return code or int(bool(left))

    @contextmanager
    def _signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in ending:
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGCHLD, self._reap)
        try:
            yield
        finally:
            for number in (*ending, signal.SIGCHLD):
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        if self._stopping.is_set():
            self._hurrying.set()
        self._stopping.set()

    def _reap(self) -> None:
        if not self._spawning.locked():  # a child that is being spawned is not in `_running` yet
            reap_orphans(self._pids())

    def _pids(self) -> set[int]:
        return {process.pid for process in self._running.values()}

    async def _start(self, part: Part) -> None:
        """Start one part and wait until it is ready, or until we are to end.

        Raises:
            PartFailed: it ended before it was ready, or took too long.
        """
        process = await self._spawn(part)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._start_seconds
        while not (self._stopping.is_set() or await part.ready(process.pid)):
            if process.returncode is not None:
                raise PartFailed(_start_failure(part, process.returncode), _exit_code(process.returncode))
            if loop.time() > deadline:
                raise PartFailed(f"{part.name} was not ready within {self._start_seconds:g} s", 1)
            await self._either(process, self._stopping, _POLL_SECONDS)

    async def _spawn(self, part: Part) -> Process:
        async with self._spawning:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._prefix,
                    *part.argv,
                    env=dict(part.environment),
                    stdin=asyncio.subprocess.DEVNULL,
                    pass_fds=tuple(part.pass_fds),
                    start_new_session=True,  # the terminal's Ctrl-C is for us alone; we end the parts in their order
                )
            except OSError as error:
                raise PartFailed(f"{part.name} cannot be started: {error.strerror}: {part.argv[0]}", 1) from error
            self._running[part.name] = process
            return process

    async def _watch(self) -> None:
        keepers = [asyncio.create_task(self._keep(part)) for part in self._parts]
        await asyncio.wait(keepers, return_when=asyncio.FIRST_COMPLETED)
        self._stopping.set()
        await asyncio.gather(*keepers)

    async def _keep(self, part: Part) -> None:
        """Start the part again whenever it ends, with growing pauses, until we are to end.

        Raises:
            PartFailed: it says that its settings are wrong.
        """
        loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = loop.time()
            process = self._running[part.name]
            await self._either(process, self._stopping, None)
            if self._stopping.is_set():
                return
            code = process.returncode or 0
            if code == host.EX_CONFIG:
                raise PartFailed(f"{part.name} finds its settings wrong", code)
            steady = loop.time() - began > _STEADY_SECONDS
            pause = _FIRST_PAUSE_SECONDS if steady else pause
            self._say(f"{part.name} {_ending(code)}; starting it again in {pause:g} s")
            async with self._spawning:
                await end_orphans(self._pids())
            await self._either(None, self._stopping, pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
            await self._start_again(part)

    async def _is_ready(self, part: Part) -> bool:
        process = self._running[part.name]
        return process.returncode is None and await part.ready(process.pid)

    async def _start_again(self, part: Part) -> None:
        for earlier in itertools.takewhile(lambda other: other is not part, self._parts):
            while not (self._stopping.is_set() or await self._is_ready(earlier)):
                await self._either(None, self._stopping, _POLL_SECONDS)
        if self._stopping.is_set():
            return
        try:
            await self._start(part)
        except PartFailed as failure:
            if failure.exit_code == host.EX_CONFIG:
                raise
            self._say(str(failure))
            await self._end_part(part)
        else:
            if not self._stopping.is_set():
                self._say(f"{part.name} runs again")

    async def _stop_all(self) -> list[int]:
        """End the parts in reverse order, then whatever is left of them; return the pids of what cannot be ended."""
        self._stopping.set()
        for part in reversed(self._parts):
            await self._end_part(part)
        left = await end_orphans(())
        if left:
            self._say(f"these processes could not be ended: {', '.join(map(str, left))}")
        elif self._running:
            self._say("stopped; no process is left")
        return left

    async def _end_part(self, part: Part) -> None:
        process = self._running.get(part.name)
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        await self._either(process, self._hurrying, self._grace_seconds)
        if process.returncode is None:
            self._say(f"{part.name} did not end in time and is killed")
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    @staticmethod
    async def _either(process: Process | None, event: asyncio.Event, seconds: float | None) -> None:
        """Wait until the process has ended or the event is set, at most so long."""
        waits: list[asyncio.Task[Any]] = [asyncio.create_task(event.wait())]
        if process is not None:
            waits.append(asyncio.create_task(process.wait()))
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by signal {-code} ({signal.strsignal(-code) or 'unknown'})"


def _exit_code(code: int) -> int:
    return code if code > 0 else 1


def _start_failure(part: Part, code: int) -> str:
    """One line; the reason itself is above it on standard error, or in the part's log, whose last line is repeated."""
    line = f"{part.name} {_ending(code)} before it was ready"
    if part.log is not None and part.log.exists():
        with part.log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
            words = file.read().decode(errors="replace").strip().splitlines()
        return "; ".join(itertools.chain([line], words[-1:], [f"see {part.log}"]))
    return line
