"""Background commands: each kept by a process of its own (`keeper.py`), and found again from its directory on disk."""

import asyncio
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from agent.errors import SandboxUnavailable
from agent.project import Project
from agent.sandbox import BackgroundCommand, BackgroundOutput, CommandLimits
from agent.sandboxes.bubblewrap import keeper
from agent.sandboxes.bubblewrap.kept import Kept
from agent.sandboxes.bubblewrap.launch import OTHER_FIX, Launcher, not_set_up
from agent.sandboxes.bubblewrap.process_tree import uninterrupted
from agent.sandboxes.bubblewrap.records import Answer, Order, Record

_ID = re.compile(r"bg[0-9]{1,9}")
_MOST_ENDED = 8
"""So many ended commands are remembered."""
_POLL_SECONDS = 0.02
_HUNG_FIX = "Look for hung I/O."
# A keeper ends within milliseconds of being asked; one that does not is ended itself, and its command with it.
_POLITE_SECONDS = 1.5
_PATIENCE_SECONDS = keeper.START_SECONDS + 5.0


class BubblewrapBackground:
    """Implements `agent.sandbox.Background`; `clock` gives seconds since 1970."""

    def __init__(
        self,
        directory: Path,
        launcher: Callable[[Project, CommandLimits], Awaitable[Launcher]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._directory = directory
        self._launcher = launcher
        self._clock = clock

    async def start(
        self,
        argv: Sequence[str],
        *,
        project: Project,
        limits: CommandLimits,
        command: str,
        at_most: int,
        lifeline: int | None = None,
    ) -> BackgroundCommand | None:
        """See `Background.start`."""
        launcher = await self._launcher(project, limits)
        with _told(self._directory):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            async with self._alone():
                kept = self._all()
                if sum(each.running() for each in kept) >= at_most:
                    return None
                fresh = self._next(kept)
                try:
                    await uninterrupted(asyncio.to_thread(self._launch, fresh, launcher, argv, command, lifeline))
                except BaseException:
                    await uninterrupted(_end(fresh))
                    fresh.forget()
                    raise
        return fresh.describe(self._clock())

    def all(self) -> Sequence[BackgroundCommand]:
        """See `Background.all`."""
        now = self._clock()
        return [command for kept in self._all() if (command := kept.describe(now))]

    def find(self, command_id: str) -> BackgroundCommand | None:
        """See `Background.find`."""
        kept = self._at(command_id)
        return kept and kept.describe(self._clock())

    def output(self, command_id: str, *, offset: int | None, most_bytes: int) -> BackgroundOutput:
        """See `Background.output`."""
        kept = self._at(command_id)
        return kept.output(offset, most_bytes) if kept else BackgroundOutput(start=0, content=b"")

    async def stop(self, command_id: str) -> None:
        """See `Background.stop`."""
        if kept := self._at(command_id):
            await uninterrupted(_end(kept))

    async def end_all(self) -> None:
        """See `Background.end_all`."""
        if self._directory.is_dir():
            async with self._alone():
                await uninterrupted(_end_each(self._all()))

    def _at(self, command_id: str) -> Kept | None:
        return Kept(self._directory / command_id) if _ID.fullmatch(command_id) else None

    def _all(self) -> list[Kept]:
        try:
            names = [path.name for path in self._directory.iterdir()]
        except FileNotFoundError:
            return []
        return sorted((kept for name in names if (kept := self._at(name))), key=lambda kept: kept.number)

    def _next(self, kept: Sequence[Kept]) -> Kept:
        """A command with a new id; the oldest of those that ended are forgotten."""
        ended = [each for each in kept if not each.running()]
        for each in ended[:-_MOST_ENDED]:
            each.forget()
        return Kept(self._directory / f"bg{kept[-1].number + 1 if kept else 1}")

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        """Keep others from starting commands in this directory, and from ending all of them, meanwhile."""
        lock = os.open(self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not await _until(lambda: _locked(lock), _PATIENCE_SECONDS):
                raise SandboxUnavailable("Another process is starting or ending background commands", OTHER_FIX)
            yield
        finally:
            os.close(lock)

    def _launch(self, fresh: Kept, launcher: Launcher, argv: Sequence[str], command: str, lifeline: int | None) -> None:
        """Start the command's keeper, and wait until the command begins or cannot."""
        with ExitStack() as files:
            lock = _closing(files, fresh.make())
            status, gate = os.pipe(), [end.detach() for end in socket.socketpair()]
            for fd in (*status, *gate):
                _closing(files, fd)
            tied = -1 if lifeline is None else _closing(files, _pidfd(lifeline))
            gated = ["/bin/bash", "-c", keeper.GATE.format(fd=gate[1]), "bash", *launcher.limited(argv)]
            launch = launcher.prepare(files, gated, status_fd=status[1])
            order: Order = {
                "directory": str(fresh.directory),
                "lock": lock,
                "record": _first_record(command, self._clock(), launcher.limits.wall_seconds),
                "argv": list(launch.argv),
                "stdin": max(launch.stdin, -1),
                "descriptors": list(launch.descriptors),
                "status": status,
                "gate": (gate[0], gate[1]),
                "lifeline": tied,
                "seconds": launcher.limits.wall_seconds,
            }
            passed = {lock, *status, *gate, *launch.descriptors, launch.stdin, tied}
            answer = _order(fresh.directory / "keeper.log", order, [fd for fd in passed if fd >= 0])
        if not answer["ok"]:
            raise not_set_up(answer["said"])


def _first_record(command: str, now: float, seconds: float) -> Record:
    return {
        "command": command,
        "state": "running",
        "exit_code": None,
        "first": None,
        "started": now,
        "deadline": now + seconds,
        "ended": None,
    }


def _order(log: Path, order: Order, descriptors: Sequence[int]) -> Answer:
    """Start a keeper in a session of its own, where no signal to ours reaches it; gives what it answers."""
    with open(log, "wb", opener=_private) as errors:
        done = subprocess.run(
            [sys.executable, "-I", "-S", keeper.__file__],
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=descriptors,
            env={},
            cwd="/",
            umask=0o077,
            start_new_session=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        )
    if not done.stdout:
        said = log.read_text(errors="replace").strip().splitlines()[-1:]
        detail = f"The keeper of a background command ended at once ({said[0] if said else 'without a word'})"
        raise SandboxUnavailable(detail, OTHER_FIX)
    return json.loads(done.stdout)


@contextmanager
def _told(directory: Path) -> Generator[None]:
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        detail = f"No background command can be kept in {directory}: {error}"
        raise SandboxUnavailable(detail, "Give it room, and the worker the right to write there.") from error


async def _end_each(all_kept: Sequence[Kept]) -> None:
    failures = await asyncio.gather(*(_end(kept) for kept in all_kept), return_exceptions=True)
    for failure in failures:
        if failure is not None:
            raise failure


async def _end(kept: Kept) -> None:
    """End a command, and make sure that its keeper and everything inside are gone.

    Raises:
        SandboxUnavailable: they are not, whatever was tried.
    """
    asked, killed = (partial(_gone, kept, number) for number in (signal.SIGTERM, signal.SIGKILL))
    if not (await _until(asked, _POLITE_SECONDS) or await _until(killed, _PATIENCE_SECONDS)):
        raise _still_there(kept)
    if not await _until(lambda: not kept.kill_remains(), _PATIENCE_SECONDS):
        raise SandboxUnavailable("A command's processes are still there after SIGKILL", _HUNG_FIX)


def _gone(kept: Kept, number: signal.Signals) -> bool:
    """Whether a keeper is gone; one that is not is sent the signal."""
    if not kept.alive():
        return True
    kept.signal(number)
    return False


def _still_there(kept: Kept) -> SandboxUnavailable:
    if kept.keeper() is not None:
        return SandboxUnavailable("The keeper of a command is still there after SIGKILL", _HUNG_FIX)
    lock = kept.directory / keeper.LOCK
    return SandboxUnavailable(
        f"A process that is not known holds {lock}, so what it keeps could not be ended",
        "Find it in /proc/locks, and end it.",
    )


async def _until(done: Callable[[], bool], seconds: float) -> bool:
    """Look again and again until it is done, for so long at most; gives whether it is."""
    for _ in range(int(seconds / _POLL_SECONDS)):
        if done():
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return done()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _pidfd(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError as error:
        raise SandboxUnavailable("The process that background commands are tied to has ended", OTHER_FIX) from error


def _closing(files: ExitStack, fd: int) -> int:
    files.callback(os.close, fd)
    return fd
