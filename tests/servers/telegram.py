"""A local Bot API server over real HTTP, as strict as the real one where a bot could go wrong.

Written from core.telegram.org/bots/api; it shares no code with the adapter that it judges. The bot's side is reachable
by any process at `url` + token; the person's side and the faults are methods, safe to call from any thread.
"""

import asyncio
import contextlib
import json
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "123456789:AAlocal-Bot_API-server-token-000000"
TEXT_UNITS = 4096
CAPTION_UNITS = 1024
ENTITIES = 100
DATA_BYTES = 64
TOAST_CHARACTERS = 200
ROW_BUTTONS = 8
ALL_BUTTONS = 100
QUERY_SECONDS = 15
UPLOAD_BYTES = 50_000_000
DOWNLOAD_BYTES = 20_000_000
ENTITY_TYPES = frozenset(
    {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "custom_emoji", "text_mention"}
    | {"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote", "expandable_blockquote"}
    | {"code", "pre", "text_link"}
)
BUTTON_STYLES = frozenset({"danger", "success", "primary"})
UNASKED_KINDS = frozenset({"chat_member", "message_reaction", "message_reaction_count"})

Parameters = dict[str, Any]
T = TypeVar("T")


class Refusal(Exception):
    """An answer with `ok` false."""

    def __init__(self, code: int, description: str, retry_after: int | None = None) -> None:
        super().__init__(description)
        self.code, self.description, self.retry_after = code, description, retry_after

    def response(self) -> Response:
        body: Parameters = {"ok": False, "error_code": self.code, "description": self.description}
        if self.retry_after is not None:
            body["parameters"] = {"retry_after": self.retry_after}
        return JSONResponse(body, self.code)


class Dropped(Response):
    """Begins an answer, never ends it, and so makes uvicorn close the connection."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"100")]})


@dataclass(frozen=True)
class Call:
    """One request of the bot and the code it was answered with (0: dropped or never answered)."""

    method: str
    parameters: Parameters
    code: int
    agent: str


@dataclass
class Shown:
    """A message of the bot as the chat shows it now; `history` holds its earlier texts, oldest first."""

    chat_id: int
    message_id: int
    date: int
    text: str = ""
    entities: list[Parameters] = field(default_factory=list)
    markup: Parameters | None = None
    silent: bool = False
    thread_id: int | None = None
    file_name: str = ""
    file_id: str = ""
    history: list[str] = field(default_factory=list)

    @property
    def buttons(self) -> list[Parameters]:
        return [button for row in (self.markup or {}).get("inline_keyboard", []) for button in row]

    def styled(self, kind: str) -> list[str]:
        """The pieces of the text under entities of that kind."""
        units = self.text.encode("utf-16-le")
        return [
            units[e["offset"] * 2 : (e["offset"] + e["length"]) * 2].decode("utf-16-le")
            for e in self.entities
            if e["type"] == kind
        ]


@dataclass
class Query:
    """A tap, and what the bot answered to it."""

    query_id: str
    tapped_at: float
    answer: Parameters | None = None


@dataclass
class Fault:
    """What becomes of the next calls of a method; `done` when the method takes effect all the same."""

    kind: str
    done: bool = False
    refusal: Refusal | None = None
    times: int = 1


class TelegramServer:
    """One bot and the people who write to it. `clock` gives seconds since the epoch, for dates and paces.

    What was said and the port outlive `stop` and another `start`.
    """

    def __init__(self, token: str = TOKEN, *, clock: Callable[[], float] = time.time, upload_bytes: int = UPLOAD_BYTES):
        self.token = token
        self.calls: list[Call] = []
        self.confirmed: list[int] = []
        self.early: list[Call] = []
        self.queries: dict[str, Query] = {}
        self.files: dict[str, tuple[str, bytes]] = {}
        self._clock, self._upload_bytes = clock, upload_bytes
        self._changed = threading.Condition(threading.RLock())
        self._wakers: list[Callable[[], object]] = []
        self._shown: list[Shown] = []
        self._chats: dict[int, Parameters] = {}
        self._updates: dict[tuple[int, int], Parameters] = {}
        self._queue: list[Parameters] = []
        self._again: list[Parameters] = []
        self._faults: dict[str, list[Fault]] = {}
        self._waits: dict[int, float] = {}
        self._pace: float | None = None
        self._last_update = 1000
        self._last_message = 0
        self._poll = 0
        self._held = 0
        self._allowed: list[str] = []
        self._valid = True
        self._port = 0
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False

    # Life

    def start(self) -> Self:
        listening = socket.create_server(("127.0.0.1", self._port), reuse_port=False)
        self._port = listening.getsockname()[1]
        self._stopping = False
        routes = [
            Route("/bot{token}/{method}", self._serve, methods=["GET", "POST"]),
            Route("/file/bot{token}/{path:path}", self._serve_file),
        ]
        config = uvicorn.Config(Starlette(routes=routes), log_level="critical", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        if self._server is None or self._thread is None:
            return
        with self._changed:
            self._stopping = True
            self._notify()
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(10)
        self._server = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """What the token is appended to."""
        return f"http://127.0.0.1:{self._port}/bot"

    # The person's side

    def send_text(self, user_id: int, text: str, **more: Any) -> int:
        """Write to the bot and return the message's id; `more` as for `say`."""
        return self.say(user_id, text=text, **more)

    def say(
        self, user_id: int, *, chat_id: int | None = None, language: str | None = "en", name: str = "Ann", **fields: Any
    ) -> int:
        """Send the bot a message with these fields of a Message; a chat other than the person's own is a group."""
        with self._changed:
            self._last_message += 1
            user = {"id": user_id, "is_bot": False, "first_name": name}
            if language:
                user["language_code"] = language
            chat = {"id": user_id, "type": "private", "first_name": name}
            if chat_id not in {None, user_id}:
                chat = {"id": chat_id, "type": "supergroup", "title": "Group"}
            self._chats[chat["id"]] = chat
            message = {
                "message_id": self._last_message,
                "date": int(self._clock()),
                "from": user,
                "chat": chat,
                **fields,
            }
            self._updates[chat["id"], self._last_message] = self._deliver("message", message)
            return self._last_message

    def edit_text(self, user_id: int, message_id: int, text: str) -> None:
        """Change a message that the person wrote."""
        with self._changed:
            message = self._updates[user_id, message_id]["message"]
            self._deliver("edited_message", {**message, "text": text, "edit_date": int(self._clock())})

    def deliver_again(
        self, user_id: int, message_id: int, *, times: int = 1, same_update: bool = False, chat_id: int | None = None
    ) -> None:
        """Deliver a message more often, under new update ids, or once more under its own although that was confirmed."""
        with self._changed:
            update = self._updates[chat_id or user_id, message_id]
            for _ in range(times):
                if same_update:
                    self._again.append(update)
                    self._notify()
                else:
                    self._deliver("message", update["message"])

    def tap(
        self, user_id: int, message_id: int, button: str, *, chat_id: int | None = None, language: str = "en"
    ) -> str:
        """Tap the button with that label or data, which must be there, and return the query's id."""
        with self._changed:
            message = self._message(chat_id or user_id, message_id)
            found = next(b for b in message.buttons if button in {b["text"], b["callback_data"]})
            return self.tap_data(user_id, message_id, found["callback_data"], chat_id=chat_id, language=language)

    def tap_data(
        self, user_id: int, message_id: int, data: str, *, chat_id: int | None = None, language: str = "en"
    ) -> str:
        """Tap what a changed client might send: any data under any message of the bot."""
        with self._changed:
            query = Query(str(len(self.queries) + 1), self._clock())
            self.queries[query.query_id] = query
            user = {"id": user_id, "is_bot": False, "first_name": "Ann", "language_code": language}
            message = self._as_json(self._message(chat_id or user_id, message_id))
            tapped = {"id": query.query_id, "from": user, "chat_instance": "1", "data": data, "message": message}
            self._deliver("callback_query", tapped)
            return query.query_id

    def open_chat(self, user_id: int) -> None:
        """Let the bot write to a person who has said nothing yet."""
        with self._changed:
            self._chats[user_id] = {"id": user_id, "type": "private", "first_name": "Ann"}

    # What a test may know

    def messages(self, chat_id: int) -> list[Shown]:
        """The bot's messages in a chat, in order."""
        with self._changed:
            return [message for message in self._shown if message.chat_id == chat_id]

    def called(self, method: str) -> list[Call]:
        """The calls of one method, in order."""
        with self._changed:
            return [call for call in self.calls if call.method == method]

    @property
    def pending(self) -> int:
        """How many updates are not confirmed."""
        with self._changed:
            return len(self._queue)

    @property
    def polling(self) -> bool:
        """Whether a getUpdates is held open."""
        with self._changed:
            return self._held > 0

    def wait_for(self, predicate: Callable[[Self], T], timeout: float = 10) -> T:
        """Wait until something true comes of the predicate, and return it."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not (found := predicate(self)):
                if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                    recent = [(call.method, call.code) for call in self.calls[-10:]]
                    raise TimeoutError(f"not within {timeout} s; last calls {recent}; shown {self._shown[-5:]}")
            return found

    async def until(self, predicate: Callable[[Self], T], timeout: float = 10) -> T:
        """`wait_for`, without holding up the event loop."""
        return await asyncio.to_thread(self.wait_for, predicate, timeout)

    # Faults

    def fail_next(
        self, method: str, code: int, description: str = "", *, retry_after: int | None = None, times: int = 1
    ) -> None:
        """Refuse the next calls. After a `retry_after` the chat refuses all until it is over; see `early`."""
        text = description or {429: f"Too Many Requests: retry after {retry_after}"}.get(code, f"Error {code}")
        self._plan(method, Fault("refuse", refusal=Refusal(code, text, retry_after), times=times))

    def hang_next(self, method: str, *, done: bool = False) -> None:
        """Accept the next call and never answer it."""
        self._plan(method, Fault("hang", done))

    def drop_next(self, method: str, *, done: bool = False) -> None:
        """Close the connection in the middle of the next call."""
        self._plan(method, Fault("drop", done))

    def pace(self, seconds: float | None) -> None:
        """From now on refuse with 429 what comes sooner than this after the chat's last send or edit."""
        with self._changed:
            self._pace = seconds

    def revoke_token(self) -> None:
        """Make the token invalid, as @BotFather's /revoke does."""
        with self._changed:
            self._valid = False

    # Inside

    def _plan(self, method: str, fault: Fault) -> None:
        with self._changed:
            self._faults.setdefault(method.lower(), []).append(fault)

    def _notify(self) -> None:
        self._changed.notify_all()
        wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()

    def _deliver(self, kind: str, content: Parameters) -> Parameters:
        self._last_update += 1
        update = {"update_id": self._last_update, kind: content}
        if kind in self._allowed if self._allowed else kind not in UNASKED_KINDS:
            self._queue.append(update)
        self._notify()
        return update

    def _message(self, chat_id: int, message_id: int) -> Shown:
        return next(m for m in self._shown if (m.chat_id, m.message_id) == (chat_id, message_id))

    def _record(self, method: str, parameters: Parameters, code: int, request: Request) -> Call:
        call = Call(method, parameters, code, request.headers.get("user-agent", ""))
        with self._changed:
            self.calls.append(call)
            self._notify()
        return call

    async def _serve(self, request: Request) -> Response:
        method = request.path_params["method"]
        try:
            self._admit(request.path_params["token"])
            parameters, uploads = await _parsed(request)
        except Refusal as refusal:
            self._record(method, {}, refusal.code, request)
            return refusal.response()
        fault = self._next_fault(method)
        try:
            result = None
            if fault is None or fault.done:
                self._keep_pace(method, parameters, request)
                result = await self._perform(method, parameters, uploads)
            elif fault.refusal:
                self._begin_wait(parameters, fault.refusal.retry_after)
                raise fault.refusal
        except Refusal as refusal:
            self._record(method, parameters, refusal.code, request)
            return refusal.response()
        self._record(method, parameters, 0 if fault else 200, request)
        if fault is None:
            return JSONResponse({"ok": True, "result": result})
        if fault.kind == "hang":
            await request.receive()  # the body was read, so this is the client's leaving
        return Dropped()

    def _admit(self, token: str) -> None:
        if not re.fullmatch(r"\d+:[\w-]{20,}", token, re.ASCII):
            raise Refusal(404, "Not Found")
        if token != self.token or not self._valid:
            raise Refusal(401, "Unauthorized")

    def _next_fault(self, method: str) -> Fault | None:
        with self._changed:
            planned = self._faults.get(method.lower())
            if not planned:
                return None
            planned[0].times -= 1
            return planned.pop(0) if planned[0].times <= 0 else planned[0]

    def _next_change(self) -> asyncio.Event:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        self._wakers.append(lambda: loop.call_soon_threadsafe(changed.set))
        return changed

    def _begin_wait(self, parameters: Parameters, retry_after: int | None) -> None:
        if retry_after is not None and "chat_id" in parameters:
            with self._changed:
                self._waits[_integer(parameters, "chat_id")] = self._clock() + retry_after

    def _keep_pace(self, method: str, parameters: Parameters, request: Request) -> None:
        if method not in {"sendMessage", "editMessageText", "sendDocument"}:
            return
        with self._changed:
            chat_id = _integer(parameters, "chat_id")
            left = self._waits.get(chat_id, 0) - self._clock()
            if left > 0:
                self.early.append(Call(method, parameters, 429, request.headers.get("user-agent", "")))
                seconds = math.ceil(left)
                raise Refusal(429, f"Too Many Requests: retry after {seconds}", seconds)
            if self._pace is not None:
                self._waits[chat_id] = self._clock() + self._pace

    async def _perform(self, method: str, parameters: Parameters, uploads: dict[str, tuple[str, bytes]]) -> Any:
        methods: dict[str, Callable[[], Any]] = {
            "getme": lambda: {**self._bot, "can_join_groups": True, "can_read_all_group_messages": False},
            "sendmessage": lambda: self._send_message(parameters),
            "editmessagetext": lambda: self._edit_message(parameters),
            "answercallbackquery": lambda: self._answer_query(parameters),
            "senddocument": lambda: self._send_document(parameters, uploads),
            "getfile": lambda: self._get_file(parameters),
        }
        if method.lower() == "getupdates":
            return await self._get_updates(parameters)
        if method.lower() not in methods:
            raise Refusal(404, "Not Found: method not found")
        with self._changed:
            return methods[method.lower()]()

    @property
    def _bot(self) -> Parameters:
        return {"id": int(self.token.split(":")[0]), "is_bot": True, "first_name": "Paigate", "username": "paigate_bot"}

    async def _get_updates(self, parameters: Parameters) -> list[Parameters]:
        loop = asyncio.get_running_loop()
        limit = min(max(_integer(parameters, "limit", 100), 1), 100)
        deadline = loop.time() + _integer(parameters, "timeout", 0)
        with self._changed:
            self._confirm(_integer(parameters, "offset", 0))
            if "allowed_updates" in parameters:
                self._allowed = list(_structure(parameters, "allowed_updates"))
            self._poll += 1
            poll = self._poll
            self._notify()
        while True:
            with self._changed:
                if poll != self._poll:
                    text = "terminated by other getUpdates request; make sure that only one bot instance is running"
                    raise Refusal(409, f"Conflict: {text}")
                batch = (self._again + self._queue)[:limit]
                if batch or self._stopping or loop.time() >= deadline:
                    del self._again[: len(batch)]
                    return batch
                changed = self._next_change()
                self._held += 1
                self._changed.notify_all()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), deadline - loop.time())
            with self._changed:
                self._held -= 1

    def _confirm(self, offset: int) -> None:
        if offset > 0:
            self.confirmed.append(offset - 1)
            self._queue = [update for update in self._queue if update["update_id"] >= offset]
        elif offset < 0:
            self._queue = self._queue[offset:]

    def _chat(self, parameters: Parameters) -> Parameters:
        chat_id = _integer(parameters, "chat_id")
        if chat_id not in self._chats:
            raise Refusal(400, "Bad Request: chat not found")
        return self._chats[chat_id]

    def _new(self, parameters: Parameters, **fields: Any) -> Parameters:
        chat = self._chat(parameters)
        self._last_message += 1
        shown = Shown(
            chat["id"],
            self._last_message,
            int(self._clock()),
            silent=_boolean(parameters, "disable_notification"),
            thread_id=_integer(parameters, "message_thread_id", 0) or None,
            **fields,
        )
        self._shown.append(shown)
        return self._as_json(shown)

    def _as_json(self, shown: Shown) -> Parameters:
        chat = self._chats[shown.chat_id]
        message = {"message_id": shown.message_id, "date": shown.date, "chat": chat, "from": self._bot}
        if shown.file_id:
            size = len(self.files[shown.file_id][1])
            message["document"] = {"file_id": shown.file_id, "file_unique_id": shown.file_id, "file_size": size}
            message["document"]["file_name"] = shown.file_name
        if shown.text:
            message |= {"text": shown.text, "entities": shown.entities}
        if shown.buttons:
            message["reply_markup"] = shown.markup
        return message

    def _send_message(self, parameters: Parameters) -> Parameters:
        self._chat(parameters)
        text, entities = _checked_text(parameters, "text", TEXT_UNITS)
        markup = _checked_markup(parameters, forced_reply=True)
        return self._new(parameters, text=text, entities=entities, markup=markup)

    def _edit_message(self, parameters: Parameters) -> Parameters:
        chat_id, message_id = self._chat(parameters)["id"], _integer(parameters, "message_id")
        if (chat_id, message_id) in self._updates:
            raise Refusal(400, "Bad Request: message can't be edited")
        found = [m for m in self._shown if (m.chat_id, m.message_id) == (chat_id, message_id)]
        if not found:
            raise Refusal(400, "Bad Request: message to edit not found")
        shown = found[0]
        if shown.file_id:
            raise Refusal(400, "Bad Request: there is no text in the message to edit")
        text, entities = _checked_text(parameters, "text", TEXT_UNITS)
        markup = _checked_markup(parameters, forced_reply=False)
        if (text, entities, markup) == (shown.text, shown.entities, shown.markup):
            what = "specified new message content and reply markup are exactly the same as a current content and reply"
            raise Refusal(400, f"Bad Request: message is not modified: {what} markup of the message")
        shown.history.append(shown.text)
        shown.text, shown.entities, shown.markup = text, entities, markup
        return self._as_json(shown)

    def _answer_query(self, parameters: Parameters) -> bool:
        query = self.queries.get(str(parameters.get("callback_query_id")))
        if query is None or query.answer is not None or self._clock() - query.tapped_at > QUERY_SECONDS:
            text = "query is too old and response timeout expired or query ID is invalid"
            raise Refusal(400, f"Bad Request: {text}")
        text = str(parameters.get("text", ""))
        if len(text) > TOAST_CHARACTERS:
            raise Refusal(400, "Bad Request: MESSAGE_TOO_LONG")
        query.answer = {"text": text, "alert": _boolean(parameters, "show_alert")}
        return True

    def _send_document(self, parameters: Parameters, uploads: dict[str, tuple[str, bytes]]) -> Parameters:
        self._chat(parameters)
        _checked_text(parameters, "caption", CAPTION_UNITS, required=False)
        field_name = str(parameters.get("document", "document")).removeprefix("attach://")
        if field_name not in uploads:
            raise Refusal(400, "Bad Request: there is no document in the request")
        name, data = uploads[field_name]
        if not data:
            raise Refusal(400, "Bad Request: file must be non-empty")
        if len(data) > self._upload_bytes:
            raise Refusal(413, "Request Entity Too Large")
        file_id = f"file{len(self.files) + 1}"
        self.files[file_id] = (name, data)
        return self._new(parameters, file_name=name, file_id=file_id)

    def _get_file(self, parameters: Parameters) -> Parameters:
        file_id = str(parameters.get("file_id"))
        if file_id not in self.files:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        size = len(self.files[file_id][1])
        if size > DOWNLOAD_BYTES:
            raise Refusal(400, "Bad Request: file is too big")
        return {"file_id": file_id, "file_unique_id": file_id, "file_size": size, "file_path": f"documents/{file_id}"}

    async def _serve_file(self, request: Request) -> Response:
        try:
            self._admit(request.path_params["token"])
        except Refusal as refusal:
            return refusal.response()
        file_id = request.path_params["path"].removeprefix("documents/")
        if file_id not in self.files:
            return Refusal(404, "Not Found").response()
        return Response(self.files[file_id][1], media_type="application/octet-stream")


@contextlib.contextmanager
def telegram_server(**options: Any) -> Iterator[TelegramServer]:
    """A server for the time of a `with` block."""
    with TelegramServer(**options) as server:
        yield server


async def _parsed(request: Request) -> tuple[Parameters, dict[str, tuple[str, bytes]]]:
    """Read the query and a JSON, form or multipart body."""
    parameters: Parameters = dict(request.query_params)
    uploads: dict[str, tuple[str, bytes]] = {}
    body = await request.body()
    kind, _, options = request.headers.get("content-type", "").partition(";")
    try:
        if kind == "application/json" and body:
            parameters |= json.loads(body)
        elif kind == "application/x-www-form-urlencoded":
            parameters |= dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body)))
        elif kind == "multipart/form-data":
            boundary = re.search(r'boundary="?([^";]+)', options)
            for name, file_name, data in _multipart(body, boundary[1] if boundary else ""):
                if file_name is None:
                    parameters[name] = data.decode()
                else:
                    uploads[name] = (file_name, data)
    except (ValueError, TypeError) as error:
        raise Refusal(400, f"Bad Request: can't parse the request: {error}") from error
    return parameters, uploads


def _multipart(body: bytes, boundary: str) -> Iterator[tuple[str, str | None, bytes]]:
    for part in (b"\r\n" + body).split(f"\r\n--{boundary}".encode())[1:-1]:
        head, _, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'[; ]name="([^"]*)"', head)
        file_name = re.search(rb'filename="([^"]*)"', head)
        if name is None:
            raise ValueError("a part without a name")
        yield name[1].decode(), file_name[1].decode() if file_name else None, data


def _integer(parameters: Parameters, name: str, default: int | None = None) -> int:
    value = parameters.get(name, default)
    if value is None:
        raise Refusal(400, f"Bad Request: {name} is empty")
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        raise Refusal(400, f"Bad Request: {name} must be an integer") from error


def _boolean(parameters: Parameters, name: str) -> bool:
    return str(parameters.get(name, "")).lower() in {"true", "1", "yes"}


def _structure(parameters: Parameters, name: str) -> Any:
    value = parameters.get(name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as error:
        raise Refusal(400, f"Bad Request: can't parse {name} JSON object") from error


def _checked_text(
    parameters: Parameters, name: str, most: int, *, required: bool = True
) -> tuple[str, list[Parameters]]:
    text = str(parameters.get(name, ""))
    if "parse_mode" in parameters:
        raise Refusal(400, "Bad Request: can't parse entities: this server takes entities only")
    if required and not text.strip():
        raise Refusal(400, "Bad Request: message text is empty")
    units = text.encode("utf-16-le")
    if len(units) // 2 > most:
        raise Refusal(400, "Bad Request: message is too long")
    entities = _structure(parameters, "entities") or []
    return text, [_checked_entity(entity, units) for entity in entities][:ENTITIES]


def _checked_entity(entity: Any, units: bytes) -> Parameters:
    if not isinstance(entity, dict) or entity.get("type") not in ENTITY_TYPES:
        raise Refusal(400, "Bad Request: can't parse entities: unsupported entity type")
    start, length = entity.get("offset"), entity.get("length")
    if not isinstance(start, int) or not isinstance(length, int):
        raise Refusal(400, "Bad Request: can't parse entities: offset and length must be integers")
    if start < 0 or length < 1 or (start + length) * 2 > len(units):
        raise Refusal(400, "Bad Request: ENTITY_BOUNDS_INVALID")
    for edge in (start, start + length):
        if 0xDC00 <= int.from_bytes(units[edge * 2 : edge * 2 + 2], "little") <= 0xDFFF:
            raise Refusal(400, "Bad Request: ENTITY_BOUNDS_INVALID: an entity begins or ends inside a character")
    if entity["type"] == "text_link" and not re.match(r"(https?|tg)://\S", str(entity.get("url"))):
        raise Refusal(400, "Bad Request: can't parse entities: wrong link")
    return entity


def _checked_markup(parameters: Parameters, *, forced_reply: bool) -> Parameters | None:
    markup = _structure(parameters, "reply_markup")
    if not markup:
        return None
    if forced_reply and markup.get("force_reply") is True and "inline_keyboard" not in markup:
        return markup
    rows = markup.get("inline_keyboard")
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise Refusal(400, "Bad Request: inline keyboard expected")
    buttons = [button for row in rows for button in row]
    if len(buttons) > ALL_BUTTONS or any(len(row) > ROW_BUTTONS for row in rows):
        raise Refusal(400, "Bad Request: REPLY_MARKUP_TOO_LONG")
    for button in buttons:
        _check_button(button)
    return {"inline_keyboard": rows} if buttons else None


def _check_button(button: Parameters) -> None:
    if not str(button.get("text", "")).strip():
        raise Refusal(400, "Bad Request: text buttons are unallowed without text")
    if not 1 <= len(str(button.get("callback_data", "")).encode()) <= DATA_BYTES:
        raise Refusal(400, "Bad Request: BUTTON_DATA_INVALID")
    if button.get("style", "primary") not in BUTTON_STYLES:
        raise Refusal(400, "Bad Request: BUTTON_STYLE_INVALID")
