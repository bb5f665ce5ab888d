"""Samples, and the lines they are printed as."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How much each benchmark does."""

    messages: int = 120
    stored: int = 2048
    alone: int = 300
    commands: int = 50
    turns: int = 20
    history: int = 500
    samples: int = 20


QUICK = Sizes(messages=4, stored=128, alone=10, commands=4, turns=3, history=10, samples=3)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that `share` of all values do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def times(name: str, seconds: Sequence[float], *, plain: tuple[str, Sequence[float]]) -> str:
    """A line of durations, and beside them those of a plain baseline from the same run."""
    median, baseline = statistics.median(seconds), statistics.median(plain[1])
    told = f"{_spread(seconds)}, n {len(seconds)}; {median / baseline:.1f} times {plain[0]} ({_spread(plain[1])})"
    return line(name, f"{told}, {_ms(median - baseline)} more")


def line(name: str, told: str) -> str:
    """A line under a name."""
    return f"{name:<26} {told}"


def _spread(seconds: Sequence[float]) -> str:
    return f"p50 {_ms(statistics.median(seconds))}, p95 {_ms(percentile(seconds, 0.95))}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"
