"""One turn after another over real state, a real sandbox and a scripted model, with the crashes in between."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.servers.doors import ANN, Shop
from tests.servers.model import ModelServer, calls, text
from worker.build import build_workshop
from worker.keys import Keys
from worker.messages import ApprovalCard, Notice
from worker.settings import WorkerSettings
from worker.turn import MOST_TRIES, run_turn
from worker.workshop import Workshop

pytestmark = pytest.mark.anyio
GREETING = 'def main() -> None:\n    print("Hello PaiCLI")\n\n\nif __name__ == "__main__":\n    main()\n'
EDIT = ("write_file", {"path": "hello.py", "content": GREETING})


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
async def workshop(shop: Shop, model: ModelServer, tmp_path: Path) -> AsyncIterator[Workshop]:
    settings = WorkerSettings(
        data_dir=tmp_path,
        redis_url=shop.url,
        model="compatible:scripted",
        model_base_url=model.base_url,
        model_api_key="k",
    )
    made = build_workshop(settings)
    yield made
    await made.close()


async def crash(shop: Shop, conversation: str) -> None:
    """Leave the turn as a process does that was killed after its last write."""
    await shop.doors.store.set_fields(Keys(conversation).turn, {"running": 1, "holder": "", "until": 0})


async def notices(shop: Shop, conversation: str) -> list[str]:
    """Take everything out of the outbox; returns the keys of what Paigate itself said."""
    found: list[str] = []
    while pending := await shop.doors.outbox.first(conversation):
        if isinstance(pending.entry.content, Notice):
            found.append(pending.entry.content.key)
        await shop.doors.outbox.delivered(pending)
    return found


@pytest.mark.requirement("approval.parks", "turn.recovers")
async def test_a_turn_that_crashed_after_it_asked_asks_the_same_question(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    model.add(calls(EDIT), text("done"))
    conversation = await shop.accept("change it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    await crash(shop, conversation)
    await run_turn(workshop, conversation)
    (again,) = await shop.doors.approvals.pending(conversation)
    assert again.approval_id == asked.approval_id

    await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="once")
    await run_turn(workshop, conversation)
    assert len(model.requests) == 2
    assert await shop.doors.approvals.taken(conversation) == []


@pytest.mark.requirement("turn.recovers")
async def test_a_decision_that_was_taken_up_by_a_turn_that_crashed_is_taken_up_once(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    model.add(calls(EDIT), text("done"))
    conversation = await shop.accept("change it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="once")
    await run_turn(workshop, conversation)
    await shop.doors.store.redis.rpush(Keys(conversation).decided, asked.approval_id)
    await crash(shop, conversation)
    await run_turn(workshop, conversation)

    assert len(model.requests) == 2
    assert await shop.doors.approvals.taken(conversation) == []


@pytest.mark.requirement("turn.recovers")
async def test_a_task_that_breaks_again_and_again_is_given_up_with_one_notice(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    conversation = await shop.accept("do it")
    for _ in range(MOST_TRIES):
        assert await shop.leases.begin(conversation)
    await crash(shop, conversation)
    await run_turn(workshop, conversation)

    assert await notices(shop, conversation) == ["turn.poison"]
    shop.lose_jobs()
    await shop.reconciler().run()
    assert shop.jobs() == []
    assert len(model.requests) == 0
    model.add(text("well again"))
    await shop.accept("and now?")
    await run_turn(workshop, conversation)
    assert len(model.requests) == 1


@pytest.mark.requirement("loop.ledger")
async def test_a_ledger_that_cannot_be_read_is_told_once_and_silences_the_conversation(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    model.add(calls(EDIT))
    conversation = await shop.accept("change it")
    await run_turn(workshop, conversation)
    with (workshop.ledgers / f"{conversation}.jsonl").open("ab") as file:
        file.write(b"garbage\n")
    (asked,) = await shop.doors.approvals.pending(conversation)
    await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="once")
    await run_turn(workshop, conversation)
    shop.lose_jobs()
    for _ in range(3):
        await shop.reconciler().run()

    assert await notices(shop, conversation) == ["turn.ledger_corrupt"]
    assert shop.jobs() == []


@pytest.mark.requirement("inbox.stored-first")
async def test_a_project_that_cannot_be_opened_is_told_and_the_message_is_kept(
    shop: Shop, model: ModelServer, workshop: Workshop, tmp_path: Path
) -> None:
    conversation = await shop.accept("do it")
    about = await workshop.about(conversation)
    directory = tmp_path / "workspaces" / about.person_id
    directory.mkdir(parents=True)
    (directory / "hello").write_text("not a directory")
    await run_turn(workshop, conversation)

    assert await notices(shop, conversation) == ["turn.project_unusable"]
    assert len(await shop.doors.store.items(Keys(conversation).waiting)) == 1
    (directory / "hello").unlink()
    model.add(text("both"))
    await shop.accept("again")
    await run_turn(workshop, conversation)
    users = [m["content"] for m in model.requests[-1].json["messages"] if m["role"] == "user"]
    assert users == ["do it", "again"]


@pytest.mark.requirement("turn.fenced")
async def test_a_turn_that_is_told_to_stop_after_it_lost_its_lease_writes_nothing(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    conversation = await shop.accept("do it")
    about = await workshop.about(conversation)
    lease = await shop.leases.begin(conversation)
    assert lease
    from worker.outbox import LeaseLost
    from worker.turn import Turn

    with workshop.open(conversation, about, lease, ()) as place:
        turn = Turn(workshop, place, lease)
        lease.lost.set()
        lease.stop_asked.set()
        with pytest.raises(LeaseLost):
            await turn.run()
    assert (workshop.ledgers / f"{conversation}.jsonl").read_bytes() == b""
    assert await notices(shop, conversation) == []


@pytest.mark.requirement("control.stop")
async def test_a_stop_between_asking_and_leaving_takes_the_question_back(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    model.add(calls(EDIT))
    conversation = await shop.accept("change it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    lease = await shop.leases.begin(conversation)
    assert lease
    state, _ = await shop.doors.control.stop(conversation)
    assert state == "running"
    await shop.leases.leave(lease, "resume")
    await run_turn(workshop, conversation)

    assert await shop.doors.approvals.pending(conversation) == []
    assert (await shop.doors.approvals.outcome(asked)).card.state == "withdrawn"
    assert await notices(shop, conversation) == ["stop.done"]


@pytest.mark.requirement("approval.once")
async def test_an_outcome_that_a_crash_kept_off_its_card_is_shown_by_the_next_turn(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    model.add(calls(EDIT), text("done"))
    conversation = await shop.accept("change it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="once")
    await notices(shop, conversation)
    await shop.doors.store.delete(Keys(conversation).shown(asked.approval_id))
    await run_turn(workshop, conversation)

    pending = await shop.doors.outbox.first(conversation)
    assert pending
    assert isinstance(pending.entry.content, ApprovalCard)
    assert pending.entry.content.state == "approved"
