"""Figures of runs of virtual machines, from their tables; the extra `plot` is needed.

Tables are those of `jobs.csv`, `runs.csv`, `migrations.csv` and `failures.csv`, and of a sweep.
Marks tell things apart by shape as well as by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.axes import draw_busy, draw_down, draw_outages, flat, say_none
from forestall.core.figures.sweep_lines import INTERVAL, draw_line, line_colours
from forestall.core.show.style import BLUE, INK, ORANGE, SKY, AxisClock, dress, legend, new_figure
from forestall.machines.report import counts
from forestall.machines.report.marks import (
    LEFT,
    MOVE,
    draw_departures,
    draw_failures,
    draw_moves,
    draw_predictions,
    explain,
    per_node,
    shade,
)
from forestall.machines.rules.entries import STRATEGIES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HOUR = 3600
WINDOW = 3 * 86_400
MOST_MOVES = 300
"""Migrations in one map; a window of its own choice with more is halved until it has fewer."""
RATES = (
    ("job_completion_rate", "Jobs", "Jobs completed by their deadlines (%)"),
    ("task_completion_rate", "Tasks", "Tasks completed by their deadlines (%)"),
)
CROWDED = 7
"""Classes of sizes above which their names are written aslant."""
FIRST = "the first start"
BAND = f"band: {INTERVAL}"
"""What a band of a figure over accuracy is."""


def capacity_over_time(
    runs: pl.DataFrame,
    failures: pl.DataFrame,
    nodes: int,
    processors_per_node: int | Sequence[int],
    jobs: pl.DataFrame | None = None,
) -> Figure:
    """Draw processors held by virtual machines, down and free and, below, waiting tasks, over time.

    Levels are exact means over at most 1,500 bins of equal width. Given the jobs it also shows the
    tasks of those that wait for their first start, the most at once within each bin, and time
    begins with the first submission.
    """
    start, end = counts.span_of(runs, jobs)
    edges, clock = series.edges_of(start, end), AxisClock.spanning(start, end)
    figure = new_figure((8.4, 4.8 if jobs is not None else 3.6))
    panels = [figure.subplots()] if jobs is None else list(
        figure.subplots(2, 1, sharex=True, height_ratios=[2.4, 1])
    )  # fmt: skip
    share, total = panels[0], int(per_node(nodes, processors_per_node).sum())
    draw_busy(share, 100 * counts.processors_held(runs, edges) / total, edges, clock)
    draw_down(share, failures, nodes, edges, clock)
    dress(share, "Capacity", "", f"Processors (% of {total:,})")
    legend(share)
    if jobs is not None:
        waiting = counts.most_waiting(*counts.tasks_waiting(jobs), edges)
        panels[1].step(clock(edges), flat(waiting), where="post", color=ORANGE, linewidth=1.1)
        panels[1].set_ylim(0, max(float(waiting.max()) * 1.08, 1.0))
        whole_numbers(panels[1], 4)
        dress(panels[1], "", "", "Tasks waiting,\nmaximum (count)")
    share.set_xlim(*clock((start, end)))
    dress(panels[-1], "", clock.label("the first submission" if jobs is not None else FIRST))
    figure.align_ylabels()
    return figure


def migration_map(
    runs: pl.DataFrame,
    migrations: pl.DataFrame,
    failures: pl.DataFrame,
    nodes: int,
    start: int | None = None,
    end: int | None = None,
    *,
    processors_per_node: int | Sequence[int] = 1,
    origin: int | None = None,
) -> Figure:
    """Draw nodes over time: how much of each is in use, failures and when they were predicted, and
    each migration as a line from its source to its target.

    Parameters
    ----------
    runs, migrations, failures : as in their files
    nodes, processors_per_node : the machine; a number for each node where they are unlike
    start, end : window [start, end), s; without them at most three days in which most happened
    origin : zero of the time axis, s; the start of the first run where it is not given
    """
    window = eventful_window(runs, counts.typed(migrations), counts.typed(failures), start, end)
    clock = AxisClock.spanning(
        *window, origin=counts.span_of(runs)[0] if origin is None else origin
    )
    machine = (nodes, processors_per_node)
    return _mapped(runs, migrations, failures, machine, window, clock, origin, whole=False)


def migration_overview(
    runs: pl.DataFrame,
    migrations: pl.DataFrame,
    failures: pl.DataFrame,
    nodes: int,
    *,
    processors_per_node: int | Sequence[int] = 1,
    origin: int | None = None,
) -> Figure:
    """Draw nodes over the whole run: how much of each is in use, failures, and departures.

    Departures from one node within 1/300 of the time are one mark, larger for more tasks; `origin`
    is zero of the time axis, s, and its beginning.
    """
    start, end = counts.span_of(runs)
    window = (start if origin is None else origin, end)
    machine = (nodes, processors_per_node)
    clock = AxisClock.spanning(*window)
    return _mapped(runs, migrations, failures, machine, window, clock, origin, whole=True)


def _mapped(
    runs: pl.DataFrame,
    migrations: pl.DataFrame,
    failures: pl.DataFrame,
    machine: tuple[int, int | Sequence[int]],
    window: tuple[int, int],
    clock: AxisClock,
    origin: int | None,
    *,
    whole: bool,
) -> Figure:
    """Draw a map of nodes, `machine` being how many they are and what each has: of the `whole` run
    with departures, or of a part with predictions and each migration."""
    migrations, failures = counts.typed(migrations), counts.typed(failures)
    figure = new_figure((8.4, 5.4))
    axes = figure.subplots()
    shade(figure, axes, runs, *machine, window, clock)
    down = draw_outages(axes, failures, window, clock)
    foreseen = not whole and draw_predictions(axes, migrations, failures, window, clock)
    draw = draw_departures if whole else draw_moves
    drawn = draw(axes, migrations, window, clock)
    hits = draw_failures(axes, failures, window, clock, 5.0 if whole else 7.0)
    axes.set_xlim(*clock(window))
    axes.set_ylim(-0.5, machine[0] - 0.5)
    whole_numbers(axes, 9)
    since = FIRST if origin is None else "the first submission"
    failed, moved = (
        ("Failures over the whole run", "Failures and departures")
        if whole
        else ("Failures of nodes", "Migrations between nodes")
    )
    title = moved if drawn else failed if down or any(hits) else "Use of nodes"
    dress(axes, title, clock.label(since), "Node (number)")
    axes.grid(visible=False)
    explain(figure, drawn, hits, LEFT if whole else MOVE, down=down, foreseen=foreseen)
    return figure


def whole_numbers(axes: Axes, most: int) -> None:
    """Give the upright axis ticks at whole numbers alone, with at most so many spaces between."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(
        MaxNLocator(most, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1)
    )


def eventful_window(
    runs: pl.DataFrame,
    migrations: pl.DataFrame,
    failures: pl.DataFrame,
    start: int | None = None,
    end: int | None = None,
) -> tuple[int, int]:
    """Return the window to draw: as asked for, else the richest one that stays readable.

    It is rich where nodes are left and where failures hit tasks; without any of that, where most
    stays begin. Windows begin at multiples of a quarter of their length from the first start on.
    """
    if start is not None or end is not None:
        low = start if start is not None else (end or 0) - WINDOW
        return low, max(end if end is not None else low + WINDOW, low + 1)
    first, last = counts.span_of(runs)
    left = series.column(migrations.select("time", "source").unique(), "time")
    hits = series.column(failures.filter(pl.col("tasks") > 0), "time")
    moments = np.sort(np.concatenate((left, hits)))
    moments = moments if len(moments) else np.sort(series.column(runs, "start"))
    moves = np.sort(series.column(migrations, "time"))
    length = WINDOW
    while True:
        step = max(length // 4, 1)
        begins = np.arange(first, max(last - length, first) + step, step)
        begins = np.minimum(begins, max(last - length, first))
        inside = np.searchsorted(moments, begins + length) - np.searchsorted(moments, begins)
        low = int(begins[np.argmax(inside)])
        high = min(low + length, max(last, low + 1))
        among = np.searchsorted(moves, high) - np.searchsorted(moves, low)
        if among <= MOST_MOVES or length <= HOUR:
            return low, high
        length //= 2


def completion_by_size(jobs: pl.DataFrame) -> Figure:
    """Draw the share of jobs completed by their deadlines over their number of tasks, with counts.

    Bars are 95 % Wilson intervals.
    """
    figure = new_figure((7.2, 4.4))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    found = counts.by_size(jobs)
    if not found:
        say_none(above, "No jobs")
    at = np.arange(len(found))
    share = np.array([100 * b.completed / b.count for b in found])
    down = share - [100 * b.interval[0] for b in found]
    up = [100 * b.interval[1] for b in found] - share
    if found:
        above.errorbar(
            at, share, [np.maximum(down, 0), np.maximum(up, 0)], fmt="o", color=BLUE, capsize=4,
            markersize=6, elinewidth=1.4, label="completed, with 95 % interval",
        )  # fmt: skip
        all_jobs = 100 * sum(b.completed for b in found) / sum(b.count for b in found)
        label = f"all jobs ({all_jobs:.1f} %)"
        above.axhline(all_jobs, color=INK, linewidth=1.0, linestyle="--", label=label)
        low = min(100 * b.interval[0] for b in found)
        above.set_ylim(max(np.floor(low / 10 - 0.2) * 10, -2), 102)
        above.set_yticks([tick for tick in above.get_yticks() if 0 <= tick <= 100])
        above.set_ylim(max(np.floor(low / 10 - 0.2) * 10, -2), 102)
        legend(above)
    bars = below.bar(at, [b.count for b in found], color=SKY, edgecolor="white")
    crowded = len(found) > CROWDED
    below.bar_label(
        bars, [f"{b.count:,}" for b in found], padding=2, fontsize=7 if crowded else 8, color=INK
    )
    below.set_ylim(0, max([b.count for b in found], default=1) * 1.4)
    dress(above, "Completion by size", "", "Jobs completed (%)")
    dress(below, "", "Tasks of the job (count)", "Jobs\n(count)")
    below.set_xticks(at, [b.name for b in found])
    if crowded:
        below.tick_params(axis="x", labelrotation=35, labelsize=8)
        for text in below.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    return figure


def accuracy_lines(table: pl.DataFrame) -> Figure:
    """Draw jobs and tasks completed over the accuracy of predictions, a line for each strategy.

    Parameters
    ----------
    table : ``prediction_accuracy,strategy,job_completion_rate,task_completion_rate`` and, where
        runs repeat, one row for each seed; where best-fit was run with several ``alpha`` there is a
        line for each

    Bands are 95 % intervals of the mean over seeds (Student's t), where there are three or more and
    nothing else varies.
    """
    from matplotlib.patches import Patch

    figure = new_figure((8.8, 4.2))
    panels = figure.subplots(1, 2)
    named = table.with_columns(line=line_names(table))
    lines = named["line"].unique(maintain_order=True).to_list()
    known = {name: i for i, name in enumerate(STRATEGIES)}
    lines.sort(key=lambda name: (known.get(name.split(",")[0], len(known)), name))
    colours = line_colours(len(lines))
    for axes, (column, title, label) in zip(panels, RATES, strict=True):
        for i, name in enumerate(lines):
            # Later lines are finer, so that one below shows where two are the same.
            rows = named.filter(pl.col("line") == name)
            draw_line(
                axes, rows, ("prediction_accuracy", column), (100, 100), i, within=(0.0, 100.0),
                seeds=True, color=colours[i], label=name, linewidth=max(2.2 - 0.3 * i, 1.0),
                markersize=max(7.0 - i, 3.5),
            )  # fmt: skip
        dress(axes, title, "Prediction accuracy (%)", label)
        axes.set_xlim(-2, 102)
    handles, labels = panels[0].get_legend_handles_labels()
    if any(len(axes.collections) for axes in panels):
        handles.append(Patch(facecolor=INK, alpha=0.18, label=BAND))
        labels.append(BAND)
    legend(
        figure, handles=handles, labels=labels, ncols=min(max(len(handles), 1), 5),
        loc="outside lower center", bbox_to_anchor=None, handlelength=3.0,
    )  # fmt: skip
    return figure


def line_names(table: pl.DataFrame) -> pl.Expr:
    """Return what names a row's line: its strategy, and alpha where one that weighs has several."""
    weighs = pl.col("strategy").is_in([one.name for one in STRATEGIES.values() if one.weighs])
    if "alpha" not in table.columns or table.filter(weighs)["alpha"].n_unique() < 2:
        return pl.col("strategy")
    told = pl.format("{}, alpha {}", "strategy", pl.col("alpha").cast(pl.String))
    return pl.when(weighs).then(told).otherwise("strategy")
