"""What Linux offers so that no process that we started is ever left: adoption, death signals, and a lock they share."""

import asyncio
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
"""linux/prctl.h"""

_PREDECESSOR_SECONDS = 15.0
_POLL_SECONDS = 0.05


class AlreadyRunning(Exception):
    """Another `paigate up` holds the data directory; the message is one line with the fix."""


class _Child(NamedTuple):
    pid: int
    ended: bool


def adopt_orphans() -> None:
    """From now on processes whose parent ended become children of this process, and so are never out of sight.

    Raises:
        OSError: the kernel refuses (prctl(2), PR_SET_CHILD_SUBREAPER).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def reap_orphans(keep: Collection[int]) -> None:
    """Clear away adopted processes that have ended; those of `keep` are somebody else's to wait for."""
    for child in _children():
        if child.ended and child.pid not in keep:
            with suppress(ChildProcessError):
                os.waitpid(child.pid, os.WNOHANG)


async def end_orphans(keep: Collection[int], *, seconds: float = 5.0) -> list[int]:
    """Kill all children but those of `keep`, and what they leave in turn; return the pids that outlived it."""
    for _ in range(int(seconds / _POLL_SECONDS)):
        reap_orphans(keep)
        orphans = [child.pid for child in _children() if child.pid not in keep]
        if not orphans:
            return []
        for pid in orphans:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(_POLL_SECONDS)
    return [child.pid for child in _children() if child.pid not in keep]


def _children() -> Iterator[_Child]:
    """Direct children of this process, by proc_pid_stat(5): the fields after the name are state and parent."""
    ours = str(os.getpid())
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            with suppress(OSError):
                state, parent = (directory / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
                if parent == ours:
                    yield _Child(int(directory.name), state in "ZX")


def death_signal() -> list[str]:
    """What to put before a command so that the kernel ends it with SIGTERM when this process dies.

    Nothing where setpriv(1) of util-linux is missing: then what a killed supervisor leaves goes on until stopped.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return []
    prefix = [setpriv, "--pdeathsig", "TERM", "--"]
    works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if works else []


class DataLock:
    """The lock of one data directory. Every process that is given its descriptor holds it too, until the last one ends.

    So a second `paigate up` is refused, and one that follows a killed one waits for what that left behind: two Valkeys
    never write the same file.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    @classmethod
    async def take(cls, path: Path, *, seconds: float = _PREDECESSOR_SECONDS) -> "DataLock":
        """Take the lock; `seconds` is how long to wait for what a killed holder left.

        Raises:
            AlreadyRunning: the holder is alive, or its processes did not end in time.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        lock = cls(descriptor)
        try:
            for _ in range(int(seconds / _POLL_SECONDS) + 1):
                if lock.try_to_hold():
                    return lock
                if holder := lock.living_holder():
                    raise AlreadyRunning(f"paigate up already runs here (process {holder}); stop it with kill {holder}")
                await asyncio.sleep(_POLL_SECONDS)
            raise AlreadyRunning(f"processes of an earlier paigate up still run; find them with: fuser -v {path}")
        except BaseException:
            os.close(descriptor)
            raise

    def try_to_hold(self) -> bool:
        """Hold the lock and write our pid into it, unless somebody holds it."""
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, str(os.getpid()).encode(), 0)
        return True

    def living_holder(self) -> str:
        """The pid of the process that took the lock, while it lives."""
        pid = os.pread(self.descriptor, 32, 0).decode(errors="replace").strip()
        return pid if pid and Path("/proc", pid).exists() else ""

    def release(self) -> None:
        """Let go; processes that were given the lock still hold it."""
        os.close(self.descriptor)
