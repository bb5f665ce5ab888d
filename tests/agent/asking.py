"""What the tests of a live model client have in common, whatever the family."""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from agent.model import Model, ModelRequest, Reply, TextDelta


@dataclass
class Pauses:
    """Waits between tries that take no time; the test sees how long they would have been."""

    seconds: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(main, 20))


async def collect(model: Model, request: ModelRequest) -> tuple[list[str], Reply]:
    """The pieces of text and the reply of one call; nothing may come after the reply."""
    deltas: list[str] = []
    reply: Reply | None = None
    async with contextlib.aclosing(model.stream(request)) as parts:
        async for part in parts:
            assert reply is None, "something came after the reply"
            if isinstance(part, TextDelta):
                deltas.append(part.text)
            else:
                reply = part
    assert reply is not None
    return deltas, reply
