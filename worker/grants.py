"""Standing answers: what a person allowed in a project until a date."""

from datetime import datetime

from worker.keys import grants_key
from worker.messages import StandingGrant
from worker.store import Store


class Grants:
    """Keeps them, by the call that each was given on."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def give(self, person_id: str, project: str, grant_id: str, grant: StandingGrant) -> None:
        """Keep one; giving it again changes nothing."""
        await self._store.set_fields(grants_key(person_id, project), {grant_id: grant.model_dump_json()})

    async def standing(self, person_id: str, project: str, now: datetime) -> list[StandingGrant]:
        """Those that hold at `now`, oldest first; the others are dropped."""
        key = grants_key(person_id, project)
        found: list[StandingGrant] = []
        for grant_id, raw in (await self._store.fields(key)).items():
            grant = StandingGrant.model_validate_json(raw)
            if now < grant.until:
                found.append(grant)
            else:
                await self._store.drop_field(key, grant_id)
        return sorted(found, key=lambda grant: grant.at)
