"""What became of a call: told by the tool inside the boundary, or by Paigate itself outside of it."""

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

from agent.models.demo.grammar import Language
from agent.models.demo.words import quote, say

Json = dict[str, Any]

_WRAPPED = re.compile(r"<tool_result\b[^>]*>\n(.*)\n</tool_result>", re.DOTALL)
_CHANGED = "The person changed the arguments of this call: "
_SUCCESS = {
    "write_file": r"(?:Created|Replaced) ",
    "edit_file": r"Edited ",
    "create_project": r"Created ",
    "execute_command": r"exit code 0$",
}
_NEVER_RAN = re.compile(
    r"The arguments |There is no tool |The sandbox could not start|The tool broke|Interrupted:|Not run:|Stopped by "
)
_POLICY = re.compile(r"Policy refuses this command, and nobody can allow it: (.*)", re.DOTALL)
_REFUSED = "The person refused this call"
_WHY = {
    "Nobody allowed this call in time": "nobody_in_time",
    "Plan mode:": "plan_mode",
    "The person asked not to go online": "no_network",
    "The person sent only a title": "only_a_title",
}
"""How Paigate's own words for a call that may not run begin, and what the person is told of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool to be called."""

    tool: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Result:
    """How a call ended; `by_paigate` when its words stand outside the boundary, where no tool can put any."""

    call: Call
    text: str
    by_paigate: bool = False
    changed: Json | None = None
    """The arguments, whole, if a person changed them."""

    @property
    def arguments(self) -> Json:
        """What the call really had for arguments."""
        return self.call.arguments if self.changed is None else self.changed

    @property
    def is_changed(self) -> bool:
        """Whether a person made it another call than the one that was asked for."""
        return self.arguments != self.call.arguments

    @property
    def state(self) -> Literal["done", "failed", "not run"]:
        """Whether it worked, ran and did not work, or never ran."""
        if self.by_paigate or _NEVER_RAN.match(self.text) or self.policy:
            return "not run"
        expected = _SUCCESS.get(self.call.tool)
        if expected is not None:
            return "done" if re.match(expected, self.text, re.MULTILINE) else "failed"
        # Reading and listing give the thing itself; their errors begin with the path, quoted.
        return "failed" if self.text.startswith(repr(self.arguments.get("path"))) else "done"

    @property
    def policy(self) -> str:
        """Why policy refuses the command, and what to do instead; empty if it does not."""
        # What a command prints stands below its exit code, so that it cannot pass for this.
        refusal = _POLICY.match(self.text) if self.call.tool == "execute_command" else None
        return refusal[1].replace(" It was not run.", "", 1).strip() if refusal else ""

    def why_not(self, language: Language) -> str:
        """Why the call did not run, or did not work, for the person."""
        if self.by_paigate and self.text.startswith(_REFUSED):
            reason = self.text.partition("Their reason: ")[2].strip()
            return say(language, "refused_because", reason=quote(reason)) if reason else say(language, "refused")
        if self.by_paigate:
            known = next((key for beginning, key in _WHY.items() if self.text.startswith(beginning)), "because")
            return say(language, known, reason=quote(self.text))
        if self.policy:
            return say(language, "policy", reason=quote(self.policy))
        return say(language, "because", reason=quote(self.text))


def read_result(call: Call, text: str) -> Result:
    """The result that a tool message tells of a call."""
    changed: Json | None = None
    if text.startswith(_CHANGED):
        first, _, text = text.partition("\n")
        changed = read_arguments(first.removeprefix(_CHANGED))
    wrapped = _WRAPPED.fullmatch(text.strip())
    return Result(call, wrapped[1] if wrapped else text, by_paigate=wrapped is None, changed=changed)


def read_arguments(text: str) -> Json | None:
    """The arguments that a text of JSON holds; None if it holds none."""
    arguments: object = None
    with suppress(ValueError):
        arguments = json.loads(text)
    return cast("Json", arguments) if isinstance(arguments, dict) else None
