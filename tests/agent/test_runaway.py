"""The guard against going in circles: what brings the reminder, what ends the task, and what does neither."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.runaway import CallOutcome, Reason, RunawayGuard

Step = Sequence[CallOutcome]


def read(path: str, result: str = "text") -> CallOutcome:
    return CallOutcome("read_file", {"path": path}, result, ok=True, refused=False)


def failed(path: str, result: str, tool: str = "read_file") -> CallOutcome:
    return CallOutcome(tool, {"path": path}, result, ok=False, refused=False)


def refused(path: str, result: str = "The person refused this call; it was not run.") -> CallOutcome:
    return CallOutcome("write_file", {"path": path}, result, ok=False, refused=True)


def verdicts(steps: Sequence[Step], guard: RunawayGuard | None = None) -> str:
    """The verdicts, by their first letters."""
    guard = guard or RunawayGuard()
    return "".join(guard.observe(step)[0] for step in steps)


def texts(guard: RunawayGuard, *said: str) -> str:
    return "".join(guard.observe_text(text)[0] for text in said)


A, B, C = [read("a")], [read("b")], [read("c")]


@pytest.mark.requirement("runaway.remind", "runaway.stop")
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([A] * 6, "ggrgss", id="the same step"),
        pytest.param([A, A, B, A, A, B], "gggggg", id="two in a row are no circle"),
        pytest.param([A, A, [], A, A], "ggggg", id="a step without calls breaks the row"),
        pytest.param([[*A, read(f"{i}")] for i in range(6)], "ggrggg", id="others beside it remind all the same"),
        pytest.param([[*A, *A, *A]], "r", id="three in one batch"),
        pytest.param([[*A, *A], A, A], "grg", id="two in a batch and one more, once"),
        pytest.param([[*A, *A, *A, *A, *A]], "r", id="a batch is one step"),
        pytest.param([[*A, *B], [*B, *A], [*A, *B], [*B, *A], [*A, *B, *B]], "ggrgs", id="a step is a set"),
        pytest.param([A] * 3 + [B] * 3, "ggrggg", id="one reminder a task"),
        pytest.param([A] * 3 + [B] * 5, "ggrggggs", id="a stop needs no reminder of its own"),
        pytest.param([A] * 4 + [B] + [A] * 5, "ggrggggggs", id="five in a row, not five in all"),
    ],
)
def test_the_same_action_reminds_once_and_the_same_step_stops(steps: Sequence[Step], expected: str) -> None:
    assert verdicts(steps) == expected


@pytest.mark.requirement("runaway.remind")
@pytest.mark.parametrize(
    "spellings",
    [
        [{"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}, '{ "b": {"c":2, "d":3},\n "a": 1 }'],
        ["", "  \n", {}],
        ["{}", "null", {}],
        ["{broken", "  {broken ", "{broken\n"],
        ['{"path": "文件"}', {"path": "文件"}, '{"path": "\\u6587\\u4ef6"}'],
    ],
)
def test_spelling_of_arguments_does_not_hide_a_repetition(spellings: list[Any]) -> None:
    steps = [[CallOutcome("t", arguments, "same", True, False)] for arguments in spellings]
    assert verdicts(steps) == "ggr"


@pytest.mark.parametrize(
    "others",
    [
        [{"items": [1, 2]}, {"items": [2, 1]}, {"items": [1, 2, 3]}],
        ['{"a": 1}', '{"a": 2}', '{"a": "1"}'],
        ["{broken", "{broken too", "[" * 100_000],
        [{(1, 2): 1}, {(1, 3): 1}, {(1, 4): 1}],
    ],
)
def test_different_arguments_are_different_actions(others: list[Any]) -> None:
    assert verdicts([[CallOutcome("t", arguments, "same", True, False)] for arguments in others]) == "ggg"


def test_arguments_nested_without_end_are_taken() -> None:
    endless: dict[str, Any] = {}
    endless["self"] = endless
    assert verdicts([[CallOutcome("t", endless, "same", True)]] * 3) == "ggr"


@pytest.mark.requirement("runaway.polling")
@pytest.mark.parametrize(
    "results",
    [
        [f"{i} of 9 jobs done" for i in range(9)],
        [f"{i}%" for i in range(9)],
        [f"foo.py:{i}: error" for i in range(9)],
        ["x" * 50_000 + f"\n{i}\n" + "y" * 50_000 for i in range(9)],
    ],
)
def test_the_same_call_with_a_changing_result_is_polling(results: list[str]) -> None:
    assert verdicts([[read("state", result)] for result in results]) == "g" * 9


@pytest.mark.requirement("runaway.remind", "runaway.stop")
@pytest.mark.parametrize(
    "result",
    [
        "3 failed in {0}.{0}2s",
        "started 2026-01-0{0} 10:0{0}:00.12{0}Z",
        "pid {0}234 waits",
        "<Task at 0x7f3a2b1{0}c>",
        "耗时 {0} 秒",
        "real\t0m{0}.1{0}s",
        "x" * 9 + "\ntook {0}{0} ms\n" + "line\n" * 200_000 + "done at 1{0}:00:00",
    ],
)
def test_what_changes_with_the_clock_does_not_hide_a_repetition(result: str) -> None:
    assert verdicts([[read("a", result.format(i))] for i in range(1, 6)]) == "ggrgs"


@pytest.mark.requirement("runaway.errors")
def test_one_tool_failing_alike_is_reminded_of_and_never_stopped() -> None:
    guard = RunawayGuard()
    steps = [[failed(f"{i}", f"No such file: {i}")] for i in range(9)]
    assert verdicts(steps[:3], guard) == "ggr"
    assert guard.reason == Reason(kind="errors", count=3, tool="read_file", family="not_found")
    assert verdicts(steps[3:], guard) == "gggggg"


@pytest.mark.requirement("runaway.errors")
@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(
            [[failed("1", "timed out")], [failed("2", "no such file")], [failed("3", "timed out")]], id="ways"
        ),
        pytest.param([[failed("1", "timed out", tool)] for tool in ("a", "b", "c")], id="tools"),
        pytest.param([[failed(f"{i}", "not found") for i in range(5)]], id="many at once are one step"),
        pytest.param(
            [[failed("1", "not found")], [failed("2", "not found")], A, [failed("3", "not found")]], id="rows"
        ),
        pytest.param([[failed(f"{i}", f"odd thing {i}")] for i in range(4)], id="texts"),
    ],
)
def test_failures_that_differ_are_not_alike(steps: Sequence[Step]) -> None:
    assert set(verdicts(steps)) == {"g"}


@pytest.mark.requirement("runaway.errors")
def test_a_success_beside_it_does_not_hide_a_failure() -> None:
    steps = [[failed(f"{i}", "not found"), read(f"{i}")] for i in range(3)]
    assert verdicts(steps) == "ggr"


def test_when_both_are_seen_the_failure_is_what_is_told() -> None:
    guard = RunawayGuard()
    verdicts([[failed("a", "not found")]] * 3, guard)
    assert guard.reason == Reason(kind="errors", count=3, tool="read_file", family="not_found")


@pytest.mark.requirement("runaway.cycles")
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([A, B] * 5, "gggggrgggs", id="two"),
        pytest.param([A, B, C] * 5, "ggggggggrgggggs", id="three"),
        pytest.param([A, A, B] * 5, "ggggggggrgggggs", id="one of them twice"),
        pytest.param([A, B, A, B, A, C] * 3, "g" * 18, id="a turn away breaks it"),
        pytest.param([A, B] * 2 + [[]] + [A, B] * 2, "g" * 9, id="an empty step breaks it"),
        pytest.param([A, B, C, [read("d")]] * 5, "g" * 20, id="four are no cycle"),
        pytest.param([[read("x", f"{i}")] if i % 2 else A for i in range(12)], "g" * 12, id="a changing result"),
    ],
)
def test_cycles_of_two_or_three_steps_are_seen(steps: Sequence[Step], expected: str) -> None:
    assert verdicts(steps) == expected


def test_the_reason_names_the_tools_of_a_cycle() -> None:
    guard = RunawayGuard()
    edit = [CallOutcome("edit_file", {}, "done", True)]
    verdicts([A, edit] * 3, guard)
    assert guard.reason == Reason(kind="cycle", count=3, tool="edit_file, read_file")


@pytest.mark.requirement("runaway.refused")
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([[refused("a")]] * 5, "ggggs", id="five the same"),
        pytest.param([[refused("a", f"No. Reason: {i}, really")] for i in range(5)], "ggggs", id="whatever was said"),
        pytest.param([[refused(f"{i}")] for i in range(9)], "g" * 9, id="others each time"),
        pytest.param([[refused("a"), refused("a"), refused("a")]] * 2, "gg", id="many in one"),
        pytest.param([[refused("a")], [refused("b")]] * 5, "gggggggggs", id="a cycle of them"),
        pytest.param([A, A, [refused("a")], A, A], "ggggg", id="they break a row"),
        pytest.param([[*A, refused("b")]] * 5, "ggrgs", id="beside one that ran"),
    ],
)
def test_refused_calls_bring_no_reminder_but_an_end(steps: Sequence[Step], expected: str) -> None:
    assert verdicts(steps) == expected


@pytest.mark.parametrize(
    ("step", "kind", "tool"),
    [
        (A, "repeated", "read_file"),
        ([*A, refused("b")], "repeated", "read_file, write_file"),
        ([refused("b")], "refused", "write_file"),
    ],
)
def test_the_reason_of_a_stop_tells_a_repeated_step_from_a_refused_one(step: Step, kind: Any, tool: str) -> None:
    guard = RunawayGuard()
    assert verdicts([step] * 5, guard)[-1] == "s"
    assert guard.reason == Reason(kind=kind, count=5, tool=tool)


@pytest.mark.requirement("runaway.monologue")
def test_the_same_words_again_and_again_are_reminded_then_stopped() -> None:
    guard = RunawayGuard()
    assert texts(guard, "Let me try again.", "Let me  try again.\n", "", "Let me try again.") == "gggr"
    assert guard.reason == Reason(kind="monologue", count=3)
    assert texts(guard, "Let me try again.", "Let me try again.") == "gs"
    assert guard.reason == Reason(kind="monologue", count=5)


@pytest.mark.requirement("runaway.monologue")
def test_words_that_change_are_no_monologue() -> None:
    assert texts(RunawayGuard(), "One.", "One.", "Two.", "One.", "One.", " ", "Two.") == "ggggggg"


@pytest.mark.requirement("runaway.monologue")
def test_the_same_words_beside_work_that_goes_on_remind_but_do_not_stop() -> None:
    guard = RunawayGuard()
    seen = ""
    for i in range(8):
        seen += texts(guard, "Now the next file.") + verdicts([[read(f"{i}")]], guard)
    assert seen == "ggggrg" + "gg" * 5


@pytest.mark.requirement("runaway.chanting")
def test_a_chant_stops_however_it_is_told() -> None:
    chant = "I will now fix the parser. " * 40
    guard = RunawayGuard()
    assert guard.observe_text("Fine so far.") == "go"
    assert guard.observe_text(chant) == "stop"
    assert guard.reason == Reason(kind="chanting", count=1)
    assert guard.observe_text("Fine again.") == "go"
    in_pieces = RunawayGuard()
    assert "s" in texts(in_pieces, *[chant[i : i + 7] for i in range(0, len(chant), 7)])


def test_texts_of_different_replies_are_not_heard_as_one() -> None:
    guard = RunawayGuard()
    for i in range(40):
        assert guard.observe_text(f"I will now fix the parser, and then I look at it again: {i}") == "go"
        guard.observe([read(f"{i}")])


@pytest.mark.requirement("runaway.remind")
def test_a_message_of_the_person_begins_anew() -> None:
    guard = RunawayGuard()
    assert verdicts([A] * 4, guard) == "ggrg"
    guard.reset()
    assert guard.reason is None
    assert verdicts([A] * 5, guard) == "ggrgs"
    guard.reset()
    texts(guard, "Hm.", "Hm.")
    guard.reset()
    assert texts(guard, "Hm.", "Hm.") == "gg"


def test_there_is_no_reason_when_all_is_well() -> None:
    guard = RunawayGuard()
    verdicts([A] * 3, guard)
    assert guard.reason == Reason(kind="repeated", count=3, tool="read_file")
    verdicts([B], guard)
    assert guard.reason is None


def test_other_numbers_are_kept_to() -> None:
    assert verdicts([A] * 8, RunawayGuard(remind_after=4, stop_after=8)) == "gggrgggs"
    assert verdicts([A, B] * 8, RunawayGuard(remind_after=4, stop_after=8)) == "gggggggrgggggggs"


@pytest.mark.parametrize(("remind", "stop"), [(2, 5), (0, 5), (-1, 5), (3, 3), (5, 4), (3, 0)])
def test_a_guard_that_leaves_no_time_after_its_reminder_is_refused(remind: int, stop: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        RunawayGuard(remind_after=remind, stop_after=stop)
