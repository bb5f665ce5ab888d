"""What the demo model says of a task that Paigate ends before its time: only what the results show."""

import json
from collections.abc import Iterable, Sequence

from agent.models.demo.grammar import Language
from agent.models.demo.results import Result
from agent.models.demo.words import code, say

_MOST_NAMED = 5
_VERBS = {
    "write_file": "write",
    "edit_file": "change",
    "create_project": "create",
    "execute_command": "run",
    "list_dir": "list",
    "read_file": "read",
}


def closing_report(results: Sequence[Result], left: Sequence[str], language: Language) -> str:
    """Four lines: what is done, what of it was verified, what is not done, and the next step.

    `left` are the wishes, in the person's words, that were not taken up or did not come to an end.
    """
    latest = list({_key(result): result for result in results}.values())
    done = [result for result in latest if result.state == "done"]
    failed = [result for result in latest if result.state != "done"]
    ran = [result for result in done if result.call.tool == "execute_command"]
    wanting = [code(words) for words in left]
    lines = {
        "closing_done": (_named(result, "did", language) for result in done),
        "closing_verified": (_named(result, "verified", language) for result in ran),
        "closing_not_done": [*(_failure(result, language) for result in failed), *wanting],
    }
    said = [say(language, key, items=_listed(items, key, language)) for key, items in lines.items()]
    return "\n".join([*said, _next_step(wanting, failed, language)])


def _next_step(wanting: Sequence[str], failed: Sequence[Result], language: Language) -> str:
    if wanting:
        return say(language, "closing_send_again", words=wanting[0])
    return say(language, "closing_decide" if failed else "closing_nothing_left")


def _listed(items: Iterable[str], key: str, language: Language) -> str:
    every = list(dict.fromkeys(items))
    more = [" …"] if len(every) > _MOST_NAMED else []
    shown = ("；" if language == "zh" else "; ").join(every[:_MOST_NAMED])
    return "".join([shown, *more]) or say(language, f"{key}_none")


def _failure(result: Result, language: Language) -> str:
    kind = "failed" if result.state == "failed" and result.call.tool == "execute_command" else "not_done"
    return f"{_named(result, kind, language)} {result.why_not(language)}"


def _named(result: Result, kind: str, language: Language) -> str:
    """A sentence or a few words of this kind on what a call did or was to do."""
    arguments = result.arguments
    name = code(str(arguments.get("command") or arguments.get("path") or arguments.get("name") or result.call.tool))
    return say(language, f"{kind}_{_VERBS.get(result.call.tool, 'run')}", path=name, command=name)


def _key(result: Result) -> str:
    return json.dumps([result.call.tool, result.arguments], sort_keys=True)
