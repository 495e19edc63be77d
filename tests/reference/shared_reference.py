"""FCFS, EASY, conservative backfilling and promises on shared nodes, written plainly from the
specification: lists of numbers a node, a loop over seconds at which something happens, nothing
incremental."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf


@dataclass
class Node:
    capacity: tuple[int, ...]
    kind: str = ""
    up_at: int = 0
    """When it is back; 0 while it is up."""


@dataclass
class Job:
    number: int
    submit: int
    runtime: int
    estimate: int
    units: int
    need: tuple[int, ...]
    spread: bool = False
    exclusive: bool = False
    kind: str = ""
    key: int = 0
    saved: int = 0
    start: int = -1
    until: int = -1
    """The end that its estimate says."""
    held: dict[int, int] = field(default_factory=dict)
    reserved: int = -1
    runs: list[tuple[int, int, dict[int, int], int]] = field(default_factory=list)
    """(start, end, units by node, seconds lost)."""
    next_event: tuple[int, str] | None = None
    progress: int = 0
    mark: int = 0
    since: int = 0
    deadline: int = -1
    promise: float = 0.0
    skipped: int = 0


class Cluster:
    """Plays jobs and failures (time, node, downtime) to the end; then `jobs` have their runs."""

    def __init__(
        self,
        nodes: list[Node],
        jobs: list[Job],
        failures: list[tuple[int, int, int]],
        *,
        policy: str,
        rule: str = "best",
        interval: int = 0,
        pause: int = 0,
        original: bool = False,
        compression: bool = True,
        foreseen: list[tuple[int, int, int, float]] | None = None,
        wanted: float = 0.0,
        by_risk: bool = False,
    ) -> None:
        self.nodes, self.jobs, self.failures = nodes, jobs, failures
        self.policy, self.rule, self.original = policy, rule, original
        self.interval, self.pause, self.compression = interval, pause, compression
        self.waiting: list[Job] = []
        self.running: list[Job] = []
        self.replan = False
        self.foreseen, self.wanted, self.by_risk = sorted(foreseen or []), wanted, by_risk
        """Failures that are foreseen: (time, node, downtime, probability)."""

    # What is free, and where ------------------------------------------------------------------

    def taken(self, job: Job, node: int, units: int) -> tuple[int, ...]:
        if job.exclusive:
            return self.nodes[node].capacity
        return tuple(units * need for need in job.need)

    def free_at(
        self, node: int, time: int, now: int, claims: list[tuple[int, int, Job]]
    ) -> list[int]:
        """Free amounts of a node at a time, given what runs until its estimated end, a known
        outage, and further claims (start, end, job)."""
        if self.nodes[node].up_at > time:
            return [-1] * len(self.nodes[node].capacity)
        free = list(self.nodes[node].capacity)
        holds = [(job.start, job.until, job) for job in self.running] + claims
        for first, end, job in holds:
            if node in job.held and first <= time < end:
                for r, amount in enumerate(self.taken(job, node, job.held[node])):
                    free[r] -= amount
        return free

    def least(
        self, node: int, first: int, end: int, now: int, claims: list[tuple[int, int, Job]]
    ) -> list[int]:
        times = {first} | {c[0] for c in claims if first < c[0] < end}
        frees = [self.free_at(node, time, now, claims) for time in sorted(times)]
        return [min(column) for column in zip(*frees, strict=True)]

    def units(self, job: Job, node: int, free: list[int]) -> int:
        if job.kind and self.nodes[node].kind != job.kind:
            return 0
        if job.exclusive:
            return int(tuple(free) == self.nodes[node].capacity)
        each = [have // need for have, need in zip(free, job.need, strict=True) if need]
        most = max(0, min(each))
        return most if job.spread else min(most, 1)

    def choice(
        self, job: Job, first: int, end: int, now: int, claims: list[tuple[int, int, Job]]
    ) -> dict[int, int] | None:
        """Return the units on each node that the job gets for [first, end), None if it cannot."""
        frees = {n: self.least(n, first, end, now, claims) for n in range(len(self.nodes))}
        risk = dict.fromkeys(frees, 0.0)
        if self.policy == "promise" and self.rule != "first":
            risk = {n: self.risk({n}, now, first, end) for n in frees}
        order = sorted(frees, key=lambda n: (risk[n], self.rank(n, frees[n])))
        chosen: dict[int, int] = {}
        left = job.units
        for node in order:
            here = min(left, self.units(job, node, frees[node]))
            if here:
                chosen[node] = here
                left -= here
        return chosen if left == 0 else None

    def rank(self, node: int, free: list[int]) -> tuple[int, ...]:
        if self.rule == "first":
            return (node,)
        sign = -1 if self.rule == "worst" else 1
        return (sign * free[2], sign * free[0], sign * free[1], node)

    # Policies ---------------------------------------------------------------------------------

    def length(self, job: Job) -> int:
        work = job.estimate - job.saved
        return work + (-(-work // self.interval) - 1) * self.pause if self.interval else work

    def begin(self, job: Job, now: int, held: dict[int, int]) -> None:
        self.waiting.remove(job)
        job.start, job.until, job.held = now, now + self.length(job), held
        job.mark, job.progress, job.since = now, job.saved, 0
        self.running.append(job)
        self.plan(job, now)

    def plan(self, job: Job, now: int) -> None:
        left = job.runtime - job.progress
        if self.interval and left > self.interval:
            job.next_event = (now + self.interval, "request")
        else:
            job.next_event = (now + left, "finish")

    def decide(self, now: int) -> None:
        if self.policy == "conservative":
            self.conservative(now)
            return
        while self.waiting:
            head = self.waiting[0]
            held = self.choice(head, now, now + self.length(head), now, [])
            if held is None:
                break
            self.begin(head, now, held)
        if self.policy == "easy" and self.waiting:
            self.backfill(now)

    def backfill(self, now: int) -> None:
        head = self.waiting[0]
        ends = {job.until for job in self.running} | {n.up_at for n in self.nodes if n.up_at > now}
        for time in sorted(ends):
            held = self.choice(head, time, time + self.length(head), now, [])
            if held is not None:
                break
        else:
            raise AssertionError("the head never fits")
        head.held = held
        claim = [(time, time + self.length(head), head)]
        for job in list(self.waiting[1:]):
            mine = self.choice(job, now, now + self.length(job), now, claim)
            if mine is not None:
                self.begin(job, now, mine)
        head.held = {}

    def conservative(self, now: int) -> None:
        if self.replan:
            for job in self.waiting:
                job.reserved, job.held = -1, {}
        claims = [
            (job.reserved, job.reserved + self.length(job), job)
            for job in self.waiting
            if job.reserved >= 0
        ]
        for job in self.waiting:
            if job.reserved >= 0:
                continue
            times = {now} | {job.until for job in self.running} | {end for _, end, _ in claims}
            times |= {node.up_at for node in self.nodes}
            for time in sorted(time for time in times if time >= now):
                held = self.choice(job, time, time + self.length(job), now, claims)
                if held is not None:
                    break
            else:
                raise AssertionError("a job never fits")
            job.reserved, job.held = time, held
            claims.append((time, time + self.length(job), job))
        self.replan = False
        for job in list(self.waiting):
            if job.reserved <= now:
                self.begin(job, now, job.held)

    # Promises ---------------------------------------------------------------------------------

    def risk(self, nodes: set[int], now: int, start: int, end: int) -> float:
        """Return the probability of the first foreseen failure that a job on the nodes meets: in
        [start, end), or from now on with the node still down at the start."""
        for time, node, downtime, probability in self.foreseen:
            if node in nodes and now <= time < end and time + downtime > start:
                return probability
        return 0.0

    def promise(self, job: Job, now: int, *, fresh: bool) -> None:
        """Reserve the first start that is good enough, or the best where none is."""
        claims = [(j.reserved, j.until, j) for j in self.waiting if j is not job and j.held]
        times = {now} | {j.until for j in self.running} | {end for _, end, _ in claims}
        times |= {node.up_at for node in self.nodes}
        if fresh and self.wanted > 0:
            times |= {time + down for time, _, down, _ in self.foreseen if time >= now}
        best: tuple[float, int, dict[int, int]] | None = None
        for time in sorted(time for time in times if time >= now):
            end = time + self.length(job)
            held = self.choice(job, time, end, now, claims)
            if held is None:
                continue
            chance = 1.0 - self.risk(set(held), now, time, end)
            if best is None or chance > best[0]:
                best = chance, time, held
            if not fresh or chance >= self.wanted:
                best = chance, time, held
                break
        assert best is not None, "a job never fits"
        chance, job.reserved, job.held = best
        job.until = job.reserved + self.length(job)
        if fresh:
            job.promise, job.deadline = chance, job.until

    def due_to_start(self, now: int) -> None:
        while due := [job for job in self.waiting if job.held and job.reserved == now]:
            job = min(due, key=lambda one: one.number)
            if any(self.nodes[node].up_at > now for node in job.held):
                job.held = {}
                self.promise(job, now, fresh=False)
            else:
                self.begin(job, now, job.held)

    def request(self, job: Job, now: int) -> None:
        """Perform or skip a checkpoint (Equation 1, and the rule on deadlines)."""
        job.progress += self.interval
        job.since += 1
        left = job.estimate - job.progress
        horizon = now + 2 * self.pause + self.interval
        worth = self.risk(set(job.held), now, now, horizon) * job.since * self.interval
        late = now + self.pause + left > job.deadline >= now + left
        if self.policy == "promise" and self.by_risk and (worth < self.pause or late):
            job.skipped += 1
            self.plan(job, now)
        else:
            job.since = 0
            job.next_event = (now + self.pause, "saved")

    # The world --------------------------------------------------------------------------------

    def wait(self, job: Job, key: int) -> None:
        job.key, job.held, job.reserved, job.next_event = key, {}, -1, None
        self.waiting.append(job)
        self.waiting.sort(key=lambda one: (one.key, one.number))

    def finish(self, job: Job, now: int) -> None:
        job.runs.append((job.start, now, job.held, 0))
        self.running.remove(job)
        if job.until > now and self.compression:
            self.replan = True
        job.held, job.next_event = {}, None

    def fail(self, node: int, until: int, now: int) -> None:
        self.nodes[node].up_at = max(self.nodes[node].up_at, until)
        self.replan = True
        hit = sorted((j for j in self.running if node in j.held), key=lambda one: one.number)
        for job in hit:
            job.runs.append((job.start, now, job.held, now - job.mark))
            self.running.remove(job)
            self.wait(job, job.submit if self.original else now)
        if self.policy == "promise":
            for job in hit:
                self.promise(job, now, fresh=False)

    def play(self) -> None:
        arrivals = sorted(self.jobs, key=lambda job: (job.submit, job.number))
        failures = sorted(self.failures)
        while arrivals or self.waiting or self.running:
            times = [inf]
            times += [arrivals[0].submit] if arrivals else []
            times += [failures[0][0]] if failures else []
            times += [job.next_event[0] for job in self.running if job.next_event]
            times += [node.up_at for node in self.nodes if node.up_at]
            times += [job.reserved for job in self.waiting if job.reserved >= 0]
            now = int(min(times))
            self.second(now, arrivals, failures)

    def second(self, now: int, arrivals: list[Job], failures: list[tuple[int, int, int]]) -> None:
        def due(what: str) -> list[Job]:
            return sorted(
                (job for job in self.running if job.next_event == (now, what)),
                key=lambda job: job.number,
            )

        for job in due("finish"):
            self.finish(job, now)
        for job in due("saved"):
            job.saved, job.mark = job.progress, now - self.pause
            self.plan(job, now)
        for node in self.nodes:
            if node.up_at == now:
                node.up_at = 0
        while failures and failures[0][0] == now:
            _, number, downtime = failures.pop(0)
            self.fail(number, now + downtime, now)
        for job in due("request"):
            self.request(job, now)
        if self.policy == "promise":
            self.due_to_start(now)
        while arrivals and arrivals[0].submit == now:
            job = arrivals.pop(0)
            self.wait(job, job.submit)
            if self.policy == "promise":
                self.promise(job, now, fresh=True)
                self.due_to_start(now)
        if self.policy != "promise":
            self.decide(now)
