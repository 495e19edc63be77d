"""Figures 2 and 3 of the paper redrawn, and what they look like without a relation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

import forestall as fs
from forestall import judge, style
from studies.assessment.claims import Played

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES: Final = {
    "figure-1.png": "Active memory of the node on which memory ran out most often; shaded by how "
    "its jobs ended, white is idle, crosses are out-of-memory events.",
    "figure-2.png": "ROC curve of active memory over Cases I and II, compared with chance.",
    "figure-3.png": "Net benefit of rebooting over the share of idle periods; orange: the same "
    "actions if memory is unrelated to failures.",
    "with-and-without.png": "The curve of Figure 3 on the same machines with and without a "
    "relation of memory to failures: the bend is nearly the same.",
    "action-cost.png": "Net benefit when each action has a cost of its own.",
    "no-relation.png": "Machines without a relation: areas with their intervals, and p-values "
    "compared with the uniform law.",
    "closed-loop.png": "What policies save and how often they act: simulated (filled), and counted "
    "from the record of the machine without actions (hollow).",
}
"""What each figure shows."""
CORES: Final = 14
"""Of a node: what the generator of the machines takes."""
COSTS: Final = (0.0, 0.5, 1.0, 2.0)
"""Costs of an action, in units of that from which on acting at random loses."""


def draw(played: Played, seed: int) -> dict[str, Figure]:
    """Return all, by the names of their files."""
    drawn = (
        figure_1(played),
        figure_2(played),
        figure_3(played, seed),
        figure_pairs(played),
        figure_costs(played),
        figure_null(played),
        figure_loop(played),
    )
    return dict(zip(NAMES, drawn, strict=True))


def figure_1(played: Played) -> Figure:
    """Redraw Figure 1."""
    node = played.main.worst
    return judge.plot_metric(
        node.time, node.value, node.start, node.end, node.state, node.out_of_memory,
        name="Active memory (share)",
    )  # fmt: skip


def figure_loop(played: Played) -> Figure:
    """Draw what policies save in the closed loop."""
    return judge.plot_actions(played.loop["policies"])


def figure_2(played: Played) -> Figure:
    """Redraw Figure 2."""
    main = played.main
    curve = judge.roc(main.values, main.hits)
    return judge.plot_roc({"active memory": curve}, title="Figure 2 redrawn: ROC curve")


def figure_3(played: Played, seed: int) -> Figure:
    """Redraw Figure 3, with acting at random, the perfect predictor, and no relation."""
    occasions = played.main.occasions
    return judge.plot_benefit(
        played.main.curve,
        judge.at_random(occasions, fs.stream(seed, "assessment", "random")),
        judge.perfect(occasions),
        name="active memory",
        blind=judge.unrelated(occasions, fs.stream(seed, "assessment", "blind")),
        per_node_hour=CORES,
        unit="CPU-hours",
        title="Figure 3 redrawn: net benefit of rebooting",
    )


def figure_pairs(played: Played) -> Figure:
    """Draw the curves of machines with and without a relation, each by its own highest gain."""
    figure = style.new_figure((7.6, 4.1))
    axes = figure.subplots()
    groups = (
        (played.related, style.GREEN, "-", "with"),
        (played.unrelated, style.ORANGE, "--", "without"),
    )
    for machines, colour, dash, name in groups:
        for k, one in enumerate(machines):
            net = one.curve.net
            axes.plot(
                100 * one.curve.share, 100 * net / net.max(), color=colour, linestyle=dash,
                linewidth=1.2, label=f"{name} a relation" if k == 0 else None,
            )  # fmt: skip
    axes.plot([0, 100], [0, 100], color=style.INK, linewidth=1.0, linestyle=":", label="at random")
    title = "What of the bend is prediction?"
    style.dress(axes, title, "Idle periods acted on (%)", "Part of the highest gain (%)")
    style.legend(axes)
    return figure


def figure_costs(played: Played) -> Figure:
    """Draw the net benefit when actions cost something, and acting at random beside it."""
    figure = style.new_figure((7.6, 4.1))
    axes = figure.subplots()
    main = played.main
    for k, times in enumerate(COSTS):
        cost = times * main.random_breaks_even
        curve = judge.net_benefit(judge.of_periods(main.periods, action_cost=cost))
        axes.plot(
            100 * curve.share, curve.net, color=style.LINES[k], linestyle=style.DASHES[k],
            linewidth=1.6, label=f"{cost:.2g} node-hours an action",
        )  # fmt: skip
        axes.plot([0, 100], [0, curve.net[-1]], color=style.GREY, linewidth=0.8, zorder=1)
    axes.axhline(0, color=style.INK, linewidth=0.8)
    style.dress(axes, "", "Idle periods acted on (%)", "Net benefit (node-hours)")
    style.legend(axes, ncols=2)
    axes.set_title("When actions cost something", loc="left", fontsize=10.5, color=style.INK,
                   fontweight="bold", pad=34)  # fmt: skip
    return figure


def figure_null(played: Played) -> Figure:
    """Draw areas and p-values of machines without a relation."""
    figure = style.new_figure((8.8, 4.0))
    left, right = figure.subplots(1, 2)
    machines = sorted(played.without, key=lambda one: one.area.auc)
    place = np.arange(len(machines))
    middle = np.array([one.area.auc for one in machines])
    low = middle - np.array([one.area.low for one in machines])
    high = np.array([one.area.high for one in machines]) - middle
    left.errorbar(
        middle, place, xerr=[low, high], fmt="o", color=style.BLUE, markersize=3, elinewidth=0.8
    )
    left.axvline(0.5, color=style.INK, linewidth=1.0, linestyle="--")
    style.dress(left, "Areas without a relation", "Area (95 % interval)", "Machine, by its area")
    p = np.sort([one.chance.p_value for one in machines])
    right.step(p, np.arange(1, len(p) + 1) / len(p), where="post", color=style.BLUE, linewidth=1.6,
               label="machines")  # fmt: skip
    right.plot([0, 1], [0, 1], color=style.INK, linewidth=1.0, linestyle="--", label="uniform")
    right.set(xlim=(0, 1), ylim=(0, 1))
    style.dress(right, "p-values without a relation", "p-value of the area", "Share of machines")
    right.legend(loc="lower right", frameon=False, fontsize=8.5)
    return figure
