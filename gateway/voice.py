"""Paigate's own voice in a chat: notices in answer to what was said, once each, in order with everything else."""

import hashlib

from gateway.adapter import Said
from worker.control import Control
from worker.messages import Address, Language, Notice, OutboxEntry, Sender
from worker.outbox import Outbox


class Voice:
    """Says notices through the outbox."""

    def __init__(self, control: Control, outbox: Outbox) -> None:
        self._control = control
        self._outbox = outbox

    async def reply(self, said: Said, language: Language, key: str, **values: str) -> None:
        """Answer a message with a notice; a message that is delivered again is not answered again."""
        await self.say(said.address, said.sender, language, self.entry_id(said), key, **values)

    async def say(
        self, address: Address, sender: Sender, language: Language, entry_id: str, key: str, **values: str
    ) -> None:
        """Post a notice, once per `entry_id`."""
        conversation_id = await self._control.conversation(address, sender)
        await self._outbox.post(
            OutboxEntry(
                entry_id=entry_id,
                conversation_id=conversation_id,
                address=address,
                language=language,
                content=Notice(key=key, values=values),
            )
        )

    def entry_id(self, said: Said) -> str:
        """The id of the answer to a message: always the same one, and fit for a job's name."""
        named = f"{said.address.key}/{said.message_id}"
        return "reply-" + hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:24]
