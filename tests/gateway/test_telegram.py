"""The Telegram adapter against a strict Bot API server, through python-telegram-bot and real HTTP."""

import asyncio
import json
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import httpx
import pytest
from structlog.testing import capture_logs

from gateway.adapter import (
    AdapterRefused,
    Button,
    ChatClosed,
    NotStored,
    OutcomeUnknown,
    Outgoing,
    RateLimited,
    Rejected,
    Said,
    Tapped,
    TapReply,
    Unreachable,
)
from gateway.adapters import ADAPTERS, load
from gateway.adapters.telegram import CAPABILITIES, TelegramAdapter
from gateway.render import from_markdown
from gateway.text import Builder, Limit, RichText, Span, plain, split
from tests.servers.telegram import TOKEN, TelegramServer, telegram_server
from worker.messages import Address

pytestmark = pytest.mark.anyio
ANN, BEN = 42, 43
ANNS = Address(platform="telegram", chat_id=str(ANN))
SEND, EDIT, ANSWER, UPDATES = "sendMessage", "editMessageText", "answerCallbackQuery", "getUpdates"


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def server():
    with telegram_server() as running:
        running.open_chat(ANN)
        yield running


class Inbox:
    """A listener that keeps what it is told. `broken` is what storing raises meanwhile; a closed gate makes it wait."""

    def __init__(self) -> None:
        self.said_by: list[Said] = []
        self.taps: list[Tapped] = []
        self.reply = TapReply(text="Approved")
        self.broken: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.entered = asyncio.Event()
        self._changed = asyncio.Condition()

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.said_by]

    async def said(self, message: Said) -> None:
        await self._pass()
        self.said_by.append(message)
        await self._tell()

    async def tapped(self, tap: Tapped) -> TapReply:
        await self._pass()
        self.taps.append(tap)
        await self._tell()
        return self.reply

    async def _pass(self) -> None:
        self.entered.set()
        await self.gate.wait()
        if self.broken:
            raise self.broken

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, messages: int = 0, taps: int = 0) -> None:
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(lambda: len(self.said_by) >= messages and len(self.taps) >= taps)


class Waits:
    """Injected pause: it takes no time, and remembers what was asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._waited = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self._waited.set()
        await asyncio.sleep(0)

    async def until(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.seconds) < count:
                self._waited.clear()
                await self._waited.wait()


def adapter_for(server: TelegramServer, allow: set[int] = frozenset({ANN}), **options) -> TelegramAdapter:
    settings = {"token": TOKEN, "base_url": server.url, "allow": frozenset(map(str, allow)), **options}
    return TelegramAdapter(**settings)


@asynccontextmanager
async def running(adapter: TelegramAdapter, inbox: Inbox) -> AsyncIterator[None]:
    task = asyncio.create_task(adapter.run(inbox))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def sender_for(server: TelegramServer) -> AsyncIterator[TelegramAdapter]:
    adapter = adapter_for(server)
    try:
        yield adapter
    finally:
        await adapter.close()


def all_confirmed(server: TelegramServer) -> bool:
    return bool(server.confirmed) and server.pending == 0


# Receiving


@pytest.mark.requirement("telegram.library")
async def test_a_private_text_is_brought_whole_and_through_the_library_only(server):
    inbox = Inbox()
    async with running(adapter_for(server), inbox):
        first = server.send_text(ANN, "change Hello to 你好 🎉\nand run it", name="Ann")
        await inbox.until(messages=1)
        second = server.send_text(ANN, "yes", language="zh-hans", reply_to_message={"message_id": first} | _stub())
        await inbox.until(messages=2)
    said, answered = inbox.said_by
    assert (said.message_id, said.text, said.address) == (str(first), "change Hello to 你好 🎉\nand run it", ANNS)
    assert (said.sender.user_id, said.sender.name, said.language, said.quoted) == (str(ANN), "Ann", "en", "")
    assert said.sent_at.tzinfo is not None
    assert abs((said.sent_at - datetime.now(UTC)).total_seconds()) < 60
    assert (answered.message_id, answered.language, answered.quoted) == (str(second), "zh", str(first))
    assert {call.agent.split(" v")[0] for call in server.calls} == {"python-telegram-bot"}


def _stub() -> dict:
    return {"date": 1, "chat": {"id": ANN, "type": "private"}, "text": "earlier"}


@pytest.mark.parametrize(
    ("code", "language"), [("zh", "zh"), ("zh-TW", "zh"), ("en-GB", "en"), ("de", "en"), (None, None)]
)
async def test_the_language_follows_the_persons_client(server, code, language):
    inbox = Inbox()
    async with running(adapter_for(server), inbox):
        server.send_text(ANN, "hi", language=code)
        await inbox.until(messages=1)
    assert inbox.said_by[0].language == language


async def test_a_topic_is_a_chat_of_its_own_and_answers_stay_in_it(server):
    inbox, adapter = Inbox(), adapter_for(server)
    async with running(adapter, inbox):
        server.send_text(ANN, "here", message_thread_id=7, is_topic_message=True)
        server.send_text(ANN, "a reply, in no topic", message_thread_id=9)
        await inbox.until(messages=2)
        topic, plain_chat = (said.address for said in inbox.said_by)
        await adapter.send(topic, Outgoing(text=plain("there")))
    assert (topic.thread_id, plain_chat.thread_id) == ("7", "")
    assert server.messages(ANN)[0].thread_id == 7


async def test_messages_come_in_order_also_those_sent_while_the_bot_was_down(server):
    for number in range(120):
        server.send_text(ANN, str(number))
    inbox = Inbox()
    async with running(adapter_for(server), inbox):
        await inbox.until(messages=120)
        await server.until(all_confirmed)
    assert inbox.texts == [str(number) for number in range(120)]


async def test_every_delivery_of_a_message_bears_the_same_message_id(server):
    inbox = Inbox()
    async with running(adapter_for(server), inbox):
        message_id = server.send_text(ANN, "once")
        await server.until(all_confirmed)
        server.deliver_again(ANN, message_id, same_update=True)
        server.deliver_again(ANN, message_id, times=2)
        await inbox.until(messages=4)
    assert {said.message_id for said in inbox.said_by} == {str(message_id)}


async def test_an_edited_message_is_ignored(server):
    inbox = Inbox()
    async with running(adapter_for(server), inbox):
        message_id = server.send_text(ANN, "first")
        await inbox.until(messages=1)
        server.edit_text(ANN, message_id, "changed")
        server.send_text(ANN, "second")
        await inbox.until(messages=2)
    assert inbox.texts == ["first", "second"]


@pytest.mark.parametrize(("language", "notice"), [("en", "I can only read text"), ("zh", "我目前只能读文字")])
async def test_a_picture_or_sticker_is_answered_that_only_text_is_read(server, language, notice):
    inbox = Inbox()
    voice = {"file_id": "v", "file_unique_id": "v", "duration": 1}
    async with running(adapter_for(server), inbox):
        server.say(ANN, voice=voice, language=language)
        [told] = await server.until(lambda s: s.messages(ANN))
    assert told.text.startswith(notice)
    assert inbox.said_by == []


async def test_a_caption_is_read_and_an_album_is_told_once_that_its_pictures_are_not(server):
    inbox = Inbox()
    photo = [{"file_id": "p", "file_unique_id": "p", "width": 1, "height": 1}]
    async with running(adapter_for(server), inbox):
        server.say(ANN, photo=photo, caption="what is this?", media_group_id="g")
        server.say(ANN, photo=photo, media_group_id="g")
        server.send_text(ANN, "go on")
        await inbox.until(messages=2)
        await server.until(all_confirmed)
    assert inbox.texts == ["what is this?", "go on"]
    assert len(server.messages(ANN)) == 1


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize(
    ("text", "kinds", "styled"),
    [
        ("plain text", [], False),
        ("see https://example.org /help", [("url", 4, 19), ("bot_command", 24, 5)], False),
        ("echo date", [("code", 5, 4)], True),
        ("a  b  c", [("spoiler", 2, 3)], True),
        ("rm .tmp a.tmp", [("bold", 3, 4), ("bold", 9, 4)], True),
        ("echo `date`", [("pre", 0, 11)], False),
        ("echo \U0001f600", [("code", 0, 7)], False),
        ("echo date", [("italic", 0, 9)], True),
        ("ls -l", [("pre", 0, 2)], True),
    ],
)
@pytest.mark.parametrize("caption", [False, True])
async def test_a_text_that_lost_signs_to_its_styles_is_marked(server, text, kinds, styled, caption):
    inbox = Inbox()
    entities = [{"type": kind, "offset": offset, "length": length} for kind, offset, length in kinds]
    async with running(adapter_for(server), inbox):
        server.say(ANN, **{"caption" if caption else "text": text, f"{'caption_' * caption}entities": entities})
        await inbox.until(messages=1)
    assert (inbox.said_by[0].text, inbox.said_by[0].styled) == (text, styled)


async def test_a_service_message_is_passed_over(server):
    inbox = Inbox()
    async with running(adapter_for(server), inbox):
        server.say(ANN, message_auto_delete_timer_changed={"message_auto_delete_time": 86400})
        server.send_text(ANN, "next")
        await inbox.until(messages=1)
    assert (inbox.texts, server.messages(ANN)) == (["next"], [])


# Who is served


@pytest.mark.requirement("telegram.allow")
async def test_a_stranger_gets_no_answer_at_all_and_is_noted_once(server):
    inbox = Inbox()
    with capture_logs() as logs:
        async with running(adapter_for(server), inbox):
            server.send_text(BEN, "let me in")
            server.send_text(BEN, "please")
            server.say(BEN, voice={"file_id": "v", "file_unique_id": "v", "duration": 1})
            server.send_text(ANN, "mine")
            await inbox.until(messages=1)
            card = await _card(server)
            server.tap(BEN, card, "Deny", chat_id=ANN)
            await server.until(all_confirmed)
    assert (inbox.texts, inbox.taps) == (["mine"], [])
    assert server.messages(BEN) == []
    assert server.called(ANSWER) == []
    assert [log["user_id"] for log in logs if log["event"] == "telegram.stranger_ignored"] == [BEN]


@pytest.mark.requirement("telegram.nobody")
async def test_an_empty_allow_list_serves_nobody(server):
    inbox = Inbox()
    async with running(adapter_for(server, allow=set()), inbox):
        server.send_text(ANN, "hello?")
        await server.until(all_confirmed)
    assert (inbox.said_by, server.messages(ANN)) == ([], [])


@pytest.mark.requirement("telegram.private")
async def test_a_group_is_told_once_and_nothing_said_there_is_taken(server):
    inbox, group = Inbox(), -100777
    async with running(adapter_for(server), inbox):
        for text in ("@paigate_bot do it", "do it!", "/new"):
            server.send_text(ANN, text, chat_id=group)
        server.send_text(BEN, "me too", chat_id=group)
        server.send_text(ANN, "in private")
        await inbox.until(messages=1)
        await server.until(all_confirmed)
    assert inbox.texts == ["in private"]
    assert [message.text for message in server.messages(group)] == [
        "I only work in private chats. Please write to me there."
    ]


# Confirming


@pytest.mark.requirement("telegram.offset", "inbox.stored-first")
async def test_nothing_is_confirmed_before_the_whole_batch_is_stored(server):
    inbox = Inbox()
    inbox.gate.clear()
    server.send_text(ANN, "one")
    server.send_text(ANN, "two")
    async with running(adapter_for(server), inbox):
        await asyncio.wait_for(inbox.entered.wait(), 10)
        assert server.confirmed == []
        assert len(server.called(UPDATES)) == 1
        inbox.gate.set()
        await server.until(all_confirmed)
    assert inbox.texts == ["one", "two"]


@pytest.mark.requirement("telegram.offset")
async def test_what_a_killed_gateway_had_not_stored_comes_again(server):
    first, second = Inbox(), Inbox()
    first.gate.clear()
    server.send_text(ANN, "keep me")
    async with running(adapter_for(server), first):
        await asyncio.wait_for(first.entered.wait(), 10)
    assert (first.said_by, server.pending) == ([], 1)
    async with running(adapter_for(server), second):
        await second.until(messages=1)
        await server.until(all_confirmed)
    assert second.texts == ["keep me"]


@pytest.mark.requirement("telegram.offset")
async def test_an_update_that_cannot_be_stored_is_tried_until_it_is_and_never_skipped(server):
    inbox, waits = Inbox(), Waits()
    inbox.broken = NotStored("Redis is away")
    with capture_logs() as logs:
        async with running(adapter_for(server, pause=waits), inbox):
            server.send_text(ANN, "one")
            server.send_text(ANN, "two")
            await waits.until(7)
            assert server.confirmed == []
            inbox.broken = None
            await inbox.until(messages=2)
            await server.until(all_confirmed)
    assert inbox.texts == ["one", "two"]
    assert waits.seconds[:7] == [1, 2, 4, 8, 16, 30, 30]
    assert "telegram.not_stored" in {log["event"] for log in logs}


async def test_an_update_that_breaks_us_each_time_is_given_up_and_its_sender_is_told(server):
    inbox = Inbox()
    inbox.broken = ValueError("a fault of ours")
    with capture_logs() as logs:
        async with running(adapter_for(server, pause=Waits()), inbox):
            server.send_text(ANN, "one")
            await server.until(lambda telegram: telegram.messages(ANN))
            inbox.broken = None
            server.send_text(ANN, "two")
            await inbox.until(messages=1)
    assert inbox.texts == ["two"]
    assert "send it again" in server.messages(ANN)[0].text
    assert [log["tries"] for log in logs if log["event"] == "telegram.update_broke"] == [1, 2, 3]


# Taps


async def _card(server: TelegramServer, adapter: TelegramAdapter | None = None) -> int:
    buttons = (
        (Button(label="Once", value="a:Zk93_once", style="good"), Button(label="This task", value="a:Zk93_task")),
        (Button(label="Deny", value="a:" + "d" * 62, style="danger"),),
    )
    sender = adapter or adapter_for(server)
    message_id = await sender.send(ANNS, Outgoing(text=plain("Run it?"), role="card", buttons=buttons))
    if adapter is None:
        await sender.close()
    return int(message_id)


@pytest.mark.requirement("telegram.buttons")
async def test_buttons_are_an_inline_keyboard_whose_data_comes_back_untouched(server):
    inbox, adapter = Inbox(), adapter_for(server)
    async with running(adapter, inbox):
        card = await _card(server, adapter)
        server.tap(ANN, card, "Deny", language="zh")
        await inbox.until(taps=1)
    [tap] = inbox.taps
    assert (tap.value, tap.address, tap.sender.user_id, tap.language) == ("a:" + "d" * 62, ANNS, str(ANN), "zh")
    shown = server.messages(ANN)[0]
    assert [[button["text"] for button in row] for row in shown.markup["inline_keyboard"]] == [
        ["Once", "This task"],
        ["Deny"],
    ]
    assert [button.get("style") for button in shown.buttons] == ["success", None, "danger"]


@pytest.mark.requirement("telegram.buttons")
async def test_callback_data_over_64_bytes_is_refused_and_not_cut(server):
    async with sender_for(server) as sender:
        message = Outgoing(text=plain("?"), buttons=((Button(label="ok", value="汉" * 22),),))
        with pytest.raises(Rejected):
            await sender.send(ANNS, message)
    assert server.messages(ANN) == []


@pytest.mark.requirement("telegram.answer-first")
async def test_a_tap_is_answered_once_with_what_the_listener_says_before_the_next_update(server):
    inbox, adapter = Inbox(), adapter_for(server)
    inbox.reply = TapReply(text="Already denied by Ben at 14:02", alert=True)
    async with running(adapter, inbox):
        card = await _card(server, adapter)
        query = server.tap(ANN, card, "Once")
        answer = await server.until(lambda s: s.queries[query].answer)
        await server.until(all_confirmed)
    assert answer == {"text": "Already denied by Ben at 14:02", "alert": True}
    calls = [call.method for call in server.calls]
    assert calls.count(ANSWER) == 1
    assert calls[calls.index(ANSWER) - 1] == UPDATES


async def test_a_tap_that_is_too_old_to_be_answered_counts_all_the_same(server):
    inbox, adapter = Inbox(), adapter_for(server)
    server.fail_next(ANSWER, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid")
    async with running(adapter, inbox):
        card = await _card(server, adapter)
        server.tap(ANN, card, "Once")
        server.send_text(ANN, "after")
        await inbox.until(messages=1, taps=1)
        await server.until(all_confirmed)


# Sending


async def test_text_styles_are_entities_in_utf16_units(server):
    rich = from_markdown(
        "🎉 **bold 🎉** _it_ ~~no~~ `c` [doc](https://a.example/x) [mail](mailto:a@b.example)\n\n```py\nx = '𝒳'\n```\n> 引用"
    )
    async with sender_for(server) as sender:
        await sender.send(ANNS, Outgoing(text=rich))
    [shown] = server.messages(ANN)
    assert shown.text == rich.text
    assert {kind: shown.styled(kind) for kind in ("bold", "italic", "strikethrough", "code", "pre", "blockquote")} == {
        "bold": ["bold 🎉"],
        "italic": ["it"],
        "strikethrough": ["no"],
        "code": ["c"],
        "pre": ["x = '𝒳'"],
        "blockquote": ["引用"],
    }
    assert [(e["url"], *shown.styled("text_link")) for e in shown.entities if "url" in e] == [
        ("https://a.example/x", "doc")
    ]
    assert [e["language"] for e in shown.entities if "language" in e] == ["py"]


async def test_styles_that_telegram_does_not_take_are_left_out_and_the_text_is_whole(server):
    text = "x " * 150
    spans = [
        Span(0, 1, "link", "javascript:1"),
        Span(2, 3, "link", "http://"),
        *(Span(n * 2, n * 2 + 1, "bold") for n in range(2, 150)),
    ]
    async with sender_for(server) as sender:
        await sender.send(ANNS, Outgoing(text=RichText(text, tuple(spans))))
    [call] = server.called(SEND)
    entities = json.loads(call.parameters["entities"])
    assert call.parameters["text"] == text
    assert "parse_mode" not in call.parameters
    assert len(entities) == 100
    assert {entity["type"] for entity in entities} == {"bold"}


@pytest.mark.requirement("telegram.split")
async def test_a_long_answer_goes_in_parts_of_at_most_4096_units_and_loses_nothing(server):
    words = " ".join(f"**word{number}** 👩‍👩‍👧 `汉字{number}`" for number in range(1500))
    rich = from_markdown(words)
    parts = split(rich, Limit(CAPABILITIES.max_text, CAPABILITIES.measure))
    async with sender_for(server) as sender:
        for part in parts:
            await sender.send(ANNS, Outgoing(text=part))
    shown = server.messages(ANN)
    assert len(shown) > 5
    assert {call.code for call in server.called(SEND)} == {200}
    assert " ".join(message.text for message in shown).split() == rich.text.split()


@pytest.mark.parametrize("text", ["\ud83d alone", "nul \x00 and \x1b[31m", "👍", "\u202eright to left"])
async def test_odd_text_is_sent_and_never_a_crash(server, text):
    async with sender_for(server) as sender:
        await sender.send(ANNS, Outgoing(text=Builder().add(text, "bold").build()))
    assert len(server.messages(ANN)) == 1


async def test_a_message_can_be_silent_and_open_the_reply_field_and_shows_no_link_previews(server):
    async with sender_for(server) as sender:
        await sender.send(ANNS, Outgoing(text=plain("Why?"), reply=True, silent=True))
    [shown], [call] = server.messages(ANN), server.called(SEND)
    assert (shown.silent, shown.markup) == (True, {"force_reply": True})
    assert json.loads(call.parameters["link_preview_options"]) == {"is_disabled": True}


async def test_an_edit_replaces_text_and_buttons_in_place(server):
    async with sender_for(server) as sender:
        message_id = await _card(server, sender)
        await sender.edit(ANNS, str(message_id), Outgoing(text=from_markdown("**Approved** by Ann")))
    [shown] = server.messages(ANN)
    assert (shown.text, shown.history, shown.buttons, shown.styled("bold")) == (
        "Approved by Ann",
        ["Run it?"],
        [],
        ["Approved"],
    )


async def test_an_edit_of_an_equal_or_deleted_message_is_no_error(server):
    async with sender_for(server) as sender:
        message_id = await sender.send(ANNS, Outgoing(text=plain("same")))
        await sender.edit(ANNS, message_id, Outgoing(text=plain("same")))
        await sender.edit(ANNS, "999", Outgoing(text=plain("gone")))
    assert [call.code for call in server.called(EDIT)] == [400, 400]


async def test_a_file_arrives_byte_for_byte_under_its_name(server):
    data = bytes(range(256)) * 300 + b"\r\n--boundary\r\n"
    async with sender_for(server) as sender:
        await sender.send_file(ANNS, "Hello 你好.bin", data)
    [shown] = server.messages(ANN)
    assert shown.file_name == "Hello 你好.bin"
    found = httpx.get(f"{server.url.removesuffix('/bot')}/file/bot{TOKEN}/documents/{shown.file_id}")
    assert found.content == data


async def test_a_file_that_is_too_big_is_refused_without_being_sent(server):
    async with sender_for(server) as sender:
        with pytest.raises(Rejected):
            await sender.send_file(ANNS, "big", bytes(CAPABILITIES.file_bytes + 1))
    assert server.called("sendDocument") == []


# When it does not work


@pytest.mark.requirement("telegram.limits")
async def test_a_429_gives_the_wait_to_the_second(server):
    server.fail_next(SEND, 429, retry_after=6775)
    async with sender_for(server) as sender:
        with pytest.raises(RateLimited) as caught:
            await sender.send(ANNS, Outgoing(text=plain("x")))
    assert caught.value.seconds == 6775


@pytest.mark.parametrize(
    ("code", "description"),
    [
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: can't parse entities"),
    ],
)
async def test_a_definite_refusal_is_told_as_one_with_telegrams_words(server, code, description):
    server.fail_next(SEND, code, description)
    async with sender_for(server) as sender:
        with pytest.raises(Rejected, match="(?i)" + description.split(": ")[1]):
            await sender.send(ANNS, Outgoing(text=plain("x")))


async def test_a_person_who_blocked_the_bot_may_let_it_write_again(server):
    server.fail_next(SEND, 403, "Forbidden: bot was blocked by the user")
    async with sender_for(server) as sender:
        with pytest.raises(ChatClosed, match="blocked"):
            await sender.send(ANNS, Outgoing(text=plain("x")))


async def test_a_request_that_was_cut_off_or_broke_the_server_may_have_been_delivered(server):
    async with sender_for(server) as sender:
        server.drop_next(SEND, done=True)
        with pytest.raises(OutcomeUnknown):
            await sender.send(ANNS, Outgoing(text=plain("x")))
        server.fail_next(SEND, 502, "Bad Gateway")
        with pytest.raises(OutcomeUnknown):
            await sender.send(ANNS, Outgoing(text=plain("y")))
    assert [message.text for message in server.messages(ANN)] == ["x"]


async def test_a_server_that_is_not_there_was_not_reached_and_neither_is_one_after_closing():
    with telegram_server() as server:
        sender = adapter_for(server)
    with pytest.raises(Unreachable):
        await sender.send(ANNS, Outgoing(text=plain("x")))
    await sender.close()
    with pytest.raises(Unreachable):
        await sender.send(ANNS, Outgoing(text=plain("x")))


async def test_a_token_that_was_revoked_leaves_messages_waiting_and_ends_the_receiving(server):
    inbox, adapter = Inbox(), adapter_for(server)
    await adapter.check()
    server.revoke_token()
    with pytest.raises(Unreachable):
        await adapter.send(ANNS, Outgoing(text=plain("x")))
    with pytest.raises(AdapterRefused):
        await asyncio.wait_for(adapter.run(inbox), 10)


@pytest.mark.requirement("bad.token")
@pytest.mark.parametrize("token", ["", "nonsense", "1:x\n", "123456789:AAnot-the-token-of-this-server-000"])
async def test_a_wrong_token_is_refused_at_the_start_with_the_fix_and_without_the_token(server, token):
    adapter = adapter_for(server, token=token)
    with pytest.raises(AdapterRefused) as caught:
        await asyncio.wait_for(adapter.run(Inbox()), 10)
    assert caught.value.name == "telegram"
    assert "PAIGATE_TELEGRAM_TOKEN" in caught.value.fix
    assert "\n" not in str(caught.value)
    assert not token or token not in "".join(traceback.format_exception(caught.value))


async def test_the_start_waits_for_a_server_that_is_not_there_yet():
    server, inbox, waits = TelegramServer(), Inbox(), Waits()
    with server:
        pass
    async with running(adapter_for(server, pause=waits), inbox):
        await waits.until(2)
        with server:
            server.send_text(ANN, "there you are")
            await inbox.until(messages=1)


async def test_polling_goes_on_after_failures_and_obeys_a_429_exactly(server):
    inbox, waits = Inbox(), Waits()
    server.fail_next(UPDATES, 429, retry_after=17)
    server.fail_next(UPDATES, 502, "Bad Gateway")
    server.drop_next(UPDATES)
    async with running(adapter_for(server, pause=waits), inbox):
        server.send_text(ANN, "still there?")
        await inbox.until(messages=1)
    assert waits.seconds == [17, 1, 2]


async def test_a_second_poller_of_the_token_is_named_in_the_log_and_waited_out(server):
    inbox, waits = Inbox(), Waits()
    with capture_logs() as logs:
        async with running(adapter_for(server, pause=waits), inbox):
            await server.until(lambda s: s.polling)
            async with httpx.AsyncClient() as rival:
                await rival.post(f"{server.url}{TOKEN}/getUpdates", json={"timeout": 0})
            await waits.until(1)
            server.send_text(ANN, "mine again")
            await inbox.until(messages=1)
    assert any("another poller" in log.get("reason", "") for log in logs)


async def test_the_token_is_in_no_log_and_no_traceback(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.fail_next(SEND, 400, f"Bad Request: {TOKEN}")
    async with sender_for(server) as sender:
        await sender.check()
        with pytest.raises(Rejected) as caught:
            await sender.send(ANNS, Outgoing(text=plain("x")))
    assert "[token]" in caplog.text
    assert TOKEN not in caplog.text
    assert TOKEN not in "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())


# The registry


def test_each_platform_in_the_registry_is_a_file_and_loads_by_name():
    assert load("telegram") is TelegramAdapter
    for name, path in ADAPTERS.items():
        assert path.startswith(f"gateway.adapters.{name}:")
        assert load(name).name == name


def test_an_unknown_platform_is_answered_with_those_that_there_are():
    with pytest.raises(ValueError, match="telegram, web"):
        load("pigeon")
