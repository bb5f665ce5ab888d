"""Keeping the beginning and the end of an output of any length in bounded memory."""


class HeadAndTail:
    """Keeps at most `limit` bytes of what is added: the first half and the last half."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    @property
    def truncated(self) -> bool:
        """Whether bytes in the middle were dropped."""
        return self._dropped > 0 or len(self._tail) > self._tail_limit

    def add(self, chunk: bytes) -> None:
        """Take the next bytes of the output."""
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Trimming only now and then keeps the copying linear in the output.
        if len(self._tail) > 2 * self._tail_limit + len(chunk):
            self._trim()

    def text(self) -> str:
        """What was kept, with a line that says how many bytes are missing; undecodable bytes are replaced."""
        self._trim()
        if not self._dropped:
            return (self._head + self._tail).decode("utf-8", "replace")
        head, tail = (part.decode("utf-8", "replace") for part in (self._head, self._tail))
        return f"{head}\n… {self._dropped:,} bytes left out …\n{tail}"

    def _trim(self) -> None:
        excess = len(self._tail) - self._tail_limit
        if excess > 0:
            del self._tail[:excess]
            self._dropped += excess
