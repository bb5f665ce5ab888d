"""What RQ calls, with ids only; each runs in a process of its own, forked from a worker that has everything loaded."""

import asyncio
import ctypes
import os
import signal
from collections.abc import Awaitable, Callable

import structlog

from worker.build import workshop
from worker.errands import do_errand
from worker.turn import run_turn as take_turn

_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger()


def run_turn(conversation_id: str) -> None:
    """Run a conversation's turn."""
    _run(lambda: take_turn(workshop(), conversation_id), conversation_id)


def run_errand(conversation_id: str, entry_id: str) -> None:
    """Do what a person asked for beside the turns."""
    _run(lambda: do_errand(workshop(), conversation_id, entry_id), conversation_id)


def _run(work: Callable[[], Awaitable[None]], conversation_id: str) -> None:
    _die_with_worker()

    async def job() -> None:
        try:
            await work()
        except Exception:  # noqa: BLE001 - the job edge: RQ must never see it, the reconciler runs the turn again
            _log.exception("job.broke", conversation_id=conversation_id)
        finally:
            await workshop().close()

    asyncio.run(job())


def _die_with_worker() -> None:
    """A job must not outlive the worker that watches it (prctl(2))."""
    worker_pid = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != worker_pid:
        os.kill(os.getpid(), signal.SIGKILL)
