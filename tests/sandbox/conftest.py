from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.project import Project
from agent.sandboxes.bubblewrap import BubblewrapSandbox
from tests.sandbox.places import make_project, make_sandbox, public_directory


@pytest.fixture(scope="session")
def install_dir() -> Iterator[Path]:
    with public_directory() as path:
        yield path


@pytest.fixture
def sandbox(install_dir: Path) -> BubblewrapSandbox:
    return make_sandbox(install_dir)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Below a directory that only this process's account can enter."""
    with make_project(tmp_path / "project") as opened:
        yield opened


@pytest.fixture
def outside() -> Iterator[Path]:
    with public_directory() as path:
        yield path
