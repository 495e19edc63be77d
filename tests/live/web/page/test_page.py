"""The page in a real browser, over a desk of plain data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from live.web.page.served import ServedDesk
from live.web.page.told_desk import HOSTILE

Visit = Callable[..., Page]
VIEWS = ("", "quote", "promises", "record", "proposals")
PHONE = {"viewport": {"width": 390, "height": 844}}
WALL = {"viewport": {"width": 1920, "height": 1080}}


@pytest.fixture(autouse=True)
def _as_it_was(told: ServedDesk) -> Iterator[None]:
    desk = told.desk
    before = list(desk._proposals), list(desk._promises), dict(told.tokens)
    yield
    desk.said, desk.fails, desk.cycle = "", "", desk.cycle + 1
    desk._proposals, desk._promises = before[0], before[1]
    told.tokens.update(before[2])


def test_a_token_is_typed_once(told: ServedDesk, browser: Browser) -> None:
    context = browser.new_context(base_url=told.address)
    page = context.new_page()
    page.goto("/promises")
    assert page.url.endswith("/login")
    page.get_by_label("Token").fill("nobody's")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Unknown token")
    page.get_by_label("Token").fill("  token-of-alice ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Cluster now")).to_be_visible()
    (cookie,) = context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert "alice" not in page.evaluate("document.cookie")
    context.close()


def test_signing_out_ends_all_tabs(visit: Visit) -> None:
    page = visit()
    other = page.context.new_page()
    other.goto("/record")
    expect(other.get_by_role("heading", name="Record")).to_be_visible()
    kept = page.context.cookies()
    page.get_by_role("button", name="sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(other.get_by_role("heading", name="Sign in")).to_be_visible()
    page.context.add_cookies(kept)
    assert page.context.request.get("page/data/jobs").status == 401


def test_a_withdrawn_token_shows_nothing_more(told: ServedDesk, visit: Visit) -> None:
    page = visit(who="bob")
    del told.tokens["token-of-bob"]
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_no_request_leaves_the_origin(told: ServedDesk, visit: Visit) -> None:
    page = visit()
    asked: list[str] = []
    page.context.on("request", lambda one: asked.append(one.url))
    for view in VIEWS:
        page.goto(f"/{view}")
        page.locator("main h1:visible").wait_for()
        page.wait_for_load_state("networkidle")
    assert len(asked) > 20
    assert all(url.startswith((told.address, "data:")) for url in asked), asked
    policy = page.context.request.get("/").headers["content-security-policy"]
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy


def test_the_cluster_is_shown_and_told(told: ServedDesk, visit: Visit) -> None:
    page = visit()
    up = sum(one.in_service for one in told.desk._nodes)
    expect(page.get_by_text(f"{up} of 64 nodes in service")).to_be_visible()
    expect(page.locator(".fs-roles")).to_contain_text("warden approve")
    expect(page.locator(".fs-top")).to_contain_text("seen 1")
    page.locator("canvas").hover(position={"x": 30, "y": 20})
    expect(page.locator(".fs-tip")).to_contain_text("n00000: MIXED")
    page.get_by_role("button", name="Table").first.click()
    table = page.get_by_role("table", name="Nodes")
    expect(table.get_by_role("row")).to_have_count(26)
    page.get_by_role("button", name="Next page").first.click()
    expect(page.get_by_text("26 to 50 of 64 nodes")).to_be_visible()
    page.get_by_label("Filter nodes").fill("n00042")
    expect(table.get_by_role("row")).to_have_count(2)
    expect(page.locator("footer")).to_contain_text("Times in Europe/Berlin")


def test_the_time_line_moves_and_has_a_table(told: ServedDesk, visit: Visit) -> None:
    page = visit()
    expect(page.locator(".fs-row")).to_have_count(12)
    mark = page.locator(".fs-mark em").first
    expect(mark).to_contain_text("%")
    bar = page.locator(".fs-line .fs-bar:not(.fs-runs)").first
    before = bar.evaluate("one => parseFloat(one.style.left)")
    told.desk.pass_time(1800)
    expect(page.locator(".fs-now")).to_contain_text("now")
    page.wait_for_function(
        "before => parseFloat(document.querySelector('.fs-line .fs-bar:not(.fs-runs)').style.left)"
        " < before - 0.5", arg=before,
    )  # fmt: skip
    page.get_by_role("button", name="Table").nth(1).click()
    expect(page.get_by_role("table", name="Jobs").get_by_role("row")).to_have_count(13)


def test_hostile_names_are_text(visit: Visit) -> None:
    page = visit()
    page.get_by_label("Filter jobs").fill("onerror")
    expect(page.locator(".fs-line-key b", has_text="<img src=x")).to_be_visible()
    page.goto("/promises")
    page.get_by_role("button", name="job 103").click()
    story = page.locator(".fs-story")
    expect(story).to_contain_text(HOSTILE.replace("\u202e", "\\u202e"))
    assert page.evaluate("window.hurt") is None
    assert story.locator("img, script").count() == 0


def test_a_user_sees_only_their_own(visit: Visit) -> None:
    page = visit(who="alice")
    expect(page.locator(".fs-nav a")).to_have_count(4)
    words = page.content()
    data = {
        name: page.context.request.get(f"page/data/{name}")
        for name in ("nodes", "jobs", "promises", "proposals")
    }
    assert data["proposals"].status == 404
    names = {row[1] for row in data["jobs"].json()["jobs"]}
    assert names == {"", "alice"}
    assert {one["owner"] for one in data["promises"].json()["promises"]} == {"alice"}
    assert data["nodes"].json()["reasons"] == {}
    for text in (words, *(one.text() for one in data.values())):
        assert "bob" not in text
        assert "carol" not in text
    page.goto("/proposals")
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)


def test_quote_dialogue_and_promise(told: ServedDesk, visit: Visit) -> None:
    page = visit("quote", who="alice")
    page.get_by_label("Nodes").fill("4")
    page.get_by_label("Time limit").fill("soon")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("time")
    page.get_by_label("Time limit").fill("90m")
    page.get_by_role("button", name="Ask", exact=True).click()
    offers = page.locator(".fs-offers li")
    expect(offers).to_have_count(4)
    expect(page.get_by_text("4 nodes for 90 min: done by")).to_be_visible()
    expect(offers.first).to_contain_text("Record: stated 76 % to 81 %: 412, kept 371")
    page.get_by_role("button", name="tomorrow 8:00").click()
    page.get_by_role("button", name="Ask again").click()
    expect(page.get_by_text("are done by tomorrow 08:00 with 99.4 %")).to_be_visible()
    expect(page.get_by_role("button", name="4 nodes, 90m", exact=True)).to_be_visible()
    offers.nth(0).get_by_role("button").click()
    expect(page.get_by_label("Take it at 81 %")).to_be_visible()  # 90 % were asked for
    offers.nth(1).get_by_role("button").click()
    expect(page.get_by_label("Take it at")).to_have_count(0)
    page.get_by_label("Job script").fill("echo hello")
    page.get_by_role("button", name="Submit the job").click()
    expect(page.get_by_role("alert")).to_contain_text("#!")
    page.get_by_label("Job script").fill("#!/bin/sh\necho hello\n")
    page.get_by_label("Name (optional)").fill("greeting")
    page.get_by_label("requeue it").uncheck()
    page.get_by_role("button", name="Submit the job").click()
    expect(page.get_by_role("heading", name="Promised")).to_be_visible()
    order = told.desk.orders["alice-1"]
    assert order.script == "#!/bin/sh\necho hello\n"
    assert order.name == "greeting"
    assert sorted(order.consents) == ["exclude", "signal", "start"]
    assert not order.below
    page.get_by_role("button", name="See promises").click()
    expect(page.get_by_role("button", name="job 9000")).to_be_visible()
    assert page.url.endswith("/promises")
    page.go_back()
    expect(page.get_by_role("heading", name="Ask for a quote")).to_be_visible()


def test_on_a_real_cluster_the_owner_gets_a_line_to_paste(told: ServedDesk, visit: Visit) -> None:
    told.desk.simulated = False
    try:
        page = visit("quote", who="alice")
        page.get_by_label("Nodes").fill("4")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".fs-offers li").last.get_by_role("button").click()
        expect(page.get_by_label("Job script")).to_have_count(0)
        page.get_by_role("button", name="Take the offer", exact=True).click()
        line = "sbatch --comment=forestall:alice-3.0f --nodes=4 '--exclude=n[1-2]' job.sh"
        expect(page.get_by_text(line)).to_be_visible()
        assert next(reversed(told.desk.orders.values())).script == ""
        page.get_by_role("button", name="Ask", exact=True).click()
        page.locator(".fs-offers li").last.get_by_role("button").click()
        page.get_by_label("Let this service submit the job").check()
        expect(page.get_by_label("Job script")).to_be_visible()
    finally:
        told.desk.simulated = True


def test_a_fault_of_the_server_is_told(
    told: ServedDesk, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(told.desk, "quote", broken)
    page = visit("quote")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("the server failed")
    expect(page.get_by_role("button", name="Ask", exact=True)).to_be_enabled()


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_cut_off(visit: Visit, view: str, width: int) -> None:
    page = visit(view, viewport={"width": width, "height": 900})
    page.wait_for_load_state("networkidle")
    for button in page.get_by_role("button", name="Table").all():
        button.click()
    cut = page.evaluate(
        "[...document.querySelectorAll('html, main div, main table')]"
        ".filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth)"
        ".map(one => `${one.tagName} ${one.className} ${one.clientWidth} of ${one.scrollWidth}`)"
    )
    assert cut == []
    if view == "record":
        cell = page.locator("table[aria-label=Predictors] tbody td").first
        assert cell.get_attribute("data-of") == "Predictions"


def test_figures_of_proposals_are_told_in_words(told: ServedDesk, visit: Visit) -> None:
    first, moment = told.desk._proposals[0], float(told.desk.now + 3600)
    figures = {"start": moment, "time": 7200.0, "avoid contact1": moment, "loss": 2.1e9,
               "said": 0.99, "free": moment, "restarts": 1.0}  # fmt: skip
    why = "holds a promise from 2026-11-18 11:06 UTC on"
    told.desk._proposals[0] = replace(first, action="reserve", figures=figures, reason=why)
    page = visit("proposals")
    one = page.locator(".fs-proposals li").first
    expect(one).to_contain_text("from today 12:06 on")  # in the browser's zone
    clock = datetime.fromtimestamp(moment, ZoneInfo("Europe/Berlin")).strftime("%H:%M")
    expect(one.locator("dl > div")).to_have_text(
        [f"reserved from today {clock}", "reserved for 2 h",
         "expected loss in a failure 583,333 node-h", "stated probability 99.0 %",
         f"idle by today {clock}", "restarts so far 1", "avoids contact1"],
        use_inner_text=True,
    )  # fmt: skip


def test_approve_and_reject(told: ServedDesk, visit: Visit) -> None:
    page = visit("proposals")
    expect(page.get_by_text("3 proposals await a decision")).to_be_visible()
    expect(page.locator(".fs-proposals li").first).to_contain_text("25.3 node-h")
    page.get_by_role("button", name="Approve: drain n00000").click()
    expect(page.get_by_text("2 proposals await a decision")).to_be_visible()
    page.get_by_role("button", name="Reject: reboot n00001").click()
    expect(page.get_by_label("Reason", exact=True)).to_be_focused()
    expect(page.get_by_role("button", name="Reject", exact=True)).to_be_disabled()
    page.keyboard.type("it is watched already")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 proposal awaits a decision")).to_be_visible()
    expect(page.get_by_role("table", name="Recent decisions and actions")).to_contain_text(
        "watched already"
    )
    states = {one.id: one.state for one in told.desk._proposals}
    assert states["p0"] == "approved"
    assert states["p1"] == "refused"
    button = page.get_by_role("button", name="Approve: resume n00002").element_handle()
    told.desk._proposals[2] = replace(told.desk._proposals[2], state="expired")
    button.dispatch_event("click")  # whether or not the page knows already that it is too late
    expect(page.get_by_text("No proposal awaits a decision")).to_be_visible()


def test_record_predictors_and_costs(visit: Visit) -> None:
    page = visit("record")
    expect(page.get_by_role("img", name="Share of promises that were kept")).to_be_visible()
    table = page.get_by_role("table", name="Stated and observed, by deciles")
    expect(table.get_by_role("row", name="90 % to 100 %")).to_contain_text("%")
    expect(page.get_by_text("Best so far: hazard")).to_be_visible()
    costs = page.get_by_role("table", name="Costs of actions")
    expect(costs).to_contain_text("112 node-h")
    expect(costs.get_by_role("row", name="drain")).to_contain_text("3.4 node-h to 32.6 node-h")
    known = "The outcome of 2 actions is known: the failure came in 1; 18 node-h saved"
    expect(page.get_by_text(known)).to_be_visible()


def test_what_is_old_is_told(told: ServedDesk, visit: Visit) -> None:
    page = visit()
    told.desk.said = "squeue: timed out after 30 s"
    banner = page.get_by_role("alert")
    expect(banner).to_contain_text("The last read of the cluster failed: squeue: timed out")
    told.desk.said, told.desk.fails = "", "the disk is full"
    expect(banner).to_contain_text("The controller cannot answer: the disk is full")
    expect(page.get_by_role("heading", name="Cluster now")).to_be_visible()
    told.desk.fails = ""
    expect(banner).to_have_count(0)


def test_keyboard_alone(visit: Visit) -> None:
    page = visit()
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#fs-main")).to_be_focused()
    canvas = page.locator("canvas")
    for _ in range(20):
        page.keyboard.press("Tab")
        if canvas.evaluate("one => one === document.activeElement"):
            break
    expect(canvas).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#fs-node-words")).to_contain_text("n00001")
    page.keyboard.press("Escape")
    expect(page.locator(".fs-tip")).to_have_count(0)
    link = page.get_by_role("link", name="Promises", exact=True)
    link.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All promises")).to_be_visible()
    first = page.locator(".fs-promise").first
    first.focus()
    page.keyboard.press("Enter")
    expect(first).to_have_attribute("aria-expanded", "true")


def test_dark_and_light(visit: Visit) -> None:
    def background(page: Page) -> str:
        shown: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return shown

    page = visit(color_scheme="dark")
    assert background(page) == "rgb(20, 23, 26)"
    page.emulate_media(color_scheme="light")
    assert background(page) == "rgb(246, 247, 249)"
    switch = page.get_by_role("button", name="Colors")
    switch.click()
    switch.click()
    assert background(page) == "rgb(20, 23, 26)"
    page.reload()
    expect(page.get_by_role("heading", name="Cluster now")).to_be_visible()
    assert background(page) == "rgb(20, 23, 26)"


@pytest.mark.parametrize("look", [PHONE, WALL], ids=["phone", "wall"])
def test_nothing_is_wider_than_the_screen(look: dict[str, dict[str, int]], visit: Visit) -> None:
    page = visit(**look)
    for link in page.locator(".fs-nav a").all():
        link.click()
        page.locator(".fs-panel:visible, .fs-proposals").first.wait_for()
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, (page.url, wide)


def test_a_wall_shows_nodes_beside_the_queue(visit: Visit) -> None:
    page = visit(**WALL)
    nodes = page.get_by_role("region", name="Nodes").bounding_box()
    queue = page.get_by_role("region", name="Queue and promises").bounding_box()
    assert nodes is not None
    assert queue is not None
    assert nodes["y"] == queue["y"]
    assert nodes["x"] < queue["x"]
    assert queue["y"] + queue["height"] < 1080


def test_what_did_not_change_is_not_sent_again(told: ServedDesk, visit: Visit) -> None:
    page = visit()
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    told.desk.cycle += 1
    page.locator("footer", has_text=f"Cycle {told.desk.cycle}").wait_for()
    assert not [url for url in asked if "page/data" in url]
    answer = page.context.request.get("page/data/nodes")
    again = page.context.request.get(
        "page/data/nodes", headers={"If-None-Match": answer.headers["etag"]}
    )
    assert again.status == 304


def test_tampered_messages_do_nothing(
    told: ServedDesk, signed_in: Callable[..., BrowserContext]
) -> None:
    page = signed_in(told.address, "token-of-alice").new_page()
    page.goto("/")
    page.locator("main h1:visible").wait_for()
    sent = json.dumps({"proposal": "p0", "approved": True, "mark": 1})
    page.evaluate(
        "sent => { const page = getElement(Number(document.querySelector('.fs').id.slice(1)));"
        " page.$emit('decide', JSON.parse(sent)); page.$emit('take', [1, 2]);"
        " page.$emit('ask', {nodes: {}, time: [], percent: null}); }",
        sent,
    )
    page.get_by_role("link", name="Quote").click()
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator(".fs-offers li")).to_have_count(4)
    assert told.desk._proposals[0].state == "proposed"
