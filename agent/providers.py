"""The vendors whose OpenAI-compatible endpoints are known, and what is known of each.

Base URLs are those of the vendors' own documentation; where a vendor has one endpoint for mainland China and one for
elsewhere, the row has the former, and a configured base URL replaces it. A window or price that is not documented is
None: unknown stays unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

ReasoningField = Literal["reasoning_content", "reasoning", "think"]
MODEL_SETTING = "PAIGATE_MODEL"
KEY_SETTING = "PAIGATE_MODEL_API_KEY"
URL_SETTING = "PAIGATE_MODEL_BASE_URL"


class UnusableModel(ValueError):
    """A model that cannot be asked; the message is one line, and `setting` names what must be mended."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a million tokens cost: prompt tokens that were not cached, cached ones, and completion tokens."""

    input: float
    cached: float
    output: float
    currency: Literal["CNY", "USD"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of one model; `window` is how many tokens prompt and answer may have together."""

    name: str
    window: int | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One vendor.

    `reasoning_field` is where reasoning goes in a message sent back, if it `echoes_reasoning`; `think` stands for
    `<think>` tags at the start of the text. `stream_options` tells that usage must be asked for and may be.
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
    needs_key: bool = True
    family: str = "openai_compatible"
    """The entry of `agent.models.FAMILIES` that speaks its wire format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedModel:
    """A model and where to ask it. The key is not part of the representation."""

    provider: Provider
    facts: ModelFacts
    base_url: str
    api_key: str

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self.provider.id}:{self.facts.name}"

    def __repr__(self) -> str:
        return f"ResolvedModel({self.name!r}, base_url={self.base_url!r})"


_ROWS = (
    Provider(
        id="deepseek",
        base_url="https://api.deepseek.com",
        key_variable="DEEPSEEK_API_KEY",
        default_model="deepseek-flash",
        models=(
            # The prices of peak hours; outside of them it is half.
            ModelFacts(
                name="deepseek-flash",
                window=1_000_000,
                price=Price(input=2.0, cached=0.04, output=8.0, currency="CNY"),
            ),
            ModelFacts(
                name="deepseek-v4-pro",
                window=1_000_000,
                price=Price(input=9.0, cached=0.30, output=27.0, currency="CNY"),
            ),
        ),
        echoes_reasoning=True,
    ),
    Provider(
        id="glm",
        aliases=("zhipu", "zai", "bigmodel"),
        base_url="https://open.bigmodel.cn/api/paas/v4",
        key_variable="ZAI_API_KEY",
        default_model="glm-5.1",
        models=(ModelFacts(name="glm-5.1", window=200_000), ModelFacts(name="glm-5.3-flash", window=1_000_000)),
        echoes_reasoning=True,
    ),
    Provider(
        id="hunyuan",
        aliases=("hy4", "tencent", "tokenhub"),
        base_url="https://tokenhub.tencentmaas.com/v1",
        key_variable="TOKENHUB_API_KEY",
        default_model="hy4-preview",
        models=(ModelFacts(name="hy4-preview", window=1_000_000),),
        echoes_reasoning=True,
    ),
    Provider(
        id="kimi",
        aliases=("moonshot",),
        base_url="https://api.moonshot.cn/v1",
        key_variable="MOONSHOT_API_KEY",
        default_model="kimi-k2.6",
        models=(ModelFacts(name="kimi-k2.6", window=256_000),),
        echoes_reasoning=True,
    ),
    Provider(
        id="step",
        aliases=("stepfun",),
        base_url="https://api.stepfun.com/v1",
        key_variable="STEPFUN_API_KEY",
        default_model="step-3.5-flash",
        models=(ModelFacts(name="step-3.5-flash", window=256_000),),
        stream_options=False,
    ),
    Provider(
        id="qwen",
        aliases=("dashscope", "tongyi"),
        base_url="https://dashscope.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
        default_model="qwen-plus",
    ),
    Provider(
        id="minimax",
        base_url="https://api.minimaxi.com/v1",
        key_variable="MINIMAX_API_KEY",
        default_model="MiniMax-M3",
        models=(ModelFacts(name="MiniMax-M3", window=1_000_000), ModelFacts(name="MiniMax-M2.7", window=204_800)),
        echoes_reasoning=True,
        reasoning_field="think",
    ),
    Provider(
        id="openai",
        base_url="https://api.openai.com/v1",
        key_variable="OPENAI_API_KEY",
        default_model="gpt-5",
    ),
    Provider(
        id="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        default_model="openrouter/auto",
        reasoning_field="reasoning",
    ),
    Provider(id="ollama", base_url="http://127.0.0.1:11434/v1", key_variable="OLLAMA_API_KEY", needs_key=False),
    # Any other endpoint of this kind, such as vLLM or llama.cpp, at a configured base URL.
    Provider(id="compatible", aliases=("vllm",), base_url="", key_variable=KEY_SETTING, needs_key=False),
    # The rule-driven stand-in of `agent.models.demo`, at the base URL that it printed.
    Provider(id="demo", base_url="", key_variable=KEY_SETTING, default_model="demo", needs_key=False),
)

PROVIDERS: Mapping[str, Provider] = {row.id: row for row in _ROWS}
"""Every provider by its id; the first is the default."""

_BY_NAME = {name: row for row in _ROWS for name in (row.id, *row.aliases)}


def resolve(
    spec: str, *, base_url: str | None, api_key: str | None, environment: Mapping[str, str] | None = None
) -> ResolvedModel:
    """Find the model that `provider:model` or `provider` names; an empty `spec` is the default provider's default.

    A `base_url` replaces the provider's. Without an `api_key` the provider's own variable is looked up in
    `environment`, if given.

    Raises:
        UnusableModel: it names what is unknown or missing, and what would be right.
    """
    provider_name, _, model = spec.strip().partition(":")
    provider = _BY_NAME.get(provider_name.strip().lower() or _ROWS[0].id)
    if provider is None:
        known = ", ".join(PROVIDERS)
        raise UnusableModel(MODEL_SETTING, f"unknown model provider {provider_name!r}; the names are {known}")
    model = model.strip() or provider.default_model
    if not model:
        message = f"{provider.id!r} has no default model; name one, as in {provider.id}:MODEL"
        raise UnusableModel(MODEL_SETTING, message)
    key = (api_key or (environment or {}).get(provider.key_variable, "")).strip()
    if provider.needs_key and not key:
        raise UnusableModel(KEY_SETTING, f"{provider.id}:{model} needs a key; set {KEY_SETTING}")
    facts = next((facts for facts in provider.models if facts.name == model), ModelFacts(name=model))
    return ResolvedModel(
        provider=provider, facts=facts, base_url=_checked_url(base_url or provider.base_url, provider), api_key=key
    )


def _checked_url(base_url: str, provider: Provider) -> str:
    if not base_url:
        raise UnusableModel(URL_SETTING, f"{provider.id!r} needs a base URL; set {URL_SETTING}")
    base_url = base_url.strip().rstrip("/").removesuffix("/chat/completions")
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UnusableModel(URL_SETTING, "the base URL is not one; it looks like https://host/v1")
    return base_url
