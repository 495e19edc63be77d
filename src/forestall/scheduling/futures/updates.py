"""Futures brought up to date: only those are played again for which an event changes something,
and from when on it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.errors import ParameterError
from forestall.scheduling.futures import play_kernels as kernels
from forestall.scheduling.futures.futures import (
    Futures,
    Redraw,
    Spread,
    first_fits,
    one_after_another,
    play_since,
)
from forestall.scheduling.futures.snapshot import (
    NEVER,
    Happened,
    QueueEvent,
    Runs,
    Snapshot,
    after,
    whole_seconds,
)
from forestall.scheduling.futures.state import PASS_DATA, Passes, passes_of


def update(
    futures: Futures,
    event: QueueEvent,
    run: Runs | None = None,
    redraw: Redraw | None = None,
    tolerance: int = 0,
    spread: Spread = one_after_another,
) -> Futures:
    """Return the futures after an event; those given are used up.

    With no tolerance the result is what `make` gives for the snapshot after the event and the same
    draws. A job that ran longer than its draw is drawn again by `redraw` (None: it ends now).

    Parameters
    ----------
    event : what happened; events come in order of time
    run : float32[K], of a submitted job how long it runs
    tolerance : seconds by which a start or end may differ from the drawn one and changes nothing
    """
    if event.kind == Happened.SUBMITTED and (run is None or len(run) != len(futures)):
        told = "nothing" if run is None else len(run)
        raise ParameterError("run", told, f"{len(futures)} draws, one for each future")
    snapshot = after(futures.snapshot, event)
    since = _since(futures, event, tolerance)
    moved = _moved(futures, snapshot, event, run)
    if not _alone(futures):
        moved = _as_given(moved)
    _outlived(moved, redraw, since)
    moved = _roomier(moved)
    _not_yet(moved, since)
    play_since(moved, since, spread)
    return moved


def _since(futures: Futures, event: QueueEvent, tolerance: int) -> Ints:
    """Return from when on each pool has to be played again, int64[pools, K]."""
    snapshot, now = futures.snapshot, event.time
    shape = (len(snapshot.nodes), len(futures))
    if not _alone(futures):
        return np.full(shape, now, np.int64)
    since = np.full(shape, NEVER, np.int64)
    others = snapshot.job != event.job
    if now > snapshot.now:
        at = np.where(snapshot.running, futures.end, futures.start)
        for pool in range(len(snapshot.nodes)):
            mine = others & (snapshot.pool == pool)
            wrong = np.any(at[:, mine] < now, axis=1)
            since[pool, wrong] = now
    if event.kind == Happened.TICK:
        return since
    if event.kind == Happened.SUBMITTED:
        pool, changed = event.pool, _when_submitted(futures, event)
    else:
        column = snapshot.column(event.job)
        pool, changed = int(snapshot.pool[column]), _when_changed(futures, event, column, tolerance)
    since[pool] = np.minimum(since[pool], changed)
    return since


def _alone(futures: Futures) -> bool:
    """Return whether futures depend on what runs and waits alone, so that parts can stay."""
    drawn = (futures.failures, futures.arrivals, futures.ready)
    limits = futures.snapshot.at_once
    return all(one is None for one in drawn) and (limits is None or not bool(limits.any()))


def _not_yet(futures: Futures, since: Ints) -> None:
    """Let jobs wait in futures that are played from now on, whatever they had done there."""
    snapshot = futures.snapshot
    for pool in range(len(snapshot.nodes)):
        rows = np.flatnonzero(since[pool] <= snapshot.now)
        columns = np.flatnonzero((snapshot.pool == pool) & ~snapshot.running)
        if len(rows) and len(columns):
            futures.start[np.ix_(rows, columns)] = NEVER
            futures.end[np.ix_(rows, columns)] = NEVER


def _when_submitted(futures: Futures, event: QueueEvent) -> Ints:
    """Return from when on a new job changes a future: where it is last in order, from its start, or
    from when it is the first that waits."""
    last = event.place is None or event.place == len(futures.snapshot)
    if not (futures.kept and last):
        return np.full(len(futures), event.time, np.int64)
    ready = event.time if event.ready is None else max(event.ready, event.time)
    start = first_fits(futures, event.size, event.limit, event.pool, ready)
    return np.minimum(start, _first_in_line(futures, event.pool, len(futures.snapshot), ready))


def _when_changed(futures: Futures, event: QueueEvent, column: int, tolerance: int) -> Ints:
    """Return from when on the start or end of a job changes a future."""
    now, snapshot = event.time, futures.snapshot
    start, end = futures.start[:, column], futures.end[:, column]
    if snapshot.running[column] or event.kind == Happened.STARTED:
        drawn = end if snapshot.running[column] else start
        as_drawn = np.abs(drawn - now) <= tolerance
        return np.asarray(np.where(as_drawn, NEVER, now))
    if not futures.kept:
        return np.full(len(futures), now, np.int64)
    ready = max(int(snapshot.ready[column]), now)
    first = _first_in_line(futures, int(snapshot.pool[column]), column, ready)
    return np.asarray(np.maximum(np.minimum(start, first), now))


def _first_in_line(futures: Futures, pool: int, column: int, ready: int) -> Ints:
    """Return from when on a job of this place holds others back by its reservation: none ahead of
    it waits any more. Jobs that are ready only later are not counted on."""
    snapshot = futures.snapshot
    ahead = (np.arange(len(snapshot)) < column) & ~snapshot.running & (snapshot.ready <= ready)
    ahead &= snapshot.pool == pool
    columns = np.flatnonzero(ahead)
    if len(columns) and len(columns) == columns[-1] - columns[0] + 1:  # a slice needs no copy
        starts = futures.start[:, columns[0] : columns[-1] + 1]
    else:
        starts = futures.start[:, columns]
    last = starts.max(axis=1, initial=ready)
    for k in np.flatnonzero(last == NEVER).tolist():
        begun = starts[k] < NEVER
        last[k] = starts[k][begun].max(initial=ready)
    return np.asarray(last)


def _as_given(futures: Futures) -> Futures:
    """Return the futures with what failures and arrivals did to them undone."""
    snapshot = futures.snapshot
    whole = whole_seconds(futures.run, snapshot.limit, futures.rule)
    return replace(
        futures,
        start=np.broadcast_to(snapshot.start, futures.run.shape).copy(),
        end=np.where(snapshot.running, snapshot.start + whole, NEVER),
        restarts=np.zeros_like(futures.restarts),
    )


def _moved(futures: Futures, snapshot: Snapshot, event: QueueEvent, run: Runs | None) -> Futures:
    """Return the futures with a column for each job of the new snapshot; none is played yet."""
    changed = replace(futures, snapshot=snapshot, ready=_ready_after(futures, event))
    if event.kind == Happened.SUBMITTED:
        place = len(futures.snapshot) if event.place is None else event.place
        return replace(
            changed,
            run=with_column(futures.run, place, np.asarray(run, np.float32)),
            start=with_column(futures.start, place, NEVER),
            end=with_column(futures.end, place, NEVER),
            restarts=with_column(futures.restarts, place, 0),
            attempt=np.insert(futures.attempt, place, 0),
        )
    if event.kind == Happened.TICK:
        return changed
    column = futures.snapshot.column(event.job)
    if event.kind == Happened.STARTED:
        drawn = futures.start[:, column] == event.time
        whole = whole_seconds(futures.run[:, column], snapshot.limit[column], futures.rule)
        futures.end[:, column] = np.where(drawn, futures.end[:, column], event.time + whole)
        futures.start[:, column] = event.time
        return changed
    return replace(
        changed,
        run=without(futures.run, column),
        start=without(futures.start, column),
        end=without(futures.end, column),
        restarts=without(futures.restarts, column),
        attempt=np.delete(futures.attempt, column),
    )


def _ready_after(futures: Futures, event: QueueEvent) -> Ints | None:
    """Return when jobs can first start after an event, where that differs from future to future."""
    ready = futures.ready
    if ready is None or event.kind in {Happened.TICK, Happened.STARTED}:
        return ready
    if event.kind == Happened.SUBMITTED:
        place = len(futures.snapshot) if event.place is None else event.place
        return with_column(ready, place, event.time if event.ready is None else event.ready)
    return without(ready, futures.snapshot.column(event.job))


def with_column(array: npt.NDArray[Any], place: int, value: Any) -> npt.NDArray[Any]:
    """Return an array with one more column; slices copy several times as fast as masks."""
    made = np.empty((array.shape[0], array.shape[1] + 1), array.dtype)
    made[:, :place], made[:, place], made[:, place + 1 :] = (
        array[:, :place],
        value,
        array[:, place:],
    )
    return made


def without(array: npt.NDArray[Any], place: int) -> npt.NDArray[Any]:
    """Return an array with one column less."""
    made = np.empty((array.shape[0], array.shape[1] - 1), array.dtype)
    made[:, :place], made[:, place:] = array[:, :place], array[:, place + 1 :]
    return made


def _roomier(futures: Futures) -> Futures:
    """Return futures with room for the passes of another play; those that are past are dropped
    where there is too little."""
    if not futures.kept:
        return futures
    snapshot, all_passes = futures.snapshot, []
    for pool, passes in enumerate(futures.passes):
        past = [
            int(np.searchsorted(times[:number], snapshot.now, side="right")) - 1
            for times, number in zip(passes.time, passes.number.tolist(), strict=True)
        ]
        edges = passes.later.shape[2] - 1
        needed = 2 * int(np.sum(snapshot.pool == pool)) + edges + PASS_DATA
        fits = max(past, default=0) + needed <= passes.time.shape[1]
        all_passes.append(passes if fits else _without_past(passes, past, needed))
    return replace(futures, passes=tuple(all_passes))


def _without_past(passes: Passes, past: list[int], needed: int) -> Passes:
    """Return the passes from the one at these places on, with room for half as many again."""
    edges = passes.later.shape[2] - 1
    room = passes_of(len(past), needed, edges, kept=True)
    for k, (place, number) in enumerate(zip(past, passes.number.tolist(), strict=True)):
        first = max(place, 0)
        left = number - first
        for name in ("time", "free", "later", "room"):
            getattr(room, name)[k, :left] = getattr(passes, name)[k, first:number]
        room.number[k] = left
        kernels.note_all_peaks(room, k)
    return room


def _outlived(futures: Futures, redraw: Redraw | None, since: Ints) -> None:
    """Draw run times anew of running jobs in those futures in which they should have ended."""
    snapshot, now = futures.snapshot, futures.snapshot.now
    over: Bools = snapshot.running & np.any(futures.end < now, axis=0)
    columns = np.flatnonzero(over)
    if len(columns) == 0:
        return
    elapsed = now - snapshot.start[columns]
    futures.attempt[columns] += 1
    if redraw is None:
        drawn = np.repeat(elapsed[:, None], len(futures), axis=1).astype(np.float32)
    else:
        drawn = redraw(snapshot.job[columns], elapsed, futures.attempt[columns])
    for place, column in enumerate(columns.tolist()):
        late = futures.end[:, column] < now
        fresh = np.maximum(np.asarray(drawn[place], np.float32), np.float32(elapsed[place]))
        futures.run[late, column] = fresh[late]
        whole = whole_seconds(futures.run[late, column], snapshot.limit[column], futures.rule)
        futures.end[late, column] = np.maximum(snapshot.start[column] + whole, now)
        pool = int(snapshot.pool[column])
        since[pool, late] = np.minimum(since[pool, late], now)
