"""Whose conversation it is, and where it is held."""

from dataclasses import dataclass

from worker.keys import Keys
from worker.messages import Address, Language
from worker.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Whose conversation it is, and where it is held."""

    person_id: str
    project: str
    address: Address
    language: Language


async def read_about(store: Store, conversation_id: str) -> About:
    """Read what is known of a conversation.

    Raises:
        KeyError: there is no such conversation.
    """
    fields = await store.fields(Keys(conversation_id).about)
    return About(
        person_id=fields["person"],
        project=fields["project"],
        address=Address.model_validate_json(fields["address"]),
        language="zh" if fields.get("language") == "zh" else "en",
    )
