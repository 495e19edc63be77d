"""The reference of promises with spare nodes, written from docs/models/spares-in-runs.md: slow, and
without any code of the package but the settings of the vault."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forestall.core.model.stores import Stores
from reference import promise_reference as plain
from reference.result import FailureRow, JobRow, ReferenceRun, finished_run
from reference.stored_promises import StoredSimulation


class SparedSimulation(StoredSimulation):
    """Promises of jobs that go on on spares when they lose a node."""

    def __init__(self, spares: int, failovers: int, *told: Any) -> None:
        super().__init__(*told)
        self.spares, self.failovers = spares, failovers
        self.losses: dict[int, int] = {}
        self.placing: int = -1
        self.window = (0, 0, 0)
        self.lost_before: set[int] = set()
        self.learned: dict[str, Learned] = {}  # by cause
        self.settled: set[int] = set()  # jobs whose losses are no longer counted
        self.cause: dict[int, str] = {}

    def costs(self, size: int) -> tuple[int, int]:
        if self.stores is None:
            return self.given, 0
        return super().costs(size)

    def there(self, version: Any, now: int) -> bool:
        return self.stores is None or super().there(version, now)

    def requests_checkpoint(self, now: int, key: int) -> None:
        if self.stores is not None:
            super().requests_checkpoint(now, key)
            return
        plain._Simulation.requests_checkpoint(self, now, key)
        self.making[key] = (self.jobs[key].progress, frozenset(), frozenset())

    def checkpoint_finishes(self, now: int, key: int) -> None:
        self.kept.setdefault(key, []).append(self.making[key])
        if self.stores is not None:
            del self.kept[key][: -self.stores.keep]
        plain._Simulation.checkpoint_finishes(self, now, key)

    def left(self, key: int) -> int:
        """Return how many failures a job's reservation still has time for."""
        return max(0, self.failovers - self.losses.get(key, 0))

    def place(self, now: int, key: int) -> None:
        self.placing, job = key, self.jobs[key]
        again = job.deadline is not None
        super().place(now, key)
        cause = self.cause.pop(key, "")
        if again and key not in self.settled:
            assert job.deadline is not None
            end = self.reservations[key][1] - self.left(key) * self.room(job)
            if cause:
                self.learn(cause, job, good=end <= job.deadline)
            if end > job.deadline:
                self.settled.add(key)

    def free_nodes(self, start: int, end: int, size: int) -> list[int]:
        free = super().free_nodes(start, end, size)
        self.window = (self.window[0], start, end)
        if self.placing not in self.lost_before:
            free = [node for node in free if node < self.nodes - self.spares]
        return free

    def candidates(self, now: int, negotiate: bool) -> list[int]:
        self.window = (now, now, now)
        return super().candidates(now, negotiate)

    def risk_of(self, ahead: list[FailureRow], chosen: frozenset[int]) -> float:
        """Return the probability that a loss is not made good, or one too many is met."""
        job, most = self.jobs[self.placing], self.failovers
        if most == 0 or job.deadline is not None:
            return super().risk_of(ahead, chosen)
        now, start, end = self.window
        if not self.learned:
            pool = self.pool(now)
            late = pool * (1 - 1 / math.factorial(most + 1))
            self.learned = {"start": Learned(pool), "run": Learned(pool), "late": Learned(late)}
        before = [f for f in ahead if f[0] < start]
        late = plain.first_detectability(before, chosen)
        met: dict[int, tuple[int, float]] = {}
        for time, node, _, detectability in ahead:
            if node in chosen and time >= start:
                met.setdefault(node, (time, detectability))
        losses, failed, share = list(met.values()), 0.0, 1.0
        for k in range(most + 13):
            until = end - most * self.room(job) + min(k, most) * self.room(job) // 2
            risk = losses[k][1] if k < len(losses) and losses[k][0] < until else 0.0
            if risk == 0:
                break  # without this loss there is none after it
            good = self.made_good(job, "run")
            if k >= most:
                good = self.made_good(job, "late") if k < most + 12 else 0.0
            failed += share * risk * (1 - good)
            share *= good
        return 1 - (1 - (1 - self.made_good(job, "start")) * late) * (1 - failed)

    def pool(self, now: int) -> float:
        """Return how likely fewer nodes are down than there are spares."""
        foreseen = [f for f in self.predictor.known if now <= f[0] < now + self.predictor.longest]
        mean = sum(f[3] for f in foreseen)
        return sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(self.spares))

    def terms(self, job: plain._Job) -> np.ndarray:
        """Return what it depends on whether a loss of the job is made good."""
        length = math.log(min(max(job.estimate, 112.5), 115_200) / 3600, 4)
        part = job.size < self.nodes - self.spares
        return np.array([1, length, part, length * part])

    def made_good(self, job: plain._Job, cause: str) -> float:
        """Return how likely a loss of the job is made good."""
        return self.learned[cause].chance(self.terms(job))

    def learn(self, cause: str, job: plain._Job, *, good: bool) -> None:
        """Learn from a loss, where promises count on spares."""
        if self.learned:
            self.learned[cause].learn(self.terms(job), good=good)

    def room(self, job: plain._Job) -> int:
        """Return the time in a reservation for one failure."""
        pause, recovery = self.costs(job.size)
        most = job.estimate
        if self.checkpoint != "none" and job.estimate > self.interval:
            most = self.interval + pause
        return most + recovery

    def length(self, job: plain._Job) -> int:
        return super().length(job) + self.left(self.placing) * self.room(job)

    def start_is_due(self, now: int, key: int) -> None:
        if any(now < self.up_at[node] for node in self.reservations[key][2]):
            self.lose(key, in_run=False)
        super().start_is_due(now, key)

    def lose(self, key: int, *, in_run: bool) -> None:
        """Take note that a job has lost a node before it is placed again."""
        self.cause[key] = ("run" if in_run else "start") if self.left(key) else "late"
        if in_run or self.left(key):
            self.lost_before.add(key)

    def node_fails(self, now: int, failure: int) -> None:
        node = self.failures[failure][1]
        for key, (_, _, nodes) in self.reservations.items():
            if self.jobs[key].running and node in nodes:
                self.lose(key, in_run=True)
                self.losses[key] = self.losses.get(key, 0) + 1
        super().node_fails(now, failure)


class Learned:
    """A logistic regression that begins at a probability and learns from one case after the other;
    the law of its weights is kept as a mean and a precision."""

    def __init__(self, begins: float) -> None:
        begins = min(max(begins, 0.01), 0.99)
        self.mean = np.array([math.log(begins / (1 - begins)), 0, 1, 0])
        self.precision = np.diag([1 / 1.5**2, 1, 1, 1])

    def chance(self, terms: np.ndarray) -> float:
        """Return how likely a case of these terms is good."""
        return 1 / (1 + math.exp(-float(self.mean @ terms)))

    def learn(self, terms: np.ndarray, *, good: bool) -> None:
        """Learn whether a case was good."""
        chance = self.chance(terms)
        self.precision = self.precision + chance * (1 - chance) * np.outer(terms, terms)
        self.mean = self.mean + np.linalg.solve(self.precision, terms) * (good - chance)


def simulate_spared(
    jobs: list[JobRow], failures: list[FailureRow], *, spares: int, failovers: int,
    vault: str | None, nodes: int, overhead: int, interval: int, accuracy: float, risk: float,
    checkpoint: str, placement: str = "fault-aware",
) -> tuple[ReferenceRun, list[tuple[int, int, int, int]]]:  # fmt: skip
    """Play jobs with promises and spares; what is returned is that of `simulate_stored`."""
    simulation = SparedSimulation(
        spares, failovers, None if vault is None else Stores.of(vault), overhead, jobs, failures,
        nodes, accuracy, risk, overhead, interval, checkpoint, placement,
    )  # fmt: skip
    simulation.run()
    promises = [(job.deadline or 0, job.promise) for job in simulation.jobs]
    decided = [(job.performed, job.skipped) for job in simulation.jobs]
    played = finished_run(jobs, simulation.runs, simulation.hits, nodes, promises, decided)
    return played, sorted(simulation.begun)
