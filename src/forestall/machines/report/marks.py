"""The pieces of maps of nodes over time: shade, outages, failures, predictions, migrations.

Marks tell things apart by shape as well as by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.axes import DOWN
from forestall.core.model.arrays import Ints
from forestall.core.show.style import (
    BLACK,
    GREEN,
    INK,
    ORANGE,
    PURPLE,
    VERMILLION,
    AxisClock,
    legend,
)
from forestall.machines.report import counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 512
CROWD = 200
"""Failures from which on those that hit nothing are drawn finer."""
COLUMNS = 900
CELLS = 300
"""Columns of the overview in which departures from one node are one mark."""
SHADES = ((0.11, 0.4, 0.64, 0.0), (0.11, 0.4, 0.64, 0.5))
"""From nothing to full, in one colour, through which any page shows."""
MOVED = {"arrived": (GREEN, "arrived")}
BROKEN = {
    "target failed": (VERMILLION, "broken by a failure"),
    "source failed": (VERMILLION, "broken by a failure"),
    "ended first": (PURPLE, "the task ended or was stopped first"),
    "deadline first": (PURPLE, "the task ended or was stopped first"),
}
FATES = MOVED | BROKEN
MOVE, LEFT = "migration:", "tasks moved off:"
MOVE_MARKS = {
    "arrived": "o", "target failed": "s", "source failed": "s", "ended first": "D",
    "deadline first": "D",
}  # fmt: skip


def per_node(nodes: int, processors: int | Sequence[int]) -> Ints:
    """Return int64[nodes]: what each node has."""
    return np.broadcast_to(np.asarray(processors, dtype=np.int64), (nodes,))


def shade(
    figure: Figure,
    axes: Axes,
    runs: pl.DataFrame,
    nodes: int,
    processors_per_node: int | Sequence[int],
    window: tuple[int, int],
    clock: AxisClock,
) -> None:
    """Shade each node by how much of it is in use, with the scale beside the axes."""
    from matplotlib.colors import LinearSegmentedColormap

    rows = min(nodes, MOST_ROWS)
    edges = series.edges_of(*window, COLUMNS)
    near = runs.filter((pl.col("start") < window[1]) & (pl.col("end") > window[0]))
    row = np.arange(nodes) * rows // nodes
    size = np.bincount(row, weights=per_node(nodes, processors_per_node), minlength=rows)
    used = 100 * series.held_by_row(near, nodes, rows, edges) / size[:, None]
    left, right = (float(t) for t in clock(window))
    image = axes.imshow(
        used, origin="lower", aspect="auto", extent=(left, right, -0.5, nodes - 0.5), vmin=0,
        vmax=100, cmap=LinearSegmentedColormap.from_list("use", SHADES), interpolation="nearest",
    )  # fmt: skip
    bar = figure.colorbar(image, ax=axes, pad=0.015, fraction=0.05, aspect=32)
    bar.set_label("In use (% of a node)", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8.5, colors=INK)


def draw_failures(
    axes: Axes, failures: pl.DataFrame, window: tuple[int, int], clock: AxisClock, size: float
) -> tuple[bool, bool]:
    """Mark failures: filled where they hit tasks; return which of the two kinds there are."""
    within = failures.filter((pl.col("time") >= window[0]) & (pl.col("time") < window[1]))
    hit = within.filter(pl.col("tasks") > 0)
    missed = within.filter(pl.col("tasks").fill_null(0) == 0)
    crowded = len(within) > CROWD
    for table, marker, scale in ((missed, "x", 0.5 if crowded else 0.7), (hit, "X", 1.0)):
        filled = marker == "X"
        axes.plot(
            clock(series.column(table, "time")), series.column(table, "node"), marker,
            color=BLACK if filled else INK, markersize=size * scale, linestyle="none", zorder=4,
            markeredgecolor="white" if filled else INK,
            markeredgewidth=0.4 if crowded else 0.6 if filled else 0.9,
        )  # fmt: skip
    return len(missed) > 0, len(hit) > 0


def draw_predictions(
    axes: Axes,
    migrations: pl.DataFrame,
    failures: pl.DataFrame,
    window: tuple[int, int],
    clock: AxisClock,
) -> bool:
    """Mark predicted times, with a dotted line to the failure, and those that tasks fled; return
    whether there are any in the window."""
    told = counts.with_predictions(failures).filter(pl.col("expected").is_not_null())
    told = told.filter(pl.min_horizontal("expected", "time") < window[1]).filter(
        pl.max_horizontal("expected", "time") >= window[0]
    )
    node, seen, came = (series.column(told, name) for name in ("node", "expected", "time"))
    axes.hlines(node, clock(seen), clock(came), colors=ORANGE, linestyles=":", linewidth=1.2)
    fled = migrations.filter(pl.col("predicted").cast(pl.Int64) >= 0)
    places = np.unique(
        np.concatenate((
            np.stack((node, seen), axis=1),
            np.stack([series.column(fled, name) for name in ("source", "predicted")], axis=1),
        )), axis=0
    )  # fmt: skip
    axes.plot(
        clock(places[:, 1]), places[:, 0], "v", color=ORANGE, markersize=5.5,
        markeredgecolor=INK, markeredgewidth=0.6, linestyle="none", zorder=3,
    )  # fmt: skip
    return len(told) > 0 or bool(((places[:, 1] >= window[0]) & (places[:, 1] < window[1])).any())


def draw_moves(
    axes: Axes, migrations: pl.DataFrame, window: tuple[int, int], clock: AxisClock
) -> list[str]:
    """Draw each migration as a line from (begin, source) to (end, target), with a dot at the
    target; return what became of those drawn."""
    from matplotlib.collections import LineCollection

    within = migrations.filter((pl.col("time") < window[1]) & (pl.col("end") >= window[0]))
    fates = [name for name in FATES if (within["outcome"] == name).any()]
    for name in fates:
        colour, _ = FATES[name]
        some = within.filter(pl.col("outcome") == name)
        source, target = series.column(some, "source"), series.column(some, "target")
        a, b = clock(series.column(some, "time")), clock(series.column(some, "end"))
        ends = np.stack([a, source, b, target], axis=1).reshape(-1, 2, 2)
        style = "-" if name in MOVED else "--"
        lines = LineCollection(list(ends), colors=colour, linewidths=1.0, linestyles=style)
        lines.set_alpha(0.75)
        axes.add_collection(lines, autolim=False)
        axes.plot(
            b, target, MOVE_MARKS[name], color=colour, markersize=3.6, linestyle="none",
            markeredgecolor="white", markeredgewidth=0.3, zorder=3,
        )  # fmt: skip
    return fates


def draw_departures(
    axes: Axes, migrations: pl.DataFrame, window: tuple[int, int], clock: AxisClock
) -> list[str]:
    """Draw departures from nodes as circles by number of tasks; return what became of them."""
    width = max((window[1] - window[0]) / CELLS, 1)
    group = pl.when(pl.col("outcome") == "arrived").then(pl.lit("arrived")).otherwise("outcome")
    cells = (
        migrations.with_columns(pl.col("time").cast(pl.Int64), fate=group)
        .with_columns(cell=(pl.col("time") / width).floor())
        .group_by("source", "cell", "fate")
        .agg(pl.col("time").mean(), n=pl.len())
        .sort("fate", "source", "cell")
    )
    fates = [name for name in FATES if (cells["fate"] == name).any()]
    for name in fates:
        some = cells.filter(pl.col("fate") == name)
        axes.scatter(
            clock(some["time"].to_numpy()), some["source"].to_numpy(),
            s=np.minimum(10 + 6 * np.sqrt(some["n"].to_numpy()), 60), marker=MOVE_MARKS[name],
            facecolors=FATES[name][0], edgecolors="white", linewidths=0.5, zorder=5,
        )  # fmt: skip
    return fates


def explain(
    figure: Figure,
    fates: list[str],
    hits: tuple[bool, bool],
    what: str,
    *,
    down: bool,
    foreseen: bool = False,
) -> None:
    """Give a map its legend: what it shows, no more. `what` is what its coloured marks are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: dict[str, Patch | Line2D] = {}
    for name in fates:
        colour, text = FATES[name]
        label = f"{what} {text}"
        entries[label] = Line2D(
            [], [], color=colour, marker=MOVE_MARKS[name], markersize=4, label=label,
            linestyle="none" if what != MOVE else "-" if name in MOVED else "--",
        )  # fmt: skip
    if foreseen:
        label = "predicted time, and time until the failure"
        entries[label] = Line2D(
            [], [], color=ORANGE, marker="v", markersize=5, linestyle=":", label=label,
            markeredgecolor=INK, markeredgewidth=0.6,
        )  # fmt: skip
    missed, hit = hits
    if hit:
        entries["hit"] = Line2D(
            [], [], color=BLACK, marker="X", linestyle="none", label="failure that hit tasks"
        )
    if missed:
        entries["missed"] = Line2D(
            [], [], color=INK, marker="x", linestyle="none", label="failure that hit none"
        )
    if down:
        entries["down"] = Patch(facecolor=DOWN, label="down")
    if not entries:
        return
    legend(
        figure, handles=list(entries.values()), ncols=3 if len(entries) > 4 else len(entries),
        loc="outside lower center", bbox_to_anchor=None,
    )  # fmt: skip
