"""The reference of promises with spare nodes, written from docs/models/spares-in-runs.md: slow, and
without any code of the package but the settings of the vault."""

from __future__ import annotations

from typing import Any

from forestall.model.vault.stores import Stores
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
        self.placing = key
        super().place(now, key)

    def free_nodes(self, start: int, end: int, size: int) -> list[int]:
        free = super().free_nodes(start, end, size)
        if self.losses.get(self.placing, 0) == 0:
            free = [node for node in free if node < self.nodes - self.spares]
        return free

    def risk_of(self, ahead: list[FailureRow], chosen: frozenset[int]) -> float:
        """Return the detectability of the first failure beyond those that there is time for, of
        nodes that have not failed before."""
        firsts: dict[int, float] = {}
        for _, node, _, detectability in ahead:
            if node in chosen:
                firsts.setdefault(node, detectability)
        beyond = list(firsts.values())[self.left(self.placing) :]
        return beyond[0] if beyond else 0.0

    def length(self, job: plain._Job) -> int:
        pause, recovery = self.costs(job.size)
        most = job.estimate
        if self.checkpoint != "none" and job.estimate > self.interval:
            most = self.interval + pause
        return super().length(job) + self.left(self.placing) * (most + recovery)

    def node_fails(self, now: int, failure: int) -> None:
        node = self.failures[failure][1]
        for key, (_, _, nodes) in self.reservations.items():
            if self.jobs[key].running and node in nodes:
                self.losses[key] = self.losses.get(key, 0) + 1
        super().node_fails(now, failure)


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
