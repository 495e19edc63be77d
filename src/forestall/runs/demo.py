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
from forestall.core.show.page import page, write_page
from forestall.logs.generate import generate_failures, generate_jobs
from forestall.logs.jobs.swf import write_swf
from forestall.logs.write import write_failures_csv
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

    @property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """The summaries of the runs by name."""
        return {name: run.summary for name, run in self.runs.items()}


def demo(out: Path, tell: Tell, *, seed: int = SEED, force: bool = False) -> Demo:
    """Generate two weeks of jobs and failures, run them three times, and write logs and pages.

    Raises InputError where the folder cannot be written to.
    """
    check_folder(out, force=force, ours=is_demo_folder)
    if not PROMISE.is_compiled(Parameters(nodes=NODES)):
        tell("Compiling, the first time only: about 15 s ...")
    jobs = generate_jobs(NODES, seed, days=DAYS, load=LOAD)
    # The last jobs finish after the last one came.
    failures = generate_failures(NODES, 2 * DAYS, seed, rate_per_year=FAILURES_A_YEAR)
    runs = {
        name: simulate.simulate(
            jobs, failures, nodes=NODES, accuracy=accuracy, risk=RISK, seed=seed
        )
        for name, accuracy in RUNS.items()
    }
    certain = simulate.simulate(jobs, failures, nodes=NODES, accuracy=1.0, risk=1.0, seed=seed)
    tell("Drawing figures ...")
    done = Demo(jobs, failures, runs, certain, out)
    fill_folder(out, lambda fresh: _write(done, fresh), FILES)
    return done


def is_demo_folder(folder: Path) -> bool:
    """Return whether a folder holds nothing but what a demonstration leaves."""
    return {path.name for path in folder.iterdir() if not is_left_over(path)} <= set(FILES)


def _write(done: Demo, folder: Path) -> None:
    write_swf(done.jobs, folder / "jobs.swf")
    write_failures_csv(done.failures, folder / "failures.csv")
    done.runs[SHOWN].report.save(folder / "report.html")
    write_page(folder / "comparison.html", page(comparison(done.summaries)))
