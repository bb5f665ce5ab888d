"""A conversation and its ledger as one: what is recorded is folded in at once, and nothing is folded in unrecorded."""

from datetime import datetime
from typing import Any

from agent.conversation import Conversation
from agent.ledger import Ledger


class Journal:
    """The only way in which a running session changes its conversation."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.conversation = Conversation(ledger.read())

    def record(self, kind: str, data: dict[str, Any], *, durable: bool = True) -> None:
        """Append an entry and fold it in; one that need not be `durable` may be lost in a crash, with all after it.

        Raises:
            OSError: it could not be written, and nothing changed.
        """
        self.conversation.apply(self._ledger.append(kind, data, durable=durable))

    def now(self) -> datetime:
        """The ledger's time."""
        return self._ledger.now()
