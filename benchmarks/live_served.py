"""All of it at once: `forestall serve` as a process, a browser with its page, quotes over HTTP.

    python -m benchmarks.live_served [NODES [JOBS [SECONDS [QUOTES [EVERY]]]]]

NODES (10,000) busy nodes and JOBS (5,000) jobs in the queue, as in `benchmarks.live_load`, told by
programs that answer in place of Slurm's (`benchmarks.live_site`): so a cycle reads Slurm's text as
it does on a real cluster, and only Slurm's own time is left out. The server is a process of its
own, started as sites start it, with a cycle each EVERY (10) s, in each of which as much happens as
in 30 s of such a cluster. A process beside it asks QUOTES (1,000) quotes a minute over HTTP for
SECONDS (180) s with the tokens of four users, and Chromium shows an operator's page, whose live
updates are counted. QUOTES 0 and NO_PAGE=1 leave one out.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from playwright.sync_api import Page, Response

from benchmarks.live_load import HOUR, BusySite
from benchmarks.live_site import AnsweredSite
from chromium_browser.browser import chromium

DEFAULTS: Final = (10_000, 5_000, 180, 1_000, 10)
ASKERS: Final = 4
SERVE: Final = [sys.executable, "-m", "forestall", "serve", "--json", "--port", "0"]
TICKS: Final = os.sysconf("SC_CLK_TCK")


class Server:
    """A server's process."""

    def __init__(self, folder: Path, programs: Path, every: int) -> None:
        self._settings = folder / "forestall.toml"
        self._settings.write_text(
            f'[serve]\nledger = "sqlite:///{folder}/ledger.db"\ncycle = {every}\n'
            '[keeper]\nswitch = "on"\nnodes = 1000\n'
        )
        path = f"{programs}:{os.environ['PATH']}"
        self.process = subprocess.Popen(
            [*SERVE, "--settings", str(self._settings)], env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            read = self.process.stdout.readline()
            assert read, "the server ended"
            told += read
        greeted = json.loads(told)
        self.address, self.token = str(greeted["address"]), str(greeted["operator_token"])

    def user(self, name: str) -> str:
        """Return a new token of somebody's."""
        words = [*SERVE[:4], "token", "add", name, "--settings", str(self._settings)]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    def processor(self) -> float:
        """Return the s of the processor that it has taken."""
        told = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(told[11]) + int(told[12])) / TICKS

    def peak(self) -> float:
        """Return the MiB that it held at most."""
        told = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(told.split("VmHWM:")[1].split()[0]) / 1024

    def end(self) -> None:
        """Let it end."""
        self.process.terminate()
        self.process.wait(60)


class Asked:
    """A connection that is kept, and how long its answers took, s."""

    def __init__(self, address: str, token: str) -> None:
        self._link = http.client.HTTPConnection(address.removeprefix("http://"), timeout=120)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body)
        self._link.request(method, f"/api/v1{path}", sent, self._headers)
        answer = self._link.getresponse()
        told = json.loads(answer.read())
        assert answer.status == 200, told
        return told


def ask(address: str, a_minute: int, seconds: float, tokens: list[str]) -> None:
    """Ask for quotes, and print how long each answer took: what a process beside the server
    does."""
    waits: list[float] = []
    pause, end = 60.0 * len(tokens) / a_minute, time.monotonic() + seconds

    def asking(seed: int, token: str) -> None:
        chance, asked, due = random.Random(seed), Asked(address, token), time.monotonic()
        while True:
            due += pause * chance.uniform(0.5, 1.5)
            if due > end:
                return
            time.sleep(max(due - time.monotonic(), 0.0))
            job = {"nodes": chance.choice((1, 4, 16, 64)), "time": chance.randint(1, 12) * HOUR,
                   "partition": chance.choice(("main", "gpu"))}  # fmt: skip
            begun = time.perf_counter()
            asked("POST", "/quotes", job)
            waits.append(time.perf_counter() - begun)

    threads = [threading.Thread(target=asking, args=pair) for pair in enumerate(tokens)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print(json.dumps(waits))


class OpenPage:
    """An operator's page in a browser."""

    def __init__(self, page: Page, server: Server) -> None:
        self._page, self.news = page, 0
        answer = page.context.request.post(f"{server.address}/login", form={"token": server.token})
        assert answer.ok, answer.status
        page.on("response", self._heard)
        begun = time.perf_counter()
        page.goto(server.address)
        page.locator("main h1:visible").wait_for()
        self.drawn = time.perf_counter() - begun

    def _heard(self, answer: Response) -> None:
        self.news += "/page/data/nodes" in answer.url and answer.status == 200

    def look(self, seconds: float) -> None:
        """Let it go on for a while."""
        self._page.wait_for_timeout(1000 * seconds)


@contextmanager
def opened(server: Server) -> Iterator[OpenPage | None]:
    """Open the page, where it is wanted."""
    if os.environ.get("NO_PAGE"):
        yield None
        return
    with chromium() as browser:
        yield OpenPage(browser.new_page(), server)


class LiveSite(threading.Thread):
    """Lets the cluster's time pass, until it is stopped."""

    def __init__(self, site: BusySite, answered: AnsweredSite, every: int) -> None:
        super().__init__(daemon=True)
        self._site, self._answered, self._every = site, answered, every
        self._stop_it = threading.Event()

    def tell(self) -> None:
        """Write what it is like."""
        self._answered.told(self._site.nodes.values(), self._site.jobs.values(), self._site.now)

    def run(self) -> None:
        """Let it pass."""
        while not self._stop_it.wait(self._every):
            self._site.pass_time(int(time.time()) - self._site.now)
            self.tell()

    def stop(self) -> None:
        """End that."""
        self._stop_it.set()
        self.join()


def first_cycle(server: Server, asked: Asked) -> float:
    """Wait for the first cycle, and return how long it took, s."""
    while True:
        told = asked("GET", "/cluster")
        if told["cycle"]:
            return float(told["cycle_s"])
        assert server.process.poll() is None, "the server ended"
        time.sleep(0.5)


def watched(server: Server, seconds: float, page: OpenPage | None) -> list[float]:
    """Return how long the cycles of a while took, s."""
    asked, cycles = Asked(server.address, server.token), dict[int, float]()
    first, end = asked("GET", "/cluster")["cycle"], time.monotonic() + seconds
    while time.monotonic() < end:
        told = asked("GET", "/cluster")
        assert not told["said"], told["said"]
        cycles[told["cycle"]] = told["cycle_s"]
        if page is None:
            time.sleep(1.0)
        else:
            page.look(1.0)
    return [spent for number, spent in cycles.items() if number > first]


def main(arguments: list[str]) -> None:
    """Print what was measured."""
    if arguments[:1] == ["ask"]:
        ask(arguments[1], int(arguments[2]), float(arguments[3]), arguments[4:])
        return
    given = [int(word) for word in arguments]
    nodes, queued, seconds, a_minute, every = (*given, *DEFAULTS[len(given) :])
    with ExitStack() as stack:
        memory = stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        answered = AnsweredSite(Path(memory))
        site = BusySite(nodes, queued, int(time.time()), HOUR * every // 30)
        passing = LiveSite(site, answered, every)
        passing.tell()
        server = Server(Path(folder), answered.programs, every)
        stack.callback(server.end)
        began = first_cycle(server, Asked(server.address, server.token))
        tokens = [server.user(f"u{k}") for k in range(ASKERS)]
        size = sum(one.stat().st_size for one in Path(memory).glob("*.json")) / 1e6
        print(f"{nodes:,} nodes, {len(site.jobs):,} jobs, {queued:,} of them queued: {size:.0f} MB "
              f"a look; first cycle {began:.1f} s", flush=True)  # fmt: skip
        passing.start()
        stack.callback(passing.stop)
        page = stack.enter_context(opened(server))
        if page is not None:
            print(f"page drawn after {page.drawn:.1f} s", flush=True)
        words = [sys.executable, "-m", "benchmarks.live_served", "ask", server.address,
                 str(a_minute), str(seconds), *tokens]  # fmt: skip
        worked = server.processor()
        news = 0 if page is None else page.news
        asking = subprocess.Popen(words, stdout=subprocess.PIPE) if a_minute else None
        spent = watched(server, seconds, page)
        worked, dumps = server.processor() - worked, answered.asked("squeue")
        done = Asked(server.address, server.token)("GET", "/cluster")["cycle"]
        waits = json.loads(asking.communicate()[0]) if asking else []
        report(spent, waits, seconds)
        print(f"{dumps} dumps of the queue, {done} cycles done since the start")
        print(f"the server took {worked / seconds:.0%} of a processor, {server.peak():,.0f} MiB")
        if page is not None:
            print(f"{page.news - news} updates of all nodes came to the page")
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"load of the machine at the end: {load}")


def report(spent: list[float], waits: list[float], seconds: float) -> None:
    """Print cycles and answers."""
    print(f"{len(spent)} cycles with their looks: median {median(spent):.2f} s, "
          f"slowest {max(spent):.2f} s")  # fmt: skip
    if len(waits) > 1:
        tenths = quantiles(waits, n=100)
        print(f"list of offers over HTTP: median {1e3 * median(waits):.0f} ms, "
              f"95 % {1e3 * tenths[94]:.0f} ms, 99 % {1e3 * tenths[98]:.0f} ms, "
              f"at most {1e3 * max(waits):.0f} ms; "
              f"{60 * len(waits) / seconds:,.0f} a minute")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
