"""The whole job by hand in the page, at a phone's size, with every process real and nothing configured."""

import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import shoot
from tests.servers.deployed import run
from tests.servers.ports import free_port
from tests.servers.product import wait_until


@pytest.mark.requirement("web.card", "web.messages", "web.progress", "web.phone", "web.reconnect")
def test_a_person_does_a_whole_task_by_tapping_and_the_page_outlives_the_gateway(
    phone: BrowserContext, tmp_path: Path
) -> None:
    with run(tmp_path, free_port()) as running:
        page = phone.new_page()
        page.goto(running.link)
        say(page, "change Hello World to Hello PaiCLI in hello.py, then run it")

        card = page.locator("[data-role=card]").last
        expect(card).to_contain_text("May I change a file?")
        expect(card.locator(".diff")).to_contain_text('+    print("Hello PaiCLI")')
        shoot(page, "job-1-card")
        card.get_by_role("button", name="Once").click()
        expect(card).to_contain_text("Approved once by you")

        command = page.locator("[data-role=card]").nth(1)
        expect(command).to_contain_text("python3 hello.py")
        os.kill(int((running.data / "run/gateway.ready").read_text()), signal.SIGKILL)
        expect(page.locator("[data-state=reconnecting]")).to_be_visible(timeout=20_000)
        expect(page.locator("[data-state=connected]")).to_be_visible(timeout=20_000)
        command.get_by_role("button", name="Once").click()

        answer = page.locator("[data-role=answer]").last
        expect(answer).to_contain_text("Hello PaiCLI", timeout=20_000)
        expect(answer).to_contain_text("hello.py +1 −1")
        expect(answer).to_contain_text("Demo model")
        shoot(page, "job-2-answer")
        (source,) = running.data.glob("workspaces/*/hello/hello.py")
        assert "Hello PaiCLI" in source.read_text()
        before = [text for text in page.locator("[data-role]").all_inner_texts() if "PaiCLI" in text]
        page.reload()
        expect(page.locator("[data-role=answer]").last).to_contain_text("Hello PaiCLI")
        assert [text for text in page.locator("[data-role]").all_inner_texts() if "PaiCLI" in text] == before


@pytest.mark.requirement("web.deny-reason", "web.download", "web.languages", "control.file")
def test_a_person_refuses_with_a_reason_in_chinese_and_downloads_a_file(phone: BrowserContext, tmp_path: Path) -> None:
    with run(tmp_path, free_port()) as running:
        page = phone.new_page()
        page.goto(running.link)
        say(page, "把 Hello.java 里的 Hello World 改成 Hello PaiCLI")
        card = page.locator("[data-role=card]").last
        card.get_by_role("button", name="拒绝并说明").click()
        card.get_by_role("textbox").fill("先别改")
        card.get_by_role("button", name=re.compile("拒绝|Send|发送")).last.click()
        expect(card).to_contain_text("先别改")
        expect(page.locator("[data-role=answer]").last).to_contain_text("先别改")
        (java,) = running.data.glob("workspaces/*/hello/Hello.java")
        assert "Hello World" in java.read_text()

        say(page, "/file get hello.py")
        link = page.get_by_role("link", name=re.compile("hello.py"))
        with page.expect_download() as downloading:
            link.click()
        assert "Hello World" in Path(downloading.value.path()).read_text()
        wait_until(lambda: not page.locator("text=sending").count(), "everything is sent")


@pytest.mark.requirement("approval.edit", "mode.command", "web.card")
def test_a_person_changes_a_command_on_its_card_and_then_lets_edits_run_unasked(
    phone: BrowserContext, tmp_path: Path
) -> None:
    with run(tmp_path, free_port()) as running:
        page = phone.new_page()
        page.goto(running.link)
        say(page, "run hello.py")
        card = page.locator("[data-role=card]").last
        card.get_by_role("button", name="Edit").click()
        card.get_by_label("Command").fill("python3 hello.py\necho changed by hand > note.txt")
        shoot(page, "edit-1-card")
        card.get_by_role("button", name="Allow with these changes").click()
        expect(card).to_contain_text("Allowed with changes by you, once")
        expect(page.locator("[data-role=answer]")).to_have_count(1, timeout=20_000)
        (note,) = running.data.glob("workspaces/*/hello/note.txt")
        assert note.read_text() == "changed by hand\n"
        shoot(page, "edit-2-answer")

        say(page, "/mode edits")
        expect(page.locator("[data-role=notice]").last).to_contain_text("Mode set: edits.")
        say(page, "change Hello World to Hello PaiCLI in hello.py")
        expect(page.locator("[data-role=answer]")).to_have_count(2, timeout=20_000)
        expect(page.locator("[data-role=card]")).to_have_count(1)
        assert "Hello PaiCLI" in (note.parent / "hello.py").read_text()


def say(page: Page, text: str) -> None:
    expect(page.locator("[data-state=connected]")).to_be_visible()
    box = page.get_by_role("textbox", name="Message")
    box.fill(text)
    box.press("Enter")
