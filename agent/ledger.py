"""The append-only record of one conversation on disk: JSON lines, the truth about what happened."""

import fcntl
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from agent.errors import LedgerCorrupt

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line: `kind` names what happened, in the past tense; `data` holds what belongs to it."""

    sequence: int
    at: datetime
    kind: str
    data: dict[str, Any]


class LedgerBusy(Exception):
    """Another process has the ledger open for writing."""


class Ledger:
    """A ledger open for writing, by one process at a time; use as a context manager.

    `guard` is called before every append and may raise to refuse it (a lost lease). A torn last line, left by a crash
    in the middle of a write, is cut off on opening: what it meant to say was never acted upon.
    """

    def __init__(self, path: Path, *, clock: Callable[[], datetime], guard: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._clock = clock
        self._guard = guard
        self._fd = -1
        self._sequence = 0

    def __enter__(self) -> "Ledger":
        """Take the file's lock.

        Raises:
            LedgerBusy: another process holds it.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_new = not self.path.exists()
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if is_new:
            _sync_directory(self.path.parent)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as busy:
            os.close(self._fd)
            raise LedgerBusy(str(self.path)) from busy
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the lock go."""
        os.close(self._fd)

    def read(self) -> list[Entry]:
        """All entries so far, oldest first.

        Raises:
            LedgerCorrupt: a line that is not the last cannot be read, or one is missing.
        """
        raw = self.path.read_bytes()
        whole, _, torn = raw.rpartition(b"\n")
        if torn:
            os.ftruncate(self._fd, len(raw) - len(torn))
        entries = [self._parse(line, number) for number, line in enumerate(whole.splitlines(), 1)]
        self._sequence = len(entries)
        return entries

    def now(self) -> datetime:
        """The time that entries are written with."""
        return self._clock()

    def append(self, kind: str, data: dict[str, Any], *, durable: bool = True) -> Entry:
        """Write one entry and wait until it is on disk; one that need not be `durable` is there with the next that is.

        Raises:
            OSError: it could not be written; the ledger is as it was.
        """
        self._guard()
        entry = Entry(sequence=self._sequence + 1, at=self._clock(), kind=kind, data=data)
        line = json.dumps(
            {"v": SCHEMA_VERSION, "n": entry.sequence, "at": entry.at.isoformat(), "kind": kind, "data": data},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        self._write(line.encode("utf-8", "surrogatepass") + b"\n", durable=durable)
        self._sequence = entry.sequence
        return entry

    def _write(self, line: bytes, *, durable: bool) -> None:
        """Write a whole line or none: a disk that fills up in the middle must not leave half a record behind."""
        before = os.fstat(self._fd).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            if durable:
                os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, before)
            raise

    def _parse(self, line: bytes, number: int) -> Entry:
        try:
            record = json.loads(line.decode("utf-8", "surrogatepass"))
            if record["v"] > SCHEMA_VERSION:
                raise LedgerCorrupt(f"line {number} was written by a newer version of Paigate")
            if record["n"] != number:
                raise LedgerCorrupt(f"line {number} is numbered {record['n']}: lines are missing")
            at = datetime.fromisoformat(record["at"])
            return Entry(sequence=number, at=at, kind=record["kind"], data=record["data"])
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerCorrupt(f"line {number} cannot be read") from error


def _sync_directory(directory: Path) -> None:
    """Have a new file's name on disk as well, not only its content."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
