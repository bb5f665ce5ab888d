"""Whose conversation it is, and where it is held."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from worker.keys import Keys
from worker.messages import Address, Language, Mode
from worker.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Whose conversation it is, and where it is held."""

    person_id: str
    project: str
    address: Address
    language: Language
    mode: Mode


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
        mode=mode_in(fields),
    )


def mode_in(fields: Mapping[str, str]) -> Mode:
    """How much runs unasked, as the conversation's record has it; asking is the default."""
    stored = fields.get("mode")
    return next((mode for mode in get_args(Mode) if mode == stored), "ask")
