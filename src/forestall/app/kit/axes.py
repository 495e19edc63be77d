"""What figures of several models draw into their axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forestall.app.kit import series
from forestall.model.units import format_duration
from forestall.show.style import (
    BLUE,
    INK,
    AxisClock,
)

if TYPE_CHECKING:
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
