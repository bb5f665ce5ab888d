"""Telegram's wire, as `gateway.adapters.telegram` uses it: connections, errors, and its forms of our records.

Facts are those of core.telegram.org/bots/api; all of it goes through python-telegram-bot.
"""

import logging
import os
import re
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

import httpx

# The library warns, also of its own use, until this says that waits may be timedelta.
os.environ.setdefault("PTB_TIMEDELTA", "1")

from telegram import (
    Bot,
    CallbackQuery,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    MaybeInaccessibleMessage,
    Message,
    MessageEntity,
    User,
)
from telegram.constants import MessageEntityType, MessageLimit
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, RetryAfter, TelegramError
from telegram.request import HTTPXRequest

from gateway.adapter import (
    Button,
    ChatClosed,
    DeliveryError,
    OutcomeUnknown,
    Outgoing,
    RateLimited,
    Rejected,
    Said,
    Tapped,
    Unreachable,
)
from gateway.text import RichText, Style, utf16_units
from worker.messages import Address, Language, Sender

NAME = "telegram"
_OFFICIAL_SERVER = "https://api.telegram.org/bot"
_TOKEN = re.compile(r"\d+:[\w-]+", re.ASCII)

_ENTITIES: Final[dict[Style, MessageEntityType]] = {
    "bold": MessageEntityType.BOLD,
    "italic": MessageEntityType.ITALIC,
    "strike": MessageEntityType.STRIKETHROUGH,
    "code": MessageEntityType.CODE,
    "pre": MessageEntityType.PRE,
    "link": MessageEntityType.TEXT_LINK,
    "quote": MessageEntityType.BLOCKQUOTE,
}
_TYPED_STYLES = frozenset(_ENTITIES.values()) | {MessageEntityType.UNDERLINE, MessageEntityType.SPOILER}
"""What clients make of signs such as `**`, which then are no part of the text."""
_VERBATIM = frozenset({MessageEntityType.CODE, MessageEntityType.PRE})
_BUTTON_STYLES: Final = {"plain": None, "good": "success", "danger": "danger"}
_LINK = re.compile(r"(?:https?|tg)://[^\s/]", re.IGNORECASE)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.InvalidURL,
    RuntimeError,  # the client is closed
)

_Result = TypeVar("_Result")


class TokenRefused(Unreachable):
    """The token is not valid: what is to be sent waits for another one."""


class Connection:
    """A bot and its connections. `base_url` is another Bot API server, with or without `/bot` at its end.

    The token is kept out of every log and exception; no traceback of one leads to an address that holds it.
    """

    def __init__(self, token: str, base_url: str | None = None) -> None:
        for source in ("httpx", "telegram.Bot"):
            logging.getLogger(source).addFilter(_HideToken(token))
        root = (base_url or _OFFICIAL_SERVER).rstrip("/").removesuffix("/bot")
        self._token = token
        self._polling, self._sending = _http(connections=1), _http(connections=16)
        self.bot = Bot(
            token or "none",  # `call` refuses it with a reason
            base_url=f"{root}/bot",
            base_file_url=f"{root}/file/bot",
            get_updates_request=self._polling,
            request=self._sending,
        )

    async def call(self, request: Coroutine[None, None, _Result]) -> _Result:
        """Await a call of `bot`.

        Raises:
            TokenRefused: the token is not valid, or not even of a token's form.
            DeliveryError: as the port says.
        """
        if not _TOKEN.fullmatch(self._token):
            request.close()
            raise TokenRefused("the bot token is not of the form 12345:letters")
        try:
            return await request
        except TelegramError as error:
            problem = _problem(error, str(error).replace(self._token, "[token]"))
        raise problem  # out here, so that the error does not carry the frames of the request

    async def close(self) -> None:
        """Close all connections; every later call is `Unreachable`."""
        await self._polling.shutdown()
        await self._sending.shutdown()


@dataclass(frozen=True)
class _HideToken:
    """Filter of loggers that write request addresses."""

    token: str

    def filter(self, record: logging.LogRecord) -> bool:
        if self.token:
            record.msg, record.args = record.getMessage().replace(self.token, "[token]"), ()
        return True


def _http(*, connections: int) -> HTTPXRequest:
    """Open a pool. A kept connection is dropped before servers do so: a send on a dying one has no known outcome."""
    limits = httpx.Limits(max_connections=connections, keepalive_expiry=3.0)
    return HTTPXRequest(read_timeout=20.0, connect_timeout=10.0, httpx_kwargs={"limits": limits})


def _problem(error: TelegramError, detail: str) -> DeliveryError:
    match error:
        case RetryAfter():
            wait = error.retry_after
            return RateLimited(wait.total_seconds() if isinstance(wait, timedelta) else wait)
        case InvalidToken():
            return TokenRefused(f"Telegram does not accept the bot token ({detail})")
        case Forbidden():
            return ChatClosed(detail)
        case BadRequest() | ChatMigrated():
            return Rejected(detail)
        case Conflict():
            return Unreachable(f"another poller or a webhook uses this bot's token, stop that one first ({detail})")
        case _:
            sent = not isinstance(error.__cause__, _NOT_SENT)
            return OutcomeUnknown(detail) if sent else Unreachable(detail)


def form(rich: RichText) -> tuple[str, list[MessageEntity]]:
    """Give Telegram's form of a text; styles beyond the number it takes, or it would not understand, are left out."""
    text = _LONE_SURROGATE.sub("\ufffd", rich.text)
    entities = [
        MessageEntity(
            type=_ENTITIES[span.style],
            offset=span.start,
            length=span.end - span.start,
            url=span.value if span.style == "link" else None,
            language=(span.value or None) if span.style == "pre" else None,
        )
        for span in rich.spans
        if span.style != "link" or _LINK.match(span.value)
    ]
    shown = entities[: MessageLimit.MESSAGE_ENTITIES]
    return text, list(MessageEntity.adjust_message_entities_to_utf_16(text, shown))


def keyboard(message: Outgoing) -> InlineKeyboardMarkup | None:
    """Give the buttons' inline keyboard; in an edit, none takes the old one away."""
    if not message.buttons:
        return None
    return InlineKeyboardMarkup([[_button(button) for button in row] for row in message.buttons])


def _button(button: Button) -> InlineKeyboardButton:
    return InlineKeyboardButton(button.label, callback_data=button.value, style=_BUTTON_STYLES[button.style])


def said(message: Message, user: User, text: str) -> Said:
    """Record a private message."""
    quoted = message.reply_to_message
    return Said(
        message_id=str(message.message_id),
        address=address(message),
        sender=_sender(user),
        text=text,
        sent_at=message.date,
        language=language(user),
        quoted=str(quoted.message_id) if quoted and not quoted.forum_topic_created else "",
        styled=_is_styled(text, message.entities or message.caption_entities),
    )


def _is_styled(text: str, entities: Sequence[MessageEntity]) -> bool:
    """Tell whether signs may be missing in a text; one code block as the whole message keeps all that is in it."""
    styled = [entity for entity in entities if entity.type in _TYPED_STYLES]
    verbatim = len(styled) == 1 and styled[0].type in _VERBATIM and styled[0].length == utf16_units(text)
    return bool(styled) and not verbatim


def tapped(query: CallbackQuery, message: MaybeInaccessibleMessage) -> Tapped:
    """Record a tap on a button of `message`."""
    user = query.from_user
    return Tapped(address=address(message), sender=_sender(user), value=query.data or "", language=language(user))


def address(message: MaybeInaccessibleMessage) -> Address:
    """Name the chat. A thread id alone does not make a topic: plain replies have one too."""
    thread_id = ""
    if isinstance(message, Message) and message.is_topic_message:
        thread_id = str(message.message_thread_id)
    return Address(platform=NAME, chat_id=str(message.chat.id), thread_id=thread_id)


def language(user: User) -> Language | None:
    """Tell which of our languages comes nearest to the user's; None when Telegram does not say."""
    if not user.language_code:
        return None
    return "zh" if user.language_code.lower().startswith("zh") else "en"


def _sender(user: User) -> Sender:
    return Sender(platform=NAME, user_id=str(user.id), name=user.full_name)
