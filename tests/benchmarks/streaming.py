"""How fast an answer is read: bytes of a stream to a reply, beside splitting lines and parsing their JSON alone."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from agent.models.openai_compatible import read_reply
from tests.benchmarks.report import Sizes, line

_WORDS = (
    "The ",
    "quick ",
    "brown ",
    "fox ",
    "跳过",
    "了",
    "lazy ",
    "dog, ",
    "def ",
    "run",
    "():\n",
    "    return ",
    "1\n\n",
)
_ARGUMENTS = json.dumps({"path": "src/app.py", "content": "    answer = compute(first, second)\n" * 500})
_TRIES = 5
_CHUNKS_FOR_EACH = 10
"""How many chunks an answer has for each message that the storing benchmark stores."""


def run(directory: Path, sizes: Sizes) -> list[str]:
    """The lines of this benchmark; `directory` is not used."""
    chunks = list(_answer(sizes.stored * _CHUNKS_FOR_EACH))
    body = b"".join(chunks)
    segments = [body[start : start + 1400] for start in range(0, len(body), 1400)]
    plain = _speed(len(body), lambda: _parse_lines(body))
    told: list[str] = []
    for name, pieces in (("reading, by segments", segments), ("reading, by chunks", chunks)):
        speed = _speed(len(body), lambda pieces=pieces: read_reply(pieces))
        amount = f"{speed:.0f} MB/s, n {len(chunks)} of {len(body) // len(chunks)} bytes"
        told.append(
            line(name, f"{amount}; {speed / plain:.2f} times as fast as json.loads by lines ({plain:.0f} MB/s)")
        )
    return told


def _answer(count: int) -> Iterator[bytes]:
    """An answer as DeepSeek streams it: reasoning, text, one long call; a few characters in each chunk."""
    yield _chunk({"role": "assistant", "content": ""})
    for word in islice(cycle(_WORDS), count // 4):
        yield _chunk({"content": None, "reasoning_content": word})
    for word in islice(cycle(_WORDS), count // 2):
        yield _chunk({"content": word})
    function = {"name": "write_file", "arguments": ""}
    yield _chunk({"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": function}]})
    for start in range(0, min(len(_ARGUMENTS), count), 4):
        yield _chunk({"tool_calls": [{"index": 0, "function": {"arguments": _ARGUMENTS[start : start + 4]}}]})
    yield _chunk({}, finish="tool_calls")
    yield b"data: [DONE]\n\n"


def _chunk(delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    chunk = {
        "id": "930c60df-bf64-41c9-a88e-3ec75f81e00e",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "deepseek-flash",
        "system_fingerprint": "fp_5417b77867_prod",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(chunk, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _parse_lines(body: bytes) -> None:
    for text in body.decode().split("\n"):
        if text.startswith("data: {"):
            json.loads(text[6:])


def _speed(size: int, work: Callable[[], object]) -> float:
    """Megabytes a second, the best of a few tries: others only ever take time away."""
    best = min(_seconds(work) for _ in range(_TRIES))
    return size / best / 1e6


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
