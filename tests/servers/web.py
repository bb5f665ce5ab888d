"""The web chat served over real HTTP, with a listener that keeps what it was told instead of an agent."""

import asyncio
import queue
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from gateway.adapter import Outgoing, Said, Tapped, TapReply
from gateway.adapters.web import WebAdapter
from gateway.http import build_app, build_server, listen
from worker.messages import Address

OWNER = Address(platform="web", chat_id="owner")
TOKEN = "a-token-that-nobody-guesses"
PATIENCE = 10.0

T = TypeVar("T")


class KeepingListener:
    """Keeps messages and taps. `failure` is raised instead; a tap waits while `released` is cleared."""

    def __init__(self) -> None:
        self.messages: queue.Queue[Said] = queue.Queue()
        self.taps: queue.Queue[Tapped] = queue.Queue()
        self.reply = TapReply(text="")
        self.failure: Exception | None = None
        self.released = threading.Event()
        self.released.set()

    async def said(self, message: Said) -> None:
        if self.failure is not None:
            raise self.failure
        self.messages.put(message)

    async def tapped(self, tap: Tapped) -> TapReply:
        if self.failure is not None:
            raise self.failure
        self.taps.put(tap)
        await asyncio.to_thread(self.released.wait, PATIENCE)
        return self.reply


class WebChat:
    """One gateway's web chat in a thread of its own. After `stop`, `start` serves the same address again."""

    def __init__(self, socket_path: Path) -> None:
        self.listener = KeepingListener()
        self._socket_path = socket_path
        self._port = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._started.wait(PATIENCE)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def send(self, message: Outgoing) -> str:
        return self._call(self.adapter.send(OWNER, message))

    def edit(self, message_id: str, message: Outgoing) -> None:
        self._call(self.adapter.edit(OWNER, message_id, message))

    def send_file(self, name: str, data: bytes) -> str:
        return self._call(self.adapter.send_file(OWNER, name, data))

    def break_receiving(self) -> None:
        """End the adapter's receive loop, as an error in it would."""
        self._call(self._end_receiving())

    def receive_again(self) -> None:
        self._call(self._begin_receiving())

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _begin_receiving(self) -> None:
        self._receiving = asyncio.create_task(self.adapter.run(self.listener))
        await asyncio.sleep(0)

    async def _end_receiving(self) -> None:
        self._receiving.cancel()
        await asyncio.wait([self._receiving])

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        listening = listen(port=self._port)
        self._port = listening.getsockname()[1]
        # Its own tries would only make a lost Valkey slower to see.
        async with Redis(unix_socket_path=str(self._socket_path), retry=Retry(NoBackoff(), 1)) as redis:
            self.adapter = WebAdapter(redis=redis, token=TOKEN, host="127.0.0.1", port=self._port)
            server = build_server(build_app(self.adapter.routes(), health=_healthy))
            await self._begin_receiving()
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            self._started.set()
            await self._stopping.wait()
            await self._end_receiving()
            server.should_exit = True
            await serving


async def _healthy() -> dict[str, bool]:
    return {"redis": True}


@contextmanager
def start_web_chat(socket_path: Path) -> Iterator[WebChat]:
    """A running web chat on a free port of 127.0.0.1, over the Valkey at `socket_path`."""
    chat = WebChat(socket_path)
    chat.start()
    try:
        yield chat
    finally:
        chat.stop()
