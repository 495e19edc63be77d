"""What a site's records tell of its nodes, found once for the section and whoever else asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.streams import stream
from forestall.reliability.history.mean_times import Interval, rate_per_1000
from forestall.reliability.nodes.node_times import (
    Groups,
    NodeTimes,
    cause_groups,
    clock_groups,
    fleet_by_step,
    local_clock,
    node_groups,
    node_times,
)
from forestall.reliability.report.fleet import Watched, offset_of, watched
from forestall.slurm.records.node_events import UNCLEAR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

DAY: Final = 86_400
LEAST: Final = DAY
"""Records of less time, s, do not tell how long nodes last."""
LEAST_BY: Final = {"hour": 3 * DAY, "weekday": 14 * DAY}
"""Nor, where they are of less than this, how hours of the day and days of the week differ."""
MOST_BY: Final = 36_525 * DAY
"""A longer window comes of a wrong date; its clock would take gigabytes."""
UNCLEAR_SHOWN: Final = 3
TOGETHER: Final = 60
"""Runs that ended within so many seconds of each other ended together."""


@dataclass(frozen=True)
class JobTime:
    """Failures of nodes as jobs felt them, against the time that jobs ran.

    Attributes
    ----------
    runs, events : runs that a node's failure ended; with those that ended together as one
    named : runs whose failed node is known
    node_days : node-days that jobs ran
    rate, rate_events : per 1000 of those
    """

    runs: int
    events: int
    named: int
    node_days: float
    rate: Interval
    rate_events: Interval


@dataclass(frozen=True)
class NodesStudy:
    """What the records tell of nodes; parts are None where they do not.

    Attributes
    ----------
    found : the nodes under watch
    times : of the fleet
    with_unclear : the same where unclear outages count as failures
    groups : rates by what; where failures are known from runs alone there are none
    jobs : failures as jobs felt them
    dated : whether hours of the day are told
    untold_days : node-days that jobs ran, where nothing tells of failures
    unclear : the commonest reasons of unclear outages, with how often each was given
    """

    asked: Asked
    found: Watched | None
    times: NodeTimes | None = None
    with_unclear: NodeTimes | None = None
    groups: Mapping[str, Groups] | None = None
    jobs: JobTime | None = None
    dated: bool = True
    untold_days: float | None = None
    unclear: tuple[tuple[str, int], ...] = ()

    @property
    def watched(self) -> int:
        """How long nodes were watched, s."""
        return self.asked.until - self.asked.begin

    @property
    def short(self) -> bool:
        """Whether nodes were watched for too short a time to tell how long they last."""
        return self.watched < LEAST


def study(site: SiteRecords, asked: Asked) -> NodesStudy:
    """Return what the records tell of nodes; they are cut to what was asked already."""
    found = watched(site, asked)
    accounting = site.accounting
    if found is None:
        days = None
        if accounting is not None and accounting.state.told.any():
            days = float(accounting.node_seconds.sum()) / DAY
        return NodesStudy(asked, None, untold_days=days)
    jobs = None
    if found.runs is not None and accounting is not None:
        jobs = _job_time(found, accounting, asked.level)
    if found.basis == "runs":
        return NodesStudy(asked, found, jobs=jobs)
    fleet = found.fleet
    unclear = found.with_unclear
    return NodesStudy(
        asked,
        found,
        node_times(fleet, level=asked.level),
        None if unclear is None else node_times(unclear, level=asked.level, laws=False),
        _groups(found, asked),
        jobs,
        fleet.history.origin is not None,
        unclear=_unclear(site),
    )


def _unclear(site: SiteRecords) -> tuple[tuple[str, int], ...]:
    """Return the commonest reasons of outages of which it is not clear what they were."""
    if site.events is None:
        return ()
    counts = site.events.of(UNCLEAR).reason.counts()
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return tuple(ranked[:UNCLEAR_SHOWN])


def _job_time(found: Watched, accounting: Accounting, level: float) -> JobTime:
    runs = found.runs
    assert runs is not None
    end = np.sort(accounting.end[runs.run])
    events = int(np.count_nonzero(np.diff(end, prepend=-(10**12)) > TOGETHER)) if len(end) else 0
    days = float(accounting.node_seconds.sum()) / DAY
    return JobTime(
        len(runs),
        events,
        len(runs) - runs.untold,
        days,
        rate_per_1000(len(runs), days, level),
        rate_per_1000(events, days, level),
    )


def _groups(found: Watched, asked: Asked) -> dict[str, Groups]:
    """Return rates by partition, hardware, weekday, hour and cause, those that are told."""
    fleet, level = found.fleet, asked.level
    groups: dict[str, Groups] = {}
    causes = cause_groups(fleet, level=level)
    if causes is not None:
        groups["cause"] = causes
    for by, told in (("partition", found.partition), ("hardware", found.hardware)):
        if told is not None and len(told[1]) > 1:
            rng = stream(asked.seed, "nodes", by)
            groups[by] = node_groups(fleet, by, *told, rng, level=level)
    begin, until = fleet.history.span
    origin = fleet.history.origin
    if origin is not None and 0 < until - begin <= MOST_BY:
        clock = local_clock(begin + origin, until + origin, offset_of(asked.zone))
        exposure = fleet_by_step(fleet, clock, origin)
        time = fleet.history.time + origin
        for by in ("weekday", "hour"):
            if until - begin < LEAST_BY[by]:
                continue
            rng = stream(asked.seed, "nodes", by)
            groups[by] = clock_groups(clock, by, exposure, time, fleet.first, rng, level=level)
    return groups
