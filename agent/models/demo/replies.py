"""The demo model's next reply, from nothing but the messages and tools of a chat-completions request."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from agent.models.demo.grammar import Language
from agent.models.demo.report import closing_report
from agent.models.demo.results import Call, Result, read_arguments, read_result
from agent.models.demo.steps import Outcome, Situation, steps
from agent.models.demo.wishes import Understood, Wish, understand
from agent.models.demo.words import code, say

_NOTICE = "[paigate]"
_CLOSING = f"{_NOTICE} This task must end now"
_STOPPED = "Stopped by "

Json = dict[str, Any]


def next_reply(messages: Sequence[Json], tools: Sequence[Json]) -> str | Call:
    """What a model says or asks for next."""
    history = _History(messages)
    work = _Work(history, _options(tools))
    if history.is_closing:
        left = [words for text in history.texts for words in work.left_of(understand(text))]
        return closing_report(history.results, left, understand(history.latest).language)
    for text in history.texts:
        if call := work.next_call(understand(text)):
            return call
    return work.answer()


class _History:
    """The messages of a request, sorted: what was said and found since the last final answer, and what was before."""

    def __init__(self, messages: Sequence[Json]) -> None:
        self.texts: list[str] = []
        self.latest = ""
        """What the person said last, whether or not it was answered."""
        self.is_closing = False
        """Whether the last message is Paigate's instruction to end the task."""
        self.results: list[Result] = []
        self.earlier: list[Result] = []
        self._open: dict[str, Call] = {}
        take = {"user": self._take_user, "assistant": self._take_assistant, "tool": self._take_tool}
        for message in messages:
            self.is_closing = message.get("role") == "user" and _text(message).startswith(_CLOSING)
            if message.get("role") in take:
                take[message["role"]](message)

    def _take_user(self, message: Json) -> None:
        text = _text(message)
        if not text.startswith(_NOTICE):
            self.latest = text
            self.texts.append(text)

    def _take_assistant(self, message: Json) -> None:
        self._open = dict(_calls(message))
        if not self._open:
            self._close_task()

    def _take_tool(self, message: Json) -> None:
        call = self._open.pop(str(message.get("tool_call_id")), None)
        if call is None:
            return
        result = read_result(call, _text(message))
        if result.text.startswith(_STOPPED):
            self._close_task()
        elif self.texts:
            self.results.append(result)

    def _close_task(self) -> None:
        self.earlier += self.results
        self.texts, self.results = [], []


class _Work:
    """The wishes since the last final answer, taken up in order as far as the results in the history go."""

    def __init__(self, history: _History, offered: Collection[str]) -> None:
        self._results = list(history.results)
        self._seen = list(history.earlier)
        self._offered = offered
        self._language: Language = understand(history.latest).language
        self._reports: list[str] = []
        self._failed = False
        """Whether the latest wish was not fulfilled, so that one which follows it is not taken up."""
        self._needs_help = False

    def next_call(self, understood: Understood) -> Call | None:
        """The next call for what one message asks; None once all of it came to an end, good or bad."""
        self._language = understood.language
        for asked in understood.wishes:
            if self._failed and asked.follows:
                self._reports.append(self._say("so_not", words=code(asked.words)))
            elif asked.wish is None:
                self._end(Outcome(self._say("unclear", text=code(asked.words)), fulfilled=False))
            elif call := self._take_up(asked.wish):
                return call
        self._needs_help |= understood.unclear
        return None

    def left_of(self, understood: Understood) -> Iterator[str]:
        """The clauses of one message that came to no good end, but for those of which a result tells it."""
        for asked in understood.wishes:
            before = len(self._seen)
            if asked.wish is None or (self._failed and asked.follows) or self._advance(asked.wish):
                self._failed = True
                yield asked.words
            elif self._failed and all(result.state == "done" for result in self._seen[before:]):
                yield asked.words

    def answer(self) -> str:
        """What to say when nothing is left to do."""
        help_too = [self._say("help")] if self._needs_help or not self._reports else []
        return "\n\n".join([*self._reports, *help_too])

    def _take_up(self, wish: Wish) -> Call | None:
        """The call that a wish needs next; one of a tool that is not offered ends it."""
        call = self._advance(wish)
        if call is None or call.tool in self._offered:
            return call
        self._end(Outcome(self._say("no_tool", tool=code(call.tool)), fulfilled=False))
        return None

    def _advance(self, wish: Wish) -> Call | None:
        """Run a wish's steps over the results that are there; the call they stop at, if they do not come to an end."""
        work = steps(wish, Situation(self._language, tuple(self._seen), self._offered))
        try:
            call = next(work)
            while result := self._result_of(call):
                self._seen.append(result)
                call = work.send(result)
        except StopIteration as end:
            self._end(end.value)
            return None
        return call

    def _end(self, outcome: Outcome) -> None:
        self._reports.append(outcome.text)
        self._failed = not outcome.fulfilled

    def _result_of(self, call: Call) -> Result | None:
        """The oldest result of this very call that no wish has taken yet."""
        for number, result in enumerate(self._results):
            if result.call == call:
                return self._results.pop(number)
        return None

    def _say(self, key: str, **values: str) -> str:
        return say(self._language, key, **values)


def _calls(message: Json) -> Iterator[tuple[str, Call]]:
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield call["id"], Call(function["name"], read_arguments(function["arguments"]) or {})


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
