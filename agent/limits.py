"""What one task may use: tokens, money, steps, seconds; and a reserve for the one call that closes it.

Above: the session asks before every model call whether it may be made. Nothing here has a clock: seconds are passed
in. The rules:

- Tokens are those of all prompts, cached ones included, and of all answers. A limit is reached when what was spent is
  as much as the limit (`>=`), and also when the next call and then the closing call would not both fit any more.
- How much fits is foreseen: the prompt, the most the answer may have, for the closing call the prompt that has grown by
  both and by tool results, and its report. When `NextCall.completion_tokens` says the most an answer may have, a limit
  is passed only as far as the estimates err; where it is left out, by one reply at most.
- A step is a model call that may ask for tools, so the closing call is none, and a limit of steps needs no reserve.
- How long a call takes cannot be foreseen, and one that runs is not cut off. A limit of seconds is reached when the
  reserve begins; `seconds_left` tells how long that is.
- The closing call is made only if it fits into what is left (`can_close`). A limit that is too small for any call is
  therefore reached before the first one, and closed without a call when even that would pass it.
- Money that cannot be told is not nought: with a limit in money, a call of unknown price, or one in another currency
  than the limit's, reaches the limit, and there is no closing call. `require_price` says so before anything is spent.
"""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Literal

from agent.model import Usage
from agent.providers import PRICE_SETTING, Currency, Price

LimitName = Literal["tokens", "cost", "steps", "seconds"]
COST_SETTING = "PAIGATE_BUDGET_TURN_COST"

_INSTRUCTION_TOKENS = 256
"""What the closing call's prompt has more than the next call's."""
# The part of a small limit that may be kept for results and for time, so that something is left for the work.
_PART_FOR_RESULTS = 8
_PART_FOR_SECONDS = 4

_NOTHING = Usage(prompt_tokens=0, completion_tokens=0)
_MILLION = 1_000_000

# Chinese, Japanese and Korean letters with their punctuation and full-width forms.
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+"
)


class UnusableLimit(ValueError):
    """A limit that cannot be kept; the message is one line with the fix, `setting` names what must be mended."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """What a task may use at most; None is no limit. `cost` is in `currency`, and `seconds` of work, without waiting.

    Raises:
        UnusableLimit: a limit is no number or below nought, or money has no currency.
    """

    tokens: int | None = None
    cost: Decimal | None = None
    currency: Currency | None = None
    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        limits = {"tokens": self.tokens, "cost": self.cost, "steps": self.steps, "seconds": self.seconds}
        for name, limit in limits.items():
            if limit is not None and (math.isnan(limit) or limit < 0):
                raise UnusableLimit(f"PAIGATE_BUDGET_TURN_{name.upper()}", f"the limit of {name} is {limit}")
        if self.cost is not None and self.currency is None:
            raise UnusableLimit(COST_SETTING, "the limit in money has no currency; write it as in 2.50 CNY")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a task has used so far. `cost` is None as soon as the price of any call was unknown."""

    usage: Usage = _NOTHING
    cost: Decimal | None = Decimal(0)
    currency: Currency | None = None
    """None while nothing was paid."""
    steps: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """Prompts and answers."""
        return self.usage.prompt_tokens + self.usage.completion_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class NextCall:
    """The model call that is about to be made: its prompt, and the most it may answer.

    `cached_tokens` of the prompt are expected to be cached; where they are left out all is reckoned at full price.
    """

    prompt_tokens: int
    completion_tokens: int = 0
    cached_tokens: int = 0
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """What is kept for closing: tokens of the report, tokens by which results may lengthen its prompt, and seconds.

    Of a small limit an eighth at most is kept for results, and a quarter for the time.
    """

    report_tokens: int = 2_000
    result_tokens: int = 8_000
    seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """Which limit ends the task, and what of it was spent; None is unknown. `currency` goes with a limit in money."""

    name: LimitName
    limit: Decimal | float
    spent: Decimal | float | None
    currency: Currency | None = None


RESERVE = Reserve()
"""What is kept unless the caller says otherwise."""


def cost_of(usage: Usage, price: Price | None) -> Decimal | None:
    """What a call cost, exactly, in the price's currency; None when the price is unknown, which is not nought."""
    if price is None:
        return None
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    written = min(usage.written_tokens, usage.prompt_tokens - cached)
    return (
        Decimal(str(price.input)) * (usage.prompt_tokens - cached - written)
        + Decimal(str(price.cached)) * cached
        + Decimal(str(price.input if price.written is None else price.written)) * written
        + Decimal(str(price.output)) * usage.completion_tokens
    ) / _MILLION


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: 1.5 characters of Chinese, Japanese or Korean each, 4 of any other."""
    dense = 0 if text.isascii() else sum(map(len, _CJK.findall(text)))
    return -(-(8 * dense + 3 * (len(text) - dense)) // 12)


def require_price(limits: TaskLimits, model: str, price: Price | None) -> None:
    """Make sure, before anything is spent, that a limit in money can be kept with this model.

    Raises:
        UnusableLimit: the model's price is unknown or in another currency.
    """
    if limits.cost is None:
        return
    if price is None:
        message = f"the price of {model!r} is unknown; set {PRICE_SETTING}, or take the limit in money out"
        raise UnusableLimit(COST_SETTING, message)
    if price.currency != limits.currency:
        message = (
            f"the limit is in {limits.currency} and the price of {model!r} in {price.currency}; give the limit in that"
        )
        raise UnusableLimit(COST_SETTING, message)


def limit_reached(
    limits: TaskLimits, spent: Spent, next_call: NextCall, reserve: Reserve = RESERVE
) -> LimitReached | None:
    """The first limit of tokens, money, steps, seconds that forbids the next call; None if the call may be made."""
    for measure in _measures(limits, spent, next_call):
        if not measure.leaves_room(next_call, reserve):
            return measure.reached
    if limits.steps is not None and spent.steps >= limits.steps:
        return LimitReached(name="steps", limit=limits.steps, spent=spent.steps)
    left = seconds_left(limits, spent, reserve)
    if limits.seconds is not None and left is not None and left <= 0:
        return LimitReached(name="seconds", limit=limits.seconds, spent=spent.seconds)
    return None


def can_close(limits: TaskLimits, spent: Spent, next_call: NextCall, reserve: Reserve = RESERVE) -> bool:
    """Whether the closing call fits into what every limit leaves; it takes the place of the next call."""
    in_time = limits.seconds is None or spent.seconds < limits.seconds
    return in_time and all(measure.fits_closing(next_call, reserve) for measure in _measures(limits, spent, next_call))


def seconds_left(limits: TaskLimits, spent: Spent, reserve: Reserve = RESERVE) -> float | None:
    """For how long work may go on before the reserve of time begins, at or below nought if it has; None is no limit."""
    if limits.seconds is None:
        return None
    return limits.seconds - spent.seconds - min(reserve.seconds, limits.seconds / _PART_FOR_SECONDS)


@dataclass(frozen=True, slots=True)
class _Measure:
    """A limit that is used up by usage: what is used, and how much of it a usage takes, where that can be told."""

    reached: LimitReached
    limit: Decimal
    used: Decimal | None
    amount: Callable[[Usage], Decimal | None]

    def leaves_room(self, next_call: NextCall, reserve: Reserve) -> bool:
        """Whether the next call fits, and after it the closing call."""
        call = self.amount(_usage(next_call, 0, next_call.completion_tokens))
        closing = self._closing(next_call, next_call.completion_tokens, reserve)
        results = self.amount(Usage(prompt_tokens=reserve.result_tokens, completion_tokens=0))
        if self.used is None or call is None or closing is None or results is None:
            return False
        needed = call + closing + min(results, self.limit / _PART_FOR_RESULTS)
        return self.used < self.limit and self.used + needed <= self.limit

    def fits_closing(self, next_call: NextCall, reserve: Reserve) -> bool:
        """Whether the closing call fits instead of the next."""
        closing = self._closing(next_call, 0, reserve)
        return self.used is not None and closing is not None and self.used + closing <= self.limit

    def _closing(self, next_call: NextCall, growth: int, reserve: Reserve) -> Decimal | None:
        return self.amount(_usage(next_call, growth + _INSTRUCTION_TOKENS, reserve.report_tokens))


def _measures(limits: TaskLimits, spent: Spent, next_call: NextCall) -> Iterator[_Measure]:
    if limits.tokens is not None:
        reached = LimitReached(name="tokens", limit=limits.tokens, spent=spent.tokens)
        yield _Measure(reached, Decimal(limits.tokens), Decimal(spent.tokens), _tokens)
    if limits.cost is not None:
        price = next_call.price
        known = price is not None and {price.currency, spent.currency} <= {limits.currency, None}
        paid = spent.cost if known else None
        reached = LimitReached(name="cost", limit=limits.cost, spent=paid, currency=limits.currency)
        yield _Measure(reached, limits.cost, paid, partial(cost_of, price=price))


def _usage(next_call: NextCall, growth: int, completion: int) -> Usage:
    return Usage(
        prompt_tokens=next_call.prompt_tokens + growth,
        cached_tokens=next_call.cached_tokens,
        # What is not there yet is put into a cache, which some vendors charge for.
        written_tokens=next_call.prompt_tokens + growth - next_call.cached_tokens,
        completion_tokens=completion,
    )


def _tokens(usage: Usage) -> Decimal:
    return Decimal(usage.prompt_tokens + usage.completion_tokens)
