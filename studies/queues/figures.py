"""Figures 1 to 9 of the paper redrawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from forestall import style, systems
from studies.kit.means import Floats
from studies.queues import paper
from studies.queues.inputs import YearSample
from studies.queues.tables import blade, commodity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE: Final = (6.2, 3.8)
WITH_LEGEND: Final = (7.8, 3.8)
DPI: Final = 110
LAWS: Final = (("exponential", 1.0), ("Weibull, shape 0.8", 0.8), ("Weibull, shape 0.7", 0.7))
NODES: Final = 256
POINTS: Final = 400
CAPTIONS: Final = (
    "Failures per year of operation, the paper's and ours.",
    "Failures of each node in each year: boxes hold the middle half of the nodes.",
    "Year 1: the Weibull law is closer to the gaps than the exponential one, but is rejected too.",
    "Year 5: the Weibull law follows the gaps, the exponential one does not.",
    "Year 7: the same.",
    "One node, all as new at time 0: blades outlast commodity nodes under every law.",
    "256 nodes: under a Weibull law with a shape below 1, a new machine fails sooner than under an "
    "exponential law with the same mean.",
    "100 h on machines of up to 500 nodes.",
    "A machine half of blades.",
)
"""What each figure shows."""


def draw(years: YearSample) -> dict[str, Figure]:
    """Return all nine in the paper's order, by the names of their files."""
    drawn = (
        figure_years(years),
        figure_nodes(years),
        *(figure_pp(years, year, number) for number, year in ((3, 1), (4, 5), (5, 7))),
        figure_node_life(),
        figure_machine_life(),
        figure_size(),
        figure_mixed(),
    )
    return {f"figure-{number}.png": figure for number, figure in enumerate(drawn, 1)}


def figure_years(years: YearSample) -> Figure:
    """Draw the failures of each year of operation, ours beside the paper's."""
    figure = style.new_figure(SIZE, DPI)
    axes = figure.subplots()
    count = len(paper.COUNTS)
    place = np.arange(1, count + 1)
    ours = years.counts.sum(axis=0)[:count]
    axes.bar(place - 0.2, paper.COUNTS, 0.4, color=style.ORANGE, edgecolor=style.INK, hatch="//",
             linewidth=0.6, label="paper")  # fmt: skip
    axes.bar(place[: len(ours)] + 0.2, ours, 0.4, color=style.BLUE, edgecolor=style.INK,
             linewidth=0.6, label="public log, three cohorts")  # fmt: skip
    style.dress(axes, "Figure 1: failures per year", "Year of operation", "Failures (number)")
    axes.set_xticks(place)
    style.legend(axes)
    return figure


def figure_nodes(years: YearSample) -> Figure:
    """Draw the box plot of the failures of each node that was in service in a year."""
    figure = style.new_figure(SIZE, DPI)
    axes = figure.subplots()
    watched = (years.node_days > 0).T[: len(paper.COUNTS)]
    axes.boxplot(
        [years.counts[there, k] for k, there in enumerate(watched)],
        patch_artist=True,
        boxprops={"facecolor": style.SKY, "edgecolor": style.INK},
        medianprops={"color": style.INK, "linewidth": 1.6},
        flierprops={"marker": "o", "markersize": 3, "markeredgecolor": style.INK},
    )
    style.dress(axes, "Figure 2: failures per node and year", "Year of operation",
          "Failures of a node (number)")  # fmt: skip
    return figure


def figure_pp(years: YearSample, year: int, number: int) -> Figure:
    """Draw fitted over empirical probabilities of one year's gaps."""
    figure = style.new_figure((4.6, 4.4), DPI)
    axes = figure.subplots()
    gaps = np.sort(years.gaps[years.labels.index(year)])
    empirical = (np.arange(1, len(gaps) + 1) - 0.5) / len(gaps)
    axes.plot([0, 1], [0, 1], color=style.INK, linewidth=0.8)
    for k, family in enumerate(("weibull", "exponential")):
        fitted = fs.fit(gaps, family)
        axes.plot(empirical, fitted.cdf(gaps), style.DASHES[k], color=style.LINES[k], linewidth=1.8,
                  marker=style.MARKERS[k], markevery=0.1, markersize=4,
                  label=fitted.family.title)  # fmt: skip
    style.dress(axes, f"Figure {number}: P-P plot, year {year}", "Empirical probability",
          "Probability by the fitted law")  # fmt: skip
    axes.set_aspect("equal")
    style.legend(axes, loc="lower right", bbox_to_anchor=(1.0, 0.02), ncols=1)
    return figure


def figure_node_life() -> Figure:
    """Draw the reliability of both nodes over time."""
    hours = np.linspace(0, 100_000, POINTS)
    curves = _of_nodes(lambda law: law.sf(hours))
    return _reliability(curves, hours, "Figure 6: reliability of one node", "Time (h)")


def figure_machine_life() -> Figure:
    """Draw the reliability of 256 nodes over time."""
    hours = np.linspace(0, 1000, POINTS)
    curves = _of_nodes(lambda law: systems.series_sf([systems.ComponentGroup(NODES, law)], hours))
    return _reliability(curves, hours, f"Figure 7: reliability of {NODES} nodes", "Time (h)")


def figure_size() -> Figure:
    """Draw the reliability at 100 h over the number of nodes."""
    nodes = np.arange(0, 501)
    curves = _of_nodes(lambda law: law.sf(100.0) ** nodes)
    return _reliability(curves, nodes, "Figure 8: reliability at 100 h", "Nodes (number)")


def figure_mixed() -> Figure:
    """Draw the reliability of a mixed machine beside one of commodity nodes."""
    hours = np.linspace(0, 1000, POINTS)
    curves: list[Curve] = []
    for k, (name, shape) in enumerate((("exponential", 1.0), ("Weibull, shape 0.75", 0.75))):
        for place, (kind, blades) in enumerate((("half blades", NODES // 2), ("all commodity", 0))):
            groups = [systems.ComponentGroup(NODES - blades, commodity(shape))]
            groups += [systems.ComponentGroup(blades, blade(shape))] if blades else []
            curves.append((f"{kind}: {name}", place, k, systems.series_sf(groups, hours)))
    return _reliability(curves, hours, f"Figure 9: mixed machine of {NODES} nodes", "Time (h)")


Curve = tuple[str, int, int, Floats]
"""Label, places of colour and dashes, and values."""


def _of_nodes(life: Callable[[systems.Lifetime], Floats]) -> list[Curve]:
    """Return a curve of both nodes by each law."""
    return [
        (f"{node}: {name}", place, k, life(law(shape)))
        for place, (node, law) in enumerate((("blade", blade), ("commodity", commodity)))
        for k, (name, shape) in enumerate(LAWS)
    ]


def _reliability(curves: Sequence[Curve], x: npt.NDArray[Any], title: str, xlabel: str) -> Figure:
    """Draw curves of reliability over x, their legend beside them."""
    figure = style.new_figure(WITH_LEGEND, DPI)
    axes = figure.subplots()
    for label, place, k, values in curves:
        axes.plot(x, values, style.DASHES[k], color=style.LINES[place], linewidth=1.6, label=label)
    style.dress(axes, title, xlabel, "Reliability (probability)")
    axes.set_ylim(0, 1.02)
    style.legend(axes, loc="upper left", bbox_to_anchor=(1.02, 1.0), ncols=1)
    return figure
