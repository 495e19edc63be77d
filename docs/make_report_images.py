"""Draw the images of the pages that commands write: a report and a job, in a real Chromium.

python docs/make_report_images.py [FOLDER]    (FOLDER: docs/images by default; needs the extra
`plot`, Playwright and Debian's package chromium)
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import sync_playwright

START = 1_704_067_200
DAY = 86_400
SHOTS = (
    ("report-page", "report.html", "main", 1400, "light"),
    ("report-weeks-dark", "report.html", "#weeks", 1400, "dark"),
    ("report-phone", "report.html", "#weeks", 400, "light"),
    ("report-phone-dark", "report.html", "main", 400, "dark"),
    ("job-page", "job.html", "main", 1400, "light"),
    ("job-phone-dark", "job.html", "main", 400, "dark"),
)
"""Image, page, what stands at its top, width, scheme."""


def main(folder: Path) -> None:
    """Make up a site, write its pages, and take their pictures."""
    with TemporaryDirectory() as place:
        work = Path(place)
        records(work)
        for words in (("report",), ("job", "700")):
            page = f"{words[0]}.html"
            command = [sys.executable, "-m", "forestall", *words, "jobs.txt", "events.txt"]
            command += ["--cost", "0.6"] if words == ("report",) else []
            command += ["--out", page, "--quiet"]
            subprocess.run(command, check=True, cwd=work)
        with sync_playwright() as playwright:
            program = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
            for name, page, top, width, scheme in SHOTS:
                size = {"width": width, "height": 900 if width > 400 else 800}
                sheet = browser.new_page(viewport=size, color_scheme=scheme)
                sheet.goto((work / page).as_uri())
                sheet.locator(top).first.evaluate("one => one.scrollIntoView()")
                sheet.screenshot(path=folder / f"{name}.png")
                with Image.open(folder / f"{name}.png") as image:  # few colours: a third of it
                    image.convert("RGB").quantize(64).save(folder / f"{name}.png", optimize=True)
            browser.close()


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
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images")
