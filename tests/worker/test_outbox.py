"""What is to be said keeps its order and is said once."""

import asyncio
import subprocess

import pytest

from tests.servers.doors import Shop, entry, texts
from worker.identity import started_at, this_process
from worker.keys import Keys
from worker.messages import Answer
from worker.outbox import LeaseLost

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("outbox.order")
async def test_entries_come_out_in_the_order_they_were_posted(shop: Shop) -> None:
    for number in range(20):
        await shop.doors.outbox.post(entry("c", f"e{number}", str(number)))
    assert await texts(shop.doors, "c") == [str(number) for number in range(20)]


@pytest.mark.requirement("outbox.receipts")
async def test_an_entry_that_is_posted_again_is_said_once(shop: Shop) -> None:
    await shop.doors.outbox.post(entry("c", "answer", "first"))
    await shop.doors.outbox.post(entry("c", "answer", "again"))
    assert await texts(shop.doors, "c") == ["first"]
    await shop.doors.outbox.post(entry("c", "answer", "long after"))
    assert await texts(shop.doors, "c") == []


@pytest.mark.requirement("outbox.coalesce")
async def test_a_newer_state_replaces_a_waiting_one_and_keeps_its_place(shop: Shop) -> None:
    await shop.doors.outbox.post(entry("c", "p", "old state", slot="p"))
    await shop.doors.outbox.post(entry("c", "a", "answer"))
    await shop.doors.outbox.post(entry("c", "p", "new state", slot="p"))
    assert await texts(shop.doors, "c") == ["new state", "answer"]
    await shop.doors.outbox.post(entry("c", "p", "later state", slot="p"))
    assert await texts(shop.doors, "c") == ["later state"]


async def test_a_state_that_changed_while_it_was_being_sent_is_sent_again(shop: Shop) -> None:
    await shop.doors.outbox.post(entry("c", "p", "old", slot="p"))
    pending = await shop.doors.outbox.first("c")
    assert pending
    await shop.doors.outbox.post(entry("c", "p", "new", slot="p"))
    assert await shop.doors.outbox.delivered(pending) is False
    assert await texts(shop.doors, "c") == ["new"]


@pytest.mark.requirement("outbox.duplicate-mark")
async def test_a_send_that_was_begun_and_never_ended_is_remembered(shop: Shop) -> None:
    outbox, one = shop.doors.outbox, entry("c", "a")
    assert not await outbox.was_attempted(one, 0)
    await outbox.begin(one, 0)
    assert await outbox.was_attempted(one, 0)
    await outbox.withdraw(one, 0)
    assert not await outbox.was_attempted(one, 0)
    await outbox.begin(one, 0)
    await outbox.record(one, 0, "77")
    assert not await outbox.was_attempted(one, 0)
    assert await outbox.receipt(one, 0) == "77"


async def test_whoever_listens_is_told_of_news(shop: Shop) -> None:
    async with shop.doors.outbox.told("telegram") as told:
        waiting = asyncio.create_task(told(5))
        await shop.doors.outbox.post(entry("c", "a"))
        assert await waiting in {"c", None}
    assert await shop.doors.outbox.ready("telegram") == {"c"}
    await texts(shop.doors, "c")
    await shop.doors.outbox.settle("telegram", "c")
    assert await shop.doors.outbox.ready("telegram") == set()


async def test_settling_does_not_forget_what_came_meanwhile(shop: Shop) -> None:
    await shop.doors.outbox.post(entry("c", "a"))
    await shop.doors.outbox.settle("telegram", "c")
    assert await shop.doors.outbox.ready("telegram") == {"c"}


async def test_a_penalty_is_kept_until_it_is_over(shop: Shop) -> None:
    await shop.doors.outbox.penalise("telegram:42:", 30)
    assert 29 < await shop.doors.outbox.penalty("telegram:42:") <= 30
    assert await shop.doors.outbox.penalty("telegram:43:") == 0


async def test_a_file_comes_back_byte_for_byte(shop: Shop) -> None:
    data = bytes(range(256)) * 10
    blob = await shop.doors.outbox.keep_blob("c", data)
    assert await shop.doors.outbox.blob("c", blob) == data
    assert await shop.doors.outbox.blob("c", "gone") is None


async def test_what_a_platform_refuses_is_kept_aside_with_the_reason(shop: Shop) -> None:
    await shop.doors.outbox.post(entry("c", "a", "bad"))
    await shop.doors.outbox.post(entry("c", "b", "good"))
    pending = await shop.doors.outbox.first("c")
    assert pending
    assert isinstance(pending.entry.content, Answer)
    await shop.doors.outbox.delivered(pending, refusal="too ugly")
    assert await texts(shop.doors, "c") == ["good"]
    assert "too ugly" in (await shop.doors.store.items("paigate:{c}:dead"))[0]


@pytest.mark.requirement("turn.fenced")
async def test_a_turn_whose_lease_ran_out_may_say_nothing_although_nobody_took_over(shop: Shop) -> None:
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.doors.store.set_fields(Keys(conversation).turn, {"until": 1})
    with pytest.raises(LeaseLost):
        await shop.doors.outbox.post(entry(conversation, "a"), fence=lease.fence)


@pytest.mark.requirement("outbox.receipts")
async def test_only_one_living_process_delivers_on_a_platform(shop: Shop) -> None:
    key = "paigate:deliverer:telegram"
    assert await shop.doors.outbox.claim("telegram")
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        host = this_process().partition("/")[0]
        await shop.doors.store.set(key, f"{host}/{other.pid}/{started_at(other.pid)}", seconds=10)
        assert not await shop.doors.outbox.claim("telegram")
        await shop.doors.store.set(key, f"another-host/{other.pid}/1", seconds=10)
        assert not await shop.doors.outbox.claim("telegram")
        await shop.doors.store.set(key, f"{host}/{other.pid}/{started_at(other.pid)}", seconds=10)
        other.kill()
        other.wait(10)
        assert await shop.doors.outbox.claim("telegram")
