"""A real browser for the tests that open a page: the Chromium of the system, without a window."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

SIZE = {"width": 1400, "height": 1000}
NAMES = ("chromium", "chromium-browser", "google-chrome")

expect.set_options(timeout=30_000)  # milliseconds: a busy machine is slow, and not wrong


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Skips the test where there is no Chromium; none is ever downloaded."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no chromium on PATH")
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=path, args=["--no-sandbox"]) as browser,
    ):
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page; the test fails where anything that it opens reports an error."""
    errors: list[str] = []
    with browser.new_page(viewport=SIZE) as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        yield page
    assert not errors, errors
