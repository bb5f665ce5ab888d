"""Approval cards: the question as a person reads it on a phone, its buttons, and its outcome."""

from datetime import datetime

from gateway.adapter import MARK_UNITS, Capabilities, Outgoing
from gateway.catalogue import say, texts
from gateway.choices import card_buttons, offered, project_label
from gateway.text import Builder, Limit, RichText, plain, split
from worker.messages import ApprovalCard, Language

PREVIEW_LINES = 60
"""A phone shows no more before a person stops reading; the rest comes as a file."""

MOST_CHANGES = 20
MOST_PATH = 120
MOST_REASON = 150
MOST_OUTCOME = 1_000
MOST_REASONS = 5
_NEW = " (new)"
"""How the agent's title marks a file that is not there yet."""


def render_card(card: ApprovalCard, language: Language, capabilities: Capabilities) -> Outgoing:
    """The card as it stands. What the platform's room does not hold is missing in the detail, never in the rest."""
    head, tail = _head(card, language), _tail(card, language)
    detail, _ = _detail(card, language, capabilities)
    text = Builder().add(head).add("\n").add(detail).add("\n" if detail.text else "").add(tail).build()
    diff = card.detail if _is_shown_apart(card, capabilities) else ""
    if card.state != "pending":
        return Outgoing(text=text, role="card", diff=diff)
    in_place = capabilities.edits_in_place
    editable = card.editable if in_place and "edit" in offered(card, in_place=True) else {}
    buttons = card_buttons(card, language, in_place=in_place)
    return Outgoing(text=text, role="card", buttons=buttons, diff=diff, editable=editable)


def whole_detail(card: ApprovalCard, language: Language, capabilities: Capabilities) -> tuple[str, bytes] | None:
    """The name and bytes of a file that shows all of an open question, where its text shows only a part."""
    if card.state != "pending" or not _detail(card, language, capabilities)[1]:
        return None
    name = "whole-command.sh" if card.detail_kind == "command" else "whole-change.diff"
    return name, card.detail.encode("utf-8", "replace")


def without_whole_detail(card: ApprovalCard) -> ApprovalCard:
    """The card where the file with its whole detail could not be sent: it says that not all can be seen."""
    return card.model_copy(update={"whole": False})


def outcome(card: ApprovalCard, language: Language) -> str:
    """How a card was decided, in a sentence."""
    if card.state in {"expired", "withdrawn"}:
        return say(f"card.{card.state}", language)
    if card.state == "denied":
        key = "card.denied_reason" if card.reason else "card.denied"
        return say(key, language, who=decider(card, language), reason=card.reason)
    if card.edited:
        edited = card.edited_text if card.edited_text.strip() else say("card.edited_blank", language)
        return say("card.approved_edited", language, who=decider(card, language), edited=edited)
    granted = _worded("granted", card, language).text
    until = when(card.grant_until) if card.grant_until else ""
    values = {"who": decider(card, language), "granted": granted, "project": card.project, "until": until}
    return say(f"card.approved_{card.scope}", language, **values)


def decider(card: ApprovalCard, language: Language) -> str:
    """Who decided, by name; a platform that has no names has one person only."""
    return card.decided_by or say("card.you", language)


def when(moment: datetime) -> str:
    """A moment in the server's time zone, to the minute, with the zone: the reader may be in another."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M %Z")


def tool_words(tool: str, language: Language) -> str:
    """What a tool does, in people's words; a tool that has none by its name."""
    return texts(language).get(f"tool.{tool}", tool)


def _question(card: ApprovalCard) -> str:
    if card.tool == "create_project":
        return "project"
    return "create" if card.risk == "write" and card.title.endswith(_NEW) else card.risk


def _head(card: ApprovalCard, language: Language) -> RichText:
    built = Builder()
    if card.stale:
        built.add(say("card.stale", language)).add("\n")
    built.add(say(f"card.{_question(card)}", language), "bold")
    if card.detail_kind == "command":
        return built.build()
    title = card.title.removesuffix(_NEW)
    built.add("\n").add(_shortened(title), "code")
    if title != card.title:
        built.add(f" {say('card.new', language)}")
    for change in card.changes[:MOST_CHANGES]:
        name = "" if len(card.changes) == 1 else f"\n{_shortened(change.path, MOST_PATH)}"
        built.add(f"{name}  +{change.added} −{change.removed}")
    return built.build()


def _tail(card: ApprovalCard, language: Language) -> RichText:
    built = Builder()
    if not card.whole:
        built.add(say("card.not_whole", language), "bold").add("\n")
    if card.state == "pending":
        built.add(_level(card, language)).add(_scope(card, language)).add("\n")
        built.add(say("card.expires", language, when=when(card.expires_at)), "italic")
    else:
        mark = "✅ " if card.state == "approved" else "❌ "
        built.add(mark + _shortened(outcome(card, language), MOST_OUTCOME), "bold")
    return built.build()


def _level(card: ApprovalCard, language: Language) -> RichText:
    """What a command may do, and why: a line of its own."""
    if card.level is None:
        return plain("")
    built = Builder().add(say(f"card.level_{card.level}", language), "bold")
    reasons = [_shortened(" ".join(reason.split()), MOST_REASON) for reason in card.reasons[:MOST_REASONS]]
    if len(card.reasons) > MOST_REASONS:
        reasons.append("…")
    if reasons:
        built.add(say("card.level_why", language, reasons="; ".join(reasons)))
    return built.add("\n").build()


def _scope(card: ApprovalCard, language: Language) -> RichText:
    """What the answers for longer would allow."""
    choices = offered(card, in_place=False)
    if "task" not in choices:
        return plain(say("card.only_once", language))
    built = Builder().add(_worded("scope", card, language))
    if card.grant_until is not None and "project" in choices:
        values = {"label": project_label(card, language), "project": card.project, "until": when(card.grant_until)}
        built.add("\n").add(say("card.scope_project", language, **values))
    return built.build()


def _worded(kind: str, card: ApprovalCard, language: Language) -> RichText:
    """The text about what an answer for longer allows: commands of a pattern, this very command, or a tool."""
    if card.detail_kind != "command":
        return plain(say(f"card.{kind}_tool", language, tool=tool_words(card.tool, language)))
    if not card.pattern:
        return plain(say(f"card.{kind}_command", language))
    before, after = say(f"card.{kind}_pattern", language, pattern="\n").split("\n")
    return Builder().add(before).add(card.pattern, "code").add(after).build()


def _detail(card: ApprovalCard, language: Language, capabilities: Capabilities) -> tuple[RichText, bool]:
    """What of the detail fits between head and tail, and whether something is missing."""
    if not card.detail or _is_shown_apart(card, capabilities):
        return plain(""), False
    code_language = "bash" if card.detail_kind == "command" else card.detail_kind
    whole = Builder().add(card.detail.rstrip("\n"), "pre", code_language).build()
    fixed = f"{_head(card, language).text}\n\n{_tail(card, language).text}"
    room = capabilities.max_text - MARK_UNITS - capabilities.measure(fixed)
    lines = whole.text.split("\n")
    most_lines = len(lines) if capabilities.shows_diffs else PREVIEW_LINES
    if capabilities.measure(whole.text) <= room and len(lines) <= most_lines:
        return whole, False
    more = say("card.more" if card.whole else "card.more_unseen", language, lines=f"{len(lines):,}")
    limit = Limit(max(room - capabilities.measure(more) - 2, 1), capabilities.measure)
    first = (split(plain("\n".join(lines[:most_lines])), limit) or [plain("")])[0]
    return Builder().add(first.text, "pre", code_language).add("\n").add(more, "bold").build(), True


def _is_shown_apart(card: ApprovalCard, capabilities: Capabilities) -> bool:
    return capabilities.shows_diffs and card.detail_kind == "diff"


def _shortened(text: str, most: int = 300) -> str:
    """A title cut in its middle: both ends tell something, and the whole of it stands in the detail."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"
