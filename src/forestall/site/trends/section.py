"""The section on how things went from week to week: node-hours lost, failures, waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.show.blocks import Column, Figure, Table
from forestall.core.show.facts import Untold
from forestall.core.show.quantities import counted, duration, number
from forestall.core.show.report import Section
from forestall.core.show.style import BLUE, INK, SKY, VERMILLION, dress, legend, new_figure
from forestall.site.losses.amounts import HOUR, every
from forestall.site.trends.weeks import Weeks, weeks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

    from forestall.core.model.arrays import Ints
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

KEY: Final = "weeks"
TITLE: Final = "Week by week"
FEWEST: Final = 2
"""Whole weeks below which there is no trend to show."""
NOTES: Final = (
    "Weeks begin on Monday (in records without dates: on the first day). Node-hours used are "
    "split between weeks; a loss counts in the week in which the run ended, a failure in the "
    "week in which it occurred, a wait in the week in which the job started.",
    "The window may cut the first and the last week: they are marked, and the sentence above "
    "leaves them out.",
)


def section(site: SiteRecords, asked: Asked) -> Section:
    """Return the section."""
    found = weeks_of(site, asked)
    if found is None:
        return _nothing("no accounting of jobs was given", "sacct's records of jobs")
    if int(found.whole.sum()) < FEWEST:
        return _nothing("the records have fewer than two whole weeks", "records of several weeks")
    return Section(
        KEY, TITLE, _lead(found, asked), body=(_picture(found, asked), _table(found, asked)),
        notes=NOTES,
    )  # fmt: skip


def _nothing(why: str, remedy: str) -> Section:
    return Section(KEY, TITLE, f"No trend: {why}.", untold=(Untold(TITLE, why, remedy),))


def _lead(found: Weeks, asked: Asked) -> str:
    """Return how the last whole week compares with the others."""
    whole = np.flatnonzero(found.whole)
    lost = found.lost_after[whole] / HOUR
    last, worst = int(whole[-1]), int(whole[int(np.argmax(lost))])
    if not found.lost.any():
        return _rest(
            found, whole, f"None of {len(whole):,} weeks is known to have lost node-hours."
        )
    text = (
        f"The last whole week ({_called(found, last)}) lost {number(float(lost[-1]))} node-hours "
        f"if jobs checkpoint every {every(asked.checkpoint_interval)}; the median of "
        f"{counted(len(whole), 'weeks')} is {number(float(np.median(lost)))}, the worst "
        f"{number(float(lost.max()))} ({_called(found, worst)})."
    )
    return _rest(found, whole, text)


def _rest(found: Weeks, whole: Ints, text: str) -> str:
    """Return the text and, behind it, failures and waits of the last whole week."""
    last = int(whole[-1])
    if found.failures is not None:
        some = found.failures[whole]
        usual = number(float(np.median(some)))
        text += f" Failures of nodes in the last whole week: {int(some[-1]):,} (median {usual})."
    if found.median is not None and np.isfinite(found.median[last]):
        text += f" Median wait: {duration(float(found.median[last]))}"
        text += f" (median of weeks {duration(float(np.nanmedian(found.median[whole])))})."
    return text


def _called(found: Weeks, place: int) -> str:
    return f"from {found.name(place)}" if found.dated else f"week {found.name(place)}"


def _table(found: Weeks, asked: Asked) -> Table:
    records: list[dict[str, Any]] = []
    whole = found.whole
    for k in range(len(found)):
        row: dict[str, Any] = {
            "week": found.name(k),
            "whole": bool(whole[k]),
            "used_node_hours": int(found.used[k]) / HOUR,
            "lost_node_hours": int(found.lost[k]) / HOUR,
            "lost_after_checkpoint_node_hours": int(found.lost_after[k]) / HOUR,
        }
        if found.stops_told:
            row |= {"lost_to_node_failures_node_hours": int(found.lost_to_nodes[k]) / HOUR,
                    "runs_ended_by_node_failures": int(found.stopped[k])}  # fmt: skip
        if found.failures is not None:
            row["node_failures"] = int(found.failures[k])
        if found.median is not None and found.ninth is not None:
            row |= {"wait_median_seconds": float(found.median[k]),
                    "wait_90_seconds": float(found.ninth[k])}  # fmt: skip
        records.append(row)
    often = every(asked.checkpoint_interval)
    columns: list[Column] = [
        ("Week from" if found.dated else "Week", _week),
        ("Node-hours used", "used_node_hours", number),
    ]
    if found.lost.any():
        columns += [
            ("Lost, no checkpoints", "lost_node_hours", number),
            (f"Lost, checkpoint every {often}", "lost_after_checkpoint_node_hours", number),
        ]
    if found.stops_told:
        columns += [("Lost to node failures", "lost_to_node_failures_node_hours", number),
                    ("Runs so ended", "runs_ended_by_node_failures", number)]  # fmt: skip
    if found.failures is not None:
        columns.append(("Node failures", "node_failures", number))
    if found.median is not None:
        columns += [("Median wait", "wait_median_seconds", duration),
                    ("90 % of waits up to", "wait_90_seconds", duration)]  # fmt: skip
    note = "A week in parentheses is cut by the window."
    if found.stops_told:
        note = f"Lost to node failures: whole runs, as if no job writes checkpoints. {note}"
    return Table.by("weeks", columns, records, note=note, caption="Node-hours by week")


def _week(row: Any) -> str:
    return row["week"] if row["whole"] else f"({row['week']})"


def _picture(found: Weeks, asked: Asked) -> Figure:
    often = every(asked.checkpoint_interval)
    parts = ["node-hours lost"] if found.lost.any() else []
    parts += ["failures of nodes"] if found.failures is not None else []
    parts += ["waits"] if found.median is not None else []
    caption = (
        ""
        if not found.lost.any()
        else (
            "Light bars: lost if no job writes checkpoints; dark bars: if each writes one "
            f"every {often}. Bars of a week that the window cuts are lower for that reason."
        )
    )
    return Figure("weeks", lambda: _draw(found, often),
                  f"By week: {', '.join(parts)}. {_lead(found, asked)}", caption)  # fmt: skip


def _draw(found: Weeks, often: str) -> Drawn:
    panels = 1 + (found.failures is not None) + (found.median is not None)
    figure = new_figure((8.4, 0.6 + 1.75 * panels))
    axes = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    place = np.arange(len(found))
    last = axes.pop(0)
    if found.lost.any():
        last.bar(place, found.lost / HOUR, 0.8, color=SKY, label="no checkpoints")
        last.bar(place, found.lost_after / HOUR, 0.45, color=BLUE,
                 label=f"checkpoint every {often}")  # fmt: skip
        dress(last, "Node-hours lost", "", "Node-hours")
        legend(last)
    else:
        last.bar(place, found.used / HOUR, 0.8, color=SKY)
        dress(last, "Node-hours used", "", "Node-hours")
    if found.failures is not None:
        last = axes.pop(0)
        last.bar(place, found.failures, 0.8, color=VERMILLION)
        dress(last, "Failures of nodes", "", "Failures")
        last.yaxis.get_major_locator().set_params(integer=True)
    if found.median is not None and found.ninth is not None:
        last = axes.pop(0)
        last.plot(place, found.median / HOUR, "-o", color=BLUE, ms=3, lw=1.5, label="median")
        last.plot(place, found.ninth / HOUR, ls="dashed", marker="s", color=VERMILLION, ms=3,
                  lw=1.2, label="90 % up to")  # fmt: skip
        last.set_ylim(bottom=0)
        dress(last, "Waits", "", "Hours")
        legend(last)
    _ticks(last, found)
    return figure


def _ticks(axes: Axes, found: Weeks) -> None:
    """Name about eight weeks, always the first."""
    axes.set_xlabel("Week from" if found.dated else "Week", fontsize=9, color=INK)
    step = max(1, -(-len(found) // 8))
    shown = list(range(0, len(found), step))
    axes.set_xticks(shown, [found.name(k) for k in shown])
