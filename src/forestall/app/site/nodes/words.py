"""Nodes in words: the lead, the notes, and what could not be told."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.app.site.nodes.tables import differ
from forestall.show.clean import clean, example
from forestall.show.facts import Untold
from forestall.show.quantities import (
    at_level,
    between,
    counted,
    duration,
    fixed,
    number,
    percent,
    said,
)

if TYPE_CHECKING:
    from forestall.app.site.nodes.study import JobTime, NodesStudy
    from forestall.reliability.history.mean_times import Interval

DAY_HOURS: Final = 24.0
HOUR: Final = 3600
MANY: Final = 0.1
"""From this share of failures in bursts on, the lead says so."""
LUCK: Final = 5
"""So many nodes without a failure would be expected, at least, where none is missed by chance."""


def lead(found: NodesStudy) -> str:
    """Return the most important in one or two sentences."""
    times, watch = found.times, found.found
    assert times is not None
    assert watch is not None
    nodes = watch.fleet.nodes
    if times.failures == 0:
        if not times.node_days > 0:
            return "No node was in service in this time."
        least = times.mttf.times(1 / DAY_HOURS).low
        return (
            f"None of {counted(nodes, 'nodes')} failed in {number(times.node_days)} node-days: a "
            f"node lasts {said(least, 'days')} or longer, with {at_level(times.level)} confidence."
        )
    what = f"{counted(times.failures, 'failures')} of {counted(nodes, 'nodes')}"
    if found.short:
        text = f"How long nodes last cannot be told from {duration(found.watched)}: {what}."
    else:
        mttf = times.mttf.times(1 / DAY_HOURS)
        text = (
            f"A node fails every {ends(mttf, 'days', times.level)} in service: {what}, "
            f"{number(times.rate.value)} per 1000 node-days."
        )
    if times.in_bursts >= MANY * times.failures:
        text += (
            f" {percent(times.in_bursts / times.failures)} of them came in bursts on several "
            f"nodes: {counted(times.events, 'events')}."
        )
    if times.repairs is not None and times.repairs.ended:
        mean, median = times.repairs.mean.value, times.repairs.median.value
        half = f", half of the times {duration(median * HOUR)} or less" if is_told(median) else ""
        text += f" It is then away for {duration(mean * HOUR)} on average{half}."
    return text


def ends(value: Interval, unit: str, level: float) -> str:
    """Return a value with its interval."""
    return f"{said(value.value, unit)} ({at_level(level)}: {_between(value, unit)})"


def _between(value: Interval, unit: str) -> str:
    return between(finite(value.low), finite(value.high), unit)


def is_told(value: float) -> bool:
    """Return whether a value is finite."""
    return math.isfinite(value)


def finite(value: float) -> float | None:
    """Return a value, None where it is not finite."""
    return value if math.isfinite(value) else None


def notes(found: NodesStudy) -> list[str]:
    """Return rules and findings in sentences."""
    times, watch = found.times, found.found
    assert times is not None
    assert watch is not None
    made = [
        {
            "events": "A failure is a time out of service whose first clear cause is a fault; time "
            "out of service, whatever the cause, is no exposure.",
            "failures": "Each failure of the log counts that comes while its node is up; time away "
            "is no exposure.",
            "runs": "",
        }[watch.basis]
    ]
    if times.bursts:
        made.append(
            f"{counted(times.in_bursts, 'failures')} came in {counted(times.bursts, 'bursts')} of "
            "3 nodes or more with one cause within minutes (a rack, a network, a power supply). "
            "Whether groups differ is tested with each burst as one event."
        )
    hours = (found.groups or {}).get("hour")
    if hours is not None and hours.difference is not None:
        made.append(f"{differ('hour', hours)} Hours are of {found.asked.zone or 'UTC'}.")
    if found.jobs is not None and found.jobs.runs:
        made.append(_job_words(found.jobs))
    if watch.late:
        made.append(
            f"{counted(watch.late, 'nodes')} came into service in this time, as far as runs and "
            "outages tell; they are watched from then on."
        )
    if watch.several and watch.partition is not None:
        made.append(
            f"{counted(watch.several, 'nodes')} are in more than one partition; those sets of "
            "partitions stand on their own, so that each node counts once."
        )
    return made


def _job_words(jobs: JobTime) -> str:
    low, high = fixed((jobs.rate.low, jobs.rate.high))
    return (
        f"{counted(jobs.runs, 'runs')} ended by the failure of a node: {number(jobs.rate.value)} "
        f"({low} to {high}) per 1000 node-days that jobs ran; the node is known for "
        f"{jobs.named:,} of them."
    )


def untold(found: NodesStudy) -> list[Untold]:
    """Return what the records do not tell."""
    watch, times = found.found, found.times
    assert watch is not None
    assert times is not None
    told = found.groups or {}
    gaps = []
    if times.repairs is None and times.failures:
        gaps.append(Untold("How long failed nodes are away", "the records tell no ends of outages",
                           "a log with repair times"))  # fmt: skip
    if watch.partition is None:
        gaps.append(Untold("Failures by partition and hardware", "no description of the nodes",
                           "the output of scontrol show node"))  # fmt: skip
    if "cause" not in told and times.failures:
        gaps.append(Untold("Failures by cause", "the records give no reasons",
                           "reasons on outages"))  # fmt: skip
    if found.short:
        why = f"{duration(found.watched)} of records tell how often nodes failed only by chance"
        gaps.append(Untold("How long nodes last", why, "records of weeks or months"))
    elif found.dated and "weekday" not in told:
        what = "Failures by weekday" if "hour" in told else "Failures by hour and weekday"
        why = f"the records cover {duration(found.watched)}"
        gaps.append(Untold(what, why, "records of two weeks or more"))
    if not found.dated:
        gaps.append(Untold("Failures by hour and weekday", "the log has no dates",
                           "a log with dates"))  # fmt: skip
    nodes, failed = watch.fleet.nodes, len(np.unique(watch.fleet.history.node))
    unfailed = nodes * math.exp(-times.failures / max(nodes, 1))
    if not watch.listed and failed == nodes and unfailed > LUCK:
        gaps.append(
            Untold("Nodes that never failed", f"the records name {nodes:,} nodes and all of them "
                   "failed, so the rate of a node is too high", "a list of all nodes")
        )  # fmt: skip
    unclear = found.with_unclear
    if unclear is not None and unclear.failures > times.failures:
        more = unclear.failures - times.failures
        share = more / unclear.failures
        often = [f"{example(reason)!r} ({count:,})" for reason, count in found.unclear if reason]
        most = f"; most often: {', '.join(often)}" if often else ""
        gaps.append(
            Untold("What unclear outages were",
                   f"the reasons of {counted(more, 'outages')} ({percent(share)} of those that may "
                   f"be failures) tell neither a fault nor a wish; they do not count{most}",
                   "reasons that say what broke")
        )  # fmt: skip
    if watch.strangers:
        shown = ", ".join(clean(name, 40) for name in watch.strangers[:5])
        gaps.append(
            Untold("Nodes that are gone", f"{counted(len(watch.strangers), 'nodes')} of the "
                   f"records are not among the nodes described ({shown}): renamed or removed; they "
                   "are watched up to the last that is seen of them",
                   "a description of the nodes from that time")
        )  # fmt: skip
    return gaps
