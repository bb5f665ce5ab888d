"""Until when the next piece of an answer must have come. Nothing here has a clock: times are passed in."""

from agent.errors import ModelOverloaded, ModelUnreachable
from agent.http_model.patience import Fault, Patience
from agent.http_model.reader import AnswerReader


class Waiting:
    """The wait for one answer that was asked for at `began`, in seconds by the caller's clock."""

    def __init__(self, patience: Patience, *, began: float) -> None:
        self._patience = patience
        self._began = self._event_at = began
        self._events = 0

    def until(self, reader: AnswerReader, now: float) -> float:
        """The time at which to give up, for what was read so far."""
        if reader.events > self._events:
            self._events, self._event_at = reader.events, now
        if reader.ended:
            allowed = self._event_at + self._patience.drain
        elif reader.finishing:
            allowed = self._event_at + self._patience.trailing
        elif reader.events:
            allowed = self._event_at + self._patience.idle
        elif reader.received:
            allowed = min(now + self._patience.first, self._began + self._patience.queue)
        else:
            allowed = self._began + self._patience.first
        return min(allowed, self._began + self._patience.total)

    def fault(self, reader: AnswerReader, now: float) -> Fault:
        """What giving up means. After the longest waits another try is no use: somebody waits for this one."""
        waited = now - self._began
        if waited >= self._patience.total:
            return Fault(error=ModelUnreachable(f"the answer was not whole after {waited:.0f} seconds"))
        if reader.received and not reader.events and waited >= self._patience.queue:
            return Fault(error=ModelOverloaded(f"the endpoint kept the request waiting for {waited:.0f} seconds"))
        return Fault(error=ModelUnreachable("the endpoint fell silent before its answer was whole"), passing=True)
