"""Running calls beside each other, and handing on what they print while they run."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from functools import partial

from agent.cancelling import end
from agent.events import CallPrinted
from agent.model import ToolCall
from agent.tool import ToolResult
from agent.toolbox import CheckedCall, Toolbox

MOST_AT_ONCE = 4
_LATE = "Timed out: it and the calls beside it had {seconds:g} s in all. Ask for less at once."


async def run_calls(
    toolbox: Toolbox, calls: Sequence[CheckedCall], *, seconds: float | None = None
) -> AsyncGenerator[CallPrinted | dict[str, ToolResult], None]:
    """Run calls, four at once and for `seconds` in all; yields what they print, and last their results by call id.

    Closing or cancelling it ends what runs, before the closing goes on.
    """
    slots = asyncio.Semaphore(MOST_AT_ONCE)
    printed: asyncio.Queue[CallPrinted | None] = asyncio.Queue()
    deadline = None if seconds is None else asyncio.get_running_loop().time() + seconds

    async def run(checked: CheckedCall) -> ToolResult:
        try:
            async with slots, asyncio.timeout_at(deadline):
                return await toolbox.run(checked, partial(_show, printed, checked.call))
        except TimeoutError:
            return ToolResult(text=_LATE.format(seconds=seconds), ok=False)

    tasks = [asyncio.create_task(run(checked)) for checked in calls]
    for task in tasks:
        task.add_done_callback(lambda _done: printed.put_nowait(None))
    running = len(tasks)
    try:
        while running:
            part = await printed.get()
            if part is None:
                running -= 1
            else:
                yield part
    finally:
        await end(tasks)
    yield {checked.call.id: task.result() for checked, task in zip(calls, tasks, strict=True)}


def _show(printed: "asyncio.Queue[CallPrinted | None]", call: ToolCall, text: str) -> None:
    printed.put_nowait(CallPrinted(call=call, text=text))
