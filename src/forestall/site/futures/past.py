"""What a site's past tells of its scheduler: how long jobs are held, and whom it starts first."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools
from forestall.core.show.quantities import counted
from forestall.core.streams import stream
from forestall.scheduling.futures.snapshot import COLUMNS, NEVER, SchedulerRule, Snapshot
from forestall.scheduling.simulation.futures.run import make_futures
from forestall.site.learning.futures.held import HoldLaw
from forestall.site.learning.futures.order import PastQueue, StartOrder, choices, fitted

MOMENTS: Final = 120
"""Moments of the past at which jobs are looked for that are held."""
JUDGED: Final = 24
"""Moments of the past at which orders are played."""
WINDOW: Final = 60 * 86_400
"""From how long ago moments are."""
ROUNDS: Final = 20


def held(snapshot: Snapshot, rule: SchedulerRule) -> Bools:
    """Return which waiting jobs could start now by the free nodes, each by itself, bool[n].

    Plans go by limits alone, so that what starts now does so in every future; those that do are
    taken out until nobody does.
    """
    found = np.zeros(len(snapshot), np.bool_)
    for _ in range(ROUNDS):
        rest = np.flatnonzero(~found)
        part = replace(snapshot, **{name: getattr(snapshot, name)[rest] for name in COLUMNS})
        if bool(part.running.all()):
            break
        planned = make_futures(part, part.limit[None].astype(np.float32), rule, workers=1)
        starts = (planned.start[0] <= snapshot.now) & ~part.running
        if not bool(starts.any()):
            break
        found[rest[starts]] = True
    return found


def moment_of(past: PastQueue, now: int, order: StartOrder | None = None) -> Snapshot:
    """Return the queue at a moment of the past; a job's name is its row."""
    rows = past.recent(now)
    runs = rows[(past.start[rows] <= now) & (past.end[rows] > now)]
    waits = rows[(past.ready[rows] <= now) & (past.start[rows] > now) & (past.end[rows] > now)]
    if order is None:
        waits = waits[np.argsort(past.ready[waits], kind="stable")]
    else:
        waits = waits[order.rank(past, now, waits)]
    job = np.concatenate([runs, waits])
    used = np.bincount(past.pool[runs], past.size[runs], len(past.nodes)).astype(np.int64)
    return Snapshot(
        now=now,
        nodes=tuple(np.maximum(past.nodes, used).tolist()),
        job=job,
        size=past.size[job],
        limit=past.limit[job],
        start=np.where(np.arange(len(job)) < len(runs), past.start[job], NEVER),
        ready=past.ready[job],
        pool=past.pool[job],
    )


def hold_law(past: PastQueue, begin: int, now: int, rule: SchedulerRule, seed: int) -> HoldLaw:
    """Return how much longer jobs waited at moments before now at which their nodes were free."""
    moments = stream(seed, "futures", "holds").integers(
        max(begin, now - WINDOW), max(now - 3600, begin + 1), MOMENTS
    )
    ages, left = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for moment in moments.tolist():
        snapshot = moment_of(past, moment)
        rows = snapshot.job[held(snapshot, rule)]
        # One that was cancelled tells nothing; one that still waits, how long it has.
        rows = rows[(past.start[rows] < NEVER) | (past.end[rows] == NEVER)]
        ages.append(moment - past.ready[rows])
        left.append(np.minimum(past.start[rows], now) - moment)
    return HoldLaw.of(np.concatenate(ages), np.concatenate(left))


def learned_order(
    past: PastQueue, now: int, rule: SchedulerRule, seed: int
) -> tuple[StartOrder | None, bool, str]:
    """Return an order learned from past starts, whether its own record is better than that of the
    order of submission, and both records in words.

    Learned from the first half of the choices, it is judged by the second: how often the job that
    it puts first is one that started, and how far the starts of plays with the true run times lie
    from the real ones, as a factor.
    """
    seen = choices(past, now, seed)
    half = fitted(seen.take(slice(0, len(seen) // 2)))
    whole = fitted(seen)
    if half is None or whole is None:
        return None, False, "Too few past starts involved a choice, so no order was learned."
    later = seen.take(slice(len(seen) // 2, None))
    right = later.right(later.features[:, :, 0]), later.right(half.score(later.features))
    first = int(later.time[0])
    moments = np.sort(stream(seed, "futures", "judge").integers(first, max(now, first + 1), JUDGED))
    off = [
        float(np.mean(found)) if found else np.inf
        for found in (
            [one for moment in moments.tolist() for one in misses(past, moment, rule, order)]
            for order in (None, half)
        )
    ]
    better = off[1] < off[0]
    told = (
        f"An order learned from {counted(len(seen), 'starts')} predicts the next start in "
        f"{100 * right[1]:.0f} % of {len(later):,} choices, submission order in "
        f"{100 * right[0]:.0f} %"
    )
    if not np.isfinite(off).all():
        return whole, False, f"{told}; no past start shows which predicts start times better."
    factors = [f"{np.exp(one):,.2f}" for one in off]
    told += (
        f"; its start times are off by a factor of {factors[1]}, those of submission order by "
        f"{factors[0]} ({JUDGED} past queues, simulated with the true run times)."
    )
    return whole, better, told


def misses(
    past: PastQueue, moment: int, rule: SchedulerRule, order: StartOrder | None
) -> list[float]:
    """Return how far the start of each waiting job lies from the real one in a play with the true
    run times, as a logarithm; jobs that are held start when they did."""
    snapshot = moment_of(past, moment, order)
    known = snapshot.running | (past.start[snapshot.job] < NEVER)
    snapshot = replace(snapshot, **{name: getattr(snapshot, name)[known] for name in COLUMNS})
    real = past.start[snapshot.job]
    if bool(snapshot.running.all()):
        return []
    ready = np.where(held(snapshot, rule), real, snapshot.ready)
    run = np.minimum(past.end[snapshot.job] - real, snapshot.limit)[None].astype(np.float32)
    played = make_futures(snapshot, run, rule, ready=ready[None], workers=1)
    waits = ~snapshot.running & (ready == snapshot.ready) & (played.start[0] < NEVER)
    said = np.log1p((played.start[0][waits] - moment) / 60)
    return list(np.abs(said - np.log1p((real[waits] - moment) / 60)).tolist())
