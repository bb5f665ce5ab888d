"""What a turn says while it works: the session's events as outbox entries, each under the turn's lease."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Literal

from agent.conversation import Task
from agent.events import (
    Answered,
    ApprovalNeeded,
    CallFinished,
    CallPrinted,
    CallStarted,
    Event,
    MessageTaken,
    ProjectGrant,
    StepStarted,
    TextStreamed,
)
from agent.tool import FileChange as ChangedFile
from agent.visible import visible_line
from worker.messages import (
    Address,
    Answer,
    CallLine,
    Content,
    FileChange,
    Language,
    Notice,
    OutboxEntry,
    Progress,
)
from worker.outbox import Outbox

TEXT_SECONDS = 0.5
"""How often streamed text refreshes the live message at most."""

_SHOWN_CALLS = 12
_TAIL = 400
_MOST_NAME, _MOST_TITLE = 64, 1_000

State = Literal["thinking", "working", "waiting", "finished", "partly", "stopped", "failed"]


@dataclass(slots=True, kw_only=True)
class Narrator:
    """Tells one conversation's chat how its turn goes. `fence` proves that the turn still owns it."""

    outbox: Outbox
    conversation_id: str
    address: Address
    language: Language
    fence: int
    demo: bool
    clock: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    _task_id: str = ""
    _slot: str = ""
    _started: datetime | None = None
    _step: int = 0
    _calls: dict[str, CallLine] = field(default_factory=dict[str, CallLine])
    """By the id of the call, in the order they began; several may run at once."""
    _text: str = ""
    _shown_at: float = 0.0
    _state: State | None = None
    _speaking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def tell(self, event: Event, task: Task | None) -> None:
        """Say what an event means to the person; `ApprovalNeeded` is said by its card."""
        self._begin(task)
        match event:
            case StepStarted() | TextStreamed():
                await self._tell_text(event)
            case CallPrinted():
                await self._tell_text(event)
            case CallStarted() | CallFinished():
                self._note_call(event)
                await self._show("working")
                if isinstance(event, CallFinished):
                    await self._explain(event)
            case ApprovalNeeded():
                self._calls[event.call.id] = _line(event.call.name, event.preview.title, "waiting")
                await self._show("waiting")
            case Answered():
                await self._show("partly" if event.partly else "finished")
                await self._answer(event)
            case MessageTaken() | ProjectGrant():
                pass

    async def _explain(self, finished: CallFinished) -> None:
        """Say what the live message cannot tell: what must be mended, or that a yes had no effect."""
        call_id = finished.call.id
        if finished.alarm:
            await self.notice("sandbox.unavailable", f"alarm:{call_id}", detail=finished.alarm)
        if finished.kept_back:
            await self.notice("call.kept_back", f"kept-back:{call_id}", detail=finished.kept_back)

    async def tick(self) -> None:
        """Show that time goes by, while the task is at work."""
        async with self._speaking:
            if self._state in {"thinking", "working"}:
                await self._show_now(self._state)

    async def notice(self, key: str, entry_id: str, **values: str) -> None:
        """Say something of Paigate's own, once per `entry_id`."""
        await self._post(Notice(key=key, values=values), entry_id=entry_id)

    async def close(self, state: Literal["stopped", "failed"], task: Task | None) -> None:
        """Freeze the live message of a task that will not go on; one that waits at a card is frozen already."""
        self._begin(task)
        if self._slot:
            await self._show(state)

    def _begin(self, task: Task | None) -> None:
        """A task has one live message before each card and one after the last, whichever process tells of it."""
        if task is None:
            return
        self._slot = f"progress:{task.task_id}:{len(task.permissions.decisions)}"
        if task.task_id != self._task_id or self._started is None:
            self._task_id, self._started, self._step, self._text = task.task_id, self.clock(), task.steps, ""
            self._calls.clear()

    async def _tell_text(self, event: StepStarted | TextStreamed | CallPrinted) -> None:
        if isinstance(event, StepStarted):
            self._step, self._text = event.step, ""
        else:
            self._text = (self._text + event.text)[-_TAIL:]
        if isinstance(event, StepStarted) or self.monotonic() - self._shown_at >= TEXT_SECONDS:
            await self._show("working" if self._calls else "thinking")

    def _note_call(self, event: CallStarted | CallFinished) -> None:
        ended = "done" if isinstance(event, CallFinished) and event.ok else "failed"
        state = "running" if isinstance(event, CallStarted) else ended
        self._calls[event.call.id] = _line(event.call.name, event.title, state)

    async def _show(self, state: State) -> None:
        async with self._speaking:
            await self._show_now(state)

    async def _show_now(self, state: State) -> None:
        self._state = state
        now = self.clock()
        started = self._started or now
        self._shown_at = self.monotonic()
        progress = Progress(
            task_id=self._task_id,
            state=state,
            step=self._step,
            calls=tuple(self._calls.values())[-_SHOWN_CALLS:],
            text_tail="" if state in {"finished", "partly"} else self._text[-_TAIL:],
            started_at=started,
            seconds=(now - started).total_seconds(),
        )
        await self._post(progress, slot=self._slot)

    async def _answer(self, answered: Answered) -> None:
        report = answered.report
        answer = Answer(
            task_id=answered.task_id,
            markdown=answered.text,
            steps=report.steps,
            seconds=report.seconds,
            changes=changed_files(report.changes),
            prompt_tokens=report.usage.prompt_tokens,
            completion_tokens=report.usage.completion_tokens,
            demo=self.demo,
            partly=answered.partly,
            cost="" if report.cost is None else f"{report.cost:.4f} {report.currency}",
        )
        await self._post(answer, entry_id=f"answer:{answered.task_id}")

    async def _post(self, content: Content, *, entry_id: str = "", slot: str = "") -> None:
        entry = OutboxEntry(
            entry_id=entry_id or slot,
            slot=slot,
            conversation_id=self.conversation_id,
            address=self.address,
            language=self.language,
            content=content,
        )
        await self.outbox.post(entry, fence=self.fence)


def _line(tool: str, title: str, state: Literal["running", "done", "failed", "waiting"]) -> CallLine:
    """A call as a line; a model may call a tool by any name, so that this is not text to be trusted."""
    shown = "" if title == tool else title[:_MOST_TITLE]
    return CallLine(tool=visible_line(tool)[:_MOST_NAME], title=shown, state=state)


def changed_files(changes: Sequence[ChangedFile]) -> tuple[FileChange, ...]:
    """The agent's file changes as a record."""
    return tuple(FileChange(**asdict(change)) for change in changes)
