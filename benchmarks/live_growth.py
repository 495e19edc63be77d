"""How a live controller grows with its cluster: the first plan after a restart, cycles after it.

    python -m benchmarks.live_growth [NODES [JOBS [GRAIN]]]
    python -m benchmarks.live_growth look [NODES [JOBS]]

NODES (10,000) busy nodes with JOBS (5,000) jobs in the queue, as in `benchmarks.live_load`, without
the reading of looks. With GRAIN (1) s all runs begin at a multiple of it, so that their ends, by
limits of whole hours, fall on few moments: what rounded ends would give. With `look` only the
reading is measured: a first look, and one 30 s later.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.live_load import GUARD, BusySite, ReadSite, Spent, failures, quiet_quotes
from forestall.live.ledger.store import LiveLedger
from forestall.live.slurm.controller import Controller
from forestall.prediction.watching.foreseen import ListedForecasts
from forestall.slurm.control.by_commands import SlurmLimits

CYCLES = 3
LARGEST = 2**31
"""Bytes of an answer that are taken here: more than by default, for 100,000 nodes."""


class GrainedSite(BusySite):
    """A busy cluster whose runs begin at multiples of so many s."""

    grain = 1

    def _begin(self, key: int, ago: float = 0.0) -> None:
        super()._begin(key, ago)
        job = self.jobs[key]
        assert job.start is not None
        self.jobs[key] = job._replace(start=job.start // self.grain * self.grain)


def timed(what: str, call: Callable[[], object]) -> None:
    """Do it, and print what it took."""
    begun, worked = time.perf_counter(), time.thread_time()
    call()
    spent, worked = time.perf_counter() - begun, time.thread_time() - worked
    print(f"{what}: {spent:.2f} s, {worked:.2f} s of the processor", flush=True)


def looks(nodes: int, queued: int) -> None:
    """Print what reading two looks takes."""
    site = BusySite(nodes, queued)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        read = ReadSite(site, Path(folder), SlurmLimits(most=LARGEST))
        seen = read.look()
        site.pass_time()
        read.tell()
        read.look(seen)
    first, after = read.spent.processor
    print(f"a first look: {first:.2f} s of the processor; the next one: {after:.2f} s")


def plans(nodes: int, queued: int, grain: int) -> None:
    """Print what the first cycle and those after it take."""
    GrainedSite.grain = grain
    site = GrainedSite(nodes, queued)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        ledger = stack.enter_context(LiveLedger(f"sqlite:///{folder}/ledger.db"))
        forecasts = ListedForecasts(failures(site))
        controller = Controller(site, ledger, {}, GUARD, forecasts, lambda: site.now)
        print(f"{nodes:,} nodes, {len(site.jobs):,} jobs, runs begin each {grain} s")
        timed("first cycle", controller.cycle)
        for _ in range(CYCLES):
            site.pass_time()
            timed("next cycle", controller.cycle)
        quotes: Spent = quiet_quotes(controller)
    print(f"list of offers: {1e3 * median(quotes.processor):.1f} ms of the processor")


def main(arguments: list[str]) -> None:
    """Print what was measured."""
    numbers = [int(word) for word in arguments if word != "look"]
    nodes, queued, grain = (*numbers, *(10_000, 5_000, 1)[len(numbers) :])
    if "look" in arguments:
        looks(nodes, queued)
    else:
        plans(nodes, queued, grain)
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main(sys.argv[1:])
