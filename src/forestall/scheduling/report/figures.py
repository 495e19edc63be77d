"""Figures of one run, from its tables, as Matplotlib figures; the extra `plot` is needed.

Tables are those of `jobs.csv` and `failures.csv`, and the runs of jobs: every time that a job was
on nodes, with ``job,start,end,outcome,nodes``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.axes import draw_busy, draw_down, flat, say_none
from forestall.core.show.style import (
    BLACK,
    BLUE,
    DASHES,
    GREEN,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    SKY,
    VERMILLION,
    AxisClock,
    dress,
    legend,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOUR = 3600
NAMED_LOSSES = 3
MARKED_LOSSES = 10


def calibration(jobs: pl.DataFrame) -> Figure:
    """Draw the share of promises kept over the probability promised, per decile, with counts.

    Bars are 95 % Wilson intervals; on the diagonal a promise is worth exactly what it says.
    """
    figure = new_figure((6.0, 5.0))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
    found = series.deciles(jobs)
    lowest = min([0.5, *(min(d.low, d.kept_low) for d in found)])
    low = np.floor(lowest * 10) / 10 if found else 0.0
    above.plot([low, 1], [low, 1], "--", color=INK, linewidth=1.2, label="exactly as promised")
    if found:
        x = [d.promised_mean for d in found]
        y = [d.kept_share for d in found]
        down = [d.kept_share - d.kept_low for d in found]
        up = [d.kept_high - d.kept_share for d in found]
        above.errorbar(
            x, y, [down, up], fmt="o", color=BLUE, capsize=4, markersize=6, elinewidth=1.4,
            label="kept, with 95 % interval",
        )  # fmt: skip
        widths = [d.high - d.low for d in found]
        counts = [d.count for d in found]
        below.bar(
            [d.low for d in found], counts, widths, align="edge", color=SKY, edgecolor="white"
        )
        for decile in found:
            below.annotate(
                f"{decile.count:,}", ((decile.low + decile.high) / 2, decile.count),
                (0, 2), textcoords="offset points", ha="center", fontsize=8, color=INK,
            )  # fmt: skip
        below.set_ylim(0, max(counts) * 1.35)
    else:
        say_none(above, "No promises were made")
    margin = (1 - low) * 0.03
    above.set_xlim(low - margin, 1 + margin)
    above.set_ylim(low - margin, 1 + margin)
    dress(above, "Were the promises calibrated?", "", "Share of promises kept")
    dress(below, "", "Promised probability", "Promises\n(count)")
    legend(above, loc="upper left", bbox_to_anchor=None, ncols=1)
    return figure


def calibration_side_by_side(summaries: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Draw the share of promises kept over the probability promised, a line for each run."""
    figure = new_figure((7.2, 4.6))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], "--", color=INK, linewidth=1.2, label="exactly as promised")
    lowest = 1.0
    for i, (name, summary) in enumerate(summaries.items()):
        rows = [row for row in summary.get("calibration") or [] if row["count"]]
        if rows:
            x, y = ([row[key] for row in rows] for key in ("promised_mean", "kept_share"))
            lowest = min(lowest, *x, *y)
            axes.plot(
                x, y, color=LINES[i % len(LINES)], marker=MARKERS[i % len(MARKERS)],
                linestyle=DASHES[i % len(DASHES)], linewidth=1.4, markersize=6,
                label=name,
            )  # fmt: skip
    low = np.floor(min(lowest, 0.9) * 10) / 10
    axes.set_xlim(low - 0.03 * (1 - low), 1 + 0.03 * (1 - low))
    axes.set_ylim(*axes.get_xlim())
    dress(axes, "", "Promised probability", "Share of promises kept")
    legend(axes, loc="center left", bbox_to_anchor=(1.01, 0.5), ncols=1, handlelength=3.0)
    return figure


def utilization_and_queue(
    jobs: pl.DataFrame, runs: pl.DataFrame, nodes: int, failures: pl.DataFrame | None = None
) -> Figure:
    """Draw busy nodes and, below, waiting jobs and the nodes that they ask for, over time.

    Given the failures it also shows the nodes that were down. Levels are exact means over at most
    1,500 bins of equal width.
    """
    start, end = span_of(jobs, runs)
    edges, clock = series.edges_of(start, end), AxisClock.spanning(start, end)
    figure = new_figure((8.4, 5.4))
    share, count, demand = figure.subplots(3, 1, sharex=True, height_ratios=[2.2, 1, 1])
    busy = series.busy_nodes(jobs, runs, edges) / nodes
    draw_busy(share, 100 * busy, edges, clock)
    if failures is not None:
        draw_down(share, failures, nodes, edges, clock)
    share.set_ylim(0, 100)
    since, until, asked = series.waits(jobs, runs)
    waiting = series.time_weighted(since, until, np.ones_like(since), edges)
    wanted = series.time_weighted(since, until, asked, edges) / nodes
    for axes, level, colour in ((count, waiting, GREEN), (demand, wanted, ORANGE)):
        axes.step(clock(edges), flat(level), where="post", color=colour, linewidth=1.1)
        axes.set_ylim(0, max(float(level.max()) * 1.08, 1.0))
    dress(share, "Nodes and queue", "", "Nodes (%)")
    dress(count, "", "", "Jobs waiting\n(count)")
    dress(demand, "", clock.label(), "Nodes requested\n(machines)")
    share.set_xlim(*clock((start, end)))
    figure.align_ylabels()
    legend(share)
    return figure


def lost_work_over_time(
    failures: pl.DataFrame, *, start: int | None = None, end: int | None = None
) -> Figure:
    """Draw the work lost to failures, cumulated; the largest losses are marked, three are named.

    `start` and `end` (s) bound the time axis; without them the failures do.
    """
    hits = failures.filter(pl.col("lost").fill_null(0) > 0).sort("time")
    times = series.column(hits, "time")
    everything = series.column(failures, "time") if len(failures) else np.zeros(1, dtype=np.int64)
    first = start if start is not None else int(everything.min())
    last = max(end if end is not None else int(everything.max()), first + 1)
    clock = AxisClock.spanning(first, last)
    lost = series.column(hits, "lost") / HOUR
    total = np.cumsum(lost)
    figure = new_figure((8.4, 3.8))
    axes = figure.subplots()
    at = clock(np.concatenate(([first], times, [last])))
    heights = np.concatenate(([0.0], total, total[-1:] if len(total) else [0.0]))
    axes.step(at, heights, where="post", color=VERMILLION, linewidth=1.6, label="lost work")
    big = np.sort(np.argsort(-lost, kind="stable")[:MARKED_LOSSES])
    if len(big):
        axes.plot(
            clock(times[big]), total[big], "X", color=BLACK, markersize=6, linestyle="none",
            label=f"{len(big)} largest losses" if len(big) > 1 else "largest loss",
        )  # fmt: skip
    else:
        say_none(axes, "No work was lost")
    name_losses(axes, clock(times), total, lost, hits)
    axes.set_xlim(at[0], at[-1] + 0.01 * (at[-1] - at[0]))
    axes.set_ylim(0, max(float(heights[-1]) * 1.08, 1e-9) if len(total) else 1)
    since = "the first submission" if start is not None else "the first failure"
    dress(axes, "Work lost to failures", clock.label(since), "Cumulative lost work (node-hours)")
    legend(axes)
    return figure


def name_losses(
    axes: Axes,
    at: series.Floats,
    total: series.Floats,
    lost: series.Floats,
    hits: pl.DataFrame,
) -> None:
    """Write job and loss beside the largest losses, on the side where there is room."""
    jobs = hits["job"].to_list()
    span = float(at[-1] - at[0]) if len(at) else 1.0
    for i in np.argsort(-lost, kind="stable")[:NAMED_LOSSES]:
        late = span > 0 and (at[i] - at[0]) / span > 0.5
        job = "" if jobs[i] is None else f"job {jobs[i]}: "
        axes.annotate(
            f"{job}{lost[i]:,.0f} node-h", (float(at[i]), float(total[i])),
            (-9, 3) if late else (9, -11), textcoords="offset points",
            ha="right" if late else "left", fontsize=8, color=INK,
        )  # fmt: skip


def span_of(jobs: pl.DataFrame, runs: pl.DataFrame) -> tuple[int, int]:
    """Return the first submission and the last end of a run, at least a second apart."""
    start = int(series.column(jobs, "submit").min()) if len(jobs) else 0
    end = int(series.column(runs, "end").max(initial=start))
    return start, max(end, start + 1)
