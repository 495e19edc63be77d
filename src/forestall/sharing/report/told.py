"""A run of cycle sharing as its report tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import polars as pl

from forestall.core.model.cleaning import Cleaning
from forestall.core.show import words as plain
from forestall.core.show.words import Summary
from forestall.sharing.report import counts

TABLES: Final = ("jobs", "stays", "hosts", "availability")


@dataclass(frozen=True)
class ToldRun:
    """A run of cycle sharing as its report tells it.

    Attributes
    ----------
    summary : what `summary.json` holds; `origin`, the Unix time of time 0, tells hours of the day
    jobs, stays, hosts, availability : the tables of the CSV files of these names; those without
        rows may have the types of CSV files
    map_span : window [start, end) of the map of hosts, s; an eventful one without it
    cleaning : what was left out or changed in the logs
    """

    summary: Summary
    jobs: pl.DataFrame
    stays: pl.DataFrame
    hosts: pl.DataFrame
    availability: pl.DataFrame
    map_span: tuple[int, int] | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        for name in TABLES:
            object.__setattr__(self, name, counts.typed(getattr(self, name)))

    @cached_property
    def fates(self) -> pl.DataFrame:
        """The jobs with a column `fate`, as `counts.with_fates` has it."""
        return counts.with_fates(self.jobs)

    @cached_property
    def done(self) -> pl.DataFrame:
        """The jobs completed."""
        return self.jobs.filter(pl.col("outcome") == "completed")

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first submission and the end of the hosts' table, s."""
        return counts.span_of(self.jobs, self.availability, self.stays)

    @cached_property
    def time(self) -> dict[str, float]:
        """Host time by what hosts were, s."""
        return counts.host_hours(self.availability, self.stays, *self.span)

    @cached_property
    def lasting(self) -> list[counts.Lasting]:
        """How likely an available host is to stay available."""
        return counts.lasting(self.availability)

    @cached_property
    def waits(self) -> pl.Series:
        """How long jobs waited for their first start, s; only those that were started."""
        start, submit = (self.jobs[name].cast(pl.Float64) for name in ("start", "submit"))
        return (start - submit).drop_nulls()

    @property
    def lost(self) -> float:
        """Work lost, s."""
        return float(counts.reals(self.jobs, "lost").sum())

    @property
    def useful(self) -> float:
        """Useful work, s: as the summary says, else the run times of jobs completed."""
        given = plain.number(self.summary.get("useful_work"))
        return float(counts.reals(self.done, "runtime").sum()) if given is None else given

    @property
    def said_in(self) -> str:
        """The column with what was said last of stays."""
        return "promise" if "promise" in self.stays.columns else "chance"

    @cached_property
    def promised(self) -> list[counts.Promised]:
        """What was said of stays as they began, and what came of it, by tenths."""
        return counts.promised(self.stays, self.said_in)

    @property
    def count(self) -> int:
        """Hosts, at least one."""
        return max(len(self.hosts), 1)

    @property
    def drawable(self) -> bool:
        """Whether there are jobs and hosts to draw."""
        return not (self.jobs.is_empty() or self.availability.is_empty())
