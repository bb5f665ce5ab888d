"""How what is in the outbox reaches a platform: its pace, its refusals, its silence."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from gateway.adapter import (
    Capabilities,
    ChatClosed,
    DeliveryError,
    Listener,
    OutcomeUnknown,
    Outgoing,
    RateLimited,
    Rejected,
    Unreachable,
)
from gateway.outbound import CLOSED_SECONDS, Delivery
from gateway.text import utf16_units
from tests.servers.doors import CHAT, Shop, entry
from worker.messages import Address, ApprovalCard, FileOut, Notice, OutboxEntry, Progress

pytestmark = pytest.mark.anyio
CONVERSATION = "0123456789abcdef"
LIMITS = Capabilities(max_text=4096, measure=utf16_units, edit_seconds=1.5, file_bytes=1000)


@dataclass
class Platform:
    """A platform that keeps what it is sent. `errors` are what its next calls raise, in order; None lets one pass."""

    errors: list[DeliveryError | None] = field(default_factory=list)
    chat: list[str] = field(default_factory=list)
    edits: list[tuple[str, str]] = field(default_factory=list)
    files: list[tuple[str, bytes]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "telegram"
    capabilities: Capabilities = LIMITS

    async def check(self) -> str:
        return self.name

    async def run(self, listener: Listener) -> None:
        await asyncio.Event().wait()

    async def send(self, address: Address, message: Outgoing) -> str:
        self._may_fail()
        self.chat.append(message.text.text)
        self.changed.set()
        return str(len(self.chat))

    async def edit(self, address: Address, message_id: str, message: Outgoing) -> None:
        self._may_fail()
        self.edits.append((message_id, message.text.text))
        self.changed.set()

    async def send_file(self, address: Address, name: str, data: bytes) -> str:
        self._may_fail()
        self.files.append((name, data))
        self.changed.set()
        return f"f{len(self.files)}"

    def _may_fail(self) -> None:
        error = self.errors.pop(0) if self.errors else None
        self.changed.set()
        if error:
            raise error

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


@dataclass
class Pauses:
    """Pauses that are over at once, and how long they would have been."""

    seconds: list[float] = field(default_factory=list)
    now: float = 1000.0

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@asynccontextmanager
async def delivering(shop: Shop, platform: Platform, pauses: Pauses) -> AsyncIterator[None]:
    delivery = Delivery(outbox=shop.doors.outbox, adapter=platform, pause=pauses, monotonic=lambda: pauses.now)
    running = asyncio.create_task(delivery.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait({running})


def progress(step: int) -> OutboxEntry:
    content = Progress(task_id="t", state="working", step=step, started_at=datetime(2026, 1, 1, tzinfo=UTC))
    return OutboxEntry(
        entry_id="p", slot="p", conversation_id=CONVERSATION, address=CHAT, language="en", content=content
    )


def answer(name: str, text: str) -> OutboxEntry:
    return entry(CONVERSATION, name, text)


@pytest.mark.requirement("telegram.progress", "outbox.coalesce")
async def test_edits_keep_the_platforms_pace(shop: Shop) -> None:
    platform, pauses = Platform(), Pauses()
    async with delivering(shop, platform, pauses):
        await shop.doors.outbox.post(progress(1))
        await platform.until(lambda: bool(platform.chat))
        await shop.doors.outbox.post(progress(2))
        await platform.until(lambda: bool(platform.edits))
    assert pauses.seconds == [1.5]
    assert [message_id for message_id, _ in platform.edits] == ["1"]


@pytest.mark.requirement("outbox.order")
async def test_what_waits_behind_a_live_message_does_not_wait_for_its_pace(shop: Shop) -> None:
    platform, pauses = Platform(), Pauses()
    await shop.doors.outbox.post(progress(1))
    await shop.doors.outbox.post(answer("a", "done"))
    async with delivering(shop, platform, pauses):
        await platform.until(lambda: len(platform.chat) == 2)
    assert pauses.seconds == []
    assert platform.chat[1].startswith("done")


@pytest.mark.requirement("outbox.duplicate-mark")
async def test_only_a_send_that_may_have_arrived_is_marked_when_it_is_repeated(shop: Shop) -> None:
    platform = Platform(errors=[Unreachable("no route"), None, OutcomeUnknown("no answer"), None])
    await shop.doors.outbox.post(answer("a", "first"))
    await shop.doors.outbox.post(answer("b", "second"))
    async with delivering(shop, platform, Pauses()):
        await platform.until(lambda: len(platform.chat) == 2)
    assert platform.chat[0].startswith("first")
    assert platform.chat[1].startswith("(may be a duplicate)\nsecond")


@pytest.mark.requirement("outbox.duplicate-mark")
async def test_a_file_that_may_have_arrived_is_marked_too(shop: Shop) -> None:
    blob = await shop.doors.outbox.keep_blob(CONVERSATION, b"data")
    content = FileOut(name="a.txt", size=4, blob=blob)
    await shop.doors.outbox.post(
        OutboxEntry(entry_id="f", conversation_id=CONVERSATION, address=CHAT, language="en", content=content)
    )
    platform = Platform(errors=[OutcomeUnknown("no answer")])
    async with delivering(shop, platform, Pauses()):
        await platform.until(lambda: bool(platform.files))
    assert platform.chat == ["(may be a duplicate)"]
    assert platform.files == [("a.txt", b"data")]


@pytest.mark.requirement("outbox.duplicate-mark", "telegram.split")
async def test_the_mark_fits_into_a_part_that_is_as_long_as_a_part_can_be(shop: Shop) -> None:
    platform = Platform(errors=[OutcomeUnknown("no answer")])
    await shop.doors.outbox.post(answer("a", "长" * 9000))
    async with delivering(shop, platform, Pauses()):
        await platform.until(lambda: len(platform.chat) == 3)
    assert platform.chat[0].startswith("(may be a duplicate)")
    assert all(utf16_units(text) <= 4096 for text in platform.chat)
    assert sum(text.count("长") for text in platform.chat) == 9000


@pytest.mark.requirement("outbox.refused")
async def test_a_refused_part_is_tried_plainer_and_does_not_take_the_others_along(shop: Shop) -> None:
    platform = Platform(errors=[None, Rejected("ugly"), Rejected("still ugly"), None])
    await shop.doors.outbox.post(answer("a", "长" * 9000))
    async with delivering(shop, platform, Pauses()):
        await platform.until(lambda: len(platform.chat) == 2)
        await platform.until(lambda: not platform.errors)
    assert await shop.doors.outbox.first(CONVERSATION) is None
    (dead,) = await shop.doors.store.items(f"paigate:{{{CONVERSATION}}}:dead")
    assert "still ugly" in dead


@pytest.mark.requirement("approval.whole")
async def test_a_card_whose_whole_detail_cannot_be_sent_says_that_it_is_not_whole(shop: Shop) -> None:
    card = ApprovalCard(
        approval_id="0123456789abcdefAAAA",
        tool="edit_file",
        risk="write",
        title="a.py",
        detail="+" + "字" * 9000,
        detail_kind="diff",
        expires_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    await shop.doors.outbox.post(
        OutboxEntry(entry_id="c", slot="c", conversation_id=CONVERSATION, address=CHAT, language="en", content=card)
    )
    platform = Platform(errors=[Rejected("no files here")])
    async with delivering(shop, platform, Pauses()):
        await platform.until(lambda: bool(platform.chat))
    assert "Not all of this can be shown" in platform.chat[0]
    assert "file above" not in platform.chat[0]


@pytest.mark.requirement("outbox.order")
async def test_an_answer_waits_for_a_person_who_blocked_the_bot(shop: Shop) -> None:
    platform = Platform(errors=[ChatClosed("blocked")])
    await shop.doors.outbox.post(answer("a", "kept"))
    pauses = Pauses()
    async with delivering(shop, platform, pauses):
        await platform.until(lambda: not platform.errors)
        async with asyncio.timeout(10):
            while not pauses.seconds:
                await asyncio.sleep(0)
        await shop.doors.store.delete(f"paigate:penalty:{CHAT.key}")
        await platform.until(lambda: bool(platform.chat))
    assert CLOSED_SECONDS - 5 < pauses.seconds[0] <= CLOSED_SECONDS
    assert platform.chat[0].startswith("kept")


@pytest.mark.requirement("telegram.limits")
async def test_a_penalty_is_waited_out_to_the_second(shop: Shop) -> None:
    platform = Platform(errors=[RateLimited(6775)])
    await shop.doors.outbox.post(answer("a", "after all"))
    pauses = Pauses()
    async with delivering(shop, platform, pauses):
        async with asyncio.timeout(10):
            while not pauses.seconds:
                await asyncio.sleep(0)
        await shop.doors.store.delete(f"paigate:penalty:{CHAT.key}")
        await platform.until(lambda: bool(platform.chat))
    assert 6774 < pauses.seconds[0] <= 6775


async def test_a_notice_that_only_a_newer_worker_knows_is_shown_as_it_is(shop: Shop) -> None:
    content = Notice(key="future.thing", values={"detail": "x"})
    await shop.doors.outbox.post(
        OutboxEntry(entry_id="n", conversation_id=CONVERSATION, address=CHAT, language="en", content=content)
    )
    platform = Platform()
    async with delivering(shop, platform, Pauses()):
        await platform.until(lambda: bool(platform.chat))
    assert platform.chat == ["future.thing x"]
