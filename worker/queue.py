"""The RQ queues: jobs carry ids only, and calling for the same work twice makes one job."""

import asyncio
from contextlib import suppress
from typing import Any, cast

from redis import Redis
from rq import Queue
from rq.exceptions import DuplicateJobError, NoSuchJobError
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer

TURNS = "turns"
ERRANDS = "errands"
"""Short jobs that a person waits for; workers take them before turns."""

_FOREVER = -1
_KEEP_FAILED_SECONDS = 24 * 3600


class TurnQueue:
    """Where work is called for. The functions are named by path, so that no caller loads what they need."""

    def __init__(self, connection: Redis) -> None:
        self._connection = connection
        self._turns = Queue(TURNS, connection=connection, serializer=JSONSerializer)
        self._errands = Queue(ERRANDS, connection=connection, serializer=JSONSerializer)

    async def call_turn(self, conversation_id: str, epoch: int) -> None:
        """Make sure that the job of this wake-up exists."""
        job_id = _turn_job(conversation_id, epoch)
        await asyncio.to_thread(self._enqueue, self._turns, job_id, "run_turn", conversation_id)

    async def call_errand(self, conversation_id: str, entry_id: str) -> None:
        """Make sure that the job of this errand exists; its outcome comes into the outbox under `entry_id`."""
        await asyncio.to_thread(
            self._enqueue, self._errands, _errand_job(entry_id), "run_errand", conversation_id, entry_id
        )

    def has_lost_turn(self, conversation_id: str, epoch: int) -> bool:
        """Whether the job of this wake-up is in the queue no more.

        What RQ says of a job does not count: one that a dying worker took is called "queued" for ever.
        """
        return self._forget_if_gone(self._turns, _turn_job(conversation_id, epoch))

    def has_lost_errand(self, entry_id: str) -> bool:
        """Whether the job of this errand is in the queue no more; one that never ran can be called for again."""
        return self._forget_if_gone(self._errands, _errand_job(entry_id))

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def _forget_if_gone(self, queue: Queue, job_id: str) -> bool:
        if cast(Any, self._connection).lpos(queue.key, job_id) is not None:
            return False
        with suppress(NoSuchJobError):
            job = cast(Any, Job).fetch(job_id, connection=self._connection, serializer=JSONSerializer)
            if job.get_status() == JobStatus.QUEUED:
                job.delete()
        return True

    def _enqueue(self, queue: Queue, job_id: str, function: str, *arguments: str) -> None:
        try:
            cast(Any, queue).enqueue(
                f"worker.jobs.{function}",
                args=arguments,
                job_id=job_id,
                unique=True,
                job_timeout=_FOREVER,
                result_ttl=0,
                failure_ttl=_KEEP_FAILED_SECONDS,
            )
        except DuplicateJobError:
            return


def _turn_job(conversation_id: str, epoch: int) -> str:
    return f"turn-{conversation_id}-{epoch}"


def _errand_job(entry_id: str) -> str:
    return f"errand-{entry_id}"
