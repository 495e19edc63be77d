"""Figures 2 and 3 of the paper redrawn, and what they look like without a relation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.assess.benefit import at_random, net_benefit, of_periods, perfect, unrelated
from forestall.assess.figures import plot_roc
from forestall.assess.figures_benefit import plot_benefit
from forestall.assess.roc import roc
from forestall.show.figure_files import save
from forestall.show.style import (
    BLUE,
    DASHES,
    GREEN,
    GREY,
    INK,
    LINES,
    ORANGE,
    dress,
    legend,
    new_figure,
)
from forestall.traces.generate.memory import CORES
from forestall.traces.streams import stream
from studies.assessment.claims import Played

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES: Final = {
    "figure-2.png": "ROC curve of active memory over Cases I and II, beside chance.",
    "figure-3.png": "Net benefit of rebooting over the share of idle periods; orange: the same "
    "actions if memory told nothing.",
    "with-and-without.png": "The curve of Figure 3 on the same machines with and without a "
    "relation of memory to failures: the bend is nearly the same.",
    "action-cost.png": "Net benefit when every action costs something of its own.",
    "no-relation.png": "Machines without a relation: areas with their intervals, and p-values "
    "beside the uniform law.",
}
"""What each figure shows."""
COSTS: Final = (0.0, 0.5, 1.0, 2.0)
"""Costs of an action, in units of that from which on acting at random loses."""


def write_figures(folder: Path, played: Played, seed: int) -> tuple[Path, ...]:
    """Draw all into the folder; return the files in the order of `NAMES`."""
    drawn = (
        figure_2(played),
        figure_3(played, seed),
        figure_pairs(played),
        figure_costs(played),
        figure_null(played),
    )
    return tuple(save(one, folder / name) for one, name in zip(drawn, NAMES, strict=True))


def figure_2(played: Played) -> Figure:
    """Redraw Figure 2."""
    main = played.main
    curve = roc(main.values, main.hits)
    return plot_roc({"active memory": curve}, title="Figure 2 redrawn: ROC curve")


def figure_3(played: Played, seed: int) -> Figure:
    """Redraw Figure 3, with acting at random, the perfect predictor, and no relation."""
    occasions = played.main.occasions
    return plot_benefit(
        played.main.curve,
        at_random(occasions, stream(seed, "assessment", "random")),
        perfect(occasions),
        name="active memory",
        blind=unrelated(occasions, stream(seed, "assessment", "blind")),
        per_node_hour=CORES,
        unit="CPU-hours",
        title="Figure 3 redrawn: net benefit of rebooting",
    )


def figure_pairs(played: Played) -> Figure:
    """Draw the curves of machines with and without a relation, each by its own highest gain."""
    figure = new_figure((7.6, 4.1))
    axes = figure.subplots()
    groups = ((played.related, GREEN, "-", "with"), (played.unrelated, ORANGE, "--", "without"))
    for machines, colour, dash, name in groups:
        for k, one in enumerate(machines):
            net = one.curve.net
            axes.plot(
                100 * one.curve.share, 100 * net / net.max(), color=colour, linestyle=dash,
                linewidth=1.2, label=f"{name} a relation" if k == 0 else None,
            )  # fmt: skip
    axes.plot([0, 100], [0, 100], color=INK, linewidth=1.0, linestyle=":", label="at random")
    title = "What of the bend is prediction?"
    dress(axes, title, "Idle periods acted on (%)", "Part of the highest gain (%)")
    legend(axes)
    return figure


def figure_costs(played: Played) -> Figure:
    """Draw the net benefit when actions cost something, and acting at random beside it."""
    figure = new_figure((7.6, 4.1))
    axes = figure.subplots()
    main = played.main
    for k, times in enumerate(COSTS):
        cost = times * main.random_breaks_even
        curve = net_benefit(of_periods(main.periods, action_cost=cost))
        axes.plot(
            100 * curve.share, curve.net, color=LINES[k], linestyle=DASHES[k], linewidth=1.6,
            label=f"{cost:.2g} node-hours an action",
        )  # fmt: skip
        axes.plot([0, 100], [0, curve.net[-1]], color=GREY, linewidth=0.8, zorder=1)
    axes.axhline(0, color=INK, linewidth=0.8)
    dress(axes, "", "Idle periods acted on (%)", "Net benefit (node-hours)")
    legend(axes, ncols=2)
    axes.set_title("When actions cost something", loc="left", fontsize=10.5, color=INK,
                   fontweight="bold", pad=34)  # fmt: skip
    return figure


def figure_null(played: Played) -> Figure:
    """Draw areas and p-values of machines without a relation."""
    figure = new_figure((8.8, 4.0))
    left, right = figure.subplots(1, 2)
    machines = sorted((*played.unrelated, *played.nulls), key=lambda one: one.area.auc)
    place = np.arange(len(machines))
    middle = np.array([one.area.auc for one in machines])
    low = middle - np.array([one.area.low for one in machines])
    high = np.array([one.area.high for one in machines]) - middle
    left.errorbar(
        middle, place, xerr=[low, high], fmt="o", color=BLUE, markersize=3, elinewidth=0.8
    )
    left.axvline(0.5, color=INK, linewidth=1.0, linestyle="--")
    dress(left, "Areas without a relation", "Area (95 % interval)", "Machine, by its area")
    p = np.sort([one.chance.p_value for one in machines])
    right.step(p, np.arange(1, len(p) + 1) / len(p), where="post", color=BLUE, linewidth=1.6,
               label="machines")  # fmt: skip
    right.plot([0, 1], [0, 1], color=INK, linewidth=1.0, linestyle="--", label="uniform")
    right.set(xlim=(0, 1), ylim=(0, 1))
    dress(right, "p-values without a relation", "p-value of the area", "Share of machines")
    right.legend(loc="lower right", frameon=False, fontsize=8.5)
    return figure
