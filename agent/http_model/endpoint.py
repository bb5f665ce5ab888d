"""One endpoint over HTTP: a request goes out, the bytes of the answer come in as they arrive.

Above: `agent.http_model.asking`. Below: httpx, whose errors become `Failed` here and nowhere else.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from importlib import import_module
from ipaddress import ip_address

import httpx

from agent.errors import ModelBroken, ModelUnauthorized, ModelUnreachable
from agent.http_model.characters import one_line
from agent.http_model.faults import status_fault
from agent.http_model.patience import Failed, Fault, Patience, Refused, retry_after
from agent.http_model.reader import AnswerReader
from agent.http_model.waiting import Waiting
from agent.providers import KEY_SETTING

# httpx loads these only at its first request; loaded here they are there before workers fork, which saves each of
# their turns about 30 ms.
for _module in ("certifi", "h11", "httpcore", "anyio.abc", "anyio._backends._asyncio"):
    with suppress(ModuleNotFoundError):
        import_module(_module)

_ERROR_BODY_BYTES = 64_000
_ANSWER_BYTES = 64 << 20
_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "text/event-stream",
    "Accept-Encoding": "identity",
    "User-Agent": "paigate",
}


class Endpoint:
    """Where requests go: `path` below `base_url`, with `headers`, which show it the key.

    Connections are kept between calls; a `client` that is passed in stays the caller's.
    """

    def __init__(
        self,
        *,
        base_url: str,
        path: str,
        api_key: str,
        headers: Mapping[str, str],
        client: httpx.AsyncClient | None,
        patience: Patience,
    ) -> None:
        self.base_url = base_url
        self._path = path
        self._api_key = api_key.strip()
        self._headers = {**_HEADERS, **headers}
        self._given_client = client
        self._own_loop: asyncio.AbstractEventLoop | None = None
        self._patience = patience
        # Reading the certificates takes longer than everything else here together; plain HTTP needs none.
        self._verify = httpx.create_ssl_context() if base_url.startswith("https:") and client is None else False
        # Made here: it opens nothing, and a process that forks for each turn pays for it once.
        self._own_client = self._new_client() if client is None else None

    def masked(self, text: str) -> str:
        """`text` without the key."""
        return text.replace(self._api_key, "***") if self._api_key else text

    async def aclose(self) -> None:
        """End the connections that are kept."""
        if self._own_client is not None:
            await self._own_client.aclose()
            self._own_client = None

    async def answer(self, body: bytes, reader: AnswerReader, *, model: str) -> AsyncGenerator[bytes, None]:
        """Send a request and yield the bytes of its answer; `reader`, to whom they go, knows when it is whole.

        Raises:
            Failed: no answer, another status than 200, or an answer that broke off before it was whole.
        """
        now = asyncio.get_running_loop().time
        waiting = Waiting(self._patience, began=now())
        response = await self._open(body, model)
        pieces = response.aiter_bytes()
        try:
            while (piece := await _next(pieces, until=waiting.until(reader, now()))) is not None:
                if reader.received + len(piece) > _ANSWER_BYTES:
                    raise Failed(Fault(error=ModelBroken("the answer is longer than 64 MB")))
                yield piece
        except TimeoutError as error:
            if not reader.finishing:
                raise Failed(waiting.fault(reader, now())) from error
        except (httpx.HTTPError, httpx.StreamError) as error:
            if not reader.finishing:
                raise Failed(_cut_off(error)) from error
        finally:
            await response.aclose()

    async def _open(self, body: bytes, model: str) -> httpx.Response:
        """Send the request and return the open response, once its status is 200."""
        try:
            response = await self._send(body)
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise Failed(_unreachable(error, self.base_url)) from error
        if response.status_code == 200:
            return response
        said = await _error_body(response, seconds=self._patience.connect)
        wait = retry_after(response.headers.get("retry-after"), response.headers.get("date"))
        fault = status_fault(response.status_code, said, base_url=self.base_url, model=model, wait=wait)
        raise Refused(fault, status=response.status_code, said=said)

    async def _send(self, body: bytes) -> httpx.Response:
        if not self._api_key.isascii() or not self._api_key.isprintable() or " " in self._api_key:
            detail = f"the key holds a character that no key has; check {KEY_SETTING}"
            raise Failed(Fault(error=ModelUnauthorized(detail)))
        url = httpx.URL(f"{self.base_url}{self._path}")
        if not 0 < (url.port or 80) < 1 << 16 or any(len(label) > 63 for label in url.host.split(".")):
            # httpx lets these pass, and the socket fails with an error that is none of httpx's.
            raise httpx.InvalidURL("its port or host name cannot exist")
        client = self._client()
        timeout = httpx.Timeout(None, connect=self._patience.connect)
        request = client.build_request("POST", url, content=body, headers=self._headers, timeout=timeout)
        async with asyncio.timeout(self._patience.first):
            return await client.send(request, stream=True)

    def _client(self) -> httpx.AsyncClient:
        """The client of the running event loop: connections belong to the loop that opened them."""
        if self._given_client is not None:
            return self._given_client
        loop = asyncio.get_running_loop()
        if self._own_client is None or self._own_loop not in {None, loop}:
            self._own_client = self._new_client()
        self._own_loop = loop
        return self._own_client

    def _new_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(verify=self._verify, trust_env=not _is_loopback(self.base_url))


async def _next(pieces: AsyncIterator[bytes], *, until: float) -> bytes | None:
    """The next piece, or None at the end."""
    async with asyncio.timeout_at(until):
        return await anext(pieces, None)


async def _error_body(response: httpx.Response, *, seconds: float) -> bytes:
    """The beginning of an error's body; what cannot be read is left out, as the status says enough."""
    body = b""
    with suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(seconds):
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > _ERROR_BODY_BYTES:
                    break
    await response.aclose()
    return body


def _unreachable(error: Exception, base_url: str) -> Fault:
    """The fault that no response at all means."""
    if isinstance(error, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
        return Fault(error=ModelUnreachable(f"the base URL {base_url} cannot be used: {one_line(str(error))}"))
    late = isinstance(error, (TimeoutError, httpx.TimeoutException))
    why = "no answer in time" if late else one_line(str(error)) or type(error).__name__
    return Fault(error=ModelUnreachable(f"{base_url} cannot be reached: {why}"), passing=True)


def _cut_off(error: Exception) -> Fault:
    return Fault(error=ModelBroken(f"the answer was cut off: {one_line(str(error))}"), passing=True)


def _is_loopback(base_url: str) -> bool:
    try:
        host = httpx.URL(base_url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError):
        return False
