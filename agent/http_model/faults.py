"""What a failed model call means: which error it is, in one line for a person, and whether another try may help.

Pure; `endpoint` and `asking` meet the wire and bring what they met here.
"""

import re
from typing import Literal

from agent.errors import (
    ModelBroken,
    ModelContextFull,
    ModelFiltered,
    ModelOverloaded,
    ModelRefused,
    ModelUnauthorized,
)
from agent.http_model.characters import one_line
from agent.http_model.failures import Failure, failure_in
from agent.http_model.loose_json import as_list, as_object, load
from agent.http_model.patience import Fault
from agent.providers import KEY_SETTING, URL_SETTING

_FINAL_SERVER_ERRORS = (501, 505)
_BUSY_WORDS = re.compile(
    r"rate.?limit|too many requests|overload|server.?error|internal.?error|unavailable|time.?out|timed out|try again",
    re.IGNORECASE,
)
_FULL_WORDS = re.compile(
    r"context.?(length|window|size|limit)|maximum context|too many (input |prompt )?tokens|range of input length"
    r"|(prompt|input|request|messages?)\b.{0,60}(too (long|large)|exceed.{0,60}(length|tokens?\b))"
    r"|reduce the length|上下文|(输入|提示词?|prompt|内容|消息).{0,20}(过长|超长|超过|超出)",
    re.IGNORECASE,
)
_RATE_WORDS = re.compile(r"rate.?limit|per.(min|day|hour|second)|quota|频率|限流", re.IGNORECASE)
_FILTER_WORDS = re.compile(
    r"content.{0,12}(filter|policy|exists risk)|data.?inspection|sensitive (content|word|info)|sensitive$"
    r"|responsible.?ai|敏感|违规|不安全",
    re.IGNORECASE,
)
_QUOTA = "insufficient_quota"
_WEB_PAGE = f"it answered with a web page; check the base URL ({URL_SETTING})"


def status_fault(status: int, body: bytes, *, base_url: str, model: str, wait: float | None = None) -> Fault:
    """The fault that a response with a status other than 200 means."""
    failure = _body_failure(body) or Failure(message=_plain(body))
    return _status_fault(status, failure, base_url=base_url, model=model, wait=wait)


def reported_fault(failure: Failure, *, base_url: str, model: str) -> Fault:
    """The fault that a failure inside an answer means: by its code where it has a status, else by its words."""
    if failure.code == "html":
        return Fault(error=ModelBroken(_WEB_PAGE))
    if failure.code.isdecimal() and 400 <= int(failure.code[:9]) < 600:
        return _status_fault(int(failure.code), failure, base_url=base_url, model=model)
    if "authentication" in failure.code or "invalid_api_key" in failure.code:
        return Fault(error=ModelUnauthorized(f"the endpoint refused the key; check {KEY_SETTING}: {failure.message}"))
    cause = _cause(0, failure)
    if not cause and failure.code != _QUOTA and _BUSY_WORDS.search(f"{failure.code} {failure.message}"):
        return Fault(error=ModelOverloaded(f"the endpoint failed: {failure.message}"), passing=True)
    kinds = {"full": ModelContextFull, "filter": ModelFiltered, "": ModelRefused}
    return Fault(error=kinds[cause](f"the endpoint reported an error: {failure.message}"))


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


def _status_fault(status: int, failure: Failure, *, base_url: str, model: str, wait: float | None = None) -> Fault:
    after = f": {failure.message}" if failure.message else ""
    if status in {401, 403}:
        return Fault(error=ModelUnauthorized(f"the endpoint refused the key ({status}); check {KEY_SETTING}{after}"))
    if status == 429 and failure.code == _QUOTA:
        return Fault(error=ModelRefused(f"the account's quota is used up (429){after}"))
    if status in {408, 429} or (status >= 500 and _cause(status, failure) != "full"):
        error = ModelOverloaded(f"the endpoint is busy or failing ({status}){after}")
        return Fault(error=error, passing=status not in _FINAL_SERVER_ERRORS, wait=wait)
    return Fault(error=_refusal(status, failure, after, base_url=base_url, model=model))


def _refusal(status: int, failure: Failure, after: str, *, base_url: str, model: str) -> ModelRefused | ModelFiltered:
    """What a status means that says no to this very request."""
    match _cause(status, failure):
        case "full":
            return ModelContextFull(f"the conversation is longer than the model takes ({status}){after}")
        case "filter":
            return ModelFiltered(f"the vendor's content filter refused the request ({status}){after}")
        case _:
            pass
    if status == 404:
        return ModelRefused(f"nothing is there (404): check the base URL {base_url} and the model {model}{after}")
    if 300 <= status < 400:
        return ModelRefused(f"the base URL {base_url} is redirected ({status}); set {URL_SETTING}{after}")
    return ModelRefused(f"the endpoint refused the request ({status}){after}")


def _cause(status: int, failure: Failure) -> Literal["full", "filter", ""]:
    """Whether a refusal is about the length of the conversation, or about what is said in it."""
    words = f"{failure.code} {failure.message}"
    if status == 413 or (_FULL_WORDS.search(words) and not _RATE_WORDS.search(words)):
        return "full"
    return "filter" if _FILTER_WORDS.search(words) else ""


def _body_failure(body: bytes) -> Failure | None:
    for item in as_list(load(body.decode("utf-8-sig", "replace")))[:1]:
        fields = as_object(item)
        return failure_in(fields) if fields else None
    return None


def _plain(body: bytes) -> str:
    """A body that is no JSON, for a person: its first words, or that it is a web page."""
    text = body.decode("utf-8", "replace").strip()
    return _WEB_PAGE if text.startswith("<") else one_line(text)
