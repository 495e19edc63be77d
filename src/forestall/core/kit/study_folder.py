"""The folder of a study: tables, figures, page and summary, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.core.kit.output import write_csv, write_json
from forestall.core.show import style
from forestall.core.show.drawings import Progress, draw, figure_files
from forestall.core.show.page import page, write_page
from forestall.core.show.quantities import duration, number, trimmed

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.core.show.report import Report

PAGE = "report.html"
NEEDED = "; figures need an extra: pip install 'forestall[plot]'"


class Summarized(Protocol):
    """A study that has everything as JSON has it."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """Plain values by name."""


S = TypeVar("S", bound=Summarized)


@dataclass(frozen=True)
class StudyFolder(Generic[S]):
    """What a study of one kind writes.

    Attributes
    ----------
    keys : of a summary.json by which a folder is known as one of this kind
    tables : names of the CSV files; figures : names of the figures, without suffix
    report : the study as a report; its figures are among `figures`
    rows : the tables in the order of `tables`; None: this study has no such table
    """

    keys: tuple[str, ...]
    tables: tuple[str, ...]
    figures: tuple[str, ...]
    report: Callable[[S], Report]
    rows: Callable[[S], Sequence[pl.DataFrame | None]]

    @property
    def files(self) -> tuple[str, ...]:
        """Every file it may hold, the one that says that all others are there last."""
        return (*self.tables, *figure_files(self.figures), PAGE, SUMMARY)

    def check(self, folder: Path, *, force: bool) -> None:
        """Raise InputError where a folder cannot be written to or holds something else."""
        check_folder(folder, force=force, ours=lambda one: holds(one, self.keys))

    def write(
        self, found: S, folder: Path, progress: Progress | None = None, report: Report | None = None
    ) -> str:
        """Write everything into a folder, and return what was written in words; `report` where it
        is made already."""
        told = self.report(found) if report is None else report

        def write(fresh: Path) -> None:
            for name, table in zip(self.tables, self.rows(found), strict=True):
                if table is not None:
                    write_csv(table, fresh / name)
            write_page(fresh / PAGE, page(told, drawn=draw(told, progress, fresh)))
            write_json(dict(found.summary), fresh / SUMMARY)

        fill_folder(folder, write, self.files)
        return written(folder)


def written(folder: Path) -> str:
    """Return what was written where, in words."""
    missing = "" if style.has_matplotlib() else NEEDED
    return f"Files are in {folder}; open {folder / PAGE}{missing}"


def table_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table, with every column that any of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False)


def date_of(time: int, origin: int | None) -> str | None:
    """Return a time of a log as a date; None where its time 0 has none."""
    return None if origin is None else str(np.datetime64(int(time) + origin, "s"))


def window_told(begin: int, end: int, origin: int | None) -> dict[str, Any]:
    """Return a window [begin, end) for JSON."""
    return {
        "from_s": begin,
        "to_s": end,
        "days": (end - begin) / 86_400,
        "from": date_of(begin, origin),
        "to": date_of(end, origin),
    }


def end(ci: Sequence[float] | None, which: int) -> float | None:
    """Return one end of an interval."""
    return None if ci is None else ci[which]


def made_with(summary: Mapping[str, Any]) -> dict[str, object]:
    """Return the files, the options and the versions behind a study."""
    sources = {k.replace("_", " "): v for k, v in summary.items() if k.endswith("source")}
    return {**sources, **options_told(summary["parameters"]), **summary["versions"]}


def options_told(given: Mapping[str, Any]) -> dict[str, str]:
    """Return options for a page: units beside the values instead of in the names, few digits.

    >>> options_told({"reboot_s": 3600, "action_cost_node_hours": 0.5, "split": 2 / 3, "seed": 1})
    {'reboot': '1 h', 'action cost': '0.5 node-hours', 'split': '0.667', 'seed': '1'}
    """
    return dict(_option(name, value) for name, value in given.items())


def _option(name: str, value: Any) -> tuple[str, str]:
    for end_, write in _UNITS.items():
        if name.endswith(end_) and value is not None:
            values = value if isinstance(value, list | tuple) else (value,)
            return name.removesuffix(end_).replace("_", " "), ", ".join(map(write, values))
    return name.replace("_", " "), "" if value is None else _few(value)


def _few(value: Any) -> str:
    """Return a value as text, a real number with about three digits."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_few, value))
    return trimmed(number(value)) if isinstance(value, float) else str(value)


_UNITS: Final[Mapping[str, Callable[[Any], str]]] = {
    "_node_hours": lambda value: f"{_few(value)} node-hours",
    "_s": duration,
}
"""Ends of names of options, and how values in that unit are written."""
