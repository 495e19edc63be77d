"""Figures of predictors beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.show.style import BLUE, GREEN, GREY, INK, ORANGE, dress, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from forestall.app.judge.predictors.judge import JudgedPredictor

WIDTH: Final = 8.4


def plot_predictors(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw area, Brier skill and recall of each predictor with intervals, baselines apart."""
    able = [row for row in rows if row["auc"] is not None]
    able.sort(key=lambda row: row["brier_skill"] or 0.0)
    figure = new_figure((WIDTH, 1.5 + 0.3 * len(able)))
    panels = figure.subplots(1, 3, sharey=True)
    named = (
        ("auc", "Area under the ROC", 0.5),
        ("brier_skill", "Brier skill, 24 h ahead", 0.0),
        ("recall_24h", "Recall, 24 h ahead (share)", None),
    )
    for axes, (name, title, chance) in zip(panels, named, strict=True):
        _dots(axes, able, name)
        if chance is not None:
            axes.axvline(chance, color=GREY, linewidth=1.0, linestyle="--")
        dress(axes, "", title)
    panels[0].set_yticks(range(len(able)), [row["name"] for row in able])
    handles = [
        panels[0].plot([], [], marker, color=colour, linestyle="none", label=label)[0]
        for marker, colour, label in (("o", BLUE, "predictor"), ("s", ORANGE, "trivial baseline"))
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=8.5)
    return figure


def _dots(axes: Axes, rows: Sequence[Mapping[str, Any]], name: str) -> None:
    for place, row in enumerate(rows):
        value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
        if value is None:
            continue
        colour, marker = (ORANGE, "s") if row["baseline"] else (BLUE, "o")
        if low is not None:
            axes.plot([low, high], [place, place], color=colour, linewidth=1.6)
        axes.plot([value], [place], marker, color=colour, markeredgecolor=INK, markersize=5.5)


def plot_leads(one: JudgedPredictor, failures: int) -> Figure:
    """Draw the share of all failing decisions with an alarm that had been on so long, h."""
    figure = new_figure((WIDTH, 3.6))
    axes = figure.subplots()
    leads = np.sort(np.maximum(one.leads, 1 / 60))[::-1]
    if len(leads):
        share = 100 * np.arange(1, len(leads) + 1) / max(failures, 1)
        axes.step(leads, share, where="post", color=GREEN, linewidth=1.8)
        axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    dress(
        axes,
        f"How long the alarm of {one.name} was on before failures",
        "Time since the alarm came on, at least (hours)",
        "Failures (%)",
    )
    return figure
