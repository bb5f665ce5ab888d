"""The whole product as real processes: Valkey, the worker with its pool, the gateway; each can be killed and started.

Nothing of the product is replaced: people are reached through the local Telegram server or the web chat over HTTP.
"""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psutil
import redis

from tests.servers.ports import free_port
from tests.servers.valkey import Valkey

ROOT = Path(__file__).parents[2]
PAIGATE = str(Path(sys.executable).with_name("paigate"))
WAIT_SECONDS = 20.0
T = TypeVar("T")


def wait_until(condition: Callable[[], T], what: str, seconds: float = WAIT_SECONDS) -> T:
    """Poll until the condition gives something true; fail with `what` otherwise."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"never came about: {what}")


class Product:
    """One installation. `settings` are `PAIGATE_` variables without the prefix."""

    def __init__(self, directory: Path, **settings: str) -> None:
        self.data_dir = directory / "data"
        self.data_dir.mkdir(mode=0o700)
        self.valkey = Valkey(directory / "valkey")
        self.port = free_port()
        self.log = directory / "product.log"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._settings = {
            "DATA_DIR": str(self.data_dir),
            "REDIS_URL": self.valkey.url,
            "HTTP_PORT": str(self.port),
            "WORKERS": "2",
            "LANG": "en",
            **settings,
        }

    def start(self) -> None:
        self.valkey.start()
        self.start_part("worker")
        self.start_part("gateway")

    def start_part(self, name: str, *, path: str = "", command: bool = False, **settings: str) -> None:
        """Start `worker` or `gateway`, by the `paigate` command or its module, and wait until it says it is ready."""
        ready = self.data_dir / "run" / f"{name}.ready"
        ready.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [PAIGATE, name] if command else [sys.executable, "-P", "-m", name],
                cwd=ROOT,
                env=self._environment(settings) | ({"PATH": path} if path else {}),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._processes[name] = process
        wait_until(
            lambda: ready.exists() or process.poll() is not None, f"{name} is ready:\n{self.log.read_text()[-3000:]}"
        )
        assert process.poll() is None, f"{name} ended:\n{self.log.read_text()[-3000:]}"

    def run_part(self, name: str, **settings: str) -> tuple[int, str]:
        """Run a part that should end by itself; returns its exit code and what it printed."""
        ended = subprocess.run(
            [sys.executable, "-P", "-m", name],
            cwd=ROOT,
            env=self._environment(settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        return ended.returncode, ended.stdout

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PAIGATE_")}
        return kept | {f"PAIGATE_{key}": value for key, value in {**self._settings, **settings}.items()}

    def start_another_gateway(self) -> None:
        """Start a second gateway beside the first, on a port of its own."""
        first = self._processes.pop("gateway")
        self.start_part("gateway", HTTP_PORT=str(free_port()))
        self._processes["other gateway"] = first

    def kill(self, name: str) -> None:
        """End a part and all it started with SIGKILL."""
        if name == "valkey":
            self.valkey.kill()
            return
        process = self._processes.pop(name)
        everyone = [process.pid, *(child.pid for child in _children(process.pid))]
        for pid in everyone:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(WAIT_SECONDS)

    def stop(self, name: str) -> int:
        """End a part politely; returns its exit code."""
        self._processes[name].terminate()
        return self.wait(name)

    def wait(self, name: str) -> int:
        """Wait until a part has ended by itself; returns its exit code."""
        return self._processes.pop(name).wait(WAIT_SECONDS)

    def close(self) -> None:
        for name in list(self._processes):
            self.kill(name)
        self.valkey.close()

    def children(self, name: str) -> list[psutil.Process]:
        return _children(self._processes[name].pid)

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def redis(self) -> "redis.Redis":
        return redis.Redis.from_url(self.valkey.url, decode_responses=True)

    def project(self, platform: str, user_id: str, name: str = "hello") -> Path:
        """A person's project on disk."""
        with self.redis() as connection:
            person = connection.get(f"paigate:person:{platform}:{user_id}")
        assert person is not None
        return self.data_dir / "workspaces" / str(person) / name

    def ledgers(self) -> list[list[dict[str, Any]]]:
        """Every conversation's ledger, as entries."""
        return [
            [json.loads(line) for line in path.read_text().splitlines()]
            for path in sorted((self.data_dir / "ledgers").glob("*.jsonl"))
        ]

    def tail(self) -> str:
        return self.log.read_text()[-4000:]

    @property
    def web_address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def web_token(self) -> str:
        return (self.data_dir / "web-token").read_text().strip()


class WebPerson:
    """The owner of the web chat, over plain HTTP: says, taps, and reads what the page would show."""

    def __init__(self, address: str, token: str) -> None:
        self._client = httpx.Client(base_url=address, headers={"Origin": address}, timeout=WAIT_SECONDS)
        answer = self._client.get("/", params={"token": token})
        assert answer.status_code == 200, answer.text

    def say(self, text: str, message_id: str = "") -> httpx.Response:
        return self._client.post("/api/messages", json={"id": message_id or str(uuid.uuid4()), "text": text})

    def tap(self, value: str, reason: str = "") -> dict[str, Any]:
        return self._client.post("/api/taps", json={"value": value, "reason": reason}).json()

    def download(self, message_id: str) -> bytes:
        answer = self._client.get(f"/api/files/{message_id}")
        assert answer.status_code == 200
        return answer.content

    def messages(self) -> list[dict[str, Any]]:
        """What a page that is opened now would show."""
        shown: dict[str, dict[str, Any]] = {}
        with self._client.stream("GET", "/api/events") as answer:
            kind = "message"
            for line in answer.iter_lines():
                if line.startswith("event:"):
                    kind = line.removeprefix("event:").strip()
                elif line.startswith("data:") and kind == "message":
                    message = json.loads(line.removeprefix("data:"))
                    shown[message["id"]] = message
                elif line == "":
                    if kind == "ready":
                        return list(shown.values())
                    kind = "message"
        raise AssertionError("the event stream ended early")

    def said(self, part: str) -> dict[str, Any]:
        """The bot's message that holds `part`, waited for."""
        return wait_until(
            lambda: next((m for m in self.messages() if part in m["text"] and m["role"] != "user"), None), part
        )

    def card(self, after: str = "") -> dict[str, Any]:
        """The open card that is not `after`, waited for."""
        return wait_until(
            lambda: next((m for m in self.messages() if m["buttons"] and m["id"] != after), None), "a card"
        )

    def close(self) -> None:
        self._client.close()


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


@contextmanager
def running_product(directory: Path, **settings: str) -> Iterator[Product]:
    """A running installation, ended with the block."""
    product = Product(directory, **settings)
    try:
        product.start()
        yield product
    finally:
        product.close()
