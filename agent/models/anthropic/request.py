"""The body of a Messages request, byte for byte.

Above: `agent.models.anthropic.model`. Pure. Wire format: https://platform.claude.com/docs/en/api/messages/create.

The history comes last, so that each request of a conversation extends the bytes of the one before, but for the cache
marks, which move along with the end. They say where the vendor keeps a prefix and are no part of it, so that moving
one changes no prefix: https://platform.claude.com/docs/en/build-with-claude/prompt-caching.
"""

import json
from itertools import takewhile

from agent.model import JsonObject, ModelRequest, ToolSchema
from agent.models.anthropic.history import History
from agent.provider import RequestFields

_MARK = {"type": "ephemeral"}


def encode_request(
    request: ModelRequest, *, model: str, max_tokens: int, fields: RequestFields, echo_of: str | None
) -> bytes:
    """The body of a request that is to be streamed.

    `fields` are what it holds besides; the model called `echo_of` gets its thinking back, and nobody if it is None.
    """
    system = list(takewhile(lambda message: message.role == "system", request.messages))
    history = History(echo_of=echo_of)
    for message in request.messages[len(system) :]:
        history.add(message)
    history.mark()
    for message in request.tail:
        history.add(message)
    history.end()
    body: JsonObject = {"model": model, "max_tokens": max_tokens, "stream": True, **fields}
    if tools := [_tool(tool) for tool in request.tools] or _tools_used(request):
        body["tools"] = _marked(tools)
        if not (request.tools and request.may_call):
            body["tool_choice"] = {"type": "none"}
    if texts := [{"type": "text", "text": message.text} for message in system if message.text.strip()]:
        body["system"] = _marked(texts)
    body["messages"] = history.messages
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def is_extended(request: ModelRequest) -> bool:
    """Whether the next request of the conversation will begin with what this one tells the model."""
    return not request.tail and bool(request.messages) and request.messages[-1].role != "assistant"


def _tool(tool: ToolSchema) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _tools_used(request: ModelRequest) -> list[JsonObject]:
    """Stand-ins for the tools of a history with calls, which the API refuses without any."""
    names = {call.name for message in request.messages for call in message.tool_calls}
    return [{"name": name, "input_schema": {"type": "object"}} for name in sorted(names)]


def _marked(blocks: list[JsonObject]) -> list[JsonObject]:
    return [*blocks[:-1], {**blocks[-1], "cache_control": _MARK}]
