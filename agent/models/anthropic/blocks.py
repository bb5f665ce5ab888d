"""The content blocks of one message, as they grow from a stream's deltas.

Above: `agent.models.anthropic.reader`. Pure. Wire format: https://platform.claude.com/docs/en/build-with-claude/streaming.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import cast

from agent.http_model.loose_json import Json, load_strictly
from agent.model import JsonObject, ToolCall
from agent.models.anthropic.wire import as_object, as_text

_STRINGS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}
"""Delta type -> the type of the block that it belongs to, and the string that it carries."""


@dataclass(slots=True)
class _Block:
    type: str
    start: Json
    parts: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))

    def joined(self, name: str) -> str:
        return as_text(self.start.get(name)) + "".join(self.parts[name])


class Blocks:
    """The blocks so far, in the order of their start. What is of no known type is passed over."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._by_index: dict[object, _Block] = {}

    def start(self, index: object, content: object) -> str:
        """Begin a block and return the text that it begins with."""
        start = as_object(content)
        block = _Block(type=as_text(start.get("type")), start=start)
        self._blocks.append(block)
        self._by_index[_key(index)] = block
        return as_text(start.get("text")) if block.type == "text" else ""

    def add(self, index: object, delta: Json) -> str:
        """Add a delta to its block, which begins here if its start was lost, and return the text that it adds."""
        kind, name = _STRINGS.get(as_text(delta.get("type")), ("", ""))
        part = as_text(delta.get(name)) if name else ""
        if not part:
            return ""
        block = self._by_index.get(_key(index))
        if block is None or block.type != kind:
            self.start(index, {"type": kind})
            block = self._blocks[-1]
        block.parts[name].append(part)
        return part if kind == "text" else ""

    @property
    def reasoning(self) -> str:
        """The thinking that may be read."""
        return "".join(block.joined("thinking") for block in self._blocks if block.type == "thinking")

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls; ids that are missing or used twice are made up, and a call without a name is none."""
        calls: list[ToolCall] = []
        used: set[str] = set()
        for number, block in enumerate(self._named_calls()):
            call_id = as_text(block.start.get("id"))
            if not call_id or call_id in used:
                call_id = f"toolu_{number}"
            used.add(call_id)
            calls.append(_call(block, call_id))
        return tuple(calls)

    def records(self) -> tuple[JsonObject, ...]:
        """What must go back unchanged: the thinking that is signed, and where it stood.

        Where all of it comes before the rest, as is usual, it is only that; else the texts are there too, and a mark
        for each call.
        """
        records = [record for block in self._blocks if (record := _record(block))]
        kinds = [is_thinking(record) for record in records]
        if kinds == sorted(kinds, reverse=True):
            return tuple(record for record in records if is_thinking(record))
        return tuple(records)

    def _named_calls(self) -> list[_Block]:
        return [block for block in self._blocks if block.type == "tool_use" and as_text(block.start.get("name"))]


def is_thinking(block: Json) -> bool:
    """Whether this is a record of reasoning."""
    return block.get("type") in {"thinking", "redacted_thinking"}


def _key(index: object) -> object:
    return index if isinstance(index, int) else None


def _record(block: _Block) -> JsonObject | None:
    match block.type:
        case "thinking":
            # Without a signature, as when the answer was cut in the middle of it, it would be refused.
            signature = block.joined("signature")
            record = {"type": "thinking", "thinking": block.joined("thinking"), "signature": signature}
            return record if signature else None
        case "redacted_thinking":
            return dict(block.start) if as_text(block.start.get("data")) else None
        case "text":
            text = block.joined("text")
            return {"type": "text", "text": text} if text else None
        case "tool_use" if as_text(block.start.get("name")):
            return {"type": "tool_use"}
        case _:
            return None


def _call(block: _Block, call_id: str) -> ToolCall:
    name = as_text(block.start.get("name"))
    written = "".join(block.parts["partial_json"])
    if not written.strip():
        return ToolCall(id=call_id, name=name, arguments=dict(as_object(block.start.get("input"))))
    arguments = load_strictly(written)
    if not isinstance(arguments, dict):
        return ToolCall(id=call_id, name=name, arguments={}, malformed=written)
    return ToolCall(id=call_id, name=name, arguments=cast("JsonObject", arguments))
