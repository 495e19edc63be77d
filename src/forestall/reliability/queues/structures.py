"""Which queues to have: a search over structures for few failures at equal capacity.

What is asked. A mix of jobs (nodes, run time, weight) and a budget of B nodes are given. A
structure is a set of queues, each with nodes per job N, limit T and slots J. Every job goes to the
queue that it fits (its nodes <= N, its run time <= T) of least failure probability, and holds a
slot of N nodes for as long as it runs. Either the queues share the nodes, N <= B for each of them,
or each has nodes of its own and sum(N J) <= B.

- F_job = sum over queues of the share of jobs that go there times F = 1 - R(T)^N: what the queues
  promise, each job taken to fill its queue. What the jobs do by their own nodes and run times does
  not depend on the queues (`JobMix.own_failure`); it is the floor of F_job.
- Capacity: the mix can be multiplied until the machine is full: with shared nodes at a rate of
  B / sum over queues of (N sum(weight time)) mixes per unit of time, and the slots are the fewest
  that carry it (that a large job must wait until enough nodes are free at once is left out); with
  nodes of their own until the first queue is full, at min(J / sum(weight time)). Capacity is the
  work of the jobs that are then carried, node-hours per hour; it is at most B, less what slots have
  more nodes than their jobs and what whole slots leave over.

Closer limits lower F_job and closer sizes both lower it and raise capacity, but queues are few, and
with nodes of their own whole slots take capacity back. So the answer is a curve: the structures
that no other beats in both.

How it is found. Nodes and limits of the best structures are those of some of the jobs. Where these
differ in few sizes and run times all of them are candidates; else quantiles, the queues there are,
and the limits that would be best for queues of one size, which a dynamic program finds. Where all
structures of up to the wanted number of queues are few enough they are all tried. Else, for each
of a row of wanted capacities, hill climbing from several starts (the queues there are among them; a
seeded generator draws others) puts one queue instead of another, adds one or drops one, and takes
the best of all such steps until none helps. Every structure that was looked at competes for the
curve, and those on it once more, drawn in to the largest and longest job of each queue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.queues.job_mix import JobMix, LogNode, best_limits, turnaround
from forestall.reliability.queues.queues import Queue

Progress = Callable[[int, int], None]

EXACT = 250_000
"""Up to so many structures all are tried."""
BATCH = 2048
TARGETS = 12
STARTS = 3


@dataclass(frozen=True)
class Structure:
    """A set of queues and what it does with a mix.

    Attributes
    ----------
    queues : in order of failure probability
    failures : F of each
    shares : of the jobs that go to each
    failure : F_job
    capacity : work carried, node-hours per hour
    largest : node-seconds of the largest job admitted, nodes times limit
    turnaround : mean wait and run time at the wanted load, s; inf where it is too much
    busy : of each queue, the run time in it of a mean job, s
    """

    queues: tuple[Queue, ...]
    failures: tuple[float, ...]
    shares: tuple[float, ...]
    failure: float
    capacity: float
    largest: float
    turnaround: float
    busy: tuple[float, ...] = ()


@dataclass(frozen=True)
class Curve:
    """What a search found.

    Attributes
    ----------
    structures : the trade-off: none has both a lower F_job and a higher capacity than another
    exact : whether every structure of the candidates was tried
    tried : structures that were looked at
    """

    structures: tuple[Structure, ...]
    exact: bool
    tried: int

    def best(self, capacity: float) -> Structure | None:
        """Return the structure of least F_job with at least this capacity, or None."""
        enough = [s for s in self.structures if s.capacity >= capacity * (1 - 1e-9)]
        return min(enough, key=lambda s: s.failure, default=None)


class Candidates:
    """The queues to choose from, and the mix on their grid.

    Parameters
    ----------
    mix : the jobs
    log_node : logarithm of one node's survival, for an array of times (s)
    sizes, limits : ascending; the last of each covers every job
    """

    def __init__(self, mix: JobMix, log_node: LogNode, sizes: Floats, limits: Floats) -> None:
        self.mix, self.work, self.log_node = mix, mix.work, log_node
        row = np.searchsorted(sizes, mix.nodes)
        column = np.searchsorted(limits, mix.runtime)
        if int(row.max()) >= len(sizes) or int(column.max()) >= len(limits):
            what = (float(mix.nodes.max()), float(mix.runtime.max()))
            raise ParameterError("jobs", what, "jobs within the largest candidate")
        shape = (len(sizes), len(limits))
        cell = row * len(limits) + column
        cells, self.cell = np.unique(cell, return_inverse=True)
        count = math.prod(shape)

        def add(values: Floats) -> Floats:
            return np.bincount(cell, values, minlength=count)[cells].astype(np.float64)

        self.weight = add(mix.weight)
        self.time = add(mix.weight * mix.runtime)
        rows, columns = np.divmod(cells, len(limits))
        a, b = (index.ravel() for index in np.indices(shape))
        fits = (rows <= a[:, None]) & (columns <= b[:, None])
        # A queue that no job fills in nodes, or none in time, has a tighter one beside it.
        tight = np.any(fits & (rows == a[:, None]), axis=1)
        tight &= np.any(fits & (columns == b[:, None]), axis=1)
        a, b, fits = a[tight], b[tight], fits[tight]
        self.nodes, self.limit = sizes[a], limits[b]
        self.failure = -np.expm1(self.nodes * log_node(self.limit))
        order = np.lexsort((self.limit, self.nodes, self.failure))
        self.nodes, self.limit, self.failure = (
            column[order] for column in (self.nodes, self.limit, self.failure)
        )
        self.cost = np.where(fits[order], self.failure[:, None], np.inf)
        self.top = (
            int(np.flatnonzero(fits[order].all(axis=1))[0]) if bool(fits.all(axis=1).any()) else -1
        )

    def __len__(self) -> int:
        return len(self.nodes)

    def assign(self, chosen: Ints) -> tuple[Floats, Floats, Floats]:
        """Return F_job, float64[s], and of each queue its share of the jobs and its busy slots per
        mix, float64[s, k], for structures int64[s, k].

        -1 stands for no queue. F_job is inf where some job fits nowhere.
        """
        cost = np.where((chosen >= 0)[..., None], self.cost[chosen], np.inf)  # [s, k, cells]
        place = cost.argmin(axis=1)
        failure = cost.min(axis=1) @ self.weight
        mine = place[:, None, :] == np.arange(chosen.shape[1])[None, :, None]
        return failure, mine @ self.weight, mine @ self.time

    def slots(
        self, chosen: Ints, busy: Floats, budget: int, *, shared: bool = False
    ) -> tuple[Floats, Floats]:
        """Return how many mixes per second the best whole slots carry, float64[s], and the slots.

        With nodes of their own: the largest rate x with sum(N ceil(x busy)) <= budget, by
        bisection. 0 where even a slot of each queue is too much. Queues without jobs get no slot.
        """
        nodes = np.where(busy > 0, self.nodes[chosen], 0.0)
        low = np.zeros(len(chosen))
        high = budget / np.maximum((nodes * busy).sum(axis=1), 1e-300)
        if shared:
            slots = np.ceil(high[:, None] * busy * (1 - 1e-12))
            return np.where(nodes.max(axis=1) <= budget, high, 0.0), slots
        for _ in range(44):
            middle = 0.5 * (low + high)
            fits = (nodes * np.ceil(middle[:, None] * busy)).sum(axis=1) <= budget
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        slots = np.ceil(low[:, None] * busy)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(busy > 0, slots / busy, np.inf).min(axis=1)
        possible = nodes.sum(axis=1) <= budget
        return np.where(possible, rate, 0.0), slots

    def evaluate(self, chosen: Ints, budget: int, *, shared: bool = False) -> tuple[Floats, Floats]:
        """Return F_job and capacity (node-hours per hour) of structures int64[s, k]."""
        failure, _, busy = self.assign(chosen)
        rate, _ = self.slots(chosen, busy, budget, shared=shared)
        capacity = np.where(np.isfinite(failure), rate * self.work, 0.0)
        return failure, capacity

    def structure(
        self, chosen: Sequence[int], budget: int, demand: float, *, shared: bool = False
    ) -> Structure:
        """Return one structure with all that is known of it.

        `demand` is the work that comes, node-hours per hour, for the turnaround.
        """
        row = np.array([sorted(chosen)], dtype=np.int64)
        failure, shares, busy = (part[0] for part in self.assign(row))
        rate, slots = (part[0] for part in self.slots(row, busy[None, :], budget, shared=shared))
        used = [k for k in range(row.shape[1]) if busy[k] > 0]
        place = self.cost[row[0]].argmin(axis=0)[self.cell]
        queues = tuple(
            Queue(
                f"q{i}",
                int(self.nodes[row[0][k]]),
                float(self.limit[row[0][k]]),
                int(slots[k]) or 1,
            )
            for i, k in enumerate(used, 1)
        )
        return Structure(
            queues,
            tuple(float(self.failure[row[0][k]]) for k in used),
            tuple(float(shares[k]) for k in used),
            float(failure),
            float(rate * self.work),
            max(queue.nodes * queue.limit for queue in queues),
            turnaround(self.mix, place, slots.tolist(), demand),
            tuple(float(busy[k]) for k in used),
        )

    def drawn_in(self, chosen: Sequence[int]) -> tuple[Candidates, list[int]]:
        """Return the queues of a structure drawn in to the jobs that go to each, as candidates of
        their own: no more failures, but jobs may then go to queues of more nodes."""
        here, row = self, list(chosen)
        while True:
            place = here.cost[row].argmin(axis=0)[here.cell]
            corners = sorted(
                {
                    (float(self.mix.nodes[mine].max()), float(self.mix.runtime[mine].max()))
                    for k in range(len(row))
                    if bool((mine := place == k).any())
                }
            )
            before = {(float(here.nodes[k]), float(here.limit[k])) for k in row}
            if before == set(corners):
                return here, row
            sizes, limits = (np.unique(axis) for axis in zip(*corners, strict=True))
            here = Candidates(self.mix, self.log_node, sizes, limits)
            pairs = list(zip(here.nodes.tolist(), here.limit.tolist(), strict=True))
            row = [pairs.index(corner) for corner in corners]

    def starting(self, queues: Sequence[Queue]) -> list[int]:
        """Return the candidates that stand for given queues: of no more nodes and no longer."""
        found: set[int] = set()
        for queue in queues:
            fits = np.flatnonzero((self.nodes <= queue.nodes) & (self.limit <= queue.limit))
            if len(fits):
                found.add(int(fits[np.lexsort((self.limit[fits], self.nodes[fits]))[-1]]))
        return sorted(found)


def candidates_of(
    mix: JobMix, log_node: LogNode, *, sizes: int = 12, limits: int = 14,
    queues: Sequence[Queue] = (),
) -> Candidates:  # fmt: skip
    """Return candidates that cover a mix: about so many sizes and run times of its jobs, and what
    given queues amount to."""
    nodes, work = np.ceil(mix.nodes), mix.weight * mix.nodes * mix.runtime
    there, steps = np.unique(nodes), np.unique(mix.runtime)
    if len(there) > sizes:
        present = [nodes[nodes <= q.nodes].max(initial=0.0) for q in queues]
        there = np.union1d(_spread(nodes, work, sizes), [n for n in present if n])
    if len(steps) > limits:
        present = [mix.runtime[mix.runtime <= q.limit].max(initial=0.0) for q in queues]
        best = best_limits(mix, log_node, float(nodes.max()), 3)
        steps = np.union1d(_spread(mix.runtime, work, limits - len(best)), best)
        steps = np.union1d(steps, [t for t in present if t])
    return Candidates(mix, log_node, there, steps)


def _spread(values: Floats, work: Floats, most: int) -> Floats:
    """Return at most so many of the values: quantiles by work and by logarithm, and the largest."""
    order = np.argsort(values, kind="stable")
    done = np.cumsum(work[order]) / work.sum()
    half = most // 2
    steps = np.searchsorted(done, np.arange(1, half + 1) / half * (1 - 1e-12))
    by_work = values[order[np.minimum(steps, len(order) - 1)]]
    there = np.unique(values)
    wanted = np.geomspace(there[0], there[-1], most - half)
    by_log = there[np.minimum(np.searchsorted(there, wanted * (1 - 1e-12)), len(there) - 1)]
    return np.unique(np.concatenate((by_work, by_log, there[-1:])))


def search(
    candidates: Candidates,
    budget: int,
    rng: np.random.Generator,
    *,
    queues: int = 4,
    demand: float = 0.0,
    shared: bool = False,
    present: Sequence[Queue] = (),
    progress: Progress | None = None,
) -> Curve:
    """Return the trade-off between F_job and capacity; see the head of this module.

    Parameters
    ----------
    budget : nodes, in all slots together where each queue has its own
    rng : draws the starts of the search; nothing is drawn where all structures are tried
    queues : at most so many
    demand : work that comes, node-hours per hour, for the turnaround
    shared : whether queues share the nodes, or each has its own
    present : queues that there are, to start from

    Raises ParameterError where no structure of so many nodes takes every job.
    """
    if queues < 1:
        raise ParameterError("queues", queues, "at least 1")
    if budget < 1:
        raise ParameterError("nodes", budget, "at least 1")
    most = min(queues, len(candidates))
    number = sum(math.comb(len(candidates), k) for k in range(1, most + 1))
    archive = _Archive(candidates, budget, shared)
    if number <= EXACT:
        _try_all(archive, most, number, progress)
    else:
        _climb(archive, most, rng, progress, candidates.starting(present)[:most])
    if not archive.points:
        largest = (float(candidates.nodes.max()), float(candidates.limit.max()))
        raise ParameterError(
            "nodes", budget, f"enough for the largest job of the mix: {largest[0]:.0f} nodes"
        )
    rows = [(candidates, list(chosen)) for _, _, chosen in archive.points]
    rows += [candidates.drawn_in(chosen) for _, chosen in rows]
    found = [some.structure(row, budget, demand, shared=shared) for some, row in rows]
    return Curve(unbeaten(found), number <= EXACT, archive.tried)


def unbeaten(structures: Sequence[Structure]) -> tuple[Structure, ...]:
    """Return the structures that no other beats, the highest capacity first."""
    order = sorted(structures, key=lambda s: (-s.capacity, s.failure, len(s.queues)))
    kept: list[Structure] = []
    for one in order:
        if not kept or one.failure < kept[-1].failure * (1 - 1e-12):
            kept.append(one)
    return tuple(kept)


class _Archive:
    """The structures that no other beats, among those that were looked at."""

    def __init__(self, candidates: Candidates, budget: int, shared: bool = False) -> None:
        self.candidates, self.budget, self.shared = candidates, budget, shared
        self.points: list[tuple[float, float, tuple[int, ...]]] = []
        self.tried = 0

    def look(self, chosen: Ints) -> tuple[Floats, Floats]:
        """Evaluate structures, keep the good ones, return F_job and capacity."""
        failure, capacity = self.candidates.evaluate(chosen, self.budget, shared=self.shared)
        self.tried += len(chosen)
        possible = np.flatnonzero(np.isfinite(failure) & (capacity > 0))
        order = possible[np.lexsort((failure[possible], -capacity[possible]))]
        best = np.minimum.accumulate(failure[order])
        first = np.append(True, best[1:] < best[:-1]) if len(order) else np.zeros(0, dtype=np.bool_)
        for k in order[first].tolist():
            row = tuple(sorted(int(q) for q in chosen[k] if q >= 0))
            self.points.append((float(failure[k]), float(capacity[k]), row))
        self._thin()
        return failure, capacity

    def _thin(self) -> None:
        self.points.sort(key=lambda p: (-p[1], p[0], len(p[2]), p[2]))
        kept, least = [], math.inf
        for point in self.points:
            if point[0] < least * (1 - 1e-12):
                kept.append(point)
                least = point[0]
        self.points = kept


def _try_all(archive: _Archive, most: int, number: int, progress: Progress | None) -> None:
    for batch in _batches(len(archive.candidates), most):
        archive.look(batch)
        if progress is not None:
            progress(archive.tried, number)


def _batches(count: int, most: int) -> Iterator[Ints]:
    for k in range(1, most + 1):
        rows = combinations(range(count), k)
        while part := list(islice(rows, BATCH)):
            yield np.array(part, dtype=np.int64)


def _climb(
    archive: _Archive,
    most: int,
    rng: np.random.Generator,
    progress: Progress | None,
    present: Sequence[int] = (),
) -> None:
    top = archive.candidates.top
    base = [top] if top >= 0 else []
    count = len(archive.candidates)
    archive.look(np.array([base or [0]], dtype=np.int64))
    highest = archive.budget * 1.0
    done, total = 0, TARGETS * (STARTS + bool(present))
    for target in np.linspace(0.0, 1.0, TARGETS, endpoint=False)[::-1].tolist():
        drawn = (
            rng.choice(count, size=min(most - 1, start), replace=False).tolist()
            for start in range(STARTS)
        )
        starts = [sorted({*base, *more} or {0}) for more in drawn]
        for start in [*starts, *([list(present)] if present else [])]:
            _hill(archive, start, most, target * highest)
            done += 1
            if progress is not None:
                progress(done, total)


def _hill(archive: _Archive, start: list[int], most: int, wanted: float) -> None:
    """Climb from a structure: enough capacity first, then the least F_job."""
    now, value = start, (math.inf, math.inf)
    for _ in range(60):
        near = _neighbours(now, len(archive.candidates), most)
        failure, capacity = archive.look(near)
        short = np.maximum(wanted - capacity, 0.0)
        best = int(np.lexsort((failure, short))[0])
        found = (float(short[best]), float(failure[best]))
        if found >= value:
            return
        now, value = [int(q) for q in near[best] if q >= 0], found


def _neighbours(now: list[int], count: int, most: int) -> Ints:
    """Return the structure, and all with one queue replaced, added or dropped, int64[s, most]."""
    rows = [now]
    rows += [now[:k] + now[k + 1 :] for k in range(len(now)) if len(now) > 1]
    others = [q for q in range(count) if q not in now]
    rows += [[*now[:k], q, *now[k + 1 :]] for k in range(len(now)) for q in others]
    if len(now) < most:
        rows += [[*now, q] for q in others]
    out = np.full((len(rows), most), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        out[i, : len(row)] = row
    return out


def as_they_are(
    mix: JobMix,
    queues: Sequence[Queue],
    failures: Sequence[float],
    *,
    nodes: float = math.inf,
    demand: float = 0.0,
) -> tuple[Structure, float]:
    """Return what given queues do with a mix, and the share of the jobs that fit none of them.

    Capacity is limited by the slots, and by `nodes` where queues share them. Jobs that do not fit
    are left out.
    """
    order = sorted(range(len(queues)), key=lambda k: (failures[k], k))
    queues, failures = [queues[k] for k in order], [failures[k] for k in order]
    place = np.full(len(mix.nodes), -1)
    for k in range(len(queues) - 1, -1, -1):
        fits = (mix.nodes <= queues[k].nodes) & (mix.runtime <= queues[k].limit)
        place[fits] = k
    there = place >= 0
    if not bool(np.any(mix.weight[there] > 0)):
        raise ParameterError("jobs", len(mix.nodes), "a job that fits some queue")
    kept, place = mix.take(there), place[there]
    busy = np.bincount(place, kept.weight * kept.runtime, minlength=len(queues))
    shares = np.bincount(place, kept.weight, minlength=len(queues))
    with np.errstate(divide="ignore"):
        rate = float(np.min(np.array([queue.slots for queue in queues]) / busy))
    rate = min(rate, nodes / float(busy @ np.array([queue.nodes for queue in queues])))
    found = Structure(
        tuple(queues),
        tuple(failures),
        tuple(shares.tolist()),
        float(shares @ np.array(failures)),
        rate * kept.work,
        max(queue.nodes * queue.limit for queue in queues),
        turnaround(kept, place, [queue.slots for queue in queues], demand),
        tuple(busy.tolist()),
    )
    return found, 1 - float(mix.weight[there].sum())
