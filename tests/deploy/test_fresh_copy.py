"""A copy of the checkout without any environment, set up and run as on a new machine."""

import shutil
from pathlib import Path

import pytest

from tests.servers.deployed import Running, run
from tests.servers.ports import free_port
from tests.servers.product import ROOT

LEFT_OUT = shutil.ignore_patterns(".venv", ".git", "__pycache__", "output", ".*_cache", ".hypothesis", ".paigate")


@pytest.mark.requirement("setup.run", "setup.run-again")
@pytest.mark.timeout(400)
def test_a_fresh_copy_sets_itself_up_and_answers_and_the_second_run_installs_nothing(tmp_path: Path) -> None:
    copy = tmp_path / "paigate"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    home = tmp_path / "home"
    home.mkdir()
    with run(home, free_port(), checkout=copy) as first:
        assert any("installing" in line for line in first.printed)
        assert says_what_it_can_do(first)
    with run(home, free_port(), checkout=copy) as second:
        assert not any("installing" in line or "making" in line for line in second.printed)
        assert says_what_it_can_do(second)


def says_what_it_can_do(running: Running) -> bool:
    running.person.say("good morning to you")
    return "hello.py" in running.person.said("Demo model")["text"]
