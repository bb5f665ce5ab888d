"""What is known of a vendor and its models: one row of the table in `agent.provider_rows`.

Above: `agent.providers` finds a row by the name that was configured; `agent/models/` makes requests by it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Currency = Literal["CNY", "USD"]
ReasoningField = Literal["reasoning_content", "reasoning", "reasoning_details", "think"]
OutputField = Literal["max_tokens", "max_completion_tokens"]
RequestFields = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost: prompt tokens that were not cached, cached ones, and completion tokens.

    `written` is for prompt tokens that are put into the cache; None is the same as `input`.
    """

    input: float
    cached: float
    output: float
    currency: Currency
    written: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of one model; None is unknown, and never counts as nought or as no.

    `window` is how many tokens prompt and answer may have together, `max_output` how many an answer may have, and
    `images` whether a message may hold pictures. `echoes_reasoning` differs from the provider's where it is given;
    `fields` are what a request for this model holds besides.
    """

    name: str
    window: int | None = None
    price: Price | None = None
    max_output: int | None = None
    images: bool | None = None
    echoes_reasoning: bool | None = None
    fields: RequestFields = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One vendor.

    `reasoning_field` is where reasoning goes in a message sent back, if it `echoes_reasoning`; `think` stands for
    `<think>` tags at the start of the text, and `reasoning_details` for the vendor's own records, unchanged.
    `stream_options` tells that usage must be asked for and may be. `output_field` is the name of the limit of an
    answer's tokens, `fields` are what every request holds besides, and `text_calls` tells that its models at times
    write a call as text, in DeepSeek's markup.
    """

    id: str
    base_url: str
    key_variable: str
    default_model: str = ""
    aliases: tuple[str, ...] = ()
    models: tuple[ModelFacts, ...] = ()
    echoes_reasoning: bool = False
    reasoning_field: ReasoningField = "reasoning_content"
    stream_options: bool = True
    output_field: OutputField = "max_tokens"
    fields: RequestFields = field(default_factory=dict[str, Any])
    text_calls: bool = False
    needs_key: bool = True
    family: str = "openai_compatible"
    """The entry of `agent.models.FAMILIES` that speaks its wire format."""

    def facts_of(self, model: str) -> ModelFacts:
        """What is known of the model called so: nothing but its name, if it is not in the table."""
        return next((facts for facts in self.models if facts.name == model), ModelFacts(name=model))

    def echoes(self, model: str) -> bool:
        """Whether this model is sent its reasoning back."""
        own = self.facts_of(model).echoes_reasoning
        return self.echoes_reasoning if own is None else own

    def fields_of(self, model: str) -> RequestFields:
        """What a request for this model holds besides what all requests of its family hold."""
        return {**self.fields, **self.facts_of(model).fields}
