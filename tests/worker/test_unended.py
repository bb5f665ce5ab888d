"""Background commands that cannot be ended: whoever says stop is told once, with the fix, and all else goes on."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agent.errors import SandboxUnavailable
from agent.project import Project
from agent.sandbox import (
    Background,
    BackgroundCommand,
    BackgroundOutput,
    CommandLimits,
    CommandResult,
    Sandbox,
    SelfTest,
)
from gateway.catalogue import say
from tests.servers.doors import ANN, CHAT, Shop
from tests.servers.model import ModelServer, calls, text
from worker.build import build_workshop
from worker.errands import do_errand
from worker.keys import Keys
from worker.messages import Errand, Notice
from worker.settings import WorkerSettings
from worker.store import utc_now
from worker.turn import run_turn
from worker.workshop import Workshop

pytestmark = pytest.mark.anyio
DETAIL = "A command's processes are still there after SIGKILL. Look for hung I/O."
WRITE = ("write_file", {"path": "new.txt", "content": "x\n"})


@dataclass(frozen=True)
class StuckBackground:
    """Background commands of which one cannot be ended, as when its processes hang in the kernel."""

    real: Background

    async def start(
        self,
        argv: Sequence[str],
        *,
        project: Project,
        limits: CommandLimits,
        command: str,
        at_most: int,
        lifeline: int | None = None,
    ) -> BackgroundCommand | None:
        return await self.real.start(
            argv, project=project, limits=limits, command=command, at_most=at_most, lifeline=lifeline
        )

    def all(self) -> Sequence[BackgroundCommand]:
        return self.real.all()

    def find(self, command_id: str) -> BackgroundCommand | None:
        return self.real.find(command_id)

    def output(self, command_id: str, *, offset: int | None, most_bytes: int) -> BackgroundOutput:
        return self.real.output(command_id, offset=offset, most_bytes=most_bytes)

    async def stop(self, command_id: str) -> None:
        await self.end_all()

    async def end_all(self) -> None:
        raise SandboxUnavailable("A command's processes are still there after SIGKILL", "Look for hung I/O.")


@dataclass(frozen=True)
class StuckSandbox:
    """The real sandbox, but for the end of what runs in the background."""

    real: Sandbox

    async def run(
        self,
        argv: Sequence[str],
        *,
        project: Project,
        limits: CommandLimits,
        on_output: Callable[[bytes], None] | None = None,
    ) -> CommandResult:
        return await self.real.run(argv, project=project, limits=limits, on_output=on_output)

    def background(self, directory: Path) -> Background:
        return StuckBackground(self.real.background(directory))

    async def check(self) -> SelfTest:
        return await self.real.check()


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
    yield replace(made, sandbox=StuckSandbox(made.sandbox))
    await made.close()


async def notices(shop: Shop, conversation: str) -> list[Notice]:
    """Take everything out of the outbox; returns what Paigate itself said."""
    found: list[Notice] = []
    while pending := await shop.doors.outbox.first(conversation):
        if isinstance(pending.entry.content, Notice):
            found.append(pending.entry.content)
        await shop.doors.outbox.delivered(pending)
    return found


async def stopped(shop: Shop, workshop: Workshop, conversation: str, *, new: bool = False) -> None:
    """Say stop, or begin anew, while a turn runs, and let that turn see it."""
    lease = await shop.leases.begin(conversation)
    assert lease
    if new:
        state, _ = await shop.doors.control.renew(CHAT, ANN, "9")
    else:
        state, _ = await shop.doors.control.stop(conversation)
    assert state == "running"
    await shop.leases.leave(lease, "resume")
    await run_turn(workshop, conversation)


@pytest.mark.requirement("control.stop", "tools.background")
async def test_a_turn_that_cannot_end_its_background_stops_all_the_same_and_tells_the_fix(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    model.add(calls(WRITE))
    conversation = await shop.accept("write it")
    await run_turn(workshop, conversation)
    (asked,) = await shop.doors.approvals.pending(conversation)
    await notices(shop, conversation)
    await stopped(shop, workshop, conversation)

    (notice,) = await notices(shop, conversation)
    assert notice.key == "stop.background_failed"
    assert notice.values["detail"] == DETAIL
    for language in ("zh", "en"):
        assert DETAIL in say(notice.key, language, **notice.values)
    assert (await shop.doors.approvals.outcome(asked)).card.state == "withdrawn"
    for _ in range(4):
        shop.lose_jobs()
        await shop.reconciler().run()
        assert shop.jobs() == []

    model.add(text("well again"))
    await shop.accept("and now?")
    await run_turn(workshop, conversation)
    assert len(model.requests) == 2
    assert await notices(shop, conversation) == []


@pytest.mark.requirement("control.stop", "tools.background")
async def test_what_waited_at_such_a_stop_waits_on_and_its_number_is_told(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    conversation = await shop.accept("do it")
    await stopped(shop, workshop, conversation)
    (notice,) = await notices(shop, conversation)
    assert notice.key == "stop.background_failed_waiting"
    assert (notice.values["detail"], notice.values["waiting"]) == (DETAIL, "1")
    assert "1 message(s) wait" in say(notice.key, "en", **notice.values)
    assert len(await shop.doors.store.items(Keys(conversation).waiting)) == 1
    assert len(model.requests) == 0


@pytest.mark.requirement("control.new", "tools.background")
async def test_a_background_that_a_left_conversation_cannot_end_is_told_as_that_of_the_old_one(
    shop: Shop, model: ModelServer, workshop: Workshop
) -> None:
    conversation = await shop.accept("do it")
    await stopped(shop, workshop, conversation, new=True)
    (notice,) = await notices(shop, conversation)
    assert notice.key == "new.background_failed"
    assert "/stop" not in say(notice.key, "en", **notice.values)
    assert DETAIL in say(notice.key, "en", **notice.values)


@pytest.mark.requirement("control.stop", "control.new", "tools.background")
@pytest.mark.parametrize(("new", "key"), [(False, "stop.background_failed"), (True, "new.background_failed")])
async def test_an_errand_that_cannot_end_the_background_tells_the_fix_once_and_is_over(
    shop: Shop, model: ModelServer, workshop: Workshop, new: bool, key: str
) -> None:
    conversation = await shop.doors.control.conversation(CHAT, ANN)
    if new:
        await shop.doors.control.renew(CHAT, ANN, "9")
    else:
        await shop.doors.control.stop(conversation)
    (entry_id,) = await shop.doors.store.fields(Keys(conversation).errands)
    for _ in range(2):
        await do_errand(workshop, conversation, entry_id)
    shop.lose_jobs()
    await shop.reconciler().run()

    assert await notices(shop, conversation) == [Notice(key=key, values={"detail": DETAIL})]
    assert await shop.doors.store.fields(Keys(conversation).errands) == {}
    assert shop.jobs("errands") == []


@pytest.mark.requirement("control.stop", "tools.background")
async def test_an_errand_to_end_the_background_that_never_came_to_an_end_is_told(shop: Shop) -> None:
    conversation = await shop.accept()
    long_ago = utc_now().replace(year=2020)
    errand = Errand(kind="end_background", asked_at=long_ago)
    await shop.doors.store.set_fields(Keys(conversation).errands, {"e1": errand.model_dump_json()})
    await shop.reconciler().run()
    assert await notices(shop, conversation) == [Notice(key="stop.background_late")]
    assert say("stop.background_late", "en")
    assert await shop.doors.store.fields(Keys(conversation).errands) == {}
