"""What the words of a person forbid for a task.

Above: the session enforces it when a call is judged, and tells the model at the end of the request; the tool list stays
as it is. Words only ever tighten: nothing that a person writes grants anything here, and a message of which nothing is
understood forbids nothing.
"""

import unicodedata
from dataclasses import dataclass

from agent.restrictions.bare_title import is_bare_title
from agent.restrictions.offline_words import forbids_network

_NO_NETWORK = (
    "The person said not to go online for this task: use no web tool and no command that reaches the network. Work "
    "with what is here; where that is not enough, say so."
)
_ASK_FIRST = (
    "The person sent only a title, with no request. Change nothing and run nothing yet: ask in one short question what "
    "they want done with it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restrictions:
    """What is forbidden: to go online; to change or run anything before the person has said what they want."""

    no_network: bool = False
    ask_first: bool = False


def restrictions_in(text: str) -> Restrictions:
    """What `text` forbids, as the person typed it, without anything that was put into it from files or elsewhere."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return Restrictions(no_network=forbids_network(folded), ask_first=is_bare_title(folded))


def announcement(restrictions: Restrictions) -> str:
    """What the model is told of it at the end of the request; empty when nothing is forbidden."""
    sentences = [_NO_NETWORK] * restrictions.no_network + [_ASK_FIRST] * restrictions.ask_first
    return " ".join(sentences)
