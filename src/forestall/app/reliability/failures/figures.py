"""Figures of a failure log: counts and rates over time and age, nodes, and bursts.

They take the rows of `summary.json` where those are enough, so that a page can be drawn from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.show.style import BLUE, GREEN, GREY, INK, SKY, VERMILLION, dress, legend, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forestall.reliability.history.gaps import NodeYears
    from forestall.reliability.history.trend import AgeRate

Floats = npt.NDArray[np.float64]
Row = Mapping[str, Any]

SHORT_STAY: Final = 90.0
"""Days in service in a year below which a node's failures of that year are in no box."""
DAYS_A_YEAR: Final = 365.25
MOST_NODES: Final = 20
YEAR: Final = 365.25 * 86_400
PER: Final = 1000.0 * 86_400
"""Rates per second become failures per 1000 days."""
SLIGHT: Final = 0.02
"""Steps with less than this share of the longest exposure do not set the scale of the axis."""
RATE: Final = "Failures per 1000\nnode-days"


def failures_per_year(rows: Sequence[Row], head: str) -> Figure:
    """Draw the failures of each year as bars and, below, the rate with its interval."""
    figure = new_figure((8.4, 4.8))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[1.4, 1])
    place = np.arange(len(rows))
    counts = [row["failures"] for row in rows]
    above.bar(place, counts, 0.7, color=SKY, edgecolor=BLUE, linewidth=0.8)
    for at, count in zip(place, counts, strict=True):
        above.annotate(
            f"{count:,}", (float(at), count), (0, 2), textcoords="offset points", ha="center",
            fontsize=8, color=INK,
        )  # fmt: skip
    above.set_ylim(0, max([1, *counts]) * 1.15)
    rates_with_bars(below, place.astype(np.float64), rows)
    below.set_ylim(bottom=0)
    below.set_xticks(place, [str(row["year"]) for row in rows])
    dress(above, "Failures per year", "", "Failures (count)")
    dress(below, "", head, RATE)
    above.grid(visible=False, axis="x")
    figure.align_ylabels()
    return figure


def rates_with_bars(axes: Axes, place: Floats, rows: Sequence[Row]) -> None:
    """Draw the rates of rows with their intervals; rows without exposure have none."""
    there = [k for k, row in enumerate(rows) if row["rate"] is not None]
    rate, low, high = (
        np.array([rows[k][name] for k in there], dtype=np.float64)
        for name in ("rate", "low", "high")
    )
    axes.errorbar(
        place[there], rate, [rate - low, high - rate], fmt="o", color=VERMILLION, capsize=4,
        markersize=5, elinewidth=1.4,
    )  # fmt: skip


def failures_per_node(table: NodeYears, head: str) -> Figure:
    """Draw, for each year, how the failures of nodes are spread, as boxes.

    Each node's failures in a year are divided by the years that it was in service in it; nodes that
    were there for less than 90 days of it are left out. Boxes hold the middle half, whiskers 95 %.
    """
    figure = new_figure((8.4, 4.2))
    axes = figure.subplots()
    boxes, labels, counts = [], [], []
    for k, year in enumerate(table.years):
        there = table.node_days[:, k] >= SHORT_STAY
        if there.any():
            boxes.append(table.failures[there, k] / table.node_days[there, k] * DAYS_A_YEAR)
            labels.append(str(year))
            counts.append(int(there.sum()))
    if not boxes:
        say_none(axes, "No node was in service for 90 days of a year")
    else:
        drawn = axes.boxplot(
            boxes, whis=(2.5, 97.5), widths=0.6, patch_artist=True,
            flierprops={"marker": ".", "markersize": 3.5, "markeredgecolor": GREY},
            medianprops={"color": VERMILLION, "linewidth": 1.6},
        )  # fmt: skip
        for box in drawn["boxes"]:
            box.set(facecolor="#dceefa", edgecolor=BLUE, linewidth=1.0)
        means = [float(np.mean(box)) for box in boxes]
        axes.plot(
            range(1, len(boxes) + 1), means, "D", color=GREEN, markersize=4.5, linestyle="none",
            label="mean",
        )  # fmt: skip
        axes.plot([], [], color=VERMILLION, linewidth=1.6, label="median")
        axes.set_xticks(
            range(1, len(boxes) + 1),
            [f"{label}\n{count:,} nodes" for label, count in zip(labels, counts, strict=True)],
        )
        axes.set_ylim(bottom=0)
        legend(axes)
    dress(axes, "Failures per node", head, "Failures of a node per year in service")
    axes.grid(visible=False, axis="x")
    return figure


def bathtub(found: AgeRate, curve: tuple[Floats, Floats] | None, head: str) -> Figure:
    """Draw the failure rate over age: in steps with exact intervals, and smooth with its band.

    Parameters
    ----------
    found : the rate, in s
    curve : ages (s) and intensities (per s) of the power-law process that was fitted
    """
    figure = new_figure((8.4, 4.4))
    axes = figure.subplots()
    there = found.exposure > 0
    edges = found.edges / YEAR
    middle = (edges[:-1] + edges[1:])[there] / 2
    rate, low, high = (each[there] * PER for each in (found.rate, found.low, found.high))
    axes.errorbar(
        middle, rate, [rate - low, high - rate], fmt="o", color=GREY, markersize=3.5,
        elinewidth=1.0, label="in steps, with 95 % interval", zorder=1,
    )  # fmt: skip
    smooth, below, above = (
        each * PER for each in (found.smooth, found.smooth_low, found.smooth_high)
    )
    ages = found.age / YEAR
    axes.fill_between(ages, below, above, color=SKY, alpha=0.45, linewidth=0, label="95 % band")
    axes.plot(ages, smooth, color=BLUE, linewidth=1.8, label="smoothed")
    if curve is not None:
        axes.plot(
            curve[0] / YEAR, curve[1] * PER, "--", color=VERMILLION, linewidth=1.4,
            label="power-law process",
        )  # fmt: skip
    known = there & (found.exposure > SLIGHT * found.exposure.max())
    axes.set_ylim(0, float(np.max(found.high[known], initial=0.0)) * PER * 1.05 or 1.0)
    axes.set_xlim(0, float(edges[-1]))
    dress(axes, "Bathtub view", head, RATE)
    legend(axes)
    return figure


def worst_nodes(rows: Sequence[Row], mean: float | None) -> Figure:
    """Draw the nodes that failed most, for their time in service, as dots with intervals.

    Filled dots are nodes that failed more than chance allows; `mean` is the rate of all nodes.
    """
    shown = list(rows[:MOST_NODES])
    figure = new_figure((7.6, 1.3 + 0.24 * max(len(shown), 4)))
    axes = figure.subplots()
    place = np.arange(len(shown), 0, -1, dtype=np.float64)
    for kind, colour, fill, label in (
        (True, VERMILLION, VERMILLION, "more than chance allows"),
        (False, GREY, "white", "chance can explain it"),
    ):
        where = [k for k, row in enumerate(shown) if bool(row["worse"]) is kind]
        if where:
            rate, low, high = (
                np.array([shown[k][name] for k in where]) for name in ("rate", "low", "high")
            )
            axes.errorbar(
                rate, place[where], xerr=[rate - low, high - rate], fmt="o", color=colour,
                markerfacecolor=fill, capsize=3, markersize=5.5, elinewidth=1.3, label=label,
            )  # fmt: skip
    if mean is not None:
        axes.axvline(mean, color=INK, linewidth=1.1, linestyle="--", label="all nodes")
    axes.set_yticks(place, [f"node {row['node']}" for row in shown])
    axes.set_ylim(0.3, len(shown) + 0.7)
    axes.set_xlim(left=0)
    dress(axes, "Nodes with the highest failure rates", RATE.replace("\n", " "), "")
    legend(axes)
    return figure


def autocorrelation(values: Sequence[float], bound: float | None) -> Figure:
    """Draw the autocorrelation of the system's gaps by lag, with the band that chance allows."""
    figure = new_figure((8.4, 3.4))
    axes = figure.subplots()
    lags = np.arange(1, len(values) + 1)
    heights = np.asarray(values, dtype=np.float64)
    if bound is not None:
        axes.axhspan(-bound, bound, color=GREY, alpha=0.25, linewidth=0, label="what chance gives")
        beyond = np.abs(heights) > bound
    else:
        beyond = np.zeros(len(heights), dtype=np.bool_)
    axes.vlines(lags, 0, heights, color=np.where(beyond, VERMILLION, BLUE).tolist(), linewidth=2.2)
    axes.plot(lags, heights, "o", color=INK, markersize=2.5, linestyle="none")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xlim(0.3, len(values) + 0.7)
    dress(
        axes, "Do short gaps follow short gaps?", "Lag (gaps later)",
        "Autocorrelation of\nranks of gaps",
    )  # fmt: skip
    if bound is not None:
        legend(axes)
    return figure


def say_none(axes: Axes, text: str) -> None:
    """Write into the middle of empty axes why they are empty."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=11, color=INK
    )
