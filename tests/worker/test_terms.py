"""What a person set for a conversation or a project reaches its turns: modes, grants, changed calls, limits, models."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.fallback import FallbackModel
from tests.servers.doors import ANN, CHAT, Shop
from tests.servers.model import ModelServer, calls, text
from worker.build import build_workshop
from worker.errands import do_errand
from worker.keys import Keys
from worker.messages import Answer, Mode, Notice
from worker.settings import SettingsError, WorkerSettings
from worker.turn import run_turn
from worker.workshop import Workshop

pytestmark = pytest.mark.anyio
WRITE = ("write_file", {"path": "new.txt", "content": "x\n"})


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
async def workshop(shop: Shop, model: ModelServer, tmp_path: Path) -> AsyncIterator[Workshop]:
    made = build_workshop(settings(shop, tmp_path, model))
    yield made
    await made.close()


def settings(shop: Shop, directory: Path, model: ModelServer, **more: object) -> WorkerSettings:
    given = {"model": "compatible:scripted", "model_base_url": model.base_url, "model_api_key": "k", **more}
    return WorkerSettings(data_dir=directory, redis_url=shop.url, **given)


async def said(shop: Shop, conversation: str) -> list[Answer | Notice]:
    """Take everything out of the outbox; returns the answers and what Paigate itself said."""
    found: list[Answer | Notice] = []
    while pending := await shop.doors.outbox.first(conversation):
        if isinstance(pending.entry.content, Answer | Notice):
            found.append(pending.entry.content)
        await shop.doors.outbox.delivered(pending)
    return found


def told(model: ModelServer) -> list[str]:
    return [message["content"] for message in model.requests[-1].json["messages"] if message["role"] == "tool"]


@pytest.mark.requirement("mode.command", "mode.edits", "mode.plan")
@pytest.mark.parametrize(("mode", "asks", "ran"), [("edits", 0, True), ("ask", 1, False), ("plan", 0, False)])
async def test_a_mode_that_was_set_holds_for_the_next_turn_and_for_this_conversation_only(
    shop: Shop, model: ModelServer, workshop: Workshop, tmp_path: Path, mode: Mode, asks: int, ran: bool
) -> None:
    model.add(calls(WRITE), text("done"))
    conversation = await shop.accept("write it")
    await shop.doors.control.set_mode(conversation, mode)
    await run_turn(workshop, conversation)

    assert len(await shop.doors.approvals.pending(conversation)) == asks
    assert bool(list((tmp_path / "workspaces").rglob("new.txt"))) == ran
    status = await shop.doors.control.status(CHAT)
    assert status is not None
    assert status.mode == mode
    await shop.doors.control.renew(CHAT, ANN, "n")
    renewed = await shop.doors.control.status(CHAT)
    assert renewed is not None
    assert renewed.mode == "ask"


@pytest.mark.requirement("grant.project", "approval.scopes")
async def test_an_answer_for_the_project_holds_in_the_next_conversation_until_its_date(
    shop: Shop, model: ModelServer, workshop: Workshop, tmp_path: Path
) -> None:
    model.add(calls(WRITE), text("done"))
    first = await shop.accept("write it")
    await run_turn(workshop, first)
    (asked,) = await shop.doors.approvals.pending(first)
    until = asked.card.grant_until
    assert until is not None
    assert await workshop.grants.standing(asked.requester_id, asked.card.project, workshop.clock()) == []
    await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="project")
    await run_turn(workshop, first)

    await shop.doors.control.renew(CHAT, ANN, "n")
    model.add(calls(("write_file", {"path": "second.txt", "content": "y"})), text("done"))
    second = await shop.accept("and another")
    await run_turn(workshop, second)
    assert await shop.doors.approvals.pending(second) == []
    assert list((tmp_path / "workspaces").rglob("second.txt"))

    later = replace(workshop, clock=lambda: until + timedelta(seconds=1))
    model.add(calls(("write_file", {"path": "third.txt", "content": "z"})))
    third = await shop.accept("and a third")
    await run_turn(later, third)
    assert len(await shop.doors.approvals.pending(third)) == 1


@pytest.mark.requirement("grant.project", "approval.once")
async def test_a_no_that_came_first_leaves_no_grant_behind(shop: Shop, model: ModelServer, workshop: Workshop) -> None:
    model.add(calls(WRITE), text("not done"))
    conversation = await shop.accept("write it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="deny")
    late = await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="project")
    assert late.outcome == "already"
    await run_turn(workshop, conversation)
    assert await workshop.grants.standing(asked.requester_id, asked.card.project, workshop.clock()) == []


@pytest.mark.requirement("grant.project")
async def test_with_no_days_for_grants_the_answer_is_not_offered_and_not_taken(
    shop: Shop, model: ModelServer, tmp_path: Path
) -> None:
    workshop = build_workshop(settings(shop, tmp_path, model, grant_days=0))
    model.add(calls(WRITE))
    conversation = await shop.accept("write it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    assert asked.card.grant_until is None
    refused = await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="project")
    assert refused.outcome == "unknown"
    assert len(await shop.doors.approvals.pending(conversation)) == 1
    await workshop.close()


@pytest.mark.requirement("approval.edit")
async def test_a_changed_call_runs_as_the_person_wrote_it(
    shop: Shop, model: ModelServer, workshop: Workshop, tmp_path: Path
) -> None:
    model.add(calls(WRITE), text("done"))
    conversation = await shop.accept("write it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    assert asked.card.editable == {"content": "x\n"}
    foreign = await shop.doors.approvals.decide(
        asked.approval_id, sender=ANN, scope="once", edits={"path": "../elsewhere"}
    )
    assert foreign.outcome == "unknown"

    decided = await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="once", edits={"content": "mine"})
    assert decided.approval is not None
    assert decided.approval.card.edited
    await run_turn(workshop, conversation)
    (made,) = (tmp_path / "workspaces").rglob("new.txt")
    assert made.read_text() == "mine"
    assert "The person changed the arguments" in told(model)[0]


@pytest.mark.requirement("limits.each", "loop.partly")
async def test_a_limit_of_the_settings_ends_a_task_with_a_partial_answer(
    shop: Shop, model: ModelServer, tmp_path: Path
) -> None:
    workshop = build_workshop(settings(shop, tmp_path, model, budget_turn_steps=1, model_price="1/1/1 CNY"))
    model.add(calls(("list_dir", {"path": "."})), text("I looked."))
    conversation = await shop.accept("look")
    await run_turn(workshop, conversation)

    (answer,) = await said(shop, conversation)
    assert isinstance(answer, Answer)
    assert answer.partly
    assert answer.markdown == "⚠️ Partly done (limit of 1 steps)\n\nI looked."
    # Two replies of 100 and 20 tokens.
    assert answer.cost == "0.0002 CNY"
    await workshop.close()


@pytest.mark.requirement("limits.unknown-price", "limits.currency", "settings.bad-value")
@pytest.mark.parametrize(
    ("more", "setting"),
    [
        ({"budget_turn_cost": "5 CNY"}, "PAIGATE_BUDGET_TURN_COST"),
        ({"budget_turn_cost": "5 CNY", "model_price": "1/1/1 USD"}, "PAIGATE_BUDGET_TURN_COST"),
        ({"budget_turn_cost": "much"}, "PAIGATE_BUDGET_TURN_COST"),
        ({"budget_turn_cost": "5"}, "PAIGATE_BUDGET_TURN_COST"),
        ({"budget_turn_cost": "0 CNY"}, "PAIGATE_BUDGET_TURN_COST"),
        ({"model_price": "cheap"}, "PAIGATE_MODEL_PRICE"),
        ({"fallback_model": ":"}, "PAIGATE_FALLBACK_MODEL"),
        ({"fallback_model": "compatible:x", "fallback_base_url": "http://a b"}, "PAIGATE_FALLBACK_BASE_URL"),
        ({"fallback_model": "compatible:x", "fallback_base_url": "http://a\u202eb"}, "PAIGATE_FALLBACK_BASE_URL"),
        ({"model_base_url": "http://a\nb/v1"}, "PAIGATE_MODEL_BASE_URL"),
        ({"fallback_model": "nobody:x"}, "PAIGATE_FALLBACK_MODEL"),
        ({"fallback_model": "kimi"}, "PAIGATE_FALLBACK_API_KEY"),
        ({"fallback_model": "kimi", "fallback_api_key": "k", "fallback_price": "0"}, "PAIGATE_FALLBACK_PRICE"),
        (
            {
                "budget_turn_cost": "5 CNY",
                "model_price": "1/1/1 CNY",
                "fallback_model": "kimi:kimi-k2.6",
                "fallback_api_key": "k",
            },
            "PAIGATE_BUDGET_TURN_COST",
        ),
    ],
)
async def test_a_limit_or_model_that_cannot_work_is_one_line_that_names_its_setting(
    shop: Shop, model: ModelServer, tmp_path: Path, more: dict[str, object], setting: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        build_workshop(settings(shop, tmp_path, model, **more))
    (problem,) = refused.value.problems
    assert problem.startswith(f"{setting}: ")
    assert "\n" not in problem


@pytest.mark.requirement("model.fallback")
async def test_a_second_model_of_the_settings_stands_behind_the_first(
    shop: Shop, model: ModelServer, tmp_path: Path
) -> None:
    workshop = build_workshop(
        settings(
            shop,
            tmp_path,
            model,
            fallback_model="compatible:second",
            fallback_base_url=model.base_url,
            fallback_price="1/1/1 CNY",
        )
    )
    assert isinstance(workshop.model, FallbackModel)
    assert workshop.model.name == "compatible:scripted"
    assert set(workshop.terms.prices) == {"compatible:second"}
    await workshop.close()


@pytest.mark.requirement("tools.background", "control.stop")
async def test_a_stop_of_an_idle_conversation_ends_what_runs_in_the_background(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    model.add(calls(("execute_command", {"command": "sleep 100", "background": True})), text("It runs."))
    conversation = await shop.accept("start it")
    await shop.doors.control.set_mode(conversation, "auto")
    await run_turn(workshop, conversation)
    running = workshop.sandbox.background(workshop.background / conversation)
    assert [command.running for command in running.all()] == [True]
    await said(shop, conversation)

    assert await shop.doors.control.stop(conversation) == ("idle", 0)
    (entry_id,) = await shop.doors.store.fields(Keys(conversation).errands)
    await do_errand(workshop, conversation, entry_id)

    assert [command.running for command in running.all()] == [False]
    (notice,) = await said(shop, conversation)
    assert isinstance(notice, Notice)
    assert (notice.key, notice.values) == ("stop.background", {"count": "1"})


@pytest.mark.requirement("tools.background", "control.stop")
async def test_a_stop_that_is_carried_out_late_spares_what_began_after_it(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    conversation = await shop.accept("hello")
    model.add(text("hello"))
    await run_turn(workshop, conversation)
    await shop.doors.control.stop(conversation)
    (entry_id,) = await shop.doors.store.fields(Keys(conversation).errands)

    model.add(calls(("execute_command", {"command": "sleep 100", "background": True})), text("It runs."))
    await shop.doors.control.set_mode(conversation, "auto")
    await shop.accept("start it")
    await run_turn(workshop, conversation)
    await do_errand(workshop, conversation, entry_id)

    running = workshop.sandbox.background(workshop.background / conversation)
    assert [command.running for command in running.all()] == [True]
    await running.end_all()


@pytest.mark.requirement("approval.edit", "mode.plan", "policy.refuses")
@pytest.mark.parametrize("against", ["policy", "mode"])
async def test_a_person_whose_yes_has_no_effect_is_told_so_and_why(
    shop: Shop, model: ModelServer, workshop: Workshop, against: str
) -> None:
    model.add(calls(("execute_command", {"command": "echo x > made"})), text("I see."))
    conversation = await shop.accept("make it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    await said(shop, conversation)
    if against == "mode":
        await shop.doors.control.set_mode(conversation, "plan")
        await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="once")
    else:
        edits = {"command": "rm -rf /"}
        await shop.doors.approvals.decide(asked.approval_id, sender=ANN, scope="once", edits=edits)
    await run_turn(workshop, conversation)

    (notice, answer) = await said(shop, conversation)
    assert isinstance(notice, Notice)
    assert notice.key == "call.kept_back"
    assert ("Plan mode" if against == "mode" else "refuses") in notice.values["detail"]
    assert isinstance(answer, Answer)
