"""What a step of the loop costs besides the model: request, reply, one call, the ledger; at growing histories.

The model is a transport in memory that answers at once. The plain baseline of the same run sends a body of the same
messages through the same transport, serialised once, and reads the events of the answer with `json`.
"""

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path

import httpx

from agent.events import StepStarted
from agent.exchange import Terms
from agent.model import Model
from agent.models.openai_compatible import OpenAICompatibleModel
from agent.providers import resolve
from agent.standalone import open_session
from tests.benchmarks.report import Sizes, line

HISTORIES = (10, 100, 500)
FILE = "".join(f"line {number} of a file that the model reads\n" for number in range(24))


class Answers(httpx.AsyncBaseTransport):
    """Asks for the next of many files, each time another."""

    def __init__(self) -> None:
        self.asked = 0
        self.bodies: list[bytes] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        self.bodies.append(await request.aread())
        return httpx.Response(200, headers={"Content-Type": "text/event-stream"}, stream=_Body(_answer(self.asked)))


class _Body(httpx.AsyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._content


def run(directory: Path, sizes: Sizes) -> list[str]:
    (directory / "project").mkdir(parents=True)
    (directory / "project/a.txt").write_text(FILE)
    histories = [size for size in HISTORIES if size <= sizes.history]
    return asyncio.run(_measure(directory, histories, sizes.samples))


async def _measure(directory: Path, histories: list[int], samples: int) -> list[str]:
    answers = Answers()
    async with httpx.AsyncClient(transport=answers) as client:
        resolved = resolve("compatible:bench", base_url="http://127.0.0.1:1/v1")
        model = OpenAICompatibleModel(
            name="bench",
            base_url=resolved.base_url,
            api_key="",
            model="bench",
            provider=resolved.provider,
            client=client,
        )
        begun = await _steps(directory, model, max(histories) // 2 + samples + 2)
        lines: list[str] = []
        for size in histories:
            first = size // 2
            steps = [later - earlier for earlier, later in pairwise(begun[first : first + samples + 1])]
            plain = [await _plain(client, answers.bodies[first + number]) for number in range(samples)]
            lines.append(_told(size, steps, plain))
        return lines


def _told(size: int, steps: list[float], plain: list[float]) -> str:
    step, baseline = statistics.median(steps), statistics.median(plain)
    told = (
        f"p50 {step * 1000:.2f} ms, n {len(steps)}; {step / baseline:.1f} times a plain request ({baseline * 1000:.2f}"
    )
    return line(f"step, {size} messages", f"{told} ms), {(step - baseline) * 1000:.2f} ms more")


async def _steps(directory: Path, model: Model, count: int) -> list[float]:
    """When each of so many steps began."""
    begun: list[float] = []
    with open_session(directory / "project", model=model, says="read on", terms=Terms()) as session:
        async with aclosing(session.run()) as events:
            async for event in events:
                if isinstance(event, StepStarted):
                    begun.append(time.perf_counter())
                    if len(begun) == count:
                        break
    return begun


async def _plain(client: httpx.AsyncClient, body: bytes) -> float:
    messages = json.loads(body)
    begin = time.perf_counter()
    content = json.dumps(messages, ensure_ascii=False).encode()
    async with client.stream("POST", "http://127.0.0.1:1/v1/chat/completions", content=content) as response:
        async for received in response.aiter_lines():
            if received.startswith("data: {"):
                json.loads(received[6:])
    return time.perf_counter() - begin


def _answer(number: int) -> bytes:
    arguments = json.dumps({"path": "./" * (number % 50) + "a.txt", "offset": 1 + number % 20})
    function = {"name": "read_file", "arguments": arguments}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": f"I read on, {number}."}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}},
    ]
    return b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"
