"""Fixtures that every suite shares."""

from collections.abc import AsyncIterator, Iterator

import pytest
import redis

from tests.servers.doors import Shop
from tests.servers.valkey import Valkey, start_valkey
from worker.control import open_doors
from worker.lease import Leases


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def session_valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    with start_valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
async def shop(session_valkey: Valkey) -> AsyncIterator[Shop]:
    url = f"{session_valkey.url}?db=0"
    with redis.Redis.from_url(url) as connection:
        connection.flushdb()
    doors = open_doors(url)
    try:
        yield Shop(url=url, doors=doors, leases=Leases(doors.store))
    finally:
        await doors.close()
