"""The table of vendors and how a configured name finds its row."""

import pytest

from agent.providers import ANSWER_TOKENS, PROVIDERS, Price, UnusableModel, resolve

KEY = "sk-secret"


@pytest.mark.requirement("model.stream")
def test_no_name_at_all_is_the_default_of_the_default_provider() -> None:
    found = resolve("", base_url=None, api_key=KEY)
    assert (found.name, found.base_url, found.api_key) == ("deepseek:deepseek-flash", "https://api.deepseek.com", KEY)
    assert found.facts.window == 1_000_000


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("glm", "glm:glm-5.1"),
        ("Zhipu:glm-5.3-flash", "glm:glm-5.3-flash"),
        ("moonshot", "kimi:kimi-k2.6"),
        (" openrouter : z-ai/glm-5 ", "openrouter:z-ai/glm-5"),
        ("ollama:qwen3:8b", "ollama:qwen3:8b"),
        ("qwen:", "qwen:qwen-plus"),
        ("claude", "anthropic:claude-sonnet-5-5"),
    ],
)
def test_a_provider_is_found_by_name_or_alias(spec: str, name: str) -> None:
    assert resolve(spec, base_url=None, api_key=KEY).name == name


@pytest.mark.requirement("settings.bad-value")
@pytest.mark.parametrize(
    ("spec", "base_url", "api_key", "words"),
    [
        ("telepathy:x", None, KEY, ["'telepathy'", *PROVIDERS]),
        ("deepseek", None, None, ["needs a key", "PAIGATE_MODEL_API_KEY"]),
        ("deepseek", None, " ", ["needs a key"]),
        ("ollama", None, None, ["ollama:MODEL"]),
        ("compatible:m", None, None, ["PAIGATE_MODEL_BASE_URL"]),
        ("demo", None, None, ["PAIGATE_MODEL_BASE_URL"]),
        ("compatible:m", "localhost:8000", None, ["https://host/v1"]),
        ("compatible:m", "http://h:99999", None, ["https://host/v1"]),
        ("compatible:m", "http://[", None, ["https://host/v1"]),
    ],
)
def test_what_is_unknown_or_missing_is_told_in_one_line(
    spec: str, base_url: str | None, api_key: str | None, words: list[str]
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        resolve(spec, base_url=base_url, api_key=api_key)
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1/chat/completions", " http://127.0.0.1:8000/v1"]
)
def test_a_base_url_may_be_written_in_several_ways(url: str) -> None:
    assert resolve("vllm:m", base_url=url, api_key=None).base_url == "http://127.0.0.1:8000/v1"


def test_a_key_is_found_under_the_providers_own_variable() -> None:
    environment = {"DEEPSEEK_API_KEY": "from-environment"}
    assert resolve("deepseek", base_url=None, api_key=None, environment=environment).api_key == "from-environment"
    assert resolve("deepseek", base_url=None, api_key=KEY, environment=environment).api_key == KEY


def test_every_row_is_whole_and_no_name_is_used_twice() -> None:
    names = [name for row in PROVIDERS.values() for name in (row.id, *row.aliases)]
    assert len(set(names)) == len(names)
    for row in PROVIDERS.values():
        assert row.base_url.startswith("https://") or not row.needs_key
        assert not row.base_url.endswith("/")
        assert row.key_variable.endswith("_API_KEY")
        if row.models:
            assert row.default_model in {facts.name for facts in row.models}
        assert row.fields_of("a model of tomorrow") == row.fields
        assert len({facts.name for facts in row.models}) == len(row.models)


@pytest.mark.requirement("providers.table")
def test_the_vendors_are_those_that_were_asked_for() -> None:
    asked_for = "deepseek glm hunyuan kimi step qwen minimax openai openrouter ollama compatible anthropic"
    assert set(asked_for.split()) <= set(PROVIDERS)
    assert next(iter(PROVIDERS)) == "deepseek"


@pytest.mark.requirement("providers.table", "model.echo")
@pytest.mark.parametrize(
    ("spec", "echoes"),
    [
        ("deepseek:deepseek-flash", True),
        ("deepseek:deepseek-v4-pro", True),
        ("glm:glm-5.1", False),
        ("glm:glm-5.3", True),
        ("glm:glm-5.3-flash", True),
        ("hunyuan:hy4-preview", True),
        ("kimi:kimi-k2.6", True),
        ("step:step-3.5-flash", False),
        ("minimax:MiniMax-M3", True),
        ("openai:gpt-5", False),
        ("anthropic:claude-opus-5-5", True),
        ("vllm:anything", False),
    ],
)
def test_each_model_tells_whether_it_wants_its_reasoning_back(spec: str, echoes: bool) -> None:
    found = resolve(spec, base_url="https://h/v1", api_key=KEY)
    assert found.provider.echoes(found.facts.name) is echoes


@pytest.mark.requirement("providers.table")
@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        ("glm:glm-5.3", {"thinking": {"type": "enabled", "clear_thinking": False}, "tool_stream": True}),
        ("glm:glm-5.1", {}),
        ("minimax:MiniMax-M2.7", {"reasoning_split": True}),
        ("deepseek", {"thinking": {"type": "enabled"}}),
        ("claude:claude-opus-5-5", {"thinking": {"type": "adaptive", "display": "summarized"}}),
        ("claude:claude-haiku-4-5", {}),
    ],
)
def test_a_request_has_the_fields_that_its_model_needs(spec: str, fields: dict[str, object]) -> None:
    found = resolve(spec, base_url=None, api_key=KEY)
    assert found.provider.fields_of(found.facts.name) == fields


@pytest.mark.requirement("providers.unknown-stays")
def test_what_is_not_known_of_a_model_stays_unknown() -> None:
    for spec in ("glm:glm-9", "vllm:m", "qwen"):
        facts = resolve(spec, base_url="https://h/v1", api_key=KEY).facts
        assert (facts.window, facts.price, facts.max_output, facts.images) == (None, None, None, None)
    assert resolve("kimi", base_url=None, api_key=KEY).facts.price is None


@pytest.mark.requirement("providers.table")
def test_an_answer_is_allowed_no_more_than_the_model_can_give() -> None:
    assert resolve("claude", base_url=None, api_key=KEY).answer_tokens == ANSWER_TOKENS
    assert resolve("vllm:m", base_url="https://h/v1", api_key=KEY).answer_tokens == ANSWER_TOKENS
    rows = [facts for row in PROVIDERS.values() for facts in row.models]
    assert all(facts.max_output is None or facts.max_output < (facts.window or 0) for facts in rows)
    prices = [facts.price for facts in rows if facts.price]
    assert all(price.cached < price.input < price.output for price in prices)


@pytest.mark.requirement("providers.table")
def test_claude_takes_a_quarter_more_for_what_is_put_into_its_cache() -> None:
    prices = [facts.price for facts in PROVIDERS["anthropic"].models if facts.price]
    assert [price.written for price in prices] == [2.5, 5.0, 6.25, 1.25]
    assert all(facts.price is None or facts.price.written is None for facts in PROVIDERS["deepseek"].models)


@pytest.mark.requirement("providers.table", "settings.bad-value")
def test_a_price_can_be_set() -> None:
    found = resolve("vllm:m", base_url="https://h/v1", api_key=None, price=" 2/0.04/8 cny ")
    assert found.facts.price == Price(input=2.0, cached=0.04, output=8.0, currency="CNY")
    own = resolve("deepseek", base_url=None, api_key=KEY, price="0 / 0 / 0 USD").facts
    assert own.price == Price(input=0.0, cached=0.0, output=0.0, currency="USD")
    assert own.window == 1_000_000
    assert resolve("deepseek", base_url=None, api_key=KEY, price=" ").facts.price == Price(
        input=2.0, cached=0.04, output=8.0, currency="CNY"
    )


@pytest.mark.requirement("settings.bad-value", "providers.price")
@pytest.mark.parametrize(
    "price",
    ["2", "2/3 CNY", "2/0.04/8", "2/0.04/8 EUR", "-2/0/8 CNY", "nan/0/8 CNY", "1e9/0/8 CNY", "2/0/8/1 CNY", "9" * 400],
)
def test_a_price_that_is_none_is_told_with_an_example(price: str) -> None:
    with pytest.raises(UnusableModel, match=r"2/0\.04/8 CNY") as caught:
        resolve("deepseek", base_url=None, api_key=KEY, price=price)
    assert caught.value.setting == "PAIGATE_MODEL_PRICE"


@pytest.mark.parametrize("url", ["https://h/anthropic", "https://h/anthropic/v1/messages", "https://h/anthropic/v1/"])
def test_an_address_for_the_messages_api_may_be_written_with_or_without_its_version(url: str) -> None:
    assert resolve("claude", base_url=url, api_key=KEY).base_url == "https://h/anthropic/v1"


def test_a_model_does_not_show_its_key() -> None:
    assert KEY not in repr(resolve("claude", base_url=None, api_key=KEY))


@pytest.mark.parametrize(
    ("spec", "key", "headers"),
    [
        ("anthropic", "k", {"x-api-key": "k", "anthropic-version": "2023-06-01"}),
        ("deepseek", "k", {"Authorization": "Bearer k"}),
        ("ollama:llama", "", {}),
    ],
)
def test_a_key_is_shown_to_an_endpoint_in_the_way_of_its_family(spec: str, key: str, headers: dict[str, str]) -> None:
    assert resolve(spec, api_key=key).headers == headers


@pytest.mark.requirement("settings.bad-value")
@pytest.mark.parametrize(
    ("spec", "base_url", "setting"),
    [
        (":model", None, "PAIGATE_MODEL"),
        ("compatible:x", "http://a b/v1", "PAIGATE_MODEL_BASE_URL"),
        ("compatible:x", "http://a\u202eb/v1", "PAIGATE_MODEL_BASE_URL"),
    ],
)
def test_a_name_without_a_provider_and_an_address_with_hidden_signs_are_refused(
    spec: str, base_url: str | None, setting: str
) -> None:
    with pytest.raises(UnusableModel) as refused:
        resolve(spec, base_url=base_url)
    assert refused.value.setting == setting
