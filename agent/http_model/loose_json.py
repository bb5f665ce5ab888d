"""Reading JSON that may be anything. Pure: nothing here raises on odd input, what cannot be understood is absent."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn, cast

from pydantic_core import from_json

Json = Mapping[str, Any]

NOT_JSON: Final = object()
"""What `load` gives for text that is no JSON."""

_MOST_DEPTH = 201
# A string that does not end reaches to the end, so that no quote within it is tried again.
_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[{\]}]', re.DOTALL)
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}


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


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def as_object(value: object) -> Json | None:
    """`value` if it is a JSON object."""
    return cast("Json", value) if isinstance(value, dict) else None


def as_list(value: object) -> list[Any]:
    """`value` if it is a JSON array, an object as an array of one, anything else as an empty one."""
    if isinstance(value, list):
        return cast("list[Any]", value)
    return [cast("Json", value)] if isinstance(value, dict) else []
