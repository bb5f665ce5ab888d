"""The body of a chat-completions request, byte for byte.

Above: `agent.models.openai_compatible`. Pure. Wire format: https://platform.openai.com/docs/api-reference/chat.
"""

import json
from typing import Any

from agent.model import JsonObject, Message, ModelRequest, ToolSchema
from agent.providers import Provider


def encode_request(request: ModelRequest, *, model: str, provider: Provider, usage: bool) -> bytes:
    """The body of a request that is to be streamed; `usage` asks for the tokens used.

    The history comes last, so that each request of a conversation extends the bytes of the one before.
    """
    body: JsonObject = {"model": model, "stream": True}
    if usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body["messages"] = [_message(message, provider) for message in request.messages]
    return _dump(body).encode("utf-8", "replace")


def _tool(tool: ToolSchema) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _message(message: Message, provider: Provider) -> JsonObject:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.role != "assistant":
        return {"role": message.role, "content": message.text}
    # Some endpoints refuse an empty text beside calls; all know null there.
    fields: JsonObject = {"role": "assistant", "content": message.text or (None if message.tool_calls else "")}
    if message.reasoning and provider.echoes_reasoning:
        if provider.reasoning_field == "think":
            fields["content"] = f"<think>{message.reasoning}</think>{message.text}"
        else:
            fields[provider.reasoning_field] = message.reasoning
    if message.tool_calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _dump(call.arguments)}}
            for call in message.tool_calls
        ]
    return fields


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
