"""The promise scheduler, written straight from its specification; slow and plain on purpose.

Readings of what the specification leaves open are marked "Reading:".
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from dataclasses import dataclass

from .result import FailureRow, Hit, JobRow, ReferenceRun, Run, finished_run

# Events of one second run in this order. Recovery (2) needs no event of its own: a node is down at
# t as long as t < up_at[node], and nothing before rank 3 asks whether a node is up.
FINISH, SAVED, FAILURE, REQUEST, START, ARRIVAL = 0, 1, 3, 4, 5, 6


@dataclass
class _Job:
    """What is known of a job. `token` tells the events of its present placement from stale ones."""

    submit: int
    size: int
    runtime: int
    estimate: int
    order: int
    token: int = 0
    saved: int = 0  # progress that a failure cannot take away any more
    progress: int = 0  # progress at the last event
    since: int = 0  # requests since the last performed checkpoint or the (re)start
    running: bool = False
    start: int = 0  # of the present run
    mark: int = 0  # start of the last completed checkpoint of this run, or the run's start
    completed: int = 0  # checkpoints completed in the present run
    asked_at: int = 0  # when the checkpoint in progress was requested
    performed: int = 0
    skipped: int = 0
    deadline: int | None = None
    promise: float = 0.0


class _Predictor:
    """The trace predictor: failures with detectability <= accuracy, in order of (time, node)."""

    def __init__(self, failures: list[FailureRow], accuracy: float) -> None:
        self.known = [f for f in failures if f[3] <= accuracy]
        self.times = [f[0] for f in self.known]
        self.longest = max((f[2] for f in self.known), default=0)

    def during(self, start: int, end: int) -> list[FailureRow]:
        """Return the predictable failures with start <= time < end."""
        return self.known[bisect_left(self.times, start) : bisect_left(self.times, end)]

    def matters(self, now: int, start: int, end: int) -> list[FailureRow]:
        """Return those that would hurt a job on [start, end): within it, or leaving the node down.

        Where all failures share one downtime these are the failures within
        [max(now, start - downtime + 1), end).
        """
        earliest = max(now, start - self.longest + 1)
        latest_first = self.during(min(earliest, end), end)
        return [f for f in latest_first if f[0] >= now and f[0] + f[2] > start]


def first_detectability(failures: list[FailureRow], nodes: set[int] | frozenset[int]) -> float:
    """Return the detectability of the first failure on these nodes, 0 where there is none."""
    for _, node, _, detectability in failures:
        if node in nodes:
            return detectability
    return 0.0


def least_together(ranked: list[int], size: int, ahead: list[FailureRow]) -> frozenset[int]:
    """Return the first `size` of the ranked nodes; or, where sets of less risk begin to fail with
    another failure than they do, the first such set: its failing node, and of those that fail after
    it or not at all the first ones. Every failure of a node is tried, by counting who is left."""
    chosen = frozenset(ranked[:size])
    for _, node, _, risk in sorted(ahead, key=lambda f: (f[3], f[0], f[1])):
        before = [f[1] for f in ahead[: next(k for k, f in enumerate(ahead) if f[1] == node)]]
        first = next(f[3] for f in ahead if f[1] == node)  # later failures of it count for nothing
        rest = [other for other in ranked if other != node and other not in before]
        better = risk == first < first_detectability(ahead, chosen)
        if better and node in ranked and len(rest) >= size - 1:
            chosen = frozenset([node, *rest[: size - 1]])
    return chosen


class _Simulation:
    def __init__(
        self,
        jobs: list[JobRow],
        failures: list[FailureRow],
        nodes: int,
        accuracy: float,
        risk: float,
        overhead: int,
        interval: int,
        checkpoint: str,
        placement: str,
        topology: list[tuple[int, set[int]]] | str | None = None,
        slack: float = 0.0,
    ) -> None:
        # Job order: submit order, then position in the log.
        ranks = {job: k for k, job in enumerate(sorted(range(len(jobs)), key=lambda j: jobs[j][0]))}
        self.jobs = [_Job(*row, order=ranks[j]) for j, row in enumerate(jobs)]
        self.failures = failures
        self.nodes = nodes
        self.risk = risk
        self.overhead = overhead
        self.interval = interval
        self.checkpoint = checkpoint
        self.placement = placement
        self.topology = topology
        self.slack = slack
        self.predictor = _Predictor(failures, accuracy)
        self.reservations: dict[int, tuple[int, int, frozenset[int]]] = {}
        self.up_at = [-(10**18)] * nodes  # the node is down at t if t < up_at[node]
        self.runs: list[Run] = []
        self.hits: list[Hit] = []
        self.unfinished = len(jobs)
        # (time, kind, job order or node, position in the jobs or the failures, token)
        self.heap: list[tuple[int, int, int, int, int]] = []

    # ---------------------------------------------------------------- the event loop

    def run(self) -> None:
        for key, job in enumerate(self.jobs):
            self.push(job.submit, ARRIVAL, key)
        for key, (time, node, _, _) in enumerate(self.failures):
            heapq.heappush(self.heap, (time, FAILURE, node, key, 0))
        while self.unfinished:
            now, kind, _, key, token = heapq.heappop(self.heap)
            if kind == FAILURE:
                self.node_fails(now, key)
            elif token == self.jobs[key].token:
                handler = {
                    FINISH: self.finishes,
                    SAVED: self.checkpoint_finishes,
                    REQUEST: self.requests_checkpoint,
                    START: self.start_is_due,
                    ARRIVAL: self.place,
                }[kind]
                handler(now, key)

    def push(self, time: int, kind: int, key: int) -> None:
        job = self.jobs[key]
        heapq.heappush(self.heap, (time, kind, job.order, key, job.token))

    # ---------------------------------------------------------------- placing

    def length(self, job: _Job) -> int:
        """Return E. Reading: work left is the estimate less what is saved."""
        work = job.estimate - job.saved
        if self.checkpoint == "none":
            return work
        requests = -(-work // self.interval) - 1
        return work + requests * self.overhead

    def candidates(self, now: int, negotiate: bool) -> list[int]:
        times = {now}
        times.update(end for _, end, _ in self.reservations.values() if end > now)
        times.update(up for up in self.up_at if up > now)
        if negotiate:
            known = self.predictor.known
            times.update(x + down for x, _, down, _ in known if x >= now)
        return sorted(times)

    def free_nodes(self, start: int, end: int, size: int) -> list[int]:
        """Return the nodes free on [start, end), ascending; maybe nothing if fewer than `size`."""
        taken = {node for node, up in enumerate(self.up_at) if start < up}
        for reserved_start, reserved_end, nodes in self.reservations.values():
            if reserved_start < end and start < reserved_end:
                taken |= nodes
                if self.nodes - len(taken) < size:
                    return []
        return [node for node in range(self.nodes) if node not in taken]

    def choose(self, free: list[int], size: int, ahead: list[FailureRow]) -> frozenset[int]:
        if self.placement == "first":
            return frozenset(free[:size])
        own: dict[int, float] = {}
        for _, node, _, detectability in ahead:
            own.setdefault(node, detectability)  # the first failure of each node
        ranked = sorted(free, key=lambda node: (own.get(node, 0.0), node))
        if self.placement == "fault-aware":
            return frozenset(ranked[:size])
        return least_together(ranked, size, ahead)

    def near(
        self, free: list[int], size: int, ahead: list[FailureRow], wanted: float
    ) -> frozenset[int]:
        """Return the nodes of the unit in which a job is to have them: of all sets that lose at
        most `slack` to the best one, and not what is wanted, the one at the lowest level, of least
        risk, with the fewest nodes free beside it, the first."""
        if self.topology is None:
            return self.choose(free, size, ahead)
        offers: list[tuple[int, float, int, int, frozenset[int]]] = []

        def offer(level: int, chosen: frozenset[int], beside: int) -> None:
            blind = self.placement == "first"
            chance = 1.0 if blind else 1.0 - first_detectability(ahead, chosen)
            offers.append((level, -chance, beside, len(offers), chosen))

        if isinstance(self.topology, str):
            there = set(free)
            for first in range(self.nodes - size + 1):
                window = frozenset(range(first, first + size))
                if window <= there:
                    low, high = first, first + size
                    while low - 1 in there:
                        low -= 1
                    while high in there:
                        high += 1
                    offer(0, window, high - low - size)
            offer(1, self.choose(free, size, ahead), len(free) - size)
        else:
            for level, unit in self.topology:
                mine = [node for node in free if node in unit]
                if len(mine) >= size:
                    offer(level, self.choose(mine, size, ahead), len(mine) - size)
        top = max(-negative for _, negative, *_ in offers)
        least = top - self.slack - 1e-12  # differences of rounding count for nothing
        least = max(least, wanted) if top >= wanted else least
        return min(one for one in offers if -one[1] >= least)[-1]

    def risk_of(self, ahead: list[FailureRow], chosen: frozenset[int]) -> float:
        return first_detectability(ahead, chosen)

    def place(self, now: int, key: int) -> None:
        """Give the job a reservation, and a promise where it has none yet."""
        job = self.jobs[key]
        new = job.deadline is None
        length = self.length(job)
        best: tuple[float, int, frozenset[int]] | None = None
        for start in self.candidates(now, negotiate=new and self.risk > 0):
            free = self.free_nodes(start, start + length, job.size)
            if len(free) < job.size:
                continue
            ahead = self.predictor.matters(now, start, start + length)
            chosen = self.near(free, job.size, ahead, self.risk if new else 0.0)
            promise = 1.0 - self.risk_of(ahead, chosen)
            # Reading: where no offer reaches the wanted probability, the best one, earliest first.
            if best is None or promise > best[0]:
                best = (promise, start, chosen)
            if not new or promise >= self.risk:
                best = (promise, start, chosen)
                break
        assert best is not None, "after all reservations and recoveries every node is free"
        promise, start, chosen = best
        if new:
            job.promise, job.deadline = promise, start + length
        self.reservations[key] = (start, start + length, chosen)
        job.token += 1
        self.push(start, START, key)

    # ---------------------------------------------------------------- running

    def start_is_due(self, now: int, key: int) -> None:
        job = self.jobs[key]
        nodes = self.reservations[key][2]
        if any(now < self.up_at[node] for node in nodes):
            del self.reservations[key]
            self.place(now, key)
            return
        job.running = True
        job.start = job.mark = now
        job.progress = job.saved
        job.since = job.completed = 0
        self.make_progress(now, key)

    def make_progress(self, now: int, key: int) -> None:
        """Work from now on until the next request or the end of the work, whichever is first."""
        job = self.jobs[key]
        left = job.runtime - job.progress
        if self.checkpoint != "none" and left > self.interval:
            self.push(now + self.interval, REQUEST, key)
        else:  # never a request at the end of the work
            self.push(now + left, FINISH, key)

    def requests_checkpoint(self, now: int, key: int) -> None:
        job = self.jobs[key]
        job.progress += self.interval
        job.since += 1
        if self.performs(now, key):
            job.performed += 1
            job.since = 0
            job.asked_at = now
            self.push(now + self.overhead, SAVED, key)
        else:
            job.skipped += 1
            self.make_progress(now, key)

    def performs(self, now: int, key: int) -> bool:
        if self.checkpoint == "periodic":
            return True
        job = self.jobs[key]
        ahead = self.predictor.during(now, now + 2 * self.overhead + self.interval)
        probability = first_detectability(ahead, self.reservations[key][2])
        if probability * job.since * self.interval < self.overhead:
            return False
        left = job.estimate - job.progress
        assert job.deadline is not None
        return not now + self.overhead + left > job.deadline >= now + left

    def checkpoint_finishes(self, now: int, key: int) -> None:
        job = self.jobs[key]
        job.saved = job.progress
        job.mark = job.asked_at
        job.completed += 1
        self.make_progress(now, key)

    def finishes(self, now: int, key: int) -> None:
        self.end_run(now, key, "finished", lost=0)
        self.unfinished -= 1

    def node_fails(self, now: int, failure: int) -> None:
        _, node, downtime, detectability = self.failures[failure]
        self.up_at[node] = max(self.up_at[node], now + downtime)
        hit = None
        lost = 0
        for key, (_, _, nodes) in self.reservations.items():
            job = self.jobs[key]
            if job.running and node in nodes:
                hit, lost = key, (now - job.mark) * job.size
        self.hits.append(Hit(now, node, downtime, detectability, hit, lost))
        if hit is not None:
            self.end_run(now, hit, "failed", lost)
            self.place(now, hit)

    def end_run(self, now: int, key: int, outcome: str, lost: int) -> None:
        job = self.jobs[key]
        nodes = tuple(sorted(self.reservations.pop(key)[2]))
        job.running = False
        job.token += 1
        self.runs.append(Run(key, job.start, now, nodes, outcome, job.completed, lost))


def simulate_promise(
    jobs: list[JobRow],
    failures: list[FailureRow],
    *,
    nodes: int,
    accuracy: float,
    risk: float,
    overhead: int = 720,
    interval: int = 3600,
    downtime: int = 120,
    checkpoint: str = "risk",
    placement: str = "fault-aware",
    topology: list[tuple[int, set[int]]] | str | None = None,
    slack: float = 0.0,
) -> ReferenceRun:
    """Play `jobs` (in log order) under `failures` (sorted by time and node) with promises.

    `downtime` is what a failure takes whose own downtime is negative (unknown).
    `checkpoint`: risk, none or periodic; `placement`: fault-aware, least or first.
    `topology`: which nodes jobs have rather, units with their levels, the lowest first and all
    nodes last, or "contiguous".
    """
    assert checkpoint in ("risk", "none", "periodic")
    assert placement in ("fault-aware", "least", "first")
    assert all(1 <= size <= nodes and 1 <= run <= guess for _, size, run, guess in jobs)
    assert [f[:2] for f in failures] == sorted(f[:2] for f in failures)
    known = [(x, node, downtime if own < 0 else own, d) for x, node, own, d in failures]
    simulation = _Simulation(
        jobs,
        known,
        nodes,
        accuracy,
        risk,
        overhead,
        interval,
        checkpoint,
        placement,
        topology,
        slack,
    )
    simulation.run()
    promises = []
    for job in simulation.jobs:
        assert job.deadline is not None
        promises.append((job.deadline, job.promise))
    decided = [(job.performed, job.skipped) for job in simulation.jobs]
    return finished_run(jobs, simulation.runs, simulation.hits, nodes, promises, decided)
