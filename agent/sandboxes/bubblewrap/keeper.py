"""The owner of one background command: a process that outlives the one that started it, and that nothing outlives.

It is run as a script with the standard library alone (`python -I -S keeper.py`) and given an `Order` on standard input.
It runs bwrap, keeps what the command prints, and writes down how it stands in the directory of the command:

- `lock` stays locked for as long as it lives: its starter took the lock and handed the descriptor on. By a record lock
  of its own there, the kernel tells who it is, and by its bytes from when to when it may last. It ends with that file;
- `state.json` holds a `Record` and is replaced in one step, where there is room for that;
- `output.N` holds what was printed from byte N on; the first and the latest of these files stay.

The command waits inside at a gate until it is on record and the starter was told: nothing runs that nobody knows of.
The kernel ends bwrap, and all that is inside, with this thread that started it; a gate left alone lets nothing through.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.sandboxes.bubblewrap.records import Answer, Ending, Order

LOCK, STATE, OUTPUT = "lock", "state.json", "output."
PIECE_BYTES, LATEST_PIECES = 500_000, 2
START_SECONDS = 10.0  # that the sandbox may take to stand
GATE = 'echo up >&{fd} && read -r _ <&{fd} && exec {fd}>&- && exec "$@"'
"""What bash runs inside before the command; `fd` is the gate's number there."""

_CHUNK = 1 << 16
# bwrap tells the namespace's first process within milliseconds; killed before that, it could leave one behind.
_STATUS_SECONDS, _LOOK_SECONDS = 2.0, 1.0


class Output:
    """What was printed, in files named by the offset of their first byte."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._offset, self._file = 0, -1
        self._room: int = 0
        self._latest: list[Path] = []

    def add(self, data: bytes) -> None:
        """Keep the next bytes; where they cannot be written, as on a full disk, they are left out."""
        while data:
            try:
                if not self._room:
                    self._begin()
                count = os.write(self._file, data[: self._room])
                self._room -= count
            except OSError:
                self._room, count = 0, len(data)
            self._offset += count
            data = data[count:]

    def _begin(self) -> None:
        path = self._directory / f"{OUTPUT}{self._offset}"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        if self._file >= 0:
            os.close(self._file)
        self._file, self._room = file, PIECE_BYTES
        if self._offset:
            self._latest.append(path)
        while len(self._latest) > LATEST_PIECES:
            self._latest.pop(0).unlink(missing_ok=True)


class Sandboxed:
    """One bwrap process and what is in its pid namespace."""

    def __init__(self, order: Order) -> None:
        theirs = (order["status"][1], order["gate"][1])
        self._process = subprocess.Popen(
            order["argv"],
            stdin=order["stdin"] if order["stdin"] >= 0 else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(*order["descriptors"], *theirs),
            env={},
            cwd="/",
            umask=0o022,
        )
        # They would keep memory and the project's directory for hours, and the ends of pipes open.
        for fd in {*order["descriptors"], order["stdin"], *theirs} - {-1}:
            os.close(fd)
        self.ended = os.pidfd_open(self._process.pid)
        self.output = self._process.stdout.fileno() if self._process.stdout else -1
        self.status = order["status"][0]
        self.first: tuple[int, str] | None = None
        self._first_ended, self._status_line = -1, b""
        self._exit_code: int | None = None
        for fd in (self.output, self.status):
            os.set_blocking(fd, False)

    @property
    def exit_code(self) -> int | None:
        """The command's exit code; 137 when bwrap was killed and could not tell, None when no command was begun."""
        if self._exit_code is None and self.first and (self._process.returncode or 0) < 0:
            return 128 + signal.SIGKILL
        return self._exit_code

    def read_status(self) -> bytes | None:
        """Take what bwrap tells of itself; gives what `read` gave."""
        data = read(self.status)
        *lines, self._status_line = (self._status_line + (data or b"")).split(b"\n")
        for told in map(json.loads, lines):
            self._exit_code = told.get("exit-code", self._exit_code)
            if "child-pid" in told:
                with suppress(OSError):
                    self._first_ended = os.pidfd_open(told["child-pid"])
                    self.first = (told["child-pid"], start_of(told["child-pid"]))
        return data

    def end(self) -> Iterator[bytes]:
        """Kill what still runs, and wait until nothing of it is left; gives the rest of what was printed."""
        if self._process.poll() is None:
            limit = now() + _STATUS_SECONDS
            while self._first_ended < 0 and is_ready(self.status, limit - now()) and self.read_status():
                pass
            self._process.kill()
        if self._first_ended >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first_ended, signal.SIGKILL)
            is_ready(self._first_ended, None)
        self._process.wait()
        while self.read_status():
            pass
        while data := read(self.output):
            yield data


class Keeper:
    """Runs one command from its start to the end of its last process."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._directory = Path(order["directory"])
        self._output = Output(self._directory)
        self._gate = socket.socket(fileno=order["gate"][0])
        self._events, self._limit = selectors.DefaultSelector(), now() + START_SECONDS
        self._up, self._said = False, b""
        self._record = record = order["record"]
        fcntl.lockf(order["lock"], fcntl.LOCK_EX | fcntl.LOCK_NB, int(order["seconds"]) + 1, int(record["started"]))

    def run(self) -> None:
        """Keep the command; returns when nothing of it is left."""
        self._save()
        self._listen()
        sandboxed = Sandboxed(self._order)
        ending: Ending = "stopped"
        try:
            ending = self._watch(sandboxed)
        finally:
            for data in sandboxed.end():
                self._take(data)
            self._record["state"], self._record["ended"] = ending, time.time()
            self._record["exit_code"] = sandboxed.exit_code if ending == "exited" else None
            self._save()
        if not self._up:
            answer({"ok": False, "said": self._said.decode("utf-8", "replace")})

    def _listen(self) -> None:
        """Make a request to stop, and the end of the process that the command is tied to, events like others."""
        asked, asking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(asking)
        signal.signal(signal.SIGTERM, lambda _number, _frame: None)
        self._events.register(asked, selectors.EVENT_READ, lambda: "stopped")
        if self._order["lifeline"] >= 0:
            self._events.register(self._order["lifeline"], selectors.EVENT_READ, lambda: "orphaned")

    def _is_at_its_place(self) -> bool:
        with suppress(OSError):
            return os.path.samestat(os.fstat(self._order["lock"]), (self._directory / LOCK).stat())
        return False

    def _watch(self, sandboxed: Sandboxed) -> Ending:
        """Serve the command until it ended or has to; gives why."""

        def served(fd: int, data: bytes | None) -> None:
            if data is None:
                self._events.unregister(fd)

        output, status = sandboxed.output, sandboxed.status
        self._events.register(status, selectors.EVENT_READ, lambda: served(status, sandboxed.read_status()))
        self._events.register(output, selectors.EVENT_READ, lambda: served(output, self._take(read(output))))
        self._events.register(self._gate.fileno(), selectors.EVENT_READ, lambda: self._open_gate(sandboxed))
        self._events.register(sandboxed.ended, selectors.EVENT_READ, lambda: "exited")
        while (left := self._limit - now()) > 0 and self._is_at_its_place():
            for key, _ in self._events.select(min(left, _LOOK_SECONDS)):
                if ending := key.data():
                    return ending
        return "stopped" if left > 0 else "deadline"

    def _open_gate(self, sandboxed: Sandboxed) -> Ending | None:
        """The sandbox stands, or fell: let the command begin once that is on record and the starter knows."""
        self._events.unregister(self._gate)
        with suppress(ConnectionError):
            if not self._gate.recv(_CHUNK):
                return None
            sandboxed.read_status()
            self._record["first"] = sandboxed.first
            self._save()
            if not answer({"ok": True, "said": ""}):
                return "stopped"
            self._up = True
            self._limit += self._order["seconds"] - START_SECONDS
            self._gate.sendall(b"\n")
            self._gate.close()
        return None

    def _take(self, data: bytes | None) -> bytes | None:
        if data and not self._up:
            self._said = (self._said + data)[-_CHUNK:]
        self._output.add(data or b"")
        return data

    def _save(self) -> None:
        record, place, fresh = json.dumps(self._record), self._directory / STATE, self._directory / f"{STATE}.new"
        try:
            fresh.write_text(record, encoding="utf-8")
            fresh.replace(place)
        except OSError:
            if self._record["ended"] is None:
                raise
            # On a full disk there is still room where the record is.
            with suppress(OSError), place.open("r+", encoding="utf-8") as file:
                file.truncate(file.write(record))


def now() -> float:
    """Seconds, counted on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def read(fd: int) -> bytes | None:
    """What a descriptor has for now; None at its end."""
    try:
        return os.read(fd, _CHUNK) or None
    except BlockingIOError:
        return b""


def is_ready(fd: int, seconds: float | None) -> bool:
    """Wait until there is something to read, or a process has ended, for so long at most."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if seconds is None else max(0.0, seconds) * 1000))


def start_of(pid: int) -> str:
    """When a process was started, as proc_pid_stat(5) tells it; a later one of the same pid has another.

    Raises:
        OSError: there is no such process.
    """
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]


def answer(told: Answer) -> bool:
    """Tell the starter, once, and let its pipe go; gives whether it was still there."""
    with suppress(BrokenPipeError):
        os.write(1, json.dumps(told).encode())
        point_nowhere(1)
        return True
    return False


def point_nowhere(fd: int) -> None:
    """Let go of what a standard descriptor stood for."""
    os.dup2(nowhere := os.open(os.devnull, os.O_RDWR), fd)
    os.close(nowhere)


def main() -> None:
    """Read the order, and part from the starter: it waits for its child, and the command goes on without it."""
    order: Order = json.loads(sys.stdin.buffer.read())
    if os.fork():
        os._exit(0)
    point_nowhere(0)
    try:
        Keeper(order).run()
    except OSError as error:
        answer({"ok": False, "said": f"its keeper failed: {error}"})
        raise


if __name__ == "__main__":
    main()
