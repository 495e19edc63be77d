"""The result of a run of virtual machines: measures, tables, plots, and the folder of them all."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from forestall.core.kit.result import RunResult
from forestall.core.model.errors import ParameterError
from forestall.machines.report import counts
from forestall.machines.report import figures as virtual_figures
from forestall.machines.report import report as reports
from forestall.machines.report.log import write_task_log
from forestall.machines.report.told import ToldRun
from forestall.machines.simulation import tables
from forestall.machines.simulation.measures import measures
from forestall.machines.simulation.outcome import VirtualOutcome
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.prepare import lead_of
from forestall.prediction.assess.predicted_times import score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forestall.core.show.report import Report


MODEL = "virtual"
"""What `summary.json` of such a run has as its `model`."""


@dataclass(frozen=True, repr=False)
class VirtualResult(RunResult[VirtualOutcome]):
    """The result of a simulation of virtual machines; see `RunResult`.

    Attributes
    ----------
    predictor : the predictor that had learned and was asked, None where there was none

    Tables are Polars tables; ``.to_pandas()`` of any of them gives pandas. Their columns are
    described in `forestall.machines.simulation.tables`.
    """

    _TABLES: ClassVar = ("jobs", "tasks", "runs", "migrations", "failures")

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

    def _named(self) -> dict[str, Any]:
        return {"model": MODEL, "strategy": self.outcome.parameters.strategy}

    def _given(self) -> dict[str, Any]:
        return {"predictor": self._predictor()}

    def _besides(self) -> dict[str, Any]:
        """Return the 95 % intervals of the completion rates; see `shared_fate` of
        `forestall.machines.report.counts`."""
        found = {"job": counts.job_interval(self.jobs), "task": counts.task_interval(self.jobs)}
        return {
            f"{name}_completion_interval": None if ends is None else list(ends)
            for name, ends in found.items()
        }

    def _predictor(self) -> dict[str, Any]:
        """What predicted, by name, and how well that fits the failures up to the end of the run."""
        outcome = self.outcome
        judged = score(
            outcome.predictions,
            outcome.failures,
            end=outcome.end,
            lead=max(lead_of(outcome.parameters), 0),
        )
        return {"name": outcome.predictions.name, "score": asdict(judged)}

    def plot_capacity(self) -> Figure:
        """Return capacity in use, down and free, and the tasks that wait, over time."""
        given = self.outcome.parameters
        return virtual_figures.capacity_over_time(
            self.runs, self.failures, given.nodes, _each(given), self.jobs
        )

    def plot_migrations(self, start: int | None = None, end: int | None = None) -> Figure:
        """Return the moves between nodes over time, with the failures that they fled.

        The span is in s of the log's clock (None: an eventful one is chosen); the axis counts from
        the first submission. A ParameterError where it lies outside the run.
        """
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
            processors_per_node=_each(given),
            origin=first,
        )

    def _first(self) -> int | None:
        """Return the time of the first submission, None without jobs."""
        return None if self.jobs.is_empty() else int(self.jobs["submit"][0])

    def _length(self) -> int | None:
        first = self._first()
        return None if first is None else self.outcome.end - first

    def _write_log(self, folder: Path) -> None:
        write_task_log(self.outcome, folder)

    def _told(self, span: tuple[int, int] | None) -> Report:
        told = ToldRun(self.summary, **self._tables(), gantt_span=span, cleaning=self.cleaning)
        return reports.report(told)


def _each(parameters: VirtualParameters) -> list[int]:
    """Return the processors of each node."""
    return [one.processors for one in parameters.machine for _ in range(one.nodes)]
