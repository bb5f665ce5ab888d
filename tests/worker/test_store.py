"""The connection to Redis: a cancelled task ends, and a restarted server is found again."""

import asyncio

import pytest
import redis.exceptions

from tests.servers.doors import Shop
from tests.servers.valkey import start_valkey
from worker.store import Store

pytestmark = pytest.mark.anyio


async def test_a_task_that_is_cancelled_in_the_middle_of_any_command_ends(shop: Shop) -> None:
    async def listen_for_ever(store: Store) -> None:
        async with store.redis.pubsub() as listening:
            await listening.subscribe("news")
            while True:
                await store.touch("c")
                await listening.get_message(ignore_subscribe_messages=True, timeout=0.01)

    for turns in range(120):
        store = Store(shop.url)
        task = asyncio.create_task(listen_for_ever(store))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=5)
        await store.close()
        assert done, f"cancelled after {turns} turns of the loop, and it went on"


@pytest.mark.requirement("approval.survives")
async def test_a_restarted_server_is_found_again_with_all_it_acknowledged(tmp_path: object) -> None:
    from pathlib import Path

    with start_valkey(Path(str(tmp_path))) as valkey:
        store = Store(valkey.url)
        await store.keep_first("a", "1")
        valkey.kill()
        waiting = asyncio.create_task(store.keep_first("b", "2"))
        valkey.start()
        assert await waiting == "2"
        assert await store.text("a") == "1"
        await store.close()


async def test_a_server_that_stays_away_is_an_error_and_not_a_hang(tmp_path: object) -> None:
    store = Store(f"unix://{tmp_path}/nobody")
    with pytest.raises(redis.exceptions.ConnectionError):
        await asyncio.wait_for(store.text("a"), 20)
    await store.close()
