"""A scripted chat-completions server over real sockets, as strict with requests as a vendor's endpoint.

    with ModelServer([calls(("read_file", {"path": "a.py"})), text("Done.")]) as server:
        ...  # talk to server.base_url, from this process or any other
        server.requests[0].json["messages"]

It shares no code with the client. Replies are taken from the script in order, or chosen by `respond(request_json)`.
"""

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

WAIT_SECONDS = 20.0
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 40}}

Gate = threading.Event
"""A place in a reply where the server waits until the test opens it, or the client goes away."""


@dataclass(frozen=True)
class Scripted:
    """One reply: a status and headers, then bytes and gates in order; `broken` cuts the connection after them."""

    pieces: tuple[bytes | Gate, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/event-stream"),)
    broken: bool = False
    before: Gate | None = None
    """Opened by the test before even the status is sent."""


@dataclass
class Request:
    """A recorded request. `gone` is set when its client closed the connection before the reply was over."""

    body: bytes
    headers: dict[str, str]
    path: str
    at: float
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


Respond = Callable[[dict[str, Any]], Scripted]


def event(data: Any) -> bytes:
    """One event of a stream."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode()) + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    """A chunk with one choice."""
    return event(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "delta": fields, "finish_reason": finish}],
        }
    )


def _end(finish: str, usage: dict[str, Any] | None) -> tuple[bytes, ...]:
    counted = (event({"object": "chat.completion.chunk", "choices": [], "usage": usage}),) if usage else ()
    return (delta(finish), *counted, event(b"[DONE]"))


def text(answer: str, *, reasoning: str = "", finish: str = "stop", usage: dict[str, Any] | None = USAGE) -> Scripted:
    """A streamed text, a few characters a chunk."""
    thought = (delta(reasoning_content=reasoning),) if reasoning else ()
    parts = tuple(delta(content=answer[i : i + 7]) for i in range(0, len(answer), 7))
    return Scripted((delta(role="assistant", content=""), *thought, *parts, *_end(finish, usage)))


def calls(
    *wanted: tuple[str, dict[str, Any]],
    answer: str = "",
    reasoning: str = "",
    finish: str = "tool_calls",
    ids: Sequence[str] = (),
) -> Scripted:
    """Streamed tool calls, their arguments in pieces; ids are unique within the server unless given."""
    pieces = [delta(role="assistant", content=None)]
    pieces += [delta(reasoning_content=reasoning)] if reasoning else []
    pieces += [delta(content=answer)] if answer else []
    for index, (name, arguments) in enumerate(wanted):
        call_id = ids[index] if ids else f"call_{time.monotonic_ns():x}_{index}"
        function = {"name": name, "arguments": ""}
        pieces.append(delta(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function}]))
        written = json.dumps(arguments, ensure_ascii=False)
        for start in range(0, len(written), 11):
            part = {"arguments": written[start : start + 11]}
            pieces.append(delta(tool_calls=[{"index": index, "function": part}]))
    return Scripted((*pieces, *_end(finish, USAGE)))


def status(code: int, body: Any = None, **headers: str) -> Scripted:
    """An HTTP error; the body is bytes as they are, or JSON, by default OpenAI's error object."""
    said = {"error": {"message": f"scripted {code}", "code": None}} if body is None else body
    data = said if isinstance(said, bytes) else json.dumps(said).encode()
    kind = "text/html" if data.lstrip().startswith(b"<") else "application/json"
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Scripted((data,), status=code, headers=(("Content-Type", kind), *named))


def raw(*pieces: bytes | Gate, content_type: str = "text/event-stream") -> Scripted:
    """A body as it is, with status 200."""
    return Scripted(pieces, headers=(("Content-Type", content_type),))


def cut(reply: Scripted, *, after: int) -> Scripted:
    """The first `after` pieces of a reply, then a broken connection."""
    return replace(reply, pieces=reply.pieces[:after], broken=True)


def held(reply: Scripted, gate: Gate, *, after: int = 0) -> Scripted:
    """A reply that waits for `gate` after its first `after` pieces."""
    return replace(reply, pieces=(*reply.pieces[:after], gate, *reply.pieces[after:]))


class ModelServer:
    """The server; use it as a context manager. `requests` are all that came, those it refused too."""

    def __init__(
        self, script: Iterable[Scripted] = (), *, respond: Respond | None = None, key: str = "", port: int = 0
    ) -> None:
        self.requests: list[Request] = []
        self.key = key
        self._script = list(script)
        self._respond = respond
        self._changed = threading.Condition()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.base_url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(WAIT_SECONDS)

    def add(self, *replies: Scripted) -> None:
        """Put more replies at the end of the script."""
        with self._changed:
            self._script.extend(replies)

    def clear(self) -> None:
        """Forget the replies that were not used."""
        with self._changed:
            self._script.clear()

    def wait_for(self, count: int, seconds: float = WAIT_SECONDS) -> list[Request]:
        """Wait until so many requests have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, seconds), (
                f"{len(self.requests)} of {count} requests came"
            )
            return list(self.requests)

    def record(self, request: Request) -> None:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()

    def choose(self, request: Request) -> Scripted:
        """What to answer: a refusal if the request is wrong, else the next reply."""
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return status(401, {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}})
        if not request.path.endswith("/v1/chat/completions"):
            return status(404, {"error": {"message": f"Unknown path {request.path}"}})
        if wrong := complaint(request):
            return status(400, {"error": {"message": wrong, "type": "invalid_request_error", "code": None}})
        if self._respond:
            return self._respond(request.json)
        with self._changed:
            if self._script:
                return self._script.pop(0)
        return status(400, {"error": {"message": "the script has no more replies"}})


class _Http(ThreadingHTTPServer):
    owner: ModelServer
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        self.closing = threading.Event()
        super().__init__(*arguments)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    wbufsize = 0

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(body=body, headers=headers, path=self.path, at=time.monotonic())
        owner = self.server.owner
        owner.record(request)
        try:
            self._reply(owner.choose(request), request)
        except OSError:
            request.gone.set()
            self.close_connection = True

    def _reply(self, reply: Scripted, request: Request) -> None:
        if reply.before and not self._wait(reply.before, request):
            return
        self.send_response(reply.status)
        for name, value in (*reply.headers, ("Transfer-Encoding", "chunked")):
            self.send_header(name, value)
        self.end_headers()
        for piece in reply.pieces:
            if isinstance(piece, threading.Event):
                if not self._wait(piece, request):
                    return
            elif piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if reply.broken:
            self.close_connection = True
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.wfile.write(b"0\r\n\r\n")

    def _wait(self, gate: Gate, request: Request) -> bool:
        """Wait until the gate opens; False when the client went away, or the server is closing, before that."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not gate.is_set() and not self.server.closing.is_set() and time.monotonic() < deadline:
            readable, _, _ = select.select([self.connection], [], [], 0.01)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                request.gone.set()
                self.close_connection = True
                return False
        self.close_connection = not gate.is_set()
        return gate.is_set()

    def do_GET(self) -> None:
        """The list of models, which a check of key and address asks for."""
        owner = self.server.owner
        refused = bool(owner.key) and self.headers["Authorization"] != f"Bearer {owner.key}"
        body = json.dumps({"error": {"message": "bad key"}} if refused else {"data": [{"id": "scripted"}]}).encode()
        self.send_response(401 if refused else 200 if self.path.endswith("/v1/models") else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said: Any) -> None:
        """Say nothing."""


# What a vendor refuses.

_FIELDS = {"model", "messages", "tools", "stream", "stream_options", "max_tokens", "temperature", "top_p"}
_FIELDS |= {"thinking", "tool_stream", "reasoning_effort", "reasoning_format", "reasoning_split"}
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def complaint(request: Request) -> str:
    """Why a real endpoint would refuse this request with 400, or nothing."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return "Content-Type must be application/json"
    try:
        body = json.loads(request.body.decode("utf-8"))
    except ValueError as error:
        return f"the body is not JSON: {error}"
    if unknown := set(body) - _FIELDS:
        return f"unknown fields: {sorted(unknown)}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model must be named"
    if body.get("stream") is not True:
        return "stream must be true"
    return _tools_complaint(body) or _messages_complaint(body.get("messages"))


def _tools_complaint(body: dict[str, Any]) -> str:
    if "tools" not in body:
        return ""
    if not isinstance(body["tools"], list) or not body["tools"]:
        return "tools must not be empty"
    names = [tool["function"]["name"] for tool in body["tools"] if tool.get("type") == "function"]
    if len(names) != len(body["tools"]) or len(set(names)) != len(names):
        return "tools must be functions with different names"
    wrong = [name for name in names if not _TOOL_NAME.fullmatch(name)]
    return f"bad tool names: {wrong}" if wrong else ""


def _messages_complaint(messages: Any) -> str:
    if not isinstance(messages, list) or not messages:
        return "messages must not be empty"
    unanswered: list[str] = []
    for message in messages:
        role = message.get("role")
        if role not in {"system", "user", "assistant", "tool"}:
            return f"unknown role {role!r}"
        if role == "tool":
            if message.get("tool_call_id") not in unanswered:
                return f"tool message without a matching call: {message.get('tool_call_id')!r}"
            unanswered.remove(message["tool_call_id"])
        elif unanswered:
            return f"calls without an answer: {unanswered}"
        if wrong := _content_complaint(message):
            return wrong
        unanswered += [call["id"] for call in message.get("tool_calls", ())]
    return f"calls without an answer: {unanswered}" if unanswered else ""


def _content_complaint(message: dict[str, Any]) -> str:
    may_be_null = message["role"] == "assistant" and message.get("tool_calls")
    if not isinstance(message.get("content"), str) and not may_be_null:
        return f"content of a {message['role']} message must be a string"
    if "tool_calls" not in message:
        return ""
    wanted = message["tool_calls"]
    if message["role"] != "assistant" or not wanted:
        return "tool_calls must not be empty, and are the assistant's"
    ids = [call.get("id") for call in wanted]
    if not all(ids) or len(set(ids)) != len(ids):
        return "tool calls need ids, all different"
    for call in wanted:
        try:
            arguments = json.loads(call["function"]["arguments"])
        except (ValueError, TypeError):
            arguments = None
        if not isinstance(arguments, dict):
            return "arguments must be a JSON object in a string"
    return ""
