"""What a ledger's entries amount to, also those of another version and those that do not fit together."""

from datetime import UTC, datetime
from typing import Any

import pytest

from agent.conversation import Conversation
from agent.errors import LedgerCorrupt
from agent.ledger import Entry
from agent.model import Message

AT = datetime(2026, 1, 1, tzinfo=UTC)
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "cached_tokens": 0, "estimated": False}
CALL = {"id": "c", "name": "read_file", "arguments": {}, "malformed": None}
TAKEN = ("message_taken", {"message_id": "1", "text": "go", "task_id": "t"})
REPLY = ("reply_received", {"text": "", "reasoning": "", "calls": [CALL], "finish_reason": "stop", "usage": USAGE})
ANSWERED = ("reply_received", {"text": "a", "reasoning": "", "calls": [], "finish_reason": None, "usage": USAGE})
STARTED = ("call_started", {"call_id": "c", "digest": "d"})
FINISHED = ("call_finished", {"call_id": "c", "ok": True, "text": "r", "changes": []})
CLOSED = ("task_closed", {"text": "⚠️", "valve": {}})
ABANDONED = ("reply_abandoned", {"why": None, "usage": USAGE})
DECIDED = ("approval_decided", {"call_id": "c", "digest": "d", "scope": "task", "by": "Ann", "reason": ""})
STOPPED = ("task_finished", {"outcome": "stopped"})


def fold(*entries: tuple[str, dict[str, Any]]) -> Conversation:
    numbered = enumerate(entries, 1)
    return Conversation([Entry(sequence=number, at=AT, kind=kind, data=data) for number, (kind, data) in numbered])


@pytest.mark.requirement("loop.ledger")
def test_entries_of_the_former_version_are_read() -> None:
    conversation = fold(TAKEN, REPLY, DECIDED, STARTED, FINISHED, ANSWERED)
    assert conversation.messages[-2] == Message(role="tool", text="r", call_id="c", tool="read_file")
    assert conversation.answer == "a"
    assert conversation.task is not None
    assert conversation.task.report().cost is None
    assert conversation.task.report().steps == 2


@pytest.mark.requirement("loop.ledger")
def test_an_entry_of_an_unknown_kind_is_passed_over() -> None:
    assert fold(TAKEN, ("weather_changed", {"to": "rain"})).messages == fold(TAKEN).messages


@pytest.mark.requirement("loop.ledger")
@pytest.mark.parametrize(
    "entries",
    [
        (REPLY,),
        (CLOSED,),
        (ABANDONED,),
        (TAKEN, FINISHED),
        (TAKEN, STARTED),
        (TAKEN, REPLY, FINISHED, FINISHED),
        (TAKEN, REPLY, STOPPED, STARTED),
        (TAKEN, REPLY, STOPPED, FINISHED),
    ],
)
def test_entries_that_do_not_fit_together_are_a_corrupt_ledger(entries: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    with pytest.raises(LedgerCorrupt):
        fold(*entries)


@pytest.mark.requirement("approval.once")
@pytest.mark.parametrize("before", [(), (TAKEN,), (TAKEN, REPLY, FINISHED), (TAKEN, REPLY, FINISHED, STOPPED)])
def test_an_answer_that_comes_when_nothing_is_asked_answers_nothing(
    before: tuple[tuple[str, dict[str, Any]], ...],
) -> None:
    conversation = fold(*before, DECIDED)
    assert conversation.task is None or conversation.task.permissions.decisions == {}


def test_time_before_the_first_task_and_while_asking_is_no_work() -> None:
    assert fold().seconds_worked(AT) == 0
    assert fold(TAKEN, ("approval_asked", {"call_id": "c", "digest": "d"})).seconds_worked(AT.replace(year=2027)) == 0
