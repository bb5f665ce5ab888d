"""Who gets in, and what a message or a tap comes to, through the real doors."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gateway.access import Access
from gateway.adapter import NotStored, Said, Tapped
from gateway.catalogue import say
from gateway.inbound import Reception
from gateway.voice import Voice
from tests.servers.doors import ANN, BOB, CHAT, Shop, asked
from worker.control import open_doors
from worker.keys import Keys
from worker.messages import Address, Language, Notice

pytestmark = pytest.mark.anyio


def reception(shop: Shop, *allowed: str) -> Reception:
    doors = shop.doors
    return Reception(
        access=Access({"telegram": frozenset(allowed)}),
        inbox=doors.inbox,
        approvals=doors.approvals,
        control=doors.control,
        voice=Voice(doors.control, doors.outbox),
        language="auto",
    )


def said(text: str, message_id: str = "1") -> Said:
    return Said(message_id=message_id, address=CHAT, sender=ANN, text=text, sent_at=datetime.now(UTC), language="en")


def tapped(value: str, **fields: object) -> Tapped:
    return Tapped(**{"address": CHAT, "sender": ANN, "value": value, "language": "en", **fields})


@pytest.mark.requirement("telegram.allow", "telegram.nobody")
@pytest.mark.parametrize("allowed", [(), ("43",)])
async def test_what_a_stranger_says_is_stored_nowhere(shop: Shop, allowed: tuple[str, ...]) -> None:
    await reception(shop, *allowed).said(said("do it"))
    await reception(shop, *allowed).said(said("/help", "2"))
    assert await shop.doors.store.redis.keys("paigate:*") == []


@pytest.mark.requirement("approval.foreign")
async def test_a_tap_of_somebody_who_is_not_served_any_more_decides_nothing(shop: Shop) -> None:
    approval = await asked(shop)
    reply = await reception(shop, "43").tapped(tapped(f"{approval.approval_id}:o"))
    assert "no longer valid" in reply.text
    assert len(await shop.doors.approvals.pending(approval.conversation_id)) == 1


@pytest.mark.requirement("approval.foreign")
async def test_a_reason_cannot_be_asked_for_from_another_chat(shop: Shop) -> None:
    approval = await asked(shop)
    elsewhere = Address(platform="telegram", chat_id="43")
    reply = await reception(shop, "42", "43").tapped(tapped(f"{approval.approval_id}:r", address=elsewhere, sender=BOB))
    assert "no longer valid" in reply.text
    assert await shop.doors.approvals.awaited_text(elsewhere, BOB) is None


@pytest.mark.requirement("approval.reason")
async def test_a_reason_is_only_awaited_for_a_while(shop: Shop) -> None:
    approval = await asked(shop)
    await reception(shop, "42").tapped(tapped(f"{approval.approval_id}:r"))
    awaited = await shop.doors.approvals.awaited_text(CHAT, ANN)
    assert awaited
    assert (awaited.kind, awaited.approval_id) == ("reason", approval.approval_id)
    assert 0 < await shop.doors.store.redis.ttl(f"paigate:awaited:{CHAT.key}:{approval.requester_id}") <= 600


@pytest.mark.requirement("approval.reason")
async def test_asking_for_a_reason_on_a_decided_card_tells_who_decided(shop: Shop) -> None:
    approval = await asked(shop)
    await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="once")
    reply = await reception(shop, "42").tapped(tapped(f"{approval.approval_id}:r"))
    assert "Already decided by Ann" in reply.text


@pytest.mark.requirement("web.card")
@pytest.mark.parametrize(
    ("language", "how"), [("zh", "请点卡片上的按钮来回答。"), ("en", "Tap a button of the card to answer it.")]
)
async def test_a_message_that_waits_behind_a_card_is_told_how_to_answer_it(
    shop: Shop, language: Language, how: str
) -> None:
    approval = await asked(shop)
    await reception(shop, "42").said(replace(said("yes", "9"), language=language))
    keys: list[str] = []
    while pending := await shop.doors.outbox.first(approval.conversation_id):
        if isinstance(pending.entry.content, Notice):
            keys.append(pending.entry.content.key)
        await shop.doors.outbox.delivered(pending)
    assert keys == ["message.parked"]
    assert say("message.parked", language).endswith(how)


@pytest.mark.requirement("control.new")
async def test_a_task_behind_new_is_the_first_of_the_new_conversation(shop: Shop) -> None:
    first = await shop.accept("old")
    await reception(shop, "42").said(said("/new 请修复测试", "9"))
    status = await shop.doors.control.status(CHAT)
    assert status
    assert status.conversation_id != first
    (waiting,) = await shop.doors.store.items(Keys(status.conversation_id).waiting)
    assert "请修复测试" in waiting


@pytest.mark.requirement("control.status")
@pytest.mark.parametrize(("language", "word"), [("zh", "等待中的消息"), ("en", "Messages waiting")])
async def test_a_command_is_answered_in_the_language_of_the_client_with_what_waits(
    shop: Shop, language: str, word: str
) -> None:
    conversation = await shop.accept("a")
    await reception(shop, "42").said(replace(said("/status", "9"), language=language))
    pending = await shop.doors.outbox.first(conversation)
    assert pending
    assert pending.entry.language == language
    assert isinstance(pending.entry.content, Notice)
    assert pending.entry.content.key == "status.with_mode"
    assert word in pending.entry.content.values["standing"]


@pytest.mark.requirement("inbox.stored-first")
async def test_while_redis_is_away_nothing_is_said_to_be_stored(shop: Shop, tmp_path: object) -> None:
    away = Shop(url="", doors=open_doors(f"unix://{tmp_path}/nobody"), leases=shop.leases)
    with pytest.raises(NotStored):
        await reception(away, "42").said(said("do it"))
    with pytest.raises(NotStored):
        await reception(away, "42").tapped(tapped("0123456789abcdefx:o"))
    await away.doors.close()


@pytest.mark.requirement("control.new")
async def test_a_new_that_is_delivered_again_after_a_crash_keeps_its_task(shop: Shop) -> None:
    desk = reception(shop, "42")
    await desk.said(said("/new 列出文件", "9"))
    first = await shop.doors.control.status(CHAT)
    await shop.doors.store.delete(f"paigate:handled:{CHAT.key}:9")
    await desk.said(said("/new 列出文件", "9"))
    second = await shop.doors.control.status(CHAT)

    assert first
    assert second
    assert second.conversation_id == first.conversation_id
    (waiting,) = await shop.doors.store.items(Keys(second.conversation_id).waiting)
    assert "列出文件" in waiting


@pytest.mark.requirement("inbox.dedupe")
async def test_a_stop_that_is_delivered_again_stops_nothing_that_came_after_it(shop: Shop) -> None:
    desk = reception(shop, "42")
    await desk.said(said("/stop", "1"))
    conversation = await shop.accept("work", "2")
    await desk.said(said("/stop", "1"))
    assert await shop.doors.store.field(Keys(conversation).turn, "stop") in {None, "0"}


@pytest.mark.requirement("control.status")
async def test_a_task_that_waits_to_be_taken_up_again_is_not_called_idle(shop: Shop) -> None:
    conversation = await shop.accept("work")
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.drop_waiting(conversation)
    await shop.leases.leave(lease, "resume")
    status = await shop.doors.control.status(CHAT)
    assert status
    assert status.state == "queued"
