"""What the JSON of a Messages endpoint says. Pure: what cannot be understood counts as absent."""

from dataclasses import replace
from typing import cast

from agent.http_model.failures import Failure, failure_in
from agent.http_model.loose_json import Json, load

_NOTHING: Json = {}
_STATUSES = {
    "invalid_request_error": "400",
    "authentication_error": "401",
    "billing_error": "402",
    "permission_error": "403",
    "not_found_error": "404",
    "request_too_large": "413",
    "rate_limit_error": "429",
    "api_error": "500",
    "timeout_error": "504",
    "overloaded_error": "529",
}
"""Type of an error -> the status that it comes with: https://platform.claude.com/docs/en/api/errors."""
_UNKNOWN_STATUS = "500"


def as_object(value: object) -> Json:
    """`value` if it is a JSON object, else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else _NOTHING


def as_objects(value: object) -> list[Json]:
    """The JSON objects in `value`, if it is an array."""
    return (
        [cast("Json", item) for item in cast("list[object]", value) if isinstance(item, dict)]
        if isinstance(value, list)
        else []
    )


def as_text(value: object) -> str:
    """`value` if it is a string, else nothing."""
    return value if isinstance(value, str) else ""


def load_event(data: str) -> Json | None:
    """The JSON object that an event's data is, or None."""
    event = load(data)
    return cast("Json", event) if isinstance(event, dict) else None


def failure_told(event: Json) -> Failure | None:
    """The failure that an event or a body without a type reports; its code is the status that its type stands for."""
    if not event.get("error") and "type" in event:
        return None
    failure = failure_in(event)
    if failure is None or failure.code.isdecimal():
        return failure
    return replace(failure, code=_STATUSES.get(failure.code, _UNKNOWN_STATUS))
