"""From a conversation's messages to those of the Messages API, which is stricter.

Above: `agent.models.anthropic.request`. Pure. What the API asks for, and what any history is made to satisfy: roles
alternate, the first and the last message are the user's, every call is answered in the message after it and before
anything else there, no text is blank, and ids have only certain characters
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls).
"""

import re
from collections.abc import Sequence
from hashlib import sha256

from agent.model import JsonObject, Message
from agent.models.anthropic.blocks import is_thinking

NO_RESULT = "No result of this call is on record."
NO_OUTPUT = "(no output)"
GO_ON = "Go on."
BEFORE = "(The beginning of this conversation is not shown.)"
_GOOD_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MARK = {"type": "ephemeral"}


class History:
    """Takes messages in order; `messages` are the API's so far. `echo_of` is the model that gets its thinking back."""

    def __init__(self, *, echo_of: str | None) -> None:
        self.messages: list[JsonObject] = []
        self._echo_of = echo_of
        self._open: list[str] = []

    def add(self, message: Message) -> None:
        """Take the next message."""
        match message.role:
            case "assistant":
                self._close_calls()
                content = self._assistant_content(message)
                if content and not self.messages:
                    self._append("user", [_text(BEFORE)])
                self._append("assistant", content)
                self._open = [fitting_id(call.id) for call in message.tool_calls]
            case "tool":
                self._add_result(message)
            case _:
                self._append("user", [_text(message.text)] if message.text.strip() else [])

    def mark(self) -> None:
        """Set cache marks where this history ends, and where it ended a request ago.

        The API looks for what it kept at a mark and at the twenty blocks before it; a step with many calls is longer.
        """
        users = [message for message in self.messages if message["role"] == "user"]
        for message in users[-2:]:
            message["content"][-1]["cache_control"] = _MARK

    def end(self) -> None:
        """Answer what is open, and let the user have the last word: the API takes no message begun for the model."""
        self._close_calls()
        if not self.messages or self.messages[-1]["role"] == "assistant":
            self._append("user", [_text(GO_ON)])

    def _append(self, role: str, content: list[JsonObject]) -> None:
        if not content:
            return
        if self.messages and self.messages[-1]["role"] == role:
            self.messages[-1]["content"] += content
        else:
            self.messages.append({"role": role, "content": content})

    def _add_result(self, message: Message) -> None:
        call_id = fitting_id(message.call_id)
        if call_id not in self._open:
            self._append("user", [_text(f"Result of {message.tool or 'a call'}:\n{message.text}")])
            return
        self._open.remove(call_id)
        self._answer(call_id, message.text if message.text.strip() else NO_OUTPUT)

    def _close_calls(self) -> None:
        for call_id in self._open:
            self._answer(call_id, NO_RESULT)
        self._open = []

    def _answer(self, call_id: str, text: str) -> None:
        """Put a result before whatever else the user's message holds."""
        self._append("user", [{"type": "tool_result", "tool_use_id": call_id, "content": text}])
        content: list[JsonObject] = self.messages[-1]["content"]
        content.sort(key=lambda block: block["type"] != "tool_result")

    def _assistant_content(self, message: Message) -> list[JsonObject]:
        calls = [
            {"type": "tool_use", "id": fitting_id(call.id), "name": call.name, "input": call.arguments}
            for call in message.tool_calls
        ]
        texts = [_text(message.text)] if message.text.strip() else []
        echoed = self._echo_of is not None and message.model in {"", self._echo_of}
        if not echoed or not (texts or calls):
            # Thinking alone is no message: the API takes none that ends with it.
            return [*texts, *calls]
        return _in_place(message, calls) or [*filter(is_thinking, message.blocks), *texts, *calls]


def fitting_id(call_id: str) -> str:
    """A call's id as the API takes it; another vendor's may have other characters."""
    if _GOOD_ID.fullmatch(call_id):
        return call_id
    return f"call_{sha256(call_id.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _in_place(message: Message, calls: Sequence[JsonObject]) -> list[JsonObject]:
    """The content as it came, if the thinking stood between texts and calls and they are still the same."""
    texts = [block["text"] for block in message.blocks if block.get("type") == "text"]
    marks = [block for block in message.blocks if block.get("type") == "tool_use"]
    if not (texts or marks) or "".join(texts) != message.text or len(marks) != len(calls):
        return []
    left = iter(calls)
    content = [next(left) if block.get("type") == "tool_use" else block for block in message.blocks if _is_ours(block)]
    return [] if is_thinking(content[-1]) else content


def _is_ours(block: JsonObject) -> bool:
    """Whether the API takes the record back; it takes no empty text, and no other vendor's."""
    return is_thinking(block) or block.get("type") == "tool_use" or (block.get("type") == "text" and _has_words(block))


def _has_words(block: JsonObject) -> bool:
    return bool(block["text"].strip())


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
