"""PORT: one chat platform.

Above: `gateway.inbound` takes what people say and tap, `gateway.outbound` says what is in the outbox. Below:
`gateway/adapters/`, one file a platform. An adapter turns its platform's form into these records and back, and holds
nothing that must survive it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from gateway.text import RichText
from worker.messages import Address, Language, Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A person's message. `message_id` is the platform's own; `quoted` the id of the message it answers.

    `styled` tells that the platform took signs out of the text and made them styles of it: it is not what was typed.
    """

    message_id: str
    address: Address
    sender: Sender
    text: str
    sent_at: datetime
    language: Language | None
    quoted: str = ""
    styled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tapped:
    """A tapped button: the opaque `value` that was sent with it, and what was typed for it where that is possible.

    `edits` are new texts of arguments, by name, as the message with the button offered them.
    """

    address: Address
    sender: Sender
    value: str
    language: Language | None
    reason: str = ""
    edits: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class TapReply:
    """What to show at once to the one who tapped (a toast, at most 200 characters)."""

    text: str
    alert: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button under a message; `value` is opaque and at most 64 bytes.

    `asks_reason` and `edits` tell what the person may type before the tap is sent, on platforms that can do so:
    a reason, or new texts of what the message offers as `editable`.
    """

    label: str
    value: str
    style: Literal["plain", "good", "danger"] = "plain"
    asks_reason: bool = False
    edits: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """One message as the platform should show it.

    `diff` is a unified diff that belongs to a card, whole, for platforms that show diffs themselves.
    `editable` are the arguments of a card that its button with `edits` changes, by name.
    `reply` asks the client to open its reply field for the person (Telegram's force reply).
    """

    text: RichText
    role: Literal["progress", "card", "answer", "notice"] = "notice"
    buttons: tuple[tuple[Button, ...], ...] = ()
    diff: str = ""
    editable: dict[str, str] = field(default_factory=dict[str, str])
    reply: bool = False
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a platform can do, and its limits: text in its own unit, seconds between two edits of a message."""

    max_text: int
    measure: Callable[[str], int]
    """Length of a text in the platform's unit, after rendering."""
    edit_seconds: float
    file_bytes: int
    shows_diffs: bool = False
    """Whether a card's diff is shown by the platform itself, so that the card's text leaves it out."""
    edits_in_place: bool = False
    """Whether a card's arguments can be changed on it; elsewhere a command is, by the person's next message."""


MARK_UNITS = 64
"""Room that every message leaves within `max_text` for the mark of a possible duplicate."""

EDITED_ARGUMENTS = 8
EDITED_CHARACTERS = 100_000
"""As many arguments, and as many characters of names and texts in all, can be changed on a card."""


class DeliveryError(Exception):
    """A send or edit did not work."""


class RateLimited(DeliveryError):
    """Wait `seconds` before anything else is sent to this chat; nothing was sent."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"wait {seconds} s")
        self.seconds = seconds


class Rejected(DeliveryError):
    """The platform refused this message for good; nothing was sent."""


class ChatClosed(DeliveryError):
    """We may not write to this chat at present (the person blocked the bot); nothing was sent."""


class Unreachable(DeliveryError):
    """The platform was not reached at all, so nothing was sent: try again later."""


class OutcomeUnknown(DeliveryError):
    """The request went out and no answer came back: it may have been delivered."""


class AdapterRefused(Exception):
    """The platform does not take this adapter's credentials: the operator must mend them, waiting cannot."""

    def __init__(self, name: str, detail: str, fix: str) -> None:
        super().__init__(f"{name}: {detail}. {fix}")
        self.name = name
        self.detail = detail
        self.fix = fix


class NotStored(Exception):
    """What an adapter brought could not be stored now: it must be brought again, and the platform not be told."""


class Listener(Protocol):
    """Where an adapter brings what happened. Returning means that it is stored: only then may the platform be told.

    Both methods raise `NotStored` while the store cannot be reached; bringing the same again is harmless.
    """

    async def said(self, message: Said) -> None:
        """Take a message, once per platform message id."""
        ...

    async def tapped(self, tap: Tapped) -> TapReply:
        """Take a tap and tell what to show the one who tapped."""
        ...


class Adapter(Protocol):
    """One platform's connection."""

    @property
    def name(self) -> str:
        """The platform's name, as in `Address.platform`."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        ...

    async def check(self) -> str:
        """Find out who we are on the platform.

        Raises:
            AdapterRefused: the platform does not take our credentials.
            DeliveryError: it could not be asked.
        """
        ...

    async def run(self, listener: Listener) -> None:
        """Receive until cancelled; reconnects by itself, and never acknowledges what the listener has not stored.

        Raises:
            AdapterRefused: the platform does not take the credentials.
        """
        ...

    async def send(self, address: Address, message: Outgoing) -> str:
        """Send and return the platform's message id.

        Raises:
            DeliveryError: a subclass that says whether to wait, give up, or mark a resend as a possible duplicate.
        """
        ...

    async def edit(self, address: Address, message_id: str, message: Outgoing) -> None:
        """Replace a sent message; one that is already equal or gone is no error.

        Raises:
            DeliveryError: as for `send`.
        """
        ...

    async def send_file(self, address: Address, name: str, data: bytes) -> str:
        """Send a file and return the platform's message id.

        Raises:
            DeliveryError: as for `send`.
        """
        ...


Clock = Callable[[], datetime]
Pause = Callable[[float], Awaitable[None]]
