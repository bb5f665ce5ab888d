"""Calls that DeepSeek writes as text, in the markup called DSML, instead of calling.

Above: `agent.models.openai_compatible`. Pure. A block looks like this, as vLLM's and SGLang's readers of it document:

    <｜DSML｜tool_calls>
    <｜DSML｜invoke name="read_file">
    <｜DSML｜parameter name="path" string="true">a.py</｜DSML｜parameter>
    <｜DSML｜parameter name="limit" string="false">5</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜tool_calls>

It becomes calls only where nothing about it is doubtful; else it stays the text that it is.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from agent.http_model.loose_json import NOT_JSON, load_strictly
from agent.model import JsonObject, ModelRequest, Reply, ToolCall
from agent.models.openai_compatible.body import ReplyReader
from agent.models.openai_compatible.fragments import read_arguments
from agent.text_calls import DSML_OPENINGS

_MOST_CHARACTERS = 256_000
_MOST_CALLS = 32
_MOST_PARAMETERS = 64
_OPENING = re.compile("|".join(map(re.escape, DSML_OPENINGS)))
_CUT = ("length", "content_filter")


class DsmlReader(ReplyReader):
    """Reads one answer to `request`, with the calls that its text holds."""

    def __init__(self, request: ModelRequest) -> None:
        super().__init__()
        self._held = DsmlText(request)

    def feed(self, piece: bytes) -> str:
        """Take the next piece and return the text that may be shown by now."""
        return self._held.feed(super().feed(piece))

    def finish(self) -> Reply:
        """The reply, as far as it came."""
        return self._held.read(super().finish())


class DsmlText:
    """The text of one answer as it streams: what may be the beginning of a block is held back until the end."""

    def __init__(self, request: ModelRequest) -> None:
        self._tools = {tool.name for tool in request.tools} if request.may_call else set[str]()
        self._used = {call.id for message in request.messages for call in message.tool_calls}
        self._held: list[str] = []
        self._held_length = 0
        self._opened = False
        self._given_up = not self._tools
        self._taken = 0
        self._shown = 0

    def feed(self, text: str) -> str:
        """Take the next piece and return what may be shown by now."""
        self._taken += len(text)
        if self._given_up:
            return text
        self._held.append(text)
        self._held_length += len(text)
        if not self._opened:
            shown = self._before_block("".join(self._held))
        elif self._held_length > _MOST_CHARACTERS:
            self._given_up = True
            shown = "".join(self._held)
        else:
            return ""
        self._shown += len(shown)
        return shown

    def read(self, reply: Reply) -> Reply:
        """The reply with the calls that its text holds, or as it is; what of it was not streamed is taken now."""
        self.feed(reply.text[self._taken :])
        readable = self._opened and not self._given_up and not reply.tool_calls and reply.finish_reason not in _CUT
        if not readable or reply.text.count("```", 0, self._shown) % 2:
            return reply
        found = read_block(reply.text[self._shown :].strip(), self._tools)
        if found is None:
            return reply
        calls = tuple([self._call(name, arguments) for name, arguments in found])
        notes = (*reply.notes, "calls that were written as text were read")
        return replace(reply, text=reply.text[: self._shown], tool_calls=calls, notes=notes)

    def _before_block(self, text: str) -> str:
        """What stands before a block or what may become one, and before the blanks in front of it."""
        opening = _OPENING.search(text)
        end = opening.start() if opening else text.rfind("<")
        if opening or (end >= 0 and any(tag.startswith(text[end:]) for tag in DSML_OPENINGS)):
            self._opened = opening is not None
            shown = text[:end].rstrip()
        else:
            shown = text.rstrip()
        self._held = [text[len(shown) :]]
        self._held_length = len(self._held[0])
        return shown

    def _call(self, name: str, arguments: JsonObject) -> ToolCall:
        number = 1
        while f"dsml_call_{number}" in self._used:
            number += 1
        self._used.add(f"dsml_call_{number}")
        return ToolCall(id=f"dsml_call_{number}", name=name, arguments=arguments)


def read_block(block: str, tools: Collection[str]) -> list[tuple[str, JsonObject]] | None:
    """The calls of a text that is one well-formed block which names none but `tools`; else None."""
    opening = _OPENING.match(block)
    if not opening or len(block) > _MOST_CHARACTERS:
        return None
    bar, _, container = opening.group()[1:-1].partition("DSML")
    mark = f"{bar}DSML{bar}"
    closing = f"</{mark}{container.removeprefix(bar)}>"
    if not block.endswith(closing):
        return None
    inner = block[opening.end() : len(block) - len(closing)]
    invoke = rf'<{re.escape(mark)}invoke name="([^"<>]+)">(.*?)</{re.escape(mark)}invoke>'
    calls: list[tuple[str, JsonObject]] = []
    for found in _one_after_another(invoke, inner):
        arguments = _parameters(found[2], mark) if found else None
        if found is None or arguments is None or found[1] not in tools:
            return None
        calls.append((found[1], arguments))
    return calls if 0 < len(calls) <= _MOST_CALLS else None


def _parameters(text: str, mark: str) -> JsonObject | None:
    """The arguments of one call, or None where any of them is not as it should be."""
    escaped = re.escape(mark)
    parameter = rf'<{escaped}parameter name="([^"<>]+)" string="(true|false)">(.*?)</{escaped}parameter>'
    arguments: JsonObject = {}
    for found in _one_after_another(parameter, text):
        if found is None or found[1] in arguments or mark in found[3]:
            return None
        value = found[3] if found[2] == "true" else load_strictly(found[3])
        if value is NOT_JSON:
            return None
        arguments[found[1]] = value
    if len(arguments) > _MOST_PARAMETERS:
        return None
    return read_arguments(json.dumps(arguments))[0]


def _one_after_another(pattern: str, text: str) -> Iterator[re.Match[str] | None]:
    """The matches that make up `text` with nothing but blanks around them; None where something else stands."""
    expression = re.compile(rf"\s*{pattern}\s*", re.DOTALL)
    place = len(text) - len(text.lstrip())
    while place < len(text):
        found = expression.match(text, place)
        yield found
        place = found.end() if found else len(text)
