"""A headless browser for the pages that the project makes, and what a page did in it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PHONE, DESKTOP = 390, 1440


@dataclass
class Visit:
    """An open page, the errors it has reported and the addresses it has asked for so far."""

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def network_requests(self) -> list[str]:
        return [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))]

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium or Chrome, wherever it is installed."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("There is no Chromium or Chrome on PATH; run tests/install_browser.sh, or make test.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield chromium
        chromium.close()


@contextmanager
def visit(browser: Browser, file: Path, *, width: int) -> Iterator[Visit]:
    """Open a file in a window of some width."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    seen = Visit(page)
    page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("request", lambda request: seen.requests.append(request.url))
    page.goto(file.resolve().as_uri())
    yield seen
    context.close()
