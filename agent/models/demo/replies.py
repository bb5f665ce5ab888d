"""The demo model's next reply, from nothing but the messages and tools of a chat-completions request."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from agent.models.demo.grammar import Language
from agent.models.demo.steps import Call, Result, Situation, steps
from agent.models.demo.wishes import understand
from agent.models.demo.words import code, say

_WRAPPED = re.compile(r"<tool_result\b[^>]*>\n(.*)\n</tool_result>", re.DOTALL)
_STOPPED = "Stopped by "

Json = dict[str, Any]


@dataclass(slots=True)
class _Turn:
    """What a person wrote in one go, and the results of the calls that followed."""

    texts: list[str] = field(default_factory=list[str])
    results: list[Result] = field(default_factory=list[Result])


def next_reply(messages: Sequence[Json], tools: Sequence[Json]) -> str | Call:
    """What a model says or asks for next."""
    history = _History(messages)
    offered = _options(tools)
    reports: list[str] = []
    seen = list(history.earlier)
    language: Language = "en"
    results = [result for turn in history.turns for result in turn.results]
    for turn in history.turns:
        understood = understand("\n".join(turn.texts))
        language = understood.language
        for number, wish in enumerate(understood.wishes, 1):
            work = steps(wish, Situation(language, tuple(seen), offered))
            try:
                call = next(work)
                while result := _take(results, call.tool):
                    seen.append(result)
                    call = work.send(result)
            except StopIteration as end:
                reports.append(end.value.text)
                if not end.value.fulfilled:
                    reports += [say(language, "so_not")] if number < len(understood.wishes) else []
                    break
                continue
            if call.tool in offered:
                return call
            return "\n\n".join([*reports, say(language, "no_tool", tool=code(call.tool))])
        reports += [say(language, "unclear", text=code(text)) for text in understood.unclear if understood.wishes]
    return "\n\n".join(reports) or say(language, "help")


def _take(results: list[Result], tool: str) -> Result | None:
    """The next result of `tool`; those of other tools before it belong to nothing that is still wished for."""
    while results:
        result = results.pop(0)
        if result.call.tool == tool:
            return result
    return None


class _History:
    """The messages of a request, sorted: the turns since the last final answer, and all results before."""

    def __init__(self, messages: Sequence[Json]) -> None:
        self.turns: list[_Turn] = []
        self.earlier: list[Result] = []
        self._open: dict[str, Call] = {}
        take = {"user": self._take_user, "assistant": self._take_assistant, "tool": self._take_tool}
        for message in messages:
            if message.get("role") in take:
                take[message["role"]](message)

    def _take_user(self, message: Json) -> None:
        if not self.turns or self.turns[-1].results:
            self.turns.append(_Turn())
        self.turns[-1].texts.append(_text(message))

    def _take_assistant(self, message: Json) -> None:
        self._open = dict(_calls(message))
        if not self._open:
            self.earlier += [result for turn in self.turns for result in turn.results]
            self.turns = []

    def _take_tool(self, message: Json) -> None:
        call = self._open.pop(str(message.get("tool_call_id")), None)
        if call is None:
            return
        result = _result(call, _text(message))
        if result.text.startswith(_STOPPED):
            self.turns = []
        elif self.turns:
            self.turns[-1].results.append(result)


def _calls(message: Json) -> Iterator[tuple[str, Call]]:
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments: object = None
        with suppress(ValueError):
            arguments = json.loads(function["arguments"])
        yield call["id"], Call(function["name"], cast("Json", arguments) if isinstance(arguments, dict) else {})


def _result(call: Call, text: str) -> Result:
    """A result without the boundary around it; only what Paigate itself says of a person's no stands outside of one."""
    wrapped = _WRAPPED.fullmatch(text.strip())
    return Result(call, wrapped[1]) if wrapped else Result(call, text, refused=True)


def _text(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _options(tools: Sequence[Json]) -> set[str]:
    """The names of the tools, and `tool.argument` of each argument they take."""
    options: set[str] = set()
    for tool in tools:
        function = tool["function"]
        options.add(function["name"])
        parameters: Json = function.get("parameters") or {}
        properties: Json = parameters.get("properties") or {}
        options.update(f"{function['name']}.{argument}" for argument in properties)
    return options
