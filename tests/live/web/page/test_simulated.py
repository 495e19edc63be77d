"""The page of `forestall serve --simulated` as a process of its own, in a real browser."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from playwright.sync_api import TimeoutError as LateError

COMPILED = 400_000
"""ms that the first look may take where nothing is compiled yet."""
SHOWN = 180_000
"""ms that a failure, or a kept promise, may take to come."""


class Simulated(NamedTuple):
    """Where it is, and its operator's token."""

    address: str
    token: str


@pytest.fixture(scope="module")
def simulated(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    folder = tmp_path_factory.mktemp("serve")
    command = [
        sys.executable, "-m", "forestall", "serve", "--simulated", "--nodes", "64",
        "--speed", "600", "--ledger", f"sqlite:///{folder}/ledger.db", "--port", "0", "--json",
    ]  # fmt: skip
    with (Path(folder) / "said").open("w") as said:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            assert server.stdout is not None
            told = ""
            while not told.endswith("}\n"):
                line = server.stdout.readline()
                assert line, (Path(folder) / "said").read_text()
                told += line
            greeting = json.loads(told)
            yield Simulated(greeting["address"], greeting["operator_token"])
        finally:
            server.terminate()
            server.wait(30)
            server.stdout.close()


def _taken(page: Page) -> None:
    """Take the first offer; where others took its nodes meanwhile, ask again."""
    promised = page.get_by_role("heading", name="Promised")
    gone = page.get_by_text("no longer holds")
    for _ in range(10):
        page.locator(".fs-offers li").first.get_by_role("button").click()
        name = page.get_by_label("Name (optional)")
        try:
            name.wait_for(timeout=5_000)
        except LateError:  # the list was made anew under the click
            continue
        name.fill("<b>bold</b>")
        page.get_by_role("button", name="Submit the job").click()
        expect(promised.or_(gone)).to_be_visible(timeout=30_000)
        if promised.is_visible():
            return
        page.get_by_role("button", name="Ask again", exact=True).click()
        expect(gone).not_to_be_visible(timeout=30_000)
    pytest.fail("ten offers did not hold")


def test_from_a_quote_to_a_kept_promise(
    simulated: Simulated, signed_in: Callable[..., BrowserContext]
) -> None:
    page = signed_in(simulated.address, simulated.token).new_page()
    page.on("pageerror", lambda error: pytest.fail(f"the page's script: {error}"))
    page.goto("/")
    expect(page.get_by_text("64 nodes")).to_be_visible(timeout=COMPILED)
    page.get_by_role("link", name="Quote", exact=True).click()
    page.get_by_label("Nodes").fill("2")
    page.get_by_label("Time limit").fill("30m")
    page.get_by_role("button", name="Ask", exact=True).click()
    _taken(page)
    promise = page.locator(".fs-done code").inner_text()

    with httpx.Client(
        base_url=simulated.address, headers={"Authorization": f"Bearer {simulated.token}"}
    ) as client:
        told = client.get("/api/v1/promises").json()["promises"]
    assert [one["id"] for one in told] == [promise]

    page.get_by_role("button", name="See promises").click()
    expect(page.locator(".fs-promise").first).to_contain_text("2 nodes for 30 min")
    pill = page.locator(".fs-promise .fs-pill").first
    # Nodes fail in this world: a promise of less than certainty may be missed.
    expect(pill).to_have_text(re.compile("^(kept|missed)$"), timeout=SHOWN)
    with httpx.Client(
        base_url=simulated.address, headers={"Authorization": f"Bearer {simulated.token}"}
    ) as client:
        (told,) = client.get("/api/v1/promises").json()["promises"]
    assert pill.inner_text() == told["outcome"]
    page.get_by_role("link", name="Record", exact=True).click()
    settled = f"One promise is settled: it was {told['outcome']}"
    expect(page.get_by_text(settled)).to_be_visible(timeout=10_000)


def test_a_proposal_is_decided(
    simulated: Simulated, signed_in: Callable[..., BrowserContext]
) -> None:
    page = signed_in(simulated.address, simulated.token).new_page()
    page.goto("/proposals")
    waiting = page.locator(".fs-proposals li")
    waiting.first.wait_for(timeout=SHOWN)
    expect(waiting.first).to_contain_text("%")
    what = waiting.first.locator("b").first.inner_text()
    waiting.first.get_by_role("button", name="Approve").click()
    row = page.get_by_role("table", name="Recent decisions and actions").get_by_role("row")
    expect(row.filter(has_text=what.split()[1]).first).to_be_visible()
