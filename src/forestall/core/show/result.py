"""What every result of a public function can do, from the one report that it gives.

    @dataclass(frozen=True, repr=False)
    class Answer(ShownResult):
        def _as_report(self) -> Report: ...

With that it has a short `repr`, shows itself in a notebook, and has a table, a figure, plain values
and files. What a result knows better (its own table, its own folder) it overrides.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.model.errors import ParameterError
from forestall.core.show.as_json import as_json
from forestall.core.show.shown import Shown, in_short

with lazily():
    import polars as pl

    from forestall.core.files import cells
    from forestall.core.show import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from forestall.core.show.blocks import Figure, Table
    from forestall.core.show.report import Report

PAGES: Final = (".html", ".htm")
FIGURES: Final = (".png", ".svg", ".pdf")
FORMS: Final = (*PAGES, ".json", ".csv", ".parquet", *FIGURES)
"""Suffixes of what a result can be saved as."""


class ShownResult(ABC):
    """A result that shows itself: text, notebook, table, figure, plain values, files."""

    @abstractmethod
    def _as_report(self) -> Report:
        """Return what it says."""

    @property
    def report(self) -> Shown:
        """It as text, page, JSON, Markdown and OpenMetrics (`forestall.core.show.shown.Shown`)."""
        return Shown(self._as_report())

    @property
    def table(self) -> pl.DataFrame:
        """Its main table, Polars; ``.to_pandas()`` of it gives pandas where that is installed."""
        tables = [one for part in self._as_report().sections for one in part.tables]
        return _frame(tables[0]) if tables else pl.DataFrame()

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures that `plot` draws, the most important first."""
        return tuple(self._drawable())

    def plot(self, name: str | None = None) -> Drawn:
        """Return a figure (Matplotlib): one of `figures`, None: the first of them.

        Raises ParameterError for a name that is none of them or where there is nothing to draw, and
        MissingExtraError without Matplotlib (extra ``plot``).
        """
        there = self._drawable()
        chosen = next(iter(there), "") if name is None else name
        if chosen not in there:
            allowed = "one of " + ", ".join(there) if there else "none: it has nothing to draw"
            raise ParameterError("plot", chosen, allowed)
        return there[chosen].draw()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values that JSON can hold."""
        return as_json(self._as_report())

    def save(self, path: str | Path) -> Path:
        """Write it, whole or not at all, and return where.

        The suffix says as what: a page (``.html``), plain values (``.json``), its table (``.csv``,
        ``.parquet``) or its first figure (``.png``, ``.svg``, ``.pdf``); without one all that it
        has goes into a folder. Raises ParameterError for another suffix.
        """
        target = Path(path)
        suffix = target.suffix.lower()
        if not suffix or target.is_dir():
            return self._save_folder(target)
        if suffix not in FORMS:
            raise ParameterError("path", target.name, f"a folder, or a file {', '.join(FORMS)}")
        self._save_file(target, suffix)
        return target

    def _save_file(self, target: Path, suffix: str) -> None:
        if suffix in PAGES:
            self.report.save(target)
        elif suffix in FIGURES:
            svg.save(self.plot(), target)
        else:
            with atomic_path(target) as beside:
                if suffix == ".json":
                    text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
                    beside.write_text(f"{text}\n", encoding="utf-8")
                elif suffix == ".csv":
                    cells.harmless(self.table).write_csv(beside)
                else:
                    self.table.write_parquet(beside)

    def _save_folder(self, folder: Path) -> Path:
        """Write everything into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("table.csv", "result.json", "report.html"):
            self._save_file(folder / name, Path(name).suffix)
        return folder

    def _drawable(self) -> dict[str, Figure]:
        return {one.name: one for part in self._as_report().sections for one in part.figures}

    def __repr__(self) -> str:
        return in_short(self._as_report(), type(self).__name__)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def _frame(table: Table) -> pl.DataFrame:
    names = list(dict.fromkeys(name for row in table.records for name in row))
    columns = {name: [row.get(name) for row in table.records] for name in names}
    return pl.DataFrame(columns, strict=False)
