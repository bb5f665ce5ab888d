"""The doors over a real Valkey of this test session, each test with its own database."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count

import pytest
import redis

from tests.servers.valkey import Valkey, start_valkey
from worker.control import Doors, open_doors
from worker.keys import Keys
from worker.lease import Leases
from worker.messages import Address, Answer, Inbound, OutboxEntry, Sender
from worker.queue import TURNS
from worker.reconcile import Reconciler

ANN = Sender(platform="telegram", user_id="42", name="Ann")
BOB = Sender(platform="telegram", user_id="43", name="Bob")
CHAT = Address(platform="telegram", chat_id="42")


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with start_valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@dataclass
class Shop:
    """The doors and what stands behind them."""

    url: str
    doors: Doors
    leases: Leases
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def reconciler(self) -> Reconciler:
        return Reconciler(
            store=self.doors.store,
            queue=self.doors.queue,
            leases=self.leases,
            approvals=self.doors.approvals,
            outbox=self.doors.outbox,
        )

    async def accept(self, text: str = "hi", message_id: str = "", sender: Sender = ANN) -> str:
        """Have a message accepted; returns its conversation."""
        accepted = await self.doors.inbox.accept(
            Inbound(
                message_id=message_id or str(next(self._numbers)),
                address=Address(platform="telegram", chat_id=sender.user_id),
                sender=sender,
                text=text,
                sent_at=datetime.now(UTC),
                language="en",
            )
        )
        return accepted.conversation_id

    async def drop_waiting(self, conversation: str) -> None:
        """Take all messages out of a conversation's queue, as a turn does that has them on record."""
        key = Keys(conversation).waiting
        await self.doors.store.remove(key, *await self.doors.store.items(key))

    def jobs(self, queue: str = TURNS) -> list[str]:
        """The ids of the jobs that wait in a queue."""
        with redis.Redis.from_url(self.url) as connection:
            return [item.decode() for item in connection.lrange(f"rq:queue:{queue}", 0, -1)]

    def take_jobs(self) -> list[str]:
        """Take the jobs out of the queue as a worker does that then dies: RQ calls them queued for ever."""
        jobs = self.jobs()
        with redis.Redis.from_url(self.url) as connection:
            connection.delete(f"rq:queue:{TURNS}")
        return jobs

    def lose_jobs(self) -> None:
        """Empty the queue and forget its jobs, as a crash between storing and calling would."""
        with redis.Redis.from_url(self.url) as connection:
            connection.delete(*connection.keys("rq:queue:*"), *connection.keys("rq:job:*"), "none")


@pytest.fixture
async def shop(valkey: Valkey) -> AsyncIterator[Shop]:
    url = f"{valkey.url}?db=0"
    with redis.Redis.from_url(url) as connection:
        connection.flushdb()
    doors = open_doors(url)
    try:
        yield Shop(url=url, doors=doors, leases=Leases(doors.store))
    finally:
        await doors.close()


def entry(conversation_id: str, entry_id: str, text: str = "x", slot: str = "") -> OutboxEntry:
    return OutboxEntry(
        entry_id=entry_id,
        slot=slot,
        conversation_id=conversation_id,
        address=CHAT,
        language="en",
        content=Answer(task_id="t", markdown=text, steps=1, seconds=1.0),
    )


async def texts(doors: Doors, conversation_id: str) -> list[str]:
    """Take everything out of an outbox, in order."""
    found: list[str] = []
    while pending := await doors.outbox.first(conversation_id):
        assert isinstance(pending.entry.content, Answer)
        found.append(pending.entry.content.markdown)
        await doors.outbox.delivered(pending)
    return found
