"""Pages of runs in a dark browser: no figure, bar or table is a light patch."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser

import forestall as fs
from chromium_browser.browser import chromium

LIGHT = 170
"""Brightness from which on a point belongs to a light patch."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


def promise_run() -> Any:
    failures = fs.generate_failures(16, 10, 1, rate_per_year=800)
    return fs.simulate(fs.generate_jobs(16, 1, days=4, load=0.7), failures, nodes=16)


def virtual_run() -> Any:
    failures = fs.generate_failures(16, 10, 1, rate_per_year=800)
    jobs = fs.generate_task_jobs(1, count=200, days=8, largest=16, capacity=32)
    return fs.simulate_virtual(jobs, failures, nodes=16)


def cycle_run() -> Any:
    hosts = fs.generate_hosts(6, 14, 1, period=300)
    return fs.simulate_cycle(
        fs.generate_guests(40, 1, days=10, lengths=(1800, 3600)), hosts, warm_up=7 * 86_400,
        predict_every=21_600, horizon=21_600, predict_step=300,
    )  # fmt: skip


@pytest.mark.parametrize("run", [promise_run, virtual_run, cycle_run])
def test_nothing_is_a_light_patch(run: Callable[[], Any], browser: Browser, tmp_path: Path) -> None:
    run().save(tmp_path / "run")
    shares = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 1400, "height": 900}, color_scheme=scheme)
        page.goto((tmp_path / "run" / "report.html").as_uri())
        drawn = page.locator("figure").all()
        assert drawn
        for k, one in enumerate(drawn):
            with Image.open(io.BytesIO(one.screenshot())) as image:
                shares[scheme, k] = float((np.asarray(image.convert("L")) > LIGHT).mean())
        page.close()
    dark = [share for (scheme, _), share in shares.items() if scheme == "dark"]
    light = [share for (scheme, _), share in shares.items() if scheme == "light"]
    assert max(light) > 0.5, shares
    assert max(dark) < 0.2, shares
