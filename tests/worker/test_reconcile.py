"""What a crash left is found, and what is well is left alone."""

import signal
import subprocess
from datetime import timedelta

import pytest

from tests.servers.doors import BOB, Shop
from worker.identity import started_at, this_process
from worker.keys import ACTIVE, Keys
from worker.messages import Errand, Notice
from worker.reconcile import LOST_MS, QUIET_MS
from worker.store import milliseconds, utc_now

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("turn.recovers")
async def test_a_message_whose_job_was_lost_gets_another(shop: Shop) -> None:
    conversation = await shop.accept()
    shop.lose_jobs()
    await shop.doors.store.set_fields(Keys(conversation).turn, {"woken": 1})

    await shop.reconciler().run()

    assert len(shop.jobs()) == 1
    await shop.reconciler().run()
    assert len(shop.jobs()) == 1


@pytest.mark.requirement("turn.recovers")
async def test_a_job_that_a_dying_worker_took_out_of_the_queue_is_called_for_again(shop: Shop) -> None:
    conversation = await shop.accept()
    (taken,) = shop.take_jobs()
    await shop.doors.store.set_fields(Keys(conversation).turn, {"woken": 1})

    await shop.reconciler().run()

    (again,) = shop.jobs()
    assert again != taken


async def test_a_record_that_cannot_be_read_does_not_hold_up_the_others(shop: Shop) -> None:
    broken = await shop.accept()
    await shop.doors.store.set_fields(Keys(broken).errands, {"e": "not json"})
    other = await shop.accept(sender=BOB)
    shop.lose_jobs()
    await shop.doors.store.set_fields(Keys(other).turn, {"woken": 1})

    await shop.reconciler().run()
    assert [job for job in shop.jobs() if other in job]


@pytest.mark.requirement("control.file")
async def test_an_errand_whose_job_was_lost_is_called_again_and_at_last_told(shop: Shop) -> None:
    conversation = await shop.accept()
    await shop.doors.control.fetch_file(conversation, "a.txt", "e1")
    shop.lose_jobs()
    old = Errand(path="a.txt", asked_at=utc_now() - timedelta(seconds=10)).model_dump_json()
    await shop.doors.store.set_fields(Keys(conversation).errands, {"e1": old})
    await shop.reconciler().run()
    assert shop.jobs("errands") == ["errand-e1"]

    await shop.reconciler().run()
    assert shop.jobs("errands") == ["errand-e1"]
    shop.lose_jobs()
    older = Errand(path="a.txt", asked_at=utc_now() - timedelta(seconds=100)).model_dump_json()
    await shop.doors.store.set_fields(Keys(conversation).errands, {"e1": older})
    await shop.reconciler().run()
    pending = await shop.doors.outbox.first(conversation)
    assert pending
    assert pending.entry.content == Notice(key="file.failed")
    assert await shop.doors.store.fields(Keys(conversation).errands) == {}


@pytest.mark.requirement("turn.fenced")
async def test_a_living_process_that_lost_its_lease_is_not_overtaken(shop: Shop) -> None:
    conversation = await shop.accept()
    assert await shop.leases.begin(conversation)
    shop.lose_jobs()
    with subprocess.Popen(["/bin/sleep", "60"]) as other:
        holder = f"{this_process().partition('/')[0]}/{other.pid}/{started_at(other.pid)}"
        await shop.doors.store.set_fields(
            Keys(conversation).turn, {"holder": holder, "until": milliseconds(utc_now()) - 1000}
        )
        await shop.reconciler().run()
        assert shop.jobs() == []
        await shop.doors.store.set_fields(Keys(conversation).turn, {"until": 1})
        await shop.reconciler().run()
        assert other.wait(10) == -signal.SIGKILL
    await shop.reconciler().run()
    assert len(shop.jobs()) == 1


@pytest.mark.requirement("turn.recovers")
async def test_a_turn_whose_process_died_is_called_again_at_once(shop: Shop) -> None:
    conversation = await shop.accept()
    assert await shop.leases.begin(conversation)
    shop.lose_jobs()
    await shop.drop_waiting(conversation)
    await shop.reconciler().run()
    assert shop.jobs() == []

    host = (await shop.leases.holder(conversation)).partition("/")[0]
    await shop.doors.store.set_fields(Keys(conversation).turn, {"holder": f"{host}/4194304/1"})
    await shop.reconciler().run()
    assert len(shop.jobs()) == 1


async def test_a_job_that_waits_its_turn_is_left_alone(shop: Shop) -> None:
    conversation = await shop.accept()
    await shop.doors.store.set_fields(Keys(conversation).turn, {"woken": 1})
    before = shop.jobs()
    await shop.reconciler().run()
    assert shop.jobs() == before


async def test_what_was_held_back_by_a_stop_is_not_run_until_the_next_message(shop: Shop) -> None:
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.leases.leave(lease, "hold")
    shop.lose_jobs()
    await shop.reconciler().run()
    assert shop.jobs() == []
    await shop.accept("go on")
    assert len(shop.jobs()) == 1


async def test_a_quiet_conversation_is_taken_off_the_list(shop: Shop) -> None:
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.drop_waiting(conversation)
    await shop.leases.leave(lease)
    await shop.reconciler().run()
    assert await shop.doors.store.redis.zcard(ACTIVE) == 1

    await shop.doors.store.redis.zadd(ACTIVE, {conversation: 1000})
    await shop.reconciler().run()
    assert await shop.doors.store.redis.zcard(ACTIVE) == 0
    assert QUIET_MS > LOST_MS
