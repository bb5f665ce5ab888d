"""Finding the model that was configured: its vendor's row, its address and its key.

Above: whoever makes a model. Below: `agent.provider` says what a row is, `agent.provider_rows` holds them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from agent.provider import Currency, ModelFacts, OutputField, Price, Provider, ReasoningField
from agent.provider_rows import ROWS

__all__ = [
    "ANSWER_TOKENS",
    "KEY_SETTING",
    "MODEL_SETTING",
    "PRICE_SETTING",
    "PROVIDERS",
    "URL_SETTING",
    "Currency",
    "ModelFacts",
    "OutputField",
    "Price",
    "Provider",
    "ReasoningField",
    "ResolvedModel",
    "UnusableModel",
    "resolve",
]

MODEL_SETTING = "PAIGATE_MODEL"
KEY_SETTING = "PAIGATE_MODEL_API_KEY"
URL_SETTING = "PAIGATE_MODEL_BASE_URL"
PRICE_SETTING = "PAIGATE_MODEL_PRICE"

ANSWER_TOKENS = 32_000
"""How many tokens one answer may have at most, where a request says so; a longer one is continued."""

_PRICE = re.compile(
    r"\s*(?P<input>\d{1,9}(?:\.\d{1,9})?)\s*/\s*(?P<cached>\d{1,9}(?:\.\d{1,9})?)\s*/\s*(?P<output>\d{1,9}(?:\.\d{1,9})?)"
    r"\s*(?P<currency>CNY|USD)\s*",
    re.ASCII | re.IGNORECASE,
)
_ENDPOINTS = ("/chat/completions", "/messages")


class UnusableModel(ValueError):
    """A model that cannot be asked; the message is one line, and `setting` names what must be mended."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(message)
        self.setting = setting


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

    @property
    def answer_tokens(self) -> int:
        """How many tokens an answer of it is allowed, where a request must say so."""
        return min(self.facts.max_output or ANSWER_TOKENS, ANSWER_TOKENS)

    @property
    def headers(self) -> Mapping[str, str]:
        """How its endpoint is shown the key, as for a list of its models."""
        if self.provider.family == "anthropic":
            return {"x-api-key": self.api_key, "anthropic-version": "2023-06-01"}
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def __repr__(self) -> str:
        return f"ResolvedModel({self.name!r}, base_url={self.base_url!r})"


PROVIDERS: Mapping[str, Provider] = {row.id: row for row in ROWS}
"""Every provider by its id; the first is the default."""

_BY_NAME = {name: row for row in ROWS for name in (row.id, *row.aliases)}


def resolve(
    spec: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    environment: Mapping[str, str] | None = None,
    price: str | None = None,
) -> ResolvedModel:
    """Find the model that `provider:model` or `provider` names; an empty `spec` is the default provider's default.

    A `base_url` replaces the provider's. Without an `api_key` the provider's own variable is looked up in
    `environment`, if given. A `price`, such as `2/0.04/8 CNY`, replaces the table's: what a million tokens cost that
    are input, cached input, and output.

    Raises:
        UnusableModel: it names what is unknown or missing, and what would be right.
    """
    provider_name, _, model = spec.strip().partition(":")
    if spec.strip().startswith(":"):
        raise UnusableModel(MODEL_SETTING, f"{spec.strip()!r} names no provider; write it as in deepseek:MODEL")
    provider = _BY_NAME.get(provider_name.strip().lower() or ROWS[0].id)
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
    return ResolvedModel(
        provider=provider,
        facts=_priced(provider.facts_of(model), price),
        base_url=_checked_url(base_url or provider.base_url, provider),
        api_key=key,
    )


def _priced(facts: ModelFacts, price: str | None) -> ModelFacts:
    if not price or not price.strip():
        return facts
    found = _PRICE.fullmatch(price)
    if found is None:
        message = "is no price; it looks like 2/0.04/8 CNY: input/cached/output for a million tokens"
        raise UnusableModel(PRICE_SETTING, message)
    currency: Currency = "CNY" if found["currency"].upper() == "CNY" else "USD"
    own = Price(
        input=float(found["input"]), cached=float(found["cached"]), output=float(found["output"]), currency=currency
    )
    return replace(facts, price=own)


def _checked_url(base_url: str, provider: Provider) -> str:
    if not base_url:
        raise UnusableModel(URL_SETTING, f"{provider.id!r} needs a base URL; set {URL_SETTING}")
    base_url = base_url.strip().rstrip("/")
    if not all(sign.isprintable() and not sign.isspace() for sign in base_url):
        raise UnusableModel(URL_SETTING, "the base URL has a blank or a sign that cannot be seen; copy it again")
    for endpoint in _ENDPOINTS:
        base_url = base_url.removesuffix(endpoint)
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UnusableModel(URL_SETTING, "the base URL is not one; it looks like https://host/v1")
    # Addresses for Anthropic's own clients, such as https://host/anthropic, are written without the version.
    return base_url if provider.family != "anthropic" or base_url.endswith("/v1") else f"{base_url}/v1"
