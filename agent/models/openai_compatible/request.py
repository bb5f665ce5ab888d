"""The body of a chat-completions request, byte for byte.

Above: `agent.models.openai_compatible`. Pure. Wire format: https://platform.openai.com/docs/api-reference/chat.
"""

import json
from collections.abc import Sequence, Set
from typing import Any

from agent.model import JsonObject, Message, ModelRequest, ToolSchema
from agent.provider import Provider, ReasoningField

_NO_REASONING = " "
"""DeepSeek and Kimi refuse, in thinking mode, a history with an answer that has no reasoning, and Kimi an empty one.

It also stands for the reasoning of another model."""


class RequestEncoder:
    """Makes the bodies of one model's requests; what was encoded for the last one is not encoded again.

    `name` is the `Model.name`.
    """

    def __init__(self, *, model: str, provider: Provider, name: str = "") -> None:
        self._model = model
        self._provider = provider
        self._echo: ReasoningField | None = provider.reasoning_field if provider.echoes(model) else None
        self._own = {"", name}
        self._kept: list[tuple[Message, bytes]] = []

    def encode(self, request: ModelRequest, *, usage: bool) -> bytes:
        """The body of a request that is to be streamed; `usage` asks for the tokens used.

        The history comes last, so that each request of a conversation extends the bytes of the one before; what is
        said this once follows it.
        """
        head = _bytes(self._head(request, usage=usage))
        messages = [*self._history(request.messages), *map(self._message, request.tail)]
        return b'%s,"messages":[%s]}' % (head.removesuffix(b"}"), b",".join(messages))

    def _head(self, request: ModelRequest, *, usage: bool) -> JsonObject:
        body: JsonObject = {"model": self._model, "stream": True}
        if usage:
            body["stream_options"] = {"include_usage": True}
        body.update(self._provider.fields_of(self._model))
        if request.tools and request.may_call:
            body["tools"] = [_tool(tool) for tool in request.tools]
        return body

    def _history(self, messages: Sequence[Message]) -> list[bytes]:
        for index, message in enumerate(messages):
            if index < len(self._kept) and self._kept[index][0] is message:
                continue
            del self._kept[index:]
            self._kept.append((message, self._message(message)))
        return [encoded for _, encoded in self._kept[: len(messages)]]

    def _message(self, message: Message) -> bytes:
        return _bytes(_message(message, self._echo, self._own))


def _tool(tool: ToolSchema) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _message(message: Message, echo: ReasoningField | None, own: Set[str]) -> JsonObject:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.role != "assistant":
        return {"role": message.role, "content": message.text}
    # Some endpoints refuse an empty text beside calls; all know null there.
    fields: JsonObject = {"role": "assistant", "content": message.text or (None if message.tool_calls else "")}
    if message.model in own:
        fields |= _echoed(message.reasoning, message.blocks, message.text, echo)
    else:
        # Another model's reasoning would be taken for the own.
        fields |= _echoed("", (), message.text, echo)
    if message.tool_calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _dump(call.arguments)}}
            for call in message.tool_calls
        ]
    return fields


def _echoed(reasoning: str, records: Sequence[JsonObject], text: str, echo: ReasoningField | None) -> JsonObject:
    """The fields by which reasoning goes back."""
    match echo:
        case None:
            return {}
        case "reasoning_details":
            # The bare text is no record: its signature is checked.
            return {echo: list(records)} if records else {}
        case "think":
            return {"content": f"<think>{reasoning}</think>{text}"} if reasoning else {}
        case _:
            return {echo: reasoning or _NO_REASONING}


def _bytes(value: JsonObject) -> bytes:
    return _dump(value).encode("utf-8", "replace")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
