"""A product that talks to a scripted model and a local Telegram."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flow.chat import ANN, BOB
from tests.servers.model import ModelServer
from tests.servers.product import Product, running_product
from tests.servers.telegram import TOKEN, TelegramServer


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer() as server:
        yield server


@pytest.fixture
def product(tmp_path: Path, model: ModelServer, telegram: TelegramServer) -> Iterator[Product]:
    settings = {
        "MODEL": "compatible:scripted",
        "MODEL_BASE_URL": model.base_url,
        "MODEL_API_KEY": "key-of-the-model",
        "TELEGRAM_TOKEN": TOKEN,
        "TELEGRAM_BASE_URL": telegram.url,
        "TELEGRAM_ALLOW": f"{ANN},{BOB}",
    }
    with running_product(tmp_path, **settings) as running:
        yield running
