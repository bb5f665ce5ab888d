"""The table of vendors and how a configured name finds its row."""

import pytest

from agent.providers import PROVIDERS, resolve

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
