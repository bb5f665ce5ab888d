"""The RQ workers of this host, and between their checks the reconciler."""

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, cast

import structlog
from redis import Redis
from redis.exceptions import RedisError
from rq import Worker
from rq.exceptions import StopRequested
from rq.serializers import JSONSerializer
from rq.worker_pool import WorkerPool

from worker.parent import die_with
from worker.queue import ERRANDS, TURNS
from worker.reconcile import Reconciler

STOP_SECONDS = 10
"""How long stopping may take; a turn leaves within `worker.turn.DRAIN_SECONDS`."""
_STOPPING = {signal.SIGINT, signal.SIGTERM}
_log = structlog.get_logger()


class TurnWorker(Worker):
    """An RQ worker that asks its running turn to leave when it is itself asked to stop."""

    def work(self, *args: Any, **options: Any) -> bool:
        """Work without RQ's scheduler process: nothing here is scheduled through it; and not without the pool."""
        die_with(os.getppid())
        options["with_scheduler"] = False
        return cast(bool, cast(Any, super()).work(*args, **options))

    def _install_signal_handlers(self) -> None:
        """Take signals from now on; they were held back since before the fork."""
        cast(Any, super())._install_signal_handlers()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPPING)

    def _shutdown(self) -> None:
        """Leave for good. RQ's own exception can be swallowed by the Redis library, which this one passes through."""
        try:
            cast(Any, super())._shutdown()
        except StopRequested:
            raise SystemExit(0) from None

    def handle_warm_shutdown_request(self) -> None:
        """Pass the wish on to the turn in hand, which leaves at its next step."""
        if self.horse_pid:
            os.kill(self.horse_pid, signal.SIGTERM)


class TurnPool(WorkerPool):
    """A pool of `TurnWorker`s whose parent reconciles about once a second. The parent keeps no socket over a fork.

    It stops by itself once `healthy` is false, so that whoever started it starts everything anew.
    """

    def __init__(
        self,
        connection: Redis,
        *,
        workers: int,
        reconciler: Callable[[], Reconciler],
        ready: Callable[[], None],
        healthy: Callable[[], bool],
    ) -> None:
        cast(Any, super()).__init__(
            [ERRANDS, TURNS],
            connection=connection,
            num_workers=workers + 1,
            worker_class=TurnWorker,
            serializer=cast(Any, JSONSerializer),
        )
        self._reconciler = reconciler
        self._ready = ready
        self._healthy = healthy
        self._was_unreachable = False
        self._told_ready = False
        self._errands_worker = ""

    def start_worker(self, *args: Any, **options: Any) -> None:
        """Start a worker, with signals held back: neither side may get one before it can tell what it is for.

        The child takes them once RQ's handlers are in place (`TurnWorker`), and the parent once it knows the child.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPPING)
        try:
            cast(Any, super()).start_worker(*args, **options)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def get_worker_process(self, name: str, *args: Any, **options: Any) -> Any:
        """Make a worker's process. One takes errands only: a person who asks for a file waits behind no turn."""
        takes_errands = self._errands_worker not in self.worker_dict
        if takes_errands:
            self._errands_worker = name
        self._queue_names = [ERRANDS] if takes_errands else [TURNS]
        return cast(Any, super()).get_worker_process(name, *args, **options)

    def check_workers(self, respawn: bool = True) -> None:
        """Replace dead workers, then repair what they may have left."""
        if not self._told_ready:
            self._told_ready = True
            self._ready()
        if not self._healthy():
            _log.error("worker.unhealthy", reason="a process that turns need has ended")
            self.request_stop()
            return
        super().check_workers(respawn=respawn)
        try:
            asyncio.run(self._reconcile())
            self._was_unreachable = False
        except RedisError as error:
            if not self._was_unreachable:
                _log.warning("reconcile.redis_unreachable", error=str(error))
            self._was_unreachable = True

    def request_stop(self, signum: int | None = None, frame: FrameType | None = None) -> None:
        """Stop once, however often it is asked, and for certain: without Redis an RQ worker would go on trying.

        The alarm ends this process, and the kernel with it the RQ workers, their turns and background commands.
        """
        if cast(Any, self).status != WorkerPool.Status.STOPPED:
            signal.alarm(STOP_SECONDS)
            cast(Any, super()).request_stop(signum, frame)

    async def _reconcile(self) -> None:
        reconciler = self._reconciler()
        try:
            await reconciler.run()
        finally:
            await reconciler.close()
