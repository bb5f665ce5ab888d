"""The main job over Telegram, with every process real."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.model import ModelServer, calls, text
from tests.servers.product import Product, running_product
from tests.servers.telegram import TOKEN, Shown, TelegramServer

ANN = 42
BOB = 43


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


def card(telegram: TelegramServer, user: int = ANN) -> Shown:
    """The open card of a chat, waited for."""
    return telegram.wait_for(lambda server: next((m for m in server.messages(user) if m.buttons), None))


def said(telegram: TelegramServer, part: str, user: int = ANN) -> Shown:
    """The message that holds `part`, waited for."""
    return telegram.wait_for(lambda server: next((m for m in server.messages(user) if part in m.text), None), 15)


EDIT = ("edit_file", {"path": "hello.py", "old_text": "Hello World", "new_text": "Hello PaiCLI"})


@pytest.mark.requirement("telegram.task", "flow.task", "approval.parks", "turn.ids-only")
def test_a_task_with_two_calls_is_approved_by_a_tap_and_changes_the_file(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(("read_file", {"path": "hello.py"})), calls(EDIT), text("I changed the greeting in **hello.py**."))
    telegram.send_text(ANN, "change Hello World to Hello PaiCLI in hello.py")

    asked = card(telegram)
    assert "hello.py" in asked.text
    assert "+    print(\"Hello PaiCLI\")" in asked.text
    project = product.project("telegram", str(ANN))
    assert "Hello World" in (project / "hello.py").read_text()
    query = telegram.tap(ANN, asked.message_id, "Once")

    report = said(telegram, "I changed the greeting")
    assert "hello.py +1 −1" in report.text
    assert report.styled("bold") == ["hello.py"]
    assert 'print("Hello PaiCLI")' in (project / "hello.py").read_text()
    assert telegram.queries[query].answer is not None
    decided = next(m for m in telegram.messages(ANN) if m.message_id == asked.message_id)
    assert "Approved once by Ann" in decided.text
    assert not decided.buttons
