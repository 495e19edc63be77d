"""Tables of a page in a real browser: sorted by mouse and keyboard, searched; pages that fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from chromium_browser.browser import chromium
from forestall.core.show.blocks import Table
from forestall.core.show.facts import Fact
from forestall.core.show.page import page, write_page
from forestall.core.show.report import Report, Section

WAITS = ("90 s", "5 min", "2.5 h", "-", "1.2 d", "3 h", "45 s", "12 min", "1,000 s", "0 s")
ASCENDING = ["0 s", "45 s", "90 s", "5 min", "12 min", "1,000 s", "2.5 h", "3 h", "1.2 d", "-"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture
def shown(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    rows = [("all", "2 d"), *((f"node {k}", wait) for k, wait in enumerate(WAITS))]
    table = Table.of("waits", ("Node", "Wait"), rows, title="Waits", summed=True)
    wide = Table.of("wide", [f"a rather long head {k}" for k in range(20)], [["1"] * 20] * 3)
    file = write_page(tmp_path / "page.html", page(
        Report("T", "h", (Section("s", "S", "Lead.", body=(table, wide)),))
    ))  # fmt: skip
    context = browser.new_context(viewport={"width": 400, "height": 800})
    made = context.new_page()
    made.on("pageerror", lambda error: pytest.fail(f"the page's script: {error}"))
    made.goto(file.as_uri())
    yield made
    context.close()


def column(shown: Page, selector: str = "td") -> list[str]:
    return shown.locator(
        f"#s-waits ~ .scroll >> nth=0 >> tbody {selector}:visible"
    ).all_inner_texts()


def test_a_click_sorts_by_size_and_the_sum_stays_first(shown: Page) -> None:
    head = shown.locator("th", has_text="Wait")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(shown) == ["2 d", *ASCENDING[-2::-1], "-"]
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(shown) == ["2 d", *ASCENDING]


def test_names_sort_as_people_count(shown: Page) -> None:
    shown.locator("th", has_text="Node").get_by_role("button").click()
    names = column(shown, "th")
    assert names == ["all", *(f"node {k}" for k in range(10))]
    assert shown.locator("[aria-sort]").count() == 1


def test_a_word_finds_its_rows(shown: Page) -> None:
    field = shown.get_by_role("searchbox")
    field.fill("NODE 12 min")
    assert column(shown, "th") == ["node 7"]
    assert shown.get_by_role("status").inner_text() == "1 of 11 rows"
    field.fill("")
    assert len(column(shown, "th")) == 11


def test_a_wide_table_scrolls_in_its_own_box(shown: Page) -> None:
    assert shown.evaluate("document.documentElement.scrollWidth") == 400
    box = shown.locator(".scroll").nth(1)
    assert box.evaluate("one => one.scrollWidth > one.clientWidth")


def test_what_goes_on_fades_until_it_is_reached(shown: Page) -> None:
    short, wide = shown.locator(".scroll").nth(0), shown.locator(".scroll").nth(1)
    shown.wait_for_function("document.querySelectorAll('.scroll')[1].matches('.right')")
    assert "right" not in (short.get_attribute("class") or "")
    assert "linear-gradient" in wide.evaluate("one => getComputedStyle(one).maskImage")
    wide.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
    shown.wait_for_function("!document.querySelectorAll('.scroll')[1].matches('.right')")


def test_names_stay_in_sight_on_a_phone(shown: Page) -> None:
    wide = shown.locator(".scroll").nth(1)
    first, other = wide.locator("tbody th").first, wide.locator("tbody td").first
    before = [one.bounding_box() for one in (first, other)]
    wide.evaluate("one => one.scrollTo(300, 0)")
    after = [one.bounding_box() for one in (first, other)]
    moved = [b["x"] - a["x"] for b, a in zip(before, after, strict=True) if a and b]
    assert moved == [pytest.approx(0, abs=2), pytest.approx(300, abs=2)]


def test_no_cell_runs_into_the_next_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    names = ("Available, with a guest", "S2: owner at work, guest at lowest priority", "x" * 40)
    rows = [(name, "4,635 host-hours", "70.2 %") for name in names]
    table = Table.of("t", ("What", "Time", "Share"), rows, title="T", right=(1, 2))
    made = page(Report("T", "h", (Section("s", "S", "Lead.", body=(table,)),)))
    file = write_page(tmp_path / "page.html", made)
    sheet = browser.new_page(viewport={"width": 400, "height": 800})
    sheet.goto(file.as_uri())
    cells = sheet.locator("tbody th, tbody td").all()
    assert len(cells) == 9
    for cell in cells:
        assert cell.evaluate("one => one.scrollWidth <= one.clientWidth + 1"), cell.inner_text()
    sheet.close()


def test_cards_stand_in_twos_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    facts = tuple(Fact(f"f{k}", f"a figure {k}", 17.8, "per_1000_node_days") for k in range(4))
    made = page(Report("T", "h", (Section("s", "S", "Lead.", facts),)))
    file = write_page(tmp_path / "cards.html", made)
    context = browser.new_context(viewport={"width": 400, "height": 800})
    sheet = context.new_page()
    sheet.goto(file.as_uri())
    boxes = [one.bounding_box() for one in sheet.locator(".cards > div").all()]
    assert len({round(one["x"]) for one in boxes if one}) == 2
    assert (
        sheet.locator(".big").first.evaluate("one => one.firstChild.textContent.trim()") == "17.8"
    )
    context.close()
