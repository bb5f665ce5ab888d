"""Ending tasks for certain."""

import asyncio
from collections.abc import Iterable
from typing import Any


async def end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, again should a library swallow that, and wait until they are gone; how they end does not matter."""
    for task in tasks:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=1)
        if not task.cancelled():
            task.exception()  # taken, so that it is not reported as forgotten
