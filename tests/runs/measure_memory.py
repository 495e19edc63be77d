"""What runs and readers take, measured, beside what was told beforehand: a process of its own, so
that nothing else counts. Prints {what: [told, measured]}, bytes."""

from __future__ import annotations

import ctypes
import gc
import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import forestall as fs
from forestall.core.files import budget
from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.files.parquet import read_parquet
from forestall.core.model.hosts import HostTraces
from forestall.core.model.observations import Observations
from forestall.machines import simulate as virtual
from forestall.prediction.models.registry import new_learner
from forestall.scheduling import learned
from forestall.scheduling import simulate as promise
from forestall.sharing import simulate as cycle

TOLD: list[float] = []


def peak() -> int:
    """Return the most that the process had since the peak was set back, bytes."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return 1024 * int(found[1])


def measured(work: Callable[[], Any]) -> list[float]:
    """Return what `work` was told to take, and what it took."""
    TOLD.clear()
    gc.collect()
    with suppress(AttributeError, OSError):  # what was given back would be taken again, uncounted
        ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = budget.held()
    work()
    return [max(TOLD), peak() - before]


def jobs_of(count: int, size: int) -> fs.Jobs:
    """Return jobs of one size, one after the other."""
    return fs.Jobs.build(np.arange(count) * 60, np.full(count, size), np.full(count, 50))


def hosts_of(hosts: int, samples: int) -> HostTraces:
    load = np.random.default_rng(1).random((hosts, samples)) * 0.1
    return HostTraces(load, None, 60, np.ones(hosts), tuple(map(str, range(hosts))))


def main(folder: Path) -> dict[str, list[float]]:
    """Measure everything; small runs come first, so that code is loaded by then."""

    def tell(needed: float, what: str, **more: Any) -> None:
        TOLD.append(needed)

    budget.require = tell  # type: ignore[assignment]
    for module in (promise, virtual, cycle):
        module.COMPILED = 0  # type: ignore[attr-defined]

    def saved(result: Any) -> None:
        result.save(folder / "run", report=False)

    day = 1440
    few, many = hosts_of(2, 40 * day), hosts_of(40, 60 * day)
    runs: dict[str, Callable[[], Any]] = {}
    saved(fs.simulate(jobs_of(10, 1), nodes=8))
    saved(virtual.simulate_virtual(jobs_of(10, 1), nodes=8))
    cycle.simulate_cycle(jobs_of(5, 1), few)
    runs["promise"] = lambda: saved(fs.simulate(jobs_of(200_000, 4), nodes=64))
    runs["virtual"] = lambda: saved(
        virtual.simulate_virtual(jobs_of(10_000, 64), nodes=64, slack=100)
    )
    runs["cycle"] = lambda: cycle.simulate_cycle(jobs_of(50, 1), many)
    table = pl.DataFrame(
        {"a": np.arange(4_000_000), "b": np.random.default_rng(1).random(4_000_000)}
    )
    table.write_parquet(folder / "t.parquet")
    del table
    runs["parquet"] = lambda: read_parquet(folder / "t.parquet")
    write_bundle(folder / "b", "test", 1, {}, {"a": np.zeros(8_000_000)})
    runs["bundle"] = lambda: read_bundle(folder / "b", "test", 1)
    log = fs.Failures.build(np.arange(1, 400) * 3600, np.arange(399) % 7)
    learner = new_learner("rate")
    learner.fit(Observations.of(log, begin=0, end=200 * 3600, nodes=30_000))
    later = Observations.of(log, begin=200 * 3600, end=320 * 3600, nodes=30_000)
    runs["table"] = lambda: learned._tabulated(learner, later, 30_000)
    lines = "".join(f"{60 * k},{k % 500},{k % 7200}\n" for k in range(800_000))
    (folder / "f.csv").write_text(f"time,node,downtime\n{lines}")
    del lines
    runs["log"] = lambda: fs.read_failures(folder / "f.csv")
    return {name: measured(work) for name, work in runs.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
