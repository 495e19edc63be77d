"""A machine: groups of nodes, queues, checkpoints, and how its jobs fail. Times in seconds.

Source: Hacker and Meglicki, HPDC 2007, Sections 4 to 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import format_duration, parse_duration
from forestall.reliability.queues.queues import Queue, RunTimes, job_failure
from forestall.reliability.systems.pools import failures_of_place, fewest
from forestall.reliability.systems.systems import (
    Age,
    ComponentGroup,
    MeanLife,
    ages_of,
    at_most_lost,
    checked_age,
    from_mttf,
    integral_to,
    series_mttf,
    series_sf,
)

with lazily():
    import polars as pl


@dataclass(frozen=True)
class Checkpoints:
    """What a checkpoint costs, s: the pause `cost`, and `restart` after a failure."""

    cost: float
    restart: float = 0.0

    def __post_init__(self) -> None:
        for name in ("cost", "restart"):
            value: object = getattr(self, name)
            if isinstance(value, str):
                object.__setattr__(self, name, float(parse_duration(value, name)))
            elif not (isinstance(value, int | float) and 0 <= value < math.inf):
                raise ParameterError(name, value, "a finite number of at least 0 s")
        if not self.cost > 0:
            raise ParameterError("cost", self.cost, "above 0 s")


class GroupedMachine:
    """Nodes in groups, queues, and how likely the jobs of each queue meet a failure; `Cluster` is
    what users have of it, and says what the parameters are."""

    def __init__(
        self,
        groups: Iterable[ComponentGroup | Mapping[str, Any]] = (),
        queues: Iterable[Queue | Mapping[str, Any]] = (),
        *,
        nodes: int | None = None,
        mttf: float | str | None = None,
        shape: float = 1.0,
        ages: Age | str | None = None,
        checkpoints: Checkpoints | float | str | None = None,
        name: str = "",
    ) -> None:
        listed = [group_of(one) for one in groups]
        if (nodes is None) != (mttf is None) or bool(listed) == (nodes is not None):
            raise ParameterError("groups", len(listed), "groups, or nodes and mttf")
        if nodes is not None:
            listed = [group_of({"name": "nodes", "count": nodes, "mttf": mttf, "shape": shape})]
        if ages is not None:
            age = age_of(ages)
            listed = [replace(group, age=age) for group in listed]
        self.groups: tuple[ComponentGroup, ...] = tuple(listed)
        self.queues: tuple[Queue, ...] = tuple(
            one if isinstance(one, Queue) else Queue(**one) for one in queues
        )
        self.name = name
        if isinstance(checkpoints, str | int | float):
            checkpoints = Checkpoints(checkpoints)  # type: ignore[arg-type]
        self.checkpoints = checkpoints
        self._check()

    def _check(self) -> None:
        for what, names in (
            ("groups", [group.name for group in self.groups]),
            ("queues", [queue.name for queue in self.queues]),
        ):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ParameterError(what, twice[0], "names that differ")
        if self.nodes < 1:
            raise ParameterError("count", self.nodes, "at least 1 node in all groups")
        counts = {group.name: group.count for group in self.groups}
        for queue in self.queues:
            for name, wanted in queue.mix:
                if name not in counts:
                    raise ParameterError("mix", name, "groups: " + ", ".join(counts))
                if wanted > counts[name]:
                    raise ParameterError("mix", wanted, f"at most the {counts[name]} of {name}")
            if queue.nodes > self.nodes:
                raise ParameterError(
                    "nodes", queue.nodes, f"at most {self.nodes} in queue {queue.name}"
                )

    def __repr__(self) -> str:
        counts = (self.nodes, "node"), (len(self.groups), "group"), (len(self.queues), "queue")
        told = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts)
        return f"{type(self).__name__}({told})"

    @property
    def nodes(self) -> int:
        """Nodes of all groups."""
        return sum(group.count for group in self.groups)

    @property
    def assumes(self) -> str:
        """What the figures assume of the nodes' ages."""
        return ages_of(self.groups, format_duration)

    def but(
        self,
        *,
        groups: Sequence[ComponentGroup] | None = None,
        queues: Sequence[Queue] | None = None,
        ages: Age | str | None = None,
    ) -> Self:
        """Return the machine with other groups, queues or ages."""
        return type(self)(
            self.groups if groups is None else groups,
            self.queues if queues is None else queues,
            ages=ages,
            checkpoints=self.checkpoints,
            name=self.name,
        )

    # The machine ---------------------------------------------------------------------------------

    def reliability(self, t: npt.ArrayLike | str) -> Floats:
        """Return R(t), the probability that no node fails within `t` (s, or a duration)."""
        return series_sf(self.groups, parse_duration(t, "t") if isinstance(t, str) else t)

    def mttf(self, assume: Age | None = None) -> MeanLife:
        """Return the mean time to the first failure of any node, s, and what it assumes.

        `assume` takes the place of the groups' ages: ``"new"`` gives MTTF / N^(1/shape) for like
        Weibull nodes, ``"steady"`` MTTF / N.
        """
        groups = [g if assume is None else replace(g, age=assume) for g in self.groups]
        return MeanLife(series_mttf(groups).time, ages_of(groups, format_duration))

    # Queues and jobs -----------------------------------------------------------------------------

    def queue(self, name: str | Queue) -> Queue:
        """Return the queue of that name."""
        if isinstance(name, Queue):
            return name
        for queue in self.queues:
            if queue.name == name:
                return queue
        known = ", ".join(queue.name for queue in self.queues)
        raise ParameterError("queue", name, f"one of {known}" if known else "a cluster with queues")

    def shares(self, queue: Queue) -> tuple[tuple[ComponentGroup, float], ...]:
        """Return which groups a job's nodes come from, and how many of each: the queue's mix, or
        all groups in proportion, which need not be whole."""
        if queue.mix:
            named = {group.name: group for group in self.groups}
            return tuple((named[name], float(number)) for name, number in queue.mix)
        return tuple((g, queue.nodes * g.count / self.nodes) for g in self.groups if g.count)

    def log_survival(self, queue: str | Queue, t: npt.ArrayLike) -> Floats:
        """Return the logarithm of the probability that a job of the queue meets no failure in
        `t` seconds."""
        times = np.asarray(t, dtype=np.float64)
        out: Floats = np.zeros(times.shape)
        for group, number in self.shares(self.queue(queue)):
            out = out + number * group.log_survival(times)
        return out

    def node_log_survival(self, t: npt.ArrayLike) -> Floats:
        """Return the logarithm of a node's survival, as the mean over all nodes."""
        times = np.asarray(t, dtype=np.float64)
        out: Floats = np.zeros(times.shape)
        for group in self.groups:
            if group.count:
                out = out + group.count / self.nodes * group.log_survival(times)
        return out

    def queue_failure(self, queue: str | Queue, runs: RunTimes | None = None) -> float:
        """Return F_q: the probability that a job of the queue meets a failure.

        It runs to the limit, or as long as `runs` say (s).
        """
        chosen = self.queue(queue)
        times = np.array([chosen.limit]) if runs is None else np.minimum(runs.times, chosen.limit)
        weights = np.ones(1) if runs is None else runs.weights
        failed = float(weights @ -np.expm1(self.log_survival(chosen, times)))
        return min(1.0, max(0.0, failed))

    def failures(self, runs: Mapping[str, RunTimes] | None = None) -> dict[str, float]:
        """Return F_q of every queue by name."""
        return {
            queue.name: self.queue_failure(queue, (runs or {}).get(queue.name))
            for queue in self.queues
        }

    def job_failure(self, runs: Mapping[str, RunTimes] | None = None) -> float:
        """Return F_job: the share of jobs that meet a failure when every queue is always full.

        Raises ParameterError without queues.
        """
        if not self.queues:
            raise ParameterError("queues", 0, "at least one queue")
        return job_failure(self.queues, list(self.failures(runs).values()), runs)

    def capacity(self) -> float:
        """Return nodes that work when every slot is taken: node-hours per hour."""
        return float(sum(queue.busy for queue in self.queues))

    def goodput(self, queue: str | Queue) -> float:
        """Return the node-hours per hour of jobs that finish, in a queue that is always full.

        A job that meets a failure gives its slot back at once and has done nothing:
        J N T R(T) over the integral of R from 0 to T.
        """
        chosen = self.queue(queue)

        def sf(t: Floats) -> Floats:
            return np.exp(self.log_survival(chosen, t))

        limit = np.array(chosen.limit)
        held = float(integral_to(sf, limit))
        return chosen.busy * chosen.limit * float(sf(limit)) / held if held > 0 else 0.0

    def lost(self, queue: Queue, time: float, more: int = 0) -> list[tuple[int, float]]:
        """Return (nodes, probability that each is lost in `time`) of a job of the queue with so
        many more nodes; fractions of nodes, and what a group has not, go to the groups that are
        furthest from their share."""
        if more > self.room(queue):
            allowed = f"at most {self.room(queue)}: a job of {queue.name} takes {queue.nodes} nodes"
            raise ParameterError("spares", more, f"{allowed} of {self._reach(queue)}")
        shares = self.shares(queue)
        total = queue.nodes + more
        exact = [number * total / queue.nodes for _, number in shares]
        whole = [
            min(math.floor(value + 1e-9), group.count)
            for value, (group, _) in zip(exact, shares, strict=True)
        ]
        while sum(whole) < total:
            there = [k for k, (group, _) in enumerate(shares) if whole[k] < group.count]
            whole[max(there, key=lambda k: (exact[k] - whole[k], -k))] += 1
        return [
            (number, -math.expm1(float(group.log_survival(time))))
            for number, (group, _) in zip(whole, shares, strict=True)
        ]

    def room(self, queue: str | Queue) -> int:
        """Return how many spares a job of the queue can hold: the nodes of the machine, or of the
        groups of the queue's mix, that are not the job's own."""
        chosen = self.queue(queue)
        return max(0, self._reach(chosen) - chosen.nodes)

    def _reach(self, queue: Queue) -> int:
        return sum(group.count for group, _ in self.shares(queue))

    def failure_with_spares(self, queue: str | Queue, spares: int) -> float:
        """Return the probability that a job loses more nodes than it has spares within the limit.

        The job holds `spares` nodes on top of its own (Section 7). Raises ParameterError where the
        machine has no `room` for them.
        """
        chosen = self.queue(queue)
        if spares == 0:
            return self.queue_failure(chosen)
        return 1 - at_most_lost(self.lost(chosen, chosen.limit, spares), spares)

    def spares(self, queue: str | Queue, target: float, most: int = 10_000) -> int | None:
        """Return the fewest spares, on top of a job's nodes, for a success of at least `target`;
        None where `most` do not suffice, or no more than the machine has `room` for."""
        most = min(most, self.room(queue))
        return fewest(lambda m: 1 - self.failure_with_spares(queue, m), target, most)

    def failures_of_job(self, queue: str | Queue, time: float | None = None) -> tuple[float, float]:
        """Return the probabilities of no and of exactly one failure of a job's nodes in `time`
        (s; the limit by default), each failed node replaced by a new one at once."""
        chosen = self.queue(queue)
        log_none, one = 0.0, 0.0
        for group, number in self.shares(chosen):
            counts = failures_of_place(group.lifetime, time or chosen.limit, group.age, 2)
            single = float(counts[1]) if len(counts) > 1 else 0.0
            log_none += number * math.log(max(float(counts[0]), 1e-300))
            one += number * single / max(float(counts[0]), 1e-300)
        none = math.exp(log_none)
        return none, min(1.0 - none, none * one)

    def table(self) -> pl.DataFrame:
        """Return a Polars table of the queues with their failure probabilities."""
        return pl.DataFrame(
            {
                "queue": [queue.name for queue in self.queues],
                "nodes": [queue.nodes for queue in self.queues],
                "limit": [queue.limit for queue in self.queues],
                "slots": [queue.slots for queue in self.queues],
                "failure_probability": list(self.failures().values()),
            }
        )


def age_of(given: Age | str) -> Age:
    """Return an age of nodes, durations as seconds."""
    if isinstance(given, str) and given not in ("new", "steady"):
        try:
            return float(parse_duration(given, "ages"))
        except ParameterError:
            raise ParameterError("ages", given, "new, steady, or a duration such as 180d") from None
    return checked_age(given)


def group_of(given: ComponentGroup | Mapping[str, Any]) -> ComponentGroup:
    """Return a group of nodes from a table with name, count, and mttf and shape or lifetime."""
    if isinstance(given, ComponentGroup):
        return given
    known = {"name", "count", "mttf", "shape", "lifetime", "age"}
    for key in given:
        if key not in known:
            raise ParameterError(key, given[key], "one of " + ", ".join(sorted(known)))
    law = given.get("lifetime")
    if (law is None) == ("mttf" not in given):
        raise ParameterError("mttf", given.get("mttf"), "either mttf or lifetime")
    if law is None:
        mttf = given["mttf"]
        seconds = float(parse_duration(mttf, "mttf")) if isinstance(mttf, str) else float(mttf)
        law = from_mttf(seconds, float(given.get("shape", 1.0)))
    if "count" not in given:
        raise ParameterError("count", None, "the number of nodes")
    return ComponentGroup(
        given["count"], law, age_of(given.get("age", "new")), str(given.get("name", ""))
    )
