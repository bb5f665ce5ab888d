"""What an endpoint says when it fails, in every shape that endpoints are known to say it in. Pure.

The shapes are those of OpenAI's and Anthropic's references and of the compatible endpoints in `agent.providers`.
"""

import json
from dataclasses import dataclass

from agent.http_model.characters import one_line
from agent.http_model.loose_json import Json, as_list, as_object

_SUCCESS_CODES = ("", "0", "200", "success")
_MESSAGES = ("message", "msg", "error_msg")
_CODES = ("code", "error_code", "status", "type")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An endpoint's report that it failed: its message in one line, and its code or type where it gave one."""

    message: str
    code: str = ""


def failure_in(document: Json) -> Failure | None:
    """The failure that an event or a whole body reports, whichever of the shapes in use it has."""
    if error := document.get("error") or document.get("errors"):
        return failure_of(error)
    status = as_object(document["base_resp"]) if "base_resp" in document else None
    if status and str(status.get("status_code", "")).lower() not in _SUCCESS_CODES:
        return Failure(message=one_line(str(status.get("status_msg", ""))), code=str(status["status_code"]))
    if document.get("choices"):
        return None
    if any(isinstance(document.get(name), str) for name in _MESSAGES):
        return None if str(document.get("code", "error")).lower() in _SUCCESS_CODES else failure_of(document)
    return failure_of(document["detail"]) if document.get("detail") else None


def failure_of(value: object) -> Failure:
    """The failure that an `error` field describes, whatever it holds."""
    for item in as_list(value)[:1]:
        fields = as_object(item)
        if fields is None:
            return failure_of(str(item))
        if nested := as_object(fields.get("error")):
            return failure_of(nested)
        message = next((str(fields[name]) for name in (*_MESSAGES, "detail") if fields.get(name)), "")
        code = next((str(fields[name]) for name in _CODES if fields.get(name) is not None), "")
        return Failure(message=one_line(message or json.dumps(fields, ensure_ascii=False)), code=code)
    return Failure(message=one_line(value if isinstance(value, str) else "the endpoint reported a failure"))
