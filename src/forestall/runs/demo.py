"""The demonstration: generated jobs and failures, three runs, and what prediction was worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core._lazy import lazily
from forestall.core.files.folders import is_left_over
from forestall.core.kit.folder import check_folder, fill_folder
from forestall.core.kit.progress import Tell
from forestall.core.model.nodes import GPUS
from forestall.core.show.page import page, write_page
from forestall.logs.generate import generate_failures, generate_jobs, generate_shared_jobs
from forestall.logs.machines import machine_of_line
from forestall.logs.write import write_failures_csv
from forestall.logs.written import write_log
from forestall.runs.many import comparison
from forestall.scheduling.settings import PROMISE
from forestall.scheduling.simulation.parameters import Parameters

with lazily():
    from forestall.scheduling import simulate

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.core.model.jobs import Jobs
    from forestall.scheduling.report.result import Result

NODES: Final = 128
DAYS: Final = 14
LOAD: Final = 0.75
FAILURES_A_YEAR: Final = 1500
"""The promise paper's machine has 1,021 a year; a few more, so that two weeks show something."""
SEED: Final = 1
RISK: Final = 0.9

RUNS: Final = {"no prediction": 0.0, "accuracy 0.7": 0.7, "perfect": 1.0}
"""Names and prediction accuracies of the runs."""
SHOWN: Final = "accuracy 0.7"
"""The run that gets a report of its own."""
FILES: Final = ("jobs.swf", "failures.csv", "report.html", "comparison.html")
SHARED: Final = "nodes=64 like=alibaba-2023"
SHARED_DAYS: Final = 3
SHARED_FILES: Final = ("jobs.csv", *FILES[1:])
"""The same on a machine whose nodes are shared."""


@dataclass(frozen=True)
class Demo:
    """What the demonstration gave: its logs, its runs by name, and the folder with the pages.

    `certain` is the run with perfect prediction in which users take nothing but certainty.
    """

    jobs: Jobs
    failures: Failures
    runs: Mapping[str, Result]
    certain: Result
    folder: Path
    machine: str | None = None
    """The line of the machine whose nodes are shared."""

    @property
    def days(self) -> int:
        """From how many days the jobs are; failures are from twice as many."""
        return DAYS if self.machine is None else SHARED_DAYS

    @property
    def nodes(self) -> str:
        """What the machine is, in words."""
        if self.machine is None:
            return f"{NODES} nodes"
        spec = machine_of_line(self.machine)
        return f"{spec.source} with {int(spec.totals[GPUS]):,} GPUs"

    @property
    def log(self) -> Path:
        """The file of the jobs."""
        return self.folder / (FILES[0] if self.machine is None else SHARED_FILES[0])

    @property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """The summaries of the runs by name."""
        return {name: run.summary for name, run in self.runs.items()}


def demo(
    out: Path, tell: Tell, *, seed: int = SEED, force: bool = False, shared: bool = False
) -> Demo:
    """Generate two weeks of jobs and failures, run them three times, and write logs and pages;
    `shared`: three days of jobs that share nodes with cores, memory and GPUs.

    Raises InputError where the folder cannot be written to.
    """
    check_folder(out, force=force, ours=is_demo_folder)
    machine: Any = {"nodes": NODES}
    days, nodes = DAYS, NODES
    if shared:
        spec = machine_of_line(SHARED)
        machine, days, nodes = {"machine": spec}, SHARED_DAYS, len(spec)
        jobs = generate_shared_jobs(spec, seed, days=days, load=LOAD)
        tell("Simulating; the first time compiles for about 20 s ...")
    else:
        jobs = generate_jobs(NODES, seed, days=DAYS, load=LOAD)
        if not PROMISE.is_compiled(Parameters(nodes=NODES)):
            tell("Compiling, the first time only: about 15 s ...")
    # The last jobs finish after the last one came.
    failures = generate_failures(nodes, 2 * days, seed, rate_per_year=FAILURES_A_YEAR)
    runs = {
        name: simulate.simulate(jobs, failures, accuracy=accuracy, risk=RISK, seed=seed, **machine)
        for name, accuracy in RUNS.items()
    }
    certain = simulate.simulate(jobs, failures, accuracy=1.0, risk=1.0, seed=seed, **machine)
    tell("Drawing figures ...")
    done = Demo(jobs, failures, runs, certain, out, SHARED if shared else None)
    fill_folder(out, lambda fresh: _write(done, fresh), SHARED_FILES if shared else FILES)
    return done


def is_demo_folder(folder: Path) -> bool:
    """Return whether a folder holds nothing but what a demonstration leaves."""
    known = {*FILES, *SHARED_FILES}
    return {path.name for path in folder.iterdir() if not is_left_over(path)} <= known


def _write(done: Demo, folder: Path) -> None:
    write_log(done.jobs, folder / done.log.name)
    write_failures_csv(done.failures, folder / "failures.csv")
    done.runs[SHOWN].report.save(folder / "report.html")
    write_page(folder / "comparison.html", page(comparison(done.summaries)))
