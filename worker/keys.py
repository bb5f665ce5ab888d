"""The keys of our state in Redis; those of a conversation carry its id as hash tag, so that one script may use them."""

from dataclasses import dataclass

PREFIX = "paigate"
REMEMBERED_SECONDS = 7 * 24 * 3600
"""How long a platform message id, a receipt and a decision are remembered."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one conversation."""

    conversation_id: str

    def _key(self, name: str) -> str:
        return f"{PREFIX}:{{{self.conversation_id}}}:{name}"

    @property
    def about(self) -> str:
        """Hash: address, person, project, language."""
        return self._key("about")

    @property
    def waiting(self) -> str:
        """List of `Inbound`, oldest first: said, and not yet in the ledger."""
        return self._key("waiting")

    @property
    def known(self) -> str:
        """Sorted set: platform message id -> when it was accepted (ms)."""
        return self._key("known")

    @property
    def turn(self) -> str:
        """Hash: how the conversation's turn stands; see `WAKE` for its fields."""
        return self._key("turn")

    @property
    def decided(self) -> str:
        """List of approval ids whose decision no turn has taken up yet."""
        return self._key("decided")

    @property
    def pending(self) -> str:
        """Set of approval ids that wait for a person."""
        return self._key("pending")

    def approval(self, approval_id: str) -> str:
        """String: one `Approval`, as it was asked."""
        return self._key(f"approval:{approval_id}")

    def decision(self, approval_id: str) -> str:
        """String: the first decision on it."""
        return self._key(f"decision:{approval_id}")

    def shown(self, approval_id: str) -> str:
        """String with an expiry: the outcome was put on the card."""
        return self._key(f"shown:{approval_id}")

    @property
    def outbox(self) -> str:
        """List of entry ids, in the order to be said."""
        return self._key("outbox")

    @property
    def entries(self) -> str:
        """Hash: entry id -> `OutboxEntry`."""
        return self._key("entries")

    def done(self, entry_id: str) -> str:
        """String with an expiry: this entry was delivered."""
        return self._key(f"done:{entry_id}")

    def receipt(self, name: str, part: int) -> str:
        """String with an expiry: the platform's message id of a part of an entry or slot."""
        return self._key(f"receipt:{name}#{part}")

    def attempt(self, name: str, part: int) -> str:
        """String with an expiry: a send of this part was begun."""
        return self._key(f"attempt:{name}#{part}")

    @property
    def dead(self) -> str:
        """List of what the platform refused for good, the newest last."""
        return self._key("dead")

    @property
    def errands(self) -> str:
        """Hash: entry id -> `Errand`, until its outcome is in the outbox."""
        return self._key("errands")

    def blob(self, blob_id: str) -> str:
        """String: the bytes of a file on its way to a person."""
        return self._key(f"blob:{blob_id}")


ACTIVE = f"{PREFIX}:active"
"""Sorted set: conversation id -> when it was last touched (ms); what the reconciler looks after."""

PARKED = f"{PREFIX}:parked"
"""Sorted set: approval id -> when it expires (ms)."""


def chat_key(address_key: str) -> str:
    """String: the conversation that a chat is bound to."""
    return f"{PREFIX}:chat:{address_key}"


def seen_key(address_key: str, message_id: str) -> str:
    """String: the conversation that a platform message went to."""
    return f"{PREFIX}:seen:{address_key}:{message_id}"


def handled_key(address_key: str, message_id: str) -> str:
    """String: this platform message was for Paigate itself, and was dealt with."""
    return f"{PREFIX}:handled:{address_key}:{message_id}"


def person_key(platform: str, user_id: str) -> str:
    """String: the person behind a platform user."""
    return f"{PREFIX}:person:{platform}:{user_id}"


def ready_key(platform: str) -> str:
    """Set of conversations with something to say on a platform; also the name of the channel that tells so."""
    return f"{PREFIX}:ready:{platform}"


def awaited_key(address_key: str, person_id: str) -> str:
    """String with an expiry: the `AwaitedText` that a person's next message in a chat is."""
    return f"{PREFIX}:awaited:{address_key}:{person_id}"


def grants_key(person_id: str, project: str) -> str:
    """Hash: conversation and call -> `StandingGrant`, for one person in one project."""
    return f"{PREFIX}:grants:{person_id}:{project}"


def deliverer_key(platform: str) -> str:
    """String with an expiry: the process that delivers on a platform."""
    return f"{PREFIX}:deliverer:{platform}"


def penalty_key(address_key: str) -> str:
    """String with an expiry: nothing may be sent to this chat until then."""
    return f"{PREFIX}:penalty:{address_key}"
