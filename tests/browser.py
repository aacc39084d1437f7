"""A real browser for the tests of pages: Debian's Chromium by Playwright, with the network off."""

import shutil
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@contextmanager
def chromium():
    """Start the browser that is installed, or skip the tests that need it."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: pip install -e '.[test]'"
    )
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"needs a browser, and none of {', '.join(BROWSERS)} is installed")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield started
        started.close()


@contextmanager
def opened(browser, path, fragment="", **options):
    """Open a page without a network; messages on the console, errors and requests are failures."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    context.set_offline(True)
    page, troubles = context.new_page(), []
    page.on("console", lambda message: troubles.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
    page.on("request", lambda request: troubles.append(request.url) if _foreign(request) else None)
    page.goto(path.as_uri() + fragment)
    yield page
    context.close()
    assert troubles == []


def check_narrow(page, width=400):
    """Assert that a page fits a telephone: what is wider scrolls in its own frame."""
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == width


def _foreign(request):
    """Whether something else than the page and its own pictures is asked for."""
    return not request.url.startswith(("file:", "data:", "blob:"))
