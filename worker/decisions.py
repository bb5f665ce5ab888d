"""One decision on one approval: its record, what a card lets a person answer, and the scripts that keep it single."""

import re
from datetime import datetime
from typing import Literal

from worker.messages import ApprovalCard, Record, Scope
from worker.store import CLOCK, WAKE

MOST_EDITED = 300
"""Characters of a changed call that its card shows once it is decided."""

# A character that is written out, cut in two.
_HALF_WRITTEN = re.compile("⟨[^⟩]*$")

ASK = (
    CLOCK
    + """
local approval, pending, turn, decision = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
if redis.call('EXISTS', decision) == 1 then return {'decided'} end
if not (held_lease(turn) and redis.call('HGET', turn, 'fence') == ARGV[4]) then return {'lost'} end
redis.call('SET', approval, ARGV[2], 'EX', ARGV[3], 'NX')
redis.call('SADD', pending, ARGV[1])
return {'asked'}
"""
)

DECIDE = (
    WAKE
    + """
local decision, pending, decided, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, value = ARGV[1], ARGV[2]
if not redis.call('SET', decision, value, 'NX', 'EX', ARGV[3]) then
  if redis.call('GET', decision) ~= value then
    redis.call('SREM', pending, id)
    return {'already', 0}
  end
end
if redis.call('SREM', pending, id) == 0 then return {'decided', 0} end
redis.call('RPUSH', decided, id)
redis.call('HDEL', turn, 'held')
local woken = wake(turn)
return {'decided', woken[2]}
"""
)


class StoredDecision(Record):
    """The first answer to an approval."""

    scope: Scope
    by: str
    at: datetime
    reason: str = ""
    until: datetime | None = None
    """When an answer for the project ends."""
    edits: dict[str, str] | None = None
    """Arguments that the person changed, by name."""
    ended: Literal["", "expired", "withdrawn"] = ""
    """Why it ended without an answer."""


TextKind = Literal["reason", "edit"]


class AwaitedText(Record):
    """What a person's next message is: why they say no, or what the call shall be."""

    kind: TextKind
    approval_id: str


def edited_text(edits: dict[str, str]) -> str:
    """What a person made of a call's arguments, as one short line that shows what is there."""
    from agent.visible import visible_line  # noqa: PLC0415 - the gateway loads nothing of the agent without need

    (first, *others) = edits.items()
    text = "; ".join(f"{name}: {text}" for name, text in edits.items()) if others else first[1]
    shown = visible_line(text[: MOST_EDITED + 1])
    if len(shown) <= MOST_EDITED:
        return shown
    return _HALF_WRITTEN.sub("", shown[: MOST_EDITED - 1]) + "…"


def was_offered(card: ApprovalCard, scope: Scope, edits: dict[str, str] | None) -> bool:
    """Whether the card let the person answer like this."""
    if scope == "project" and card.grant_until is None:
        return False
    return edits is None or (scope == "once" and bool(edits) and edits.keys() <= card.editable.keys())
