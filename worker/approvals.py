"""DOOR: questions "may this exact call run?", asked once, decided once, by the one who may."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from worker.decisions import ASK, DECIDE, AwaitedText, StoredDecision, TextKind, edited_text, was_offered
from worker.inbox import identify
from worker.keys import PARKED, REMEMBERED_SECONDS, Keys, awaited_key
from worker.messages import (
    Address,
    Approval,
    ApprovalCard,
    ApprovalState,
    Decided,
    OutboxEntry,
    Scope,
    Sender,
)
from worker.outbox import LeaseLost, Outbox
from worker.queue import TurnQueue
from worker.store import Store, milliseconds, utc_now

AWAITED_SECONDS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A decision that the next turn must take up, with what it was asked for."""

    approval: Approval
    decision: StoredDecision


class Approvals:
    """Asks, decides and remembers."""

    def __init__(self, store: Store, queue: TurnQueue, outbox: Outbox) -> None:
        self._store = store
        self._queue = queue
        self._outbox = outbox

    async def ask(self, approval: Approval, *, fence: int) -> None:
        """Register the question, then post its card: a tap can never come before the question is known.

        Raises:
            LeaseLost: the asking turn no longer owns the conversation.
        """
        keys = Keys(approval.conversation_id)
        lifetime = int((approval.card.expires_at - utc_now()).total_seconds()) + REMEMBERED_SECONDS
        name = approval.approval_id
        due = {approval.approval_id: milliseconds(approval.card.expires_at)}
        await self._store.answer(self._store.redis.zadd(PARKED, due))
        (outcome,) = await self._store.call(
            ASK,
            [keys.approval(name), keys.pending, keys.turn, keys.decision(name)],
            name,
            approval.model_dump_json(),
            lifetime,
            fence,
        )
        if outcome == "lost":
            raise LeaseLost(approval.conversation_id)
        shown = await self.outcome(approval)
        await self._post(shown, shown.card)

    async def find(self, approval_id: str) -> Approval | None:
        """The approval behind the id that a button carried, or nothing."""
        conversation_id = _conversation_of(approval_id)
        raw = await self._store.text(Keys(conversation_id).approval(approval_id))
        return Approval.model_validate_json(raw) if raw else None

    async def decide(
        self,
        approval_id: str,
        *,
        sender: Sender,
        scope: Scope,
        reason: str = "",
        edits: dict[str, str] | None = None,
    ) -> Decided:
        """Take a person's answer: the first one wins, and only the one who was asked may give it.

        `edits` are new texts of arguments that the card offered for that; others decide nothing, nor does an answer
        that the card did not offer.
        """
        approval = await self.find(approval_id)
        if approval is None:
            return Decided(outcome="unknown")
        if not await self.may_decide(approval, sender):
            return Decided(outcome="foreign")
        if not was_offered(approval.card, scope, edits):
            return Decided(outcome="unknown")
        now = utc_now()
        if now >= approval.card.expires_at:
            await self.expire(approval)
            return Decided(outcome="expired", approval=await self.outcome(approval))
        until = approval.card.grant_until if scope == "project" else None
        decision = StoredDecision(scope=scope, by=sender.name, at=now, reason=reason, until=until, edits=edits)
        return await self._settle(approval, decision)

    async def may_decide(self, approval: Approval, sender: Sender) -> bool:
        """Whether this is the person who was asked."""
        return await identify(self._store, sender) == approval.requester_id

    async def await_text(self, kind: TextKind, approval_id: str, address: Address, sender: Sender) -> None:
        """Take this person's next message in the chat as this text, and as no other, for ten minutes."""
        awaited = AwaitedText(kind=kind, approval_id=approval_id)
        key = await self._awaited_key(address, sender)
        await self._store.set(key, awaited.model_dump_json(), seconds=AWAITED_SECONDS)

    async def awaited_text(self, address: Address, sender: Sender) -> AwaitedText | None:
        """What this person's next message in the chat is, if it is not work."""
        raw = await self._store.text(await self._awaited_key(address, sender))
        return AwaitedText.model_validate_json(raw) if raw else None

    async def text_given(self, address: Address, sender: Sender) -> None:
        """Take this person's message after this one as an ordinary one again."""
        await self._store.delete(await self._awaited_key(address, sender))

    async def _awaited_key(self, address: Address, sender: Sender) -> str:
        return awaited_key(address.key, await identify(self._store, sender))

    async def expire(self, approval: Approval) -> None:
        """Nobody answered in time, which is a no."""
        decision = StoredDecision(scope="deny", by="", at=approval.card.expires_at, ended="expired")
        await self._settle(approval, decision)

    async def withdraw(self, conversation_id: str) -> None:
        """End everything that is pending in a conversation, because its person said stop."""
        for approval in await self.pending(conversation_id):
            decision = StoredDecision(scope="deny", by="", at=utc_now(), ended="withdrawn")
            await self._settle(approval, decision)

    async def pending(self, conversation_id: str) -> list[Approval]:
        """What waits for a person in a conversation."""
        names = sorted(await self._store.members(Keys(conversation_id).pending))
        found = [await self.find(name) for name in names]
        return [approval for approval in found if approval is not None]

    async def overdue(self, now: datetime, limit: int) -> list[Approval]:
        """At most `limit` approvals whose time has run out; entries that need nothing more are dropped."""
        due = self._store.redis.zrangebyscore(PARKED, 0, milliseconds(now), start=0, num=limit)
        members: list[str] = await self._store.answer(due)
        overdue: list[Approval] = []
        for member in members:
            approval = await self.find(member)
            if approval is not None and await self._decision(approval) is None:
                overdue.append(approval)
                continue
            if approval is not None:
                await self.show(approval)
            await self._store.exclude(Keys(_conversation_of(member)).pending, member)
            await self._store.answer(self._store.redis.zrem(PARKED, member))
        return overdue

    async def taken(self, conversation_id: str) -> list[Taken]:
        """Decisions that no turn has taken up yet, in the order they were made."""
        found: list[Taken] = []
        for name in await self._store.items(Keys(conversation_id).decided):
            approval = await self.find(name)
            decision = await self._decision(approval) if approval else None
            if approval and decision:
                found.append(Taken(approval=approval, decision=decision))
            else:  # forgotten long ago
                await self._store.remove(Keys(conversation_id).decided, name)
        return found

    async def settled(self, conversation_id: str, approval_ids: list[str]) -> None:
        """These decisions are in the ledger now."""
        if approval_ids:
            await self._store.remove(Keys(conversation_id).decided, *approval_ids)

    async def _settle(self, approval: Approval, decision: StoredDecision) -> Decided:
        keys, name = Keys(approval.conversation_id), approval.approval_id
        await self._store.touch(approval.conversation_id)
        outcome, epoch = await self._store.call(
            DECIDE,
            [keys.decision(name), keys.pending, keys.decided, keys.turn],
            name,
            decision.model_dump_json(),
            REMEMBERED_SECONDS,
        )
        shown = await self.show(approval)
        await self._store.answer(self._store.redis.zrem(PARKED, approval.approval_id))
        if epoch:  # last, so that the card shows its outcome before the turn says anything
            await self._queue.call_turn(approval.conversation_id, epoch)
        return Decided(outcome=outcome, approval=shown)

    async def show(self, approval: Approval) -> Approval:
        """Put the outcome on the card, unless it is there; whoever comes after a crash does what was left undone."""
        shown = await self.outcome(approval)
        key = Keys(approval.conversation_id).shown(approval.approval_id)
        if await self._store.text(key) is None:
            await self._post(shown, shown.card)
            await self._store.set(key, "1", seconds=REMEMBERED_SECONDS)
        return shown

    async def _decision(self, approval: Approval) -> StoredDecision | None:
        raw = await self._store.text(Keys(approval.conversation_id).decision(approval.approval_id))
        return StoredDecision.model_validate_json(raw) if raw else None

    async def outcome(self, approval: Approval) -> Approval:
        """The approval with how it stands now on its card."""
        decision = await self._decision(approval)
        if decision is None:
            return approval
        state: ApprovalState = "denied" if decision.scope == "deny" else "approved"
        outcome = {
            "state": decision.ended or state,
            "scope": decision.scope,
            "decided_by": decision.by,
            "decided_at": decision.at,
            "reason": decision.reason,
            "edited": decision.edits is not None,
            "edited_text": edited_text(decision.edits) if decision.edits else "",
        }
        return approval.model_copy(update={"card": approval.card.model_copy(update=outcome)})

    async def _post(self, approval: Approval, card: ApprovalCard) -> None:
        slot = f"card:{approval.approval_id}"
        await self._outbox.post(
            OutboxEntry(
                entry_id=slot,
                slot=slot,
                conversation_id=approval.conversation_id,
                address=approval.address,
                language=approval.language,
                content=card,
            )
        )


def new_approval_id(conversation_id: str) -> str:
    """An id that cannot be guessed and leads to its conversation; 33 characters, fit for a button."""
    return f"{conversation_id}{secrets.token_urlsafe(12)}"


def _conversation_of(approval_id: str) -> str:
    return approval_id[:16]
