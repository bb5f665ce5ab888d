"""The RQ queues: jobs carry ids only, and calling for the same turn twice makes one job."""

import asyncio
from typing import Any, cast

from redis import Redis
from rq import Queue
from rq.exceptions import DuplicateJobError
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer

TURNS = "turns"
ERRANDS = "errands"
"""Short jobs that a person waits for; workers take them before turns."""

_FOREVER = -1
_KEEP_FAILED_SECONDS = 24 * 3600


class TurnQueue:
    """Where turns are called for. The functions are named by path, so that no caller loads what they need."""

    def __init__(self, connection: Redis) -> None:
        self._connection = connection
        self._turns = Queue(TURNS, connection=connection, serializer=JSONSerializer)
        self._errands = Queue(ERRANDS, connection=connection, serializer=JSONSerializer)

    async def call_turn(self, conversation_id: str, epoch: int) -> None:
        """Make sure that the job of this wake-up exists."""
        await asyncio.to_thread(
            self._enqueue, self._turns, f"turn-{conversation_id}-{epoch}", "run_turn", conversation_id
        )

    async def call_file(self, conversation_id: str, path: str, entry_id: str) -> None:
        """Ask the worker for a file of the project; it arrives in the outbox under `entry_id`."""
        await asyncio.to_thread(
            self._enqueue, self._errands, f"file-{entry_id}", "fetch_file", conversation_id, path, entry_id
        )

    def waits(self, conversation_id: str, epoch: int) -> bool:
        """Whether the job of this wake-up still waits in the queue."""
        job_id = f"turn-{conversation_id}-{epoch}"
        jobs = cast(
            list[Job | None],
            cast(Any, Job).fetch_many([job_id], connection=self._connection, serializer=JSONSerializer),
        )
        return jobs[0] is not None and jobs[0].get_status() == JobStatus.QUEUED

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

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
