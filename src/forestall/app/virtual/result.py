"""The result of a run of virtual machines: measures, tables, plots, and the folder of them all."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from forestall.app.kit.folder import OTHER_RUN_FILES, RUN_FILES, fill_folder
from forestall.app.kit.output import since_first, skipped_table, write_csv, write_json
from forestall.app.kit.versions import versions
from forestall.app.virtual import counts
from forestall.assess.predicted_times import score
from forestall.model.cleaning import Cleaning
from forestall.model.errors import ParameterError
from forestall.model.units import format_duration
from forestall.simulate.virtual import tables
from forestall.simulate.virtual.measures import measures
from forestall.simulate.virtual.prepare import lead_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forestall.simulate.virtual.outcome import VirtualOutcome

MODEL = "virtual"
"""What `summary.json` of such a run has as its `model`."""
VIRTUAL_RUN_FILES = (*OTHER_RUN_FILES, *RUN_FILES)
"""Files that the folder of a run can hold; the one that says that all others are there last."""


@dataclass(frozen=True)
class VirtualResult:
    """What a simulation of tasks in virtual machines gave.

    Attributes
    ----------
    outcome : the arrays behind everything else
    sources : where jobs and failures came from, as text
    cleaning : what was left out or changed on the way in
    predictor : the predictor that had learnt and was asked, None where there was none

    Tables are Polars tables; ``.to_pandas()`` of any of them gives pandas. Their columns are
    described in `forestall.simulate.virtual.tables`.
    """

    outcome: VirtualOutcome
    sources: dict[str, str] = field(default_factory=dict)
    cleaning: Cleaning = field(default_factory=Cleaning)
    predictor: Any = None

    @cached_property
    def measures(self) -> dict[str, Any]:
        """All measures; times in s, work in processor-seconds, shares from 0 to 1."""
        return measures(self.outcome, self._fates)

    @cached_property
    def _fates(self) -> tables.TaskFates:
        return tables.task_fates(self.outcome)

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """One row per job, in submit order."""
        return tables.jobs_table(self.outcome, self._fates)

    @cached_property
    def tasks(self) -> pl.DataFrame:
        """One row per task of every job, in order of (job, task)."""
        return tables.tasks_table(self.outcome, self._fates)

    @cached_property
    def runs(self) -> pl.DataFrame:
        """Every stay of a task on a node, in order of their ends."""
        return tables.runs_table(self.outcome)

    @cached_property
    def migrations(self) -> pl.DataFrame:
        """Every move of a task, in order of their beginning."""
        return tables.migrations_table(self.outcome)

    @cached_property
    def failures(self) -> pl.DataFrame:
        """Every failure that was played, with the tasks that it aborted and what they lost."""
        return tables.failures_table(self.outcome)

    @property
    def job_completion_rate(self) -> float | None:
        """Share of jobs all of whose tasks ended by the deadline; None without jobs."""
        value: float | None = self.measures["job_completion_rate"]
        return value

    @property
    def task_completion_rate(self) -> float | None:
        """Share of tasks, of all jobs, that ended by the deadline; None without jobs."""
        value: float | None = self.measures["task_completion_rate"]
        return value

    @property
    def utilization(self) -> float:
        """Useful work as a share of all capacity from the first submission to the end."""
        return float(self.measures["utilization"])

    @property
    def lost_work(self) -> float:
        """Processor-seconds lost to failures."""
        return float(self.measures["lost_work"])

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Measures, parameters, what was skipped, versions and seed, as `summary.json` has them."""
        parameters = self.outcome.parameters
        return {
            "model": MODEL,
            "strategy": parameters.strategy,
            **self.measures,
            **self._intervals(),
            "seed": parameters.seed,
            "parameters": parameters.model_dump(),
            "predictor": self._predictor(),
            "sources": self.sources,
            "skipped": self.cleaning.counts(),
            "versions": versions(),
        }

    def _intervals(self) -> dict[str, list[float] | None]:
        """Return the 95 % intervals of the completion rates; see `shared_fate` of
        `forestall.app.virtual.counts`."""
        found = {"job": counts.job_interval(self.jobs), "task": counts.task_interval(self.jobs)}
        return {
            f"{name}_completion_interval": None if ends is None else list(ends)
            for name, ends in found.items()
        }

    def _predictor(self) -> dict[str, Any]:
        """What predicted, by name, and how well that fits the failures up to the end of the run."""
        outcome = self.outcome
        judged = score(
            outcome.predictions, outcome.failures, end=outcome.end, lead=lead_of(outcome.parameters)
        )
        return {"name": outcome.predictions.name, "score": asdict(judged)}

    def plot_capacity(self) -> Figure:
        """Return capacity in use, down and free, and the tasks that wait, over time."""
        from forestall.app.virtual import figures as virtual_figures

        given = self.outcome.parameters
        return virtual_figures.capacity_over_time(
            self.runs, self.failures, given.nodes, given.processors_per_node, self.jobs
        )

    def plot_migrations(self, start: int | None = None, end: int | None = None) -> Figure:
        """Return the moves between nodes over time, with the failures that they fled.

        The span is in s of the log's clock (None: an eventful one is chosen); the axis counts from
        the first submission. A ParameterError where it lies outside the run.
        """
        from forestall.app.virtual import figures as virtual_figures

        given, first = self.outcome.parameters, self._first()
        if first is not None:
            ends = f"the run is from {first} to {self.outcome.end}"
            if start is not None and start >= self.outcome.end:
                raise ParameterError("start", start, f"a time before the end: {ends}")
            if end is not None and end <= first:
                raise ParameterError("end", end, f"a time after the beginning: {ends}")
        return virtual_figures.migration_map(
            self.runs,
            self.migrations,
            self.failures,
            given.nodes,
            start,
            end,
            processors_per_node=given.processors_per_node,
            origin=first,
        )

    def _first(self) -> int | None:
        """Return the time of the first submission, None without jobs."""
        return None if self.jobs.is_empty() else int(self.jobs["submit"][0])

    def save(
        self, folder: str | Path, *, report: bool = True, gantt: tuple[int, int] | None = None
    ) -> Path:
        """Write `summary.json`, `jobs.csv`, `tasks.csv`, `runs.csv`, `migrations.csv`,
        `failures.csv`, `skipped.csv`, `report.html` and, where events were logged, `events.csv` and
        `decisions.csv`: all of them or none; return the folder. `gantt` is the span of the report's
        map of migrations, s since the first submission (None: an eventful one); a ParameterError
        where it begins after the end of the run."""
        first = self._first()
        if report and gantt is not None and first is not None:
            length = self.outcome.end - first
            if gantt[0] >= length:
                asked = " to ".join(format_duration(second) for second in gantt)
                allowed = f"a span that begins before the run ends, after {format_duration(length)}"
                raise ParameterError("gantt", asked, allowed)

        def write(fresh: Path) -> None:
            self._write(fresh, report, since_first(self.jobs, gantt))

        return fill_folder(Path(folder), write, VIRTUAL_RUN_FILES)

    def _write(self, folder: Path, report: bool, span: tuple[int, int] | None) -> None:
        held = {
            "jobs": self.jobs,
            "tasks": self.tasks,
            "runs": self.runs,
            "migrations": self.migrations,
            "failures": self.failures,
        }
        for name, table in held.items():
            write_csv(table, folder / f"{name}.csv")
        write_csv(skipped_table(self.cleaning), folder / "skipped.csv")
        if len(self.outcome.log.events):
            from forestall.app.virtual.log import write_task_log

            write_task_log(self.outcome, folder)
        if report:
            from forestall.app.virtual.report import write_virtual_report

            place = folder / "report.html"
            write_virtual_report(place, summary=self.summary, **held, gantt_span=span)
        write_json(self.summary, folder / "summary.json")
