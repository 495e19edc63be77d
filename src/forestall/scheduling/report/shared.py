"""What became of cores, memory and GPUs in a run whose jobs share nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from forestall.core.figures import series
from forestall.core.figures.axes import flat
from forestall.core.kit.tables import Column, tabled
from forestall.core.show import words as say_
from forestall.core.show.blocks import Figure
from forestall.core.show.report import Section
from forestall.core.show.style import (
    BLUE,
    DASHES,
    GREEN,
    ORANGE,
    SKY,
    VERMILLION,
    AxisClock,
    dress,
    legend,
    new_figure,
)
from forestall.scheduling.report.digest import NAMES, hours_of, resources_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from forestall.scheduling.report.report import ToldRun

_COLOURS: Final = (BLUE, ORANGE, GREEN, VERMILLION, SKY)


def section(run: ToldRun) -> Section:
    """Return how much of each resource was in use, over time and in all; nothing where jobs had
    nodes alone."""
    told = resources_in(run.summary)
    columns: list[Column] = [
        ("resource", "Resource", lambda name: NAMES.get(str(name), str(name))),
        ("used_hours", "Used by runs", lambda hours: f"{hours:,.1f}"),
        ("lost_hours", "Of that lost to failures", lambda hours: f"{hours:,.1f}"),
        ("total_hours", "Of all", lambda hours: f"{hours:,.1f}"),
        ("unit", "Unit", str),
        ("utilization", "Share", say_.percent),
    ]
    values = [
        (name, one["used_hours"], one["lost_hours"], one["total_hours"], hours_of(name),
         one["utilization"])
        for name, one in told.items()
    ]  # fmt: skip
    caption = (
        "Used is what runs had, whatever they did with it; all is what the machine has from the "
        "first submission to the last finish, outages included."
    )
    body = (tabled("resources", columns, values, caption=caption),) if values else ()
    shares = ", ".join(
        f"{NAMES.get(name, name)} {say_.percent(one['utilization'])}" for name, one in told.items()
    )
    figure = Figure(
        "resources",
        lambda: over_time(run, told),
        f"Share of each resource in use over time: {shares}.",
    )
    drawn = run.drawn(figure, also=bool(told))
    return Section("resources", "Which resources were in use", body=(*drawn, *body))


def over_time(run: ToldRun, told: Mapping[str, Mapping[str, Any]]) -> Drawn:
    """Draw the share of each resource that runs have, over time."""
    start, end = run.span
    edges, clock = series.edges_of(start, end), AxisClock.spanning(start, end)
    drawing = new_figure((8.4, 3.4))
    axes = drawing.subplots()
    ends = (series.column(run.runs, "start"), series.column(run.runs, "end"))
    for k, (name, one) in enumerate(told.items()):
        total = one["total_hours"] * 3600 * (1024 if name == "memory" else 1) / max(end - start, 1)
        amounts = run.runs[name].cast(pl.Float64).to_numpy()
        level = series.time_weighted(*ends, amounts, edges) / total
        axes.step(
            clock(edges), flat(100 * level), where="post", color=_COLOURS[k % len(_COLOURS)],
            linestyle=DASHES[k % len(DASHES)], linewidth=1.3, label=NAMES.get(name, name),
        )  # fmt: skip
    axes.set_ylim(0, 100)
    axes.set_xlim(*clock(np.array([start, end])))
    dress(axes, "Resources in use", clock.label(), "Of the machine (%)")
    legend(axes)
    return drawing
