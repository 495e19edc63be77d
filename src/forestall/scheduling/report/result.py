"""The result of a simulation: measures, tables, plots, and the folder that holds them all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import polars as pl

from forestall.core.kit.result import RunResult
from forestall.core.model.failures import PlannedOutages
from forestall.logs.topology import read_topology
from forestall.scheduling.hazard import described
from forestall.scheduling.learned import described_run
from forestall.scheduling.machine import machine_table
from forestall.scheduling.maintenance import table_of
from forestall.scheduling.report import figures
from forestall.scheduling.report import gantt as gantt_figure
from forestall.scheduling.report import report as reports
from forestall.scheduling.report.log import write_event_log
from forestall.scheduling.simulation import tables
from forestall.scheduling.simulation.measures import measures
from forestall.scheduling.simulation.nearness import nearness
from forestall.scheduling.simulation.run import Outcome
from forestall.scheduling.simulation.saves import checkpoints_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forestall.core.show.report import Report


_FILES_ONLY: Final = ("maintenance", "checkpoints", "machine")
"""Tables that the report does not look at."""


@dataclass(frozen=True, repr=False)
class Result(RunResult[Outcome]):
    """The result of a simulation; see `RunResult`.

    Attributes
    ----------
    own_rules : whether a predictor or placement rule of the user's own took part
    predictor : what promised, as it was when the run began; None for the trace predictor
    answers : what was asked of a predictor that has learned,
        `forestall.prediction.models.tabulated.Tabulated`
    outages : planned outages, `forestall.core.model.failures.PlannedOutages`; None where none were
    given

    Tables are Polars tables; ``.to_pandas()`` of any of them gives pandas.
    """

    _TABLES: ClassVar = ("jobs", "runs", "failures")

    own_rules: bool = False
    predictor: Any = None
    answers: Any = None
    outages: PlannedOutages | None = None

    @cached_property
    def measures(self) -> dict[str, Any]:
        """All measures; times in s, work in node-s, shares from 0 to 1."""
        return measures(self.outcome)

    def nearness(self, topology: str | Path) -> dict[str, Any]:
        """Return how near each other the nodes of runs were by a topology, whether the run went by
        it or not; see `forestall.scheduling.simulation.nearness`. Raises ParameterError and
        TraceError."""
        return nearness(self.outcome, read_topology(topology))

    @cached_property
    def runs(self) -> pl.DataFrame:
        """Every run of every job: ``job,start,end,outcome,checkpoints,lost,nodes``."""
        return tables.runs_table(self.outcome)

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """One row per job; see `forestall.scheduling.simulation.tables.jobs_table`."""
        return tables.jobs_table(self.outcome, self.runs)

    @cached_property
    def users(self) -> pl.DataFrame | None:
        """What each job's user wanted, was shown and took; None where users do not bargain."""
        return None if self.outcome.bargains is None else tables.users_table(self.outcome)

    @cached_property
    def checkpoints(self) -> pl.DataFrame:
        """What became of every checkpoint; without rows where there is no vault."""
        has_vault = self.outcome.saves is not None
        return checkpoints_table(self.outcome) if has_vault else pl.DataFrame()

    @property
    def _sized(self) -> pl.DataFrame:
        """The jobs as figures count them: in node equivalents where nodes are shared."""
        if self.outcome.taken is None:
            return self.jobs
        return self.jobs.with_columns(pl.col("share").alias("size"))

    def _tables(self) -> dict[str, pl.DataFrame]:
        found = super()._tables()
        if self.outages is not None:
            found["maintenance"] = table_of(self.outages)
        if self.outcome.saves is not None:
            found["checkpoints"] = self.checkpoints
        if self.outcome.taken is not None:
            found["machine"] = machine_table(self.outcome.taken.machine)
        return found if self.users is None else {**found, "users": self.users}

    @cached_property
    def failures(self) -> pl.DataFrame:
        """Every failure that was played, with the job that it hit and the node-seconds lost."""
        return tables.failures_table(self.outcome)

    @property
    def qos(self) -> float | None:
        """Quality of service, sum(e n q p) / sum(e n); None where the policy promises nothing."""
        value: float | None = self.measures["qos"]
        return value

    @property
    def utilization(self) -> float:
        """Useful node-seconds as a share of all from the first submit to the last finish."""
        return float(self.measures["utilization"])

    @property
    def lost_work(self) -> int:
        """Node-seconds lost to failures."""
        return int(self.measures["lost_work"])

    def _named(self) -> dict[str, Any]:
        return {"policy": self.outcome.parameters.policy}

    def _given(self) -> dict[str, Any]:
        repeated = self.outcome.parameters.repeat_failures
        outages = {} if self.outages is None else {"planned_outages": len(self.outages)}
        return {
            "predictor": self._predictor(),
            "own_rules": self.own_rules,
            "repeat_period": self.outcome.failures.span if repeated else 0,
            **outages,
        }

    def _predictor(self) -> dict[str, Any]:
        """What promised, by name, with its numbers."""
        if self.predictor is None:
            return {"name": "trace", "accuracy": self.outcome.parameters.accuracy}
        if self.answers is not None:
            return described_run(self.predictor)
        if self.outcome.parameters.predictor != "hazard":
            return {"name": "own"}
        return described(self.predictor)

    def plot_calibration(self) -> Figure:
        """Return the reliability diagram of the promises."""
        return figures.calibration(self.jobs)

    def plot_gantt(self, start: int | None = None, end: int | None = None) -> Figure:
        """Return nodes over time, coloured by job, for a span in s (None: a busy one is chosen)."""
        return gantt_figure.gantt(
            self.runs, self.failures, self.outcome.parameters.nodes, start, end
        )

    def plot_utilization(self) -> Figure:
        """Return busy nodes and the queue over time."""
        return figures.utilization_and_queue(
            self._sized, self.runs, self.outcome.parameters.nodes, self.failures
        )

    def plot_lost_work(self) -> Figure:
        """Return the work lost to failures over time."""
        return figures.lost_work_over_time(self.failures)

    def _write_log(self, folder: Path) -> None:
        write_event_log(self.outcome, folder, self.predictor, self.answers)

    def _told(self, span: tuple[int, int] | None) -> Report:
        tables = {name: one for name, one in self._tables().items() if name not in _FILES_ONLY}
        tables["jobs"] = self._sized
        told = reports.ToldRun(self.summary, **tables, gantt_span=span, cleaning=self.cleaning)
        return reports.report(told)
