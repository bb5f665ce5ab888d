"""From the chunks of one chat-completions answer to a `Reply`; pure, and the same for live and recorded answers.

Above: `body` cuts bytes into events. Below: `wire` reads chunks, `fragments` puts tool calls together, `records` the
vendor's own records of reasoning. A failure that the endpoint reports is data here: it is told in the reply, never
raised.
"""

from agent.http_model.characters import WholeCharacters, whole_characters
from agent.http_model.failures import Failure, failure_in, failure_of
from agent.http_model.loose_json import NOT_JSON, Json, as_list, as_object, load
from agent.model import Reply, Usage
from agent.models.openai_compatible.fragments import CallFragments
from agent.models.openai_compatible.records import ReasoningRecords
from agent.models.openai_compatible.thinking import ThinkFilter
from agent.models.openai_compatible.wire import finish_in, reasoning_in, text_in, usage_in

_BROKEN_OFF = {
    "error": "the endpoint ended the answer with an error",
    "network_error": "the endpoint lost its model in the middle of the answer",
    "insufficient_system_resource": "the endpoint ran out of resources in the middle of the answer",
}
"""Finish reasons that mean a failure: GLM's `network_error`, DeepSeek's `insufficient_system_resource`."""


class Assembler:
    """Takes the events of one stream. `ended` once [DONE] came, after which nothing counts any more."""

    def __init__(self) -> None:
        self.ended = False
        self.failure: Failure | None = None
        self.finish_reason: str | None = None
        self._think = ThinkFilter()
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._characters = WholeCharacters()
        self._calls = CallFragments()
        self._records = ReasoningRecords()
        self._streamed_text = self._streamed_reasoning = self._streamed_calls = False
        self._message = {"text": "", "reasoning": ""}
        self._first_choice = False
        self._other_choices: list[Json] = []
        self._usage: Usage | None = None
        self._notes: list[str] = []

    def feed(self, data: str) -> str:
        """Take the data of one event and return the text it adds, as far as it may be shown by now."""
        if self.ended:
            return ""
        chunk = load(data)
        return self._feed_lines(data) if chunk is NOT_JSON else self.take(chunk)

    def take(self, chunk: object) -> str:
        """Take one chunk, already parsed; a list counts as its chunks one after the other, a bare value as nothing."""
        fields = as_object(chunk)
        if fields is None:
            return "".join([self._take_chunk(item) for item in map(as_object, as_list(chunk)) if item is not None])
        return self._take_chunk(fields)

    def finish(self, *, whole: bool = False) -> Reply:
        """The reply as far as it came; `whole` tells that the body was one document, which needs no end mark."""
        for choice in self._other_choices:
            self._take_choice(choice)
        self._show(self._characters.close())
        self._text.append(self._think.close())
        calls, notes = self._calls.finish()
        ended = self.ended or bool(self.finish_reason) or whole
        return Reply(
            text="".join(self._text),
            reasoning=self._whole_reasoning(),
            blocks=self._records.finish(),
            tool_calls=calls,
            finish_reason=self.finish_reason,
            complete=ended and self.failure is None,
            usage=self._usage,
            error=self.failure.message if self.failure else None,
            notes=(*self._notes, *notes),
        )

    def fail(self, failure: Failure) -> None:
        """Record a failure; the first one tells what went wrong."""
        self.failure = self.failure or failure

    def _feed_lines(self, data: str) -> str:
        """What is no JSON as a whole: the end mark, nothing, or several lines that are chunks each by itself."""
        lines = [line for line in map(str.strip, data.split("\n")) if line]
        if lines == ["[DONE]"]:
            self.ended = True
        elif (lines and lines != [data]) and all(line == "[DONE]" or load(line) is not NOT_JSON for line in lines):
            return "".join([self.feed(line) for line in lines])
        elif lines:
            self._notes.append("an event that is not JSON was skipped")
        return ""

    def _take_chunk(self, chunk: Json) -> str:
        if failure := failure_in(chunk):
            self.fail(failure)
        choice = self._pick(chunk.get("choices"))
        if "usage" in chunk:
            self._take_usage(chunk)
        if "x_groq" in chunk and (extra := as_object(chunk["x_groq"])):
            self._take_usage(extra)
        return "" if choice is None else self._take_choice(choice)

    def _pick(self, choices: object) -> Json | None:
        """The choice with index 0. Others are kept for an answer that has none: then it is the first of them."""
        for choice in as_list(choices):
            fields = as_object(choice)
            if fields is None:
                continue
            index = fields.get("index")
            if index == 0 or not isinstance(index, int):
                self._first_choice = True
                self._other_choices.clear()
                return fields
            if not self._first_choice and index == (self._other_choices or [fields])[0].get("index"):
                self._other_choices.append(fields)
        return None

    def _take_choice(self, choice: Json) -> str:
        if error := choice.get("error"):
            self.fail(failure_of(error))
        if "usage" in choice:
            self._take_usage(choice)
        delta = as_object(choice.get("delta"))
        shown = self._take_delta(delta) if delta else ""
        if "message" in choice and (message := as_object(choice["message"])):
            shown += self._take_message(message)
        if reason := finish_in(choice):
            self.finish_reason = reason
            if reason in _BROKEN_OFF:
                self.fail(Failure(message=_BROKEN_OFF[reason], code="server_error"))
        return shown

    def _take_usage(self, holder: Json) -> None:
        usage = usage_in(holder)
        if usage and (usage.prompt_tokens or usage.completion_tokens or self._usage is None):
            self._usage = usage

    def _take_delta(self, delta: Json) -> str:
        if reasoning := reasoning_in(delta):
            self._streamed_reasoning = True
            self._reasoning.append(reasoning)
        if details := delta.get("reasoning_details"):
            self._records.take(details)
        text = delta.get("content")
        if not isinstance(text, str) or not text:
            text = text_in(text) or text_in(delta.get("refusal"))
        calls, legacy = delta.get("tool_calls"), delta.get("function_call")
        if calls or legacy:
            self._streamed_calls = True
            self._calls.take(calls)
            self._take_legacy(legacy)
        if not text:
            return ""
        self._streamed_text = True
        return self._show(text)

    def _take_message(self, message: Json) -> str:
        """A whole message counts where no deltas came; a repeated one replaces or goes on with the one before."""
        if not self._streamed_reasoning:
            self._reasoning.append(self._news("reasoning", reasoning_in(message)))
        if details := message.get("reasoning_details"):
            self._records.take_whole(details)
        if not self._streamed_calls and (message.get("tool_calls") or message.get("function_call")):
            self._calls = CallFragments()
            self._calls.take_whole(message.get("tool_calls"))
            self._take_legacy(message.get("function_call"))
        if self._streamed_text:
            return ""
        return self._show(self._news("text", text_in(message.get("content")) or text_in(message.get("refusal"))))

    def _take_legacy(self, function_call: object) -> None:
        """The `function_call` of old endpoints: one call, without index and id."""
        if fields := as_object(function_call):
            self._calls.take([{"function": fields}])

    def _news(self, field: str, value: str) -> str:
        seen = self._message[field]
        news = value.removeprefix(seen)
        self._message[field] = value if value.startswith(seen) else seen + value
        return news

    def _show(self, text: str) -> str:
        """Pass text on, as far as its characters are whole and it is no reasoning."""
        shown = self._think.feed(self._characters.feed(text))
        self._text.append(shown)
        return shown

    def _whole_reasoning(self) -> str:
        """Marked and separate reasoning; some endpoints send the same one both ways."""
        marked, apart = "".join(self._think.reasoning), whole_characters("".join(self._reasoning))
        return apart if marked.strip() == apart.strip() else marked + apart
