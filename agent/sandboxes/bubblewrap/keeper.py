"""The owner of one background command: a process that outlives the one that started it, and that nothing outlives.

It is run as a script with the standard library alone (`python -I -S keeper.py`) and given an `Order` on standard input.
It runs bwrap, keeps what the command prints, and writes down how it stands in the directory of the command:

- `lock` stays locked for as long as it lives: whoever started it took the lock and handed the descriptor on;
- `state.json` holds a `Record` and is replaced in one step;
- `output.N` holds what was printed from byte N on; the first and the latest of these files stay.

The command waits inside the sandbox at a gate until its record is written and the starter was told, so that nothing
runs which nobody knows of. The kernel ends bwrap when this thread, which started it, ends, and with bwrap all that is
inside; a gate that nobody is behind any more lets nothing through.
"""

from __future__ import annotations

import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent.sandboxes.bubblewrap.records import Answer, Ending, Order, Record

STATE, OUTPUT = "state.json", "output."
PIECE_BYTES = 500_000
LATEST_PIECES = 2
START_SECONDS = 10.0
"""How long the sandbox may take to stand."""
GATE = 'echo up >&{fd} && read -r _ <&{fd} && exec {fd}>&- && exec "$@"'
"""What bash runs inside before the command; `fd` is the gate's number there."""

_CHUNK = 1 << 16
# bwrap tells the namespace's first process within milliseconds; killed before that, it could leave one behind.
_STATUS_SECONDS = 2.0


class Output:
    """What was printed, in files named by the offset of their first byte."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._offset = 0
        self._room: int = 0
        self._file = -1
        self._latest: deque[Path] = deque()

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
            self._latest.popleft().unlink(missing_ok=True)


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
        self._first_ended = -1
        self._exit_code: int | None = None
        self._status_line = b""
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
        for line in lines:
            told = json.loads(line)
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
        self._said = b""
        self._gate = socket.socket(fileno=order["gate"][0])
        self._events = selectors.DefaultSelector()
        self._limit = now() + START_SECONDS
        self._up = False
        self._record: Record = {**order["record"], "keeper": os.getpid()}

    def run(self) -> None:
        """Keep the command; returns when nothing of it is left."""
        self._save()
        self._listen()
        try:
            sandboxed = Sandboxed(self._order)
        except OSError as error:
            answer({"ok": False, "said": f"bwrap cannot be started: {error.strerror}"})
            return
        ending: Ending = "stopped"
        try:
            ending = self._watch(sandboxed)
        finally:
            for data in sandboxed.end():
                self._take(data)
            self._record["state"], self._record["ended"] = ending, time.time()
            self._record["exit_code"] = sandboxed.exit_code if ending == "exited" else None
            with suppress(OSError):
                self._save()
        if not self._up:
            answer({"ok": False, "said": self._said.decode("utf-8", "replace")})

    def _listen(self) -> None:
        """Make a request to stop, and the end of the process that the command is tied to, events like others."""
        self._signals = socket.socketpair()
        self._signals[1].setblocking(False)
        signal.set_wakeup_fd(self._signals[1].fileno())
        signal.signal(signal.SIGTERM, lambda _number, _frame: None)
        self._on(self._signals[0].fileno(), lambda: "stopped")
        if self._order["lifeline"] >= 0:
            self._on(self._order["lifeline"], lambda: "orphaned")

    def _on(self, fd: int, call: Callable[[], Ending | None]) -> None:
        self._events.register(fd, selectors.EVENT_READ, call)

    def _watch(self, sandboxed: Sandboxed) -> Ending:
        """Serve the command until it ended or has to; gives why."""

        def served(fd: int, data: bytes | None) -> None:
            if data is None:
                self._events.unregister(fd)

        self._on(sandboxed.status, lambda: served(sandboxed.status, sandboxed.read_status()))
        self._on(sandboxed.output, lambda: served(sandboxed.output, self._take(read(sandboxed.output))))
        self._on(self._gate.fileno(), lambda: self._open_gate(sandboxed))
        self._on(sandboxed.ended, lambda: "exited")
        while (left := self._limit - now()) > 0:
            for key, _ in self._events.select(left):
                if ending := key.data():
                    return ending
        return "deadline"

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
        fresh = self._directory / f"{STATE}.new"
        fresh.write_text(json.dumps(self._record), encoding="utf-8")
        fresh.replace(self._directory / STATE)


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
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def main() -> None:
    """Read the order, and part from the starter: it waits for its child, and the command goes on without it."""
    order: Order = json.loads(sys.stdin.buffer.read())
    if os.fork():
        os._exit(0)
    point_nowhere(0)
    Keeper(order).run()


if __name__ == "__main__":
    main()
