"""Delivery: what is in the outbox, in order per conversation, each part with its receipt.

Above: the worker's outbox. Below: the adapters. A send whose outcome is unknown is repeated with a mark; one that the
platform refuses is tried once in a plainer form and then set aside; everything else waits and is never dropped.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import structlog
from redis.exceptions import RedisError

from gateway.adapter import Adapter, ChatClosed, DeliveryError, OutcomeUnknown, Outgoing, Pause, RateLimited, Rejected
from gateway.cards import render_card, whole_detail, without_whole_detail
from gateway.catalogue import say
from gateway.text import plain
from gateway.wording import marked_duplicate, simplified, word
from worker.messages import ApprovalCard, FileOut, OutboxEntry, Progress
from worker.outbox import Outbox, Pending

SWEEP_SECONDS = 2.0
"""How often the list of conversations is read besides being told."""

CLOSED_SECONDS = 600.0
"""How long a chat is left alone in which we may not write, before it is tried again."""

CLOSING_SECONDS = 1.0
RETRY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
_WHOLE = -1
"""The part of a card that is the file with its whole detail."""

_log = structlog.get_logger()


@dataclass(slots=True)
class Delivery:
    """Delivers one platform's outboxes."""

    outbox: Outbox
    adapter: Adapter
    pause: Pause = asyncio.sleep
    monotonic: Callable[[], float] = time.monotonic
    _couriers: dict[str, asyncio.Task[None]] = field(default_factory=dict[str, asyncio.Task[None]])
    _sent_at: dict[str, float] = field(default_factory=dict[str, float])
    _failures: dict[str, int] = field(default_factory=dict[str, int])

    async def run(self) -> None:
        """Deliver until cancelled; what could not be delivered is there for the next process."""
        try:
            while True:
                try:
                    await self._attend()
                except RedisError as error:
                    _log.warning("outbound.redis_unreachable", platform=self.adapter.name, error=str(error))
                    await self.pause(1.0)
        finally:
            await self._call_back()

    async def _attend(self) -> None:
        """Send couriers as there is news, while no other process delivers on this platform."""
        async with self.outbox.told(self.adapter.name) as told:
            while True:
                if await self.outbox.claim(self.adapter.name):
                    for conversation_id in await self.outbox.ready(self.adapter.name):
                        self._send_courier(conversation_id)
                else:
                    await self._call_back()
                await told(SWEEP_SECONDS)

    def _send_courier(self, conversation_id: str) -> None:
        """Have somebody deliver this conversation, unless somebody does."""
        courier = self._couriers.get(conversation_id)
        if courier is None or courier.done():
            courier = asyncio.create_task(self._deliver_all(conversation_id))
            courier.add_done_callback(_tell_failure)
            self._couriers[conversation_id] = courier

    async def _call_back(self) -> None:
        """End every courier, with a moment to finish the send it is in the middle of."""
        couriers = list(self._couriers.values())
        if couriers:
            await asyncio.wait(couriers, timeout=CLOSING_SECONDS)
        for courier in couriers:
            courier.cancel()
        await asyncio.gather(*couriers, return_exceptions=True)

    async def _deliver_all(self, conversation_id: str) -> None:
        try:
            while True:
                while pending := await self.outbox.first(conversation_id):
                    await self._try(pending)
                if await self.outbox.settle(self.adapter.name, conversation_id):
                    return
        except RedisError as error:
            _log.warning("outbound.redis_unreachable", platform=self.adapter.name, error=str(error))
        finally:
            self._couriers.pop(conversation_id, None)

    async def _try(self, pending: Pending) -> None:
        """Deliver an entry, or wait as long as is wise before it is tried again."""
        chat = pending.entry.address.key
        try:
            await self._await_penalty(pending.entry)
            if not await self.outbox.claim(self.adapter.name):
                await self.pause(SWEEP_SECONDS)  # another process delivers now, and this courier is called back
                return
            await self._deliver(pending)
            self._failures.pop(chat, None)
        except RateLimited as limit:
            await self.outbox.penalise(chat, limit.seconds)
        except ChatClosed as closed:
            _log.warning("outbound.chat_closed", platform=self.adapter.name, error=str(closed))
            await self.outbox.penalise(chat, CLOSED_SECONDS)
        except DeliveryError as error:
            failures = self._failures.get(chat, 0)
            _log.warning("outbound.failed", platform=self.adapter.name, error=str(error), failures=failures + 1)
            self._failures[chat] = failures + 1
            await self.pause(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])

    async def _await_penalty(self, entry: OutboxEntry) -> None:
        while seconds := await self.outbox.penalty(entry.address.key):
            await self.pause(seconds)

    async def _deliver(self, pending: Pending) -> None:
        entry = pending.entry
        if isinstance(entry.content, Progress) and not pending.behind and await self._too_soon(entry):
            return
        refusals: list[str] = []
        for deliver in self._parts(entry):
            try:
                await deliver()
            except Rejected as error:
                refusals.append(str(error))
                _log.error("outbound.refused", platform=self.adapter.name, kind=entry.content.kind, error=str(error))
        await self.outbox.delivered(pending, refusal="; ".join(refusals))

    def _parts(self, entry: OutboxEntry) -> list[Callable[[], Awaitable[None]]]:
        """What to do for an entry, in order; a part that the platform refuses does not hold up the others."""
        if isinstance(entry.content, FileOut):
            return [partial(self._send_file, entry, entry.content)]
        if isinstance(entry.content, ApprovalCard):
            return [partial(self._deliver_card, entry, entry.content)]
        messages = enumerate(word(entry, self.adapter.capabilities))
        return [partial(self._deliver_part, entry, part, message) for part, message in messages]

    async def _too_soon(self, entry: OutboxEntry) -> bool:
        """Keep the platform's pace of edits; true when time was spent, in which a newer state may have come."""
        since = self.monotonic() - self._sent_at.get(entry.address.key, -1e9)
        left = self.adapter.capabilities.edit_seconds - since
        if left <= 0:
            return False
        await self.pause(left)
        return True

    async def _deliver_part(self, entry: OutboxEntry, part: int, message: Outgoing) -> None:
        receipt = await self.outbox.receipt(entry, part)
        if receipt is not None and not entry.slot:
            return
        if receipt is not None:
            await self._plainer_if_refused(message, lambda form: self.adapter.edit(entry.address, receipt, form))
        else:
            await self._send(entry, part, message)
        self._sent_at[entry.address.key] = self.monotonic()

    async def _send(self, entry: OutboxEntry, part: int, message: Outgoing) -> None:
        if await self.outbox.was_attempted(entry, part):
            message = marked_duplicate(message, entry.language)
        await self._once(
            entry,
            part,
            lambda: self._plainer_if_refused(message, lambda form: self.adapter.send(entry.address, form)),
        )

    async def _deliver_card(self, entry: OutboxEntry, card: ApprovalCard) -> None:
        """Show a card, and before it as a file what its text cannot hold: nobody decides about what they cannot see."""
        try:
            await self._send_whole_detail(entry, card)
        except Rejected as error:
            _log.error("outbound.detail_refused", platform=self.adapter.name, error=str(error))
            card = without_whole_detail(card)
        await self._deliver_part(entry, 0, render_card(card, entry.language, self.adapter.capabilities))

    async def _send_whole_detail(self, entry: OutboxEntry, card: ApprovalCard) -> None:
        whole = whole_detail(card, entry.language, self.adapter.capabilities)
        if whole and await self.outbox.receipt(entry, _WHOLE) is None:
            name, data = whole
            await self._once(entry, _WHOLE, lambda: self.adapter.send_file(entry.address, name, data))

    async def _send_file(self, entry: OutboxEntry, file: FileOut) -> None:
        data = await self.outbox.blob(entry.conversation_id, file.blob)
        limit = self.adapter.capabilities.file_bytes
        if await self.outbox.receipt(entry, 0) is not None:
            return
        if data is None:
            await self._send(entry, 0, Outgoing(text=plain(say("file.gone", entry.language))))
        elif len(data) > limit:
            text = say("file.too_big", entry.language, name=file.name, size=f"{len(data):,}", limit=f"{limit:,}")
            await self._send(entry, 0, Outgoing(text=plain(text)))
        else:
            if await self.outbox.was_attempted(entry, 0):
                await self._send(entry, 1, Outgoing(text=plain(say("delivery.may_be_duplicate", entry.language))))
            await self._once(entry, 0, lambda: self.adapter.send_file(entry.address, file.name, data))

    async def _once(self, entry: OutboxEntry, part: int, send: Callable[[], Awaitable[str | None]]) -> None:
        """Send with a note before and a receipt after; what surely was not sent leaves no note."""
        await self.outbox.begin(entry, part)
        try:
            message_id = await send()
        except OutcomeUnknown:
            raise
        except DeliveryError:
            await self.outbox.withdraw(entry, part)
            raise
        await self.outbox.record(entry, part, message_id or "")

    async def _plainer_if_refused(
        self, message: Outgoing, send: Callable[[Outgoing], Awaitable[str | None]]
    ) -> str | None:
        try:
            return await send(message)
        except Rejected:
            return await send(simplified(message))


def _tell_failure(courier: asyncio.Task[None]) -> None:
    if not courier.cancelled() and (error := courier.exception()):
        _log.error("outbound.courier_broke", error=repr(error), exc_info=error)
