"""What the JSON of one chat-completions chunk says, in every shape that endpoints are known to send it.

Above: `assembler`. Pure functions: nothing here raises on odd input, what cannot be understood counts as absent.
The shapes are those of OpenAI's chat-completions reference and of the compatible endpoints in `agent.providers`.
"""

from agent.http_model.loose_json import Json, as_list, as_object
from agent.model import Usage

_FINISH = {
    "sensitive": "content_filter",
    "safety": "content_filter",
    "max_tokens": "length",
    "max_output_tokens": "length",
}
"""Finish reasons under other names: GLM says `sensitive`, gateways before Gemini and Claude pass theirs on."""


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
