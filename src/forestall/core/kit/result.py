"""What a run gave, whichever model played it: tables by name, a summary, and the folder of both."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from forestall.core.kit.folder import OTHER_RUN_FILES, RUN_FILES, SUMMARY, fill_folder
from forestall.core.kit.output import (
    since_first,
    skipped_table,
    write_csv,
    write_json,
    write_manifest,
)
from forestall.core.kit.versions import versions
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import format_duration
from forestall.core.show.page import page, write_page
from forestall.core.show.report import Report
from forestall.core.show.result import FORMS, ShownResult

if TYPE_CHECKING:
    import polars as pl

Outcome = TypeVar("Outcome", bound=Any)
FOLDER_FILES = (*OTHER_RUN_FILES, *RUN_FILES)
"""Files that the folder of a run can hold; the one that says that all others are there last."""


@dataclass(frozen=True, repr=False)
class RunResult(ShownResult, Generic[Outcome]):
    """The result of a simulation; `table` is that of its jobs, `to_dict` its summary.

    Attributes
    ----------
    outcome : the arrays behind everything else
    sources : where jobs and failures (or hosts) came from, as text
    cleaning : what was left out or changed on the way in
    """

    _TABLES: ClassVar[tuple[str, ...]]
    """Its tables: properties of these names, and ``NAME.csv`` in its folder."""

    outcome: Outcome
    sources: dict[str, str] = field(default_factory=dict)
    cleaning: Cleaning = field(default_factory=Cleaning)

    @property
    @abstractmethod
    def measures(self) -> dict[str, Any]:
        """All measures; times in s, shares from 0 to 1."""

    @property
    @abstractmethod
    def jobs(self) -> pl.DataFrame:
        """One row per job, in submit order."""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Measures, parameters, what was skipped, versions and seed, as `summary.json` has them."""
        parameters = self.outcome.parameters
        return {
            **self._named(),
            **self.measures,
            **self._besides(),
            "seed": parameters.seed,
            "parameters": parameters.model_dump(),
            **self._given(),
            "sources": self.sources,
            "skipped": self.cleaning.counts(),
            "versions": versions(),
        }

    @abstractmethod
    def _named(self) -> dict[str, Any]:
        """Return what the summary begins with: the model, and who decided."""

    def _besides(self) -> dict[str, Any]:
        """Return what stands in the summary beside the measures."""
        return {}

    def _given(self) -> dict[str, Any]:
        """Return what stands in the summary beside the parameters."""
        return {}

    @property
    def table(self) -> pl.DataFrame:
        """One row per job, in submit order."""
        return self.jobs

    def to_dict(self) -> dict[str, Any]:
        """Return the summary, as `summary.json` has it."""
        return self.summary

    def _as_report(self) -> Report:
        return self._told(None)

    def save(
        self, folder: str | Path, *, report: bool = True, gantt: tuple[int, int] | None = None
    ) -> Path:
        """Write `summary.json`, a CSV file of each table (`_TABLES`), `skipped.csv`, `report.html`,
        where events were logged the log, and `manifest.json`, the checksums of all of these: all of
        them or none; return the folder. A name that ends in ``.html``, ``.json``, ``.csv``, ...
        makes one file of the run, as other results do.

        `gantt` is the span of the report's chart over nodes or hosts, s since the first submission
        (None: an eventful one); a ParameterError where the model tells how long its run is, and the
        span begins later.
        """
        target = Path(folder)
        if target.suffix.lower() in FORMS and not target.is_dir():
            return super().save(target)
        span = gantt if report else None
        self._check_span(span)

        def write(fresh: Path) -> None:
            for name, table in self._tables().items():
                write_csv(table, fresh / f"{name}.csv")
            write_csv(skipped_table(self.cleaning), fresh / "skipped.csv")
            if len(self.outcome.log.events):
                self._write_log(fresh)
            if report:
                told = self._told(since_first(self.jobs, span))
                write_page(fresh / "report.html", page(told))
            write_json(self.summary, fresh / SUMMARY)
            write_manifest(fresh)

        return fill_folder(target, write, FOLDER_FILES)

    def _tables(self) -> dict[str, pl.DataFrame]:
        return {name: getattr(self, name) for name in self._TABLES}

    def _check_span(self, span: tuple[int, int] | None) -> None:
        length = None if span is None or self.jobs.is_empty() else self._length()
        if span is not None and length is not None and span[0] >= length:
            asked = " to ".join(format_duration(second) for second in span)
            allowed = f"a span that begins before the run ends, after {format_duration(length)}"
            raise ParameterError("gantt", asked, allowed)

    def _length(self) -> int | None:
        """Return s from the first submission to the end; None: any span can be asked for."""
        return None

    @abstractmethod
    def _write_log(self, folder: Path) -> None:
        """Write what the engine was told and what it answered."""

    @abstractmethod
    def _told(self, span: tuple[int, int] | None) -> Report:
        """Return the report; `span` is that of its chart, in s of the log's own clock."""
