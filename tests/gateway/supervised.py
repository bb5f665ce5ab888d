"""A supervisor of small stand-in commands in a process of its own, and a reader of what it says."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 20.0

_DRIVER = """
import asyncio, json, os, sys
from pathlib import Path
from gateway.supervisor import Part, Supervisor, ready_file
told = json.loads(sys.argv[1])
say = lambda line: print(line, flush=True)
parts = [Part(name=name, argv=argv, environment=os.environ, ready=ready_file(Path(told["directory"], name)))
         for name, argv in told["parts"].items()]
supervisor = Supervisor(parts, say=say, start_seconds=told["start"], grace_seconds=told["grace"])
sys.exit(asyncio.run(supervisor.run(lambda: say("ready"))))
"""


def until(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Wait until the condition holds.

    Raises:
        AssertionError: it does not in time.
    """
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.01)


def alive(pid: int) -> bool:
    """Whether the process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Running:
    """A started program whose lines are kept as they come."""

    def __init__(self, argv: Sequence[str], environment: dict[str, str], cwd: Path) -> None:
        self.process = subprocess.Popen(
            argv, env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            for line in self.process.stdout:
                self.lines.append(line.rstrip("\n"))

    @property
    def text(self) -> str:
        """All that was said."""
        return "\n".join(self.lines)

    def said(self, words: str) -> bool:
        """Whether a line holds the words."""
        return any(words in line for line in self.lines)

    def expect(self, words: str) -> None:
        """Wait for a line that holds the words."""
        until(lambda: self.said(words) or self.process.poll() is not None)
        until(lambda: self.said(words), 2)

    def end(self, number: int = signal.SIGINT) -> int:
        """Send a signal, and wait for the end."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end, and for all that was said until then."""
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code


@contextmanager
def running(argv: Sequence[str], environment: dict[str, str], cwd: Path = ROOT) -> Iterator[Running]:
    """A running program that is ended with the block, if it has not ended by itself."""
    program = Running(argv, environment, cwd)
    try:
        yield program
    finally:
        if program.process.poll() is None:
            program.process.terminate()
            try:
                program.process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                program.process.kill()
        program.wait()


@contextmanager
def supervised(
    directory: Path, parts: dict[str, list[str]], *, start: float = 20, grace: float = 20
) -> Iterator[Running]:
    """A supervisor of the parts; each is ready when it wrote its pid into `directory` under its name."""
    told = json.dumps({"directory": str(directory), "parts": parts, "start": start, "grace": grace})
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "STAND_IN_DIRECTORY": str(directory)}
    with running([sys.executable, "-c", _DRIVER, told], environment) as program:
        yield program


def stand_in(name: str, before: str = "", after: str = "signal.pause()") -> list[str]:
    """A command that runs `before`, tells that it is ready, and runs `after`."""
    code = f"""
import os, signal, subprocess, sys
from pathlib import Path
here = Path(os.environ["STAND_IN_DIRECTORY"])
def ready():
    with (here / "log").open("a") as log: log.write("{name} begins\\n")
    draft = here / "{name}.draft"; draft.write_text(str(os.getpid())); draft.replace(here / "{name}")
def ended(*_):
    with (here / "log").open("a") as log: log.write("{name} ends\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, ended)
{before}
ready()
{after}
"""
    return [sys.executable, "-I", "-S", "-c", code]
