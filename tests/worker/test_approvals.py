"""A question is decided once, by the one who was asked, in time; or it counts as a no."""

import asyncio

import pytest

from tests.servers.doors import ANN, BOB, CHAT, Shop, asked
from worker.approvals import new_approval_id
from worker.keys import Keys
from worker.messages import ApprovalCard, Decided
from worker.outbox import LeaseLost

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("approval.once")
async def test_of_many_taps_at_once_one_decides(shop: Shop) -> None:
    approval = await asked(shop)
    outcomes = await asyncio.gather(
        *[
            shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope=scope)
            for scope in ("once", "deny", "task", "deny", "once")
        ]
    )

    assert sorted(item.outcome for item in outcomes) == ["already"] * 4 + ["decided"]
    assert len({item.approval.card.scope for item in outcomes if item.approval}) == 1
    assert len(shop.jobs()) == 1
    assert [len(await shop.doors.approvals.taken(approval.conversation_id))] == [1]


@pytest.mark.requirement("approval.foreign")
async def test_somebody_else_and_unknown_ids_decide_nothing(shop: Shop) -> None:
    approval = await asked(shop)
    decide = shop.doors.approvals.decide

    assert (await decide(approval.approval_id, sender=BOB, scope="once")).outcome == "foreign"
    assert (await decide(approval.approval_id[:-1] + "!", sender=ANN, scope="once")).outcome == "unknown"
    assert (await decide("", sender=ANN, scope="once")).outcome == "unknown"
    assert len(await shop.doors.approvals.pending(approval.conversation_id)) == 1


@pytest.mark.requirement("approval.edit")
@pytest.mark.parametrize(
    ("edits", "shown"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"command": "ls\n\trm\u202e x"}, "ls⟨U+000A⟩⟨U+0009⟩rm⟨U+202E⟩ x"),
        ({"command": ""}, ""),
        ({"old_text": "a", "new_text": "b"}, "old_text: a; new_text: b"),
        ({"command": "x" * 300}, "x" * 300),
        ({"command": "x" * 301}, "x" * 299 + "…"),
        ({"command": "x" * 292 + "\n"}, "x" * 292 + "⟨U+000A⟩"),
        ({"command": "x" * 293 + "\ny"}, "x" * 293 + "…"),
        ({"command": "\u202ex" * 100_000}, "⟨U+202E⟩x" * 33 + "…"),
    ],
    ids=["short", "not to be seen", "emptied", "several", "just", "long", "written out", "cut in a sign", "endless"],
)
async def test_a_card_shows_the_beginning_of_what_a_person_changed(
    shop: Shop, edits: dict[str, str], shown: str
) -> None:
    approval = await asked(shop, editable=dict.fromkeys(edits, "before"))
    decided = await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="once", edits=edits)
    assert decided.approval
    assert decided.approval.card.edited
    assert decided.approval.card.edited_text == shown
    pending = await shop.doors.outbox.first(approval.conversation_id)
    assert pending
    assert pending.entry.content == decided.approval.card


@pytest.mark.requirement("approval.foreign")
async def test_a_text_is_awaited_of_one_person_in_one_chat_and_the_last_wish_counts(shop: Shop) -> None:
    approval = await asked(shop)
    doors, elsewhere = shop.doors.approvals, CHAT.model_copy(update={"thread_id": "7"})
    assert await doors.may_decide(approval, ANN)
    assert not await doors.may_decide(approval, BOB)
    await doors.await_text("edit", approval.approval_id, CHAT, ANN)
    await doors.await_text("reason", approval.approval_id, CHAT, ANN)
    awaited = await doors.awaited_text(CHAT, ANN)
    assert awaited
    assert (awaited.kind, awaited.approval_id) == ("reason", approval.approval_id)
    assert await doors.awaited_text(CHAT, BOB) is None
    assert await doors.awaited_text(elsewhere, ANN) is None
    await doors.text_given(CHAT, BOB)
    assert await doors.awaited_text(CHAT, ANN)
    await doors.text_given(CHAT, ANN)
    assert await doors.awaited_text(CHAT, ANN) is None


@pytest.mark.requirement("approval.once")
async def test_a_question_that_is_asked_again_after_its_answer_stays_answered(shop: Shop) -> None:
    approval = await asked(shop, leave=False)
    await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="once")
    lease = await shop.leases.begin(approval.conversation_id)
    assert lease
    await shop.doors.approvals.ask(approval, fence=lease.fence)

    assert await shop.doors.approvals.pending(approval.conversation_id) == []
    pending = await shop.doors.outbox.first(approval.conversation_id)
    assert pending
    assert isinstance(pending.entry.content, ApprovalCard)
    assert pending.entry.content.state == "approved"


@pytest.mark.requirement("approval.once")
async def test_a_late_tap_puts_a_card_right_whose_outcome_was_never_shown(shop: Shop) -> None:
    approval = await asked(shop)
    await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="once")
    outbox = shop.doors.outbox
    while pending := await outbox.first(approval.conversation_id):
        await outbox.delivered(pending)
    keys = Keys(approval.conversation_id)
    await shop.doors.store.include(keys.pending, approval.approval_id)
    await shop.doors.store.delete(keys.shown(approval.approval_id))  # as a crash before the card was posted

    late = await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="deny")
    assert late.outcome == "already"
    pending = await outbox.first(approval.conversation_id)
    assert pending
    assert isinstance(pending.entry.content, ApprovalCard)
    assert pending.entry.content.state == "approved"
    assert await shop.doors.approvals.pending(approval.conversation_id) == []


@pytest.mark.requirement("approval.expires")
async def test_an_answer_that_comes_too_late_is_a_no_and_says_so(shop: Shop) -> None:
    approval = await asked(shop, hours=-0.001)

    late = await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="once")

    assert late == Decided(outcome="expired", approval=late.approval)
    assert late.approval
    assert late.approval.card.state == "expired"
    (taken,) = await shop.doors.approvals.taken(approval.conversation_id)
    assert taken.decision.scope == "deny"


@pytest.mark.requirement("approval.expires")
async def test_the_reconciler_lets_what_nobody_answered_run_out(shop: Shop) -> None:
    approval = await asked(shop, hours=-0.001)
    await shop.reconciler().run()

    assert await shop.doors.approvals.pending(approval.conversation_id) == []
    assert len(shop.jobs()) == 1
    await shop.reconciler().run()
    assert len(await shop.doors.approvals.taken(approval.conversation_id)) == 1


@pytest.mark.requirement("turn.fenced")
async def test_a_turn_that_lost_its_lease_cannot_ask(shop: Shop) -> None:
    approval = await asked(shop)
    old = await shop.leases.begin(approval.conversation_id)
    assert old
    assert await shop.leases.begin(approval.conversation_id)
    with pytest.raises(LeaseLost):
        await shop.doors.approvals.ask(approval, fence=old.fence)


@pytest.mark.requirement("approval.parks")
async def test_a_message_while_a_question_is_open_waits_without_a_job(shop: Shop) -> None:
    approval = await asked(shop)
    assert await shop.accept("meanwhile") == approval.conversation_id
    await shop.reconciler().run()
    assert shop.jobs() == []

    await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="deny")
    assert len(shop.jobs()) == 1


async def test_a_decision_made_before_the_asking_turn_has_left_keeps_it(shop: Shop) -> None:
    conversation = await shop.accept()
    approval = await asked(shop, leave=False)
    assert approval.conversation_id == conversation
    await shop.doors.approvals.decide(approval.approval_id, sender=ANN, scope="once")
    assert shop.jobs() == []
    lease = await shop.leases.begin(conversation)
    assert lease
    assert await shop.leases.leave(lease) is False


def test_an_approval_id_fits_a_button_and_is_never_the_same() -> None:
    ids = {new_approval_id("0123456789abcdef") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(len(f"{name}:r".encode()) <= 64 for name in ids)
