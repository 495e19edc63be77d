"""First come first served, EASY and conservative backfilling, written from their definitions.

Slow and plain on purpose. Everything of one second is taken in first (finishes, recoveries,
failures, arrivals, in this order), then one scheduling pass decides who starts.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from .result import FailureRow, Hit, JobRow, ReferenceRun, Run, finished_run

LONG_AGO = -(10**18)


@dataclass
class _Job:
    submit: int
    size: int
    runtime: int
    estimate: int
    order: int
    queued: int  # queue time: the submit time, or when it was killed
    nodes: tuple[int, ...] = ()  # while it runs
    start: int | None = None  # while it runs
    reserved: int | None = None  # conservative: start of its reservation while it waits

    @property
    def place_in_queue(self) -> tuple[int, int]:
        return (self.queued, self.order)


class Profile:
    """How many nodes are free over time, from now on: a step function."""

    def __init__(self, now: int, nodes: int) -> None:
        self.times = [now]
        self.free = [nodes]

    def _cut(self, time: int) -> int:
        """Return the index of the step that begins at `time`, which is made where there is none."""
        k = bisect_right(self.times, time) - 1
        if self.times[k] != time:
            self.times.insert(k + 1, time)
            self.free.insert(k + 1, self.free[k])
            k += 1
        return k

    def occupy(self, start: int, end: int, size: int) -> None:
        """Take `size` nodes on [start, end); a negative size gives them back."""
        start = max(start, self.times[0])
        if start >= end:
            return
        for k in range(self._cut(start), self._cut(end)):
            self.free[k] -= size

    def earliest(self, size: int, length: int) -> int:
        """Return the first time from which `size` nodes are free for `length` seconds."""
        for first, start in enumerate(self.times):
            for k in range(first, len(self.times)):
                if self.times[k] >= start + length:
                    return start
                if self.free[k] < size:
                    break
            else:
                return start
        raise AssertionError("at the end of the profile every node is free")


class _Simulation:
    def __init__(
        self, jobs: list[JobRow], failures: list[FailureRow], nodes: int, requeue: str
    ) -> None:
        ranks = {job: k for k, job in enumerate(sorted(range(len(jobs)), key=lambda j: jobs[j][0]))}
        self.jobs = [_Job(*row, order=ranks[j], queued=row[0]) for j, row in enumerate(jobs)]
        self.key = {id(job): k for k, job in enumerate(self.jobs)}
        self.arriving = sorted(self.jobs, key=lambda job: job.order)
        self.failing = list(failures)
        self.nodes = nodes
        self.requeue = requeue
        self.up_at = [LONG_AGO] * nodes  # the node is down at t if t < up_at[node]
        self.queue: list[_Job] = []
        self.running: list[_Job] = []
        self.runs: list[Run] = []
        self.hits: list[Hit] = []
        self.now = LONG_AGO

    # ---------------------------------------------------------------- the clock

    def run(self) -> None:
        while self.arriving or self.queue or self.running:
            now = self.next_second()
            finished = self.take_finishes(now)
            if not (self.arriving or self.queue or self.running):
                return  # the last job has finished; what fails now is not played
            failed = self.take_failures(now)
            arrived = []
            while self.arriving and self.arriving[0].submit == now:
                arrived.append(self.arriving.pop(0))
            self.schedule(now, arrived, finished, failed)

    def next_second(self) -> int:
        """Return the next second in which anything happens."""
        times = [self.end_of(job) for job in self.running]
        times += [up for up in self.up_at if up > self.now]
        times += [failure[0] for failure in self.failing[:1]]
        times += [job.submit for job in self.arriving[:1]]
        times += [job.reserved for job in self.queue if job.reserved is not None]
        self.now = min(times)
        return self.now

    def end_of(self, job: _Job) -> int:
        assert job.start is not None
        return job.start + job.runtime

    def expected_end_of(self, job: _Job) -> int:
        assert job.start is not None
        return job.start + job.estimate

    def take_finishes(self, now: int) -> bool:
        finished = [job for job in self.running if self.end_of(job) == now]
        for job in finished:
            self.stop(job, now, "finished", lost=0)
        return bool(finished)

    def take_failures(self, now: int) -> bool:
        failed = False
        while self.failing and self.failing[0][0] == now:
            failed = True
            _, node, downtime, detectability = self.failing.pop(0)
            self.up_at[node] = max(self.up_at[node], now + downtime)
            hit = None
            lost = 0
            for job in self.running:
                if node in job.nodes:
                    assert job.start is not None
                    hit, lost = job, (now - job.start) * job.size
            if hit is not None:
                self.stop(hit, now, "failed", lost)
                if self.requeue == "now":
                    hit.queued = now
                self.queue.append(hit)
            key = None if hit is None else self.key[id(hit)]
            self.hits.append(Hit(now, node, downtime, detectability, key, lost))
        return failed

    def stop(self, job: _Job, now: int, outcome: str, lost: int) -> None:
        assert job.start is not None
        self.runs.append(Run(self.key[id(job)], job.start, now, job.nodes, outcome, 0, lost))
        self.running.remove(job)
        job.start = None
        job.nodes = ()

    # ---------------------------------------------------------------- scheduling

    def schedule(self, now: int, arrived: list[_Job], finished: bool, failed: bool) -> None:
        raise NotImplementedError

    def free_nodes(self, now: int) -> list[int]:
        """Return the nodes that are up and run nothing, ascending."""
        busy = {node for job in self.running for node in job.nodes}
        return [n for n in range(self.nodes) if n not in busy and self.up_at[n] <= now]

    def start(self, job: _Job, now: int) -> None:
        """Start it on the lowest-numbered free nodes."""
        free = self.free_nodes(now)
        assert len(free) >= job.size
        self.queue.remove(job)
        self.running.append(job)
        job.nodes = tuple(free[: job.size])
        job.start = now
        job.reserved = None

    def enter(self, arrived: list[_Job]) -> None:
        self.queue.extend(arrived)
        self.queue.sort(key=lambda job: job.place_in_queue)

    def releases(self, now: int) -> list[tuple[int, int]]:
        """Return when how many nodes come free as far as is known now, in order of time."""
        ends = [(self.expected_end_of(job), job.size) for job in self.running]
        ups = [(up, 1) for up in self.up_at if up > now]
        return sorted(ends + ups)


class _Fcfs(_Simulation):
    def schedule(self, now: int, arrived: list[_Job], finished: bool, failed: bool) -> None:
        self.enter(arrived)
        self.start_heads(now)

    def start_heads(self, now: int) -> None:
        while self.queue and self.queue[0].size <= len(self.free_nodes(now)):
            self.start(self.queue[0], now)


class _Easy(_Fcfs):
    def schedule(self, now: int, arrived: list[_Job], finished: bool, failed: bool) -> None:
        self.enter(arrived)
        self.start_heads(now)
        if not self.queue:
            return
        head = self.queue[0]
        shadow, extra = self.reservation_of_head(head, now)
        free = len(self.free_nodes(now))
        for job in self.queue[1:]:  # a copy: starting a job takes it out of the queue
            if job.size > free:
                continue
            if now + job.estimate <= shadow:
                self.start(job, now)
                free -= job.size
            elif job.size <= extra:
                self.start(job, now)
                free -= job.size
                extra -= job.size

    def reservation_of_head(self, head: _Job, now: int) -> tuple[int, int]:
        """Return when the head can start, and how many nodes it then leaves over."""
        releases = self.releases(now)
        available = len(self.free_nodes(now))
        shadow = now
        for time, count in releases:
            if available >= head.size:
                break
            available += count
            shadow = time
        at_shadow = len(self.free_nodes(now)) + sum(n for time, n in releases if time <= shadow)
        assert at_shadow >= head.size
        return shadow, at_shadow - head.size


class _Conservative(_Simulation):
    compression = True

    def schedule(self, now: int, arrived: list[_Job], finished: bool, failed: bool) -> None:
        self.enter([])  # killed jobs, to their places
        if failed:
            self.rebuild(now)
        elif finished and self.compression:
            self.compress(now)
        profile = self.profile(now)
        for job in arrived:
            self.reserve(job, profile)
        self.enter(arrived)
        for job in [job for job in self.queue if job.reserved == now]:
            self.start(job, now)

    def profile(self, now: int) -> Profile:
        """Return the free nodes beside all running jobs, known outages and reservations."""
        profile = Profile(now, self.nodes)
        for job in self.running:
            profile.occupy(now, self.expected_end_of(job), job.size)
        for up in self.up_at:
            profile.occupy(now, up, 1)
        for job in self.queue:
            if job.reserved is not None:
                profile.occupy(job.reserved, job.reserved + job.estimate, job.size)
        assert min(profile.free) >= 0
        return profile

    def reserve(self, job: _Job, profile: Profile) -> None:
        job.reserved = profile.earliest(job.size, job.estimate)
        profile.occupy(job.reserved, job.reserved + job.estimate, job.size)

    def rebuild(self, now: int) -> None:
        for job in self.queue:
            job.reserved = None
        profile = self.profile(now)
        for job in self.queue:
            self.reserve(job, profile)

    def compress(self, now: int) -> None:
        profile = self.profile(now)
        for job in self.queue:
            before = job.reserved
            assert before is not None
            profile.occupy(before, before + job.estimate, -job.size)
            self.reserve(job, profile)
            assert job.reserved is not None
            assert job.reserved <= before, "compression never moves a job back"


def simulate_classic(
    jobs: list[JobRow],
    failures: list[FailureRow],
    *,
    nodes: int,
    policy: str = "fcfs",
    compression: bool = True,
    requeue: str = "now",
) -> ReferenceRun:
    """Play `jobs` (in log order) under `failures` (sorted by time and node), without checkpoints.

    `policy`: fcfs, easy or conservative; `requeue`: a killed job queues by the time of its failure
    (now) or by its submit time (original), ties by submit order.
    """
    assert requeue in ("now", "original")
    assert all(1 <= size <= nodes and 1 <= run <= guess for _, size, run, guess in jobs)
    assert [f[:2] for f in failures] == sorted(f[:2] for f in failures)
    kinds: dict[str, type[_Simulation]] = {
        "fcfs": _Fcfs,
        "easy": _Easy,
        "conservative": _Conservative,
    }
    simulation = kinds[policy](jobs, failures, nodes, requeue)
    if isinstance(simulation, _Conservative):
        simulation.compression = compression
    simulation.run()
    return finished_run(jobs, simulation.runs, simulation.hits, nodes)


def conservative_with_nodes(jobs: list[JobRow], *, nodes: int) -> ReferenceRun:
    """Play `jobs` without failures: each takes, on submission, the earliest window of `estimate`
    seconds for which enough nodes are free throughout, and of those the lowest-numbered ones.

    Nothing is moved later (no compression); what a job that ends early leaves over is free again.
    """
    planned: list[tuple[int, frozenset[int]]] = [(0, frozenset())] * len(jobs)
    live: list[int] = []  # jobs that have not ended; the windows of these are taken
    for key in sorted(range(len(jobs)), key=lambda j: jobs[j][0]):
        now, size, _, estimate = jobs[key]
        live = [j for j in live if planned[j][0] + jobs[j][2] > now]
        ends = {planned[j][0] + jobs[j][3] for j in live}
        for start in sorted({now} | ends):
            taken: set[int] = set()
            for j in live:
                other_start, chosen = planned[j]
                if other_start < start + estimate and start < other_start + jobs[j][3]:
                    taken |= chosen
            free = [node for node in range(nodes) if node not in taken]
            if len(free) >= size:
                planned[key] = (start, frozenset(free[:size]))
                break
        live.append(key)
    runs = [
        Run(key, start, start + jobs[key][2], tuple(sorted(chosen)), "finished", 0, 0)
        for key, (start, chosen) in enumerate(planned)
    ]
    return finished_run(jobs, runs, [], nodes)
