"""What a crash left is found, and what is well is left alone."""

import pytest

from tests.worker.conftest import Shop
from worker.reconcile import LOST_MS, QUIET_MS
from worker.store import ACTIVE, Keys

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
async def test_a_turn_whose_process_died_is_called_again_at_once(shop: Shop) -> None:
    conversation = await shop.accept()
    assert await shop.leases.begin(conversation)
    shop.lose_jobs()
    await shop.doors.store.drop_head(Keys(conversation).waiting, 1)
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
    await shop.doors.store.drop_head(Keys(conversation).waiting, 1)
    await shop.leases.leave(lease)
    await shop.reconciler().run()
    assert await shop.doors.store.redis.zcard(ACTIVE) == 1

    await shop.doors.store.redis.zadd(ACTIVE, {conversation: 1000})
    await shop.reconciler().run()
    assert await shop.doors.store.redis.zcard(ACTIVE) == 0
    assert QUIET_MS > LOST_MS
