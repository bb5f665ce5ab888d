"""What people say and tap: a command, an answer to a card, or work, and only from those who are served.

Above: the adapters. Below: the worker's doors. Returning means that it is stored.
"""

import unicodedata
from dataclasses import replace

import structlog
from redis.exceptions import RedisError

from gateway.access import Access
from gateway.adapter import NotStored, Said, Tapped, TapReply
from gateway.answers import Answers
from gateway.catalogue import Setting, choose_language, say
from gateway.commands import Commands, read_command
from gateway.voice import Voice
from worker.approvals import Approvals
from worker.control import Control
from worker.inbox import Inbox
from worker.messages import Inbound, Language

MAX_CHARACTERS = 100_000
_log = structlog.get_logger()


class Reception:
    """Takes what the adapters bring."""

    def __init__(
        self,
        *,
        access: Access,
        inbox: Inbox,
        approvals: Approvals,
        control: Control,
        voice: Voice,
        language: Setting,
    ) -> None:
        self._access = access
        self._inbox = inbox
        self._answers = Answers(approvals, inbox, voice)
        self._commands = Commands(control, voice, self._work)
        self._voice = voice
        self._language: Setting = language

    async def said(self, message: Said) -> None:
        """Take a message; one from somebody who is not served is dropped before anything is stored.

        Raises:
            NotStored: Redis cannot be reached.
        """
        try:
            await self._take(message)
        except RedisError as error:
            raise NotStored(str(error)) from error

    async def tapped(self, tap: Tapped) -> TapReply:
        """Take a tap; the answer tells what came of it, from the state and not from the tap.

        Raises:
            NotStored: Redis cannot be reached.
        """
        try:
            return await self._decide(tap)
        except RedisError as error:
            raise NotStored(str(error)) from error

    async def _take(self, message: Said) -> None:
        if not self._access.may_talk(message.sender):
            _log.info("inbound.stranger", platform=message.sender.platform)
            return
        said = replace(message, text=clean(message.text))
        language = choose_language(said.text, said.language, self._language)
        if not said.text.strip():
            await self._voice.reply(said, language, "message.empty")
        elif len(said.text) > MAX_CHARACTERS:
            size, limit = f"{len(said.text):,}", f"{MAX_CHARACTERS:,}"
            await self._voice.reply(said, language, "message.too_long", size=size, limit=limit)
        elif await self._inbox.was_handled(said.address, said.message_id):
            return
        elif command := read_command(said, language):
            await self._commands.carry_out(command)
            await self._inbox.mark_handled(said.address, said.message_id)
            await self._answers.forget_text_for_decided(said.address, said.sender)
        elif not await self._answers.typed(said, language):
            await self._work(said, language)

    async def _decide(self, tap: Tapped) -> TapReply:
        language = choose_language("", tap.language, self._language)
        if not self._access.may_talk(tap.sender):
            return TapReply(text=say("card.unknown", language), alert=True)
        reason = clean(tap.reason).strip()[:MAX_CHARACTERS]
        edits = {name: clean(text) for name, text in tap.edits.items()}
        return await self._answers.tapped(replace(tap, reason=reason, edits=edits), language)

    async def _work(self, said: Said, language: Language) -> None:
        accepted = await self._inbox.accept(
            Inbound(
                message_id=said.message_id,
                address=said.address,
                sender=said.sender,
                text=said.text,
                sent_at=said.sent_at,
                language=language,
            )
        )
        if accepted.outcome == "parked":
            await self._voice.reply(said, language, "message.parked")


def clean(text: str) -> str:
    """The text without NULs, other control characters and lone surrogates, which no part after this one can use."""
    kept = (
        character for character in text if character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cs"}
    )
    return "".join(kept)
