"""The rule of promised probabilities: from the failures that were foreseen, the nodes and times of
each quote and, with spares, the losses before it, anew and from the files alone."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.certify.finding import Finding
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.events import EventKind
from forestall.core.model.nodes import NodeSet
from forestall.scheduling.certify.files import PromiseRun

TOLERANCE: Final = 1e-9
PAST: Final = 12
"""Losses past those that there is time for that a promise looks at, at most."""
SHORTEST, LONGEST = 112.5, 115_200.0
"""Run times are taken as at least, and at most, so many seconds: 4 ** -2.5 and 4 ** 2.5 hours."""


class _Learned:
    """A logistic regression of whether a loss is made good, from one loss after the other: what the
    pool says, then the mean and the covariances of its weights."""

    def __init__(self, pool: float) -> None:
        pool = min(max(pool, 0.01), 0.99)
        self.mean = np.array([math.log(pool / (1 - pool)), 0.0, 1.0, 0.0])
        self.covariances = np.diag([2.25, 1.0, 1.0, 1.0])

    def chance(self, terms: npt.NDArray[np.float64]) -> float:
        return 1.0 / (1.0 + math.exp(-float(self.mean @ terms)))

    def learn(self, terms: npt.NDArray[np.float64], good: bool) -> None:
        chance, along = self.chance(terms), self.covariances @ terms
        told = chance * (1 - chance)
        along = along / math.sqrt(1 + told * float(terms @ along))
        self.covariances = self.covariances - told * np.outer(along, along)
        self.mean = self.mean + self.covariances @ terms * (good - chance)


@dataclass
class _SparedJob:
    """A job with spares: failures that there is time for, s for each of them, what its losses are
    learned from, its deadline, and whether its losses count."""

    left: int
    room: int
    terms: npt.NDArray[np.float64]
    deadline: int = -1
    counts: bool = True
    lost: str = ""


def applies(run: PromiseRun) -> bool:
    """Return whether the files tell all that promises follow from: not without the trace predictor,
    with planned outages, and where failures repeat; and other policies promise nothing."""
    held = run.summary.held
    promises = run.given.parameters.get("policy") == "promise" and run.is_foreseen
    return promises and not (run.is_planned or held.get("repeat_period") or held.get("own_rules"))


def check(run: PromiseRun, finding: Finding) -> str:
    """Each job's promise is the probability that follows."""
    return PromisedProbabilities(run).check(finding)


@dataclass
class PromisedProbabilities:
    """What a log says of promises, and what is learned from the losses so far, by kind."""

    run: PromiseRun
    learned: dict[str, _Learned] = field(default_factory=dict)

    @cached_property
    def _known(self) -> list[tuple[int, int, int, float]]:
        """Foreseen failures as (time, end, node, detectability), in order of time and node."""
        rows = self.run.foreseen
        columns = (rows.time, rows.time + rows.downtime, rows.node, rows.detectability)
        failures = zip(*(column.tolist() for column in columns), strict=True)
        return sorted(failures, key=lambda row: (row[0], row[2]))

    @cached_property
    def _times(self) -> list[int]:
        return [row[0] for row in self._known]

    @cached_property
    def _longest(self) -> int:
        return max((until - time for time, until, *_ in self._known), default=0)

    def check(self, finding: Finding) -> str:
        """Follow each job through its decisions."""
        run, told, jobs, count = self.run, self.run.decisions, self._jobs(), 0
        names = ("time", "kind", "reason", "job", "start", "end", "probability", "nodes")
        rows = zip(*(getattr(told, name).tolist() for name in names), strict=True)
        for time, kind, reason, number, start, end, probability, nodes in rows:
            job = jobs[number]
            if kind == DecisionKind.REQUEUE:
                self._lose(job)
            elif kind == DecisionKind.RESERVE and job.deadline < 0:
                job.deadline, count = end, count + 1
                numbers = set(NodeSet.parse(nodes).array().tolist())
                mine = self._promise(job, numbers, (time, start, end), run.given.spares)
                if not math.isclose(mine, probability, rel_tol=0, abs_tol=TOLERANCE):
                    text = "job {0}: promised with {1}, {2} recomputed"
                    finding.wrong(text, run.jobs.name[number], probability, mine)
            elif kind == DecisionKind.RESERVE:
                self._placed_again(job, reason, end)
        return f"{count} promises follow from the failures foreseen"

    def _jobs(self) -> list[_SparedJob]:
        run = self.run
        submitted = run.events.take(run.events.kind == EventKind.SUBMITTED)
        saves = run.given.checkpoint != "none"
        pause, recovery = run.pause.tolist(), run.recovery.tolist()
        jobs: list[_SparedJob] = [_SparedJob(0, 0, np.zeros(4))] * len(run.jobs)
        ordinary, size = run.given.nodes - run.given.spares, run.jobs.size.tolist()
        columns = (submitted.job, submitted.estimate, submitted.interval)
        left = int(run.given.parameters.get("failovers") or 0)
        for job, estimate, interval in zip(*(one.tolist() for one in columns), strict=True):
            longest = interval + pause[job] if saves and estimate > interval else estimate
            length = math.log(min(max(estimate, SHORTEST), LONGEST) / 3600, 4)
            part = float(size[job] < ordinary)
            terms = np.array([1.0, length, part, length * part])
            jobs[job] = _SparedJob(left, longest + recovery[job], terms)
        return jobs

    # ------------------------------------------------------------------------------- losses

    def _lose(self, job: _SparedJob) -> None:
        job.lost = "in the run" if job.left else "past its room"
        job.left = max(job.left - 1, 0)

    def _placed_again(self, job: _SparedJob, reason: int, end: int) -> None:
        if reason == Reason.NODE_DOWN_AT_START:
            job.lost = "at the start" if job.left else "past its room"
        in_time = end - job.left * job.room <= job.deadline
        if job.counts and job.lost and self.learned:
            self.learned[job.lost].learn(job.terms, in_time)
        job.counts &= in_time
        job.lost = ""

    # ----------------------------------------------------------------------------- promises

    def _promise(
        self, job: _SparedJob, nodes: set[int], window: tuple[int, int, int], spares: int
    ) -> float:
        now, start, end = window
        known = self._known[bisect.bisect_left(self._times, max(now, start - self._longest)) :]
        met = []
        for row in known:
            if row[0] >= end:
                break
            if row[1] > start and row[2] in nodes:
                met.append(row)
        if not job.left:
            return 1.0 - (met[0][3] if met else 0.0)
        down = [row for row in met if row[0] < start]
        firsts: dict[int, tuple[int, float]] = {}
        for time, _, node, risk in met:
            if time >= start:
                firsts.setdefault(node, (time, risk))
        if not self.learned:
            pool = self._pool(now, spares)
            past = pool * (1 - 1 / math.factorial(job.left + 1))
            self.learned = {"at the start": _Learned(pool), "in the run": _Learned(pool),
                            "past its room": _Learned(past)}  # fmt: skip
        at_start, in_run, past = (law.chance(job.terms) for law in self.learned.values())
        work, kept, failed = end - job.left * job.room, 1.0, 0.0
        for k, (time, risk) in enumerate([*firsts.values()][: job.left + PAST + 1]):
            if time >= work + min(k, job.left) * job.room // 2 or risk < 1e-12:
                break  # the job has ended by then
            good = in_run if k < job.left else past if k < job.left + PAST else 0.0
            failed += kept * risk * (1 - good)
            kept *= good
        return (1 - (1 - at_start) * (down[0][3] if down else 0.0)) * (1 - failed)

    def _pool(self, now: int, spares: int) -> float:
        """Return the probability that fewer nodes are down than there are spares."""
        first = bisect.bisect_left(self._times, now)
        last = bisect.bisect_left(self._times, now + self._longest)
        mean = math.fsum(row[3] for row in self._known[first:last])
        return min(1.0, math.fsum(_poisson(k, mean) for k in range(spares)))


def _poisson(count: int, mean: float) -> float:
    """Return the probability of a Poisson number."""
    if mean == 0:
        return float(count == 0)
    return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))
