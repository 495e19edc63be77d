"""A live controller under load: cycles on a large busy cluster while people ask for quotes.

    python -m benchmarks.live_load [NODES [JOBS [CYCLES [QUOTES]]]]

NODES (10,000) nodes, all of them busy, with JOBS (5,000) jobs in the queue; CYCLES (20) cycles of
30 s of the cluster's time; QUOTES (1,000) quotes a minute of real time, asked by four threads while
the cycles run, in a process set up as the server's, but not while the made-up site is written. The
ledger is SQLite on the disk, the keeper may hold starts. A look reads the text of Slurm 26.05, from
programs that answer at once (`benchmarks.live_site`): only Slurm's own time is not in it. The
yardstick is the same text read as a whole (`benchmarks.slurm_look`). Times are by
the clock; of cycles, looks and quotes that nothing runs beside also those of the processor, which
on a machine with other work tell more.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from benchmarks.common import line
from benchmarks.live_site import AnsweredSite
from benchmarks.slurm_look import look, many
from forestall.core.model.faults import WriteError, WriteFault
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.serving.loop import SWITCH, spare_collector
from forestall.live.slurm.controller import Controller
from forestall.prediction.watching.foreseen import ListedForecasts, NodeForecast
from forestall.slurm.cluster.actions import Action, ActionResult
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode, ClusterSnapshot
from forestall.slurm.cluster.standing import Standing
from forestall.slurm.control.by_commands import SlurmCommands, SlurmLimits

DEFAULTS = (10_000, 5_000, 20, 1_000)
T0 = 1_800_000_000
CYCLE = 30
HOUR = 3600
KEPT = 300
"""s that a job which has ended is still shown."""
ASKERS = 4
YARD = "reading all of it"
GUARD = GuardSettings(fresh=10_000, keeper=RoleSettings("on", nodes=1000, per_hour=1000))


class BusySite:
    """A cluster on which no node is idle for long: what ends makes room for what waits, first come
    first served, on whatever nodes are free; and as much comes as ends.

    now : s since 1970
    hour : s; time limits are 1 to 24 times as long
    """

    def __init__(self, nodes: int, queued: int, now: int = T0, hour: int = HOUR) -> None:
        self.now, self.looks, self._count = now, 0, 0
        self._hour = hour
        self._chance = random.Random(17)
        self.nodes = {
            f"n{k:06}": ClusterNode(
                f"n{k:06}", "ALLOCATED", (), "", "", None, now - HOUR, now - HOUR, 64, 256_000,
                ("main", "gpu") if k % 8 == 0 else ("main",), ("ib",) if k % 2 else (), "",
            )
            for k in range(nodes)
        }  # fmt: skip
        self._free = list(self.nodes)
        self._chance.shuffle(self._free)
        self.jobs: dict[int, ClusterJob] = {}
        self._ends: dict[int, int] = {}
        self._waiting: deque[int] = deque()
        while len(self._free) >= 8:
            self._submit(self._chance.randint(1, 8), now - HOUR)
            self._begin(self._waiting.popleft(), ago=self._chance.random())
        for _ in range(queued):
            self._submit(self._chance.choice((1, 2, 4, 8, 16, 64)), now - HOUR)

    def _submit(self, size: int, when: int) -> None:
        self._count += 1
        limit = self._chance.randint(1, 24) * self._hour
        user = self._chance.randrange(200)
        self.jobs[self._count] = ClusterJob(
            self._count, f"u{user}", f"job{user % 7}", "", "main", "", "PENDING", (), "Priority",
            when, when, None, None, limit, size, (), (), "", "", 100, 0, 0, "", "",
        )  # fmt: skip
        self._waiting.append(self._count)

    def _begin(self, key: int, ago: float = 0.0) -> None:
        job = self.jobs[key]
        length = int((job.limit or HOUR) * self._chance.uniform(0.2, 1.0))
        start = self.now - int(ago * length)
        self._ends[key] = start + length
        chosen = tuple(self._free.pop() for _ in range(job.node_count))
        self.jobs[key] = job._replace(state="RUNNING", reason="None", start=start, nodes=chosen)

    def pass_time(self, seconds: int = CYCLE) -> None:
        """Let half a minute pass, or so many s."""
        self.now += seconds
        for key in [key for key, end in self._ends.items() if end <= self.now]:
            self.jobs[key] = self.jobs[key]._replace(state="COMPLETED", end=self._ends.pop(key))
            self._free += self.jobs[key].nodes
            self._submit(self._chance.choice((1, 2, 4, 8, 16, 64)), self.now)
        self._chance.shuffle(self._free)
        while self._waiting and self.jobs[self._waiting[0]].node_count <= len(self._free):
            self._begin(self._waiting.popleft())
        old = [key for key, job in self.jobs.items() if job.end and job.end < self.now - KEPT]
        for key in old:
            del self.jobs[key]

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        """Return all that is there; what it takes Slurm to tell is measured elsewhere."""
        self.looks += 1
        return ClusterSnapshot(dict(self.jobs), self.nodes, {}, (), self.now, self.now,
                               mark=self.now)  # fmt: skip

    def act(self, action: Action) -> ActionResult:
        """Refuse it: this site is looked at only."""
        raise WriteError(WriteFault.REFUSED, action.id, "looked at only")

    def find(self, action: Action) -> Standing:
        """Nothing is ever found."""
        raise NotImplementedError


class Spent:
    """What was spent on calls: s by the clock, and of the processor."""

    def __init__(self) -> None:
        self.clock: list[float] = []
        self.processor: list[float] = []

    def on(self, call: Callable[[], object]) -> None:
        """Do it, and take note."""
        begun, worked = time.perf_counter(), time.thread_time()
        call()
        self.clock.append(time.perf_counter() - begun)
        self.processor.append(time.thread_time() - worked)


class ReadSite:
    """A site whose looks read what Slurm's commands say of it, and take note of how long it takes.

    site : told in a folder by programs that stand first in the path from now on
    """

    def __init__(self, site: BusySite, folder: Path, limits: SlurmLimits | None = None) -> None:
        self.site, self.spent = site, Spent()
        self._answered = AnsweredSite(folder)
        os.environ["PATH"] = f"{self._answered.programs}:{os.environ['PATH']}"
        self._commands = SlurmCommands(limits, lambda: site.now)
        self.tell()

    @property
    def looks(self) -> int:
        """How often the queue was asked for."""
        return self._answered.asked("squeue")

    def tell(self) -> None:
        """Write what the site is like."""
        site = self.site
        self._answered.told(site.nodes.values(), site.jobs.values(), site.now)

    def look(self, before: ClusterSnapshot | None = None) -> ClusterSnapshot:
        """Ask the commands."""
        seen: list[ClusterSnapshot] = []
        self.spent.on(lambda: seen.append(self._commands.look(before)))
        return seen[0]

    def act(self, action: Action) -> ActionResult:
        """Refuse it, as the site does."""
        return self.site.act(action)

    def find(self, action: Action) -> Standing:
        """Nothing is ever found."""
        return self.site.find(action)


def failures(site: BusySite) -> Iterator[tuple[str, NodeForecast]]:
    """Yield a failure that is foreseen of every twentieth node."""
    for k, name in enumerate(site.nodes):
        if k % 20 == 0:
            at = T0 + HOUR * (1 + k % 71)
            yield name, NodeForecast(at, at + HOUR, 0.2 + 0.1 * (k % 7), "listed")


class Askers:
    """Threads that ask for quotes, so many a minute together, until they are stopped."""

    def __init__(self, controller: Controller, a_minute: int) -> None:
        self.waits: list[float] = []
        self._controller, self._pause = controller, 60.0 * ASKERS / max(a_minute, 1)
        self._stop, self.may_ask = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(k,)) for k in range(ASKERS)]
        if a_minute:
            for one in self._threads:
                one.start()

    def _ask(self, seed: int) -> None:
        chance, due = random.Random(seed), time.perf_counter()
        while True:
            due += self._pause * chance.uniform(0.5, 1.5)
            if self._stop.wait(max(due - time.perf_counter(), 0.0)):
                return
            self.may_ask.wait()
            job = WantedJob(
                chance.choice((1, 4, 16, 64)), chance.randint(1, 12) * HOUR, user=f"u{seed}",
                partition=chance.choice(("main", "gpu")),
            )  # fmt: skip
            begun = time.perf_counter()
            self._controller.quote(job)
            self.waits.append(time.perf_counter() - begun)

    def stop(self) -> None:
        """Let them come to an end."""
        self._stop.set()
        self.may_ask.set()
        for one in self._threads:
            if one.is_alive():
                one.join()


def reading(nodes: int, jobs: int) -> Spent:
    """Return what it takes to read a look of this size, without Slurm's own time."""
    queue = many("26.05/squeue.json", "jobs", "job_id", jobs, int)
    told = many("26.05/scontrol.node.json", "nodes", "name", nodes, lambda k: f"n{k}")
    spent = Spent()
    for _ in range(3):
        spent.on(lambda: look(queue, told))
    return spent


def quiet_quotes(controller: Controller) -> Spent:
    """Return what quotes take that nothing runs beside."""
    spent = Spent()
    for k in range(40):
        job = WantedJob(1 + 4 * (k % 16), HOUR * (1 + k % 12), user="ann", partition="main")
        spent.on(partial(controller.quote, job))
    return spent


def told(what: str, spent: Spent, yard: Spent) -> None:
    """Print medians by the clock and of the processor."""
    line(what, median(spent.clock), YARD, median(yard.clock))
    line("  of the processor", median(spent.processor), YARD, median(yard.processor))


def _size(path: Path) -> int:
    """Return the bytes of a ledger with what is not yet moved into it."""
    return sum(one.stat().st_size for one in path.parent.iterdir())


def main(arguments: list[str]) -> None:
    """Print what was measured."""
    given = [int(word) for word in arguments]
    nodes, queued, cycles, a_minute = (*given, *DEFAULTS[len(given) :])
    site = BusySite(nodes, queued)
    shared = tempfile.TemporaryDirectory(dir="/dev/shm")
    with tempfile.TemporaryDirectory() as folder, shared as answers:
        path, told_site = Path(folder) / "ledger.db", ReadSite(site, Path(answers))
        with LiveLedger(f"sqlite:///{path}") as ledger:
            controller = Controller(
                told_site, ledger, {}, GUARD, ListedForecasts(failures(site)), lambda: site.now
            )
            first = Spent()
            first.on(controller.cycle)
            print(f"{nodes:,} nodes, {len(site.jobs):,} jobs, {queued:,} of them queued")
            clock, worked = first.clock[0], first.processor[0]
            print(f"first cycle {clock:.1f} s, {worked:.1f} s of the processor; "
                  f"{_size(path) / 1e6:.1f} MB booked")  # fmt: skip
            yard = reading(nodes, len(site.jobs))
            quiet = quiet_quotes(controller)
            spare_collector()
            sys.setswitchinterval(SWITCH)
            askers = Askers(controller, a_minute)
            spent, before = Spent(), _size(path)
            looked, booked = told_site.looks, time.perf_counter()
            told_site.spent = Spent()
            for _ in range(cycles):
                site.pass_time()
                askers.may_ask.clear()
                told_site.tell()
                askers.may_ask.set()
                spent.on(controller.cycle)
                time.sleep(max(0.0, 2.0 - spent.clock[-1]))
            minutes = (time.perf_counter() - booked) / 60
            askers.stop()
            grown = (_size(path) - before) / max(cycles, 1) / 1e3
            looked = told_site.looks - looked
    told("cycle with its look", spent, yard)
    told("  the look alone", told_site.spent, yard)
    line("the slowest cycle with its look", max(spent.clock), YARD, median(yard.clock))
    told("list of offers, nothing beside it", quiet, yard)
    if len(askers.waits) > 1:
        line("list of offers while cycles run", median(askers.waits), YARD, median(yard.clock))
        most = quantiles(askers.waits, n=20)[-1]
        line("the same, 95 %", most, YARD, median(yard.clock))
        print(f"{len(askers.waits) / minutes:,.0f} quotes a minute")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{looked / cycles:.0f} look a cycle")
    print(f"{grown:,.0f} kB booked a cycle, with the quotes beside it; peak {peak:,.0f} MiB")


if __name__ == "__main__":
    main(sys.argv[1:])
