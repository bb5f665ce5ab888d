"""The vendor's own records of a reply's reasoning, put together from the fragments that a stream brings.

They go back as they came (https://openrouter.ai/docs/use-cases/reasoning-tokens, MiniMax alike): a signature covers
the whole text of its record, so the fragments of one record must be one record again.
"""

from dataclasses import dataclass
from typing import Any

from agent.http_model.characters import whole_characters
from agent.http_model.loose_json import Json, as_list, as_object
from agent.model import JsonObject

_JOINED = ("text", "summary", "data")
_FRAGMENTED = ("reasoning.text", "reasoning.summary")


@dataclass(slots=True)
class _Record:
    """A record as far as it has arrived; of `pieces`, the strings of its joined fields."""

    fields: JsonObject
    pieces: dict[str, list[str]]

    def goes_on_with(self, detail: Json) -> bool:
        """Whether `detail` is a fragment of this record: nothing that names a record may differ."""
        for name in ("index", "type", "id"):
            mine, other = self.fields.get(name), detail.get(name)
            if mine is not None and other is not None and mine != other:
                return False
        # Without an index, only texts are known to come in pieces.
        return detail.get("index") is not None or self.fields.get("type") in _FRAGMENTED

    def add(self, detail: Json) -> None:
        """Join texts, and take what else the fragment knows."""
        for name, value in detail.items():
            if name in _JOINED and isinstance(value, str):
                self.pieces.setdefault(name, []).append(value)
                self.fields.setdefault(name, "")
            elif value is not None or name not in self.fields:
                self.fields[name] = value

    def whole(self) -> JsonObject:
        """The record as it goes back."""
        joined: dict[str, Any] = {name: whole_characters("".join(texts)) for name, texts in self.pieces.items()}
        return {**self.fields, **joined}


class ReasoningRecords:
    """The records of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self._records: list[_Record] = []
        self._streamed = False

    def take(self, details: object) -> None:
        """Take the `reasoning_details` of one delta."""
        self._streamed = True
        for detail in map(as_object, as_list(details)):
            if detail is None:
                continue
            record = next((known for known in reversed(self._records) if known.goes_on_with(detail)), None)
            if record is None or (detail.get("index") is None and record is not self._records[-1]):
                record = _Record(fields={}, pieces={})
                self._records.append(record)
            record.add(detail)

    def take_whole(self, details: object) -> None:
        """Take the `reasoning_details` of a message, where each entry is a record; it counts where no deltas came."""
        if self._streamed:
            return
        found = [detail for detail in map(as_object, as_list(details)) if detail is not None]
        self._records = [_Record(fields=dict(detail), pieces={}) for detail in found]

    def finish(self) -> tuple[JsonObject, ...]:
        """The records."""
        return tuple([record.whole() for record in self._records])
