"""Which calls run, and which ask a person first. A missing answer is a no."""

import hashlib
import json
from dataclasses import dataclass, field
from enum import Enum, auto

from agent.events import Decision
from agent.model import JsonObject
from agent.tool import Risk


class Verdict(Enum):
    """What becomes of a call now."""

    RUN = auto()
    ASK = auto()
    ASK_AGAIN = auto()
    """An answer was given, but what it was given for has changed."""
    REFUSE = auto()


def call_digest(*, tool: str, arguments: JsonObject, project: str, pre_image: str) -> str:
    """SHA-256 in hex over everything an approval is bound to; the order of keys in `arguments` does not matter."""
    canonical = json.dumps(
        [tool, arguments, project, pre_image], ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(slots=True)
class Permissions:
    """The answers given so far in a task."""

    granted_tools: set[str] = field(default_factory=set[str])
    decisions: dict[str, Decision] = field(default_factory=dict[str, Decision])

    def record(self, decision: Decision) -> None:
        """Keep an answer."""
        self.decisions[decision.call_id] = decision

    def start(self, call_id: str, tool: str) -> None:
        """Note that a call ran: an answer for the task that fitted it stands for later calls of the same tool."""
        decision = self.decisions.get(call_id)
        if decision is not None and decision.scope == "task":
            self.granted_tools.add(tool)

    def judge(self, *, call_id: str, tool: str, risk: Risk, digest: str) -> Verdict:
        """Decide about one call: reading runs, everything else needs an answer that fits exactly."""
        if risk is Risk.READ:
            return Verdict.RUN
        decision = self.decisions.get(call_id)
        if decision is None:
            return Verdict.RUN if tool in self.granted_tools else Verdict.ASK
        if decision.scope == "deny":
            return Verdict.REFUSE
        return Verdict.RUN if decision.digest == digest else Verdict.ASK_AGAIN
