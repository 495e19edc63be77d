"""Compile all kernels that an installation needs, in several processes, before anybody waits."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core import _kept
from forestall.core._lazy import lazily
from forestall.core.kit.waiting import waiting
from forestall.core.model.errors import ParameterError
from forestall.core.show.blocks import Column, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.result import ShownResult

with lazily():
    import numpy as np

    from forestall.core.model import hosts
    from forestall.logs import generate, observed
    from forestall.logs.generate import guests
    from forestall.logs.jobs import swf
    from forestall.machines import simulate as virtual
    from forestall.prediction.assess import significance
    from forestall.prediction.models import registry
    from forestall.prediction.models.hazard import hazard
    from forestall.runs.sweep_run import cores
    from forestall.scheduling import simulate as promise
    from forestall.sharing import simulate as cycle
    from forestall.site.futures import question
    from forestall.site.futures import study as futures
    from forestall.site.promises import backtest
    from forestall.slurm.sources import given as asking

if TYPE_CHECKING:
    from forestall.core.kit.progress import Progress

COLUMNS: Final[tuple[Column, ...]] = (
    ("Kernels", "name", str),
    ("s", "seconds", "{:.1f}".format),
    ("Processor s", "processor_seconds", "{:.1f}".format),
)
NODES: Final = 8
DAY: Final = 86_400


def _logs() -> tuple[Any, Any]:
    """Return a few jobs, and failures around them."""
    return generate.generate_jobs(NODES, 1, count=20), generate.generate_failures(
        NODES, 60, 1, rate_per_year=400
    )


def _promises() -> None:
    jobs, failures = _logs()
    promise.simulate(jobs, failures, nodes=NODES)


def _classic() -> None:
    jobs, failures = _logs()
    for policy in ("fcfs", "easy", "conservative"):
        promise.simulate(jobs, failures, nodes=NODES, policy=policy)


def _shared() -> None:
    jobs, failures = _logs()
    table = jobs.table().with_columns(cores=1)
    line = f"nodes={NODES} cores=2"
    for policy in ("easy", "promise"):
        promise.simulate(table, failures, machine=line, policy=policy)


def _hazard() -> None:
    jobs, failures = _logs()
    known = hazard.HazardPredictor()
    known.fit(failures, nodes=NODES, end=0)
    promise.simulate(jobs, failures, nodes=NODES, predictor=known)


def _learned() -> None:
    jobs, failures = _logs()
    rate = registry.new_learner("rate")
    rate.fit(observed.observed(failures, until=30 * DAY, nodes=NODES))
    promise.simulate(jobs, failures, nodes=NODES, predictor=rate.moved(-40 * DAY))


def _virtual() -> None:
    jobs, failures = _logs()
    virtual.simulate_virtual(jobs, failures, nodes=NODES)


def _cycle() -> None:
    load = np.zeros((2, 24 * 60))
    load[1, 600:700] = 0.9
    traces = hosts.HostTraces(load, None, 60, np.ones(2), ("a", "b"))
    jobs = guests.generate_guests(3, 1, days=1)
    for scheduler in ("falcon", "condor"):
        cycle.simulate_cycle(jobs, traces, scheduler=scheduler, warm_up=0)


def _records(count: int) -> asking.GivenRecords:
    place = Path(tempfile.mkdtemp(prefix="forestall-warm-up-")) / "jobs.swf"
    swf.write_swf(generate.generate_jobs(NODES, 1, count=count, load=0.7), place)
    return asking.GivenRecords((place,))


def _with_records(count: int, do: Callable[[asking.GivenRecords], object]) -> None:
    given = _records(count)
    try:
        do(given)
    finally:
        given.paths[0].unlink()
        given.paths[0].parent.rmdir()


def _quotes() -> None:
    _with_records(700, lambda one: backtest.find(one, asking.BacktestQuestion(warm_up=10)))


def _futures() -> None:
    asked = question.FuturesQuestion(at=str(DAY // 2), futures=10)  # jobs run and wait then
    _with_records(60, lambda one: futures.find(one, asked))


def _judging() -> None:
    scores = np.linspace(0, 1, 40)
    came = scores > 0.5
    significance.delong(scores, came)
    significance.permutation(scores, came, 20, rng=np.random.default_rng(1))


STEPS: Final[dict[str, Callable[[], None]]] = {
    "shared": _shared,
    "virtual": _virtual,
    "quotes": _quotes,
    "promise": _promises,
    "cycle": _cycle,
    "hazard": _hazard,
    "learned": _learned,
    "classic": _classic,
    "futures": _futures,
    "judging": _judging,
}
"""What is compiled, by name; what takes longest first."""


@dataclass(frozen=True)
class WarmedPart:
    """What was compiled: its name, how long that took, and processor time, s."""

    name: str
    seconds: float
    processor_seconds: float


@dataclass(frozen=True, repr=False)
class WarmedUp(ShownResult):
    """What a warm-up did.

    Attributes
    ----------
    folder : where kernels are kept
    workers : processes that compiled
    seconds : how long it took
    parts : each part, in the order of `STEPS`
    """

    folder: Path
    workers: int
    seconds: float
    parts: tuple[WarmedPart, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "folder": str(self.folder)}

    def _as_report(self) -> Report:
        records = [asdict(one) for one in self.parts]
        table = Table.by("parts", COLUMNS, records)
        said = f"{self.seconds:.1f} s with {self.workers} processes; kept in {self.folder}."
        parts = Section("parts", "Parts", body=(table,))
        return Report("Warm-up", "", (parts,), verdict=(said,), closing=())


def warm_up(
    parts: Sequence[str] | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> WarmedUp:
    """Compile all kernels that an installation needs, in parallel, so that nobody waits later.

    Kernels that are already compiled are loaded, which takes seconds.

    Parameters
    ----------
    parts : names of `STEPS`: promise, classic, hazard, learned, virtual, cycle, quotes, futures,
        judging; None: all
    workers : processes; None: one a core
    progress : called with parts done and all parts; None: a notebook shows a bar

    Returns
    -------
    WarmedUp
        `table` has one row per part, with its seconds

    Raises
    ------
    ParameterError
        for an unknown part, and if there is no folder for kernels
    """
    wanted = tuple(STEPS) if parts is None else tuple(parts)
    for name in wanted:
        if name not in STEPS:
            raise ParameterError("parts", name, "of " + ", ".join(STEPS))
    folder = _kept.cache_folder()
    if folder is None:
        allowed = "a writable folder, set by FORESTALL_KERNEL_CACHE"
        raise ParameterError("the cache of kernels", "nowhere", allowed)
    count = min(workers or cores(), len(wanted))
    began, done = time.monotonic(), {}
    pool = ProcessPoolExecutor(count, get_context("spawn"), max_tasks_per_child=1)
    with waiting(progress, "parts") as bar, pool:
        for future in as_completed([pool.submit(_warmed, n) for n in STEPS if n in wanted]):
            one = future.result()
            done[one.name] = one
            if bar is not None:
                bar(len(done), len(wanted))
    found = tuple(done[name] for name in STEPS if name in done)
    return WarmedUp(folder, count, time.monotonic() - began, found)


def _warmed(name: str) -> WarmedPart:
    """Run a part in a process of its own."""
    began, before = time.monotonic(), os.times()
    STEPS[name]()
    after = os.times()
    used = after.user + after.system - before.user - before.system
    return WarmedPart(name, time.monotonic() - began, used)
