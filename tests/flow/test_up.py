"""What a newcomer does: ./deploy/run, the address it prints, the article's first task, Ctrl-C."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.servers.deployed import Running, run
from tests.servers.ports import free_port
from tests.servers.product import wait_until


@pytest.mark.requirement(
    "setup.run", "cli.up", "demo.article", "demo.says-so", "demo.only-unconfigured", "demo.languages"
)
@pytest.mark.requirement("setup.run-again", "setup.stop")
def test_the_articles_task_works_as_typed_and_everything_is_there_the_next_time(tmp_path: Path) -> None:
    port = free_port()
    with run(tmp_path, port) as first:
        assert "DEMO" in "".join(first.printed)
        first.person.say("把 Hello.java 里的 Hello World 改成 Hello PaiCLI")
        card = first.person.card()
        assert "Hello.java" in card["text"]
        assert '+        System.out.println("Hello PaiCLI");' in card["diff"]
        first.person.tap(card["buttons"][0][0]["value"])
        answer = first.person.said("演示模型")
        assert "Hello.java" in answer["text"]
        (java,) = first.data.glob("workspaces/*/hello/Hello.java")
        assert "Hello PaiCLI" in java.read_text()

        started = first.everyone()
        assert any("agent.models.demo" in " ".join(process.cmdline()) for process in started)
        first.stop()
        assert _left(started) == []

    with run(tmp_path, port) as second:
        assert not [line for line in second.printed if "installing" in line]
        shown = [message["text"] for message in second.person.messages()]
        assert any("演示模型" in text for text in shown)
        second.person.say("change Hello World to Hello PaiCLI in hello.py, then run it")
        edit = second.person.card()
        second.person.tap(edit["buttons"][0][0]["value"])
        command = second.person.card(after=edit["id"])
        assert "python3 hello.py" in command["text"]
        second.person.tap(command["buttons"][0][0]["value"])
        assert "Demo model" in second.person.said("Hello PaiCLI\n")["text"]


@pytest.mark.requirement("cli.restart")
def test_a_killed_part_is_started_again_and_the_chat_goes_on(tmp_path: Path) -> None:
    with run(tmp_path, free_port()) as running:
        for name in ("gateway", "worker"):
            pid = int((running.data / f"run/{name}.ready").read_text())
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: _says(running, "列出文件"), "the gateway is back")
        assert "hello.py" in running.person.said("Hello.java")["text"]


@pytest.mark.requirement("cli.restart")
def test_a_killed_demo_model_comes_back(tmp_path: Path) -> None:
    with run(tmp_path, free_port()) as running:
        (demo,) = [p for p in running.everyone() if "agent.models.demo" in " ".join(p.cmdline())]
        before = (running.data / "run/worker.ready").read_text()
        demo.kill()
        wait_until(lambda: (running.data / "run/worker.ready").read_text() != before, "a new worker is ready")
        running.person.say("列出文件")
        assert "hello.py" in running.person.said("Hello.java")["text"]


def _says(running: Running, text: str) -> bool:
    with suppress(httpx.TransportError):
        return running.person.say(text, "7a1cbb3e-3d5f-4c53-8d51-111111111111").status_code == 200
    return False


def _left(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
