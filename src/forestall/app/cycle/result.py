"""The result of a run of cycle sharing: measures, tables, and the folder of them all."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from forestall.app.kit.folder import OTHER_RUN_FILES, RUN_FILES, fill_folder
from forestall.app.kit.output import since_first, skipped_table, write_csv, write_json
from forestall.app.kit.versions import versions
from forestall.model.cleaning import Cleaning
from forestall.model.errors import ParameterError
from forestall.model.units import format_duration
from forestall.simulate.cycle import tables
from forestall.simulate.cycle.measures import measures

if TYPE_CHECKING:
    from forestall.simulate.cycle.outcome import CycleOutcome

MODEL = "cycle"
"""What `summary.json` of such a run has as its `model`."""
CYCLE_RUN_FILES = (*OTHER_RUN_FILES, *RUN_FILES)
"""Files that the folder of a run can hold; the one that says that all others are there last."""


@dataclass(frozen=True)
class CycleResult:
    """What a simulation of guests on shared hosts gave.

    Attributes
    ----------
    outcome : the arrays behind everything else
    sources : where jobs and hosts came from, as text
    cleaning : what was left out or changed on the way in

    Tables are Polars tables; ``.to_pandas()`` of any of them gives pandas. Their columns are
    described in `forestall.simulate.cycle.tables`.
    """

    outcome: CycleOutcome
    sources: dict[str, str] = field(default_factory=dict)
    cleaning: Cleaning = field(default_factory=Cleaning)

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

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Measures, parameters, what was skipped, versions and seed, as `summary.json` has them."""
        parameters, states = self.outcome.parameters, self.outcome.states
        return {
            "model": MODEL,
            "scheduler": parameters.scheduler,
            **self.measures,
            "host_traces": {
                "begin": states.begin,
                "end": states.end,
                "period": states.period,
            },
            "seed": parameters.seed,
            "parameters": parameters.model_dump(),
            "sources": self.sources,
            "skipped": self.cleaning.counts(),
            "versions": versions(),
        }

    def save(
        self, folder: str | Path, *, report: bool = True, gantt: tuple[int, int] | None = None
    ) -> Path:
        """Write `summary.json`, `jobs.csv`, `stays.csv`, `hosts.csv`, `availability.csv`,
        `skipped.csv`, `report.html` and, where events were logged, `events.csv`, `decisions.csv`
        and `candidates.csv`: all of them or none; return the folder. `gantt` is the span of the
        report's map of stays, s since the first submission (None: an eventful one); a
        ParameterError where it begins after the end of the run."""
        if report and gantt is not None and not self.jobs.is_empty():
            length = int(self.measures["span"])
            if gantt[0] >= length:
                asked = " to ".join(format_duration(second) for second in gantt)
                allowed = f"a span that begins before the run ends, after {format_duration(length)}"
                raise ParameterError("gantt", asked, allowed)

        def write(fresh: Path) -> None:
            self._write(fresh, report, since_first(self.jobs, gantt))

        return fill_folder(Path(folder), write, CYCLE_RUN_FILES)

    def _write(self, folder: Path, report: bool, span: tuple[int, int] | None) -> None:
        held = {
            "jobs": self.jobs,
            "stays": self.stays,
            "hosts": self.hosts,
            "availability": self.availability,
        }
        for name, table in held.items():
            write_csv(table, folder / f"{name}.csv")
        write_csv(skipped_table(self.cleaning), folder / "skipped.csv")
        if len(self.outcome.log.events):
            from forestall.app.cycle.log import write_guest_log

            write_guest_log(self.outcome, folder)
        if report:
            from forestall.app.cycle.report import write_cycle_report

            write_cycle_report(
                folder / "report.html",
                summary=self.summary,
                jobs=self.jobs,
                stays=self.stays,
                hosts=self.hosts,
                availability=self.availability,
                map_span=span,
            )
        write_json(self.summary, folder / "summary.json")
