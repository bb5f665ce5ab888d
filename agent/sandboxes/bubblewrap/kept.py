"""One background command as it lies on disk, for whichever process asks: how it stands, what it printed, its end."""

import fcntl
import json
import os
import re
import shutil
import signal
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from agent.sandbox import BackgroundCommand, BackgroundOutput
from agent.sandboxes.bubblewrap.keeper import LOCK, OUTPUT, STATE, is_ready, start_of
from agent.sandboxes.bubblewrap.records import Record, is_record

_PIECE = re.compile(rf"{re.escape(OUTPUT)}([0-9]{{1,18}})")
_UNREAD = "(its record cannot be read)"
# `struct flock` of 64-bit Linux: type, whence, start, length, pid.
_FLOCK = "hhqqi4x"


class Claim(NamedTuple):
    """What the kernel knows of a keeper by its record lock: its pid, and from when to when it may last."""

    pid: int
    started: float
    deadline: float


class Kept:
    """The command in `directory`, whose name is its id."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def number(self) -> int:
        """Its place in the order of starts."""
        return int(self.directory.name[2:])

    def make(self) -> int:
        """Make the directory; gives the descriptor of its lock, held."""
        self.directory.mkdir(mode=0o700)
        lock = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def alive(self) -> bool:
        """Whether its keeper is there; the kernel lets the lock go with the keeper, however that ends."""
        with suppress(OSError), self._lock() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def keeper(self) -> Claim | None:
        """Who its keeper is; None when there is none, or only the process that starts it, or it cannot be seen."""
        with suppress(OSError), self._lock() as lock:
            asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, start, length, pid = struct.unpack(_FLOCK, fcntl.fcntl(lock, fcntl.F_GETLK, asked))
            if kind != fcntl.F_UNLCK and pid > 0:
                return Claim(pid, float(start), float(start + length))
        return None

    def running(self) -> bool:
        """Whether the command runs, or is about to."""
        alive, record = self.alive(), self._record()
        return alive and (record is None or record["state"] == "running")

    def forget(self) -> None:
        """Remove all that is kept of it."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def describe(self, now: float) -> BackgroundCommand | None:
        """How it stands at `now`, in seconds since 1970; None when nothing is known of it."""
        # In this order: a keeper writes its last record and then ends.
        alive, claim, record = self.alive(), self.keeper(), self._record()
        if record is None:
            return self._unread(claim, now) if claim else None
        state = "lost" if record["state"] == "running" and not alive else record["state"]
        ended = record["ended"] or min(now, record["deadline"])
        return BackgroundCommand(
            command_id=self.directory.name,
            command=record["command"],
            state=state,
            exit_code=record["exit_code"],
            seconds=max(0.0, ended - record["started"]),
            seconds_left=max(0.0, record["deadline"] - now) if state == "running" else 0.0,
            output_bytes=self._printed(),
        )

    def _unread(self, claim: Claim, now: float) -> BackgroundCommand:
        return BackgroundCommand(
            command_id=self.directory.name,
            command=_UNREAD,
            state="running",
            exit_code=None,
            seconds=max(0.0, now - claim.started),
            seconds_left=max(0.0, claim.deadline - now),
            output_bytes=self._printed(),
        )

    def output(self, offset: int | None, most_bytes: int) -> BackgroundOutput:
        """See `Background.output`."""
        pieces = self._pieces()
        total = max((start + size for start, size in pieces), default=0)
        begin = min(max(0, total - most_bytes) if offset is None else offset, total)
        content = b""
        for start, size in pieces:
            here = begin + len(content)
            if start + size <= here:
                continue
            if start > here and content:
                break
            begin = max(begin, start) if not content else begin
            content += self._read(start, begin + len(content) - start, most_bytes - len(content))
            if len(content) == most_bytes:
                break
        return BackgroundOutput(start=begin, content=content)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to its keeper, if that is known, and to no other process."""
        if claim := self.keeper():
            with suppress(OSError):
                keeper = os.pidfd_open(claim.pid)
                try:
                    # Its lock held still, the keeper is what had the pid a moment ago, and that is what was opened.
                    if self.keeper() == claim:
                        signal.pidfd_send_signal(keeper, number)
                finally:
                    os.close(keeper)

    def kill_remains(self) -> bool:
        """Kill the first process of its namespace, with which all others end; gives whether it was still there."""
        record = self._record()
        if record is None or record["first"] is None:
            return False
        pid, start = record["first"]
        with suppress(OSError):
            first = os.pidfd_open(pid)
            try:
                if start_of(pid) == start and not is_ready(first, 0):
                    signal.pidfd_send_signal(first, signal.SIGKILL)
                    return True
            finally:
                os.close(first)
        return False

    @contextmanager
    def _lock(self) -> Generator[int]:
        lock = os.open(self.directory / LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            yield lock
        finally:
            os.close(lock)

    def _record(self) -> Record | None:
        """None where there is none, or none that makes sense."""
        try:
            found = json.loads((self.directory / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return found if is_record(found) else None

    def _printed(self) -> int:
        return max((start + size for start, size in self._pieces()), default=0)

    def _pieces(self) -> list[tuple[int, int]]:
        """Where the pieces of its output begin, and their sizes."""
        found: list[tuple[int, int]] = []
        with suppress(OSError), os.scandir(self.directory) as entries:
            for entry in entries:
                if name := _PIECE.fullmatch(entry.name):
                    # The keeper may remove it at this moment.
                    with suppress(OSError):
                        found.append((int(name[1]), entry.stat().st_size))
        return sorted(found)

    def _read(self, start: int, skip: int, most_bytes: int) -> bytes:
        try:
            with (self.directory / f"{OUTPUT}{start}").open("rb") as file:
                file.seek(skip)
                return file.read(most_bytes)
        except OSError:
            return b""
