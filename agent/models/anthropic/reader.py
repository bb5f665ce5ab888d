"""From the bytes of one Messages answer to a `Reply`; pure, and the same for live and recorded bodies.

Above: `agent.models.anthropic.model`. Below: `agent.sse` cuts events, `blocks` puts content together. A failure that
the endpoint reports is data here: it is told in the reply, never raised. The events are those of
https://platform.claude.com/docs/en/build-with-claude/streaming; ones of an unknown type are passed over, as it asks.
"""

from agent.http_model.characters import WholeCharacters, whole_characters
from agent.http_model.failures import Failure
from agent.http_model.loose_json import Json
from agent.http_model.reader import HEAD_BYTES
from agent.model import Reply, Usage
from agent.models.anthropic.blocks import Blocks
from agent.models.anthropic.wire import as_object, as_objects, as_text, failure_told, load_event
from agent.sse import EventReader

_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    # The answer filled the window; and a turn that a vendor's own tool paused: both are asked to go on.
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "refusal": "content_filter",
}
_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")


class MessageReader:
    """Takes the pieces of one body.

    `finishing` tells that the answer is whole, `ended` that nothing more is to come, `failure` what the endpoint
    reported, and `head` how the body began. Pings are `events` like others: they come while the model thinks.
    """

    def __init__(self) -> None:
        self.failure: Failure | None = None
        self.ended = False
        self.received = 0
        self.events = 0
        self.head = b""
        self._events = EventReader()
        self._blocks = Blocks()
        self._text: list[str] = []
        self._characters = WholeCharacters()
        self._stop_reason = ""
        self._counts: dict[str, int] = {}
        self._notes: list[str] = []

    @property
    def finishing(self) -> bool:
        """Whether the answer is complete, even if the body goes on."""
        return self.ended or bool(self._stop_reason)

    def feed(self, piece: bytes) -> str:
        """Take the next piece and return the text that it adds."""
        self.received += len(piece)
        if len(self.head) < HEAD_BYTES:
            self.head += piece[: HEAD_BYTES - len(self.head)]
        events = self._events.feed(piece)
        self.events += len(events)
        return "".join(map(self._take, events))

    def finish(self) -> Reply:
        """The reply as far as it came."""
        for event in self._events.close():
            self._take(event)
        self._text.append(self._characters.close())
        return Reply(
            text="".join(self._text),
            reasoning=whole_characters(self._blocks.reasoning),
            blocks=self._blocks.records(),
            tool_calls=self._blocks.calls(),
            finish_reason=_FINISH_REASONS.get(self._stop_reason, self._stop_reason) or None,
            complete=self.finishing and self.failure is None,
            usage=self._usage(),
            error=self.failure.message if self.failure else None,
            notes=tuple(self._notes),
        )

    def _take(self, data: str) -> str:
        if self.ended or self.failure or not data.strip():
            return ""
        event = load_event(data)
        if event is None:
            self._notes.append("an event that was no JSON object was passed over")
            return ""
        if event.get("type") == "content_block_delta":
            text = self._blocks.add(event.get("index"), as_object(event.get("delta")))
        else:
            self.failure = failure_told(event)
            text = "" if self.failure else self._take_event(event)
        return self._show(text) if text else ""

    def _take_event(self, event: Json) -> str:
        match event.get("type"):
            case "message_start":
                self._count(as_object(event.get("message")).get("usage"))
            case "content_block_start":
                return self._blocks.start(event.get("index"), event.get("content_block"))
            case "message_delta":
                self._count(event.get("usage"))
                self._stop_reason = as_text(as_object(event.get("delta")).get("stop_reason")) or self._stop_reason
            case "message_stop":
                self.ended = True
            case "message":
                return self._take_whole(event)
            case _:
                pass
        return ""

    def _take_whole(self, message: Json) -> str:
        """Take an answer that was not streamed."""
        self._count(message.get("usage"))
        self._stop_reason = as_text(message.get("stop_reason"))
        self.ended = True
        content = as_objects(message.get("content"))
        return "".join([self._blocks.start(index, block) for index, block in enumerate(content)])

    def _show(self, text: str) -> str:
        """Keep the text and return it, as far as its characters are whole."""
        text = self._characters.feed(text)
        self._text.append(text)
        return text

    def _count(self, usage: object) -> None:
        """Take the counts of an event; they are totals, so that the largest is the latest."""
        for name in _COUNTS:
            count = as_object(usage).get(name)
            if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
                self._counts[name] = max(count, self._counts.get(name, 0))

    def _usage(self) -> Usage | None:
        counts = self._counts
        if "input_tokens" not in counts or "output_tokens" not in counts:
            return None
        cached = counts.get("cache_read_input_tokens", 0)
        written = counts.get("cache_creation_input_tokens", 0)
        return Usage(
            prompt_tokens=counts["input_tokens"] + cached + written,
            completion_tokens=counts["output_tokens"],
            cached_tokens=cached,
            written_tokens=written,
        )
