"""Figures of sweeps: one measure over one or two parameters, from a tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from forestall.core.figures.sweep_lines import draw_line, line_colours, reach, spread
from forestall.core.show.style import INK, MARKERS, dress, legend, new_figure
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.settings import PROMISE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HOURS = 1 / 3600
LABELS: Final[dict[str, tuple[str, float]]] = {
    "qos": ("Quality of service (QoS)", 1),
    "utilization": ("Utilization (share)", 1),
    "lost_work": ("Lost work (node-hours)", _HOURS),
    "promises_kept": ("Promises kept (share)", 1),
    "brier": ("Brier score", 1),
    "wait_mean": ("Mean wait (hours)", _HOURS),
    "wait_median": ("Median wait (hours)", _HOURS),
    "wait_p95": ("95th percentile of waits (hours)", _HOURS),
    "response_mean": ("Mean response (hours)", _HOURS),
    "bounded_slowdown_mean": ("Mean bounded slowdown (ratio)", 1),
    "makespan": ("Makespan (hours)", _HOURS),
    "checkpoints": ("Checkpoints performed (count)", 1),
    "skipped_checkpoints": ("Checkpoints skipped (count)", 1),
    "restarts": ("Restarts (count)", 1),
}
"""What axes say of a measure, and by what its values are multiplied for that. Of parameters their
declarations tell it."""


Labels = Mapping[str, tuple[str, float]]
SHARE: Final = " (share)"


def label_of(column: str, own: Labels = PROMISE.labels) -> tuple[str, float]:
    """Return the words for a column and the factor into the unit that they name; a model's `own`
    ones come first."""
    plain = (column.replace("_", " ").replace(".", " ").capitalize(), 1)
    return own.get(column) or LABELS.get(column, plain)


def told_as(column: str, own: Labels = PROMISE.labels) -> tuple[str, float]:
    """Return `label_of` for tables: shares in per cent."""
    label, scale = label_of(column, own)
    bare = label.removesuffix(SHARE)
    return (label, scale) if bare == label else (f"{bare} (%)", 100 * scale)


def sweep_lines(
    table: pl.DataFrame,
    x: str,
    y: str,
    by: str | None = None,
    own: Labels = PROMISE.labels,
    order: Sequence[object] = (),
) -> Figure:
    """Draw the mean of `y` over `x`, a line for each value of `by`; a band where runs repeat.

    Rows that share `x` and `by` are averaged. Where they differ by their seed alone, the band is
    the 95 % interval of the mean (Student's t, three seeds or more), else their least and most; the
    legend says which. Lines come in the `order` of these values, others after them in their own.
    """
    (xlabel, xscale), (ylabel, yscale) = label_of(x, own), label_of(y, own)
    figure = new_figure((7.2, 4.4))
    axes = figure.subplots()
    rows = table.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
    groups: list[object] = [None] if by is None else rows[by].unique().sort().to_list()
    groups.sort(key=lambda one: order.index(one) if one in order else len(order))
    colours = colours_of(by, groups)
    bands: set[str] = set()
    for i, group in enumerate(groups):
        one = rows if by is None else rows.filter(pl.col(by) == group)
        band = draw_line(
            axes, one, (x, y), (xscale, yscale), i, color=colours[i], linewidth=1.5, markersize=5,
            label=None if by is None else value_text(group),
        )  # fmt: skip
        bands.add(band)
    dress(axes, "", xlabel, ylabel)
    _explain(figure, axes, by, bands - {""}, own, band=True)
    return figure


def sweep_points(
    table: pl.DataFrame,
    x: str,
    y: str,
    by: str | None = None,
    own: Labels = PROMISE.labels,
    orders: Mapping[str, Sequence[object]] = MappingProxyType({}),
) -> Figure:
    """Draw the mean of `y` for each value of `x`, which are words, a colour for each of `by`.

    Bars around means are what bands are in `sweep_lines`. Values come in the order of `orders`,
    others after them in that of the table.
    """
    (xlabel, _), (ylabel, yscale) = label_of(x, own), label_of(y, own)
    figure = new_figure((7.2, 4.4))
    axes = figure.subplots()
    rows = table.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
    values = _ordered(rows[x], orders.get(x, ()))
    groups = [None] if by is None else _ordered(rows[by], orders.get(by, ()))
    colours = colours_of(by, groups)
    bars: set[str] = set()
    for i, group in enumerate(groups):
        one = rows if by is None else rows.filter(pl.col(by) == group)
        drawn = spread(one, [x], y)
        aside = 0.6 * ((i + 0.5) / len(groups) - 0.5)
        at = np.array([values.index(v) for v in drawn[x].to_list()]) + aside
        middle = drawn["m"].to_numpy() * yscale
        ends = reach(drawn, yscale)
        axes.errorbar(
            at, middle, None if ends is None else [middle - ends[0], ends[1] - middle],
            fmt=MARKERS[i % len(MARKERS)], color=colours[i], capsize=4, markersize=6,
            elinewidth=1.4, label=None if by is None else value_text(group),
        )  # fmt: skip
        bars |= set() if ends is None else {ends[2]}
    dress(axes, "", xlabel, ylabel)
    axes.set_xticks(range(len(values)), [value_text(v) for v in values])
    axes.set_xlim(-0.5, max(len(values), 1) - 0.5)
    _explain(figure, axes, by, bars, own, band=False)
    return figure


def _ordered(column: pl.Series, order: Sequence[object]) -> list[Any]:
    """Return the values of a column, those of `order` first."""
    values = column.unique(maintain_order=True).to_list()
    return sorted(values, key=lambda one: order.index(one) if one in order else len(order))


def _explain(
    figure: Figure, axes: Axes, by: str | None, reaches: set[str], own: Labels, *, band: bool
) -> None:
    """Add the legend of lines or points, and what bands or bars are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if by is not None and axes.get_legend_handles_labels()[1]:
        legend(
            axes, loc="center left", bbox_to_anchor=(1.01, 0.5), ncols=1,
            title=label_of(by, own)[0], title_fontsize=8.5, handlelength=3.0,
        )  # fmt: skip
    if reaches:
        handle = (
            Patch(facecolor=INK, alpha=0.18)
            if band
            else Line2D([], [], color=INK, marker="|", markersize=6, linewidth=1.4)
        )
        text = " or ".join(sorted(reaches))
        legend(
            figure, handles=[handle], labels=[text], loc="outside lower center",
            bbox_to_anchor=None,
        )  # fmt: skip


def sweep_heatmap(
    table: pl.DataFrame, x: str, y: str, value: str, own: Labels = PROMISE.labels
) -> Figure:
    """Draw the mean of `value` for each pair of `x` and `y`, written into its cell if it fits."""
    (xlabel, xscale), (ylabel, yscale) = label_of(x, own), label_of(y, own)
    label, scale = label_of(value, own)
    figure = new_figure((7.2, 5.2))
    axes = figure.subplots()
    cells = table.group_by(x, y).agg(v=pl.col(value).mean()).drop_nulls()
    columns, rows = cells[x].unique().sort(), cells[y].unique().sort()
    grid = np.full((len(rows), len(columns)), np.nan)
    i = np.searchsorted(rows.to_numpy(), cells[y].to_numpy())
    j = np.searchsorted(columns.to_numpy(), cells[x].to_numpy())
    grid[i, j] = cells["v"].to_numpy() * scale
    if grid.size:
        image = axes.imshow(grid, origin="lower", aspect="auto", cmap="cividis")
        bar = figure.colorbar(image, ax=axes)
        bar.set_label(label, fontsize=9)
        bar.ax.tick_params(labelsize=8.5)
        if grid.size <= 200:
            middle = (np.nanmin(grid) + np.nanmax(grid)) / 2
            for a, b in np.argwhere(~np.isnan(grid)):
                ink = "black" if grid[a, b] > middle else "white"
                text = short(grid[a, b])
                axes.text(b, a, text, ha="center", va="center", fontsize=7, color=ink)
    axes.set_xticks(range(len(columns)), [value_text(c * xscale) for c in columns])
    axes.set_yticks(range(len(rows)), [value_text(r * yscale) for r in rows])
    dress(axes, "", xlabel, ylabel)
    axes.grid(visible=False)
    return figure


def colours_of(by: str | None, groups: Sequence[object]) -> list[str]:
    """Return a colour for each value of `by`: a policy has the same one in every figure."""
    told = POLICIES if by == "policy" else {}
    own = {one.name: one.colour for one in told.values() if one.name in groups}
    others = (one for one in line_colours(len(groups) + len(own)) if one not in own.values())
    return [own.get(str(group)) or next(others) for group in groups]


def value_text(value: object) -> str:
    """Return a value as a tick or a legend shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def short(value: float) -> str:
    """Return a number in at most five characters or so."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
