"""Each requirement has a test, and each test names requirements that exist."""

import ast
from pathlib import Path

import pytest

from tests.requirements import REQUIREMENTS

TESTS = Path(__file__).parent


def named() -> dict[str, set[str]]:
    """Requirement id -> the tests that name it."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
                for argument in node.args:
                    if isinstance(argument, ast.Constant):
                        found.setdefault(str(argument.value), set()).add(path.name)
    return found


def test_every_requirement_has_a_test() -> None:
    assert sorted(REQUIREMENTS.keys() - named().keys()) == []


def test_every_named_requirement_exists() -> None:
    assert sorted(named().keys() - REQUIREMENTS.keys()) == []


@pytest.mark.parametrize("sentence", REQUIREMENTS.values())
def test_every_requirement_is_a_sentence(sentence: str) -> None:
    assert sentence.endswith(".")
