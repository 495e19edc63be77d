"""The folder of a failure log's analysis: tables, figures, summary and report; all or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.app.kit.folder import SUMMARY, check_folder, fill_folder, holds
from forestall.app.kit.output import write_csv, write_json
from forestall.app.kit.progress import Progress
from forestall.app.reliability.failures.pictures import NAMES, LogPicture, pictures
from forestall.show.style import has_matplotlib

if TYPE_CHECKING:
    import polars as pl

    from forestall.app.reliability.failures.study import FailureStudy
    from forestall.show.html_pieces import Html

TABLES: Final = (
    "years.csv",
    "causes.csv",
    "nodes.csv",
    "node_years.csv",
    "gaps.csv",
    "system_gaps.csv",
    "fits.csv",
    "system_fits.csv",
    "trend.csv",
    "age.csv",
    "bursts.csv",
    "remarks.csv",
)
FILES: Final = (*TABLES, *(f"{name}.png" for name in NAMES), "report.html", SUMMARY)
"""Files of an analysis, the one that says that all others are there last."""


def is_report_folder(folder: Path) -> bool:
    """Return whether a folder holds an analysis of ours."""
    return holds(folder, ("nodes_apart", "fits", "versions"))


def check_report_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where a folder cannot be written to or holds something else."""
    check_folder(folder, force=force, ours=is_report_folder)


def write_report_folder(found: FailureStudy, folder: Path, progress: Progress) -> str:
    """Write everything into a folder, and return what was written in words."""
    drawn = has_matplotlib()

    def write(fresh: Path) -> None:
        write_tables(found, fresh)
        shown = write_pictures(found, fresh, progress) if drawn else {}
        from forestall.app.reliability.failures.page import write_reliability_page

        write_reliability_page(fresh / "report.html", found.summary, shown)
        write_json(found.summary, fresh / SUMMARY)

    fill_folder(folder, write, FILES)
    missing = "" if drawn else "; figures need an extra: pip install 'forestall[plot]'"
    return f"Files are in {folder}; open {folder / 'report.html'}{missing}"


def write_pictures(found: FailureStudy, folder: Path, progress: Progress) -> dict[str, Html]:
    """Write the figures as PNG, and return them as parts of a page, by name."""
    from base64 import b64encode

    from forestall.app.reliability.fit.plot import settle
    from forestall.show.figure_files import png
    from forestall.show.html_pieces import picture

    shown = {}
    for done, one in enumerate(pictures(found), 1):
        settle(one.figure)
        image = png(one.figure)
        (folder / f"{one.name}.png").write_bytes(image)
        address = f"data:image/png;base64,{b64encode(image).decode('ascii')}"
        shown[one.name] = picture(address, one.alt, one.caption, _width(one))
        progress(done, len(NAMES))
    return shown


def _width(one: LogPicture) -> float:
    return float(one.figure.get_figwidth())


def write_tables(found: FailureStudy, folder: Path) -> None:
    """Write all tables as CSV."""
    for name, table in zip(TABLES, tables(found), strict=True):
        write_csv(table, folder / name)


def tables(found: FailureStudy) -> list[pl.DataFrame]:
    """Return the tables of `TABLES`, in that order."""
    summary = found.summary
    trend = [
        {"of": by, **row} for by in ("node", "system") for row in summary["trend"][by]["tests"]
    ]
    return [
        _table(summary["years"]),
        _table(summary["causes"]),
        _table(summary["nodes_apart"]["nodes"]),
        found.history.node_years(summary["years_are"]).table(),
        gaps_table(found, "node"),
        gaps_table(found, "system"),
        _fits(summary["fits"]["node"]["families"]),
        _fits(summary["fits"]["system"]["families"]),
        _table(trend),
        _table(summary["age"]["bins"]),
        _bursts(found),
        _table(summary["remarks"]),
    ]


def gaps_table(found: FailureStudy, by: str) -> pl.DataFrame:
    """Return ``gap,censored,resolution`` and what else is known, as `forestall fit` takes it."""
    import polars as pl

    gaps = found.history.gaps("node" if by == "node" else "system")
    sampled = found.node.sampled if by == "node" else found.system.sampled
    columns: dict[str, Any] = {"gap": sampled.gap, "censored": sampled.censored.astype("int8")}
    if sampled.resolution is not None:
        columns["resolution"] = sampled.resolution
    if by == "node":
        columns["node"] = gaps.node
    return pl.DataFrame({**columns, "begin": gaps.begin, "end": gaps.end})


def _fits(families: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the ranking with parameters as JSON in one column."""
    return _table(
        [
            {
                "rank": k,
                **one,
                "params": None if one["params"] is None else json.dumps(one["params"]),
            }
            for k, one in enumerate(families, 1)
        ]
    )


def _bursts(found: FailureStudy) -> pl.DataFrame:
    import polars as pl

    if found.bursting.bursts is None:
        return pl.DataFrame(schema={"begin": pl.Int64})
    table = found.bursting.bursts.table()
    begin = found.history.time[table["first"].to_numpy()]
    return table.with_columns(begin=pl.Series(begin)).select("begin", "duration", "size", "nodes")


def _table(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table, with every column that any of them has."""
    import polars as pl

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in names}, strict=False)
