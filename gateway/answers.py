"""Answers to approval cards: taps, and what a person types for a card that asked for it.

Above: `gateway.inbound` hands on, cleaned, what people say and tap who are served. Below: the worker's approvals, which
decide. What is told comes from how the card stands then, not from the tap.
"""

from typing import Literal

from gateway.adapter import Said, Tapped, TapReply
from gateway.cards import decider, outcome, when
from gateway.catalogue import say
from gateway.choices import TYPED_UNITS, Choice, offered, read_value, typed_argument
from gateway.text import utf16_units
from gateway.voice import Voice
from worker.approvals import Approvals
from worker.inbox import Inbox
from worker.messages import Address, Approval, Decided, Language, Scope, Sender

TOAST_CHARACTERS = 200
_SCOPES: dict[Choice, Scope] = {
    "once": "once",
    "task": "task",
    "project": "project",
    "edit": "once",
    "deny": "deny",
    "reason": "deny",
}
_QUESTIONS = {"reason": ("card.ask_reason", "why"), "edit": ("card.ask_command", "edit")}
"""For each text that is asked for: the question, and what its entry is called."""


class Answers:
    """Takes answers to cards."""

    def __init__(self, approvals: Approvals, inbox: Inbox, voice: Voice) -> None:
        self._approvals = approvals
        self._inbox = inbox
        self._voice = voice

    async def tapped(self, tap: Tapped, language: Language) -> TapReply:
        """Take a tap: it decides, or asks for what is to be typed first. What its card does not offer does nothing."""
        approval_id, choice = read_value(tap.value) or ("", "deny")
        approval = await self._approvals.find(approval_id) if approval_id else None
        if approval is None or not _is_offered(approval, choice, tap.edits):
            return _unknown(language)
        if choice == "reason" and not tap.reason:
            return await self._ask(tap, approval, language, "reason")
        if choice == "edit" and not tap.edits:
            return await self._ask(tap, approval, language, "edit")
        if _is_blank(approval, tap.edits):
            return TapReply(text=say("card.edit_blank", language), alert=True)
        edits = _changed(approval, tap.edits)
        decided = await self._approvals.decide(
            approval_id, sender=tap.sender, scope=_SCOPES[choice], reason=tap.reason, edits=edits
        )
        await self.forget_text_for_decided(tap.address, tap.sender)
        return _reply(decided, language)

    async def typed(self, said: Said, language: Language) -> bool:
        """Take a message as the edit or the reason that was asked for; false when it is neither."""
        awaited = await self._approvals.awaited_text(said.address, said.sender)
        if awaited is None:
            return False
        if awaited.kind == "reason":
            return await self._deny_with_reason(said, awaited.approval_id)
        await self._take_edit(said, language, awaited.approval_id)
        return True

    async def forget_text_for_decided(self, address: Address, sender: Sender) -> None:
        """Await no text for a card any more that this person has just seen decided: what comes next is work."""
        awaited = await self._approvals.awaited_text(address, sender)
        approval = await self._approvals.find(awaited.approval_id) if awaited else None
        if approval is not None and (await self._approvals.outcome(approval)).card.state != "pending":
            await self._approvals.text_given(address, sender)

    async def _ask(
        self, tap: Tapped, approval: Approval, language: Language, wanted: Literal["reason", "edit"]
    ) -> TapReply:
        """Await the person's next message, as the answer that they tapped last."""
        if approval.address != tap.address:
            return _unknown(language)
        if not await self._approvals.may_decide(approval, tap.sender):
            return _reply(Decided(outcome="foreign"), language)
        now = await self._approvals.outcome(approval)
        if now.card.state != "pending":
            return _reply(Decided(outcome="already", approval=now), language)
        await self._approvals.await_text(wanted, approval.approval_id, tap.address, tap.sender)
        key, name = _QUESTIONS[wanted]
        await self._voice.say(tap.address, tap.sender, language, f"{name}-{approval.approval_id}", key)
        return TapReply(text=say(f"card.{wanted}_asked", language))

    async def _take_edit(self, said: Said, language: Language, approval_id: str) -> None:
        """Allow the call with the message as its new text. One that does not decide is answered, and is not work."""
        if said.styled:
            await self._turn_down(said, language, "card.edit_styled")
        elif utf16_units(said.text) > TYPED_UNITS:
            await self._turn_down(said, language, "card.edit_too_long", limit=f"{TYPED_UNITS:,}")
            await self._approvals.text_given(said.address, said.sender)
        else:
            await self._allow_edited(said, language, approval_id)
            await self._inbox.mark_handled(said.address, said.message_id)
            await self._approvals.text_given(said.address, said.sender)

    async def _allow_edited(self, said: Said, language: Language, approval_id: str) -> None:
        approval = await self._approvals.find(approval_id)
        name = typed_argument(approval.card) if approval else None
        decided = Decided(outcome="unknown")
        if approval and name:
            edits = _changed(approval, {name: said.text})
            decided = await self._approvals.decide(approval_id, sender=said.sender, scope="once", edits=edits)
        if decided.outcome == "decided" or (decided.approval and decided.approval.card.edited):
            return  # the card tells it; also where this very message decided before a crash
        told = _reply(decided, language).text
        await self._voice.reply(said, language, "card.edit_unused", outcome=told)

    async def _turn_down(self, said: Said, language: Language, key: str, **values: str) -> None:
        await self._voice.reply(said, language, key, **values)
        await self._inbox.mark_handled(said.address, said.message_id)

    async def _deny_with_reason(self, said: Said, approval_id: str) -> bool:
        """Take the message as the reason that was asked for; false when the card was decided meanwhile."""
        reason = said.text.strip()
        decided = await self._approvals.decide(approval_id, sender=said.sender, scope="deny", reason=reason)
        taken = decided.outcome == "decided" or bool(decided.approval and decided.approval.card.reason == reason)
        if taken:
            await self._inbox.mark_handled(said.address, said.message_id)
        await self._approvals.text_given(said.address, said.sender)
        return taken


def _is_offered(approval: Approval, choice: Choice, edits: dict[str, str]) -> bool:
    if edits and choice != "edit":
        return False
    return choice in offered(approval.card, in_place=bool(edits))


def _is_blank(approval: Approval, edits: dict[str, str]) -> bool:
    """Whether nothing would be left to run."""
    return approval.card.detail_kind == "command" and any(not text.strip() for text in edits.values())


def _changed(approval: Approval, edits: dict[str, str]) -> dict[str, str] | None:
    """Those edits that are any; none when the call stays as it was shown."""
    return {name: text for name, text in edits.items() if approval.card.editable.get(name) != text} or None


def _unknown(language: Language) -> TapReply:
    return TapReply(text=say("card.unknown", language), alert=True)


def _reply(decided: Decided, language: Language) -> TapReply:
    if decided.approval is None:
        return TapReply(text=say(f"card.{decided.outcome}", language), alert=True)
    card = decided.approval.card
    if card.decided_at is None or card.state in {"expired", "withdrawn"}:
        return TapReply(text=outcome(card, language), alert=True)
    if decided.outcome == "already":
        word = say("card.already_denied" if card.state == "denied" else "card.already_approved", language)
        text = say("card.already", language, who=decider(card, language), when=when(card.decided_at), outcome=word)
        return TapReply(text=text, alert=True)
    return TapReply(text=outcome(card, language)[:TOAST_CHARACTERS])
