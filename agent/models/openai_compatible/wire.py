"""What the JSON of one chat-completions chunk says, in every shape that endpoints are known to send it.

Above: `assembler`. Pure functions: nothing here raises on odd input, what cannot be understood counts as absent.
The shapes are those of OpenAI's chat-completions reference and of the compatible endpoints in `agent.providers`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from agent.model import Usage

Json = Mapping[str, Any]

_SUCCESS_CODES = ("", "0", "200", "success")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An endpoint's report that it failed: its message in one line, and its code or type where it gave one."""

    message: str
    code: str = ""


def as_object(value: object) -> Json | None:
    """`value` if it is a JSON object."""
    return cast("Json", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[object]:
    """`value` if it is a JSON array, an object as an array of one, anything else as an empty one."""
    if isinstance(value, list):
        return cast("list[object]", value)
    return [cast("object", value)] if isinstance(value, dict) else []


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


def reasoning_in(delta: Json) -> str:
    """The reasoning of a delta or message, under the first of the names in use that has any."""
    for name in ("reasoning_content", "reasoning"):
        value = delta.get(name)
        if isinstance(value, str) and value:
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
    for name in ("error", "errors"):
        if chunk.get(name):
            return _failure(chunk[name])
    status = as_object(chunk.get("base_resp"))
    if status and str(status.get("status_code", "")).lower() not in _SUCCESS_CODES:
        return Failure(message=one_line(str(status.get("status_msg", ""))), code=str(status["status_code"]))
    if chunk.get("choices"):
        return None
    if any(isinstance(chunk.get(name), str) for name in ("message", "msg")):
        return None if str(chunk.get("code", "error")).lower() in _SUCCESS_CODES else _failure(chunk)
    return _failure(chunk["detail"]) if chunk.get("detail") else None


def one_line(text: str, limit: int = 300) -> str:
    """`text` on one line, cut to `limit` characters."""
    flat = " ".join(whole_characters(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _failure(value: object) -> Failure:
    for item in as_list(value)[:1]:
        fields = as_object(item)
        if fields is None:
            return _failure(str(item))
        if nested := as_object(fields.get("error")):
            return _failure(nested)
        message = next((str(fields[name]) for name in ("message", "msg", "detail") if fields.get(name)), "")
        code = next((str(fields[name]) for name in ("code", "status", "type") if fields.get(name) is not None), "")
        return Failure(message=one_line(message or json.dumps(fields, ensure_ascii=False)), code=code)
    return Failure(message=one_line(value if isinstance(value, str) else "the endpoint reported a failure"))


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
