"""What a failed call of the Messages API means: which error it is, in one line for a person, and whether to try again.

Pure; `endpoint` meets the wire and brings what it met here. Statuses and error types are those of
https://platform.claude.com/docs/en/api/errors.
"""

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from agent.errors import ModelBroken, ModelError, ModelOverloaded, ModelRefused, ModelUnauthorized
from agent.models.anthropic.wire import Failure, failure_in, load, one_line
from agent.providers import KEY_SETTING, URL_SETTING

MOST_SECONDS = 30.0
_FIRST_SECONDS = 0.5
_FINAL_SERVER_ERRORS = (501, 505)
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_THINKING = re.compile(r"thinking.*(signature|cannot be modified|bound to)|(signature|bound to).*thinking", re.DOTALL)
_WEB_PAGE = f"it answered with a web page; check the base URL ({URL_SETTING})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One failed try. `passing` tells that the same request may work later, `wait` how many seconds were asked for."""

    error: ModelError
    passing: bool = False
    wait: float | None = None


def backoff(tries: int, *, wait: float | None, random: float) -> float:
    """Seconds to wait after `tries` failed tries: doubling, with jitter, never less than asked for, at most 30."""
    doubled = min(_FIRST_SECONDS * 2 ** (tries - 1), MOST_SECONDS)
    return min(max(doubled * (0.5 + random / 2), wait or 0.0), MOST_SECONDS)


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


def status_fault(status: int, body: bytes, *, base_url: str, model: str, wait: float | None = None) -> Fault:
    """The fault that a response with a status other than 200 means."""
    document = load(body)
    failure = failure_in(document) if document else None
    said = failure.message if failure else _plain(body)
    after = f": {said}" if said else ""
    match status:
        case 401 | 403:
            error = ModelUnauthorized(f"the endpoint refused the key ({status}); check {KEY_SETTING}{after}")
        case 404:
            error = ModelRefused(f"nothing is there (404): check the base URL {base_url} and the model {model}{after}")
        case 408 | 429:
            return Fault(error=ModelOverloaded(f"the endpoint is busy ({status}){after}"), passing=True, wait=wait)
        case _ if status >= 500:
            error = ModelOverloaded(f"the endpoint is busy or failing ({status}){after}")
            return Fault(error=error, passing=status not in _FINAL_SERVER_ERRORS, wait=wait)
        case _ if 300 <= status < 400:
            error = ModelRefused(f"the base URL {base_url} is redirected ({status}); set {URL_SETTING}{after}")
        case _:
            error = ModelRefused(f"the endpoint refused the request ({status}){after}")
    return Fault(error=error)


def reported_fault(failure: Failure, *, base_url: str, model: str) -> Fault:
    """The fault that a failure inside an answer means: that of the status that its type stands for."""
    status = _STATUSES.get(failure.type, 500)
    return status_fault(status, failure.message.encode("utf-8", "replace"), base_url=base_url, model=model)


def cut_fault(head: bytes) -> Fault:
    """The fault that a body means that ended before its answer did, by how it began."""
    if not head.strip():
        return Fault(
            error=ModelBroken(f"the endpoint answered nothing; check the base URL ({URL_SETTING})"), passing=True
        )
    if head.lstrip().startswith(b"<"):
        return Fault(error=ModelBroken(_WEB_PAGE))
    if not re.search(rb"^\s*(data|event|id|retry)?:|[{\[]", head):
        return Fault(error=ModelBroken(f"what came was no answer: {_plain(head)}"), passing=True)
    return Fault(error=ModelBroken("the answer was cut off in the middle"), passing=True)


def refuses_thinking(status: int, body: bytes) -> bool:
    """Whether the request was refused for the thinking that it sends back.

    A signature holds for the model, and for newer models for the conversation before it, to the letter:
    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks.
    """
    return status == 400 and bool(_THINKING.search(body.decode("utf-8", "replace")))


def _plain(body: bytes) -> str:
    """A body that is no error object, for a person: its first words, or that it is a web page."""
    text = body.decode("utf-8", "replace").strip()
    return _WEB_PAGE if text.startswith("<") else one_line(text)
