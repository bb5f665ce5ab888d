"""Putting tool calls together from the fragments that a stream brings.

Endpoints disagree about when a fragment goes on with a call and when it begins another: the index may be missing,
shared or start anywhere, the id may be missing, empty, repeated or changed, the name may be repeated with each
fragment. The rules here are those that read all of them right.
"""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from agent.http_model.characters import whole_characters
from agent.http_model.loose_json import NOT_JSON, Json, as_list, as_object, load_strictly
from agent.model import JsonObject, ToolCall


@dataclass(slots=True)
class _Call:
    """A call as far as it has arrived."""

    id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])

    def arguments(self) -> str:
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        """Whether the arguments are a complete JSON value; an object that does not end like one is not parsed."""
        if not self.pieces or (self.pieces[0].startswith("{") and not self.pieces[-1].rstrip().endswith("}")):
            return False
        return load_strictly(self.arguments()) is not NOT_JSON

    def continues(self, name: str) -> bool:
        """Whether `name` repeats the name or goes on from it."""
        return name.startswith(self.name) or self.name.startswith(name)

    def add_name(self, name: str) -> None:
        """A repeated or longer name replaces, anything else is the next piece of it."""
        if not self.name.startswith(name):
            self.name = name if name.startswith(self.name) else self.name + name


class CallFragments:
    """The calls of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}

    def take(self, tool_calls: object) -> None:
        """Take the `tool_calls` of one delta."""
        for position, item in enumerate(as_list(tool_calls)):
            fragment = as_object(item)
            if fragment is not None:
                self._take(fragment, beside_others=position > 0)

    def take_whole(self, tool_calls: object) -> None:
        """Take the `tool_calls` of a message: each entry is a call of its own."""
        for position, item in enumerate(as_list(tool_calls)):
            fragment = as_object(item)
            if fragment is not None:
                self._take({**fragment, "index": position}, beside_others=False)

    def finish(self) -> tuple[tuple[ToolCall, ...], tuple[str, ...]]:
        """The calls, each with an id of its own, and notes on what had to be dropped."""
        taken: set[str] = {call.id for call in self._calls if call.id}
        used: set[str] = set()
        calls: list[ToolCall] = []
        notes: list[str] = []
        for call in self._calls:
            name = whole_characters(call.name).strip()
            if not name:
                notes.append("a tool call without a name was dropped")
                continue
            call_id = whole_characters(call.id)
            if not call_id or call_id in used:
                call_id = _unused(taken)
            used.add(call_id)
            arguments, malformed = read_arguments(call.arguments())
            calls.append(ToolCall(id=call_id, name=name, arguments=arguments, malformed=malformed))
        return tuple(calls), tuple(notes)

    def _take(self, fragment: Json, *, beside_others: bool) -> None:
        function = as_object(fragment.get("function")) or fragment
        call_id, name = _text(fragment.get("id")), _text(function.get("name"))
        arguments = _argument_text(function.get("arguments"))
        index = _index(fragment.get("index"))
        call = self._by_index.get(index) if index is not None else self._last()
        if not name:
            call = self._by_id.get(call_id, call) if call_id else call or self._last()
        apart = beside_others and index is None and bool(name)
        if call is None or apart or _begins_another(call, call_id, name, arguments, by_index=index is not None):
            call = _Call(id=call_id, name=name)
            self._calls.append(call)
        else:
            call.id = call.id or call_id
            call.add_name(name)
        if index is not None:
            self._by_index[index] = call
        if call_id and call.id == call_id:
            self._by_id[call_id] = call
        if arguments:
            call.pieces.append(arguments)

    def _last(self) -> _Call | None:
        return self._calls[-1] if self._calls else None


def _begins_another(call: _Call, call_id: str, name: str, arguments: str, *, by_index: bool) -> bool:
    """Whether a fragment that points at `call` is nevertheless the beginning of the next one. Only a name begins."""
    if not name or not call.name:
        return False
    if call_id and call.id:
        if call_id != call.id:
            return True
        return call.is_whole() and (bool(arguments.strip()) or not call.continues(name))
    if name == call.name or call.pieces:
        return name != call.name or call.is_whole()
    return not ((by_index and bool(call.id)) or name.startswith(call.name))


def _unused(taken: set[str]) -> str:
    number = 1
    while f"call_{number}" in taken:
        number += 1
    taken.add(f"call_{number}")
    return f"call_{number}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _index(value: object) -> int | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value[:9])
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _argument_text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def read_arguments(text: str) -> tuple[JsonObject, str | None]:
    """Arguments as an object; when they are none, an empty object and the text as it came."""
    text = whole_characters(text)
    if not text.strip():
        return {}, None
    # Gateways before Claude put the empty object with which its calls begin in front of the real one.
    value = load_strictly(text.removeprefix("{}") if text.startswith("{}{") else text)
    if isinstance(value, str):
        value = load_strictly(value)
    if value is None:
        return {}, None
    if not isinstance(value, dict):
        return {}, text
    arguments = cast("dict[str, Any]", value)
    if "\\ud" in text.lower():
        arguments = json.loads(whole_characters(json.dumps(arguments, ensure_ascii=False)))
    return arguments, None
