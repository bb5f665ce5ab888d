"""Composition root of the gateway: the only place that picks platforms and puts the parts together."""

import asyncio
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from gateway.access import Access
from gateway.adapter import Adapter, AdapterRefused, DeliveryError, Listener
from gateway.adapters import load
from gateway.adapters.web import OWNER, WebAdapter
from gateway.http import build_app, build_server, listen
from gateway.inbound import Reception
from gateway.outbound import Delivery
from gateway.settings import GatewaySettings
from gateway.voice import Voice
from gateway.web_token import web_token
from worker.control import Doors, connect_async, open_doors

INTRODUCTION_SECONDS = 5.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """The assembled process."""

    settings: GatewaySettings
    doors: Doors
    web: WebAdapter
    web_redis: Redis
    adapters: tuple[Adapter, ...]
    reception: Listener

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until SIGTERM or SIGINT; `ready` is called once the web chat listens.

        Raises:
            OSError: the port is taken or the host is not ours.
            AdapterRefused: a platform refused what identifies us to it.
        """
        await asyncio.gather(*(self._introduce(adapter) for adapter in self.adapters))
        listening = listen(self.settings.http_host, self.settings.http_port)
        names = sorted(self.settings.http_names)
        app = build_app(self.web.routes(), health=self._health, host=self.settings.http_host, names=names)
        server = build_server(app)
        ending = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ending.set)
        tasks = [asyncio.create_task(server.serve(sockets=[listening]))]
        for adapter in self.adapters:
            tasks.append(asyncio.create_task(self._receive(adapter)))
            tasks.append(asyncio.create_task(Delivery(outbox=self.doors.outbox, adapter=adapter).run()))
        ready()
        until = asyncio.create_task(ending.wait())
        try:
            done, _ = await asyncio.wait({until, *tasks}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (until, *tasks[1:]):
                task.cancel()
            await asyncio.wait(tasks[1:])
            server.should_exit = True
            await asyncio.wait(tasks[:1])
            await self.doors.close()
            await self.web_redis.aclose()

    async def _introduce(self, adapter: Adapter) -> None:
        """Find wrong credentials while somebody watches; a platform that is out of reach may come later."""
        try:
            async with asyncio.timeout(INTRODUCTION_SECONDS):
                await adapter.check()
        except (DeliveryError, TimeoutError) as error:
            _log.warning("adapter.out_of_reach", platform=adapter.name, error=str(error))

    async def _receive(self, adapter: Adapter) -> None:
        """Run an adapter's receive loop; credentials that are refused later end this platform only."""
        try:
            await adapter.run(self.reception)
        except AdapterRefused as refusal:
            _log.error("adapter.refused", platform=adapter.name, detail=refusal.detail, fix=refusal.fix)
            await asyncio.Event().wait()

    async def _health(self) -> Mapping[str, bool]:
        try:
            async with asyncio.timeout(2):
                await self.doors.control.ping()
        except (RedisError, TimeoutError):
            return {"redis": False}
        return {"redis": True}


def build_gateway(settings: GatewaySettings) -> Gateway:
    """Put the gateway together; nothing is opened yet."""
    doors = open_doors(settings.redis_address)
    web_redis = connect_async(settings.redis_address, decode_responses=False)
    web = WebAdapter(
        redis=web_redis,
        token=web_token(settings.data_dir),
        host=settings.http_host,
        port=settings.http_port,
        language=settings.lang,
    )
    adapters: list[Adapter] = [web]
    if settings.telegram_token:
        adapters.append(
            load("telegram")(
                token=settings.telegram_token.get_secret_value(),
                base_url=settings.telegram_base_url,
                allow=settings.telegram_allow,
            )
        )
    voice = Voice(doors.control, doors.outbox)
    reception = Reception(
        access=Access({"web": frozenset({OWNER}), "telegram": settings.telegram_allow}),
        inbox=doors.inbox,
        approvals=doors.approvals,
        control=doors.control,
        voice=voice,
        language=settings.lang,
    )
    return Gateway(
        settings=settings, doors=doors, web=web, web_redis=web_redis, adapters=tuple(adapters), reception=reception
    )
