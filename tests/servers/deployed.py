"""`./deploy/run` as a newcomer starts it: with nothing configured, in a home of its own."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.servers.product import ROOT, WebPerson


class Running:
    """A started `./deploy/run`, its printed lines, and the person at the address it printed."""

    def __init__(self, home: Path, port: int, checkout: Path) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PAIGATE_", "XDG_"))}
        self.process = subprocess.Popen(
            [checkout / "deploy/run"],
            env=kept | {"HOME": str(home), "PAIGATE_HTTP_PORT": str(port)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.printed: list[str] = []
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line)
            if "Ctrl-C" in line:
                break
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", "".join(self.printed))
        assert found, "".join(self.printed)
        self.link = found[0]
        self.person = WebPerson(found[1], found[2])
        self.data = home / ".local/share/paigate"

    def everyone(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self) -> int:
        self.person.close()
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        return self.process.returncode


@contextmanager
def run(home: Path, port: int, *, checkout: Path = ROOT) -> Iterator[Running]:
    running = Running(home, port, checkout)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
