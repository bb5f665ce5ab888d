"""When two calls, results or texts count as the same: what differs in them by the clock or by chance is left out.

Above: the guard against going in circles. Masked are dates, times, durations, process ids and memory addresses. A
masked text is only ever compared, never shown.
"""

import json
import re
from hashlib import blake2b

from agent.model import JsonObject

MOST_MASKED = 16_384
"""A longer text is masked at its head and its tail, by half of this each, and compared as it is between them."""

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_CLOCK = r"\d{1,2}:[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\b)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?"
_UNIT = (
    r"(?:nanoseconds?|microseconds?|milliseconds?|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|ns|us|µs|μs|ms|s|h)(?!\w)"
    "|毫秒|微秒|秒|分钟|小时|天"
)
_NUMBER = r"\d{1,9}(?:\.\d{1,12})?"
_DURATION = rf"(?:\d{{1,9}}m ?\d{{1,2}}(?:\.\d{{1,9}})?s\b|{_NUMBER} ?(?:{_UNIT}))"
# Nothing begins inside a number, so that a long run of digits is looked at once and not once a digit.
_VOLATILE = re.compile(
    rf"(?<![\w.])(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d)(?:[T ]{_CLOCK})?|\d{{4}}年\d{{1,2}}月\d{{1,2}}日)"
    rf"|(?<![\w.])\d{{1,2}}[ /-]{_MONTH}[ /-]\d{{4}}(?:[ :]{_CLOCK})?"
    rf"|\b{_MONTH}\.? {{1,2}}\d{{1,2}}\b(?:,? {_CLOCK})?(?:,? \d{{4}}\b)?"
    rf"|(?<![\w.:]){_CLOCK}(?![\w:])"
    rf"|(?<![\w.]){_DURATION}"
    rf"|(?:\b(?i:time|elapsed|took|duration)\b|耗时|用时)[ :：=]{{0,3}}(?:{_DURATION}|{_NUMBER})"
    r"|(?<![\w.])1[5-9]\d{8}(?:\d{3})?(?:\.\d{1,9})?(?![\w.])"
    r"|\b(?i:p?pid|tid|process(?: id)?)\b[^\w\n]{0,3}\d{1,10}|进程(?:号| ?ID)?[^\w\n]{0,3}\d{1,10}"
    r"|(?m:^\[\d{1,4}\] \d{1,10}$)"
    r"|\b0[xX][0-9a-fA-F]{4,16}\b|(?<=\w)@[0-9a-f]{5,8}\b"
)


def action_fingerprint(tool: str, arguments: JsonObject | str, result: str) -> bytes:
    """The same for the same call with the same result: blanks and the order of keys in the arguments do not matter."""
    return _digest("\0".join([tool, canonical_arguments(arguments), masked(result)]))


def text_fingerprint(text: str) -> bytes:
    """The same for texts that differ in blanks and volatile parts only."""
    return _digest(collapsed(masked(text)))


def result_mark(text: str) -> str:
    """A short stand-in for a result, the same for results that count as the same: what a record may keep of it."""
    return _digest(masked(text)).hex()


def canonical_arguments(arguments: JsonObject | str) -> str:
    """Arguments as one text: keys sorted, no blanks; none at all are `{}`. What is no JSON stays as it is, trimmed."""
    try:
        value = json.loads(arguments.strip() or "{}") if isinstance(arguments, str) else arguments
        return json.dumps({} if value is None else value, sort_keys=True, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        # Broken JSON; or nested without end, or with keys of several kinds, which no model's JSON is.
        return arguments.strip() if isinstance(arguments, str) else f"{sorted(map(str, arguments))}"


def masked(text: str) -> str:
    """The text with its volatile parts blotted out; the work is bounded, however long it is."""
    if len(text) <= MOST_MASKED:
        return _VOLATILE.sub("·", text)
    # Cut at line ends, so that a duration with one digit more does not shift what is compared as it is.
    first = text.rfind("\n", 0, MOST_MASKED // 2) + 1 or MOST_MASKED // 2
    last = text.find("\n", len(text) - MOST_MASKED // 2)
    last = len(text) - MOST_MASKED // 2 if last < 0 else last
    middle = _digest(text[first:last]).hex()
    return "\n".join([_VOLATILE.sub("·", text[:first]), middle, _VOLATILE.sub("·", text[last:])])


def collapsed(text: str) -> str:
    """The text with every run of blanks as one, and none at its ends."""
    return " ".join(text.split())


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
