"""A scripted model and a session's surroundings, for every test of the loop."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.bench import Bench
from tests.servers.model import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def bench(tmp_path: Path, server: ModelServer) -> Bench:
    return Bench(tmp_path, server.base_url)
