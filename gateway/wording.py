"""Outbox entries as messages a platform can show: the words, the form, and how they are split."""

from dataclasses import replace

from gateway.adapter import MARK_UNITS, Capabilities, Outgoing
from gateway.cards import MOST_CHANGES, render_card
from gateway.catalogue import say
from gateway.progress import render_progress
from gateway.render import from_markdown
from gateway.text import Builder, Limit, RichText, plain, split
from worker.messages import Answer, ApprovalCard, Language, Notice, OutboxEntry, Progress

_ASKING = {"card.ask_reason", "card.ask_command"}
"""Notices that ask for a message: the client opens its reply field."""


def word(entry: OutboxEntry, capabilities: Capabilities) -> list[Outgoing]:
    """The messages that say an entry, in order; live messages and cards are always one."""
    language = entry.language
    match entry.content:
        case Progress() as progress:
            return [_fitted(render_progress(progress, language), capabilities)]
        case ApprovalCard() as card:
            return [render_card(card, language, capabilities)]
        case Answer() as answer:
            return _parts(_answer(answer, language), "answer", capabilities)
        case Notice() as notice:
            message = plain(_notice(notice, language))
            asks = notice.key in _ASKING
            return [Outgoing(text=part.text, reply=asks) for part in _parts(message, "notice", capabilities)]
        case _:
            return []


def _notice(notice: Notice, language: Language) -> str:
    """The notice's text; a key that only a newer worker knows is shown as it is, rather than stopping the chat."""
    try:
        return say(notice.key, language, **notice.values)
    except KeyError:
        return f"{notice.key} {' '.join(notice.values.values())}".strip()


def marked_duplicate(message: Outgoing, language: Language) -> Outgoing:
    """The message with a mark that it may have been delivered before."""
    text = Builder().add(say("delivery.may_be_duplicate", language), "italic").add("\n").add(message.text).build()
    return replace(message, text=text)


def simplified(message: Outgoing) -> Outgoing:
    """The message without any style, for a platform that refused it; its buttons stay."""
    return replace(message, text=plain(message.text.text))


def _answer(answer: Answer, language: Language) -> RichText:
    body = from_markdown(answer.markdown)
    built = Builder().add(body if body.text.strip() else say("answer.empty", language))
    facts = [f"{change.path} +{change.added} −{change.removed}" for change in answer.changes[:MOST_CHANGES]]
    if len(answer.changes) > MOST_CHANGES:
        facts.append(say("answer.more_files", language, count=len(answer.changes) - MOST_CHANGES))
    facts.append(say("progress.steps", language, steps=answer.steps))
    facts.append(say("progress.seconds", language, seconds=round(answer.seconds)))
    if answer.cost:
        facts.append(answer.cost)
    built.add("\n\n").add(" · ".join(facts), "italic")
    if answer.demo:
        built.add("\n").add(f"🧪 {say('answer.demo', language)}", "italic")
    return built.build()


def _parts(text: RichText, role: str, capabilities: Capabilities) -> list[Outgoing]:
    limit = Limit(capabilities.max_text - MARK_UNITS, capabilities.measure)
    return [Outgoing(text=part, role="answer" if role == "answer" else "notice") for part in split(text, limit)]


def _fitted(message: Outgoing, capabilities: Capabilities) -> Outgoing:
    """The message cut to what one message can hold."""
    room = capabilities.max_text - MARK_UNITS
    if capabilities.measure(message.text.text) <= room:
        return message
    first = split(message.text, Limit(room - 1, capabilities.measure))[0]
    text = Builder().add(first).add("…").build()
    return replace(message, text=text)
