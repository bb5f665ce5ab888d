"""What RQ calls, with ids only; each runs in a process of its own, forked from a worker that has everything loaded."""

import asyncio
import os
from collections.abc import Awaitable, Callable

import structlog

from worker.build import workshop
from worker.errands import do_errand
from worker.parent import die_with
from worker.turn import run_turn as take_turn

_log = structlog.get_logger()


def run_turn(conversation_id: str) -> None:
    """Run a conversation's turn."""
    _run(lambda: take_turn(workshop(), conversation_id), conversation_id)


def run_errand(conversation_id: str, entry_id: str) -> None:
    """Do what a person asked for beside the turns."""
    _run(lambda: do_errand(workshop(), conversation_id, entry_id), conversation_id)


def _run(work: Callable[[], Awaitable[None]], conversation_id: str) -> None:
    die_with(os.getppid())  # a job must not outlive the worker that watches it

    async def job() -> None:
        try:
            await work()
        except Exception:  # noqa: BLE001 - the job edge: RQ must never see it, the reconciler runs the turn again
            _log.exception("job.broke", conversation_id=conversation_id)
        finally:
            await workshop().close()

    asyncio.run(job())
