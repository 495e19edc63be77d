"""Draw the image of the live page: a simulated cluster with some promises, in a real Chromium.

python docs/make_page_image.py [FOLDER]    (FOLDER: docs/images by default; needs the extras `serve`
and `plot`, Playwright and Debian's package chromium)
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from PIL import Image
from playwright.sync_api import sync_playwright

COMMAND = [sys.executable, "-m", "forestall", "serve", "--simulated", "--nodes", "64"]
SIZE = {"width": 1280, "height": 1130}
NAMES = ("train", "render", "flow", "genome", "weather")


def main(folder: Path) -> None:
    """Serve, promise, and take the picture."""
    with TemporaryDirectory() as place:
        ledger = ["--ledger", f"sqlite:///{place}/ledger.db"]
        server = subprocess.Popen(
            [*COMMAND, *ledger, "--speed", "60", "--port", "0", "--json"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert server.stdout is not None
            told = ""
            while not told.endswith("}\n"):
                told += server.stdout.readline()
            greeting = json.loads(told)
            promise(greeting["address"], greeting["operator_token"])
            draw(greeting["address"], greeting["operator_token"], folder / "live-page.png")
        finally:
            server.terminate()
            server.wait(30)


def promise(address: str, token: str) -> None:
    """Ask for quotes of jobs of all sizes, and take an offer of each."""
    chance = random.Random(1)
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=f"{address}/api/v1", headers=headers, timeout=60) as client:
        while client.post("/quotes", json={"nodes": 1, "time": 3600}).status_code != 200:
            time.sleep(1)
        for _ in range(14):
            asked = {
                "nodes": chance.choice((1, 2, 4, 8, 16)),
                "time": 3600 * chance.choice((1, 2, 4)),
            }
            offers = client.post("/quotes", json=asked).json()["offers"]
            job = {"script": "#!/bin/sh\nsrun ./model\n", "name": chance.choice(NAMES)}
            client.post("/promises", json={"offer": chance.choice(offers)["id"], "job": job})


def draw(address: str, token: str, path: Path) -> None:
    """Save what an operator sees."""
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(base_url=address, viewport=SIZE, color_scheme="light")
        context.request.post("login", form={"token": token})
        page = context.new_page()
        page.goto("/")
        page.locator(".fs-row .fs-mark em").nth(4).wait_for()
        page.wait_for_timeout(30_000)  # until some jobs run
        page.screenshot(path=path)
        browser.close()
    with Image.open(path) as image:  # few colours: a fraction of the size
        image.convert("RGB").quantize(256).save(path, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images")
