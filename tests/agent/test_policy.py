"""What an approval is bound to, and what an answer allows."""

import pytest

from agent.events import Decision
from agent.policy import Permissions, Verdict, call_digest
from agent.tool import Risk

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


def answered(scope: str, digest: str = "d") -> Permissions:
    permissions = Permissions()
    permissions.record(Decision(call_id="c", digest=digest, scope=scope, by="Ann"))
    return permissions


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
    ],
)
def test_reading_runs_and_everything_else_needs_an_answer_that_fits(
    permissions: Permissions, risk: Risk, verdict: Verdict
) -> None:
    assert permissions.judge(call_id="c", tool="edit_file", risk=risk, digest="d") is verdict


@pytest.mark.requirement("approval.scopes")
def test_a_no_holds_although_the_tool_was_allowed_for_the_task() -> None:
    permissions = answered("task")
    permissions.start("c", "edit_file")
    permissions.record(Decision(call_id="c2", digest="d", scope="deny", by="Ann"))
    judge = permissions.judge
    assert judge(call_id="c3", tool="edit_file", risk=Risk.WRITE, digest="e") is Verdict.RUN
    assert judge(call_id="c3", tool="execute_command", risk=Risk.EXECUTE, digest="e") is Verdict.ASK
    assert judge(call_id="c2", tool="edit_file", risk=Risk.WRITE, digest="d") is Verdict.REFUSE
