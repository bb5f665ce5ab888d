"""The web chat as a platform: one page, opened by a token, with one chat of one owner.

What the person sees lies in Redis (`log`), so that a restarted gateway shows the same. The page and what it
calls are in `api`, the door in `gate`.
"""

import asyncio
import ipaddress
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount

from gateway.adapter import Capabilities, Clock, Listener, OutcomeUnknown, Outgoing, Rejected, Unreachable
from gateway.adapters.web.api import WebApi
from gateway.adapters.web.gate import Gate
from gateway.adapters.web.log import WebFile, WebLog, WebMessage
from worker.messages import Address, Language, Sender

NAME = "web"
OWNER = "owner"
CAPABILITIES = Capabilities(
    max_text=20_000, measure=len, edit_seconds=0.5, file_bytes=20_000_000, shows_diffs=True, edits_in_place=True
)


class WebAdapter:
    """The web chat of one owner. `redis` must give bytes; `host` and `port` are where `routes` are served.

    `language` is what the page speaks until the person chooses; "auto" follows the browser.
    """

    name = NAME
    capabilities = CAPABILITIES

    def __init__(
        self,
        *,
        redis: Redis,
        token: str,
        host: str,
        port: int,
        language: Language | Literal["auto"] = "auto",
        prefix: str = "paigate",
        clock: Clock = lambda: datetime.now(UTC),
        new_id: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self._log = WebLog(redis, prefix=prefix)
        self._token, self._host, self._port = token, host, port
        self._clock, self._new_id = clock, new_id
        self._api = WebApi(
            self._log,
            address=Address(platform=NAME, chat_id=OWNER),
            sender=Sender(platform=NAME, user_id=OWNER),
            language=language,
            clock=clock,
        )

    @property
    def link(self) -> str:
        """The address that lets its holder in."""
        return f"http://{_reachable(self._host)}:{self._port}/?token={quote(self._token, safe='')}"

    def routes(self) -> list[BaseRoute]:
        """What to serve. It answers every path, so it comes last."""
        return [
            Mount("/", routes=self._api.routes(), middleware=[Middleware(Gate, token=self._token, port=self._port)])
        ]

    async def check(self) -> str:
        """Return the name; there is nobody to ask."""
        return NAME

    async def run(self, listener: Listener) -> None:
        """Take messages until cancelled, and then end the open event streams, so that the server can stop at once."""
        self._api.open(listener)
        try:
            await asyncio.Event().wait()
        finally:
            self._api.close()

    async def send(self, address: Address, message: Outgoing) -> str:
        """Show a message.

        Raises:
            DeliveryError: Redis did not answer (`OutcomeUnknown`) or refused (`Unreachable`).
        """
        shown = self._shown(self._new_id(), message)
        with _delivery():
            await self._log.add(address.chat_id, shown)
        return shown.id

    async def edit(self, address: Address, message_id: str, message: Outgoing) -> None:
        """Show another content in the place of a message.

        Raises:
            Unreachable: Redis did not answer or refused; the edit may be repeated.
        """
        try:
            old = await self._log.get(address.chat_id, message_id)
            if old is None:
                return
            new = self._shown(message_id, message).model_copy(update={"at": old.at, "edited": old.edited})
            if new != old:
                await self._log.replace(address.chat_id, new.model_copy(update={"edited": True}))
        except RedisError as error:
            raise Unreachable(str(error)) from error

    async def send_file(self, address: Address, name: str, data: bytes) -> str:
        """Offer a file for download, for seven days.

        Raises:
            Rejected: it is larger than the platform takes.
            DeliveryError: as for `send`.
        """
        if len(data) > CAPABILITIES.file_bytes:
            raise Rejected(f"{name!r} is larger than {CAPABILITIES.file_bytes} bytes")
        file = WebFile(name=name, size=len(data))
        message = WebMessage(id=self._new_id(), role="file", at=self._clock(), text=name, file=file)
        with _delivery():
            await self._log.put_file(address.chat_id, message.id, data)
            await self._log.add(address.chat_id, message)
        return message.id

    def _shown(self, message_id: str, message: Outgoing) -> WebMessage:
        return WebMessage(
            id=message_id,
            role=message.role,
            at=self._clock(),
            text=message.text.text,
            spans=message.text.spans,
            buttons=message.buttons,
            diff=message.diff,
            editable=message.editable,
        )


@contextmanager
def _delivery() -> Generator[None]:
    """Map what Redis raises: a lost connection may have carried the command, an error answer tells that it did not."""
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError) as error:
        raise OutcomeUnknown(str(error)) from error
    except RedisError as error:
        raise Unreachable(str(error)) from error


def _reachable(host: str) -> str:
    """The host as a link names it: loopback for "all addresses", and IPv6 in brackets."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1"
    return f"[{address}]" if address.version == 6 else str(address)
