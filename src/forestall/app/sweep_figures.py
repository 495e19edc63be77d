"""Figures of sweeps: one measure over one or two parameters, from a tidy table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from forestall.figures.style import DASHES, LINES, MARKERS, dress, legend, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HOURS = 1 / 3600
LABELS: Final[dict[str, tuple[str, float]]] = {
    "accuracy": ("Prediction accuracy a", 1),
    "risk": ("User risk strategy U", 1),
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
    "nodes": ("Nodes (count)", 1),
    "checkpoint_interval": ("Checkpoint interval (hours)", _HOURS),
    "checkpoint_overhead": ("Checkpoint overhead (s)", 1),
    "downtime": ("Downtime (s)", 1),
}
"""What axes say of a column of a sweep, and by what its values are multiplied for that."""


Labels = Mapping[str, tuple[str, float]]


def label_of(column: str, own: Labels = MappingProxyType({})) -> tuple[str, float]:
    """Return the words for a column and the factor into the unit that they name; a model's `own`
    ones come first."""
    plain = (column.replace("_", " ").replace(".", " ").capitalize(), 1)
    return own.get(column) or LABELS.get(column, plain)


def sweep_lines(
    table: pl.DataFrame,
    x: str,
    y: str,
    by: str | None = None,
    own: Labels = MappingProxyType({}),
    order: Sequence[object] = (),
) -> Figure:
    """Draw the mean of `y` over `x`, a line for each value of `by`; a band where runs repeat.

    Rows that share `x` and `by` (several seeds) are averaged; the band is their least and most.
    Lines come in the `order` of these values, others after them in their own.
    """
    (xlabel, xscale), (ylabel, yscale) = label_of(x, own), label_of(y, own)
    figure = new_figure((7.2, 4.4))
    axes = figure.subplots()
    rows = table.filter(pl.col(x).is_not_null() & pl.col(y).is_not_null())
    groups: list[object] = [None] if by is None else rows[by].unique().sort().to_list()
    groups.sort(key=lambda one: order.index(one) if one in order else len(order))
    colours = line_colours(len(groups))
    for i, group in enumerate(groups):
        one = rows if by is None else rows.filter(pl.col(by) == group)
        drawn = one.group_by(x).agg(m=pl.col(y).mean(), lo=pl.col(y).min(), hi=pl.col(y).max())
        drawn = drawn.sort(x)
        at = drawn[x].to_numpy() * xscale
        axes.plot(
            at, drawn["m"].to_numpy() * yscale, color=colours[i], linewidth=1.5, markersize=5,
            marker=MARKERS[i % len(MARKERS)], linestyle=DASHES[i % len(DASHES)],
            label=None if by is None else value_text(group),
        )  # fmt: skip
        if bool((drawn["hi"] > drawn["lo"]).any()):
            low, high = drawn["lo"].to_numpy() * yscale, drawn["hi"].to_numpy() * yscale
            axes.fill_between(at, low, high, color=colours[i], alpha=0.15, linewidth=0)
    dress(axes, "", xlabel, ylabel)
    if by is not None and groups:
        legend(
            axes, loc="center left", bbox_to_anchor=(1.01, 0.5), ncols=1,
            title=label_of(by, own)[0], title_fontsize=8.5, handlelength=3.0,
        )  # fmt: skip
    return figure


def sweep_heatmap(
    table: pl.DataFrame, x: str, y: str, value: str, own: Labels = MappingProxyType({})
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


def line_colours(count: int) -> list[str]:
    """Return distinct colours for a few lines, an ordered scale (dark to light) for many."""
    if count <= len(LINES):
        return list(LINES[:count])
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](0.92 * i / (count - 1))) for i in range(count)]


def value_text(value: object) -> str:
    """Return a value as a tick or a legend shows it."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def short(value: float) -> str:
    """Return a number in at most five characters or so."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
