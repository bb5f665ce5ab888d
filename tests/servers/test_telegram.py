"""The local Bot API server is as strict as the real one; a lenient judge would prove nothing."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.servers.telegram import TOKEN, TelegramServer, telegram_server

ANN = 42
TOKEN_OF_ANOTHER = "123456789:AAlocal-Bot_API-server-token-111111"


@pytest.fixture
def clock():
    return [1_800_000_000.0]


@pytest.fixture
def server(clock):
    with telegram_server(clock=lambda: clock[0], upload_bytes=1000) as running:
        running.open_chat(ANN)
        yield running


def ask(server: TelegramServer, method: str, token: str = TOKEN, **parameters) -> tuple[int, dict]:
    answer = httpx.post(f"{server.url}{token}/{method}", json=parameters, timeout=10)
    return answer.status_code, answer.json()


def refused(server: TelegramServer, method: str = "sendMessage", **parameters) -> str:
    code, body = ask(server, method, **{"chat_id": ANN, "text": "x"} | parameters)
    assert (code, body["ok"], body["error_code"]) == (400, False, 400)
    return body["description"]


def keyboard(**button) -> dict:
    return {"inline_keyboard": [[{"text": "Go", "callback_data": "go"} | button]]}


def test_tokens_and_methods_are_checked(server):
    assert ask(server, "getMe")[1]["result"]["username"] == "paigate_bot"
    assert ask(server, "getMe", token=TOKEN_OF_ANOTHER)[0] == 401
    assert ask(server, "getMe", token="12:x")[0] == 404
    assert ask(server, "sendPigeon")[0] == 404


@pytest.mark.parametrize(
    "form",
    [
        {"json": {"chat_id": ANN, "text": "a&b 你"}},
        {"data": {"chat_id": ANN, "text": "a&b 你"}},
        {"files": {"chat_id": (None, "42"), "text": (None, "a&b 你")}},
    ],
)
def test_json_form_and_multipart_bodies_are_understood(server, form):
    assert httpx.post(f"{server.url}{TOKEN}/sendMessage", **form).json()["result"]["text"] == "a&b 你"


def test_text_is_counted_in_utf16_units_and_must_say_something(server):
    assert ask(server, "sendMessage", chat_id=ANN, text="🎉" * 2048)[0] == 200
    assert "too long" in refused(server, text="🎉" * 2048 + "x")
    assert "empty" in refused(server, text=" \n ")
    assert "chat not found" in refused(server, chat_id=7)


@pytest.mark.parametrize(("offset", "length"), [(0, 4), (-1, 1), (0, 0), (2, 1), (1, 1)])
def test_entities_must_lie_in_the_text_and_not_cut_a_character(server, offset, length):
    assert "ENTITY_BOUNDS" in refused(
        server, text="a🎉", entities=[{"type": "bold", "offset": offset, "length": length}]
    )


@pytest.mark.parametrize(
    "button", [{"callback_data": ""}, {"callback_data": "汉" * 22}, {"text": " "}, {"style": "loud"}]
)
def test_buttons_are_checked(server, button):
    refused(server, reply_markup=keyboard(**button))
    assert (
        ask(server, "sendMessage", chat_id=ANN, text="x", reply_markup=json.dumps(keyboard(callback_data="d" * 64)))[0]
        == 200
    )


def test_an_edit_must_change_something_of_a_message_that_is_the_bots(server):
    message_id = ask(server, "sendMessage", chat_id=ANN, text="x", reply_markup=keyboard())[1]["result"]["message_id"]
    assert "not modified" in refused(server, "editMessageText", message_id=message_id, reply_markup=keyboard())
    assert ask(server, "editMessageText", chat_id=ANN, message_id=message_id, text="x")[0] == 200
    assert "not found" in refused(server, "editMessageText", message_id=999)
    assert "can't be edited" in refused(server, "editMessageText", message_id=server.send_text(ANN, "mine"))


def test_a_tap_is_answered_once_and_in_time(server, clock):
    message_id = ask(server, "sendMessage", chat_id=ANN, text="x", reply_markup=keyboard())[1]["result"]["message_id"]
    query = server.tap(ANN, message_id, "Go")
    assert ask(server, "answerCallbackQuery", callback_query_id=query, text="ok")[0] == 200
    assert "too old" in refused(server, "answerCallbackQuery", callback_query_id=query)
    late = server.tap(ANN, message_id, "go")
    clock[0] += 16
    assert "too old" in refused(server, "answerCallbackQuery", callback_query_id=late)
    with pytest.raises(StopIteration):
        server.tap(ANN, message_id, "no such button")


def test_an_offset_confirms_what_is_below_it_and_nothing_else(server):
    for text in "abc":
        server.send_text(ANN, text)
    first = ask(server, "getUpdates", limit=2)[1]["result"]
    again = ask(server, "getUpdates", limit=2)[1]["result"]
    rest = ask(server, "getUpdates", offset=first[1]["update_id"] + 1)[1]["result"]
    assert [update["message"]["text"] for update in first] == ["a", "b"]
    assert again == first
    assert [update["message"]["text"] for update in rest] == ["c"]


def test_of_two_pollers_the_older_one_is_ended_with_409_and_an_update_ends_the_wait(server):
    with ThreadPoolExecutor() as threads:
        older = threads.submit(ask, server, "getUpdates", timeout=10)
        server.wait_for(lambda s: s.polling)
        newer = threads.submit(ask, server, "getUpdates", timeout=10)
        assert older.result(10)[0] == 409
        server.send_text(ANN, "x")
        assert len(newer.result(10)[1]["result"]) == 1


def test_only_the_kinds_of_update_that_were_asked_for_come(server):
    ask(server, "getUpdates", allowed_updates=["message"])
    server.edit_text(ANN, server.send_text(ANN, "a"), "b")
    assert [list(update)[1] for update in ask(server, "getUpdates")[1]["result"]] == ["message"]


def test_after_a_429_the_chat_refuses_everything_until_the_second_it_named(server, clock):
    server.fail_next("sendMessage", 429, retry_after=7)
    code, body = ask(server, "sendMessage", chat_id=ANN, text="x")
    assert (code, body["parameters"]) == (429, {"retry_after": 7})
    clock[0] += 6
    assert ask(server, "sendMessage", chat_id=ANN, text="x")[1]["parameters"] == {"retry_after": 1}
    assert len(server.early) == 1
    clock[0] += 1
    assert ask(server, "sendMessage", chat_id=ANN, text="x")[0] == 200


def test_a_pace_can_be_asked_of_each_chat(server, clock):
    server.pace(1.5)
    assert ask(server, "sendMessage", chat_id=ANN, text="x")[0] == 200
    assert ask(server, "sendMessage", chat_id=ANN, text="y")[1]["parameters"] == {"retry_after": 2}
    clock[0] += 1.5
    assert ask(server, "sendMessage", chat_id=ANN, text="y")[0] == 200


def test_files_have_a_largest_size_and_need_the_token_to_be_fetched(server):
    def send(data: bytes) -> int:
        files = {"document": ("a.txt", data)}
        return httpx.post(f"{server.url}{TOKEN}/sendDocument", data={"chat_id": ANN}, files=files).status_code

    assert [send(b"x" * 1001), send(b""), send(b"x" * 1000)] == [413, 400, 200]
    file_id = server.messages(ANN)[0].file_id
    path = ask(server, "getFile", file_id=file_id)[1]["result"]["file_path"]
    root = server.url.removesuffix("/bot")
    assert httpx.get(f"{root}/file/bot{TOKEN}/{path}").content == b"x" * 1000
    assert httpx.get(f"{root}/file/bot{TOKEN_OF_ANOTHER}/{path}").status_code == 401


def test_a_hanging_call_is_never_answered_and_takes_effect_only_if_told_so(server):
    for done in (False, True):
        server.hang_next("sendMessage", done=done)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}{TOKEN}/sendMessage", json={"chat_id": ANN, "text": str(done)}, timeout=0.3)
    assert [message.text for message in server.messages(ANN)] == ["True"]


def test_what_was_said_outlives_a_restart_at_the_same_address(server):
    address = server.url
    server.send_text(ANN, "x")
    server.stop()
    with pytest.raises(httpx.ConnectError):
        ask(server, "getMe")
    server.start()
    assert (server.url, len(ask(server, "getUpdates")[1]["result"])) == (address, 1)
