"""A scripted Messages server over real sockets, as strict with requests as Anthropic's endpoint.

    with MessagesServer([calls(("read_file", {"path": "a.py"})), text("Done.")]) as server:
        ...  # talk to server.base_url, from this process or any other
        server.requests[0].json["messages"]

It shares no code with the client. Thinking is signed by `sign`, for the model and its own text, and thinking that comes
back is refused if the signature does not fit.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import count
from typing import Any

from tests.servers.model import ModelServer, Request, Scripted, status

USAGE = {
    "input_tokens": 30,
    "cache_creation_input_tokens": 20,
    "cache_read_input_tokens": 50,
    "output_tokens": 1,
}
_IDS = count(1)


def sign(thought: str) -> str:
    """The signature of a thought."""
    return b64encode(sha256(f"signed {thought}".encode()).digest()).decode()


def event(data: dict[str, Any] | bytes, kind: str = "") -> bytes:
    """One event of a stream."""
    if isinstance(data, bytes):
        return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
    return event(json.dumps(data, ensure_ascii=False).encode(), data["type"])


def start(usage: dict[str, Any] | None = USAGE) -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude", "usage": usage}
    return event({"type": "message_start", "message": message}) + event({"type": "ping"})


def stop(reason: str = "end_turn", *, output: int = 20) -> bytes:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}}) + END


END = event({"type": "message_stop"})


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> tuple[bytes, ...]:
    """A content block from its start to its stop."""
    return (
        event({"type": "content_block_start", "index": index, "content_block": content}),
        *(event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas),
        event({"type": "content_block_stop", "index": index}),
    )


def _pieces(written: str, size: int = 7) -> Iterator[str]:
    return (written[at : at + size] for at in range(0, len(written), size))


def thinking(index: int, thought: str) -> tuple[bytes, ...]:
    parts = [{"type": "thinking_delta", "thinking": part} for part in _pieces(thought)]
    signed = {"type": "signature_delta", "signature": sign(thought)}
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *parts, signed)


def redacted(index: int, data: str = "opaque") -> tuple[bytes, ...]:
    return block(index, {"type": "redacted_thinking", "data": data})


def saying(index: int, words: str) -> tuple[bytes, ...]:
    return block(
        index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": part} for part in _pieces(words))
    )


def calling(index: int, name: str, arguments: Any, call_id: str = "") -> tuple[bytes, ...]:
    """A call; arguments that are a string are sent as they are."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    content = {"type": "tool_use", "id": call_id or f"toolu_{next(_IDS):04}", "name": name, "input": {}}
    parts = [{"type": "input_json_delta", "partial_json": part} for part in ("", *_pieces(written, 11))]
    return block(index, content, *parts)


def message(*blocks: tuple[bytes, ...], reason: str = "end_turn") -> Scripted:
    """A whole streamed message."""
    return Scripted((start(), *(piece for content in blocks for piece in content), stop(reason)))


def text(answer: str, *, thought: str = "", reason: str = "end_turn") -> Scripted:
    """A streamed text, a few characters a delta."""
    before = [thinking(0, thought)] if thought else []
    return message(*before, saying(len(before), answer), reason=reason)


def calls(*wanted: tuple[str, Any], answer: str = "", thought: str = "", ids: Sequence[str] = ()) -> Scripted:
    """Streamed calls, their arguments in pieces; ids are unique unless given."""
    blocks = [thinking(0, thought)] if thought else []
    blocks += [saying(len(blocks), answer)] if answer else []
    for number, (name, arguments) in enumerate(wanted):
        blocks.append(calling(len(blocks), name, arguments, ids[number] if ids else ""))
    return message(*blocks, reason="tool_use")


def error(code: int, kind: str, said: str = "scripted", **headers: str) -> Scripted:
    """An HTTP error with the endpoint's own error object."""
    return status(code, {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}, **headers)


def failure(kind: str, said: str = "scripted") -> bytes:
    """An error in the middle of a stream."""
    return event({"type": "error", "error": {"type": kind, "message": said}})


class MessagesServer(ModelServer):
    """The server; use it as a context manager. `requests` are all that came, those it refused too."""

    def choose(self, request: Request) -> Scripted:
        if self.key and request.headers.get("x-api-key") != self.key:
            return error(401, "authentication_error", "invalid x-api-key")
        if not request.path.endswith("/v1/messages"):
            return error(404, "not_found_error", f"Not found: {request.path}")
        if wrong := complaint(request):
            return error(400, "invalid_request_error", wrong)
        if self._respond:
            return self._respond(request.json)
        with self._changed:
            if self._script:
                return self._script.pop(0)
        return error(400, "invalid_request_error", "the script has no more replies")


# What the endpoint refuses.

_FIELDS = {"model", "max_tokens", "stream", "thinking", "tools", "tool_choice", "system", "messages"}
_BLOCKS = {
    "user": {"text", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
}
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MOST_MARKS = 4


def complaint(request: Request) -> str:
    """Why the real endpoint would refuse this request with 400, or nothing."""
    if request.headers.get("anthropic-version") != "2023-06-01":
        return "anthropic-version: header is required"
    if not request.headers.get("content-type", "").startswith("application/json"):
        return "content-type must be application/json"
    try:
        body = json.loads(request.body.decode("utf-8"))
    except ValueError as wrong:
        return f"the body is not JSON: {wrong}"
    return body_complaint(body)


def body_complaint(body: dict[str, Any]) -> str:
    """What is wrong with the body of a request, or nothing."""
    if unknown := set(body) - _FIELDS:
        return f"{sorted(unknown)}: Extra inputs are not permitted"
    if not isinstance(body.get("model"), str) or not body["model"]:
        return "model: Field required"
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        return "max_tokens: Field required"
    if body.get("stream") is not True:
        return "this server only streams"
    if json.dumps(body).count('"cache_control"') > _MOST_MARKS:
        return "A maximum of 4 blocks with cache_control may be provided"
    return _tools_complaint(body) or _system_complaint(body) or _messages_complaint(body.get("messages"))


def _tools_complaint(body: dict[str, Any]) -> str:
    used = '"tool_use"' in json.dumps(body["messages"]) if "messages" in body else False
    if "tools" not in body:
        return "Requests which include tool_use or tool_result blocks must define tools" if used else ""
    names = [tool.get("name") for tool in body["tools"]]
    if not names or len(set(names)) != len(names):
        return "tools: Tool names must be unique"
    if any(tool.get("input_schema", {}).get("type") != "object" for tool in body["tools"]):
        return "tools.input_schema.type: Field required"
    if body.get("tool_choice", {"type": "auto"}) not in ({"type": "auto"}, {"type": "none"}):
        return "forced tool use is not supported"
    return ""


def _system_complaint(body: dict[str, Any]) -> str:
    if "system" in body and not body["system"]:
        return "system: must not be empty"
    return _blank(body.get("system", ()))


def _messages_complaint(messages: Any) -> str:
    if not isinstance(messages, list) or not messages:
        return "messages: at least one message is required"
    open_calls: set[str] = set()
    used: list[str] = []
    for at, said in enumerate(messages):
        if said["role"] != ("assistant" if at % 2 else "user"):
            return f"messages.{at}: roles must alternate, beginning with user"
        if wrong := _parts_complaint(said) or _content_complaint(said, open_calls):
            return f"messages.{at}: {wrong}"
        open_calls = {part["id"] for part in said["content"] if part["type"] == "tool_use"}
        used += [part["id"] for part in said["content"] if part["type"] == "tool_use"]
    if len(set(used)) != len(used):
        return "`tool_use` ids must be unique"
    prefill = messages[-1]["role"] == "assistant"
    return "This model does not support assistant message prefill; the user must have the last word" if prefill else ""


def _parts_complaint(said: dict[str, Any]) -> str:
    if not said["content"]:
        return "all messages must have non-empty content"
    if not {part["type"] for part in said["content"]} <= _BLOCKS[said["role"]]:
        return "unexpected content blocks"
    return _blank(said["content"])


def _content_complaint(said: dict[str, Any], open_calls: set[str]) -> str:
    content = said["content"]
    if said["role"] == "assistant":
        return _thinking_complaint(content)
    results = [part for part in content if part["type"] == "tool_result"]
    answered = [part["tool_use_id"] for part in results]
    if sorted(answered) != sorted(open_calls):
        return f"`tool_use` ids and `tool_result` blocks must match: {sorted(open_calls)} and {sorted(answered)}"
    return "" if content[: len(results)] == results else "`tool_result` blocks must come first"


def _thinking_complaint(content: list[dict[str, Any]]) -> str:
    if content[-1]["type"] in {"thinking", "redacted_thinking"}:
        return "The final block in an assistant message cannot be `thinking`"
    for part in content:
        if part["type"] == "thinking" and part.get("signature") != sign(part.get("thinking", "")):
            return "Invalid `signature` in `thinking` block"
        if part["type"] in {"thinking", "redacted_thinking"} and "cache_control" in part:
            return "thinking blocks cannot have cache_control"
        if part["type"] == "tool_use" and not (_ID.fullmatch(part["id"]) and isinstance(part["input"], dict)):
            return "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    return ""


def _blank(parts: Any) -> str:
    blank = any(part["type"] == "text" and not part["text"].strip() for part in parts)
    return "text content blocks must contain non-whitespace text" if blank else ""
