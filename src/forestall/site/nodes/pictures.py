"""Pictures of nodes: failures by hour of the day, MTTF of groups, and the worst nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.show.blocks import Figure
from forestall.core.show.clean import clean
from forestall.core.show.quantities import number, said
from forestall.core.show.style import (
    BLUE,
    GREY,
    INK,
    SKY,
    VERMILLION,
    dress,
    legend,
    new_figure,
    tick_text,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from forestall.reliability.nodes.lemons import Lemons
    from forestall.reliability.nodes.node_times import Groups
    from forestall.site.nodes.study import NodesStudy

MOST: Final = 20
"""Rows of a dot plot, at most."""
FEWEST: Final = 24
"""Failures, at least, for a picture by hour."""
NAME: Final = 28
"""Longer names are cut in pictures."""


def pictures(found: NodesStudy) -> tuple[Figure, ...]:
    """Return the pictures that these records have."""
    groups = found.groups or {}
    made = []
    hours = groups.get("hour")
    if hours is not None and int(hours.rates.failures.sum()) >= FEWEST:
        made.append(_by_hour(hours, found.asked.zone or "UTC"))
    for by in ("partition", "hardware"):
        told = groups.get(by)
        if told is not None and int(told.events.sum()) > 0 and not found.short:
            made.append(_of_groups(by, told))
    return tuple(made)


def _by_hour(groups: Groups, zone: str) -> Figure:
    rates = groups.of_events
    most = int(np.nanargmax(rates.rate))
    least = int(np.nanargmin(rates.rate))
    text = (
        f"The event rate is highest from {most:02d} to {most + 1:02d} h "
        f"({number(float(rates.rate[most]))} per 1000 node-days) and lowest from {least:02d} to "
        f"{least + 1:02d} h ({number(float(rates.rate[least]))})."
    )
    return Figure(
        "nodes_by_hour",
        lambda: _draw_hours(groups, zone),
        f"Failure rate of nodes by hour of the day ({zone}), with intervals.",
        f"{text} The band is each hour's exact interval, the dashed line the mean of the day; "
        "simultaneous failures of several nodes are one event.",
    )


def _draw_hours(groups: Groups, zone: str) -> Drawn:
    rates = groups.of_events
    figure = new_figure((8.4, 3.6))
    axes = figure.subplots()
    edges = np.arange(25)
    low, high, value = (np.append(part, part[-1]) for part in (rates.low, rates.high, rates.rate))
    axes.fill_between(
        edges, low, high, step="post", color=SKY, alpha=0.35, linewidth=0,
        label=f"{100 * rates.level:g} %",
    )  # fmt: skip
    axes.step(edges, value, where="post", color=BLUE, linewidth=1.8, label="seen")
    axes.axhline(groups.events_all, color=INK, linewidth=1.0, linestyle="--", label="whole day")
    axes.set_xticks(range(0, 25, 3))
    axes.set_xlim(0, 24)
    axes.set_ylim(bottom=0)
    dress(axes, "When nodes fail", f"Hour of the day ({zone})", "Events per 1000\nnode-days")
    legend(axes)
    return figure


def _of_groups(by: str, groups: Groups) -> Figure:
    rates = groups.of_events
    days = rates.node_days > 0
    order = [k for k in np.argsort(-np.nan_to_num(rates.rate), kind="stable").tolist() if days[k]]
    worst = order[0]
    text = (
        f"Nodes of {clean(rates.group[worst])} fail most often: every "
        f"{said(1000 / float(rates.rate[worst]), 'days')} in service."
    )
    what = {"partition": "partition", "hardware": "type of hardware"}[by]
    return Figure(
        f"nodes_by_{by}",
        lambda: _draw_groups(by, groups, order[:MOST]),
        f"Mean time between failures of nodes by {what}, with intervals.",
        f"{text} Simultaneous failures of several nodes are one event. Bars are exact "
        "intervals; an arrow means that no failure was observed.",
    )


def _draw_groups(by: str, groups: Groups, order: list[int]) -> Drawn:
    from matplotlib.ticker import FuncFormatter

    rates = groups.of_events
    figure = new_figure((8.0, 1.3 + 0.3 * max(len(order), 3)))
    axes = figure.subplots()
    places = range(len(order), 0, -1)
    for place, k in zip(places, order, strict=True):
        least = 1000 / float(rates.high[k])
        if rates.failures[k]:
            middle, most = 1000 / float(rates.rate[k]), 1000 / float(rates.low[k])
            axes.plot([least, most], [place, place], color=BLUE, linewidth=1.4)
            axes.plot([middle], [place], "o", color=BLUE, markersize=6)
        else:
            axes.plot([least], [place], ">", color=BLUE, markersize=7, markerfacecolor="white")
    if groups.events_all > 0:
        axes.axvline(
            1000 / groups.events_all, color=INK, linewidth=1.0, linestyle="--", label="all nodes"
        )
        legend(axes)
    axes.set_xscale("log")
    for which in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        which(FuncFormatter(tick_text))
    axes.set_yticks(list(places), [_short(rates.group[k]) for k in order])
    axes.set_ylim(0.3, len(order) + 0.7)
    dress(axes, f"Time between failures of a node, by {by}", "Days in service for each event")
    axes.tick_params(axis="x", which="minor", labelsize=8.5, colors=INK)  # as the others
    return figure


def worst_nodes(found: Lemons) -> Figure | None:
    """Return the picture of the nodes with the highest rates; None without failures."""
    order = [k for k in found.order.tolist() if found.own[k]][:MOST]
    if not order:
        return None
    worst = order[0]
    count = len(found.lemons)
    text = (
        f"The highest is that of {clean(found.name[worst])}: {number(float(found.rate[worst]))} "
        "failures of its own per 1000 node-days, where the average of its type is "
        f"{number(float(found.average[worst]))}."
    )
    return Figure(
        "lemons",
        lambda: _draw_nodes(found, order),
        f"Nodes with the highest failure rates; {count} of them are lemons.",
        f"{text} Circles are observed rates with intervals; crosses are expected rates, shrunk "
        "toward the fleet's rate except for clear outliers.",
    )


def _draw_nodes(found: Lemons, order: list[int]) -> Drawn:
    figure = new_figure((8.0, 1.4 + 0.26 * max(len(order), 4)))
    axes = figure.subplots()
    places = np.arange(len(order), 0, -1)
    for lemon, colour, words in ((True, VERMILLION, "lemon"), (False, GREY, "within chance")):
        at = [k for k in range(len(order)) if bool(found.flagged[order[k]]) is lemon]
        if not at:
            continue
        where = [order[k] for k in at]
        rate = found.rate[where]
        axes.errorbar(
            rate, places[at], xerr=[rate - found.rate_low[where], found.rate_high[where] - rate],
            fmt="o", color=colour, markerfacecolor=colour if lemon else "white", capsize=3,
            markersize=5.5, elinewidth=1.3, label=words,
        )  # fmt: skip
    axes.plot(found.shrunk[order], places, "x", color=INK, markersize=5.5, label="expected")
    axes.set_yticks(places.tolist(), [_short(found.name[k]) for k in order])
    axes.set_ylim(0.3, len(order) + 0.7)
    axes.set_xlim(left=0)
    dress(axes, "Nodes with the highest failure rates", "Own failures per 1000 node-days")
    legend(axes)
    return figure


def _short(name: str) -> str:
    return clean(name, NAME)
