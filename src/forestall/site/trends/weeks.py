"""What each week took, lost and failed: sums over calendar weeks of a site's records.

Node-hours that jobs held are split at midnight before Monday; what a run lost, and a failure, count
in the week in which they came; a wait counts in the week in which it ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from forestall.prediction.assess.losses import after_checkpoint
from forestall.reliability.report.fleet import watched
from forestall.site.shared import how_ended
from forestall.slurm.records.run_ends import LOST, cause, tells_interruptions
from forestall.slurm.sources.swf_jobs import waits_told
from forestall.slurm.sources.windows import is_dated

if TYPE_CHECKING:
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.run_ends import Ends
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

WEEK: Final = 7 * 86_400
MOST: Final = 1040
LAST_DATE: Final = 250_000_000_000
"""Times from here on (the year 9892) are no dates."""
LOST_CODES: Final = np.array([cause(name) for name in LOST])


@dataclass(frozen=True)
class Weeks:
    """Sums by week.

    Attributes
    ----------
    edges : int64[w+1], s, where weeks begin and the last ends; the first and the last week may be
        cut by the window
    dated : whether times are Unix seconds
    zone : time zone of the weeks; None: UTC
    used : int64[w], node-seconds that runs held
    lost, lost_after, lost_to_nodes : int64[w], node-seconds of runs that did not complete: all of
        them, their parts after the last checkpoint, and all of those that a node's failure ended
    stopped : int64[w], runs that a node's failure ended
    stops_told : whether the records tell a failure of a node from one of the job
    failures : int64[w], failures of nodes; None where they are not told
    median, ninth : float64[w], s, median and ninth decile of the waits that ended in the week, nan
        without any; None where waits are not told
    """

    edges: Ints
    dated: bool
    zone: str | None
    used: Ints
    lost: Ints
    lost_after: Ints
    lost_to_nodes: Ints
    stopped: Ints
    stops_told: bool
    failures: Ints | None
    median: Floats | None
    ninth: Floats | None

    def __len__(self) -> int:
        return len(self.used)

    @property
    def whole(self) -> npt.NDArray[np.bool_]:
        """Which weeks the window has all of, bool[w]; a change of clocks takes an hour of one."""
        return np.asarray(np.diff(self.edges) >= WEEK - 3600)

    def name(self, place: int) -> str:
        """Return what a week is called: the date on which it begins, or its number."""
        if not self.dated:
            return str(place + 1)
        return _local(int(self.edges[place]), self.zone).strftime("%Y-%m-%d")


def weeks_of(site: SiteRecords, asked: Asked) -> Weeks | None:
    """Return the sums by week of records that are cut to what was asked, of the last `MOST` weeks;
    None without accounting."""
    records = site.accounting
    if records is None or not len(records):
        return None
    dated = is_dated(site) and max(abs(asked.begin), abs(asked.until)) < LAST_DATE
    edges = _edges(max(asked.begin, asked.until - MOST * WEEK), asked, dated=dated)
    ends = how_ended(site)
    count = len(edges) - 1
    fleet = watched(site, asked)
    lost = _lost(records, ends, edges, asked.checkpoint_interval)
    median, ninth = _waits(records, edges) if waits_told(records) else (None, None)
    return Weeks(
        edges,
        dated,
        asked.zone,
        np.diff(_held_before(records, edges)),
        *lost,
        stops_told=tells_interruptions(records),
        failures=None if fleet is None else _counts(fleet.fleet.history.time, edges, count),
        median=median,
        ninth=ninth,
    )


def _local(time: int, zone: str | None) -> datetime:
    return datetime.fromtimestamp(time, UTC if zone is None else ZoneInfo(zone))


def _edges(begin: int, asked: Asked, *, dated: bool) -> Ints:
    """Return where weeks begin and end from `begin` to the window's end; those of undated records
    are counted from there."""
    if not dated:
        return np.append(np.arange(begin, asked.until, WEEK), asked.until)
    first = _local(begin, asked.zone)
    monday = (first - timedelta(days=first.weekday())).replace(hour=0, minute=0, second=0)
    edges = [begin]
    while (monday := monday + timedelta(days=7)).timestamp() < asked.until:
        edges.append(int(monday.timestamp()))
    return np.array([*edges, asked.until], dtype=np.int64)


def _held_before(records: Accounting, edges: Ints) -> Ints:
    """Return the node-seconds that runs held nodes from the first edge to each, int64[w+1]."""
    begin, until = int(edges[0]), min(int(edges[-1]), max(records.until, int(edges[0])))
    nodes = np.maximum(records.nodes, 0).astype(np.int64)
    start = np.clip(records.start, begin, until) - begin
    end = np.maximum(np.clip(records.end, begin, until) - begin, start)
    at = np.minimum(edges, until) - begin
    return _ramp(start, nodes, at) - _ramp(end, nodes, at)


def _ramp(times: Ints, nodes: Ints, at: Ints) -> Ints:
    """Return the sum of nodes * max(0, at - time) at each moment, exact."""
    order = np.argsort(times)
    times, nodes = times[order], nodes[order]
    place = np.searchsorted(times, at)
    many, ahead = (np.concatenate(([0], np.cumsum(one))) for one in (nodes, nodes * times))
    return np.asarray(many[place] * at - ahead[place])


def _counts(times: Ints, edges: Ints, count: int) -> Ints:
    place = np.searchsorted(edges, times, "right") - 1
    return np.bincount(place[(place >= 0) & (place < count)], minlength=count)


def _lost(
    records: Accounting, ends: Ends, edges: Ints, interval: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return what runs of each week lost: node-seconds of all of them, after the last checkpoint,
    and to failures of nodes; and how many runs those ended."""
    rows = np.flatnonzero(np.isin(ends.causes, LOST_CODES))
    place = np.searchsorted(edges, records.end[rows], "right") - 1
    # A run that ended in the window's last second ends at its end.
    place = np.minimum(place, len(edges) - 2)
    there = (place >= 0) & (records.end[rows] <= edges[-1])
    rows, place = rows[there], place[there]
    nodes = np.maximum(records.nodes[rows], 0).astype(np.int64)
    seconds = ends.elapsed[rows]
    broken = ends.causes[rows] == cause("node_failure")

    def summed(value: Ints) -> Ints:
        total = np.zeros(len(edges) - 1, dtype=np.int64)
        np.add.at(total, place, value)
        return total

    return (
        summed(nodes * seconds),
        summed(nodes * after_checkpoint(seconds, interval)),
        summed(np.where(broken, nodes * seconds, 0)),
        summed(broken.astype(np.int64)),
    )


def _waits(records: Accounting, edges: Ints) -> tuple[Floats, Floats]:
    """Return median and ninth decile of the waits that ended in each week, s."""
    wait = records.wait
    rows = np.flatnonzero((wait >= 0) & (records.start >= edges[0]) & (records.start < edges[-1]))
    rows = rows[np.argsort(records.start[rows], kind="stable")]
    cuts = np.searchsorted(records.start[rows], edges)
    found = np.full((2, len(edges) - 1), np.nan)
    for k, (low, high) in enumerate(pairwise(cuts.tolist())):
        if high > low:
            found[:, k] = np.quantile(wait[rows[low:high]], (0.5, 0.9))
    return found[0], found[1]
