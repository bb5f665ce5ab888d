"""What an approval card offers: the choices, their buttons, and what comes back when one is tapped."""

from datetime import datetime
from typing import Literal

from gateway.adapter import EDITED_ARGUMENTS, EDITED_CHARACTERS, Button
from gateway.catalogue import say
from gateway.text import utf16_units
from worker.messages import ApprovalCard, Language

Choice = Literal["once", "task", "project", "edit", "deny", "reason"]

MOST_PATTERN = 300
"""A longer pattern would crowd out the card's question, so what it would allow is not offered."""

TYPED_UNITS = 2_000
"""UTF-16 units of an argument that a message can replace: clients cut what they cannot send into several messages."""

_LETTERS: dict[str, Choice] = {"o": "once", "t": "task", "p": "project", "e": "edit", "d": "deny", "r": "reason"}


def read_value(value: str) -> tuple[str, Choice] | None:
    """The approval id and the choice behind a button's value."""
    approval_id, _, letter = value.rpartition(":")
    if not approval_id or letter not in _LETTERS:
        return None
    return approval_id, _LETTERS[letter]


def offered(card: ApprovalCard, *, in_place: bool) -> tuple[Choice, ...]:
    """The choices of an open card: an answer for longer only where all that it would allow is shown.

    `in_place` is whether the person changes arguments on the card itself, and not by a message.
    """
    choices: list[Choice] = ["once"]
    if len(card.pattern) <= MOST_PATTERN:
        choices.append("task")
        if card.grant_until is not None:
            choices.append("project")
    if _fits(card.editable) if in_place else typed_argument(card):
        choices.append("edit")
    return (*choices, "deny", "reason")


def typed_argument(card: ApprovalCard) -> str | None:
    """The argument that the person's next message can replace: a command that is short enough.

    Of anything else a chat would take the blanks at the beginning and the end, which may matter there.
    """
    if card.detail_kind != "command" or len(card.editable) != 1:
        return None
    ((name, text),) = card.editable.items()
    return name if utf16_units(text) <= TYPED_UNITS else None


def card_buttons(card: ApprovalCard, language: Language, *, in_place: bool) -> tuple[tuple[Button, ...], ...]:
    """The buttons of an open card, in rows."""

    def button(letter: str, label: str, style: Literal["plain", "good", "danger"]) -> Button:
        choice = _LETTERS[letter]
        value = f"{card.approval_id}:{letter}"
        return Button(label=label, value=value, style=style, asks_reason=choice == "reason", edits=choice == "edit")

    every: tuple[tuple[Button, ...], ...] = (
        (button("o", say("card.once", language), "good"), button("t", say("card.task", language), "good")),
        (button("p", project_label(card, language), "good"),),
        (button("e", say("card.edit", language), "plain"),),
        (button("d", say("card.deny", language), "danger"), button("r", say("card.deny_reason", language), "danger")),
    )
    choices = offered(card, in_place=in_place)
    rows = (tuple(button for button in row if _LETTERS[button.value[-1]] in choices) for row in every)
    return tuple(row for row in rows if row)


def project_label(card: ApprovalCard, language: Language) -> str:
    """What the button for the project says: until which day it would hold."""
    day = _day(card.grant_until) if card.grant_until else ""
    return say("card.for_project", language, day=day)


def _day(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d")


def _fits(editable: dict[str, str]) -> bool:
    size = sum(len(name) + len(text) for name, text in editable.items())
    return 0 < len(editable) <= EDITED_ARGUMENTS and size <= EDITED_CHARACTERS
