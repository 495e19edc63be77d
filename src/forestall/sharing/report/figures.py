"""Figures of runs of cycle sharing, from their tables; the extra `plot` is needed.

Tables are those of `jobs.csv`, `stays.csv`, `hosts.csv` and `availability.csv`, and of a sweep.
Marks tell things apart by shape as well as by colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.axes import flat, say_none
from forestall.core.figures.series import Floats
from forestall.core.figures.sweep_lines import draw_line
from forestall.core.show.style import (
    BLUE,
    INK,
    ORANGE,
    PURPLE,
    VERMILLION,
    AxisClock,
    dress,
    legend,
    new_figure,
)
from forestall.prediction.models.semi_markov.states import NAMES
from forestall.sharing.report import counts
from forestall.sharing.report.map import draw_map, draw_map_legend
from forestall.sharing.report.tables import GUEST_COLOUR, STATE_COLOURS
from forestall.sharing.report.words import scheduler_name
from forestall.sharing.rules.entries import SCHEDULERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

HOUR: Final = 3600
FEWER_HOSTS: Final = 60
"""Hosts up to which each has a row of its own in the map, and its guests are lines."""
WEEK: Final = 7 * 86_400
LONG, SHORT = WEEK, 3 * 86_400
DAILY: Final = 28 * 86_400
"""Runs longer than that are shown by means of a day."""
AVAILABLE_BARS: Final = "95 % interval (S1 + S2)"
MOST_DOTS: Final = 4000
"""Jobs that are drawn one by one; of more, every so many-th."""
COLOURS: Final = {
    one.name: one.colour for one in sorted(SCHEDULERS.values(), key=lambda one: not one.knows)
}
"""Of schedulers, the yardstick first."""
PANELS: Final = (
    ("makespan", "Makespan", "Mean makespan (hours)", 1 / HOUR),
    ("failures_per_job", "Failures", "Failures per job (count)", 1.0),
    ("unscheduled_share", "Unscheduled", "Unscheduled jobs (%)", 100.0),
)


# One run ------------------------------------------------------------------------------------------


def states_over_time(
    availability: pl.DataFrame, stays: pl.DataFrame, jobs: pl.DataFrame, hosts: int
) -> Figure:
    """Draw the share of hosts in each state, one on the other, and of those with a guest.

    Means over a day where the run is longer than four weeks.
    """
    start, end = counts.span_of(jobs, availability, stays)
    edges, clock = overview_edges(start, end), AxisClock.spanning(start, end)
    share = 100 * counts.levels(availability, edges) / hosts
    figure = new_figure((8.4, 3.6))
    axes = figure.subplots()
    below = np.zeros(len(edges))
    for name, row in zip(NAMES, share, strict=True):
        above = below + flat(row)
        axes.fill_between(
            clock(edges), below, above, step="post", color=STATE_COLOURS[name], linewidth=0,
        )  # fmt: skip
        below = above
    held = 100 * counts.guests(stays, edges) / hosts
    axes.step(
        clock(edges), flat(held), where="post", color=GUEST_COLOUR, linewidth=1.3,
    )  # fmt: skip
    axes.set_ylim(0, 100)
    axes.set_xlim(*clock((start, end)))
    days = " (means of a day)" if end - start > DAILY else ""
    dress(axes, f"States of hosts{days}", clock.label(), f"Hosts (% of {hosts:,})")
    axes.set_axisbelow(False)
    axes.grid(visible=True, color="white", linewidth=0.5, alpha=0.6)
    legend(axes, handles=[*state_handles(), guest_handle()], ncols=6)
    return figure


def overview_edges(start: int, end: int) -> Floats:
    """Return the edges of the bins of an overview: days where there are more than 28."""
    if end - start <= DAILY:
        return series.edges_of(start, end)
    days = np.arange(start, end, 86_400, dtype=np.float64)
    return np.append(days[:-1] if end - days[-1] < 43_200 else days, float(end))


def state_handles() -> list[Patch]:
    """Return what a legend says of the colours of states."""
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=STATE_COLOURS[name], edgecolor=INK, linewidth=0.3, label=name)
        for name in NAMES
    ]


def guest_handle() -> Line2D:
    """Return what a legend says of the line of guests."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=GUEST_COLOUR, linewidth=1.5, label="with a guest")


def host_map(
    availability: pl.DataFrame,
    stays: pl.DataFrame,
    jobs: pl.DataFrame,
    hosts: pl.DataFrame,
    start: int | None = None,
    end: int | None = None,
) -> Figure:
    """Draw hosts over time: the state of each, stays of guests on top, and where hosts ended them.

    Up to 60 hosts have a row each; of more, a cell shows what most of its hosts are for most of its
    time, in at most 400 rows. `start` and `end` are the window, s; without them it is the week
    (three days with many hosts) that `eventful_window` tells.
    """
    availability, stays = counts.typed(availability), counts.typed(stays)
    count = max(len(hosts), int(series.column(availability, "host").max(initial=0)) + 1)
    first, last = counts.span_of(jobs, availability, stays)
    window = (start, end) if start is not None and end is not None else eventful_window(
        stays, first, last, width_of(count)
    )  # fmt: skip
    clock = AxisClock.spanning(*window, origin=first)
    crowded = count > FEWER_HOSTS
    figure = new_figure((8.4, min(2.0 + 0.18 * min(count, 30), 6.4)))
    axes = figure.subplots()
    drawn = draw_map(axes, availability, stays, count, window, clock, crowded=crowded)
    axes.set_xlim(*clock(window))
    axes.set_ylim(count - 0.5, -0.5)
    dress(axes, "Hosts and their guests", clock.label(), "Host (number)")
    axes.grid(visible=False)
    if count <= 30:
        names = hosts["name"].cast(pl.String).to_list() if "name" in hosts.columns else []
        short = all(name and len(name) <= 12 for name in names) and len(names) == count
        axes.set_yticks(range(count), names if short else [str(k) for k in range(count)])
        axes.tick_params(axis="y", labelsize=7.5)
        if short:
            axes.set_ylabel("Host (name)", fontsize=9, color=INK)
    draw_map_legend(figure, drawn, crowded=crowded)
    return figure


def width_of(hosts: int) -> int:
    """Return how many seconds the map of so many hosts shows where nobody says it."""
    return LONG if hosts <= FEWER_HOSTS else SHORT


def part_shown(stays: pl.DataFrame, first: int, last: int, length: int) -> str:
    """Return what `eventful_window` gives: the whole ``run``, or the part in which most stays
    ``ended`` by their hosts, or where none did ``began``."""
    if last - first <= length:
        return "run"
    return "ended" if stays["ended"].is_in(counts.LEFT).any() else "began"


def eventful_window(stays: pl.DataFrame, first: int, last: int, length: int) -> tuple[int, int]:
    """Return the window of `length` s, from a whole number of days after the first submission on,
    in which hosts ended most stays; where none did, in which most stays began."""
    if last - first <= length:
        return first, last
    left = stays.filter(pl.col("ended").is_in(counts.LEFT))
    moments = series.column(left, "end") if len(left) else series.column(stays, "start")
    moments = np.sort(moments)
    begins = np.arange(first, last - length + 1, 86_400)
    inside = np.searchsorted(moments, begins + length) - np.searchsorted(moments, begins)
    begin = int(begins[np.argmax(inside)])
    return begin, begin + length


def hours_of_day(
    availability: pl.DataFrame, stays: pl.DataFrame, hosts: int, origin: int
) -> Figure:
    """Draw the share of hosts in each state by hour of the day, on weekdays and on weekends.

    Bars are 95 % intervals of the share that is available (S1 or S2), days being drawn; the line is
    the share with a guest. `origin` is the Unix time of time 0, on the hosts' clock.
    """
    figure = new_figure((8.4, 3.6))
    panels = figure.subplots(1, 2, sharey=True)
    both = counts.by_hour(availability, stays, hosts, origin)
    at = np.arange(24)
    for axes, name, told in zip(panels, ("Weekdays", "Weekends"), both, strict=True):
        if not told.days:
            say_none(axes, "No such hour")
        below = np.zeros(24)
        share = 100 * np.nan_to_num(told.share)
        for state, row in zip(NAMES, share, strict=True):
            axes.bar(
                at + 0.5, row, 1.0, bottom=below, color=STATE_COLOURS[state], linewidth=0,
            )  # fmt: skip
            below = below + row
        middle = share[:2].sum(axis=0)
        known = ~np.isnan(told.low)
        ends = np.stack((middle - 100 * told.low, 100 * told.high - middle))[:, known]
        axes.errorbar(
            at[known] + 0.5, middle[known], np.maximum(ends, 0.0), fmt="none", ecolor=INK,
            elinewidth=1.0, capsize=2, label=AVAILABLE_BARS,
        )  # fmt: skip
        axes.step(
            np.arange(25), flat(100 * np.nan_to_num(told.guests)), where="post",
            color=GUEST_COLOUR, linewidth=1.6,
        )  # fmt: skip
        axes.set_xlim(0, 24)
        axes.set_ylim(0, 100)
        axes.set_xticks(range(0, 25, 4))
        days = f"{told.days:,} day{'' if told.days == 1 else 's'}"
        dress(axes, f"{name} ({days})", "Hour of the day (hours)", "")
    dress(panels[0], "", "", f"Hosts (% of {hosts:,})")
    bars, _ = panels[0].get_legend_handles_labels()
    handles = [*state_handles(), guest_handle(), *bars]
    legend(figure, handles=handles, ncols=7, loc="outside lower center", bbox_to_anchor=None)
    return figure


def makespans(jobs: pl.DataFrame) -> Figure:
    """Draw the makespan of jobs completed against their run time, and how makespan over run time
    is spread."""
    done = jobs.filter(pl.col("outcome") == "completed")
    figure = new_figure((8.4, 3.8))
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    lengths = counts.by_length(done)
    if not lengths:
        say_none(left, "No job was completed")
        say_none(right, "No job was completed")
    elif len(np.unique(series.column(done, "runtime"))) <= counts.FEW_LENGTHS:
        draw_boxes(left, lengths)
    else:
        draw_dots(left, done)
    dress(left, "Makespan by run time", "Run time (hours)", "Makespan (hours)")
    handles, _ = left.get_legend_handles_labels()
    if handles:
        legend(left, ncols=2, loc="upper left", bbox_to_anchor=None)
    if lengths:
        draw_stretch(right, done)
    dress(right, "Makespan over run time", "Makespan over run time (ratio)", "Jobs completed (%)")
    if lengths:
        legend(right, ncols=1, loc="lower right", bbox_to_anchor=None)
    return figure


def draw_boxes(axes: Axes, lengths: Sequence[counts.LengthClass]) -> None:
    """Draw a box for each of a few run times: quartiles, 5 to 95 %, mean with its interval."""
    at = np.array([one.low / HOUR for one in lengths])
    gap = float(np.diff(at).min()) if len(at) > 1 else max(float(at[0]), 0.1)
    width = np.full(len(at), 0.55 * min(gap, float(at.max()) / 8))
    low, first, middle, third, high = np.array([one.quantiles for one in lengths]).T / HOUR
    axes.vlines(at, low, high, color=BLUE, linewidth=1.2, label="5 to 95 %")
    axes.bar(
        at, third - first, width, bottom=first, color="#bcd9ec", edgecolor=BLUE, linewidth=1.0,
        label="middle half, with median", zorder=2,
    )  # fmt: skip
    axes.hlines(middle, at - width / 2, at + width / 2, color=BLUE, linewidth=1.8, zorder=3)
    means = [one.makespan for one in lengths if one.makespan is not None]
    value = np.array([one.value for one in means]) / HOUR
    ends = np.array(
        [(one.value - (one.low if one.low is not None else one.value),
          (one.high if one.high is not None else one.value) - one.value) for one in means]
    ).T / HOUR  # fmt: skip
    axes.errorbar(
        at, value, ends, fmt="D", color=VERMILLION, markersize=4.5, capsize=3, elinewidth=1.4,
        label="mean, with 95 % interval", zorder=4,
    )  # fmt: skip
    top = float(max(high.max(), value.max())) * 1.25
    edge = [0.0, float(at.max() + width.max())]
    axes.plot(edge, edge, color=INK, linewidth=1.0, linestyle="--", label="makespan = run time")
    axes.set_xlim(*edge)
    axes.set_ylim(0, top)


CAUSES: Final = (
    ("no host lost", 0, 0, BLUE, "o"),
    ("one host lost", 1, 1, ORANGE, "^"),
    ("more hosts lost", 2, 1 << 60, PURPLE, "s"),
)


def draw_dots(axes: Axes, done: pl.DataFrame) -> None:
    """Draw a dot for each job, by run time and makespan, both on scales of powers of ten."""
    shown = done.gather_every(max(-(-len(done) // MOST_DOTS), 1))
    runtime, makespan = (series.column(shown, name) / HOUR for name in ("runtime", "makespan"))
    failures = series.column(shown, "failures")
    for label, low, high, colour, marker in CAUSES:
        here = (failures >= low) & (failures <= high)
        if here.any():
            axes.plot(
                runtime[here], makespan[here], marker, color=colour, markersize=3.2,
                markeredgewidth=0, alpha=0.6, linestyle="none", label=label,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = np.array([runtime.min() / 1.3, runtime.max() * 1.3])
    axes.plot(ends, ends, color=INK, linewidth=1.0, linestyle="--", label="makespan = run time")
    axes.set_xlim(*ends)
    axes.set_ylim(min(ends[0], makespan.min() / 1.3), makespan.max() * 4)
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axis.set_minor_formatter(NullFormatter())


def draw_stretch(axes: Axes, done: pl.DataFrame) -> None:
    """Draw the share of jobs whose makespan is at most so many run times, all jobs and by whether
    they lost a host."""
    stretch = series.column(done, "makespan") / np.maximum(series.column(done, "runtime"), 1)
    failures = series.column(done, "failures")
    lines = (
        ("all", np.full(len(done), True), INK, "-", 1.8),
        ("no host lost", failures == 0, BLUE, "--", 1.2),
        ("hosts lost", failures > 0, ORANGE, "-.", 1.2),
    )
    far = 1.2
    for label, here, colour, dash, width in lines:
        if not here.any() or (label != "all" and here.all()):
            continue
        values = np.sort(stretch[here])
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        axes.step(
            np.concatenate((values[:1], values)), np.concatenate(([0.0], share)), where="post",
            color=colour, linestyle=dash, linewidth=width, label=f"{label} ({len(values):,})",
        )  # fmt: skip
        far = max(far, float(np.quantile(values, 0.98)))
    axes.set_xlim(min(float(stretch.min()), 1.0) * 0.98, far * 1.05)
    axes.set_ylim(0, 101)


def promises_kept(stays: pl.DataFrame) -> Figure:
    """Draw the share of stays that ended their jobs over the probability said as they began, by
    tenths: as foreseen (open marks) and as promised (filled), and how often each was said."""
    figure = new_figure((8.4, 4.0))
    left, right = figure.subplots(1, 2, width_ratios=[1.1, 1])
    left.plot(
        [0, 100], [0, 100], color=INK, linewidth=1.0, linestyle="--", label="perfect calibration"
    )
    drawn = (
        ("chance", "foreseen", ORANGE, "s", "none"),
        ("promise", "promised", BLUE, "o", BLUE),
    )
    wide = 4.0
    for k, (column, name, colour, marker, inside) in enumerate(drawn):
        found = counts.promised(stays, column)
        if not found:
            continue
        at = np.array([100 * one.said for one in found])
        kept = np.array([100 * one.kept for one in found])
        ends = np.array([(100 * one.kept_low, 100 * one.kept_high) for one in found]).T
        bars = np.maximum(np.abs(ends - kept), 0.0)
        score = counts.brier(stays, column)
        label = name if score is None else f"{name} (Brier {score:.3f})"
        left.errorbar(
            at, kept, bars, fmt=marker, color=colour, markerfacecolor=inside, markersize=6,
            capsize=3, elinewidth=1.2, label=label,
        )  # fmt: skip
        share = np.array([one.stays for one in found]) * 100 / sum(one.stays for one in found)
        place = np.array([50 * (one.low + one.high) for one in found])
        right.bar(
            place + (k - 0.5) * wide, share, wide, color=colour if k else "white",
            edgecolor=colour,
        )  # fmt: skip
    left.set_xlim(-2, 102)
    left.set_ylim(-2, 102)
    dress(left, "Stated and observed", "Stated probability (%)", "Stays that ended their jobs (%)")
    right.set_xlim(0, 100)
    dress(right, "How often it was stated", "Stated probability (%)", "Stays (%)")
    handles, _ = left.get_legend_handles_labels()  # the bars have the same colours
    legend(figure, handles=handles, ncols=3, loc="outside lower center", bbox_to_anchor=None)
    return figure


# A sweep ------------------------------------------------------------------------------------------


def length_lines(
    table: pl.DataFrame, x: str = "job_length", by: str = "scheduler", title: str = ""
) -> Figure:
    """Draw makespan, failures per job and the share unscheduled over job length, a line for each
    scheduler.

    Parameters
    ----------
    table : `x` (s), `by`, ``makespan`` (s), ``failures_per_job``, ``unscheduled_share`` and, where
        runs repeat, ``seed``, a row for each run
    title : over the whole figure

    Bands are 95 % intervals of the mean over seeds (Student's t) where there are three or more and
    nothing else varies; else least to most.
    """
    from matplotlib.patches import Patch

    figure = new_figure((10.2, 3.7))
    panels = figure.subplots(1, 3)
    told = table[by].unique(maintain_order=True).to_list()
    known = list(COLOURS)
    told.sort(key=lambda one: (known.index(one) if one in known else len(known), str(one)))
    others = iter((PURPLE, ORANGE, INK))
    colours = {one: COLOURS.get(one) or next(others, INK) for one in told}
    bands: set[str] = set()
    for axes, (column, name, label, scale) in zip(panels, PANELS, strict=True):
        for i, one in enumerate(told):
            rows = table.filter(pl.col(by) == one)
            band = draw_line(
                axes, rows, (x, column), (1 / HOUR, scale), i, within=(0.0, np.inf),
                color=colours[one], linewidth=1.6, markersize=5, label=scheduler_name(one),
            )  # fmt: skip
            bands.add(band)
        dress(axes, name, "Job length (hours)", label)
        axes.set_ylim(bottom=0)
        if axes.get_ylim()[1] <= 0 or not axes.lines:
            axes.set_ylim(0, 1)
    handles, labels = panels[0].get_legend_handles_labels()
    bands.discard("")
    if bands:
        handles.append(Patch(facecolor=INK, alpha=0.18))
        labels.append("band: " + " or ".join(sorted(bands)))
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    if handles:
        legend(
            figure, handles=handles, labels=labels, ncols=len(handles), handlelength=3.0,
            loc="outside lower center", bbox_to_anchor=None,
        )  # fmt: skip
    return figure
