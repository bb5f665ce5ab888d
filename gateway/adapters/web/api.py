"""What the web chat's page calls: its files, its event stream, and where it says and taps.

Above: `adapter` serves the routes and gives the listener. Below: `log` holds what is shown.
Nothing is kept here but the open streams.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID

import structlog
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from redis.exceptions import RedisError
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from gateway.adapter import EDITED_ARGUMENTS, EDITED_CHARACTERS, Clock, Listener, NotStored, Said, Tapped
from gateway.adapters.web.log import START, Batch, WebLog, WebMessage
from gateway.catalogue import say
from worker.messages import Address, Language, Sender

PAGE_DIRECTORY = Path(__file__).parent / "static"
SHOWN_CHARACTERS = 20_000
"""The person's own message is shown this long; the listener gets it whole."""
ACCEPT_SECONDS = 10.0
PING_SECONDS = 15
WAIT_MILLISECONDS = 3_000
"""Less than the time in which a Redis client gives up reading (5 s by default)."""

Problem = Literal["storage", "form", "gone"]
STATUS: dict[Problem, int] = {"storage": 503, "form": 422, "gone": 404}

log = structlog.get_logger()


class Form(BaseModel):
    """What the page posts, with the language the person chose in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    language: Language | None = None


class MessageForm(Form):
    """Something said. The page makes `id`, and posts the same again until it is accepted."""

    id: UUID
    text: Annotated[str, Field(pattern=r"\S")]


def _bounded(edits: dict[str, str]) -> dict[str, str]:
    if sum(len(name) + len(text) for name, text in edits.items()) > EDITED_CHARACTERS:
        raise ValueError("the changed arguments are too long")
    return edits


class TapForm(Form):
    """A tapped button, with the reason typed for it, or the changed arguments by name."""

    value: Annotated[str, Field(min_length=1, max_length=64)]
    reason: Annotated[str, Field(max_length=4_000)] = ""
    edits: Annotated[dict[str, str], Field(max_length=EDITED_ARGUMENTS), AfterValidator(_bounded)] = {}


FormT = TypeVar("FormT", bound=Form)


class WebApi:
    """The page of one chat. Until it is opened, and after it is closed, saying and tapping answer 503."""

    def __init__(
        self, store: WebLog, *, address: Address, sender: Sender, language: Language | Literal["auto"], clock: Clock
    ) -> None:
        self._store = store
        self._address, self._sender = address, sender
        self._language = language
        self._spoken: Language = "en" if language == "auto" else language
        self._clock = clock
        self._closing = asyncio.Event()
        self._listener: Listener | None = None

    def routes(self) -> list[BaseRoute]:
        """The addresses the page uses."""
        return [
            Route("/", self._page),
            Route("/api/events", self._events),
            Route("/api/messages", self._say, methods=["POST"]),
            Route("/api/taps", self._tap, methods=["POST"]),
            Route("/api/files/{message_id}", self._file),
            Mount("/static", StaticFiles(directory=PAGE_DIRECTORY)),
        ]

    def open(self, listener: Listener) -> None:
        """Hand what is said and tapped to `listener` from now on."""
        self._listener = listener
        self._closing.clear()

    def close(self) -> None:
        """Take nothing more, and end the open event streams, so that the server can stop at once."""
        self._listener = None
        self._closing.set()

    async def _page(self, _request: Request) -> Response:
        page = await asyncio.to_thread((PAGE_DIRECTORY / "index.html").read_text, encoding="utf-8")
        page = page.replace('data-language="auto"', f'data-language="{self._language}"')
        return HTMLResponse(page, headers={"Cache-Control": "no-cache"})

    async def _say(self, request: Request) -> Response:
        form = await _read(request, MessageForm)
        if form is None:
            return self._problem("form", None)
        message_id, now = str(form.id), self._clock()
        shown = form.text if len(form.text) <= SHOWN_CHARACTERS else f"{form.text[:SHOWN_CHARACTERS]}…"

        async def hand_over(listener: Listener) -> Response:
            # Shown first, so that a quick answer stands below what it answers.
            await self._store.add(self._address.chat_id, WebMessage(id=message_id, role="user", at=now, text=shown))
            await listener.said(
                Said(
                    message_id=message_id,
                    address=self._address,
                    sender=self._sender,
                    text=form.text,
                    sent_at=now,
                    language=form.language,
                )
            )
            return JSONResponse({"ok": True})

        return await self._hand_over(hand_over, form.language)

    async def _tap(self, request: Request) -> Response:
        form = await _read(request, TapForm)
        if form is None:
            return self._problem("form", None)

        async def tap(listener: Listener) -> Response:
            reply = await listener.tapped(
                Tapped(
                    address=self._address,
                    sender=self._sender,
                    value=form.value,
                    language=form.language,
                    reason=form.reason,
                    edits=form.edits,
                )
            )
            return JSONResponse({"text": reply.text, "alert": reply.alert})

        return await self._hand_over(tap, form.language)

    async def _hand_over(self, act: Callable[[Listener], Awaitable[Response]], language: Language | None) -> Response:
        """What `act` answers once everything is stored; 503 when it cannot be, and the page tries again."""
        listener = self._listener
        if listener is None:
            return self._problem("storage", language)
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                return await act(listener)
        except (NotStored, RedisError, TimeoutError) as error:
            log.warning("web.not_stored", error=str(error))
            return self._problem("storage", language)

    async def _events(self, request: Request) -> Response:
        # A page that opens a stream by itself cannot set the header.
        position = request.headers.get("last-event-id") or request.query_params.get("after") or START
        try:
            batch = await self._store.since(self._address.chat_id, position)
        except RedisError:
            return self._problem("storage", None)
        return EventSourceResponse(
            self._follow(batch),
            ping=PING_SECONDS,
            # A comment would keep the connection open, but the page could not see it.
            ping_message_factory=lambda: ServerSentEvent("{}", event="ping"),
        )

    async def _follow(self, batch: Batch) -> AsyncIterator[ServerSentEvent]:
        following: Batch | None = batch
        while following is not None:
            for event in _as_events(following):
                yield event
            following = await self._next(following.position)

    async def _next(self, position: str) -> Batch | None:
        """The next changes, or None when the stream is to end: the page comes again by itself."""
        try:
            while not self._closing.is_set():
                if await self._changed(position):
                    return await self._store.since(self._address.chat_id, position)
        except RedisError as error:
            log.warning("web.stream_ended", error=str(error))
        return None

    async def _changed(self, position: str) -> bool:
        """Whether something changed within `WAIT_MILLISECONDS`; at once when the streams are to end."""
        reading = asyncio.ensure_future(self._store.wait(self._address.chat_id, position, WAIT_MILLISECONDS))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({reading, closing}, return_when=asyncio.FIRST_COMPLETED)
            return reading.done() and reading.result()
        finally:
            reading.cancel()
            closing.cancel()

    async def _file(self, request: Request) -> Response:
        chat_id, message_id = self._address.chat_id, request.path_params["message_id"]
        try:
            message = await self._store.get(chat_id, message_id)
            data = await self._store.get_file(chat_id, message_id)
        except RedisError:
            return self._problem("storage", None)
        if message is None or message.file is None or data is None:
            return self._problem("gone", None)
        return Response(
            data,
            media_type="application/octet-stream",
            # RFC 5987: the name in UTF-8, percent-encoded.
            headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(message.file.name, safe='')}"},
        )

    def _problem(self, problem: Problem, language: Language | None) -> Response:
        text = say(f"web.{problem}", language or self._spoken)
        return JSONResponse({"error": text}, status_code=STATUS[problem])


async def _read(request: Request, form: type[FormT]) -> FormT | None:
    try:
        return form.model_validate_json(await request.body())
    except ValidationError:
        return None


def _as_events(batch: Batch) -> Iterator[ServerSentEvent]:
    """The messages, and last the position: a stream cut within a batch is taken up before it."""
    if batch.fresh:
        listed = json.dumps({"ids": [message.id for message in batch.messages]})
        yield ServerSentEvent(listed, event="snapshot")
    for message in batch.messages:
        yield ServerSentEvent(message.model_dump_json())
    yield ServerSentEvent("{}", event="ready", id=batch.position)
