"""What Paigate itself tells the model at the end of a request."""

from agent.policy import Mode
from agent.runaway import Reason

_MODES: dict[Mode, str] = {
    "plan": "Plan mode: only calls that look will run. Make a plan; do not try to change anything.",
    "ask": "",
    "edits": "Edits mode: changes of files run without a question; everything else asks the person.",
    "auto": "Auto mode: what stays inside the sandbox runs without a question; what would leave it asks the person.",
}
_REMINDER = """\
{what} Look at the results you have. Change the approach and say what should change, or say what blocks you. \
Repetition proves neither success nor failure. This holds for the present task only."""


def mode_notice(mode: Mode) -> str:
    """What the mode of the conversation means for the model; nothing for the usual one."""
    return _MODES[mode]


def reminder_notice(reason: Reason) -> str:
    """That the task goes round in circles, once, before it is ended for it."""
    return _REMINDER.format(what=_what(reason))


def _what(reason: Reason) -> str:
    match reason.kind:
        case "errors":
            return f"{reason.tool} failed {reason.count} times in a row in the same way ({reason.family})."
        case "cycle":
            return f"The same steps have come round {reason.count} times."
        case "monologue":
            return f"You have said the same {reason.count} times."
        case _:
            return f"{reason.tool} gave the same result to the same call {reason.count} times in a row."
