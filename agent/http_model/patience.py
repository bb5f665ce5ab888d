"""How long an answer is waited for, and when a try that failed is made again."""

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from agent.errors import ModelError

_MOST_SECONDS = 30.0
_FIRST_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds to wait: for a connection, for the first event, between events, and for a whole answer.

    Comments and blank lines are no events. But an endpoint that sends them before the first one says that the request
    waits in its queue: then that event may take `queue` seconds, as DeepSeek keeps a request for ten minutes
    (https://api-docs.deepseek.com/quick_start/rate_limit), so long as `first` never passes without a sign of life.
    Once the answer began, comments extend nothing.

    `trailing` is for the records that may follow a whole answer, and `drain` for the end of a body after its end mark;
    an endpoint that keeps silent there does no harm. `pause` waits between tries, `random` is their jitter.
    """

    connect: float = 10.0
    first: float = 120.0
    queue: float = 600.0
    idle: float = 120.0
    trailing: float = 5.0
    drain: float = 0.2
    total: float = 1200.0
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One failed try. `passing` tells that the same request may work later, `wait` how many seconds were asked for."""

    error: ModelError
    passing: bool = False
    wait: float | None = None


class Failed(Exception):
    """One try failed; `fault` tells how."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.error.detail)
        self.fault = fault


class Refused(Failed):
    """The endpoint answered with another `status` than 200; `said` is the beginning of the body."""

    def __init__(self, fault: Fault, *, status: int, said: bytes) -> None:
        super().__init__(fault)
        self.status = status
        self.said = said


class Empty(Failed):
    """The answer was whole and said nothing."""


def backoff(tries: int, *, wait: float | None, random: float) -> float:
    """Seconds to wait after `tries` failed tries: doubling, with jitter, never less than asked for, at most 30."""
    doubled = min(_FIRST_SECONDS * 2 ** (tries - 1), _MOST_SECONDS)
    return min(max(doubled * (0.5 + random / 2), wait or 0.0), _MOST_SECONDS)


def retry_after(value: str | None, date: str | None) -> float | None:
    """The seconds of a Retry-After header (RFC 9110, section 10.2.3); a date counts from the response's own `date`."""
    if not value:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", value.strip()):
        return float(value)
    try:
        seconds = (parsedate_to_datetime(value) - parsedate_to_datetime(date or "")).total_seconds()
    except (ValueError, TypeError):
        return None
    return max(seconds, 0.0)
