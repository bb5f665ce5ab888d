"""The main job over Telegram, with every process real."""

from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.flow.chat import ANN, BOB, EDIT, card, said, shown
from tests.servers.model import Gate, ModelServer, Scripted, calls, held, raw, status, text
from tests.servers.ports import free_port
from tests.servers.product import Product, wait_until
from tests.servers.telegram import TelegramServer


@pytest.mark.requirement("telegram.task", "flow.task", "approval.parks", "turn.ids-only")
def test_a_task_with_two_calls_is_approved_by_a_tap_and_changes_the_file(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(("read_file", {"path": "hello.py"})), calls(EDIT), text("I changed the greeting in **hello.py**."))
    telegram.send_text(ANN, "change Hello World to Hello PaiCLI in hello.py")

    asked = card(telegram)
    assert "hello.py" in asked.text
    assert '+    print("Hello PaiCLI")' in asked.text
    project = product.project("telegram", str(ANN))
    assert "Hello World" in (project / "hello.py").read_text()
    query = telegram.tap(ANN, asked.message_id, "Once")

    report = said(telegram, "I changed the greeting")
    assert "hello.py +1 −1" in report.text
    assert report.styled("bold") == ["hello.py"]
    assert 'print("Hello PaiCLI")' in (project / "hello.py").read_text()
    assert telegram.queries[query].answer is not None
    decided = shown(telegram, asked.message_id)
    assert "Approved once by Ann" in decided.text
    assert not decided.buttons


@pytest.mark.requirement("flow.deny")
def test_a_denied_call_does_not_run_and_the_report_says_so(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(EDIT), text("I did not change it, as you refused."))
    telegram.send_text(ANN, "change it")
    asked = card(telegram)
    telegram.tap(ANN, asked.message_id, "No")

    said(telegram, "as you refused")
    assert "Hello World" in (product.project("telegram", str(ANN)) / "hello.py").read_text()
    assert "Denied by Ann" in shown(telegram, asked.message_id).text


@pytest.mark.requirement("approval.reason")
def test_a_typed_reason_reaches_the_model_word_for_word(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(EDIT), text("I see."))
    telegram.send_text(ANN, "change it")
    asked = card(telegram)
    telegram.tap(ANN, asked.message_id, "No, because…")
    said(telegram, "Your next message is passed on")
    reason = telegram.send_text(ANN, "the tests need the old greeting")
    said(telegram, "I see.")
    telegram.deliver_again(ANN, reason, times=2)
    telegram.wait_for(lambda server: server.pending == 0)

    refusal = model.requests[1].json["messages"][-1]
    assert refusal["role"] == "tool"
    assert refusal["content"].endswith("Their reason: the tests need the old greeting")
    assert "Denied by Ann: the tests need the old greeting" in shown(telegram, asked.message_id).text
    assert len(model.requests) == 2


@pytest.mark.requirement("approval.reason")
def test_what_is_written_after_the_card_was_decided_otherwise_is_work(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(EDIT), text("changed"), text("the next task"))
    telegram.send_text(ANN, "change it")
    asked = card(telegram)
    telegram.tap(ANN, asked.message_id, "No, because…")
    said(telegram, "Your next message is passed on")
    telegram.tap(ANN, asked.message_id, "Once")
    said(telegram, "changed")
    telegram.send_text(ANN, "now something else")

    said(telegram, "the next task")
    assert model.requests[-1].json["messages"][-1]["content"] == "now something else"


@pytest.mark.requirement("control.new")
def test_a_new_conversation_says_what_of_the_old_one_was_not_read(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(EDIT), text("fresh"))
    telegram.send_text(ANN, "change it")
    card(telegram)
    telegram.send_text(ANN, "and this")
    said(telegram, "I have your message")
    telegram.send_text(ANN, "/new")
    said(telegram, "1 waiting message(s) of the old one were not read")
    telegram.send_text(ANN, "hello")
    said(telegram, "fresh")
    assert [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "user"] == ["hello"]


@pytest.mark.requirement("flow.apart")
def test_two_people_at_once_never_see_each_others_files(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    def respond(request: dict) -> object:
        messages = request["messages"]
        user = next(m["content"] for m in messages if m["role"] == "user")
        if messages[-1]["role"] == "user":
            return calls(("write_file", {"path": "mine.txt", "content": user}))
        if messages[-1].get("tool_call_id") and len([m for m in messages if m["role"] == "tool"]) == 1:
            command = "cat mine.txt; ls /; find / -name mine.txt 2>/dev/null; ls -la .."
            return calls(("execute_command", {"command": command}))
        return text("seen: " + messages[-1]["content"].replace("<", "("))

    with ModelServer(respond=respond) as asked:
        product.stop("worker")
        product.start_part("worker", MODEL_BASE_URL=asked.base_url)
        for user, secret in ((ANN, "secret-of-ann"), (BOB, "secret-of-bob")):
            telegram.send_text(user, secret)
        for user in (ANN, BOB):
            first = card(telegram, user)
            telegram.tap(user, first.message_id, "Once")
            telegram.tap(user, card(telegram, user, after=first.message_id).message_id, "Once")
        ann, bob = said(telegram, "seen: ", ANN).text, said(telegram, "seen: ", BOB).text

    assert "secret-of-ann" in ann
    assert "secret-of-bob" in bob
    assert "secret-of-bob" not in ann
    assert "secret-of-ann" not in bob
    assert ann.count("/mine.txt") == 1
    assert product.project("telegram", str(ANN)) != product.project("telegram", str(BOB))


@pytest.mark.requirement("flow.triple", "inbox.dedupe")
def test_the_same_update_delivered_three_times_runs_once(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    gate = Gate()
    model.add(held(text("once only"), gate), text("a second time"))
    message = telegram.send_text(ANN, "do it")
    telegram.deliver_again(ANN, message)
    telegram.deliver_again(ANN, message, same_update=True)
    model.wait_for(1)
    telegram.wait_for(lambda server: server.pending == 0)
    gate.set()
    said(telegram, "once only")
    telegram.deliver_again(ANN, message)
    telegram.wait_for(lambda server: server.pending == 0)
    wait_until(lambda: _idle(product), "the conversation is idle")

    assert len(model.requests) == 1
    assert len([m for m in telegram.messages(ANN) if "once only" in m.text]) == 1


@pytest.mark.requirement("approval.once", "approval.foreign", "telegram.answer-first")
def test_a_second_tap_is_told_who_decided_and_a_forged_one_decides_nothing(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(EDIT), text("done"))
    telegram.send_text(ANN, "change it")
    asked = card(telegram)
    value = asked.buttons[0]["callback_data"]
    telegram.open_chat(BOB)
    telegram.send_text(BOB, "/help")
    bobs = said(telegram, "/status", BOB)
    foreign = telegram.tap_data(BOB, bobs.message_id, value)
    forged = telegram.tap_data(ANN, asked.message_id, value[:-6] + "xxxx:o")
    odd = telegram.tap_data(ANN, asked.message_id, "approve")
    telegram.wait_for(lambda server: all(server.queries[q].answer for q in (foreign, forged, odd)))
    assert shown(telegram, asked.message_id).buttons
    assert "Only the person who asked" in str(telegram.queries[foreign].answer)
    assert "no longer valid" in str(telegram.queries[forged].answer)
    assert "no longer valid" in str(telegram.queries[odd].answer)

    telegram.tap(ANN, asked.message_id, "Once")
    said(telegram, "done")
    late = telegram.tap_data(ANN, asked.message_id, value[:-1] + "d")
    answer = telegram.wait_for(lambda server: server.queries[late].answer)
    assert "Already decided by Ann" in str(answer)
    assert "approved" in str(answer)
    assert "Hello PaiCLI" in (product.project("telegram", str(ANN)) / "hello.py").read_text()


@pytest.mark.requirement("telegram.answer-first")
def test_a_tap_is_answered_while_the_work_it_releases_goes_on(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    gate = Gate()
    model.add(calls(EDIT), held(text("done at last"), gate))
    telegram.send_text(ANN, "change it")
    query = telegram.tap(ANN, card(telegram).message_id, "Once")
    telegram.wait_for(lambda server: server.queries[query].answer)
    model.wait_for(2)
    assert not [m for m in telegram.messages(ANN) if "done at last" in m.text]
    gate.set()
    said(telegram, "done at last")


@pytest.mark.requirement("bad.sandbox", "sandbox.only")
def test_a_sandbox_that_cannot_start_is_told_in_the_chat_with_the_fix(
    product: Product, model: ModelServer, telegram: TelegramServer, tmp_path: Path
) -> None:
    product.stop("worker")
    (tmp_path / "nothing").mkdir()
    product.start_part("worker", path=str(tmp_path / "nothing"))
    model.add(calls(("execute_command", {"command": "touch made"})), text("I could not run it."))
    telegram.send_text(ANN, "run it")
    telegram.tap(ANN, card(telegram).message_id, "Once")

    told = said(telegram, "The sandbox cannot start, so no command was run")
    assert "util-linux" in told.text
    said(telegram, "I could not run it.")
    assert not (product.project("telegram", str(ANN)) / "made").exists()


@pytest.mark.requirement("demo.only-unconfigured")
def test_with_a_model_configured_no_demo_model_runs(product: Product) -> None:
    assert not [p for p in product.children("worker") if "demo" in " ".join(p.cmdline())]


@pytest.mark.requirement("control.stop")
def test_stop_ends_the_command_and_its_processes_and_keeps_what_waits(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(("execute_command", {"command": "setsid sleep 4321 & sleep 4321", "timeout_seconds": 300})))
    telegram.send_text(ANN, "wait for ever")
    telegram.tap(ANN, card(telegram).message_id, "Once")
    wait_until(lambda: _sleepers(product), "the command runs")
    telegram.send_text(ANN, "and then this")
    telegram.send_text(ANN, "/stop")

    stopped = said(telegram, "Stopped.")
    assert "1 message(s) wait" in stopped.text
    assert not _sleepers(product)
    model.add(text("both read"))
    telegram.send_text(ANN, "go on")
    said(telegram, "both read")
    asked = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "user"]
    assert asked == ["wait for ever", "and then this", "go on"]


@pytest.mark.requirement("control.stop")
def test_stop_withdraws_a_question_and_says_that_nothing_runs(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(EDIT))
    telegram.send_text(ANN, "change it")
    asked = card(telegram)
    telegram.send_text(ANN, "/stop")
    said(telegram, "Stopped.")
    assert "Withdrawn, as the task was stopped" in shown(telegram, asked.message_id).text
    assert not shown(telegram, asked.message_id).buttons
    assert len(model.requests) == 1
    telegram.send_text(ANN, "/stop")
    said(telegram, "Nothing is at work.")


@pytest.mark.requirement("approval.whole")
def test_a_command_too_long_for_a_card_comes_whole_as_a_file_before_it(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    command = "echo checking\n" + "# note\n" * 60 + "echo evil > hello.py"
    model.add(calls(("execute_command", {"command": command})), text("ok"))
    telegram.send_text(ANN, "check")
    asked = card(telegram)

    (whole,) = [m for m in telegram.messages(ANN) if m.file_name]
    assert whole.message_id < asked.message_id
    assert telegram.files[whole.file_id][1].decode().rstrip("\n") == command
    assert "… all 62 lines are in the file above" in asked.text
    assert "“For this task” also allows this very command again without asking" in asked.text


@pytest.mark.requirement("turn.recovers")
def test_a_command_that_closes_the_project_directory_does_not_stop_the_next_task(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(calls(("execute_command", {"command": "chmod 0 /project"})), text("closed"))
    telegram.send_text(ANN, "close it")
    telegram.tap(ANN, card(telegram).message_id, "Once")
    said(telegram, "closed")
    model.add(calls(("read_file", {"path": "hello.py"})), text("still here"))
    telegram.send_text(ANN, "read it")
    said(telegram, "still here")
    assert "Hello World" in model.requests[-1].json["messages"][-1]["content"]


@pytest.mark.requirement("control.new", "control.status", "control.help")
def test_commands_are_answered_without_the_model(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    telegram.send_text(ANN, "/status")
    said(telegram, "Nothing has been asked here yet")
    telegram.send_text(ANN, "/help")
    said(telegram, "/file get PATH")
    telegram.send_text(ANN, "/fly to the moon")
    said(telegram, "I do not know the command /fly")
    model.add(calls(EDIT))
    telegram.send_text(ANN, "change it")
    card(telegram)
    telegram.send_text(ANN, "/status")
    said(telegram, "waiting for your answer to: hello.py")
    telegram.send_text(ANN, "/new")
    said(telegram, "The old task is stopped, and a new conversation begins")
    model.add(text("fresh"))
    telegram.send_text(ANN, "hello")
    said(telegram, "fresh")
    asked = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "user"]
    assert asked == ["hello"]
    assert len(model.requests) == 2


@pytest.mark.requirement("control.file")
def test_a_file_of_the_project_is_sent_and_nothing_from_outside(product: Product, telegram: TelegramServer) -> None:
    telegram.send_text(ANN, "/file get hello.py")
    sent = telegram.wait_for(lambda server: next((m for m in server.messages(ANN) if m.file_name), None), 15)
    assert sent.file_name == "hello.py"
    assert b"Hello World" in telegram.files[sent.file_id][1]
    for path in ("../../../web-token", "/etc/passwd"):
        telegram.send_text(ANN, f"/file get {path}")
        said(telegram, f"'{path}'")
    assert len([m for m in telegram.messages(ANN) if m.file_name]) == 1


@pytest.mark.requirement("telegram.progress")
def test_progress_is_one_message_edited_live_and_at_last_one_line(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    gate = Gate()
    model.add(
        calls(("read_file", {"path": "hello.py"})), calls(("list_dir", {"path": "."})), held(text("answer"), gate)
    )
    telegram.send_text(ANN, "look")
    live = said(telegram, "list files")
    gate.set()
    said(telegram, "answer")

    ended = shown(telegram, live.message_id)
    assert ended.text.startswith("✓ Done")
    assert "\n" not in ended.text
    assert len(telegram.messages(ANN)) == 2
    assert len({*ended.history, ended.text}) == len(ended.history) + 1
    assert not [call for call in telegram.calls if call.code == 400]


@pytest.mark.requirement("telegram.split")
def test_a_long_answer_arrives_whole_in_parts_that_telegram_takes(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    sentences = ["".join(f"第{line}句说到{line * number}。" for line in range(40)) for number in range(40)]
    paragraphs = [f"第{number}段 \U0001f600 {sentence}" for number, sentence in enumerate(sentences)]
    model.add(text("\n\n".join(paragraphs)))
    telegram.send_text(ANN, "tell")
    said(telegram, "第39段")
    parts = [m.text for m in telegram.messages(ANN) if "段" in m.text]
    assert len(parts) > 2
    assert all(len(part.encode("utf-16-le")) // 2 <= 4096 for part in parts)
    assert "".join(parts).replace("\n", "").startswith("".join(paragraphs).replace("\n", ""))


@pytest.mark.requirement("model.errors")
def test_a_model_that_refuses_the_key_is_told_with_the_fix_and_nothing_is_lost(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    model.add(status(401))
    telegram.send_text(ANN, "do it")
    told = said(telegram, "PAIGATE_MODEL_API_KEY")
    assert "key-of-the-model" not in told.text
    model.add(text("now it works"))
    telegram.send_text(ANN, "go on")
    said(telegram, "now it works")
    assert [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "user"] == ["do it", "go on"]


@pytest.mark.requirement("model.errors")
@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (raw(b"<html><body>Login</body></html>", content_type="text/html"), "PAIGATE_MODEL_BASE_URL"),
        (raw(b"", content_type="text/event-stream"), "is not an answer"),
        (status(404, b"<html>not here</html>"), "PAIGATE_MODEL"),
        (status(503), "overloaded"),
    ],
    ids=["html", "nothing", "not found", "overloaded"],
)
def test_an_endpoint_that_gives_no_answer_is_told_in_the_chat_and_the_next_message_works(
    product: Product, model: ModelServer, telegram: TelegramServer, reply: Scripted, told: str
) -> None:
    model.add(*[reply] * 3)
    telegram.send_text(ANN, "do it")
    said(telegram, told)
    model.clear()
    model.add(text("now it works"))
    telegram.send_text(ANN, "go on")
    said(telegram, "now it works")


@pytest.mark.requirement("model.errors")
def test_an_endpoint_that_is_not_there_is_told_in_the_chat(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    product.stop("worker")
    product.start_part("worker", MODEL_BASE_URL=f"http://127.0.0.1:{free_port()}/v1")
    telegram.send_text(ANN, "do it")
    assert "Nothing is lost" in said(telegram, "cannot be reached").text


@pytest.mark.requirement("bad.token")
def test_a_wrong_telegram_token_ends_the_gateway_with_one_line_and_the_fix(
    product: Product, telegram: TelegramServer
) -> None:
    product.stop("gateway")
    wrong = "123456:" + "x" * 35
    code, printed = product.run_part("gateway", TELEGRAM_TOKEN=wrong)
    assert code == 78
    (line,) = [line for line in printed.splitlines() if line.startswith("paigate gateway:")]
    assert "PAIGATE_TELEGRAM_TOKEN" in line
    assert "@BotFather" in line
    assert wrong not in printed
    assert "Traceback" not in printed


@pytest.mark.requirement("bad.messages")
def test_odd_messages_are_answered_or_refused_and_the_next_one_works(
    product: Product, model: ModelServer, telegram: TelegramServer
) -> None:
    telegram.send_text(ANN, "x" * 1_000_000)
    said(telegram, "1,000,000 characters")
    telegram.send_text(ANN, "\x00\x01")
    said(telegram, "no text I can read")
    model.add(text("a smile"), text("clean"))
    telegram.send_text(ANN, "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467")
    said(telegram, "a smile")
    telegram.send_text(ANN, "be\x00fore \x07 after")
    said(telegram, "clean")
    assert model.requests[-1].json["messages"][-1]["content"] == "before  after"


def _idle(product: Product) -> bool:
    with product.redis() as connection:
        keys = list(connection.keys("paigate:*:turn"))
        return all(connection.hget(key, "running") == "0" for key in keys)


def _sleepers(product: Product) -> list[int]:
    found: list[int] = []
    for process in product.children("worker"):
        with suppress(psutil.NoSuchProcess):
            if "4321" in " ".join(process.cmdline()):
                found.append(process.pid)
    return found
