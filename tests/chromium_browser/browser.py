"""A real Chromium without a screen, driven by Playwright, for one test run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

PACKAGES = Path(__file__).with_name("debian-packages.txt").read_text().split()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start it; skips, and says why, where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip(f"no Chromium: the Debian packages {' '.join(PACKAGES)} are not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
