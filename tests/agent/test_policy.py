"""What an approval is bound to, and what an answer allows."""

from datetime import UTC, datetime, timedelta

import pytest

from agent.events import Decision, Scope
from agent.policy import CommandForm, Grant, JudgedCall, Permissions, Rules, Verdict, call_digest
from agent.restrictions import Restrictions
from agent.tool import Preview, Risk

NOW = datetime(2026, 1, 1, tzinfo=UTC)

BASE = {"tool": "edit_file", "arguments": {"path": "a", "old_text": "x"}, "project": "hello", "pre_image": "p"}


@pytest.mark.requirement("approval.bound")
@pytest.mark.parametrize(
    "change",
    [
        {"tool": "write_file"},
        {"arguments": {"path": "b", "old_text": "x"}},
        {"arguments": {"path": "a"}},
        {"project": "other"},
        {"pre_image": "q"},
    ],
)
def test_an_approval_is_bound_to_tool_arguments_project_and_files(change: dict[str, object]) -> None:
    assert call_digest(**{**BASE, **change}) != call_digest(**BASE)


def test_the_order_of_arguments_makes_no_difference() -> None:
    turned = {**BASE, "arguments": {"old_text": "x", "path": "a"}}
    assert call_digest(**turned) == call_digest(**BASE)


def answered(scope: Scope, digest: str = "d") -> Permissions:
    permissions = Permissions()
    permissions.record(Decision(call_id="c", digest=digest, scope=scope, by="Ann"))
    return permissions


def judge(permissions: Permissions, *, call_id: str, tool: str, risk: Risk, digest: str, command: str = "") -> Verdict:
    preview = Preview(title=tool, command=command, level="write" if command else None)
    acts = risk is not Risk.READ
    call = JudgedCall(call_id=call_id, tool=tool, risk=risk, acts=acts, preview=preview, asked_digest=digest)
    rules = Rules(mode="ask", restrictions=Restrictions(), grants=(), now=NOW)
    return permissions.judge(call, rules).verdict


@pytest.mark.requirement("policy.asks")
@pytest.mark.parametrize(
    ("permissions", "risk", "verdict"),
    [
        (Permissions(), Risk.READ, Verdict.RUN),
        (Permissions(), Risk.WRITE, Verdict.ASK),
        (Permissions(), Risk.EXECUTE, Verdict.ASK),
        (answered("once"), Risk.WRITE, Verdict.RUN),
        (answered("once", "other"), Risk.WRITE, Verdict.ASK_AGAIN),
        (answered("deny"), Risk.WRITE, Verdict.REFUSE),
        (answered("deny", "other"), Risk.WRITE, Verdict.REFUSE),
        (answered("task"), Risk.WRITE, Verdict.RUN),
        (answered("task", "other"), Risk.WRITE, Verdict.ASK_AGAIN),
        (answered("project"), Risk.WRITE, Verdict.RUN),
    ],
)
def test_reading_runs_and_everything_else_needs_an_answer_that_fits(
    permissions: Permissions, risk: Risk, verdict: Verdict
) -> None:
    assert judge(permissions, call_id="c", tool="edit_file", risk=risk, digest="d") is verdict


@pytest.mark.requirement("approval.scopes")
def test_a_no_holds_although_the_tool_was_allowed_for_the_task() -> None:
    permissions = answered("task")
    permissions.start("c", "edit_file", CommandForm())
    permissions.record(Decision(call_id="c2", digest="d", scope="deny", by="Ann"))
    edit = {"tool": "edit_file", "risk": Risk.WRITE}
    assert judge(permissions, call_id="c3", digest="e", **edit) is Verdict.RUN
    assert judge(permissions, call_id="c2", digest="d", **edit) is Verdict.REFUSE
    command = judge(permissions, call_id="c3", tool="execute_command", risk=Risk.EXECUTE, digest="e", command="touch a")
    assert command is Verdict.ASK


@pytest.mark.requirement("grant.pattern", "grant.project")
@pytest.mark.parametrize(
    ("grant", "tool", "command", "covered"),
    [
        (Grant(tool="edit_file"), "edit_file", "", True),
        (Grant(tool="edit_file"), "write_file", "", False),
        (Grant(tool="execute_command", pattern="pytest *"), "execute_command", "pytest -q", True),
        (Grant(tool="execute_command", pattern="pytest *"), "execute_command", "pytest -q; touch a", False),
        (Grant(tool="execute_command", command="ls *; touch a"), "execute_command", "ls *; touch a", True),
        (Grant(tool="execute_command", command="touch *"), "execute_command", "touch a", False),
        (Grant(tool="execute_command", command="touch a"), "execute_command", "touch b", False),
        (Grant(tool="edit_file", until=NOW + timedelta(seconds=1)), "edit_file", "", True),
        (Grant(tool="edit_file", until=NOW), "edit_file", "", False),
    ],
)
def test_a_grant_covers_its_tool_its_pattern_and_its_time(grant: Grant, tool: str, command: str, covered: bool) -> None:
    assert grant.covers(tool, CommandForm(command=command), NOW) is covered


@pytest.mark.requirement("grant.pattern", "tools.background")
def test_a_grant_for_a_command_is_none_for_the_same_in_the_background() -> None:
    form = CommandForm(command="pytest -q", pattern="pytest *", variant="background")
    assert not Grant(tool="execute_command", pattern="pytest *").covers("execute_command", form, NOW)
    assert Grant(tool="execute_command", pattern="pytest *", variant="background").covers("execute_command", form, NOW)


@pytest.mark.requirement("approval.edit", "grant.pattern")
@pytest.mark.parametrize("scope", ["task", "project"])
def test_what_a_person_changed_is_allowed_once_and_never_for_longer(scope: Scope) -> None:
    permissions = Permissions()
    permissions.record(Decision(call_id="c", digest="d", scope=scope, by="Ann", arguments={"command": "rm x"}))
    assert permissions.start("c", "execute_command", CommandForm(command="rm x")) is None
    assert permissions.grants == []


@pytest.mark.requirement("approval.expires", "approval.reason")
@pytest.mark.parametrize(
    ("by", "reason", "words"),
    [
        ("", "", "Nobody allowed this call in time"),
        ("Ann", "", "The person refused this call; it was not run."),
        ("Ann", "not today", "Their reason: not today"),
    ],
)
def test_a_refusal_says_who_refused_and_why(by: str, reason: str, words: str) -> None:
    permissions = Permissions()
    permissions.record(Decision(call_id="c", digest="d", scope="deny", by=by, reason=reason))
    preview = Preview(title="a")
    call = JudgedCall(call_id="c", tool="t", risk=Risk.WRITE, acts=True, preview=preview, asked_digest="d")
    rules = Rules(mode="ask", restrictions=Restrictions(), grants=(), now=NOW)
    judgement = permissions.judge(call, rules)
    assert judgement.verdict is Verdict.REFUSE
    assert words in judgement.why
