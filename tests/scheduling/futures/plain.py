"""A plain, slow scheduler written from the rules of the futures: no profile, no heap, no blocks.

At every second in which something happens: jobs are gone through in order of priority. One that has
its nodes throughout its limit, by what is planned now, starts. One that has not gets a reservation
at its earliest time, while the rule has reservations left. A job counts with its limit to a
planner, one that outlives it with a second more; it really ends by its draw. Of an array with a
limit no more tasks take part than may run at once, those that run included; as one ends, the next
in order that is ready does.
"""

from __future__ import annotations

import numpy as np

from forestall.scheduling.futures.snapshot import NEVER, SchedulerRule, Snapshot


def planned_free(
    t: int, nodes: int, taken: list[tuple[int, int, int]], drains: list[tuple[int, int, int]]
) -> int:
    free = nodes - sum(size for start, end, size in taken if start <= t < end)
    return free - sum(size for start, end, size in drains if start <= t < end)


def earliest(
    now: int,
    size: int,
    limit: int,
    nodes: int,
    taken: list[tuple[int, int, int]],
    drains: list[tuple[int, int, int]],
) -> int:
    """Return the first time from now on from which `size` nodes are free for `limit` seconds."""
    edges = {end for _, end, _ in taken + drains} | {start for start, _, _ in taken + drains}
    times = sorted({now} | {one for one in edges if one > now})
    for start in times:
        inside = [one for one in times if start < one < start + limit]
        if all(planned_free(t, nodes, taken, drains) >= size for t in [start, *inside]):
            return start
    return NEVER


def played(snapshot: Snapshot, run: np.ndarray, rule: SchedulerRule) -> tuple[list[int], list[int]]:
    """Return starts and ends of one future of a snapshot of one pool."""
    nodes = snapshot.nodes[0]
    drains = [(one.start, one.until, one.nodes) for one in snapshot.drains]
    size, limit = snapshot.size.tolist(), snapshot.limit.tolist()
    start = snapshot.start.tolist()
    seconds = [max(1, int(np.ceil(one))) for one in run]
    if rule.killed:
        seconds = [min(one, most) for one, most in zip(seconds, limit, strict=True)]
    end = [
        max(snapshot.now, a + b) if a < NEVER else NEVER
        for a, b in zip(start, seconds, strict=True)
    ]
    now = snapshot.now
    outside = {j for j, most in enumerate(limits_of(snapshot)) if most and start[j] == NEVER}
    take_part(now - 1, snapshot, start, end, outside)
    while now < NEVER:
        take_part(now, snapshot, start, end, outside)
        ready = [NEVER if j in outside else one for j, one in enumerate(snapshot.ready.tolist())]
        one_pass(now, (nodes, size, limit, seconds, ready), start, end, drains, rule)
        coming = [t for t in end if now < t < NEVER] + [t for t in snapshot.ready if t > now]
        coming += [t for a, b, _ in drains for t in (a, b) if now < t < NEVER]
        now = min(coming, default=NEVER)
    return start, end


def limits_of(snapshot: Snapshot) -> list[int]:
    """Return of each job how many tasks of its array run at once; 0: no limit."""
    assert snapshot.array is not None
    assert snapshot.at_once is not None
    array, most = snapshot.array.tolist(), snapshot.at_once.tolist()
    largest = {one: max(b for a, b in zip(array, most, strict=True) if a == one) for one in array}
    return [largest[one] if one >= 0 else 0 for one in array]


def take_part(now: int, snapshot: Snapshot, start, end, outside: set[int]) -> None:  # type: ignore[no-untyped-def]
    assert snapshot.array is not None
    for j in sorted(outside):
        mine = [i for i in range(len(snapshot)) if snapshot.array[i] == snapshot.array[j]]
        using = [i for i in mine if i not in outside and end[i] > now]
        fits = snapshot.size[j] <= snapshot.nodes[0]
        if fits and snapshot.ready[j] <= now and len(using) < limits_of(snapshot)[j]:
            outside.remove(j)


def one_pass(now, jobs, start, end, drains, rule) -> None:  # type: ignore[no-untyped-def]
    nodes, size, limit, seconds, ready = jobs
    running = [j for j in range(len(size)) if start[j] < NEVER and end[j] > now]
    taken = [(now, max(start[j] + limit[j], now + 1), size[j]) for j in running]
    tested = reserved = 0
    for j in range(len(size)):
        if start[j] < NEVER or ready[j] > now or size[j] > nodes:
            continue
        if tested == rule.tested:
            return
        at = earliest(now, size[j], limit[j], nodes, taken, drains)
        if at == now:
            start[j], end[j] = now, now + seconds[j]
            taken.append((now, now + limit[j], size[j]))
            continue
        tested += 1
        if at < NEVER and reserved < rule.reserved:
            taken.append((at, at + limit[j], size[j]))
            reserved += 1
