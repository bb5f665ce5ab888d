"""What the JSON of one chat-completions chunk says, in every shape that endpoints are known to send it.

Above: `assembler`. Pure functions: nothing here raises on odd input, what cannot be understood counts as absent.
The shapes are those of OpenAI's chat-completions reference and of the compatible endpoints in `agent.providers`.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from pydantic_core import from_json

from agent.model import Usage

Json = Mapping[str, Any]

NOT_JSON: Final = object()
"""What `load` gives for text that is no JSON."""

_MOST_DEPTH = 201
# A string that does not end reaches to the end, so that no quote within it is tried again.
_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_SUCCESS_CODES = ("", "0", "200", "success")
_MESSAGES = ("message", "msg", "error_msg")
_CODES = ("code", "error_code", "status", "type")
_FINISH = {
    "sensitive": "content_filter",
    "safety": "content_filter",
    "max_tokens": "length",
    "max_output_tokens": "length",
}
"""Finish reasons under other names: GLM says `sensitive`, gateways before Gemini and Claude pass theirs on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An endpoint's report that it failed: its message in one line, and its code or type where it gave one."""

    message: str
    code: str = ""


def load(data: str) -> Any:
    """The JSON value in `data`, or `NOT_JSON`.

    pydantic's parser is three times as fast as the standard one. What it refuses the standard one decides, which knows
    lone surrogates; what both take they read alike, which tests/properties/test_assembler.py holds.
    """
    try:
        return from_json(data, cache_strings="keys")
    except ValueError:
        return _load(data)


def load_strictly(text: str) -> Any:
    """The JSON value that a model wrote, or `NOT_JSON`; raw line breaks inside strings are allowed, as models use them.

    NaN and the infinities are not JSON, and a history that holds them cannot be sent again.
    """
    return _load(text, strict=False, parse_constant=_refuse_constant)


def _load(text: str, **options: Any) -> Any:
    try:
        return NOT_JSON if _is_deep(text) else json.loads(text, **options)
    except (ValueError, RecursionError):
        return NOT_JSON


def _is_deep(text: str) -> bool:
    """Whether JSON is nested so deeply that what reads it later, one level by one, could run out of stack."""
    depth = deepest = 0
    if text.count("[") + text.count("{") > _MOST_DEPTH:
        for found in _NESTING.finditer(text):
            depth += _STEPS.get(found.group(), 0)
            deepest = max(depth, deepest)
    return deepest > _MOST_DEPTH


def as_object(value: object) -> Json | None:
    """`value` if it is a JSON object."""
    return cast("Json", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any]:
    """`value` if it is a JSON array, an object as an array of one, anything else as an empty one."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    return [cast("Json", value)] if isinstance(value, dict) else []


def whole_characters(text: str) -> str:
    """Join surrogate pairs that were sent as two escapes; a half without its other half becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def text_in(content: object) -> str:
    """The text of a `content` field: a string, or the text of its parts."""
    if isinstance(content, str):
        return content
    return "".join([_part_text(part) for part in as_list(content)]) if content else ""


def finish_in(choice: Json) -> str:
    """The finish reason of a choice, under its usual name, or nothing."""
    reason = choice.get("finish_reason")
    if not reason or not isinstance(reason, str):
        return ""
    return _FINISH.get(reason.lower(), reason)


def reasoning_in(delta: Json) -> str:
    """The reasoning of a delta or message, under the first of the names in use that has any."""
    value = delta.get("reasoning_content") or delta.get("reasoning")
    if value and isinstance(value, str):
        return value
    if details := delta.get("reasoning_details"):
        return "".join([_part_text(detail) for detail in as_list(details)])
    content = delta.get("content")
    return "".join([_thinking(part) for part in as_list(content)]) if content and not isinstance(content, str) else ""


def usage_in(holder: Json) -> Usage | None:
    """The `usage` of a chunk or choice; it counts only if both totals are non-negative integers."""
    usage = as_object(holder.get("usage"))
    if usage is None:
        return None
    prompt = _count(usage, "prompt_tokens", "input_tokens")
    completion = _count(usage, "completion_tokens", "output_tokens")
    if prompt is None or completion is None:
        return None
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=min(_cached(usage), prompt))


def failure_in(chunk: Json) -> Failure | None:
    """The failure that a chunk or a whole body reports, whichever of the shapes in use it has."""
    if error := chunk.get("error") or chunk.get("errors"):
        return failure_of(error)
    status = as_object(chunk["base_resp"]) if "base_resp" in chunk else None
    if status and str(status.get("status_code", "")).lower() not in _SUCCESS_CODES:
        return Failure(message=one_line(str(status.get("status_msg", ""))), code=str(status["status_code"]))
    if chunk.get("choices"):
        return None
    if any(isinstance(chunk.get(name), str) for name in _MESSAGES):
        return None if str(chunk.get("code", "error")).lower() in _SUCCESS_CODES else failure_of(chunk)
    return failure_of(chunk["detail"]) if chunk.get("detail") else None


def one_line(text: str, limit: int = 300) -> str:
    """`text` on one line, cut to `limit` characters."""
    flat = " ".join(whole_characters(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


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


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    fields = as_object(part) or {}
    return next((value for name in ("text", "content", "summary") if isinstance(value := fields.get(name), str)), "")


def _thinking(part: object) -> str:
    """The reasoning in a part of a content list: Mistral's `thinking` parts hold a list of text parts."""
    thinking = (as_object(part) or {}).get("thinking")
    return thinking if isinstance(thinking, str) else "".join(_part_text(item) for item in as_list(thinking))


def _count(usage: Json, *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _cached(usage: Json) -> int:
    flat = _count(usage, "cached_tokens", "prompt_cache_hit_tokens", "input_cache_hit_tokens")
    if flat is not None:
        return flat
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = as_object(usage.get(name))
        nested = _count(details, "cached_tokens") if details else None
        if nested is not None:
            return nested
    return 0
