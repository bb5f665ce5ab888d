"""The body of one answer, in whatever pieces it comes: an event stream, a JSON document, or what came instead.

Above: `agent.models.openai_compatible`. Below: `agent.sse` cuts events, `assembler` reads them. Pure.
"""

from agent.http_model.failures import Failure
from agent.http_model.loose_json import NOT_JSON, as_list, as_object, load
from agent.http_model.reader import HEAD_BYTES
from agent.model import Reply
from agent.models.openai_compatible.assembler import Assembler
from agent.sse import EventReader

_BEFORE = b" \t\r\n\xef\xbb\xbf"
"""What may stand before the first line: blanks, with which endpoints keep a connection alive, and a byte order mark."""


class ReplyReader:
    """Takes the body of one answer in any pieces; how it was cut makes no difference."""

    def __init__(self) -> None:
        self.head = b""
        """The first bytes, to show what it was when it was no answer."""
        self.received = 0
        """Bytes taken so far."""
        self.events = 0
        """Events so far, which comments and blank lines are not; of a document, its pieces."""
        self._assembler = Assembler()
        self._events = EventReader()
        self._began = False
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
        if len(self.head) < HEAD_BYTES:
            self.head = (self.head + piece)[:HEAD_BYTES]
        if not self._began:
            piece = piece.lstrip(_BEFORE)
            if not piece:
                return ""
            self._began = True
            if piece[:1] in b"{[<":
                self._document = []
        if self._document is not None:
            self.events += 1
            self._document.append(piece)
            return ""
        return self._assemble(self._events.feed(piece))

    def finish(self) -> Reply:
        """The reply, as far as it came."""
        if self._document is None:
            self._assemble(self._events.close())
            return self._assembler.finish()
        body = b"".join(self._document)
        text = body.decode("utf-8", "replace").strip()
        if text.startswith("<"):
            self._assembler.fail(Failure(message="a web page came instead of an answer", code="html"))
            return self._assembler.finish()
        document = load(text)
        if document is NOT_JSON:
            self._assemble([*self._events.feed(body), *self._events.close()])
            return self._assembler.finish()
        self._assembler.take(document)
        return self._assembler.finish(whole=_is_completion(document))

    def _assemble(self, events: list[str]) -> str:
        self.events += len(events)
        feed = self._assembler.feed
        if len(events) == 1:
            return feed(events[0])
        return "".join([feed(event) for event in events])


def _is_completion(document: object) -> bool:
    """Whether a document is a whole answer, which has a message, and not a single chunk of a stream."""
    fields = as_object(document)
    choices = as_list(fields.get("choices")) if fields else []
    return any("message" in choice for choice in map(as_object, choices) if choice is not None)
