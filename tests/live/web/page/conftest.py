"""A browser and a server for each module of tests of the page: while the browser is there, its
event loop runs, and other tests of the process could have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from chromium_browser.browser import chromium
from live.web.page.served import ServedDesk, served

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="module")
def told(browser: Browser) -> Iterator[ServedDesk]:
    """A desk of plain data, served after it is known that there is a browser."""
    with served(64, 40) as one:
        yield one


@pytest.fixture
def signed_in(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Return what opens a browser for somebody: their token, the server's address."""
    contexts = []

    def open_for(address: str, token: str, **look: Any) -> BrowserContext:
        context = browser.new_context(base_url=address, timezone_id="Europe/Berlin", **look)
        contexts.append(context)
        context.set_default_timeout(20_000)
        answer = context.request.post("login", form={"token": token})
        assert answer.ok, answer.status
        return context

    yield open_for
    for context in contexts:
        context.close()


@pytest.fixture
def visit(told: ServedDesk, signed_in: Callable[..., BrowserContext]) -> Visit:
    """Return what opens a view of the page for somebody. Errors of its scripts fail the test."""

    def open_view(view: str = "", who: str = "ops", **look: Any) -> Page:
        page = signed_in(told.address, f"token-of-{who}", **look).new_page()
        page.on("pageerror", lambda error: pytest.fail(f"the page's script: {error}"))
        page.goto(view or "/")
        page.locator("main h1:visible").wait_for()
        return page

    return open_view
