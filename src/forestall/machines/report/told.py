"""A run of virtual machines as its report tells it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from forestall.core.figures import series
from forestall.core.kit.measure import whole
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.virtual import parse_node_sizes
from forestall.core.show.blocks import Figure
from forestall.core.show.words import Summary
from forestall.machines.report import counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

TABLES: Final = ("jobs", "tasks", "runs", "migrations", "failures")


@dataclass(frozen=True)
class ToldRun:
    """A run of virtual machines as its report tells it.

    Attributes
    ----------
    summary : what `summary.json` holds
    jobs, tasks, runs, migrations, failures : the tables of the CSV files of these names; those
        without rows may have the types of CSV files
    gantt_span : window [start, end) of the map of migrations, s; an eventful one without it
    cleaning : what was left out or changed in the logs
    """

    summary: Summary
    jobs: pl.DataFrame
    tasks: pl.DataFrame
    runs: pl.DataFrame
    migrations: pl.DataFrame
    failures: pl.DataFrame
    gantt_span: tuple[int, int] | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)

    def __post_init__(self) -> None:
        for name in TABLES:
            object.__setattr__(self, name, counts.typed(getattr(self, name)))

    @cached_property
    def fates(self) -> pl.DataFrame:
        """The jobs with a column `fate`, as `counts.with_fates` has it."""
        return counts.with_fates(self.jobs, self.runs)

    @property
    def start(self) -> int:
        """The first submission, s."""
        return 0 if self.jobs.is_empty() else int(series.column(self.jobs, "submit").min())

    @property
    def nodes(self) -> int:
        """Nodes of the machine."""
        return max(whole(self.parameters, "nodes"), 1)

    @property
    def processors(self) -> list[int]:
        """Processors of each node."""
        sizes = self.parameters.get("node_sizes")
        if not sizes:
            return [max(whole(self.parameters, "processors_per_node"), 1)] * self.nodes
        return [one.processors for one in parse_node_sizes(str(sizes)) for _ in range(one.nodes)]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What was chosen."""
        return self.summary.get("parameters") or {}

    def drawn(
        self, name: str, draw: Callable[[], Drawn], alt: str, caption: str = ""
    ) -> tuple[Figure, ...]:
        """Return a figure where there are runs to draw."""
        empty = self.jobs.is_empty() or self.runs.is_empty()
        return () if empty else (Figure(name, draw, alt, caption),)
