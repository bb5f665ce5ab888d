"""Reading server-sent events from bytes that arrive in any pieces.

Above: the model families. The format is the WHATWG one (HTML standard, section 9.2.6), with two additions that real
endpoints make necessary: an event that the end of the body cuts off still counts, and a bare line of JSON, which
proxies put into a stream to report a failure, counts as an event.
"""

_BOM = b"\xef\xbb\xbf"


class EventReader:
    """Turns pieces of a body into the data of its events; how the body was cut makes no difference.

    Data is decoded as UTF-8 once its event is whole; invalid bytes become U+FFFD. Several data lines of one event are
    joined by a line feed. Comments and all fields but `data` are passed over.
    """

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._data: list[bytes] = []
        self._after_return = False
        self._at_start = True

    def feed(self, piece: bytes) -> list[str]:
        """Take the next piece and return the events that it completes, oldest first."""
        if not piece:
            return []
        if self._after_return and piece.startswith(b"\n"):
            piece = piece[1:]
        self._after_return = piece.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = piece.split(b"\n")
        unfinished = lines.pop()
        if lines and self._unfinished:
            self._unfinished.append(lines[0])
            lines[0] = b"".join(self._unfinished)
            self._unfinished.clear()
        if unfinished:
            self._unfinished.append(unfinished)
        return self._read(lines)

    def close(self) -> list[str]:
        """Return what the end of the body completes: its last line and its last event need no terminator."""
        last = b"".join(self._unfinished)
        self._unfinished.clear()
        return self._read([last, b""])

    def _read(self, lines: list[bytes]) -> list[str]:
        if self._at_start and lines:
            self._at_start = False
            lines[0] = lines[0].removeprefix(_BOM)
        events: list[str] = []
        data = self._data
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line:
                if data:
                    events.append(b"\n".join(data).decode("utf-8", "replace"))
                    data.clear()
            elif line.startswith(b"{"):
                events.append(line.decode("utf-8", "replace"))
        return events
