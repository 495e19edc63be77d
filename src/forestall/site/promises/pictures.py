"""Promises in figures, and how deciles, differences and multiples are written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from forestall.core.show import style
from forestall.core.show.quantities import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from forestall.prediction.assess.promises import ScoredDecile
    from forestall.site.promises.study import Answer


def band(low: float, high: float) -> str:
    """Return a decile in words: ``80-90 %``."""
    return f"{100 * low:.0f}-{100 * high:.0f} %"


def interval(one: ScoredDecile) -> tuple[float | None, float | None]:
    """Return the interval of the share kept: by weeks, or as if independent within two weeks."""
    if not one.made:
        return None, None
    if math.isnan(one.low_block):
        return one.low_seen, one.high_seen
    return one.low_block, one.high_block


def points(off: float) -> str:
    """Return a difference of shares in points, with its sign; a dash for none."""
    return "-" if math.isnan(off) else f"{100 * off:+.1f}"


def times(value: float) -> str:
    """Return a multiple: ``2.5x``."""
    return "-" if math.isnan(value) else f"{number(value)}x"


def digits(score: float) -> str:
    """Return a score with four digits after the point; a dash for none."""
    return "-" if math.isnan(score) else f"{score:.4f}"


def reliability(answer: Answer, title: str) -> Figure:
    """Return said against kept by decile, after and before correction."""
    figure = style.new_figure((5.6, 5.0))
    axes = figure.add_subplot()
    axes.plot([0, 100], [0, 100], color=style.GREY, linewidth=1, label="perfect calibration")
    for scores, colour, marker, name in (
        (answer.before, style.ORANGE, "s", "before correction"),
        (answer.scores, style.BLUE, "o", "stated"),
    ):
        there = [one for one in scores.deciles if one.made]
        said = np.array([100 * one.said for one in there])
        seen = np.array([100 * one.seen for one in there])
        ends = np.array([interval(one) for one in there], dtype=np.float64).reshape(-1, 2)
        low, high = 100 * ends.T
        bars = np.stack([np.maximum(seen - low, 0), np.maximum(high - seen, 0)])
        axes.errorbar(
            said, seen, bars, color=colour, marker=marker, markersize=5, capsize=3, linewidth=1.2,
            label=name,
        )  # fmt: skip
    style.dress(axes, title, "Stated probability (%)", "Promises kept (%)")
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 100)
    style.legend(axes, loc="upper left", bbox_to_anchor=(0.0, 1.0), ncols=1)
    return figure


def sharpness(answer: Answer) -> Figure:
    """Return quartiles of deadlines as multiples of run time and of turnaround, by decile."""
    figure = style.new_figure()
    axes = figure.add_subplot()
    there = [k for k, one in enumerate(answer.sharp_by) if one.count]
    x = np.array([100 * answer.scores.deciles[k].said for k in there])
    for name, colour, marker, shift in (
        ("times_run", style.BLUE, "o", -0.6),
        ("times_known", style.VERMILLION, "s", 0.6),
    ):
        quart = np.array([getattr(answer.sharp_by[k], name) for k in there])
        bars = np.stack([quart[:, 1] - quart[:, 0], quart[:, 2] - quart[:, 1]])
        label = "over run time" if name == "times_run" else "over wait and run time"
        axes.errorbar(
            x + shift, quart[:, 1], bars, color=colour, marker=marker, markersize=5, capsize=3,
            linewidth=1.2, label=label,
        )  # fmt: skip
    axes.axhline(1, color=style.GREY, linewidth=1)
    axes.set_yscale("log")
    style.dress(axes, "Distance of deadlines", "Stated probability (%)", "Deadline, multiple")
    axes.set_xlim(0, 100)
    style.legend(axes)
    return figure
