"""One background command as it lies on disk, for whichever process asks: how it stands, what it printed, its end."""

import fcntl
import json
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

from agent.sandbox import BackgroundCommand, BackgroundOutput
from agent.sandboxes.bubblewrap.keeper import OUTPUT, STATE, is_ready, start_of
from agent.sandboxes.bubblewrap.records import Record

_LOCK = "lock"


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
        lock = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def alive(self) -> bool:
        """Whether its keeper is there; the kernel lets the lock go with the keeper, however that ends."""
        try:
            lock = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

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
        alive, record = self.alive(), self._record()
        if record is None:
            return None
        state = "lost" if record["state"] == "running" and not alive else record["state"]
        ended = record["ended"] or min(now, record["deadline"])
        return BackgroundCommand(
            command_id=self.directory.name,
            command=record["command"],
            state=state,
            exit_code=record["exit_code"],
            seconds=max(0.0, ended - record["started"]),
            seconds_left=max(0.0, record["deadline"] - now) if state == "running" else 0.0,
            output_bytes=max((start + size for start, size in self._pieces()), default=0),
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

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to its keeper, and to no other process; gives whether that was possible."""
        record = self._record()
        if record is None:
            return False
        with suppress(OSError):
            keeper = os.pidfd_open(record["keeper"])
            try:
                # Alive still, the keeper is what had its pid a moment ago, and that is what was opened.
                if self.alive():
                    signal.pidfd_send_signal(keeper, number)
                    return True
            finally:
                os.close(keeper)
        return False

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

    def _record(self) -> Record | None:
        try:
            return json.loads((self.directory / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _pieces(self) -> list[tuple[int, int]]:
        """Where the pieces of its output begin, and their sizes."""
        found: list[tuple[int, int]] = []
        with suppress(OSError), os.scandir(self.directory) as entries:
            for entry in entries:
                if entry.name.startswith(OUTPUT):
                    # The keeper may remove it at this moment.
                    with suppress(OSError):
                        found.append((int(entry.name.removeprefix(OUTPUT)), entry.stat().st_size))
        return sorted(found)

    def _read(self, start: int, skip: int, most_bytes: int) -> bytes:
        try:
            with (self.directory / f"{OUTPUT}{start}").open("rb") as file:
                file.seek(skip)
                return file.read(most_bytes)
        except OSError:
            return b""
