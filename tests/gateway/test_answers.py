"""What taps and typed texts for a card come to, through the real doors."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway.adapter import Said, Tapped, TapReply
from gateway.choices import TYPED_UNITS
from gateway.inbound import Reception
from tests.gateway.test_reception import reception
from tests.servers.doors import ANN, BOB, CHAT, Shop, asked
from worker.decisions import StoredDecision
from worker.keys import Keys
from worker.messages import Address, Approval, ApprovalCard, Notice
from worker.store import utc_now

pytestmark = pytest.mark.anyio
COMMAND = {"tool": "execute_command", "risk": "execute", "title": "ls", "detail": "ls", "detail_kind": "command"}
EDITABLE = {**COMMAND, "editable": {"command": "ls"}}
EDIT = {"editable": {"old_text": "a", "new_text": "b"}}


def said(text: str, message_id: str = "9", **fields: object) -> Said:
    known = {"message_id": message_id, "address": CHAT, "sender": ANN, "sent_at": datetime.now(UTC), "language": "en"}
    return Said(**{**known, "text": text, **fields})


async def tap(desk: Reception, approval: Approval, letter: str, **fields: object) -> TapReply:
    known = {"address": CHAT, "sender": ANN, "value": f"{approval.approval_id}:{letter}", "language": "en"}
    return await desk.tapped(Tapped(**{**known, **fields}))


async def decision(shop: Shop, approval: Approval) -> StoredDecision | None:
    taken = await shop.doors.approvals.taken(approval.conversation_id)
    return taken[0].decision if taken else None


async def card(shop: Shop, approval: Approval) -> ApprovalCard:
    return (await shop.doors.approvals.outcome(approval)).card


async def notices(shop: Shop, conversation: str) -> list[str]:
    """The keys of the notices in an outbox, which is emptied."""
    found: list[str] = []
    while pending := await shop.doors.outbox.first(conversation):
        if isinstance(pending.entry.content, Notice):
            found.append(pending.entry.content.key)
        await shop.doors.outbox.delivered(pending)
    return found


async def waiting(shop: Shop, conversation: str) -> int:
    return len(await shop.doors.store.items(Keys(conversation).waiting))


@pytest.mark.requirement("approval.scopes", "grant.project")
@pytest.mark.parametrize(
    ("letter", "scope", "told"),
    [
        ("o", "once", "Approved once by Ann"),
        ("t", "task", "Approved for this task by Ann"),
        ("p", "project", "Approved in hello until"),
        ("d", "deny", "Denied by Ann"),
    ],
)
async def test_each_button_decides_what_it_says(shop: Shop, letter: str, scope: str, told: str) -> None:
    until = utc_now() + timedelta(days=30)
    approval = await asked(shop, **COMMAND, project="hello", pattern="ls *", grant_until=until)
    reply = await tap(reception(shop, "42"), approval, letter)
    stored = await decision(shop, approval)
    assert told in reply.text
    assert stored
    assert stored.scope == scope
    assert stored.until == (until if scope == "project" else None)


@pytest.mark.requirement("grant.project", "grant.pattern")
@pytest.mark.parametrize(
    ("letter", "fields"),
    [
        ("p", COMMAND),
        ("t", {**COMMAND, "pattern": "x" * 301}),
        ("p", {**COMMAND, "pattern": "x" * 301, "grant_until": datetime(2999, 1, 1, tzinfo=UTC)}),
        ("e", COMMAND),
        ("e", EDIT),
        ("e", {"editable": {"new_text": "b"}}),
        ("e", {**COMMAND, "editable": {"command": "x" * (TYPED_UNITS + 1)}}),
    ],
    ids=[
        "no date",
        "endless pattern",
        "endless pattern in project",
        "not editable",
        "two arguments",
        "no command",
        "too long",
    ],
)
async def test_what_was_not_on_the_card_decides_nothing(shop: Shop, letter: str, fields: dict[str, object]) -> None:
    approval = await asked(shop, **fields)
    reply = await tap(reception(shop, "42"), approval, letter)
    assert reply == TapReply(text="This button is no longer valid. Nothing was decided.", alert=True)
    assert await decision(shop, approval) is None
    assert await shop.doors.approvals.awaited_text(CHAT, ANN) is None


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize(
    ("fields", "edits", "stored", "told"),
    [
        (EDIT, {"new_text": "c"}, {"new_text": "c"}, "Allowed with changes by Ann"),
        (EDIT, {"new_text": ""}, {"new_text": ""}, "Allowed with changes by Ann"),
        (EDIT, {"new_text": "c", "old_text": "a"}, {"new_text": "c"}, "Allowed with changes by Ann"),
        (EDIT, {"new_text": "b"}, None, "Approved once by Ann"),
        (EDITABLE, {"command": "ls\n\tls -l\x00\r\n"}, {"command": "ls\n\tls -l\n"}, "Allowed with changes by Ann"),
    ],
    ids=["one", "emptied", "one of two", "none", "lines"],
)
async def test_changes_that_come_with_the_tap_are_what_is_allowed(
    shop: Shop, fields: dict[str, object], edits: dict[str, str], stored: dict[str, str] | None, told: str
) -> None:
    approval = await asked(shop, **fields)
    reply = await tap(reception(shop, "42"), approval, "e", edits=edits)
    found = await decision(shop, approval)
    assert told in reply.text
    assert found
    assert (found.scope, found.edits) == ("once", stored)
    assert (await card(shop, approval)).edited == (stored is not None)


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize(
    ("letter", "fields", "edits", "told"),
    [
        ("o", EDIT, {"new_text": "c"}, "no longer valid"),
        ("d", EDIT, {"new_text": "c"}, "no longer valid"),
        ("e", EDIT, {"path": "/etc/passwd"}, "no longer valid"),
        ("e", EDITABLE, {"command": " \n\t"}, "Nothing is left to run"),
    ],
    ids=["another button", "no", "another argument", "blank"],
)
async def test_changes_that_cannot_be_decide_nothing(
    shop: Shop, letter: str, fields: dict[str, object], edits: dict[str, str], told: str
) -> None:
    approval = await asked(shop, **fields)
    reply = await tap(reception(shop, "42"), approval, letter, edits=edits)
    assert reply.alert
    assert told in reply.text
    assert await decision(shop, approval) is None


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize("text", ["ls -l", "if true\nthen\n\techo '  a'\nfi"])
async def test_the_message_after_edit_is_the_command_with_all_its_lines(shop: Shop, text: str) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    reply = await tap(desk, approval, "e")
    assert reply == TapReply(text="Write the whole command")
    assert await notices(shop, approval.conversation_id) == ["card.ask_command"]

    await desk.said(said(text))
    found = await decision(shop, approval)
    assert found
    assert (found.scope, found.edits) == ("once", {"command": text})
    assert await notices(shop, approval.conversation_id) == []
    await desk.said(said(text))
    assert await waiting(shop, approval.conversation_id) == 0
    await desk.said(said("the next task", "10"))
    assert await waiting(shop, approval.conversation_id) == 1


@pytest.mark.requirement("approval.edit")
async def test_an_edit_that_is_delivered_again_after_a_crash_is_neither_work_nor_told_off(shop: Shop) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    await tap(desk, approval, "e")
    await desk.said(said("ls -l"))
    await shop.doors.store.delete(f"paigate:handled:{CHAT.key}:9")
    await shop.doors.approvals.await_text("edit", approval.approval_id, CHAT, ANN)
    await notices(shop, approval.conversation_id)
    await desk.said(said("ls -l"))
    assert await notices(shop, approval.conversation_id) == []
    assert await waiting(shop, approval.conversation_id) == 0
    assert await shop.doors.approvals.awaited_text(CHAT, ANN) is None


@pytest.mark.requirement("approval.edit")
async def test_the_same_text_is_an_approval_without_changes(shop: Shop) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    await tap(desk, approval, "e")
    await desk.said(said("ls"))
    assert (await card(shop, approval)).state == "approved"
    assert not (await card(shop, approval)).edited


@pytest.mark.requirement("approval.edit", "approval.edit-message")
@pytest.mark.parametrize(
    ("text", "styled", "key", "awaited"),
    [
        ("echo date", True, "card.edit_styled", True),
        ("x" * (TYPED_UNITS + 1), False, "card.edit_too_long", False),
        (" \n ", False, "message.empty", True),
    ],
    ids=["signs lost", "too long", "empty"],
)
async def test_a_message_that_cannot_be_the_command_is_told_so_and_does_nothing(
    shop: Shop, text: str, styled: bool, key: str, awaited: bool
) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    await tap(desk, approval, "e")
    await desk.said(said(text, styled=styled))
    await desk.said(said(text, styled=styled))
    assert await notices(shop, approval.conversation_id) == ["card.ask_command", key]
    assert await decision(shop, approval) is None
    assert await waiting(shop, approval.conversation_id) == 0
    assert (await shop.doors.approvals.awaited_text(CHAT, ANN) is not None) == awaited


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize("how", ["decided", "expired", "forgotten"])
async def test_an_edit_of_a_card_that_was_decided_meanwhile_is_told_so_and_is_not_work(shop: Shop, how: str) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    await tap(desk, approval, "e")
    if how == "decided":
        await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="deny")
    elif how == "expired":
        await shop.doors.approvals.expire(approval)
    else:
        await shop.doors.store.delete(Keys(approval.conversation_id).approval(approval.approval_id))
    await notices(shop, approval.conversation_id)
    await desk.said(said("rm -r build"))
    pending = await shop.doors.outbox.first(approval.conversation_id)
    assert pending
    assert isinstance(pending.entry.content, Notice)
    assert pending.entry.content.key == "card.edit_unused"
    told = {"decided": "Already decided by Ann", "expired": "Nobody answered in time", "forgotten": "no longer valid"}
    assert told[how] in pending.entry.content.values["outcome"]
    assert await waiting(shop, approval.conversation_id) == 0
    await desk.said(said("now work", "10"))
    assert await waiting(shop, approval.conversation_id) == 1


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize("how", ["once", "deny", "stop", "new"])
async def test_who_decides_otherwise_after_edit_has_their_next_message_taken_as_work(shop: Shop, how: str) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    await tap(desk, approval, "e")
    if how in {"stop", "new"}:
        await desk.said(said(f"/{how}"))
    else:
        await tap(desk, approval, how[0])
    await desk.said(said("something else", "10"))
    status = await shop.doors.control.status(CHAT)
    assert status
    assert await waiting(shop, status.conversation_id) == 1


@pytest.mark.requirement("approval.edit")
async def test_a_look_at_the_status_between_edit_and_its_message_changes_nothing(shop: Shop) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    await tap(desk, approval, "e")
    await desk.said(said("/status"))
    await desk.said(said("ls -l", "10"))
    assert (await card(shop, approval)).edited


@pytest.mark.requirement("approval.edit", "approval.reason")
@pytest.mark.parametrize(("letters", "state"), [("re", "approved"), ("er", "denied")])
async def test_the_button_that_was_tapped_last_tells_what_the_message_is(shop: Shop, letters: str, state: str) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    for letter in letters:
        await tap(desk, approval, letter)
    await desk.said(said("ls -l"))
    assert (await card(shop, approval)).state == state


@pytest.mark.requirement("approval.edit", "approval.foreign")
async def test_an_edit_from_another_chat_or_person_decides_nothing(shop: Shop) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42", "43")
    elsewhere = Address(platform="telegram", chat_id="43")
    assert (await tap(desk, approval, "e", address=elsewhere, sender=BOB)).alert
    assert await shop.doors.approvals.awaited_text(elsewhere, BOB) is None
    foreign = await tap(desk, approval, "e", sender=BOB, edits={"command": "rm -r ."})
    assert "Only the person who asked" in foreign.text
    await tap(desk, approval, "e")
    await desk.said(replace(said("rm -r ."), sender=BOB))
    assert await decision(shop, approval) is None


@pytest.mark.requirement("approval.foreign", "approval.edit")
@pytest.mark.parametrize("letter", ["e", "r"])
async def test_nobody_but_who_asked_is_asked_for_an_edit_or_a_reason(shop: Shop, letter: str) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42", "43")
    reply = await tap(desk, approval, letter, sender=BOB)
    assert reply == TapReply(text="Only the person who asked may decide this. Nothing was decided.", alert=True)
    assert await notices(shop, approval.conversation_id) == []
    await desk.said(said("my next task"))
    await desk.said(said("and mine", "10", sender=BOB))
    assert (await card(shop, approval)).state == "pending"
    assert await waiting(shop, approval.conversation_id) == 2


@pytest.mark.requirement("approval.foreign", "approval.edit", "approval.reason")
@pytest.mark.parametrize(("letter", "state"), [("e", "approved"), ("r", "denied")])
async def test_what_others_say_and_tap_while_a_text_is_awaited_is_theirs_and_the_text_is_still_awaited(
    shop: Shop, letter: str, state: str
) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42", "43")
    await tap(desk, approval, letter)
    for other in "reod":
        assert "Only the person who asked" in (await tap(desk, approval, other, sender=BOB)).text
    await desk.said(said("a task of Bob's", "10", sender=BOB))
    assert await waiting(shop, approval.conversation_id) == 1
    assert (await card(shop, approval)).state == "pending"
    assert "card.edit_unused" not in await notices(shop, approval.conversation_id)

    await desk.said(said("ls -l", "11"))
    decided = await card(shop, approval)
    assert (decided.state, decided.edited_text or decided.reason) == (state, "ls -l")
    assert await waiting(shop, approval.conversation_id) == 1


@pytest.mark.requirement("approval.edit", "approval.once")
async def test_edit_on_a_decided_card_tells_who_decided(shop: Shop) -> None:
    approval, desk = await asked(shop, **EDITABLE), reception(shop, "42")
    await tap(desk, approval, "o")
    for edits in ({}, {"command": "ls -l"}):
        assert "Already decided by Ann" in (await tap(desk, approval, "e", edits=edits)).text
    assert await shop.doors.approvals.awaited_text(CHAT, ANN) is None
