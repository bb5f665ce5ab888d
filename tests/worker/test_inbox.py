"""Messages are stored once, and a turn is called for."""

import asyncio
import json

import pytest
import redis

from tests.servers.doors import BOB, Shop
from worker.keys import Keys
from worker.messages import Accepted

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("inbox.dedupe")
async def test_the_same_message_is_stored_once_however_often_it_comes(shop: Shop) -> None:
    conversations = await asyncio.gather(*[shop.accept("hi", "7") for _ in range(5)])

    assert len(set(conversations)) == 1
    assert len(await shop.doors.store.items(Keys(conversations[0]).waiting)) == 1
    assert len(shop.jobs()) == 1


@pytest.mark.requirement("inbox.dedupe")
async def test_a_message_that_comes_again_after_a_new_conversation_began_stays_in_the_old_one(shop: Shop) -> None:
    first = await shop.accept("hi", "7")
    await shop.doors.control.renew(*_place(), "n")
    assert await shop.accept("hi", "7") == first
    assert await shop.accept("hi", "8") != first


@pytest.mark.requirement("turn.ids-only")
async def test_a_job_carries_the_conversation_id_only_as_json(shop: Shop) -> None:
    conversation = await shop.accept("secret text")
    (job,) = shop.jobs()
    with redis.Redis.from_url(shop.url) as connection:
        raw = connection.hgetall(f"rq:job:{job}")
    import zlib

    function, _, arguments, options = json.loads(zlib.decompress(raw[b"data"]))
    assert function == "worker.jobs.run_turn"
    assert arguments == [conversation]
    assert options == {}
    assert b"secret text" not in b"".join(raw.values())


@pytest.mark.requirement("inbox.stored-first")
async def test_taking_messages_out_twice_takes_no_others(shop: Shop) -> None:
    """The library repeats a command whose answer was lost."""
    conversation = await shop.accept("one")
    taken = await shop.doors.store.items(Keys(conversation).waiting)
    await shop.doors.store.remove(Keys(conversation).waiting, *taken)
    await shop.accept("two")
    await shop.doors.store.remove(Keys(conversation).waiting, *taken)

    (left,) = await shop.doors.store.items(Keys(conversation).waiting)
    assert "two" in left


async def test_messages_of_one_chat_wake_one_job_and_people_do_not_share(shop: Shop) -> None:
    ann = await shop.accept("1")
    await shop.accept("2")
    bob = await shop.accept("3", sender=BOB)

    assert ann != bob
    assert len(shop.jobs()) == 2
    assert len(await shop.doors.store.items(Keys(ann).waiting)) == 2


async def test_what_became_of_a_message_is_told(shop: Shop) -> None:
    async def outcome(message_id: str) -> Accepted:
        from datetime import UTC, datetime

        from tests.servers.doors import ANN, CHAT
        from worker.messages import Inbound

        return await shop.doors.inbox.accept(
            Inbound(message_id=message_id, address=CHAT, sender=ANN, text="x", sent_at=datetime.now(UTC), language="en")
        )

    assert (await outcome("1")).outcome == "started"
    assert (await outcome("2")).outcome == "joined"
    assert (await outcome("2")).outcome == "duplicate"
    lease = await shop.leases.begin((await outcome("3")).conversation_id)
    assert lease
    assert (await outcome("4")).outcome == "joined"


def _place() -> tuple[object, object]:
    from tests.servers.doors import ANN, CHAT

    return CHAT, ANN
