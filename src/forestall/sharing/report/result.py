"""The result of a run of cycle sharing: measures, tables, and the folder of them all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from forestall.core.kit.result import RunResult
from forestall.sharing.report import report as reports
from forestall.sharing.report.log import write_guest_log
from forestall.sharing.report.told import ToldRun
from forestall.sharing.simulation import tables
from forestall.sharing.simulation.measures import measures
from forestall.sharing.simulation.moves import move_measures
from forestall.sharing.simulation.outcome import CycleOutcome
from forestall.sharing.simulation.vault_tables import checkpoints_table, vault_measures

if TYPE_CHECKING:
    from forestall.core.show.report import Report

MODEL = "cycle"
"""What `summary.json` of such a run has as its `model`."""


@dataclass(frozen=True, repr=False)
class CycleResult(RunResult[CycleOutcome]):
    """The result of a simulation of guests on shared hosts; see `RunResult`.

    Tables are Polars tables; ``.to_pandas()`` of any of them gives pandas. Their columns are
    described in `forestall.sharing.simulation.tables`.
    """

    _TABLES: ClassVar = ("jobs", "stays", "hosts", "availability")

    @cached_property
    def measures(self) -> dict[str, Any]:
        """All measures; times in s, work in s of a host of speed 1, shares from 0 to 1."""
        return measures(self.outcome, self._span)

    @cached_property
    def _span(self) -> tables.Availability:
        return tables.availability(self.outcome)

    @cached_property
    def jobs(self) -> pl.DataFrame:
        """One row per job, in submit order."""
        return tables.jobs_table(self.outcome)

    @cached_property
    def stays(self) -> pl.DataFrame:
        """Every stay of a guest on a host, in order of their ends."""
        return tables.stays_table(self.outcome)

    @cached_property
    def hosts(self) -> pl.DataFrame:
        """One row per host, of the time from the first submission to the end of the run."""
        return tables.hosts_table(self.outcome, self._span)

    @cached_property
    def availability(self) -> pl.DataFrame:
        """What hosts were from the first submission to the end of the run, as runs of a state."""
        return tables.availability_table(self._span)

    @cached_property
    def checkpoints(self) -> pl.DataFrame:
        """Every transfer of a checkpoint, in the order in which they began; without rows where
        there is no vault."""
        return checkpoints_table(self.outcome) if self._has_vault else pl.DataFrame()

    @property
    def _has_vault(self) -> bool:
        return self.outcome.stored is not None

    @property
    def _moves(self) -> bool:
        return self.outcome.parameters.moves

    @property
    def makespan(self) -> float | None:
        """Mean s from submission to finish of the jobs completed; None without any."""
        value: float | None = self.measures["makespan"]
        return value

    @property
    def failures_per_job(self) -> float | None:
        """How often a job lost its host, mean over all jobs; None without jobs."""
        value: float | None = self.measures["failures_per_job"]
        return value

    @property
    def unscheduled_share(self) -> float | None:
        """Share of jobs for which no host was found; None without jobs."""
        value: float | None = self.measures["unscheduled_share"]
        return value

    @property
    def harvested(self) -> float | None:
        """Work of completed jobs as a share of what the hosts could have done; None where they
        could do nothing."""
        value: float | None = self.measures["harvested"]
        return value

    @property
    def lost_work(self) -> float:
        """Work that the leaving of hosts took, s of a host of speed 1."""
        return float(self.measures["lost_work"])

    def _named(self) -> dict[str, Any]:
        return {"model": MODEL, "scheduler": self.outcome.parameters.scheduler}

    def _besides(self) -> dict[str, Any]:
        states = self.outcome.states
        told = {"begin": states.begin, "end": states.end, "period": states.period}
        vault = {"vault": vault_measures(self.outcome)} if self._has_vault else {}
        moves = {"moves": move_measures(self.outcome, self._span)} if self._moves else {}
        return {"host_traces": told, **vault, **moves}

    def _length(self) -> int | None:
        return int(self.measures["span"])

    def _write_log(self, folder: Path) -> None:
        write_guest_log(self.outcome, folder)

    def _tables(self) -> dict[str, pl.DataFrame]:
        held = super()._tables()
        return held | {"checkpoints": self.checkpoints} if self._has_vault else held

    def _told(self, span: tuple[int, int] | None) -> Report:
        held = super()._tables()
        told = ToldRun(self.summary, **held, map_span=span, cleaning=self.cleaning)
        return reports.report(told)
