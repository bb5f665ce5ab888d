"""The card of a question: what the session wants to know, as the record that the gateway shows."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.events import ApprovalNeeded
from worker.messages import ApprovalCard
from worker.narration import changed_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a question waits for an answer, and how long an answer for the whole project would hold."""

    approval_hours: float
    grant_days: float


def card_of(needed: ApprovalNeeded, approval_id: str, project: str, now: datetime, patience: Patience) -> ApprovalCard:
    """The card of an open question."""
    preview = needed.preview
    days = patience.grant_days
    return ApprovalCard(
        approval_id=approval_id,
        tool=needed.call.name,
        risk=needed.risk.value,
        title=preview.title,
        detail=preview.detail,
        detail_kind=preview.kind,
        whole=preview.whole,
        level=preview.level,
        reasons=preview.reasons,
        pattern=preview.pattern,
        project=project,
        grant_until=now + timedelta(days=days) if days else None,
        editable=dict(needed.editable),
        changes=changed_files(preview.changes),
        stale=needed.stale,
        expires_at=now + timedelta(hours=patience.approval_hours),
    )
