"""Reading what ripgrep prints: JSON lines file by file, or names ended by NUL."""

import base64
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agent.visible import visible_line

MOST_LINE_CHARACTERS = 400
_BEFORE_HIT = 100
_BEGIN = b'{"type":"begin"'
_HIT = b'{"type":"match"'
_CONTEXT = b'{"type":"context"'
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_COUNTED = re.compile(rb"([^\0]+)\0([0-9]+)\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLine:
    """A line of a file, fit to be shown; `hit` tells it from the lines around it."""

    number: int
    text: str
    hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file with hits. Its lines are read only when they are asked for: most files are never shown."""

    path: str
    hits: int
    """How many lines hit, as far as they were counted."""
    body: bytes = b""

    @property
    def has_context(self) -> bool:
        """Whether there are lines around the hits."""
        return _CONTEXT in self.body

    def lines(self) -> Iterator[FoundLine]:
        """Its hits and the lines around them, in order."""
        for line in self.body.split(b"\n"):
            if line.startswith((_HIT, _CONTEXT)):
                yield _line(json.loads(line)["data"], hit=line.startswith(_HIT))


def read_json(data: bytes) -> list[FoundFile]:
    """The files of `rg --json`, in the order of their paths. A last line that was cut off is left out."""
    whole = data[: data.rfind(b"\n") + 1]
    sections = whole.split(_BEGIN)[1:]
    return _sorted(_section(section) for section in sections)


def read_names(data: bytes) -> list[FoundFile]:
    """The files of `rg --files-with-matches --null`."""
    names = data.split(b"\0")[:-1]
    return _sorted(FoundFile(path=_path(name), hits=1) for name in names)


def read_counts(data: bytes) -> list[FoundFile]:
    """The files of `rg --count --null`."""
    counted = _COUNTED.finditer(data)
    return _sorted(FoundFile(path=_path(each.group(1)), hits=int(each.group(2))) for each in counted)


def _sorted(files: Iterator[FoundFile]) -> list[FoundFile]:
    return sorted(files, key=lambda file: file.path.split("/"))


def _section(section: bytes) -> FoundFile:
    first, _, body = section.partition(b"\n")
    begin: dict[str, Any] = json.loads(_BEGIN + first)
    return FoundFile(path=_path(_raw(begin["data"]["path"])), hits=body.count(_HIT), body=body)


def _path(name: bytes) -> str:
    return os.fsdecode(name).removeprefix("./")


def _raw(data: dict[str, str]) -> bytes:
    """What is not UTF-8 comes in base64."""
    return base64.b64decode(data["bytes"]) if "bytes" in data else data["text"].encode()


def _line(data: dict[str, Any], *, hit: bool) -> FoundLine:
    raw = _raw(data["lines"]).rstrip(b"\r\n")
    at = data["submatches"][0]["start"] if data["submatches"] else 0
    return FoundLine(number=data["line_number"], text=_shown(raw, at), hit=hit)


def _shown(raw: bytes, at: int) -> str:
    """The line, of a very long one the part around its first hit, at byte `at`."""
    text = raw.decode("utf-8", "replace")
    cut = text
    if len(text) > MOST_LINE_CHARACTERS:
        begin = max(0, len(raw[:at].decode("utf-8", "replace")) - _BEFORE_HIT)
        cut = ("…" if begin else "") + text[begin : begin + MOST_LINE_CHARACTERS]
        cut += f"… ({len(text):,} characters in this line)"
    return _CONTROLS.sub(lambda found: visible_line(found.group()), cut)
