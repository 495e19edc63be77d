"""Features of a job at its submission, recomputed plainly from the list of events before it."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from forestall.site.learning.turnaround import book_state as kinds
from forestall.site.learning.turnaround.queue_fit_kernels import SOON
from forestall.site.learning.turnaround.queue_state import PLACED, SPELL, WEEK

NAN = math.nan
EDGES = [*range(8), *((4 + q) << e for e in range(1, 40) for q in range(4))]
"""Where classes of whole numbers begin."""


@dataclass
class PlainJob:
    """What a job says of itself, and what happened to it so far."""

    size: int
    limit: int
    user: str
    name: str
    part: str
    submit: int
    number: int
    starts: list[int] = field(default_factory=list)
    state: str = "waits"
    expected: tuple[int, int, int] = (0, 0, 0)

    @property
    def lim(self) -> int:
        """The requested time; a week without one."""
        return self.limit or WEEK

    @property
    def like(self) -> tuple[str, int, int]:
        """What it has in common with jobs like it."""
        return self.user, self.size, self.limit

    @property
    def cell(self) -> tuple[str, int]:
        """Its partition and size class."""
        return self.part, int(math.log2(self.size)) // 2

    @property
    def open(self) -> bool:
        """Whether it waits or runs."""
        return self.state != "gone"


@dataclass
class PlainRun:
    """A run that the job or its user ended."""

    job: PlainJob
    end: int
    run: int


class PlainQueue:
    """All jobs and events so far; everything is worked out when it is asked for."""

    def __init__(self) -> None:
        self.jobs: list[PlainJob] = []
        self.runs: list[PlainRun] = []
        self.waits: list[tuple[PlainJob, int]] = []
        self.busy_since: list[tuple[int, int]] = [(0, 0)]

    def submit(self, job: PlainJob, *, told: bool = True) -> list[float]:
        """Enter a job, and return its features; none where they are not told."""
        job.expected = self.expected(job)
        features = self.features(job) if told else []
        self.jobs.append(job)
        return features

    def happen(self, kind: int, job: PlainJob, now: int) -> None:
        """Take in an event."""
        if kind == kinds.START:
            if not job.starts:
                self.waits.append((job, now - job.submit))
            job.starts.append(now)
            job.state = "runs"
        else:
            if job.state == "runs" and kind in (kinds.END, kinds.CANCEL):
                self.runs.append(PlainRun(job, now, now - job.starts[-1]))
            job.state = "waits" if kind in (kinds.FAIL, kinds.REQUEUE) else "gone"
        self.busy_since.append((now, sum(j.size for j in self.jobs if j.state == "runs")))

    def features(self, job: PlainJob) -> list[float]:
        """Return a job's features, in the order of `queue_features.FEATURES`."""
        now = job.submit
        hours = [job.limit or NAN, job.size, now % 86400 / 3600, now // 86400 % 7]
        return [
            *hours, *self.of_user(job, now), *self.of_like(job, now), *self.of_queue(job, now),
            *self.of_machine(now), *self.of_waits(job, now), *self.of_part(job),
            *self.fits(job, now), job.expected[0],
        ]  # fmt: skip

    def expected(self, job: PlainJob) -> tuple[int, int, int]:
        """Return how long it is expected to run: as jobs like it, as the user's, to its limit."""
        own = [r for r in self.runs if r.job.user == job.user]
        like = [math.log1p(r.run) for r in own if r.job.like == job.like]
        used = 0.5
        for r in own:
            used = 0.8 * used + 0.2 * min(r.run / r.job.lim, 1.0)
        first = math.expm1(faded(like, 0.4)) if like else job.lim * used
        by_like = min(max(math.floor(first + 0.5), 1), job.lim)
        by_user = by_like
        if own:
            slow = math.expm1(faded([math.log1p(r.run) for r in own], 0.2))
            by_user = min(max(math.floor(slow + 0.5), 1), job.lim)
        return by_like, by_user, job.lim

    def of_user(self, job: PlainJob, now: int) -> list[float]:
        """Return what is known of the user."""
        runs = [r for r in self.runs if r.job.user == job.user]
        waits = [w for j, w in self.waits if j.user == job.user]
        named = [r.run for r in runs if r.job.name == job.name]
        mine = [j for j in self.jobs if j.user == job.user]
        used = [math.log((1 + r.run) / r.job.lim) for r in runs]
        times = [j.submit for j in mine]
        burst = 1
        for before, after in zip(reversed(times), reversed([*times, now][1:]), strict=False):
            if after - before > 3600:
                break
            burst += 1
        return [
            last([r.end - r.job.submit for r in runs]),
            last(waits),
            math.exp(last(used)),
            last([r.run for r in runs]),
            math.expm1(faded([math.log1p(r.run) for r in runs], 0.3)),
            math.expm1(faded([math.log1p(w) for w in waits], 0.3)),
            math.exp(faded(used, 0.2)),
            sum(j.state == "waits" for j in mine),
            sum(j.state == "runs" for j in mine),
            sum(j.size * j.lim for j in mine if j.open),
            now - times[-1] if times else NAN,
            times[-1] - times[-2] if len(times) > 1 else NAN,
            burst,
            float(bool(mine) and mine[-1].like == job.like),
            last(named),
        ]

    def of_like(self, job: PlainJob, now: int) -> list[float]:
        """Return what is known of jobs like it."""
        runs = [r for r in self.runs if r.job.like == job.like]
        like = [j for j in self.jobs if j.like == job.like]
        going = [j for j in like if j.state == "runs"]
        # Of all that started, also those that are over: the latest, while any runs.
        begun = [s for j in like for s in j.starts]
        return [
            last([r.run for r in runs]),
            math.expm1(faded([math.log1p(r.run) for r in runs], 0.4)),
            len(runs),
            now - runs[-1].end if runs else NAN,
            len(going),
            sum(j.state == "waits" for j in like),
            now - max(begun) if going else NAN,
        ]

    def of_queue(self, job: PlainJob, now: int) -> list[float]:
        """Return what waits."""
        waiting = self.waiting()
        return [
            len(waiting),
            sum(j.size for j in waiting),
            sum(j.size * j.lim for j in waiting),
            sum(j.size * j.expected[0] for j in waiting),
            max((now - j.submit for j in waiting), default=0),
            max((EDGES[class_of(j.size)] for j in waiting), default=0),
            sum(class_of(j.size) <= class_of(job.size) for j in waiting),
        ]

    def of_machine(self, now: int) -> list[float]:
        """Return what runs."""
        running = [j for j in self.jobs if j.state == "runs"]
        busy = sum(j.size for j in running)
        return [
            len(running),
            busy,
            max(sum(j.size * (j.starts[-1] + j.lim - now) for j in running), 0),
            max(sum(j.size * (j.starts[-1] + j.expected[0] - now) for j in running), 0),
            max(self.most(now) - busy, 0),
        ]

    def of_waits(self, job: PlainJob, now: int) -> list[float]:
        """Return how long jobs waited."""
        cell = [(j, w) for j, w in self.waits if j.cell == job.cell]
        logs = [math.log1p(w) for _, w in self.waits]
        return [
            last([w for _, w in self.waits]),
            math.expm1(faded(logs, 0.1)),
            math.expm1(faded([math.log1p(w) for _, w in cell], 0.5)),
            now - cell[-1][0].starts[0] if cell else NAN,
        ]

    def of_part(self, job: PlainJob) -> list[float]:
        """Return what waits and runs in its partition."""
        there = [j for j in self.jobs if j.part == job.part and j.open]
        waits = [math.log1p(w) for j, w in self.waits if j.part == job.part]
        waiting = [j for j in there if j.state == "waits"]
        return [
            len(waiting),
            sum(j.size for j in waiting),
            sum(j.size for j in there if j.state == "runs"),
            sum(j.size * j.expected[0] for j in there),
            math.expm1(faded(waits, 0.2)),
        ]

    def waiting(self) -> list[PlainJob]:
        """Return those that wait, in order of submission."""
        return sorted((j for j in self.jobs if j.state == "waits"), key=lambda j: j.number)

    def most(self, now: int) -> int:
        """Return the most nodes that were busy throughout an hour of the clock."""
        at = dict(self.busy_since)  # the last of a second counts
        times = sorted(at)
        best = 0
        for hour in range(now // SPELL):
            begin, end = hour * SPELL, (hour + 1) * SPELL
            there = [t for t in times if begin < t < end]
            before = [t for t in times if t <= begin]
            best = max(best, min(at[t] for t in (before[-1], *there)))
        return best

    def fits(self, job: PlainJob, now: int) -> list[float]:
        """Return how long it would wait if jobs were started in order."""
        most = self.most(now)
        if most == 0:
            return [NAN] * 3
        return [self.fit(job, now, most, k) for k in range(3)]

    def fit(self, job: PlainJob, now: int, most: int, kind: int) -> float:
        """Return the same, with one expectation."""
        running = [j for j in self.jobs if j.state == "runs"]
        classes: dict[int, list[tuple[int, int]]] = {}
        for j in running:
            left = left_of(j, j.expected[kind], now)
            classes.setdefault(class_of(left), []).append((left, j.size))
        ends = [
            (sum(a * s for a, s in own) // sum(s for _, s in own), sum(s for _, s in own))
            for own in classes.values()
        ]
        idle = max(most - sum(j.size for j in running), 0)
        taken: list[tuple[int, int, int]] = []

        def free(at: int) -> int:
            ended = sum(s for end, s in ends if end <= at)
            return idle + ended - sum(s for a, b, s in taken if a <= at < b)

        waiting = self.waiting()
        for j in waiting[:PLACED]:
            at = earliest(free, ends, taken, min(j.size, most), j.expected[kind])
            taken.append((at, at + j.expected[kind], min(j.size, most)))
        rest = sum(j.size * j.expected[kind] for j in waiting[PLACED:])
        own = earliest(free, ends, taken, min(job.size, most), job.expected[kind])
        return own + rest // most


def earliest(
    free: Callable[[int], int],
    ends: Sequence[tuple[int, int]],
    taken: Sequence[tuple[int, int, int]],
    size: int,
    length: int,
) -> int:
    """Return when so many nodes are first free for so long."""
    steps = sorted({0, *(end for end, _ in ends), *(end for _, end, _ in taken)})
    for at in steps:
        if all(free(s) >= size for s in steps if at <= s < at + length):
            return at
    raise AssertionError("at last all nodes are free")


def left_of(job: PlainJob, expected: int, now: int) -> int:
    """Return how much longer a job is expected to run."""
    gone = now - job.starts[-1]
    if expected > gone:
        return expected - gone
    return min(max(gone // 2, SOON), max(job.lim - gone, SOON))


def class_of(number: int) -> int:
    """Return which class a whole number is in."""
    return bisect_right(EDGES, number) - 1


def last(values: Sequence[float]) -> float:
    """Return the last one; nan where there is none."""
    return values[-1] if values else NAN


def faded(values: Sequence[float], share: float) -> float:
    """Return the fading mean of values; nan of none."""
    mean = last(values[:1])
    for value in values[1:]:
        mean = (1 - share) * mean + share * value
    return mean
