"""Draw images of all kinds of pages, light and dark, on a screen and on a phone, by Chromium.

python docs/make_page_images.py [FOLDER]    (FOLDER: docs/images/pages by default; needs the extras
`serve` and `plot`, Playwright and Debian's package chromium)

Images are named after kind, width and scheme: ``report-1400-light.png``. All data is made up.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

FORESTALL = [sys.executable, "-m", "forestall"]
START = 1_704_067_200
DAY = 86_400
SIZES = {1400: 820, 400: 800}
TALL = {1400: 1130, 400: 800}
"""Heights by width; of the live page, with its time line."""
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LOGS = """
traces generate jobs jobs.swf --nodes 64 --days 14 --load 0.8
traces generate failures failures.csv --nodes 64 --days 365 --rate-per-year 900 --heterogeneity 0.8
traces generate hosts hosts.parquet --count 20 --days 28 --period 60s
traces generate guests guests.csv --count 300 --days 20
"""
PAGES = {
    "report": ("report.html", "main", "report jobs.txt events.txt --price 0.6 --out report.html"),
    "weeks": ("report.html", "#weeks", ""),
    "job": ("job.html", "main", "job 700 jobs.txt events.txt --out job.html"),
    "backtest": ("back/report.html", "main", "backtest promises jobs.txt --out back"),
    "futures": ("next/report.html", "main",
                "futures jobs.txt events.txt --at 2024-02-01T12:00 --out next"),
    "run": ("run/report.html", "main",
            "simulate jobs jobs.swf --failures failures.csv --nodes 64 --out run"),
    "tasks": ("tasks/report.html", "main",
              "simulate tasks jobs.swf --failures failures.csv --nodes 64 --processors-per-node 4"
              " --out tasks"),
    "guests": ("guests/report.html", "main",
               "simulate guests guests.csv --hosts hosts.parquet --warm-up 14d --out guests"),
    "sweep": ("sweep/report.html", "main",
              "sweep jobs jobs.swf --failures failures.csv --nodes 64 --accuracy 0:1:0.25"
              " --risk 0.5,0.9 --out sweep"),
    "compare": ("compare.html", "main",
                "simulate jobs jobs.swf --failures failures.csv --nodes 64 --policy easy --out easy"
                " && compare run easy --out compare.html"),
    "machine": ("machine/report.html", "main", "reliability failures.csv --out machine"),
    "predictors": ("judged/report.html", "main",
                   "assess predictors failures.csv --predictors rate,renewal --out judged"),
}  # fmt: skip
"""By kind: the page, what stands at its top, and the commands that write it."""
LIVE = "serve --simulated --nodes 64 --clock-speed 60 --port 0 --json"
NAMES = ("train", "render", "flow", "genome", "weather")


def main(folder: Path) -> None:
    """Make up data, write all pages, serve the live one, and take their pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place, sync_playwright() as playwright:
        work = Path(place)
        records(work)
        lines = [*LOGS.strip().splitlines(), *(commands for _, _, commands in PAGES.values())]
        for line in " && ".join(filter(None, lines)).split(" && "):
            done = subprocess.run(
                [*FORESTALL, *line.split()], check=False, cwd=work, stdout=subprocess.DEVNULL
            )
            assert done.returncode in {0, 1}, line  # 1: quotes that were worse than they said
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for kind, (page, top, _) in PAGES.items():
            for sheet, name in sheets(browser, kind):
                sheet.goto((work / page).as_uri())
                sheet.locator(top).first.evaluate("one => one.scrollIntoView()")
                take(sheet, folder / name)
        with served(work) as (address, token):
            for sheet, name in sheets(browser, "live"):
                sheet.context.request.post(f"{address}/login", form={"token": token})
                sheet.goto(address)
                sheet.locator(".fs-row .fs-mark em").nth(4).wait_for()
                take(sheet, folder / name, 128)
        browser.close()


def sheets(browser: Browser, kind: str) -> Iterator[tuple[Page, str]]:
    """Yield an empty page for each width and scheme, and the name of its image."""
    for width, height in (TALL if kind == "live" else SIZES).items():
        for scheme in SCHEMES:
            context = browser.new_context(viewport={"width": width, "height": height})
            sheet = context.new_page()
            sheet.emulate_media(color_scheme=scheme)
            yield sheet, f"{kind}-{width}-{scheme}.png"
            context.close()


def take(sheet: Page, path: Path, colors: int = 24) -> None:
    """Save what the screen shows, in few colors: a third of the size."""
    sheet.wait_for_timeout(300)
    sheet.screenshot(path=path)
    with Image.open(path) as image:
        image.convert("RGB").quantize(colors).save(path, optimize=True)


@contextmanager
def served(work: Path) -> Iterator[tuple[str, str]]:
    """Serve a simulated cluster with promises of jobs that run; yield its address and a token."""
    command = [*FORESTALL, *LIVE.split(), "--ledger", f"sqlite:///{work}/ledger.db"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            told += server.stdout.readline()
        greeting = json.loads(told)
        promise(greeting["address"], greeting["operator_token"])
        time.sleep(30)  # until some jobs run
        yield greeting["address"], greeting["operator_token"]
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


def records(folder: Path) -> None:
    """Write what sacct and sacctmgr would print of 12 weeks of a machine of 64 nodes."""
    chance = random.Random(1)
    nodes = [f"n{k:02d}" for k in range(64)]
    events, hit = ["Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason"], []
    for day in range(84):
        for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
            node = chance.choice([*nodes, "n07", "n07", "n07", "n07", "n07", "n07"])
            begin = START + day * DAY + chance.randrange(DAY)
            end = begin + chance.randrange(1800, 40_000)
            events.append(f"c1|{node}|{begin}|{end}|DOWN*|slurm(64030)|Not responding")
            hit.append((begin, node))
    (folder / "events.txt").write_text("\n".join([events[0], *sorted(events[1:])]) + "\n")
    heads = "JobIDRaw|JobName|User|Account|Partition|State|Submit|Eligible|Start|End|TimelimitRaw"
    lines = [f"{heads}|NNodes|NodeList"]
    users = {"ann": "physics", "bob": "physics", "cleo": "genomics", "dan": "climate"}
    submit = START
    for number in range(1, 3001):
        submit += int(chance.expovariate(1 / 2300))
        start = submit + int(chance.expovariate(1 / 3000))
        length, limit = int(chance.lognormvariate(9.5, 1)), chance.choice((240, 720, 1440, 2880))
        count = chance.choice((1, 1, 2, 2, 4, 8))
        mine = sorted(chance.sample(nodes, count))
        state, end = ("COMPLETED", start + length)
        if length > 60 * limit:
            state, end = "TIMEOUT", start + 60 * limit
        elif chance.random() < 0.06:
            state = "FAILED"
        stop = next((time for time, node in hit if node in mine and start < time < end), None)
        if stop is not None:
            state, end = "NODE_FAIL", stop
        user = chance.choice(list(users))
        name = chance.choice(("train", "flow", "align"))
        lines.append(
            f"{number}|{name}|{user}|{users[user]}|batch|{state}"
            f"|{submit}|{submit}|{start}|{end}|{limit}|{count}|{','.join(mine)}"
        )
    (folder / "jobs.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    images = Path(__file__).parent / "images" / "pages"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else images)
