"""The Gantt chart: which job was on which node when, and what failures did to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.axes import DOWN, draw_outages
from forestall.core.model.nodes import NodeSet
from forestall.core.show.style import (
    BLACK,
    INK,
    TINTS,
    VERMILLION,
    AxisClock,
    dress,
    legend,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 4000
"""Rectangles in one chart; a chosen window with more is halved until it has fewer."""
WINDOW = 3 * 86_400
HOUR = 3600
NAMED = 40

Box = tuple[int, int, int, int, int]
"""start, end, first node, stop node, job"""


def gantt(
    runs: pl.DataFrame,
    failures: pl.DataFrame,
    nodes: int,
    start: int | None = None,
    end: int | None = None,
    origin: int | None = None,
) -> Figure:
    """Draw the runs of jobs as rectangles of nodes over time.

    Parameters
    ----------
    runs : ``job,start,end,outcome,nodes``
    failures : ``time,node,downtime,job``
    nodes : nodes of the machine
    start, end : window [start, end), s; without them the three days in which failures hit most jobs
    origin : zero of the time axis, s; the start of the first run where it is not given
    """
    first = int(series.column(runs, "start").min()) if len(runs) else 0
    window = chosen_window(runs, failures, start, end)
    seen = within(runs, *window)
    clock = AxisClock.spanning(*window, origin=first if origin is None else origin)
    figure = new_figure((8.4, 4.8))
    axes = figure.subplots()
    kept = seen.filter(pl.col("outcome") != "failed")
    cut = seen.filter(pl.col("outcome") == "failed")
    draw_runs(axes, boxes(kept, *window), clock, nodes, hatch=None)
    draw_runs(axes, boxes(cut, *window), clock, nodes, hatch="////")
    draw_failures(axes, failures, window, clock)
    axes.set_xlim(*clock(window))
    axes.set_ylim(-0.5, nodes - 0.5)
    dress(axes, "Which job ran where", clock.label("the first submission"), "Node (number)")
    axes.grid(visible=False)
    explain(figure, len(failures) > 0)
    return figure


def chosen_window(
    runs: pl.DataFrame, failures: pl.DataFrame, start: int | None, end: int | None
) -> tuple[int, int]:
    """Return the window to draw: as asked for, else the richest one that stays readable."""
    if start is not None and end is not None:
        return start, max(end, start + 1)
    if start is not None:
        return start, start + WINDOW
    if end is not None:
        return end - WINDOW, end
    length = WINDOW
    while length > HOUR:
        window = series.busiest_window(runs, failures, length)
        if sum((part or "").count(",") + 1 for part in within(runs, *window)["nodes"]) <= MOST:
            break
        length //= 2
    return window


def within(runs: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    """Return the runs that overlap [start, end), in order of start."""
    return runs.filter((pl.col("start") < end) & (pl.col("end") > start)).sort("start", "job")


def boxes(runs: pl.DataFrame, start: int, end: int) -> list[Box]:
    """Return a rectangle for each unbroken range of nodes of each run, cut at the window."""
    found: list[Box] = []
    columns = (runs["job"].to_list(), runs["start"].to_list(), runs["end"].to_list(), runs["nodes"])
    for job, since, until, text in zip(*columns, strict=True):
        for first, stop in NodeSet.parse(text or "").ranges:
            found.append((max(since, start), min(until, end), first, stop, job))
            if len(found) >= MOST:
                return found
    return found


def corners(found: list[Box], clock: AxisClock) -> list[np.ndarray]:
    """Return the four corners of each rectangle, as the axes count."""
    return [
        np.array([(a, low), (b, low), (b, high), (a, high)])
        for a, b, low, high in (
            (float(clock(since)), float(clock(until)), first - 0.5, stop - 0.5)
            for since, until, first, stop, _ in found
        )
    ]


def draw_runs(
    axes: Axes, found: list[Box], clock: AxisClock, nodes: int, hatch: str | None
) -> None:
    """Draw rectangles, coloured by job; those of failed runs are hatched and edged in red."""
    from matplotlib.collections import PolyCollection

    if not found:
        return
    failed = hatch is not None
    axes.add_collection(
        PolyCollection(
            corners(found, clock),
            facecolors=[TINTS[job % len(TINTS)] for *_, job in found],
            edgecolors=VERMILLION if failed else "white",
            linewidths=0.7 if failed else 0.4,
            hatch=hatch,
        ),
        autolim=False,
    )
    width = max(until for _, until, *_ in found) - min(since for since, *_ in found)
    areas = sorted(found, key=lambda box: -(box[1] - box[0]) * (box[3] - box[2]))
    for since, until, first, stop, job in areas[: NAMED if not failed else 0]:
        if (until - since) > 0.045 * width and (stop - first) > 0.035 * nodes:
            axes.text(
                float(clock((since + until) / 2)), (first + stop - 1) / 2, str(job),
                ha="center", va="center", fontsize=7.5, color=INK, clip_on=True,
            )  # fmt: skip


def draw_failures(
    axes: Axes, failures: pl.DataFrame, window: tuple[int, int], clock: AxisClock
) -> None:
    """Draw outages as dark rectangles, and failures as crosses: filled where they hit a job."""
    start, end = window
    draw_outages(axes, failures, window, clock)
    struck = failures.filter((pl.col("time") >= start) & (pl.col("time") < end))
    hit = struck.filter(pl.col("job").is_not_null())
    missed = struck.filter(pl.col("job").is_null())
    for table, marker, colour, size in ((missed, "x", INK, 4.5), (hit, "X", BLACK, 7.0)):
        axes.plot(
            clock(series.column(table, "time")), series.column(table, "node"), marker,
            color=colour, markersize=size, markeredgecolor="white" if marker == "X" else colour,
            markeredgewidth=0.7 if marker == "X" else 1.1, linestyle="none",
        )  # fmt: skip


def explain(figure: Figure, failing: bool) -> None:
    """Give the chart its legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Patch | Line2D] = [Patch(facecolor=TINTS[0], label="run (one color per job)")]
    if failing:
        entries += [
            Patch(
                facecolor="white", edgecolor=VERMILLION, hatch="////", label="ended by a failure"
            ),
            Line2D(
                [], [], color=BLACK, marker="X", linestyle="none", label="failure that hit jobs"
            ),
            Line2D([], [], color=INK, marker="x", linestyle="none", label="failure that hit none"),
            Patch(facecolor=DOWN, label="down"),
        ]
    legend(
        figure, handles=entries, ncols=len(entries), loc="outside lower center", bbox_to_anchor=None
    )
