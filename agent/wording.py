"""What Paigate itself tells the model: notices that begin with its mark, in the history or at the end of a request.

No text of a tool, a file or a person gets into them: what they say is believed.
"""

from collections.abc import Set

from agent.policy import Mode
from agent.runaway import FAMILIES, Reason

_MODES: dict[Mode, str] = {
    "plan": "Plan mode: only calls that look will run. Make a plan; do not try to change anything.",
    "ask": "The usual mode: looking runs, and everything else asks the person.",
    "edits": "Edits mode: changes of files run without a question; everything else asks the person.",
    "auto": "Auto mode: what stays inside the sandbox runs without a question; what would leave it asks the person.",
}
_REMINDER = """\
{what} Look at the results you have. Change the approach and say what should change, or say what blocks you. \
Repetition proves neither success nor failure. This holds for the present task only."""


def noted(notice: str) -> str:
    """A notice with the mark that tells the model who speaks."""
    return f"[paigate] {notice}"


def mode_notice(mode: Mode) -> str:
    """What the mode of the conversation means for the model, for when it changes."""
    return _MODES[mode]


def reminder_notice(reason: Reason, tools: Set[str]) -> str:
    """That the task goes round in circles, once, before it is ended for it; only names in `tools` are named."""
    return _REMINDER.format(what=_what(reason, reason.tool if reason.tool in tools else "A tool"))


def _what(reason: Reason, tool: str) -> str:
    if reason.kind == "errors":
        kind = f" ({reason.family})" if reason.family in FAMILIES else ""
        return f"{tool} failed {reason.count} times in a row in the same way{kind}."
    if reason.kind == "cycle":
        return f"The same steps have come round {reason.count} times."
    if reason.kind == "monologue":
        return f"You have said the same {reason.count} times."
    return f"{tool} gave the same result to the same call {reason.count} times in a row."
