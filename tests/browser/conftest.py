"""A phone: Debian's Chromium at 390 x 844, which fails its test on any error of the page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}
OUTPUT = Path(__file__).parent.parent / "output"
PATIENCE_MS = 15_000
# A lost connection is logged by the browser itself, and is what some tests are about.
EXPECTED = re.compile(r"Failed to load resource|net::ERR_|EventSource")


# Not for the session: while it runs, Playwright holds the thread's event loop, and other tests need their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def phone(browser: Browser, request: pytest.FixtureRequest) -> Iterator[BrowserContext]:
    """A phone's browser without history, in English. What its last tab shows becomes `tests/output/<test>.png`."""
    context = browser.new_context(viewport=PHONE, device_scale_factor=2, has_touch=True, is_mobile=True, locale="en-US")
    context.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on("console", lambda entry: errors.append(entry.text) if entry.type == "error" else None)
    yield context
    for page in context.pages[-1:]:
        shoot(page, request.node.name)
    context.close()
    assert [error for error in errors if not EXPECTED.search(error)] == []


@pytest.fixture
def page(phone: BrowserContext) -> Page:
    """A tab of the phone."""
    return phone.new_page()


def shoot(page: Page, name: str) -> None:
    """Save what the page shows as `tests/output/<name>.png`."""
    OUTPUT.mkdir(exist_ok=True)
    page.screenshot(path=OUTPUT / f"{re.sub(r'[^A-Za-z0-9_-]+', '-', name)}.png")
