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

from worker.queue import ERRANDS, TURNS
from worker.reconcile import Reconciler

_log = structlog.get_logger()


class TurnWorker(Worker):
    """An RQ worker that asks its running turn to leave when it is itself asked to stop."""

    def work(self, *args: Any, **options: Any) -> bool:
        """Work without RQ's scheduler process: nothing here is scheduled through it."""
        options["with_scheduler"] = False
        return cast(bool, cast(Any, super()).work(*args, **options))

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
            num_workers=workers,
            worker_class=TurnWorker,
            serializer=cast(Any, JSONSerializer),
        )
        self._reconciler = reconciler
        self._ready = ready
        self._healthy = healthy
        self._was_unreachable = False

    def start_workers(self, burst: bool = True, _sleep: float = 0, logging_level: str = "WARNING") -> None:
        """Start the workers and tell whoever waits for them."""
        super().start_workers(burst=burst, _sleep=_sleep, logging_level=logging_level)
        self._ready()

    def check_workers(self, respawn: bool = True) -> None:
        """Replace dead workers, then repair what they may have left."""
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
        """Stop once, however often it is asked."""
        if cast(Any, self).status != WorkerPool.Status.STOPPED:
            cast(Any, super()).request_stop(signum, frame)

    async def _reconcile(self) -> None:
        reconciler = self._reconciler()
        try:
            await reconciler.run()
        finally:
            await reconciler.close()
