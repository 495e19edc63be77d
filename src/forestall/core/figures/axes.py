"""What figures of several models draw into their axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forestall.core.figures import series
from forestall.core.model.units import format_duration
from forestall.core.show.style import BLUE, INK, VERMILLION, AxisClock

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

DOWN = "#6f6f6f"
"""A node that is down."""
TRENDS = 80
"""Steps of the line of means over a level that jumps about."""


PALE = "#b5dcf5"


def draw_busy(axes: Axes, percent: series.Floats, edges: series.Floats, clock: AxisClock) -> None:
    """Draw the share of busy nodes per bin, its mean, and steps of means where it jumps about."""
    widths = np.diff(edges)
    axes.fill_between(
        clock(edges), 0, flat(percent), step="post", color=PALE, linewidth=0, label="busy"
    )
    if len(percent) > TRENDS * 4:
        rough = np.linspace(edges[0], edges[-1], TRENDS + 1)
        area = np.concatenate(([0.0], np.cumsum(percent * widths)))
        trend = np.diff(np.interp(rough, edges, area)) / np.diff(rough)
        label = f"busy, means of {format_duration(float(rough[1] - rough[0]))}"
        axes.step(clock(rough), flat(trend), where="post", color=BLUE, linewidth=1.3, label=label)
    mean = float(np.average(percent, weights=widths))
    label = f"busy on average ({mean:.0f} %)"
    axes.axhline(mean, color=INK, linewidth=1.0, linestyle="--", label=label)


def flat(level: series.Floats) -> series.Floats:
    """Return the levels of bins as heights at their edges, the last one twice."""
    return np.append(level, level[-1])


def say_none(axes: Axes, text: str) -> None:
    """Write into the middle of empty axes why they are empty."""
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=11, color=INK
    )


def draw_bars(
    axes: Axes,
    row: series.Ints,
    since: series.Ints,
    until: series.Ints,
    clock: AxisClock,
    colour: str,
    half: float = 0.5,
) -> None:
    """Draw a bar, 2 `half` rows high, for each of a few times."""
    from matplotlib.collections import PolyCollection

    a, b, low, high = clock(since), clock(until), row - half, row + half
    corners = np.stack([a, low, b, low, b, high, a, high], axis=1).reshape(-1, 4, 2)
    axes.add_collection(
        PolyCollection(list(corners), facecolors=colour, edgecolors=colour, linewidths=0.3),
        autolim=False,
    )


def draw_outages(
    axes: Axes, failures: pl.DataFrame, window: tuple[int, int], clock: AxisClock
) -> bool:
    """Draw outages as dark bars; return whether there are any in the window."""
    node, since, until = series.outages(failures)
    near = (since < window[1]) & (until > window[0])
    if near.any():
        since, until = np.clip(since[near], *window), np.clip(until[near], *window)
        draw_bars(axes, node[near], since, until, clock, DOWN)
    return bool(near.any())


def draw_down(
    axes: Axes, failures: pl.DataFrame, nodes: int, edges: series.Floats, clock: AxisClock
) -> None:
    """Draw the share of nodes that are down, from above, and end the axis at 100 %."""
    _, since, until = series.outages(failures)
    out = series.time_weighted(since, until, np.ones_like(since), edges) / nodes
    axes.fill_between(
        clock(edges), flat(100 - 100 * out), np.full(len(edges), 100.0), step="post",
        color=VERMILLION, linewidth=0, label="down (from above)",
    )  # fmt: skip
    axes.set_ylim(0, 100)
