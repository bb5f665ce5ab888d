"""Reading the JSON that a Messages endpoint sends, whatever it may be. Pure."""

import json
from dataclasses import dataclass
from typing import Any, cast

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An endpoint's report that it failed: its message in one line, and its type, such as `overloaded_error`."""

    message: str
    type: str = ""


def as_object(value: object) -> Json:
    """`value` if it is a JSON object, else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


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


def load(data: str | bytes) -> Json | None:
    """The JSON object that `data` is, or None."""
    try:
        document: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return cast("Json", document) if isinstance(document, dict) else None


def failure_in(document: Json) -> Failure | None:
    """The failure that an event or a body reports: https://platform.claude.com/docs/en/api/errors."""
    reported = document.get("error")
    if not reported:
        return None
    error = as_object(reported)
    message = as_text(error.get("message")) or as_text(reported) or "the endpoint reported a failure"
    return Failure(message=one_line(message), type=as_text(error.get("type")))


def whole_characters(text: str) -> str:
    """Join surrogate pairs that were sent as two escapes; a half without its other half becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def one_line(text: str, limit: int = 300) -> str:
    """`text` on one line, cut to `limit` characters."""
    flat = " ".join(whole_characters(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
