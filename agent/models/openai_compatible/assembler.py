"""From the bytes of one chat-completions answer to a `Reply`; pure, and the same for live and recorded bodies.

Above: `agent.models.openai_compatible`. Below: `agent.sse` cuts events, `wire` reads chunks, `fragments`
puts tool calls together. A failure that the endpoint reports is data here: it is told in the reply, never raised.
"""

import json
from typing import cast

from agent.model import Reply, Usage
from agent.models.openai_compatible.fragments import CallFragments
from agent.models.openai_compatible.thinking import ThinkFilter
from agent.models.openai_compatible.wire import (
    Failure,
    Json,
    as_list,
    as_object,
    failure_in,
    reasoning_in,
    text_in,
    usage_in,
    whole_characters,
)
from agent.sse import EventReader

_BOM = b"\xef\xbb\xbf"
_HEAD_BYTES = 600


class Assembler:
    """Takes the events of one stream. `ended` once [DONE] came, after which nothing counts any more."""

    def __init__(self) -> None:
        self.ended = False
        self.failure: Failure | None = None
        self.finish_reason: str | None = None
        self._think = ThinkFilter()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._half = ""
        self._calls = CallFragments()
        self._streamed: set[str] = set()
        self._message = {"text": "", "reasoning": ""}
        self._choice: int | None = None
        self._usage: Usage | None = None
        self._notes: list[str] = []

    def feed(self, data: str) -> str:
        """Take the data of one event and return the text it adds, as far as it may be shown by now."""
        data = data.strip()
        if not data or self.ended:
            return ""
        if data == "[DONE]":
            self.ended = True
            return ""
        chunk = _load(data)
        if chunk is None:
            return self._feed_lines(data)
        return self.take(chunk)

    def take(self, chunk: object) -> str:
        """Take one chunk, already parsed; a list counts as its chunks one after the other."""
        fields = as_object(chunk)
        if fields is None:
            return "".join(self._take_chunk(item) for item in map(as_object, as_list(chunk)) if item is not None)
        return self._take_chunk(fields)

    def finish(self, *, whole: bool = False) -> Reply:
        """The reply as far as it came; `whole` tells that the body was one document, which needs no end mark."""
        if self._half:
            self._half = ""
            self._show("\ufffd")
        self._text.append(self._think.close())
        calls, notes = self._calls.finish()
        ended = self.ended or bool(self.finish_reason) or whole
        return Reply(
            text="".join(self._text),
            reasoning=whole_characters("".join(self._think.reasoning + self._reasoning)),
            tool_calls=calls,
            finish_reason=self.finish_reason,
            complete=ended and self.failure is None,
            usage=self._usage,
            error=self.failure.message if self.failure else None,
            notes=(*self._notes, *notes),
        )

    def fail(self, failure: Failure) -> None:
        """Record a failure; the first one tells what went wrong."""
        self.failure = self.failure or failure

    def _feed_lines(self, data: str) -> str:
        """Several data lines that are JSON each by itself are separate chunks."""
        lines = [line.strip() for line in data.split("\n") if line.strip()]
        if len(lines) > 1 and all(line == "[DONE]" or _load(line) is not None for line in lines):
            return "".join([self.feed(line) for line in lines])
        self._notes.append("an event that is not JSON was skipped")
        return ""

    def _take_chunk(self, chunk: Json) -> str:
        if failure := failure_in(chunk):
            self.fail(failure)
        choice = self._pick(chunk.get("choices"))
        self._take_usage(chunk, as_object(chunk.get("x_groq")), choice)
        if choice is None:
            return ""
        if failure := failure_in({"choices": True, "error": choice.get("error")}):
            self.fail(failure)
        delta, message = as_object(choice.get("delta")), as_object(choice.get("message"))
        shown = self._take_delta(delta) if delta else ""
        if message:
            shown += self._take_message(message)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason
            if reason == "error":
                self.fail(Failure(message="the endpoint ended the answer with an error", code="server_error"))
        return shown

    def _pick(self, choices: object) -> Json | None:
        """The choice with index 0, else the first; later chunks must be of the same one."""
        usable = [choice for choice in map(as_object, as_list(choices)) if choice is not None]
        if not usable:
            return None
        wanted = self._choice or 0
        picked = next((choice for choice in usable if choice.get("index") in (wanted, None)), None)
        if picked is None and self._choice is None:
            picked = usable[0]
        if picked is not None and isinstance(picked.get("index"), int):
            self._choice = picked["index"]
        return picked

    def _take_usage(self, *holders: Json | None) -> None:
        for holder in holders:
            usage = usage_in(holder) if holder else None
            if usage and (usage.prompt_tokens or usage.completion_tokens or self._usage is None):
                self._usage = usage

    def _take_delta(self, delta: Json) -> str:
        if reasoning := reasoning_in(delta):
            self._streamed.add("reasoning")
            self._reasoning.append(reasoning)
        text = text_in(delta.get("content")) or text_in(delta.get("refusal"))
        if text:
            self._streamed.add("text")
        if delta.get("tool_calls") or delta.get("function_call"):
            self._streamed.add("calls")
            self._calls.take(delta.get("tool_calls"))
            self._take_legacy(delta.get("function_call"))
        return self._show(text) if text else ""

    def _take_message(self, message: Json) -> str:
        """A whole message counts where no deltas came; a repeated one replaces or goes on with the one before."""
        if "reasoning" not in self._streamed:
            self._reasoning.append(self._news("reasoning", reasoning_in(message)))
        if "calls" not in self._streamed and (message.get("tool_calls") or message.get("function_call")):
            self._calls = CallFragments()
            self._calls.take_whole(message.get("tool_calls"))
            self._take_legacy(message.get("function_call"))
        if "text" in self._streamed:
            return ""
        return self._show(self._news("text", text_in(message.get("content")) or text_in(message.get("refusal"))))

    def _take_legacy(self, function_call: object) -> None:
        """The `function_call` of old endpoints: one call, without index and id."""
        if fields := as_object(function_call):
            self._calls.take([{"function": fields}])

    def _news(self, field: str, value: str) -> str:
        seen = self._message[field]
        news = value.removeprefix(seen)
        self._message[field] = value if value.startswith(seen) else seen + value
        return news

    def _show(self, text: str) -> str:
        """Pass text on; half of a surrogate pair waits for the other half."""
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        shown = self._think.feed(whole_characters(text))
        self._text.append(shown)
        return shown


class ReplyReader:
    """Takes the body of one answer in any pieces: an event stream, a plain JSON document, or whatever came instead."""

    def __init__(self) -> None:
        self.head = b""
        """The first bytes, to show what it was when it was no answer."""
        self.received = 0
        """Bytes taken so far."""
        self._assembler = Assembler()
        self._events = EventReader()
        self._undecided: bytes | None = b""
        self._document: list[bytes] | None = None

    @property
    def ended(self) -> bool:
        """Whether the end mark came; nothing after it counts."""
        return self._assembler.ended

    @property
    def finishing(self) -> bool:
        """Whether the answer is whole and only trailing records such as usage may follow."""
        return self.ended or bool(self._assembler.finish_reason)

    @property
    def failure(self) -> Failure | None:
        """What the endpoint reported instead of going on, so far."""
        return self._assembler.failure

    def feed(self, piece: bytes) -> str:
        """Take the next piece and return the text it adds."""
        self.received += len(piece)
        if len(self.head) < _HEAD_BYTES:
            self.head = (self.head + piece)[:_HEAD_BYTES]
        if self._document is not None:
            self._document.append(piece)
            return ""
        if self._undecided is not None:
            piece = self._undecided = self._undecided + piece
            begin = piece.removeprefix(_BOM).lstrip()
            if not begin or _BOM.startswith(begin):
                return ""
            self._undecided = None
            if begin[:1] in b"{[<":
                self._document = [piece]
                return ""
        return self._assemble(self._events.feed(piece))

    def finish(self) -> Reply:
        """The reply, as far as it came."""
        if self._document is None:
            self._assemble(self._events.close())
            return self._assembler.finish()
        body = b"".join(self._document)
        text = body.decode("utf-8-sig", "replace").strip()
        if text.startswith("<"):
            self._assembler.fail(Failure(message="a web page came instead of an answer", code="html"))
            return self._assembler.finish()
        document = _load(text)
        if document is None:
            self._assemble([*self._events.feed(body), *self._events.close()])
            return self._assembler.finish()
        self._assembler.take(document)
        fields = as_object(document)
        return self._assembler.finish(whole=bool(fields and fields.get("choices")))

    def _assemble(self, events: list[str]) -> str:
        return "".join([self._assembler.feed(event) for event in events])


def _load(data: str) -> object | None:
    """The JSON object or array in `data`, or None."""
    try:
        value = cast("object", json.loads(data))
    except (ValueError, RecursionError):
        return None
    return cast("object", value) if isinstance(value, (dict, list)) else None
