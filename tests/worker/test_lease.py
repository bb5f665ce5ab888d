"""One turn at a time, and nothing left behind when it leaves."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from tests.servers.doors import Shop, entry, texts
from tests.servers.valkey import start_valkey
from worker.identity import is_dead, this_process
from worker.keys import Keys
from worker.lease import LEASE_SECONDS, Leases
from worker.outbox import LeaseLost
from worker.store import Store

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("turn.one")
async def test_a_second_process_does_not_get_the_lease(shop: Shop) -> None:
    conversation = await shop.accept()
    await shop.doors.store.set_fields(
        Keys(conversation).turn, {"holder": "other/1/1", "until": 9_999_999_999_999, "fence": 4}
    )

    assert await shop.leases.begin(conversation) is None


@pytest.mark.requirement("turn.fenced")
async def test_a_turn_that_lost_its_lease_can_say_nothing(shop: Shop) -> None:
    conversation = await shop.accept()
    old = await shop.leases.begin(conversation)
    new = await shop.leases.begin(conversation)
    assert old
    assert new
    assert new.fence > old.fence

    with pytest.raises(LeaseLost):
        await shop.doors.outbox.post(entry(conversation, "a", "from the old"), fence=old.fence)
    await shop.doors.outbox.post(entry(conversation, "b", "from the new"), fence=new.fence)
    assert await texts(shop.doors, conversation) == ["from the new"]


@pytest.mark.requirement("turn.fenced")
async def test_a_paused_turn_refuses_to_write_once_its_lease_may_have_run_out(shop: Shop) -> None:
    now = 100.0
    leases = Leases(shop.doors.store, monotonic=lambda: now)
    lease = await leases.begin(await shop.accept())
    assert lease
    now += LEASE_SECONDS - 1
    lease.check()
    now += 2
    with pytest.raises(LeaseLost):
        lease.check()


async def test_the_heartbeat_notices_a_lost_lease_and_a_stop(shop: Shop) -> None:
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    keeper = asyncio.create_task(shop.leases.keep(lease))
    await shop.doors.store.set_fields(Keys(conversation).turn, {"stop": 1})
    await asyncio.wait_for(lease.stop_asked.wait(), 5)
    await shop.leases.begin(conversation)
    await asyncio.wait_for(lease.lost.wait(), 5)
    keeper.cancel()
    with suppress(asyncio.CancelledError):
        await keeper


@pytest.mark.requirement("turn.no-lost-wakeup")
async def test_a_message_that_comes_while_a_turn_is_leaving_keeps_it(shop: Shop) -> None:
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.drop_waiting(conversation)
    shop.lose_jobs()
    await shop.accept("one more")

    assert shop.jobs() == []
    assert await shop.leases.leave(lease) is False
    await shop.drop_waiting(conversation)
    assert await shop.leases.leave(lease) is True
    await shop.accept("and another")
    assert len(shop.jobs()) == 1


@pytest.mark.requirement("turn.no-lost-wakeup")
async def test_of_many_messages_and_turns_at_once_none_is_left_without_a_turn(shop: Shop) -> None:
    taken: list[str] = []

    async def turn(conversation: str) -> None:
        leases = Leases(shop.doors.store)
        lease = await leases.begin(conversation)
        if lease is None:
            return
        while True:
            waiting = await shop.doors.store.items(Keys(conversation).waiting)
            taken.extend(waiting)
            await shop.doors.store.remove(Keys(conversation).waiting, *waiting)
            if await leases.leave(lease):
                return

    conversation = await shop.accept("0")
    for round_number in range(40):
        sends = [shop.accept(f"{round_number}.{number}") for number in range(5)]
        await asyncio.gather(turn(conversation), *sends)
        if await shop.doors.store.items(Keys(conversation).waiting):
            state, epoch, _ = await shop.leases.reconcile(conversation)
            assert (state, epoch > 0) == ("called", True)
        await turn(conversation)

    assert len(taken) == 201
    assert len(set(taken)) == 201


async def test_a_stop_that_comes_while_a_turn_is_leaving_is_not_forgotten(shop: Shop) -> None:
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.drop_waiting(conversation)
    await shop.doors.store.set_fields(Keys(conversation).turn, {"stop": 1})

    assert await shop.leases.leave(lease) is False
    assert await shop.leases.leave(lease, "stopped") is True


def test_a_process_is_dead_when_its_pid_is_gone_or_another_has_it() -> None:
    here = this_process()
    host, pid, started = here.split("/")
    assert not is_dead(here)
    assert is_dead(f"{host}/{pid}/{int(started) - 1}")
    assert is_dead(f"{host}/4194304/1")
    assert not is_dead("another-host/4194304/1")
    assert not is_dead("")


@pytest.mark.requirement("turn.recovers")
async def test_an_orderly_leave_does_not_count_as_a_crash_and_keeps_a_stop(shop: Shop) -> None:
    conversation = await shop.accept()
    for _ in range(5):
        lease = await shop.leases.begin(conversation)
        assert lease
        assert lease.tries == 1
        await shop.leases.leave(lease, "resume")
    await shop.doors.control.stop(conversation)
    lease = await shop.leases.begin(conversation)
    assert lease
    assert lease.stop_asked.is_set()
    await shop.leases.leave(lease, "resume")
    again = await shop.leases.begin(conversation)
    assert again
    assert again.stop_asked.is_set()


async def test_begins_without_a_leave_are_counted(shop: Shop) -> None:
    conversation = await shop.accept()
    leases = [await shop.leases.begin(conversation) for _ in range(4)]
    assert [lease.tries for lease in leases if lease] == [1, 2, 3, 4]


@pytest.mark.requirement("control.stop")
async def test_what_comes_after_a_stop_is_not_held_back_with_what_came_before(shop: Shop) -> None:
    conversation = await shop.accept("before")
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.doors.control.stop(conversation)
    assert await shop.leases.leave(lease, "stopped") is True

    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.doors.control.stop(conversation)
    await shop.accept("after")
    assert await shop.leases.leave(lease, "stopped") is False


async def test_the_heartbeat_outlives_a_restart_of_redis_and_ends_with_the_lease(tmp_path: Path) -> None:
    now = 100.0
    with start_valkey(tmp_path) as valkey:
        store = Store(valkey.url)
        leases = Leases(store, monotonic=lambda: now)
        lease = await leases.begin("0123456789abcdef")
        assert lease
        keeper = asyncio.create_task(leases.keep(lease))
        valkey.kill()
        await asyncio.sleep(0)
        valkey.start()
        now = 110.0
        async with asyncio.timeout(20):
            while lease.renewed < 110.0:
                await asyncio.sleep(0.01)
        lease.check()
        now += LEASE_SECONDS + 1
        async with asyncio.timeout(20):
            await keeper
        assert lease.lost.is_set()
        await store.close()


@pytest.mark.requirement("turn.fenced")
async def test_a_lease_that_ran_out_cannot_be_renewed(shop: Shop) -> None:
    conversation = await shop.accept()
    lease = await shop.leases.begin(conversation)
    assert lease
    await shop.doors.store.set_fields(Keys(conversation).turn, {"until": 1})
    async with asyncio.timeout(5):
        await shop.leases.keep(lease)
    assert lease.lost.is_set()
    with pytest.raises(LeaseLost):
        lease.check()


@pytest.mark.requirement("turn.fenced")
async def test_a_turn_that_was_overtaken_cannot_end_the_others_lease(shop: Shop) -> None:
    conversation = await shop.accept()
    old = await shop.leases.begin(conversation)
    new = await shop.leases.begin(conversation)
    assert old
    assert new
    await shop.leases.leave(old, "hold")
    assert await shop.doors.store.field(Keys(conversation).turn, "running") == "1"
    assert await shop.leases.holder(conversation) == this_process()
