"""Telegram as a platform: private chats with a bot, by long polling.

The offset is moved by our own loop and only past what is stored: python-telegram-bot's Updater asks for the next
offset, and so confirms a batch, before anything was done with it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from itertools import chain, repeat
from typing import TypeVar

import structlog
from telegram import CallbackQuery, ForceReply, LinkPreviewOptions, Message, Update, User
from telegram.constants import ChatType, MessageLimit, UpdateType

from gateway.adapter import (
    AdapterRefused,
    Capabilities,
    DeliveryError,
    Listener,
    NotStored,
    Outgoing,
    Pause,
    RateLimited,
    Rejected,
)
from gateway.adapters.telegram import wire
from gateway.catalogue import say
from gateway.text import plain, utf16_units
from worker.messages import Address

CAPABILITIES = Capabilities(
    max_text=MessageLimit.MAX_TEXT_LENGTH, measure=utf16_units, edit_seconds=1.5, file_bytes=50_000_000
)
POLL_SECONDS = 25
_FIX = "Set PAIGATE_TELEGRAM_TOKEN to the token that @BotFather shows for this bot"
_TOAST_CHARACTERS = 200
_NOTED_STRANGERS = 1000
_EDIT_IS_DONE = ("message is not modified", "message to edit not found", "message_id_invalid")
_MOST_TRIES = 3
"""How often an update is handed on that breaks something other than the store."""

_Result = TypeVar("_Result")
logger = structlog.get_logger()


class TelegramAdapter:
    """One bot, for the people whose numeric ids are in `allow`; an empty `allow` serves nobody.

    `base_url` is another Bot API server, with or without `/bot` at its end. `pause` waits out failures.
    """

    name = wire.NAME
    capabilities = CAPABILITIES

    def __init__(
        self, *, token: str, base_url: str | None = None, allow: frozenset[str], pause: Pause = asyncio.sleep
    ) -> None:
        self._link = wire.Connection(token, base_url)
        self._bot = self._link.bot
        self._allow, self._pause = allow, pause
        self._strangers: set[int] = set()
        self._told_groups: set[int] = set()
        self._told_album = ""

    async def check(self) -> str:
        """Ask Telegram who the bot is, and return its user name.

        Raises:
            AdapterRefused: the token is not valid.
            DeliveryError: Telegram could not be asked.
        """
        me = await self._ask(self._bot.get_me())
        return f"@{me.username}"

    async def run(self, listener: Listener) -> None:
        """Receive until cancelled, and then close all connections.

        Raises:
            AdapterRefused: the token is not valid, at the start or any more.
        """
        try:
            logger.info("telegram.connected", bot=await self._patiently(self.check))
            offset: int | None = None
            while True:
                for update in await self._patiently(partial(self._poll, offset)):
                    await self._store(update, listener)
                    offset = update.update_id + 1
        finally:
            await self.close()

    async def close(self) -> None:
        """Close all connections; whoever sends without `run` must do so."""
        await self._link.close()

    async def send(self, address: Address, message: Outgoing) -> str:
        """Send a message and return its id.

        Raises:
            DeliveryError: as the port says; `RateLimited` to the second that Telegram asks for.
        """
        text, entities = wire.form(message.text)
        sent = await self._link.call(
            self._bot.send_message(
                chat_id=address.chat_id,
                message_thread_id=int(address.thread_id) if address.thread_id else None,
                text=text,
                entities=entities,
                reply_markup=wire.keyboard(message) or (ForceReply() if message.reply else None),
                disable_notification=message.silent,
                link_preview_options=LinkPreviewOptions(is_disabled=True),
            )
        )
        return str(sent.message_id)

    async def edit(self, address: Address, message_id: str, message: Outgoing) -> None:
        """Replace a sent message's text and buttons; one that is already equal or gone is no error.

        Raises:
            DeliveryError: as for `send`.
        """
        text, entities = wire.form(message.text)
        try:
            await self._link.call(
                self._bot.edit_message_text(
                    chat_id=address.chat_id,
                    message_id=int(message_id),
                    text=text,
                    entities=entities,
                    reply_markup=wire.keyboard(message),
                    link_preview_options=LinkPreviewOptions(is_disabled=True),
                )
            )
        except Rejected as error:
            if not any(answer in str(error).lower() for answer in _EDIT_IS_DONE):
                raise

    async def send_file(self, address: Address, name: str, data: bytes) -> str:
        """Send a file as a document and return the message's id.

        Raises:
            Rejected: it is larger than bots may send.
            DeliveryError: as for `send`.
        """
        if len(data) > CAPABILITIES.file_bytes:
            raise Rejected(f"{name!r} is larger than {CAPABILITIES.file_bytes} bytes")
        sent = await self._link.call(
            self._bot.send_document(
                chat_id=address.chat_id,
                message_thread_id=int(address.thread_id) if address.thread_id else None,
                document=data,
                filename=name,
            )
        )
        return str(sent.message_id)

    async def _poll(self, offset: int | None) -> tuple[Update, ...]:
        wanted = [UpdateType.MESSAGE, UpdateType.CALLBACK_QUERY]
        return await self._ask(self._bot.get_updates(offset=offset, timeout=POLL_SECONDS, allowed_updates=wanted))

    async def _patiently(self, operation: Callable[[], Awaitable[_Result]]) -> _Result:
        """Repeat an operation until Telegram answers it."""
        delays = _delays()
        while True:
            try:
                return await operation()
            except RateLimited as error:
                seconds = error.seconds
            except DeliveryError as error:
                seconds = next(delays)
                logger.warning("telegram.waiting", reason=str(error), seconds=seconds)
            await self._pause(seconds)

    async def _store(self, update: Update, listener: Listener) -> None:
        """Hand one update on until it is stored, so that nothing after it is confirmed before.

        One that breaks us again and again must not hold up everybody: its sender is told, and the rest goes on.
        """
        delays, tries = _delays(), 0
        while True:
            try:
                return await self._hand_on(update, listener)
            except NotStored as error:
                logger.warning("telegram.not_stored", update_id=update.update_id, reason=str(error))
            except Exception:
                tries += 1
                logger.exception("telegram.update_broke", update_id=update.update_id, tries=tries)
                if tries == _MOST_TRIES:
                    return await self._give_up(update)
            await self._pause(next(delays))

    async def _give_up(self, update: Update) -> None:
        if update.message and update.message.from_user:
            language = wire.language(update.message.from_user) or "en"
            await self._tell(update.message, say("message.not_stored", language))

    async def _hand_on(self, update: Update, listener: Listener) -> None:
        if update.callback_query:
            await self._tapped(update.callback_query, listener)
        elif update.message and update.message.from_user and self._serves(update.message.from_user):
            await self._said(update.message, update.message.from_user, listener)

    async def _tapped(self, query: CallbackQuery, listener: Listener) -> None:
        message = query.message
        if not self._serves(query.from_user) or not message or message.chat.type != ChatType.PRIVATE:
            return
        reply = await listener.tapped(wire.tapped(query, message))
        shown = reply.text[:_TOAST_CHARACTERS]
        try:
            await self._link.call(self._bot.answer_callback_query(query.id, text=shown, show_alert=reply.alert))
        except DeliveryError as error:  # mostly too old a query; the decision is stored, and the card shows it
            logger.info("telegram.tap_not_answered", reason=str(error))

    async def _said(self, message: Message, user: User, listener: Listener) -> None:
        language = wire.language(user) or "en"
        if message.chat.type != ChatType.PRIVATE:
            if message.chat.id not in self._told_groups:
                self._told_groups.add(message.chat.id)
                await self._tell(message, say("telegram.private_only", language))
            return
        text = message.text if message.text is not None else message.caption
        if text is not None:
            await listener.said(wire.said(message, user, text))
        album = message.media_group_id or ""
        if message.effective_attachment and (not album or album != self._told_album):
            self._told_album = album
            await self._tell(message, say("telegram.text_only", language))

    async def _tell(self, message: Message, text: str) -> None:
        notice = Outgoing(text=plain(text), silent=True)
        try:
            await self.send(wire.address(message), notice)
        except DeliveryError as error:
            logger.warning("telegram.notice_not_sent", reason=str(error))

    def _serves(self, user: User) -> bool:
        if str(user.id) in self._allow:
            return True
        if user.id not in self._strangers and len(self._strangers) < _NOTED_STRANGERS:
            self._strangers.add(user.id)
            logger.warning("telegram.stranger_ignored", user_id=user.id, strangers=len(self._strangers))
        return False

    async def _ask(self, request: Coroutine[None, None, _Result]) -> _Result:
        """Call for the adapter's own sake, where a refused token is final."""
        try:
            return await self._link.call(request)
        except wire.TokenRefused as error:
            raise AdapterRefused(wire.NAME, str(error), _FIX) from error


def _delays() -> Iterator[float]:
    return chain((1.0, 2.0, 4.0, 8.0, 16.0), repeat(30.0))
