"""What a queue does not tell, from a site's past: who is first, who is held, which nodes fail, and
who comes next."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.core.show.quantities import counted, duration
from forestall.scheduling.futures.snapshot import COLUMNS, Arrivals, NodeHazard, SchedulerRule
from forestall.site.futures.past import held, hold_law, learned_order
from forestall.site.futures.question import FuturesQuestion
from forestall.site.futures.queue import SiteQueue, limits, pools_of
from forestall.site.learning.futures.arrivals import (
    BLOCK,
    DAY,
    HORIZON,
    WEEK,
    PastSubmissions,
    redrawn,
)
from forestall.site.learning.futures.held import FEWEST
from forestall.slurm.records.node_events import FAULT, NATURES
from forestall.slurm.records.site_records import SiteRecords

REPAIR: Final = 4 * 3600
"""Seconds until a node is back where no record tells."""


def hazard_of(site: SiteRecords, now: int, nodes: int, seed: int) -> tuple[NodeHazard | None, str]:
    """Return how often nodes failed up to now and how long they were away, and that in words; no
    hazard where no failure is recorded.

    Failures are the faults among outages, else those of a failure log, else runs that ended as
    NODE_FAIL.
    """
    count, node_seconds, away, what = _failed(site, now, nodes)
    if 0 < node_seconds < DAY * nodes:
        return None, "No node fails: less than a day of records precedes this time."
    if count == 0 or node_seconds <= 0:
        return None, "No node fails: the records show no earlier failure."
    known = away[away > 0]
    repair = int(np.median(known)) if len(known) else REPAIR
    rate = min(count / node_seconds, 0.5)
    days = nodes * rate * 86_400
    source = "in the median" if len(known) else "assumed; not in the records"
    told = (
        f"Nodes fail {days:,.2g} times a day in total, as in {what}, and are back after "
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


def ordered(queue: SiteQueue, asked: FuturesQuestion, rule: SchedulerRule) -> tuple[SiteQueue, str]:
    """Return the queue with its waiting jobs in the order that was asked for, and that in words.

    Without a wish: Slurm's priorities where it told them, else an order learned from past starts
    where its own record is better than that of submission.
    """
    snapshot = queue.snapshot
    if asked.order == "priority" and queue.held is None:
        raise ParameterError("order", asked.order, "priorities, which only a running Slurm has")
    if queue.held is not None and asked.order in {"auto", "priority"}:
        return queue, "Jobs wait in order of Slurm's priorities."
    waits = np.flatnonzero(~snapshot.running)
    by_time = waits[np.lexsort((snapshot.job[waits], snapshot.ready[waits]))]
    submitted = "Jobs wait in order of when they could first start."
    if asked.order == "submitted" or len(waits) < 2:
        return moved(queue, by_time), submitted
    order, better, told = learned_order(queue.past, snapshot.now, rule, asked.seed)
    if order is None or (asked.order == "auto" and not better):
        return moved(queue, by_time), f"{submitted} {told}"
    features = queue.past.features(snapshot.now, queue.rows(by_time))
    ranked = by_time[np.argsort(-order.score(features), kind="stable")]
    return moved(queue, ranked), f"Jobs wait in a learned order. {told}"


def moved(queue: SiteQueue, waits: Ints) -> SiteQueue:
    """Return the queue with its waiting columns in another order, behind those that run."""
    snapshot = queue.snapshot
    order = np.concatenate([np.flatnonzero(snapshot.running), waits])
    columns = {name: getattr(snapshot, name)[order] for name in COLUMNS}
    held = None if queue.held is None else queue.held[order]
    return replace(
        queue, snapshot=replace(snapshot, **columns), users=queue.users[order], held=held
    )


def holds_of(
    queue: SiteQueue, rule: SchedulerRule, futures: int, seed: int
) -> tuple[Ints | None, str]:
    """Return when each job can first start in each future, int64[K, n], and that in words; None
    where nobody is held, or too little is known of it."""
    snapshot = queue.snapshot
    columns = np.flatnonzero(held(snapshot, rule) if queue.held is None else queue.held)
    if len(columns) == 0:
        return None, "No waiting job fits on the free nodes."
    law = hold_law(queue.past, queue.begin, snapshot.now, rule, seed)
    ready = np.broadcast_to(snapshot.ready, (futures, len(snapshot))).copy()
    names = counted(len(columns), "waiting jobs")
    waiting = int(np.sum(~snapshot.running))
    if len(law) < FEWEST:
        if queue.held is None:
            return None, f"{names} of {waiting:,} fit on the free nodes and start."
        ready[:, columns] = NEVER
        return ready, f"{names} of {waiting:,} are held by Slurm and start in no future."
    age = np.maximum(snapshot.now - snapshot.ready[columns], 0)
    ready[:, columns] = snapshot.now + law.draw(snapshot.job[columns], age, futures, seed)
    middle = float(np.median(ready[:, columns])) - snapshot.now
    why = "are held by Slurm" if queue.held is not None else "wait although their nodes are free"
    return ready, (
        f"{names} of {waiting:,} {why}: for a dependency, a limit or a hold. They are released "
        f"as {counted(len(law), 'such jobs')} were in the past, after a median of "
        f"{duration(middle)}."
    )


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
        return None, "No other job arrives: less than a day of records precedes this time."
    arrivals = Arrivals(drawn.submit, drawn.size, drawn.limit, drawn.run, drawn.pool)
    name = "weeks" if drawn.period == WEEK else "days"
    mean = float(np.mean(np.sum(arrivals.submit < NEVER, axis=1)))
    return arrivals, (
        f"Over the next {HORIZON // 3600} h {mean:,.0f} jobs arrive on average, redrawn in "
        f"blocks of {BLOCK // 3600} h from the last {counted(drawn.most, name)} at the same "
        f"hour{' and weekday' if drawn.period == WEEK else ''}. They queue behind the waiting "
        "jobs."
    )
