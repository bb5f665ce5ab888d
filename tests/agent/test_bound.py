"""An answer must not hold once the call would do something else than its card said."""

import asyncio

import pytest

from agent.events import Answered, ApprovalNeeded, Event
from tests.agent.bench import Bench
from tests.servers.model import ModelServer, calls, text

pytestmark = pytest.mark.requirement("approval.bound")


def ask(bench: Bench, server: ModelServer, tool: str, **arguments: object) -> list[Event]:
    server.add(calls((tool, arguments)), text("done"))
    bench.inbox.say("go", "1")
    return asyncio.run(bench.run())


def asked_again(events: list[Event]) -> ApprovalNeeded:
    again = events[-1]
    assert isinstance(again, ApprovalNeeded)
    assert again.stale
    return again


def test_a_directory_swapped_for_a_link_asks_again_with_the_real_place(bench: Bench, server: ModelServer) -> None:
    (bench.project_path / "src").mkdir()
    (bench.project_path / ".git/info").mkdir(parents=True)
    asked = ask(bench, server, "write_file", path="src/exclude", content="x\n")
    (bench.project_path / "src").rmdir()
    (bench.project_path / "src").symlink_to(".git/info")

    again = asyncio.run(bench.answer(asked, "once"))

    assert asked_again(again).preview.title == "src/exclude → .git/info/exclude (new)"
    assert list((bench.project_path / ".git/info").iterdir()) == []
    assert isinstance(asyncio.run(bench.answer(again, "once"))[-1], Answered)
    assert (bench.project_path / ".git/info/exclude").read_text() == "x\n"


def test_a_missing_directory_that_became_a_link_asks_again(bench: Bench, server: ModelServer) -> None:
    (bench.project_path / ".git").mkdir()
    asked = ask(bench, server, "write_file", path="new/config", content="x\n")
    (bench.project_path / "new").symlink_to(".git")

    assert asked_again(asyncio.run(bench.answer(asked, "once"))).preview.title == "new/config → .git/config (new)"
    assert list((bench.project_path / ".git").iterdir()) == []


def test_another_directory_of_the_same_name_asks_again(bench: Bench, server: ModelServer) -> None:
    (bench.project_path / "src").mkdir()
    asked = ask(bench, server, "write_file", path="src/f", content="x\n")
    (bench.project_path / "src").rename(bench.project_path / "old")
    (bench.project_path / "src").mkdir()

    asked_again(asyncio.run(bench.answer(asked, "once")))
    assert list((bench.project_path / "src").iterdir()) == []


def test_a_file_that_appeared_at_the_place_asks_again(bench: Bench, server: ModelServer) -> None:
    asked = ask(bench, server, "write_file", path="f", content="x\n")
    (bench.project_path / "f").write_text("")

    assert asked_again(asyncio.run(bench.answer(asked, "once"))).preview.title == "f"


def test_a_file_swapped_for_a_link_is_not_written_through(bench: Bench, server: ModelServer) -> None:
    (bench.project_path / "f").write_text("one\n")
    (bench.project_path / "victim").write_text("one\n")
    asked = ask(bench, server, "write_file", path="f", content="two\n")
    (bench.project_path / "f").unlink()
    (bench.project_path / "f").symlink_to("victim")

    assert isinstance(asyncio.run(bench.answer(asked, "once"))[-1], Answered)
    assert (bench.project_path / "victim").read_text() == "one\n"


def test_what_did_not_change_is_not_asked_about_twice(bench: Bench, server: ModelServer) -> None:
    asked = ask(bench, server, "create_project", name="demo", type="python")

    assert isinstance(asyncio.run(bench.answer(asked, "once"))[-1], Answered)
    assert (bench.project_path / "demo/main.py").exists()
