"""A queue's futures as pictures: starts and ends in bands, free nodes, what a drain does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from forestall.core.show.quantities import duration
from forestall.core.show.style import (
    BLUE,
    DASHES,
    FAINT,
    GREY,
    ORANGE,
    PALE,
    VERMILLION,
    dress,
    legend,
    new_figure,
)
from forestall.site.futures.study import HOUR, QueueFutures

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

SHOWN: Final = 40
"""Jobs in a picture."""
STEPS: Final = (1, 2, 3, 4, 6, 10)
"""Hours between ticks, and these times ten."""
BEYOND: Final = 1.25
"""The picture of the queue ends so far beyond the last median; longer bands are cut off."""
LANE: Final = 0.36


def job_axis(axes: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Name the rows of a picture, the first on top."""
    names = [f"{one['job']}  {one['nodes']:,} node{'s' * (one['nodes'] != 1)}" for one in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)


def hour_axis(axes: Any, found: QueueFutures, *, drain: bool = True) -> None:
    """Let a picture begin now, with ticks at whole hours and the window of the drain shaded."""
    axes.locator_params(axis="x", nbins=12, integer=True, steps=STEPS)
    axes.set_xlim(left=0)
    if drain and found.drain is not None:
        window = [(one - found.now) / HOUR for one in (found.drain.start, found.drain.until)]
        right = axes.get_xlim()[1]
        axes.axvspan(max(window[0], 0), min(window[1], right), color=FAINT, alpha=0.6,
                     linewidth=0, zorder=0, label="drain")  # fmt: skip


def draw_queue(found: QueueFutures) -> Drawn:
    """Return starts and ends of the first waiting jobs: a lane each, bands with medians."""
    rows = [one for one in found.jobs if one["state"] == "waiting" and one["start_50"] is not None]
    rows = rows[:SHOWN]
    figure = new_figure((8.4, 1.6 + 0.3 * len(rows)))
    axes = figure.add_subplot()
    medians = [one["end_50"] or one["start_50"] for one in rows]
    right = BEYOND * max((max(medians, default=found.now) - found.now) / HOUR, 1)
    lanes = (("start", -LANE / 2, PALE, BLUE, "o"), ("end", LANE / 2, "#f5d491", VERMILLION, "s"))
    for place, one in enumerate(rows):
        for what, shift, pale, dark, marker in lanes:
            low, middle, high = (
                right if at is None else (at - found.now) / HOUR
                for at in (one[f"{what}_{level}"] for level in (10, 50, 90))
            )
            first = place == 0
            axes.barh(place + shift, min(high, right) - low, left=low, height=LANE, color=pale,
                      label=f"{what}s, 10 to 90 % of futures" if first else None)  # fmt: skip
            if middle < right:
                axes.plot(middle, place + shift, marker, color=dark, markersize=5,
                          label=f"median {what}" if first else None)  # fmt: skip
    job_axis(axes, rows)
    axes.set_xlim(0, right)
    hour_axis(axes, found, drain=False)
    dress(axes, "", f"Hours from {found.told(found.now)}", "Job")
    legend(axes)
    return figure


def draw_free(found: QueueFutures) -> Drawn:
    """Return free nodes over a day with their band, and with the drain."""
    rows, nodes = found.free, sum(found.queue.snapshot.nodes)
    at = [one["hours"] for one in rows]
    figure = new_figure()
    axes = figure.add_subplot()
    low, high = ([one[f"free_{level}"] for one in rows] for level in (10, 90))
    axes.fill_between(at, low, high, step="post", color=PALE, label="10 to 90 % of futures")
    axes.step(at, [one["free_50"] for one in rows], where="post", color=BLUE, label="median")
    if found.free_drained is not None:
        axes.step(at, found.free_drained, where="post", color=VERMILLION, linestyle=DASHES[1],
                  label="median with the drain")  # fmt: skip
    axes.axhline(nodes, color=GREY, linestyle=DASHES[3], label=f"all {nodes:,} nodes")
    axes.set_xlim(0, at[-1])
    hour_axis(axes, found)
    dress(axes, "", f"Hours from {found.told(found.now)}", "Free nodes")
    axes.set_ylim(0, 1.04 * nodes)
    legend(axes)
    return figure


def draw_drain(found: QueueFutures, later: Sequence[dict[str, Any]]) -> Drawn:
    """Return the median end of each delayed job with and without the drain."""
    top = later[:SHOWN]
    figure = new_figure((8.4, 1.6 + 0.25 * len(top)))
    axes = figure.add_subplot()
    for place, one in enumerate(top):
        before = (one["end_50"] - found.now) / HOUR
        after = before + one["end_later_s"] / HOUR
        axes.plot([before, after], [place, place], color=ORANGE, linewidth=2, zorder=2)
        axes.plot(before, place, "o", color=BLUE, label=None if place else "end without the drain")
        axes.plot(after, place, "s", color=VERMILLION, label=None if place else "with the drain")
        axes.annotate(f"+{duration(one['end_later_s'])}", (after, place), (7, 0),
                      textcoords="offset points", va="center", fontsize="small")  # fmt: skip
    job_axis(axes, top)
    axes.margins(x=0.13)
    hour_axis(axes, found)
    dress(axes, "", f"Hours from {found.told(found.now)}, medians", "Job")
    legend(axes)
    return figure
