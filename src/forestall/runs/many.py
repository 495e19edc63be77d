"""Reports on several runs: a side-by-side of a few, and the account of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from forestall.core.kit.measure import Measure
from forestall.core.show import closing
from forestall.core.show import words as say_
from forestall.core.show.blocks import Block, Cell, Figure, Prose, Row, Table
from forestall.core.show.drawings import NO_FIGURES
from forestall.core.show.quantities import trimmed
from forestall.core.show.report import Report, Section
from forestall.core.show.style import has_matplotlib
from forestall.core.show.words import Summary
from forestall.runs.sweep_figures import Labels, told_as
from forestall.scheduling.report import words
from forestall.scheduling.report.digest import MEASURES
from forestall.scheduling.report.figures import calibration_side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

Tell = Callable[[Summary, str, Any], str]
MEANS: Final = (
    "Means over seeds. With three seeds or more, ± is half the 95 % interval (Student's t over "
    "seeds; it does not cover other logs), unless all give the same value."
)
MOST_ROWS: Final = 1000
"""Rows of a sweep that its page shows; the table beside it has all."""
TOLD: Final = (words.on_promises, words.on_work, words.on_waiting)


def comparison(
    summaries: Mapping[str, Summary],
    measures: Sequence[Measure] = MEASURES,
    tell: Tell = lambda _, __, value: str(value),
) -> Report:
    """Return runs side by side: measures, what differs in parameters, verdicts.

    `tell` turns a run's summary, a parameter and its value into the value's text.
    """
    promising = {name: one for name, one in summaries.items() if "policy" in one}
    return Report(
        "Runs side by side",
        f"{say_.counted(len(summaries), 'run')}. The best of each row is bold and marked with a "
        "star.",
        (
            Section("measures", "Measures", body=(measured(summaries, measures),)),
            Section("differences", "Parameters that differ", body=(differences(summaries, tell),)),
            calibrations(promising),
            *(
                Section(f"run_{k}", name, body=tuple(Prose(one_of(run)) for one_of in TOLD))
                for k, (name, run) in enumerate(promising.items(), 1)
            ),  # what is told is of promises and those without
        ),
        closing=(),
    )


def measured(summaries: Mapping[str, Summary], measures: Sequence[Measure] = MEASURES) -> Table:
    """Return a row for each measure that any run has."""
    rows: list[Row] = []
    records: list[Mapping[str, Any]] = []
    for measure in measures:
        values = [measure.value(summary) for summary in summaries.values()]
        known = [value for value in values if value is not None]
        if not known:
            continue
        distinct = measure.better is not None and len(set(known)) > 1
        best = measure.better(known) if measure.better is not None and distinct else None
        cells = [
            Cell(measure.text(value) + " ★", best=True)
            if best is not None and value == best
            else Cell(measure.text(value))
            for value in values
        ]
        rows.append((measure.name, *cells))
        told = zip(summaries, values, strict=True)
        records.append({"measure": measure.key, "runs": dict(told)})
    return Table.of("measures", ("", *summaries), rows, records, most=0)


def calibrations(summaries: Mapping[str, Summary]) -> Section:
    """Return the calibration of the runs that make promises as one figure."""
    figure = Figure(
        "calibration",
        lambda: calibration_side_by_side(summaries),
        "Share of promises kept, by promised probability, a line for each run.",
    )
    body = (figure,) if any(words.promises_made(one)[0] for one in summaries.values()) else ()
    return Section("calibration", "Were the promises calibrated?", body=body)


def differences(summaries: Mapping[str, Summary], tell: Tell) -> Block:
    """Return the parameters, the seed included, in which the runs are not all alike; `tell` as in
    `comparison`."""
    given = [
        {**(one.get("parameters") or {}), "seed": one.get("seed")} for one in summaries.values()
    ]
    names = list(dict.fromkeys(name for one in given for name in one))
    rows = [
        (
            name,
            *(
                "" if one.get(name) is None else tell(summary, name, one[name])
                for one, summary in zip(given, summaries.values(), strict=True)
            ),
        )
        for name in names
        if len({str(one.get(name)) for one in given}) > 1
    ]
    if not rows:
        return Prose("All parameters are the same.")
    return Table.of("differences", ("Parameter", *summaries), rows, most=0)


def sweep_report(
    table_of_runs: pl.DataFrame,
    figures: Mapping[str, Drawn] | None = None,
    *,
    means: tuple[Sequence[str], Sequence[Sequence[str]]] = ((), ()),
    labels: Labels | None = None,
    logs: str = "",
    fixed: Mapping[str, object] | None = None,
) -> Report:
    """Return the report of a sweep: means, its figures by caption, its table, what did not vary.

    `figures` maps captions to Matplotlib figures; without any the page says which extra draws them.
    `means` has heads and rows; `labels` turn columns of the table into words and units, and without
    them they stand as they are; `logs` says what was run; `fixed` has parameters that are the same
    in all runs.
    """
    averaged = Table.of("means", *means, most=0)
    return Report(
        "Sweep",
        say_.counted(len(table_of_runs), "run") + (f" of {logs}." if logs else "."),
        (
            Section("means", "Means", body=(averaged, Prose(MEANS, soft=True)) if means[1] else ()),
            Section("figures", "Figures", body=drawn(figures or {})),
            Section("runs", "All runs", body=(all_runs(table_of_runs, labels),)),
        ),
        closing=(closing.parameters(fixed or {}, "The same in all runs"),),
    )


def drawn(figures: Mapping[str, Drawn]) -> tuple[Block, ...]:
    """Return figures by their captions, or a remark where they could not be drawn."""
    if not figures and not has_matplotlib():
        return (Prose(NO_FIGURES, soft=True),)
    return tuple(
        Figure(f"figure_{k}", lambda figure=figure: figure, caption, caption)  # type: ignore[misc]
        for k, (caption, figure) in enumerate(figures.items(), 1)
    )


def all_runs(table: pl.DataFrame, labels: Labels | None) -> Table:
    """Return the table of all runs."""
    shown, heads = table, [name.replace("_", " ") for name in table.columns]
    if labels is not None:
        told = {name: told_as(name, labels) for name in table.columns}
        heads = [head for head, _ in told.values()]
        shown = table.with_columns(pl.col(n) * by for n, (_, by) in told.items() if by != 1)
    rows = [tuple(field(value) for value in row) for row in shown.iter_rows()]
    return Table.of(
        "runs", heads, rows, table.rows(named=True), most=MOST_ROWS,
        elsewhere="the table beside this page",
    )  # fmt: skip


def field(value: object) -> str:
    """Return one value of a sweep's table as text."""
    if value is None:
        return say_.NOTHING
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1e5 else trimmed(say_.figure(value))
    return str(value)
