"""The demo model's server: the real streaming protocol over HTTP on 127.0.0.1, with rules instead of a model.

    with DemoServer() as demo:
        model = load_model(resolve("demo", base_url=demo.base_url, api_key=None))

Run by hand: `python -m agent.models.demo --port 8751`. It is a process of its own, holds nothing between requests, and
ends when its parent does. What it says and asks for is decided in `agent.models.demo.replies`.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any, Self

from agent.models.demo.replies import next_reply
from agent.models.demo.results import Call

_PARENT_SECONDS = 0.5
_STOP_SECONDS = 5.0
_MOST_BYTES = 64 << 20
_TEXT_PIECE, _ARGUMENT_PIECE = 24, 32

Json = dict[str, Any]


class DemoServer:
    """A demo model in a process of its own, for as long as the context lasts; `base_url` is where to ask it."""

    base_url: str

    @property
    def pid(self) -> int:
        """The process that serves."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it still serves."""
        return self._process.poll() is None

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            RuntimeError: it did not come up.
        """
        reading, writing = os.pipe()
        with os.fdopen(reading, encoding="ascii") as ready:
            command = [
                sys.executable,
                "-P",
                "-m",
                "agent.models.demo",
                "--ready-fd",
                str(writing),
                "--parent",
                str(os.getpid()),
            ]
            self._process = subprocess.Popen(command, pass_fds=[writing], stdin=subprocess.DEVNULL)
            os.close(writing)
            port = ready.readline().strip()
        if not port:
            raise RuntimeError(f"the demo model did not start; its exit code is {self._process.wait()}")
        self.base_url = f"http://127.0.0.1:{port}/v1"
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop, or until the parent is gone."""
    parser = argparse.ArgumentParser(prog="python -m agent.models.demo", description="Serve the demo model.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--ready-fd", type=int, help="write the port to this descriptor once requests are taken")
    parser.add_argument("--parent", type=int, help="end when this process is not the parent any more")
    options = parser.parse_args(arguments)
    with suppress(KeyboardInterrupt), _Server(("127.0.0.1", options.port), _Handler) as server:
        server.parent = options.parent
        port = server.server_address[1]
        if options.ready_fd is None:
            print(f"http://127.0.0.1:{port}/v1", flush=True)
        else:
            with os.fdopen(options.ready_fd, "w", encoding="ascii") as ready:
                ready.write(f"{port}\n")
        server.serve_forever(poll_interval=_PARENT_SECONDS)
    return 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    parent: int | None = None

    def service_actions(self) -> None:
        """End with the parent; called at every turn of the serving loop."""
        if self.parent is not None and os.getppid() != self.parent:
            raise KeyboardInterrupt

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """A client that went away is no news; anything else is told as usual."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer a chat-completions request."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self.close_connection = True
            self._send_error(413, "a Content-Length of at most 64 MB is needed")
            return
        body = self.rfile.read(int(length))
        if self.path != "/v1/chat/completions":
            self._send_error(404, f"there is nothing at {self.path}")
            return
        try:
            request = _read_request(body)
        except ValueError as error:
            self._send_error(400, f"the request cannot be read: {error}")
            return
        reply = next_reply(request["messages"], request.get("tools") or ())
        self._stream(_events(request, body, reply))

    def do_GET(self) -> None:
        """List the one model."""
        if self.path == "/v1/models":
            self._send_json(200, {"object": "list", "data": [{"id": "demo", "object": "model"}]})
        else:
            self._send_error(404, f"there is nothing at {self.path}")

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing of what went well."""

    def _stream(self, events: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def _send_error(self, status: int, message: str) -> None:
        self._send_json(status, {"error": {"message": message, "type": "invalid_request_error", "code": None}})

    def _send_json(self, status: int, value: Json) -> None:
        body = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _read_request(body: bytes) -> Json:
    """A request whose messages and tools have the form that the rules rely on; ValueError if it has not."""
    request: Json = json.loads(body)
    try:
        calls = [call for message in request["messages"] for call in message.get("tool_calls") or ()]
        functions = [call["function"] for call in calls] + [tool["function"] for tool in request.get("tools") or ()]
        well_formed = all(isinstance(function["name"], str) for function in functions) and all(
            isinstance(call["id"], str) and isinstance(call["function"]["arguments"], str) for call in calls
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"messages or tools are not well formed ({error!r})") from error
    if not well_formed or request.get("stream") is not True:
        raise ValueError("messages or tools are not well formed, or it does not ask for a stream")
    return request


def _events(request: Json, body: bytes, reply: str | Call) -> Iterator[bytes]:
    """The events of one streamed answer."""
    digest = hashlib.sha256(body).hexdigest()[:16]
    head = {"id": f"chatcmpl-{digest}", "object": "chat.completion.chunk", "created": 0, "model": "demo"}
    deltas = _text_deltas(reply) if isinstance(reply, str) else _call_deltas(reply, call_id=f"call_{digest}")
    written = 0
    for delta in deltas:
        written += len(json.dumps(delta))
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    reason = "stop" if isinstance(reply, str) else "tool_calls"
    yield _event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    if request.get("stream_options") == {"include_usage": True}:
        # About four characters a token, as nothing here has tokens.
        prompt, completion = len(body) // 4 + 1, written // 4 + 1
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
        yield _event({**head, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _text_deltas(text: str) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    for start in range(0, len(text), _TEXT_PIECE):
        yield {"content": text[start : start + _TEXT_PIECE]}


def _call_deltas(call: Call, *, call_id: str) -> Iterator[Json]:
    function: Json = {"name": call.tool, "arguments": ""}
    first = {"index": 0, "id": call_id, "type": "function", "function": function}
    yield {"role": "assistant", "content": None, "tool_calls": [first]}
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    for start in range(0, len(arguments), _ARGUMENT_PIECE):
        piece = {"arguments": arguments[start : start + _ARGUMENT_PIECE]}
        yield {"tool_calls": [{"index": 0, "function": piece}]}


def _event(value: Json) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"
