"""Standing answers: what a person allowed in a project until a date."""

from datetime import datetime

from worker.decisions import StoredDecision
from worker.keys import grants_key
from worker.messages import Approval, StandingGrant
from worker.store import Store


class Grants:
    """Keeps them, by the approval that each was given on."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def take_up(self, approval: Approval, decision: StoredDecision) -> None:
        """Keep what a decision allows for the project, if it does; doing so again changes nothing."""
        if decision.scope != "project" or decision.until is None:
            return
        card = approval.card
        grant = StandingGrant(
            tool=card.tool,
            pattern=card.pattern,
            command="" if card.pattern else approval.command,
            until=decision.until,
            by=decision.by,
            at=decision.at,
        )
        key = grants_key(approval.requester_id, card.project)
        await self._store.set_fields(key, {approval.approval_id: grant.model_dump_json()})

    async def standing(self, person_id: str, project: str, now: datetime) -> list[StandingGrant]:
        """Those that hold at `now`, oldest first; the others are dropped."""
        key = grants_key(person_id, project)
        found: list[StandingGrant] = []
        for approval_id, raw in (await self._store.fields(key)).items():
            grant = StandingGrant.model_validate_json(raw)
            if now < grant.until:
                found.append(grant)
            else:
                await self._store.drop_field(key, approval_id)
        return sorted(found, key=lambda grant: grant.at)
