"""The figures: what owners lose and guests get by priority and load, by policy, and by memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from forestall import style
from studies.contention.found import Found, Middle
from studies.contention.policies import BANDS, LIMIT, TH1, TH2, outcome, policies
from studies.contention.study import AGAIN, GUESTS, LOWEST, NORMAL
from studies.kit.figures import legend_below, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 0.7
"""Points of load between guests, so that their bars do not hide each other."""


def draw(found: Found) -> dict[str, Figure]:
    """Return all figures by the names of their files."""
    figures = {"priorities.png": priorities(found), "policies.png": compared(found)}
    return figures | ({"memory.png": memory(found)} if found.memory.height else {})


def priorities(found: Found) -> Figure:
    """What the owner loses (left), how much longer its commands take (middle) and what the guest
    gets (right), against the owner's load alone."""
    figure = style.new_figure((11.4, 4.5))
    panels = figure.subplots(1, 3)
    rows = (
        ("lost", "Owner loses", "Loss of the owner's CPU use (%)"),
        ("slower", "Owner waits", "A command takes longer by (%)"),
        ("got", "Guest gets", "Guest's share of the core (%)"),
    )
    for axes, (measure, title, label) in zip(panels, rows, strict=True):
        for place, guest in enumerate(GUESTS):
            _line(axes, found, measure, guest, place)
        if measure != "got":
            _control(axes, found, measure)
        style.dress(axes, title, "Owner's load alone (% of the core)", label)
        axes.set_xlim(0, 104)
    panels[0].axhline(
        100 * LIMIT, color=style.BLACK, linewidth=0.9, linestyle=":", label="limit 5 %"
    )
    for axes in panels:
        for threshold in (TH1, TH2):
            axes.axvline(100 * threshold, color=style.GREY, linewidth=0.8, linestyle="--", zorder=0)
    legend_below(figure, panels[0], ncols=7)
    return figure


def _line(axes: Axes, found: Found, measure: str, guest: str, place: int) -> None:
    drawn = look(place, _label(guest))
    at = [100 * load + APART * (place - len(GUESTS) // 2) for load in found.loads]
    found_at = [found.middle(measure, guest, (load, load)) for load in found.loads]
    axes.errorbar(
        at, [100 * one.middle for one in found_at], _ends(found_at), color=drawn.colour,
        marker=drawn.marker, linestyle=drawn.dash, markersize=4.5, linewidth=1.4, elinewidth=0.9,
        capsize=2, label=drawn.label,
    )  # fmt: skip


def _ends(found: list[Middle]) -> np.ndarray:
    """Return how far both ends of intervals are from their middles, in per cent; 0 for none."""
    ends = np.array([(m.middle - m.low, m.high - m.middle) for m in found]).T
    return 100 * np.where(np.isfinite(ends), ends, 0.0)


def _control(axes: Axes, found: Found, measure: str) -> None:
    """Draw the band in which an owner alone lies beside itself."""
    at = [100 * load for load in found.loads]
    rows = [found.middle(measure, AGAIN, (load, load)) for load in found.loads]
    low, high = [100 * m.low for m in rows], [100 * m.high for m in rows]
    if np.isfinite((*low, *high)).all():
        axes.fill_between(
            at, low, high, color=style.GREY, alpha=0.35, linewidth=0, label="no guest (control)"
        )


def _label(guest: str) -> str:
    return {NORMAL: "default (nice 0)", LOWEST: "lowest (SCHED_IDLE)"}.get(guest, guest)


def compared(found: Found) -> Figure:
    """What each policy gives the guest and takes from the owner, by bands of the owner's load."""
    figure = style.new_figure((11.4, 4.6))
    left, middle, right = figure.subplots(1, 3, sharey=True)
    chosen = policies(found)
    bands = {k: v for k, v in BANDS.items() if any(v[0] <= load <= v[1] for load in found.loads)}
    height = 0.8 / len(bands)
    for place, (name, band) in enumerate(bands.items()):
        drawn = look(place, "all loads" if name == "all" else f"load {name}")
        at = np.arange(len(chosen)) + height * (place - (len(bands) - 1) / 2)
        rows = [outcome(found, choice, band) for choice in chosen.values()]
        for axes, spreads in (
            (left, [one.got for one in rows]),
            (middle, [one.lost for one in rows]),
            (right, [one.slower for one in rows]),
        ):
            mean, low, high = 100 * np.array(spreads).T
            axes.errorbar(
                mean, at, xerr=np.abs((mean - low, high - mean)), color=drawn.colour,
                fmt=drawn.marker, markersize=5, elinewidth=1.2, capsize=2.5, label=drawn.label,
            )  # fmt: skip
    left.set_yticks(range(len(chosen)), list(chosen))
    left.invert_yaxis()
    style.dress(left, "Guest gets", "Guest's share of the core (%)")
    style.dress(middle, "Owner loses", "Loss of the owner's CPU use (%)")
    style.dress(right, "Owner waits", "A command takes longer by (%)")
    middle.axvline(100 * LIMIT, color=style.BLACK, linewidth=0.9, linestyle=":")
    for axes in (left, middle, right):
        for row in range(1, len(chosen)):
            axes.axhline(row - 0.5, color=style.FAINT, linewidth=0.6)
        axes.grid(visible=False, axis="y")
    legend_below(figure, left, ncols=4)
    return figure


def memory(found: Found) -> Figure:
    """What the owner loses of its speed against the memory left free beside both."""
    figure = style.new_figure((8.4, 4.0))
    axes = figure.subplots()
    for place, guest in enumerate((NORMAL, LOWEST)):
        rows = found.memory.filter(pl.col("guest") == guest).sort("repeat", "held")
        # What is free is found anew in each repeat, so sizes differ by some pages.
        sizes = rows.with_columns(pl.int_range(pl.len()).over("repeat").alias("size"))
        parts = [
            (float(np.mean(part["free"].to_numpy())), 100 * part["lost"].to_numpy())
            for _, part in sizes.group_by("size", maintain_order=True)
        ]
        drawn = look(place, f"guest at {'default' if guest == NORMAL else 'lowest'} priority")
        middle = np.array([np.median(lost) for _, lost in parts])
        ends = np.array([(np.min(lost), np.max(lost)) for _, lost in parts]).T
        axes.errorbar(
            [free for free, _ in parts], middle, np.abs(ends - middle), color=drawn.colour,
            marker=drawn.marker, linestyle=drawn.dash, markersize=5, linewidth=1.4, elinewidth=0.9,
            capsize=2, label=drawn.label,
        )  # fmt: skip
    axes.axvline(0, color=style.BLACK, linewidth=0.8)
    axes.invert_xaxis()
    style.dress(
        axes, "", "Memory left free beside owner and guest (MB; below 0: short)",
        "Loss of the owner's speed (%)",
    )  # fmt: skip
    style.legend(axes)
    return figure
