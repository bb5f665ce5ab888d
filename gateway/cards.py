"""Approval cards: the question as a person reads it on a phone, its buttons, and its outcome."""

from datetime import datetime

from gateway.adapter import Button, Outgoing
from gateway.catalogue import say, texts
from gateway.text import Builder, RichText
from worker.messages import ApprovalCard, Language, Scope

PREVIEW_LINES = 40
PREVIEW_CHARACTERS = 2_400

_SCOPES: dict[str, Scope] = {"o": "once", "t": "task", "d": "deny", "r": "deny"}
REASON = "r"
_NEW = " (new)"
"""How the agent's title marks a file that is not there yet."""


def render_card(card: ApprovalCard, language: Language, *, with_diff: bool) -> Outgoing:
    """The card as it stands; `with_diff` puts a preview of the detail into the text, else it is there whole."""
    built = Builder()
    if card.stale:
        built.add(say("card.stale", language)).add("\n")
    built.add(say(f"card.{_question(card)}", language), "bold").add("\n")
    _add_subject(built, card, language, with_diff=with_diff)
    built.add("\n")
    if not card.whole:
        built.add(say("card.not_whole", language), "bold").add("\n")
    if card.state == "pending":
        built.add(say("card.scope", language, tool=tool_words(card.tool, language))).add("\n")
        built.add(say("card.expires", language, when=when(card.expires_at)), "italic")
    else:
        built.add(("✅ " if card.state == "approved" else "❌ ") + outcome(card, language), "bold")
    diff = "" if with_diff or card.detail_kind != "diff" else card.detail
    return Outgoing(text=built.build(), role="card", buttons=_buttons(card, language), diff=diff)


def whole_detail(card: ApprovalCard, *, with_diff: bool) -> tuple[str, bytes] | None:
    """The name and bytes of a file that shows all of an open question, where its text shows only a part."""
    if card.state != "pending" or not with_diff or not _is_cut(card.detail):
        return None
    name = "whole-command.sh" if card.detail_kind == "command" else "whole-change.diff"
    return name, card.detail.encode("utf-8", "replace")


def read_value(value: str) -> tuple[str, Scope, bool] | None:
    """The approval id, the answer, and whether a reason is to follow, behind a button's value."""
    approval_id, _, choice = value.rpartition(":")
    if not approval_id or choice not in _SCOPES:
        return None
    return approval_id, _SCOPES[choice], choice == REASON


def outcome(card: ApprovalCard, language: Language) -> str:
    """How a card was decided, in a sentence."""
    if card.state in {"expired", "withdrawn"}:
        return say(f"card.{card.state}", language)
    if card.state == "denied":
        key = "card.denied_reason" if card.reason else "card.denied"
        return say(key, language, who=decider(card, language), reason=card.reason)
    tool = tool_words(card.tool, language)
    return say(f"card.approved_{card.scope}", language, who=decider(card, language), tool=tool)


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


def _add_subject(built: Builder, card: ApprovalCard, language: Language, *, with_diff: bool) -> None:
    if card.detail_kind == "command":
        built.add(_preview(card.detail, "bash", language) if with_diff else code(card.detail, "bash"))
        return
    title = card.title.removesuffix(_NEW)
    built.add(title, "code")
    if title != card.title:
        built.add(f" {say('card.new', language)}")
    for change in card.changes:
        name = "" if len(card.changes) == 1 else f"\n{change.path}"
        built.add(f"{name}  +{change.added} −{change.removed}")
    if card.detail and (with_diff or card.detail_kind == "text"):
        built.add("\n").add(_preview(card.detail, card.detail_kind, language))


def _preview(detail: str, code_language: str, language: Language) -> RichText:
    if not _is_cut(detail):
        return code(detail, code_language)
    shown = "\n".join(detail.splitlines()[:PREVIEW_LINES])[:PREVIEW_CHARACTERS]
    left = len(detail.splitlines()) - len(shown.splitlines())
    more = say("card.more", language, lines=max(left, 1))
    return Builder().add(code(shown, code_language)).add("\n").add(more, "bold").build()


def _is_cut(detail: str) -> bool:
    return len(detail.splitlines()) > PREVIEW_LINES or len(detail) > PREVIEW_CHARACTERS


def code(text: str, language: str) -> RichText:
    """Text as a block of code."""
    return Builder().add(text.rstrip("\n"), "pre", language).build()


def _buttons(card: ApprovalCard, language: Language) -> tuple[tuple[Button, ...], ...]:
    if card.state != "pending":
        return ()

    def value(choice: str) -> str:
        return f"{card.approval_id}:{choice}"

    return (
        (
            Button(label=say("card.once", language), value=value("o"), style="good"),
            Button(label=say("card.task", language), value=value("t"), style="good"),
        ),
        (
            Button(label=say("card.deny", language), value=value("d"), style="danger"),
            Button(label=say("card.deny_reason", language), value=value(REASON), style="danger", asks_reason=True),
        ),
    )
