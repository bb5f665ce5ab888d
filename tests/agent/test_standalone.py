"""The library without queue and chat: its example runs, and the article's task takes three steady requests."""

import asyncio
import os
import re
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

import agent
from agent.events import Answered, ApprovalNeeded, Decision
from agent.exchange import Terms
from agent.models import load_model
from agent.project import Owner
from agent.providers import resolve
from agent.standalone import open_session
from tests.agent.bench import SANDBOX_UID
from tests.servers.model import ModelServer, calls, text


def example() -> str:
    """The code in the library's docstring."""
    block = re.search(r"works alone:\n\n((?:    .*\n|\n)+)", agent.__doc__ or "")
    assert block
    return textwrap.dedent(block.group(1))


@pytest.mark.requirement("loop.standalone")
def test_the_example_of_the_docstring_runs_and_is_short(tmp_path: Path) -> None:
    (tmp_path / "hello").mkdir()
    (tmp_path / "hello/a.txt").write_text("x")
    with ModelServer([calls(("list_dir", {"path": "."})), text("There is a.txt.")]) as server:
        script = example().replace("http://127.0.0.1:8000/v1", server.base_url)
        assert server.base_url in script
        done = subprocess.run(
            [sys.executable, "-P", "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(Path(agent.__file__).parents[1]), "PATH": os.environ["PATH"]},
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "There is a.txt." in done.stdout.splitlines()[-1]
    assert len([line for line in script.splitlines() if line.strip()]) <= 12
    assert (tmp_path / "hello.ledger.jsonl").exists()


@pytest.mark.requirement("loop.article", "loop.steady")
def test_the_articles_task_takes_three_requests_each_extending_the_last(tmp_path: Path) -> None:
    project = tmp_path / "hello"
    project.mkdir()
    (project / "Hello.java").write_text('class Hello { String text = "Hello World"; }\n')
    owner = Owner(SANDBOX_UID, SANDBOX_UID) if os.geteuid() == 0 else None
    if owner:
        os.chown(project, owner.uid, owner.gid)
    script = [
        calls(("read_file", {"path": "Hello.java"}), answer="先看文件。"),
        calls(("edit_file", {"path": "Hello.java", "old_text": "Hello World", "new_text": "Hello PaiCLI"})),
        text("已改好。"),
    ]
    with ModelServer(script) as server:
        model = load_model(resolve("compatible:scripted", base_url=server.base_url))

        async def work() -> Answered:
            with open_session(project, model=model, says="把 Hello World 改成 Hello PaiCLI", owner=owner) as session:
                asked = [event async for event in session.run()][-1]
                assert isinstance(asked, ApprovalNeeded)
                decision = Decision(call_id=asked.call.id, digest=asked.digest, scope="once", by="me")
                answered = [event async for event in session.resume([decision])][-1]
                assert isinstance(answered, Answered)
                await model.aclose()
                return answered

        answered = asyncio.run(work())
        bodies = [request.body for request in server.requests]
    assert answered.text == "已改好。"
    assert [(change.path, change.added, change.removed) for change in answered.report.changes] == [("Hello.java", 1, 1)]
    assert "Hello PaiCLI" in (project / "Hello.java").read_text()
    assert len(bodies) == 3
    for earlier, later in pairwise(bodies):
        # All but the two brackets that close the list of messages and the body.
        assert earlier.endswith(b"]}")
        assert later.startswith(earlier.removesuffix(b"]}"))


@pytest.mark.requirement("loop.standalone")
def test_a_session_alone_goes_on_with_its_ledger(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    with ModelServer([text("one"), text("two")]) as server:

        async def say(words: str) -> None:
            model = load_model(resolve("compatible:scripted", base_url=server.base_url))
            with open_session(project, model=model, says=words, terms=Terms(mode="plan")) as session:
                assert [type(event) async for event in session.run()][-1] is Answered
            await model.aclose()

        asyncio.run(say("first"))
        asyncio.run(say("second"))
        said = [message["content"] for message in server.requests[1].json["messages"][1:]]
    assert [words for words in said if not words.startswith("[paigate]")] == ["first", "one", "second"]
