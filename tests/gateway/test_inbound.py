"""What a message is: a command, or work; and what is taken out of it."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.access import Access
from gateway.adapter import Said
from gateway.commands import read_command
from gateway.inbound import clean
from worker.messages import Address, Sender


def said(text: str) -> Said:
    return Said(
        message_id="1",
        address=Address(platform="telegram", chat_id="1"),
        sender=Sender(platform="telegram", user_id="1"),
        text=text,
        sent_at=datetime(2026, 1, 1, tzinfo=UTC),
        language=None,
    )


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("/help", "help", ""),
        ("  /Stop  ", "stop", ""),
        ("/file get a b.py", "file", "get a b.py"),
        ("/start@paigate_bot", "start", ""),
        ("/fly", "fly", ""),
        ("/stop\n马上停", "stop", "马上停"),
        ("/new\u3000列出文件", "new", "列出文件"),
        ("/stop。", "stop", "。"),
        ("／stop", "stop", ""),
        ("/new\tx", "new", "x"),
    ],
)
@pytest.mark.requirement("control.help")
def test_a_slash_and_a_word_are_a_command(text: str, name: str, rest: str) -> None:
    command = read_command(said(text), "en")
    assert command
    assert (command.name, command.rest) == (name, rest)


@pytest.mark.parametrize("text", ["help", "/", "/ help", "/etc/passwd is what?", "// comment", "a /help", "/1"])
def test_anything_else_is_work(text: str) -> None:
    assert read_command(said(text), "en") is None


@given(st.text())
@pytest.mark.requirement("bad.messages")
def test_cleaning_leaves_text_that_can_be_stored_and_changes_nothing_twice(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert "\0" not in cleaned
    assert clean(cleaned) == cleaned


def test_cleaning_keeps_what_people_write() -> None:
    text = "你好\n\t\U0001f468\u200d\U0001f469 é e\u0301 \u202eright-to-left"
    assert clean(text) == text
    assert clean("a\x00b\ud800c\x1b[31m") == "abc[31m"


@pytest.mark.requirement("telegram.nobody", "telegram.allow")
def test_an_empty_list_is_nobody() -> None:
    ann = Sender(platform="telegram", user_id="1")
    assert not Access({}).may_talk(ann)
    assert not Access({"telegram": frozenset()}).may_talk(ann)
    assert not Access({"web": frozenset({"1"})}).may_talk(ann)
    assert Access({"telegram": frozenset({"1"})}).may_talk(ann)
