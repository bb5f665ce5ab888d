"""The worker's doors over a real Valkey, and what tests do with them."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

import redis

from worker.approvals import new_approval_id
from worker.control import Doors
from worker.inbox import identify
from worker.keys import Keys
from worker.lease import Leases
from worker.messages import Address, Answer, Approval, ApprovalCard, Inbound, OutboxEntry, Sender
from worker.queue import TURNS
from worker.reconcile import Reconciler
from worker.store import utc_now

ANN = Sender(platform="telegram", user_id="42", name="Ann")
BOB = Sender(platform="telegram", user_id="43", name="Bob")
CHAT = Address(platform="telegram", chat_id="42")


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


async def asked(shop: Shop, *, hours: float = 72, leave: bool = True, **fields: object) -> Approval:
    """Ask as a turn would, and park; `fields` are those of the card that matter."""
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.drop_waiting(conversation)
    approval_id = new_approval_id(conversation)
    card = ApprovalCard(
        **{
            "approval_id": approval_id,
            "tool": "edit_file",
            "risk": "write",
            "title": "a.py",
            "detail": "-a\n+b\n",
            "detail_kind": "diff",
            "expires_at": utc_now() + timedelta(hours=hours),
            **fields,
        }
    )
    approval = Approval(
        approval_id=approval_id,
        conversation_id=conversation,
        address=CHAT,
        language="en",
        task_id="t",
        call_id="c",
        digest="d",
        requester_id=await identify(shop.doors.store, ANN),
        card=card,
    )
    await shop.doors.approvals.ask(approval, fence=lease.fence)
    if leave:
        await shop.leases.leave(lease)
    shop.lose_jobs()
    return approval
