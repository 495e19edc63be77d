"""Whether a live controller's memory stays bounded: a year on a modelled cluster.

    python -m benchmarks.live_year [MONTHS]

MONTHS (12) of 30 days with 16 nodes, a cycle every hour, a quote after each of them that
is accepted, and a restart of the controller on the first of each month but the first. The ledger is
SQLite on the disk. Prints what the process holds at the end of each month: memory, also after the
C library gave back what it held free; jobs that the engine and the book know, and rows of the
ledger.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import tempfile
import time
from pathlib import Path

from forestall.core.model.errors import InputError
from forestall.core.model.live.desk import JobOrder
from forestall.core.model.live.intents import Role
from forestall.live.guard.settings import GuardSettings, RoleSettings
from forestall.live.ledger.rows import CycleRow, PromiseRow, RunRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller, ControllerSettings
from forestall.live.slurm.site_book import SiteBook
from forestall.prediction.watching.foreseen import ListedForecasts
from forestall.slurm.simulation.cluster import ModelCluster
from forestall.slurm.simulation.settings import WorldSettings
from forestall.slurm.simulation.world import SlurmWorld
from forestall.slurm.simulation.writes import ME

CYCLE = 3600
MONTH = 30 * 86_400
FORGET, GENERATION = 1000, 2000
"""Less than a site has by default, so that all that is forgotten is so many times a year."""
KEEPER = RoleSettings("on", nodes=8, percent=70.0, partition_nodes=8, partition_percent=70.0,
                      per_hour=60, cool_down=60)  # fmt: skip


def resident() -> float:
    """Return the MiB that this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def given_back() -> float:
    """Return the MiB that are held where nothing is kept free between objects."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident()


def born(cluster: ModelCluster, ledger: LiveLedger, site: SiteBook | None) -> Controller:
    """Return a controller that begins, with the book of the one before."""
    book = SiteBook(None if site is None else site.book, generation=GENERATION)
    actor = ClusterActor(cluster, lambda _: ME)
    return Controller(
        cluster, ledger, {Role.KEEPER: actor}, GuardSettings(keeper=KEEPER), ListedForecasts(),
        lambda: cluster.clock, ControllerSettings(forget=FORGET), site=book,
    )  # fmt: skip


def somebody(controller: Controller, chance: random.Random) -> None:
    """Ask for a quote, and take one of the offers."""
    job = WantedJob(chance.randint(1, 6), chance.choice((600, 1800, 7200)), user=ME)
    offers = controller.quote(job).offers
    if offers:
        try:
            controller.accept(chance.choice(offers).id, ME, JobOrder("#!/bin/sh\n"))
        except InputError:  # it held no more
            return


def main(arguments: list[str]) -> None:
    """Print a line a month."""
    months = int(arguments[0]) if arguments else 12
    world = SlurmWorld(WorldSettings(nodes=16, load=0.6, run=2400.0, widest=6), 17)
    cluster, chance, begun = ModelCluster(world), random.Random(17), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        with LiveLedger(f"sqlite:///{path}") as ledger:
            controller = born(cluster, ledger, None)
            for month in range(1, months + 1):
                for _ in range(MONTH // CYCLE):
                    world.advance(world.state.now + CYCLE)
                    controller.cycle()
                    somebody(controller, chance)
                world.state.deeds.clear()  # the model's own diary
                mind = controller._mind
                jobs = 0 if mind is None else mind.engine.jobs
                rows = [f"{ledger.count(kind):,} {kind.table}"
                        for kind in (RunRow, CycleRow, PromiseRow)]  # fmt: skip
                held = f"{resident():,.0f} MiB, {given_back():,.1f} at least"
                spent = time.perf_counter() - begun
                print(f"month {month}: {held}; "
                      f"{jobs:,} jobs in the engine, {len(controller.site.book):,} in the book; "
                      f"{', '.join(rows)}; {spent:,.0f} s", flush=True)  # fmt: skip
                controller = born(cluster, ledger, controller.site)


if __name__ == "__main__":
    main(sys.argv[1:])
