"""Reports on several runs: a side-by-side of a few, and the account of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from forestall._lazy import lazily
from forestall.app.kit.measure import Measure
from forestall.app.kit.report import NO_FIGURES
from forestall.app.promise import words
from forestall.app.promise.measures import MEASURES
from forestall.app.runs.sweep_figures import Labels, told_as
from forestall.show import words as say_
from forestall.show.figure_files import data_uri
from forestall.show.html_pieces import (
    EMPTY,
    Html,
    HtmlCell,
    page,
    pairs,
    paragraph,
    picture,
    section,
    table,
    write_page,
)
from forestall.show.style import has_matplotlib
from forestall.show.words import Summary

with lazily():
    from forestall.app.promise import figures as promise_figures

Tell = Callable[[Summary, str, Any], str]
MEANS = (
    "Means over seeds; from three seeds on that do not all give the same, ± is half their 95 % "
    "interval (Student's t over seeds: it does not tell what another log would give)."
)
MOST_COLUMNS = 7
"""Columns of a table in the usual size of letters."""
MOST_ROWS = 1000
"""Rows of a sweep that its page shows; the table beside it has all."""


def write_comparison(
    path: str | Path,
    summaries: Mapping[str, Summary],
    measures: Sequence[Measure] = MEASURES,
    tell: Tell = lambda _, __, value: str(value),
) -> Path:
    """Write runs side by side as one page: measures, what differs in parameters, verdicts.

    `tell` turns a run's summary, a parameter and its value into the value's text.
    """
    names = list(summaries)
    promising = {name: one for name, one in summaries.items() if "policy" in one}
    text = page(
        "Runs side by side",
        f"{say_.counted(len(names), 'run')}. The best of each row is bold and marked with a star.",
        section("Measures", table(("", *names), measure_rows(summaries, measures))),
        section("What differs", differences(summaries, tell)),
        section("Were promises worth what they said?", calibrations(promising)),
        *(
            section(name, *(paragraph(tell(one)) for tell in TOLD))
            for name, one in promising.items()  # what is told is of promises and those without
        ),
    )
    return write_page(path, text)


TOLD = (words.on_promises, words.on_work, words.on_waiting)


def measure_rows(
    summaries: Mapping[str, Summary], measures: Sequence[Measure] = MEASURES
) -> list[tuple[str | HtmlCell, ...]]:
    """Return a row for each measure that any run has."""
    rows: list[tuple[str | HtmlCell, ...]] = []
    for measure in measures:
        values = [measure.value(summary) for summary in summaries.values()]
        known = [value for value in values if value is not None]
        if not known:
            continue
        distinct = measure.better is not None and len(set(known)) > 1
        best = measure.better(known) if measure.better is not None and distinct else None
        cells = [
            HtmlCell(measure.text(value) + " ★", "best")
            if best is not None and value == best
            else HtmlCell(measure.text(value))
            for value in values
        ]
        rows.append((measure.name, *cells))
    return rows


def calibrations(summaries: Mapping[str, Summary]) -> Html:
    """Return the calibration of the runs that make promises as one figure."""
    if not any(words.promises_made(one)[0] for one in summaries.values()):
        return EMPTY
    if not has_matplotlib():
        return paragraph(NO_FIGURES, "soft")

    figure = promise_figures.calibration_side_by_side(summaries)
    alt = "Share of promises kept over the probability promised, a line for each run."
    return picture(data_uri(figure), alt, "", figure.get_figwidth())


def differences(summaries: Mapping[str, Summary], tell: Tell) -> Html:
    """Return the parameters, the seed included, in which the runs are not all alike; `tell` as in
    `write_comparison`."""
    given = [
        {**(one.get("parameters") or {}), "seed": one.get("seed")} for one in summaries.values()
    ]
    names = list(dict.fromkeys(name for one in given for name in one))
    rows = [
        (
            name,
            *(
                HtmlCell("" if one.get(name) is None else tell(summary, name, one[name]))
                for one, summary in zip(given, summaries.values(), strict=True)
            ),
        )
        for name in names
        if len({str(one.get(name)) for one in given}) > 1
    ]
    if not rows:
        return paragraph("All parameters are the same.")
    return table(("Parameter", *summaries), rows)


def write_sweep_report(
    path: str | Path,
    table_of_runs: pl.DataFrame,
    figures: Mapping[str, object] | None = None,
    *,
    means: tuple[Sequence[str], Sequence[Sequence[str]]] = ((), ()),
    labels: Labels | None = None,
    logs: str = "",
    fixed: Mapping[str, object] | None = None,
) -> Path:
    """Write the page of a sweep: means, its figures by caption, its table, what did not vary.

    `figures` maps captions to Matplotlib figures; without any the page says which extra draws them.
    `means` has heads and rows; `labels` turn columns of the table into words and units, and without
    them they stand as they are; `logs` says what was run; `fixed` has parameters that are the same
    in all runs.
    """
    drawn = [
        picture(data_uri(figure), caption, caption, figure.get_figwidth())  # type: ignore
        for caption, figure in (figures or {}).items()
    ]
    missing = paragraph(NO_FIGURES, "soft") if not drawn and not has_matplotlib() else EMPTY
    shown = table_of_runs.head(MOST_ROWS)
    more = len(table_of_runs) - len(shown)
    note = f"{say_.counted(more, 'row')} more are in the table beside this page." if more else ""
    heads = [name.replace("_", " ") for name in shown.columns]
    if labels is not None:
        told = {name: told_as(name, labels) for name in shown.columns}
        heads = [head for head, _ in told.values()]
        shown = shown.with_columns(pl.col(n) * by for n, (_, by) in told.items() if by != 1)
    rows = [[field(value) for value in row] for row in shown.iter_rows()]
    kind = "figures" if len(heads) <= MOST_COLUMNS else "many"
    text = page(
        "Sweep",
        say_.counted(len(table_of_runs), "run") + (f" of {logs}." if logs else "."),
        missing,
        section("Means", table(*means), paragraph(MEANS, "soft")) if means[1] else EMPTY,
        section("Figures", *drawn),
        section(
            "All runs", table(heads, rows, kind=kind), paragraph(note, "soft") if note else EMPTY
        ),
        section("The same in all runs", pairs(fixed, ("Parameter", "Value"))) if fixed else EMPTY,
    )
    return write_page(path, text)


def field(value: object) -> str:
    """Return one value of a sweep's table as text."""
    if value is None:
        return say_.NOTHING
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e5 else f"{value:.6g}"
    return str(value)
