"""The folder of a back-test: every promise, the tables, the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall._lazy import lazily
from forestall.app.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.app.kit.output import write_csv, write_json
from forestall.app.kit.study_folder import table_of, written
from forestall.app.site.promises.backtest import TITLE
from forestall.app.site.shown import page, shown
from forestall.show.drawings import draw, figure_files
from forestall.show.page import write_page
from forestall.traces.files.atomic import atomic_path
from forestall.traces.files.parquet import put_parquet

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.app.site.promises.backtest import BacktestFound
    from forestall.app.site.sources import Progress

FIGURES: Final = ("promises_deadline", "promises_probability", "promises_sharpness")
MANY: Final = 200_000
"""More promises are written as Parquet: a million make 350 MB of CSV."""
PROBABILITIES: Final = ("asked", "before", "stated", "risk")
FILES: Final = (
    "promises.csv",
    "promises.parquet",
    "deciles.csv",
    "predictors.csv",
    "groups.csv",
    *figure_files(FIGURES),
    "report.html",
    SUMMARY,
)


def is_ours(folder: Path) -> bool:
    """Return whether a folder holds a back-test of promises."""
    return holds(folder, ("verdicts", "warm_up_jobs", "jobs"))


def check_backtest_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=is_ours)


def write_backtest_folder(found: BacktestFound, folder: Path, progress: Progress) -> str:
    """Write everything into a folder, and return what was written in words."""

    def write(fresh: Path) -> None:
        write_ledger(ledger_table(found), fresh)
        for name in ("deciles", "predictors", "groups"):
            write_csv(table_of(rows(found, name)), fresh / f"{name}.csv")
        report = found.report()
        drawn = draw(shown(report), progress, fresh)
        write_page(fresh / "report.html", page(report, title=TITLE, drawn=drawn))
        write_json(found.as_json(), fresh / SUMMARY)

    fill_folder(folder, write, FILES)
    return written(folder)


def rows(found: BacktestFound, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table of all questions, each with its question."""
    return [
        {"question": one.question, **row}
        for one in found.study.answers
        for table in found.section.tables
        if table.key == f"{one.question}_{name}"
        for row in table.records
    ]


def write_ledger(table: pl.DataFrame, folder: Path) -> None:
    """Write every promise as CSV or, where they are many, as Parquet."""
    if len(table) <= MANY:
        write_csv(table, folder / "promises.csv")
        return
    with atomic_path(folder / "promises.parquet") as beside:
        put_parquet(table, beside)


def ledger_table(found: BacktestFound) -> pl.DataFrame:
    """Return every promise with its outcome, a row each, in the order in which they were made;
    probabilities have six digits, wait and run time three after the point."""
    study, accounting = found.study, found.site.accounting
    if not study.answers or accounting is None:
        return pl.DataFrame(schema={"job": pl.Int64})
    ledger = study.answers[0].ledger
    for one in study.answers[1:]:
        ledger = ledger.append(one.ledger)
    table = pl.DataFrame(ledger.columns())
    table = table.with_columns(
        pl.col(*PROBABILITIES).round_sig_figs(6), pl.col("wait", "run").round(3)
    )
    first = _first_runs(found)
    ids = pl.Series("job", accounting.job[first[ledger.job]])
    return table.with_columns(ids, pl.Series("number", ledger.job)).sort(
        ["quoted", "number", "question"], maintain_order=True
    )


def _first_runs(found: BacktestFound) -> Any:
    """Return the position of the first run of each job of the accounting, int64[jobs]."""
    accounting = found.site.accounting
    assert accounting is not None
    which = accounting.which
    first = np.zeros(int(which.max(initial=-1)) + 1, np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    return first
