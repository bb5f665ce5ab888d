"""Rules of the code that a machine can keep."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest

from agent import errors
from agent.models import FAMILIES
from agent.sandboxes import SANDBOXES
from agent.tools import TOOLS
from gateway.adapters import ADAPTERS

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for folder in ("gateway", "worker", "agent") for path in (ROOT / folder).rglob("*.py"))
MOST_LINES = 300
MOST_FUNCTION_LINES = 40
README = (ROOT / "README.md").read_text(encoding="utf-8")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_no_file_and_no_function_is_longer_than_a_reader_takes_in() -> None:
    long_files = [str(path) for path in SOURCES if path.read_text(encoding="utf-8").count("\n") > MOST_LINES]
    long_functions = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in SOURCES
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES
    ]
    assert long_files == []
    assert long_functions == []


def test_everything_is_caught_at_three_named_edges_only() -> None:
    edges = [
        f"{path.relative_to(ROOT)}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) == "Exception")
    ]
    assert sorted(edges) == ["agent/toolbox.py", "gateway/adapters/telegram/adapter.py", "worker/jobs.py"]


def test_nothing_waits_in_the_way_that_swallows_cancellations() -> None:
    """On Python 3.11 `asyncio.wait_for` drops a cancellation that comes as its future is done; `asyncio.timeout` not."""
    assert [path for path in SOURCES if "wait_for(" in path.read_text(encoding="utf-8")] == []


def test_the_tree_in_the_docstring_of_errors_is_the_real_one() -> None:
    def drawn(kind: type, depth: int = 0) -> Iterator[str]:
        yield "    " * depth + kind.__name__
        for child in kind.__subclasses__():
            if child.__module__ == "agent.errors":
                yield from drawn(child, depth + 1)

    tree = (inspect.getdoc(errors) or "").split("\n\n", 1)[1]
    assert sorted(tree.splitlines()) == sorted(drawn(errors.AgentError))


@pytest.mark.parametrize(
    ("registry", "folder"),
    [
        (FAMILIES, "agent/models"),
        (SANDBOXES, "agent/sandboxes"),
        (TOOLS, "agent/tools"),
        (ADAPTERS, "gateway/adapters"),
    ],
)
def test_each_plugin_is_registered_and_each_registered_one_loads(registry: dict[str, str], folder: str) -> None:
    modules = {place.partition(":")[0] for place in registry.values()}
    present = {
        f"{folder.replace('/', '.')}.{path.stem}"
        for path in (ROOT / folder).iterdir()
        if path.stem not in {"__init__", "__pycache__", "demo"}
    }
    assert modules == present
    for place in registry.values():
        assert resolve_name(place)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("gateway.app", {"telegram", "agent"}),
        ("worker.control", {"agent", "httpx", "telegram"}),
        ("agent.session", {"redis", "rq", "telegram", "starlette", "httpx"}),
    ],
)
def test_an_import_loads_nothing_that_is_only_sometimes_needed(module: str, heavy: set[str]) -> None:
    script = f"import sys, {module}; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert heavy & set(loaded.stdout.split()) == set()


def test_nothing_names_a_package_index() -> None:
    index = "|".join((r"pypi\." + "org", r"files\.python" + "hosted", r"registry\.npm" + "js"))
    folders = ("gateway", "worker", "agent", "tests", "deploy", ".ci")
    kept = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    kept += [ROOT / "pyproject.toml", ROOT / "README.md"]
    assert len(kept) > 100
    for path in kept:
        assert not re.search(index, path.read_text(encoding="utf-8", errors="replace")), path


@pytest.mark.requirement("checks.all", "setup.test")
def test_one_command_checks_everything() -> None:
    script = (ROOT / "deploy/test").read_text(encoding="utf-8")
    for check in ("ruff format --check", "ruff check", "basedpyright", "lint-imports", "pytest", "install_chromium"):
        assert check in script


@pytest.mark.requirement("checks.readme")
def test_the_readme_is_short_and_what_it_names_exists() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150
    assert any(line.strip() == "./deploy/run" for line in lines[:20])
    for path in re.findall(r"`((?:\./)?(?:deploy|tests|gateway|worker|agent)/[\w./-]*)`", README):
        assert (ROOT / path).exists(), path
    from gateway.settings import Settings

    for variable in re.findall(r"PAIGATE_([A-Z_]+)", README):
        assert variable.lower() in Settings.model_fields, variable
    from gateway.cli import app

    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert set(re.findall(r"`paigate ([a-z]+)", README)) <= commands
