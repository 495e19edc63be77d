"""The reference of promises with checkpoints in a vault, written from docs/models/vault-in-runs:
slow, and without any code of the package but the settings."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

from forestall.core.model.stores import Stores
from reference import promise_reference as plain
from reference.result import FailureRow, JobRow, ReferenceRun, finished_run

Version = tuple[int, frozenset[int], frozenset[int]]
"""Work, the nodes that it was made on, and the stores that could be reached."""


class StoredSimulation(plain._Simulation):
    """Promises whose checkpoints go to stores."""

    def __init__(self, stores: Stores, given: int, *told: Any) -> None:
        super().__init__(*told)
        self.stores, self.given, self.delay = stores, given, 0
        self.kept: dict[int, list[Version]] = {}
        self.making: dict[int, Version] = {}
        self.begun: list[tuple[int, int, int, int]] = []  # job, start, resumed, unrecovered
        self.owed: dict[int, int] = {}

    # ------------------------------------------------------------------------------- costs

    def costs(self, size: int) -> tuple[int, int]:
        """Return what a checkpoint takes, and going on from one."""
        s = self.stores
        if s.layout == "ring":
            return self.ring_costs(min(1 + s.parity, size))
        code = s.layout == "code"
        m, n = (s.data, s.data + s.parity) if code else (1, 1)
        keepers = len(s.numbers(self.nodes))
        rates = []
        for k in range(n):
            path = {"local": s.disk, "server": s.near}.get(s.layout, s.far)
            if code and k % s.sites == 0:
                path = s.near
            shared = {
                "local": s.disk, "submitter": floor(Fraction(s.line, size)),
                "code": floor(Fraction(s.host, ceil(Fraction(size, keepers)))),
            }.get(s.layout, floor(Fraction(s.server, size)))  # fmt: skip
            rates.append(max(1, min(path, shared)))
        piece = ceil(Fraction(ceil(s.size / s.ratio), m))
        sending = sorted((floor(Fraction(piece * 10**6, rate)) for rate in rates), reverse=True)
        coding = floor(Fraction(s.size * 10**6, s.speed))
        save, fetch = (
            max(1, ceil(Fraction(max(coding, sum(times)), 10**6)))
            for times in (sending, sending[:m])
        )
        return self.given + save, fetch

    def ring_costs(self, copies: int) -> tuple[int, int]:
        """Return the same on a ring: one copy to the own disk, the others to neighbours, each of
        which takes in as many at the same time."""
        s = self.stores
        piece = ceil(s.size / s.ratio)
        away = max(1, min(s.near, floor(Fraction(s.host, copies - 1)))) if copies > 1 else s.disk
        disk, sent = (floor(Fraction(piece * 10**6, rate)) for rate in (s.disk, away))
        coding = floor(Fraction(s.size * 10**6, s.speed))
        save, fetch = (
            max(1, ceil(Fraction(max(coding, time), 10**6)))
            for time in (disk + sent * (copies - 1), max(disk, sent))
        )
        return self.given + save, fetch

    # ------------------------------------------------------------------------------ places

    def sites(self) -> list[list[int]]:
        """Return the nodes of each site."""
        count = self.stores.sites
        return [
            [node for node in range(self.nodes) if node * count // self.nodes == site]
            for site in range(count)
        ]

    def places(self, node: int, reached: frozenset[int]) -> set[int]:
        """Return the stores of the pieces of a node."""
        sites = self.sites()
        own = next(k for k, site in enumerate(sites) if node in site)
        at, found = sites[own].index(node), set[int]()
        for piece in range(self.stores.data + self.stores.parity):
            site = sites[(own + piece) % len(sites)]
            order = sorted(range(len(site)), key=lambda k: (k - at - 1) % len(site))
            left = [site[k] for k in order if site[k] in reached - found - {node}]
            found.update(left[:1])
        return found

    def there(self, version: Version, now: int) -> bool:
        """Return whether a checkpoint can be had."""
        _, ran_on, reached = version
        up = {node for node in range(self.nodes) if now >= self.up_at[node]}
        if self.stores.layout == "local":
            return ran_on <= up
        if self.stores.layout == "ring":
            ring, copies = sorted(ran_on), min(1 + self.stores.parity, len(ran_on))
            return all(up & {ring[place % len(ring)] for place in around(k, copies)}
                       for k in range(len(ring)))  # fmt: skip
        if self.stores.layout != "code":
            return True
        return all(len(self.places(node, reached) & up) >= self.stores.data for node in ran_on)

    # ------------------------------------------------------------------------------ running

    def length(self, job: plain._Job) -> int:
        self.overhead, recovery = self.costs(job.size)
        return super().length(job) + (recovery if job.saved else 0)

    def make_progress(self, now: int, key: int) -> None:
        super().make_progress(now + self.delay, key)
        self.delay = 0

    def start_is_due(self, now: int, key: int) -> None:
        job, nodes = self.jobs[key], self.reservations[key][2]
        if all(now >= self.up_at[node] for node in nodes):
            kept, saved = self.kept.setdefault(key, []), job.saved
            while kept and not self.there(kept[-1], now):
                kept.pop()
            job.saved = kept[-1][0] if kept else 0
            self.owed[key] = self.owed.get(key, 0) + saved - job.saved
            if job.saved < saved:
                del self.reservations[key]
                self.place(now, key)
                return
            self.delay = self.costs(job.size)[1] if job.saved else 0
            self.begun.append((key, now, job.saved, self.owed.pop(key)))
        super().start_is_due(now, key)

    def requests_checkpoint(self, now: int, key: int) -> None:
        job = self.jobs[key]
        self.overhead = self.costs(job.size)[0]
        super().requests_checkpoint(now, key)
        keepers = set(self.stores.numbers(self.nodes))
        reached = frozenset(node for node in keepers if now >= self.up_at[node])
        self.making[key] = (job.progress, self.reservations[key][2], reached)

    def checkpoint_finishes(self, now: int, key: int) -> None:
        kept = self.kept.setdefault(key, [])
        kept.append(self.making[key])
        del kept[: -self.stores.keep]
        super().checkpoint_finishes(now, key)


def around(place: int, copies: int) -> list[int]:
    """Return the places on a ring of the copies of what is saved at one: it, its next to the right,
    its next to the left, and so on."""
    found, step = [place], 1
    while len(found) < copies:
        found += [place + step, place - step]
        step += 1
    return found[:copies]


def simulate_stored(
    jobs: list[JobRow], failures: list[FailureRow], *, vault: str, nodes: int, overhead: int,
    interval: int, accuracy: float, risk: float, checkpoint: str, placement: str = "fault-aware",
) -> tuple[ReferenceRun, list[tuple[int, int, int, int]]]:  # fmt: skip
    """Play jobs with promises and a vault; return the run, and (job, start, work that it began
    with, work that could not be had) of each run, by job and start. Downtimes are known."""
    simulation = StoredSimulation(
        Stores.of(vault), overhead, jobs, failures, nodes, accuracy, risk, overhead, interval,
        checkpoint, placement,
    )  # fmt: skip
    simulation.run()
    promises = [(job.deadline or 0, job.promise) for job in simulation.jobs]
    decided = [(job.performed, job.skipped) for job in simulation.jobs]
    played = finished_run(jobs, simulation.runs, simulation.hits, nodes, promises, decided)
    return played, sorted(simulation.begun)
