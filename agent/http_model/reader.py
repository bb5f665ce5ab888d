"""PORT: what takes the bytes of one answer and makes a `Reply` of them.

Above: `endpoint` asks it how far the answer is, and `asking` for the reply. Implemented by each family in
`agent/models/`. How a body was cut into pieces makes no difference to it, and what is odd in it raises nothing.
"""

from collections.abc import Iterable
from typing import Protocol

from agent.http_model.failures import Failure
from agent.model import Reply

HEAD_BYTES = 600
"""So much of a body tells what it was when it was no answer."""


class AnswerReader(Protocol):
    """Takes one answer, piece by piece."""

    @property
    def head(self) -> bytes:
        """The first `HEAD_BYTES` bytes."""
        ...

    @property
    def received(self) -> int:
        """Bytes taken so far."""
        ...

    @property
    def events(self) -> int:
        """Events taken so far, which comments and blank lines are not."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the end mark came; nothing after it counts."""
        ...

    @property
    def finishing(self) -> bool:
        """Whether the answer is whole, even if the body goes on."""
        ...

    @property
    def failure(self) -> Failure | None:
        """What the endpoint reported instead of going on, so far; a `code` that is an HTTP status is taken for one."""
        ...

    def feed(self, piece: bytes) -> str:
        """Take the next piece and return the text that it adds."""
        ...

    def finish(self) -> Reply:
        """The reply, as far as it came."""
        ...


def read_all(reader: AnswerReader, pieces: Iterable[bytes]) -> Reply:
    """Read a whole body; a failure in it is told in `error`."""
    for piece in pieces:
        reader.feed(piece)
    return reader.finish()
