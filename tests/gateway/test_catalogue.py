"""Both languages say everything, with the same values."""

import re
import string
from pathlib import Path

import pytest

from gateway.catalogue import choose_language, say, texts

ROOT = Path(__file__).parents[2]


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.requirement("demo.says-so")
def test_both_languages_have_the_same_keys_and_values() -> None:
    zh, en = texts("zh"), texts("en")
    assert zh.keys() == en.keys()
    assert {key: placeholders(text) for key, text in zh.items()} == {key: placeholders(en[key]) for key in en}
    assert "demo" in en["answer.demo"].lower()
    assert "演示" in zh["answer.demo"]


def test_every_key_that_the_code_names_exists() -> None:
    named = re.compile(
        r'(?<!_log\.warning\()(?<!_log\.error\()"((?:help|command|new|status|stop|message|card|answer|delivery|file|turn|mode)\.[a-z_]+)"'
    )
    used = {
        key
        for folder in ("gateway", "worker")
        for path in (ROOT / folder).rglob("*.py")
        for key in named.findall(path.read_text(encoding="utf-8"))
    }
    assert used - texts("en").keys() == set()
    assert len(used) > 20


def test_every_error_of_the_model_is_worded() -> None:
    from agent import errors

    kinds = [
        name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.ModelError)
    ]
    assert {f"model.{name}" for name in kinds if name != "ModelError"} <= texts("zh").keys()


@pytest.mark.parametrize(
    ("text", "hint", "setting", "language"),
    [
        ("你好", None, "auto", "zh"),
        ("hello", "zh", "auto", "zh"),
        ("/status", "zh", "auto", "zh"),
        ("hello", None, "auto", "en"),
        ("\U0001f600", "zh", "auto", "zh"),
        ("", None, "auto", "en"),
        ("hello", None, "zh", "zh"),
        ("你好", None, "en", "en"),
        ("change 你好 in a.py", "en", "auto", "zh"),
    ],
)
def test_the_language_follows_setting_then_text_then_client(text: str, hint: str, setting: str, language: str) -> None:
    assert choose_language(text, hint, setting) == language


def test_a_value_with_braces_is_put_in_as_it_is() -> None:
    assert "{x} {0}" in say("file.refused", "en", detail="{x} {0}")


def test_every_tool_is_worded() -> None:
    from agent.tools import TOOLS

    assert {f"tool.{name}" for name in TOOLS} <= texts("zh").keys()


@pytest.mark.requirement("grant.pattern")
@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("key", ["card.scope_pattern", "card.granted_pattern"])
def test_a_text_around_a_pattern_is_one_line_and_names_it_once(key: str, language: str) -> None:
    assert texts(language)[key].count("{pattern}") == 1
    assert "\n" not in texts(language)[key]
