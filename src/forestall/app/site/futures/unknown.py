"""What comes beside the queue: nodes that fail, and jobs that are submitted, from a site's past."""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.app.site.futures.queue import SiteQueue, limits, pools_of
from forestall.engine.futures.snapshot import Arrivals, NodeHazard
from forestall.model.arrays import Ints
from forestall.model.site.job_records import NEVER
from forestall.model.site.node_events import FAULT, NATURES
from forestall.model.site.site_records import SiteRecords
from forestall.predict.futures.arrivals import BLOCK, HORIZON, WEEK, PastSubmissions, redrawn
from forestall.show.quantities import counted, duration

REPAIR: Final = 4 * 3600
"""Seconds until a node is back where no record tells."""


def hazard_of(site: SiteRecords, now: int, nodes: int, seed: int) -> tuple[NodeHazard | None, str]:
    """Return how often nodes failed up to now and how long they were away, and that in words; no
    hazard where no failure is recorded.

    Failures are the faults among outages, else those of a failure log, else runs that ended as
    NODE_FAIL.
    """
    count, node_seconds, away, what = _failed(site, now, nodes)
    if count == 0 or node_seconds <= 0:
        return None, "No node fails: the records tell of no failure before."
    known = away[away > 0]
    repair = int(np.median(known)) if len(known) else REPAIR
    rate = min(count / node_seconds, 0.5)
    days = nodes * rate * 86_400
    source = "in the median" if len(known) else "as assumed; the records do not tell"
    told = (
        f"Nodes fail {days:,.2g} times a day in all, as in {what}, and are back after "
        f"{duration(repair)} ({source}); jobs on them start over."
    )
    return NodeHazard(rate, max(repair, 1), now, seed), told


def _failed(site: SiteRecords, now: int, nodes: int) -> tuple[int, float, Ints, str]:
    """Return the failures before now, the node-seconds that they are of, how long nodes were away,
    and what tells of them."""
    records, events, log = site.accounting, site.events, site.failures
    assert records is not None, "no accounting"
    if events is not None:
        fault = (events.nature == NATURES.index(FAULT)) & (events.begin < now)
        closed = fault & (events.end <= now) & (events.end < NEVER)
        span = min(events.span[1], now) - events.span[0]
        away = (events.end - events.begin)[closed]
        count = int(fault.sum())
        return count, float(span) * nodes, away, f"{counted(count, 'faults')} of the outages"
    if log is not None:
        before = log.time < now
        if log.service_start is not None and log.service_end is not None:
            served = np.minimum(log.service_end, now) - log.service_start
            node_seconds = float(np.maximum(served, 0).sum())
        else:
            node_seconds = float(min(log.span, now)) * log.nodes
        count = int(before.sum())
        return count, node_seconds, log.downtime[before], f"{counted(count, 'failures')} of the log"
    failed = np.array([word.startswith("NODE_FAIL") for word in records.state.words] + [False])
    ended = failed[records.state.code] & (records.end <= now)
    count = int(ended.sum())
    what = f"{counted(count, 'runs')} that ended as NODE_FAIL"
    return count, float(now - records.begin) * nodes, np.empty(0, np.int64), what


def arrivals_of(
    site: SiteRecords, queue: SiteQueue, futures: int, seed: int
) -> tuple[Arrivals | None, str]:
    """Return who comes next, and that in words; None where the records are too short to tell."""
    records, now = site.accounting, queue.snapshot.now
    assert records is not None, "no accounting"
    limit = limits(records, now, [])
    came = (records.submit < now) & (records.attempt == 0) & (records.nodes > 0)
    rows = np.flatnonzero(came & (records.start < NEVER))
    ended = records.end[rows] <= now
    pool = pools_of(records, site.inventory, rows)[0]
    past = PastSubmissions(
        submit=records.submit[rows],
        size=np.minimum(records.nodes[rows].astype(np.int64), np.array(queue.snapshot.nodes)[pool]),
        limit=limit[rows],
        run=np.where(ended, np.maximum(records.elapsed[rows], 1), limit[rows]),
        pool=pool,
    )
    drawn = redrawn(past, records.begin, now, futures, seed)
    if drawn is None:
        return None, "Nobody else arrives: the records before are shorter than a day."
    arrivals, period, most = drawn
    name = "weeks" if period == WEEK else "days"
    mean = float(np.mean(np.sum(arrivals.submit < NEVER, axis=1)))
    return arrivals, (
        f"Over the next {HORIZON // 3600} h {mean:,.0f} jobs arrive on average, redrawn in blocks of "
        f"{BLOCK // 3600} h from the last {counted(most, name)} at the same hour"
        f"{' and weekday' if period == WEEK else ''}. They queue behind those that wait."
    )
