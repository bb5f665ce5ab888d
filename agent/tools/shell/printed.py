"""What a command prints, made fit for reading: whole at its end, and piece by piece while it runs."""

import asyncio
import codecs
import re
from collections.abc import Callable

PIECE_CHARACTERS = 4_000
PIECE_SECONDS = 0.5
"""While a command prints, so much of the latest is passed on, so often."""

# ECMA-48: control sequences, then strings (titles, links) up to their terminator, then every other escape.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
# One of those that may go on in what is printed next, or a line that may be written over.
_UNFINISHED = re.compile(r"(?:(?<!\r)\r+|\x1b(?:\[[0-?]*[ -/]*|[]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*))\Z")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MOST_WAITING = 4 * PIECE_CHARACTERS


def plain(output: str) -> str:
    """The output without terminal escapes; of a line that was overwritten, as by a progress bar, the last state."""
    text = _ESCAPES.sub("", output).replace("\r\n", "\n")
    last_states = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(last_states))


class Pieces:
    """Passes on what is printed, as it comes and yet not too often: of a flood only the latest."""

    def __init__(self, emit: Callable[[str], None], loop: asyncio.AbstractEventLoop) -> None:
        self._emit = emit
        self._loop = loop
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._pause: asyncio.TimerHandle | None = None

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._waiting = (self._waiting + self._decoder.decode(chunk))[-_MOST_WAITING:]
        if self._pause is None:
            self._pass_on()

    def close(self) -> None:
        """Pass on what is left; nothing comes after that."""
        if self._pause is not None:
            self._pause.cancel()
        self._tell(self._waiting + self._decoder.decode(b"", final=True))

    def _pass_on(self) -> None:
        unfinished = _UNFINISHED.search(self._waiting)
        end = unfinished.start() if unfinished else len(self._waiting)
        ready, self._waiting = self._waiting[:end], self._waiting[end:]
        self._pause = self._loop.call_later(PIECE_SECONDS, self._pass_on) if self._tell(ready) else None

    def _tell(self, raw: str) -> bool:
        text = plain(raw)[-PIECE_CHARACTERS:]
        if text:
            self._emit(text)
        return bool(text)
