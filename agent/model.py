"""PORT: a language model that answers one request as a stream.

Above: `agent.session` builds a `ModelRequest` from the conversation. Below: `agent/models/` speaks a vendor's wire
format over HTTP. Implemented by `agent.models.openai_compatible.OpenAICompatibleModel`.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call the model asks for. `malformed` holds the raw argument text when it was not a JSON object."""

    id: str
    name: str
    arguments: JsonObject
    malformed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model call; `estimated` when the vendor told nothing.

    `prompt_tokens` includes `cached_tokens`, which were in the vendor's cache, and `written_tokens`, which were put
    into it.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    written_tokens: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of the history, in the model's order.

    `tool_calls` belongs to assistant messages; `call_id` and `tool` to tool messages, which answer exactly one call.
    `blocks` are the vendor's own records of the reasoning, which go back as they came to the `model` that made them, by
    its `Model.name`, and to no other; without a name they are taken for the own.
    """

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    reasoning: str = ""
    blocks: tuple[JsonObject, ...] = ()
    model: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    tool: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """What a model is told of a tool: its name, what it does, and the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call. Within a conversation every request extends the bytes of the one before; empty `tools` are not sent.

    `tail` is what the model is told this once, after the history: it is in no later request. Without `may_call` the
    model is to answer in words: where a vendor insists on the tools of a history with calls, they are sent and closed.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    tail: Sequence[Message] = ()
    may_call: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta:
    """A piece of the answer's text, as it streams."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One whole answer. `complete` only once the stream ended properly; a call in an incomplete reply never runs."""

    text: str = ""
    reasoning: str = ""
    blocks: tuple[JsonObject, ...] = ()
    """The vendor's own records of the reasoning, such as signed thinking; to be sent back as they are."""
    model: str = ""
    """The `Model.name` of the one that answered; empty where the asker knows it."""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    complete: bool = False
    usage: Usage | None = None
    error: str | None = None
    notes: tuple[str, ...] = field(default=())


class Model(Protocol):
    """A model that can be asked."""

    @property
    def name(self) -> str:
        """`provider:model`, as configured."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[TextDelta | Reply, None]:
        """Yield text as it arrives and, last, exactly one complete `Reply`.

        Raises:
            ModelError: a subclass that says what to do, after the permitted retries.
        """
        ...

    async def aclose(self) -> None:
        """Let kept connections go; the model can still be asked afterwards."""
        ...
