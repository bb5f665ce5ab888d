"""What a crash of any process leaves: nothing lost, nothing repeated."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.flow.chat import ANN, BOB, EDIT, card, said, shown
from tests.servers.model import Gate, ModelServer, Scripted, calls, held, text
from tests.servers.product import Product, running_product, wait_until
from tests.servers.telegram import TOKEN, TelegramServer

RUN = ("execute_command", {"command": "echo ran >> count; cat count; sleep 4321", "timeout_seconds": 600})


@pytest.mark.requirement("approval.survives")
def test_a_pending_approval_survives_the_death_of_every_process(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(EDIT), text("changed after all"))
    telegram.send_text(ANN, "change it")
    asked = card(telegram)
    with product.redis() as connection:
        wait_until(lambda: not connection.keys("paigate:ready:telegram"), "the card's receipt is on record")
    for part in ("gateway", "worker", "valkey"):
        product.kill(part)
    product.start()

    telegram.tap(ANN, asked.message_id, "Once")
    said(telegram, "changed after all")
    assert "Hello PaiCLI" in (product.project("telegram", str(ANN)) / "hello.py").read_text()
    assert "Approved once by Ann" in shown(telegram, asked.message_id).text
    assert len([m for m in telegram.messages(ANN) if "hello.py" in m.text and "May I" in m.text]) == 1


@pytest.mark.requirement("turn.recovers", "turn.interrupted")
def test_a_command_that_ran_when_the_worker_was_killed_is_not_run_again(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(RUN), text("I will look first."))
    telegram.send_text(ANN, "run it")
    telegram.tap(ANN, card(telegram).message_id, "Once")
    count = product.project("telegram", str(ANN)) / "count"
    wait_until(count.exists, "the command runs")
    product.kill("worker")
    wait_until(lambda: not _running("4321"), "the command died with its worker")
    product.start_part("worker")

    said(telegram, "I will look first.")
    assert count.read_text() == "ran\n"
    results = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "tool"]
    assert "whether it took effect is unknown" in results[0]


@pytest.mark.requirement("setup.stop", "sandbox.tree")
def test_a_worker_that_is_told_to_stop_ends_with_all_its_turns_also_when_redis_is_gone(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(("execute_command", {"command": "sleep 300"})))
    telegram.send_text(ANN, "/mode auto")
    said(telegram, "auto")
    telegram.send_text(ANN, "run it")
    worker = psutil.Process(product.pid("worker"))
    wait_until(lambda: any("sleep" in child.name() for child in worker.children(recursive=True)), "the command runs")
    everyone = [worker, *worker.children(recursive=True)]
    product.kill("valkey")

    worker.terminate()

    gone = wait_until(lambda: not any(p.is_running() and p.status() != "zombie" for p in everyone), "all have ended")
    assert gone


@pytest.mark.requirement("sandbox.tree", "tools.background")
def test_nothing_of_a_worker_outlives_it_not_even_its_background_commands(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(("execute_command", {"command": "sleep 300", "background": True})), text("It runs."))
    telegram.send_text(ANN, "/mode auto")
    said(telegram, "auto")
    telegram.send_text(ANN, "start it")
    said(telegram, "It runs.")
    left = product.children("worker")
    keepers = [pid for pid in _running("keeper.py") if str(product.data_dir) in str(psutil.Process(pid).open_files())]
    assert left
    assert keepers

    os.kill(product.pid("worker"), signal.SIGKILL)

    wait_until(lambda: not any(process.is_running() and process.status() != "zombie" for process in left), "all gone")
    wait_until(lambda: not any(map(psutil.pid_exists, keepers)), "no keeper is left")


@pytest.mark.requirement("turn.recovers")
def test_a_turn_whose_own_process_was_killed_goes_on(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    gate = Gate()
    model.add(held(text("never heard"), gate), text("asked again"))
    telegram.send_text(ANN, "think")
    model.wait_for(1)
    horses = [p for worker in _workers(product) for p in worker.children()]
    assert len(horses) == 1
    horses[0].kill()

    said(telegram, "asked again")
    assert len([m for m in model.requests[-1].json["messages"] if m["role"] == "user"]) == 1
    gate.set()


@pytest.mark.requirement("turn.recovers")
def test_a_turn_does_not_outlive_the_rq_worker_that_watches_it(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    gate = Gate()
    model.add(held(text("never heard"), gate), text("asked again"))
    telegram.send_text(ANN, "think")
    model.wait_for(1)
    ((worker, horse),) = [(worker, p) for worker in _workers(product) for p in worker.children()]
    worker.kill()
    wait_until(lambda: not horse.is_running() or horse.status() == psutil.STATUS_ZOMBIE, "the turn ended with it")

    said(telegram, "asked again")
    gate.set()


@pytest.mark.requirement("turn.recovers")
def test_a_worker_that_is_told_to_stop_leaves_its_turn_for_the_next(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    gate = Gate()
    model.add(held(calls(("list_dir", {"path": "."})), gate), text("finished by the next"))
    telegram.send_text(ANN, "look")
    model.wait_for(1)
    os.kill(product.pid("worker"), signal.SIGTERM)
    gate.set()
    assert product.wait("worker") == 0
    product.start_part("worker")

    said(telegram, "finished by the next")


@pytest.mark.requirement("inbox.stored-first", "telegram.offset")
def test_what_is_sent_while_redis_is_down_is_not_confirmed_and_is_done_later(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(text("here I am"))
    product.kill("valkey")
    telegram.send_text(ANN, "are you there?")
    telegram.wait_for(lambda server: [call for call in server.called("getUpdates") if call.code == 200])
    assert telegram.pending == 1
    product.valkey.start()

    said(telegram, "here I am")
    telegram.wait_for(lambda server: server.pending == 0)
    assert len(model.requests) == 1


@pytest.mark.requirement("inbox.stored-first")
def test_what_is_sent_while_the_gateway_is_down_is_done_when_it_is_back(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(text("back again"))
    product.kill("gateway")
    telegram.send_text(ANN, "anyone?")
    product.start_part("gateway")
    said(telegram, "back again")


@pytest.mark.requirement("telegram.limits", "outbox.order")
def test_a_penalty_is_obeyed_to_the_second_also_by_the_next_gateway(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    telegram.send_text(ANN, "/help")
    said(telegram, "/status")
    telegram.fail_next("sendMessage", 429, retry_after=3)
    telegram.send_text(ANN, "/help")
    refused = telegram.wait_for(lambda server: [c for c in server.called("sendMessage") if c.code == 429])
    with product.redis() as connection:
        wait_until(lambda: connection.keys("paigate:penalty:*"), "the penalty is kept")
    telegram.send_text(ANN, "/status")
    product.kill("gateway")
    product.start_part("gateway")

    said(telegram, "nothing is running")
    assert len(refused) == 1
    assert telegram.early == []
    assert ["/status" in m.text for m in telegram.messages(ANN)] == [True, True, False]


@pytest.mark.requirement("outbox.duplicate-mark", "outbox.receipts")
def test_an_answer_whose_delivery_is_unknown_is_sent_again_with_a_mark(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    telegram.hang_next("sendMessage", done=True)
    telegram.send_text(ANN, "/help")
    telegram.wait_for(lambda server: server.messages(ANN))
    product.kill("gateway")
    product.start_part("gateway")

    telegram.wait_for(lambda server: len(server.messages(ANN)) == 2)
    first, second = telegram.messages(ANN)
    assert second.text == f"(may be a duplicate)\n{first.text}"


@pytest.mark.requirement("outbox.refused")
def test_what_telegram_refuses_is_set_aside_and_the_rest_goes_on(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    telegram.fail_next("sendMessage", 400, "Bad Request: not today", times=2)
    telegram.send_text(ANN, "/help")
    telegram.send_text(ANN, "/status")

    said(telegram, "nothing is running")
    assert len(telegram.messages(ANN)) == 1
    with product.redis() as connection:
        (dead,) = [connection.lrange(key, 0, -1) for key in connection.keys("paigate:*:dead")]
    assert "today" in dead[0]


@pytest.mark.requirement("outbox.receipts")
def test_two_gateways_at_once_say_everything_once(
    product: Product, model: ModelServer, telegram: TelegramServer, tmp_path: Path
) -> None:
    product.start_another_gateway()
    for number in range(5):
        model.add(text(f"answer {number}"))
        telegram.send_text(ANN, f"question {number}")
        said(telegram, f"answer {number}")

    texts = [m.text for m in telegram.messages(ANN) if m.text.startswith("answer")]
    assert len(texts) == 5
    assert len(model.requests) == 5


@pytest.fixture
def crowd(tmp_path: Path, telegram: TelegramServer) -> Iterator[tuple[Product, ModelServer]]:
    """A product for two hundred people whose model always wants to edit."""

    def respond(request: dict) -> Scripted:
        if request["messages"][-1]["content"] == "quick question":
            return text("quick answer")
        return calls(EDIT) if request["messages"][-1]["role"] == "user" else text("done")

    with ModelServer(respond=respond) as model:
        settings = {
            "MODEL": "compatible:scripted",
            "MODEL_BASE_URL": model.base_url,
            "MODEL_API_KEY": "k",
            "TELEGRAM_TOKEN": TOKEN,
            "TELEGRAM_BASE_URL": telegram.url,
            "TELEGRAM_ALLOW": ",".join(map(str, (BOB, *range(1000, 1200)))),
        }
        with running_product(tmp_path, **settings) as product:
            yield product, model


@pytest.mark.requirement("approval.idle")
def test_two_hundred_pending_approvals_keep_no_worker_busy(
    crowd: tuple[Product, ModelServer], telegram: TelegramServer
) -> None:
    product, _model = crowd
    people = range(1000, 1200)
    for person in people:
        telegram.send_text(person, "change it")
    telegram.wait_for(lambda server: all(any(m.buttons for m in server.messages(p)) for p in people), 90)
    wait_until(lambda: not [h for worker in _workers(product) for h in worker.children()], "no turn is running")

    began = time.monotonic()
    telegram.send_text(BOB, "quick question")
    said(telegram, "quick answer", BOB)
    assert time.monotonic() - began < 10
    telegram.tap(1111, card(telegram, 1111).message_id, "Once")
    said(telegram, "done", 1111)
    with product.redis() as connection:
        assert len(connection.keys("paigate:*:pending")) == 199


def _workers(product: Product) -> list[psutil.Process]:
    return [p for p in psutil.Process(product.pid("worker")).children() if "worker" in " ".join(p.cmdline())]


def _running(part: str) -> list[int]:
    return [p.pid for p in psutil.process_iter(["cmdline"]) if part in " ".join(p.info["cmdline"] or [])]
