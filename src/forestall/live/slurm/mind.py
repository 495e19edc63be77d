"""The engine of a live cluster: built from a look, told by each look after it.

A restart needs no history: one look builds it again. A job that Slurm has not started long after
the engine's reservation for it began is placed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from forestall._compile import records
from forestall.decide.promise.checkpoint_kernels import CHECKPOINT_NONE
from forestall.decide.promise.search_state import LEAST_RISKY
from forestall.engine.promise.engine import Engine
from forestall.engine.promise.policies import POLICIES
from forestall.engine.promise.state import Rules
from forestall.live.slurm.outlook import RESERVED, NodeForecast, foretold
from forestall.live.slurm.reconcile import CHECKED, Arrival, Beliefs, ToldJob, reconcile
from forestall.model.cluster.nouns import ClusterView
from forestall.model.decisions import Decision
from forestall.model.events import Event, EventKind
from forestall.model.quotes import Quote
from forestall.predict.foreseen_kernels import FORESEEN, Foreseen

PATIENCE: Final = 300
"""s after its reserved start from which a job that waits is placed anew."""


class Taken(NamedTuple):
    """What the engine was told at a moment, and what it answered."""

    now: int
    arrivals: tuple[Arrival, ...]
    events: tuple[Event, ...]
    decisions: tuple[Decision, ...]
    strange: tuple[str, ...]


class PlannedRun(NamedTuple):
    """Where and when a job runs, or will: [start, end), s, on these nodes."""

    start: int
    end: int
    nodes: tuple[str, ...]


class Mind:
    """An engine that knows the cluster of a look by its nodes' names.

    wanted : the least probability that a job of which nobody asked is placed for
    """

    def __init__(self, seen: ClusterView, now: int, wanted: float) -> None:
        nothing = Foreseen(records(0, FORESEEN), 0, 0)
        rules = Rules(
            POLICIES["promise"].code, int(CHECKPOINT_NONE), int(LEAST_RISKY), 0, 0, 1, 0, wanted
        )
        self.beliefs = Beliefs.none(seen)
        self.number = {name: k for k, name in enumerate(self.beliefs.names)}
        self.engine = Engine(len(self.number), rules, nothing, now - 1)
        self.engine.now = now - 1
        self.outlook: dict[str, NodeForecast] = {}
        self._noted: dict[int, int] = {}
        """When jobs were submitted of which looks that began before say nothing."""

    def knows(self, seen: ClusterView) -> bool:
        """Whether it knows all nodes that are seen."""
        return seen.nodes.keys() <= self.number.keys()

    def tell(
        self,
        seen: ClusterView,
        now: int,
        ours: Iterable[str],
        foreseen: Mapping[str, NodeForecast],
        began: int,
    ) -> Taken:
        """Tell the engine what is new.

        began : when the look began; it says nothing of jobs that were submitted since
        ours : names of reservations that hold promises
        foreseen : failures of nodes, as a predictor says
        """
        now = self.moment(now)
        late = self._late(now)
        self._noted = {job: at for job, at in self._noted.items()
                       if at >= began and job not in seen.jobs}  # fmt: skip
        found = reconcile(self.beliefs, seen, now, ours, self._noted)
        for one in found.arrivals:
            self.engine.add_job(one.size, one.estimate, CHECKED, one.submit)
        certain = {
            name: NodeForecast(max(start, now), end, 1.0, RESERVED)
            for name, (start, end) in found.beliefs.planned.items()
        }
        changed, self.outlook = foretold(self.outlook, {**foreseen, **certain}, self.number, now)
        events = (*late, *found.events, *changed)
        self.beliefs = found.beliefs
        decisions = self.engine.handle(events, now)
        return Taken(now, found.arrivals, events, tuple(decisions), found.strange)

    def _late(self, now: int) -> list[Event]:
        """Forget jobs that should have begun long ago and wait: they come again as new ones."""
        late = {
            key: told
            for key, told in self.beliefs.jobs.items()
            if not told.nodes
            and -1 < self.engine.field(told.position, "start") < now - PATIENCE
            and self.engine.job_state(told.position) == "WAITING"
        }
        if late:
            kept = {key: one for key, one in self.beliefs.jobs.items() if key not in late}
            self.beliefs = replace(self.beliefs, jobs=kept)
        return [Event(now, EventKind.CANCELLED, told.position) for told in late.values()]

    def submitted(
        self, job: int, user: str, name: str, size: int, length: int, now: int
    ) -> Taken | None:
        """Tell the engine of a job that was submitted just now, before it is seen; None where it
        knows the job."""
        if job in self.beliefs.jobs:
            return None
        self._noted[job] = now
        now = self.moment(now)
        position = self.engine.add_job(size, length, CHECKED, now)
        told = ToldJob(position, user, name, size, 0, (), -1)
        jobs = {**self.beliefs.jobs, job: told}
        self.beliefs = replace(self.beliefs, jobs=jobs, count=self.beliefs.count + 1)
        events = (Event(now, EventKind.SUBMITTED, position),)
        decisions = self.engine.handle(events, now)
        return Taken(now, (Arrival(job, size, length, now),), events, tuple(decisions), ())

    def moment(self, now: int) -> int:
        """Return the time at which it can be asked: clocks may go back, and it does not."""
        return max(now, self.engine.now)

    def offers(self, size: int, length: int, now: int, by: int | None = None) -> list[Quote]:
        """Return what a job submitted now could choose from; none where it is too large."""
        if size > len(self.number):
            return []
        return self.engine.offers(size, length, CHECKED, self.moment(now), by=by)

    def plan_of(self, job: int) -> PlannedRun | None:
        """Return where and when a job runs or will, None where the engine does not know it or has
        no place for it."""
        told = self.beliefs.jobs.get(job)
        if told is None or self.engine.field(told.position, "start") < 0:
            return None
        nodes = self.engine.nodes_of(told.position).tolist()
        start, end = (self.engine.field(told.position, name) for name in ("start", "end"))
        return PlannedRun(start, end, tuple(self.beliefs.names[k] for k in nodes))

    def as_dict(self) -> dict[str, Any]:
        """Return the engine as it is, and the names of its nodes, as plain data."""
        return {"nodes": list(self.beliefs.names), "engine": self.engine.snapshot()}


def plain(taken: Taken) -> tuple[Any, Any]:
    """Return what was told and what was answered, as the ledger keeps it."""
    told = {
        "now": taken.now,
        "arrivals": [list(one) for one in taken.arrivals],
        "events": [one.as_dict() for one in taken.events],
    }
    return told, [decision_of(one) for one in taken.decisions]


def decision_of(one: Decision) -> dict[str, Any]:
    """Return a decision as plain data, without what it leaves as it is by default."""
    named = {
        "kind": one.kind.name.lower(), "reason": one.reason.name.lower(), "job": one.job,
        "node": one.node, "start": one.start, "end": one.end, "deadline": one.deadline,
        "probability": one.probability, "nodes": str(one.nodes),
    }  # fmt: skip
    return {name: value for name, value in named.items() if value not in (-1, "")}


def played(engine: Engine, told: Any) -> list[dict[str, Any]]:
    """Tell an engine a cycle as the ledger keeps it, and return its decisions."""
    for _, size, estimate, submit in told["arrivals"]:
        engine.add_job(size, estimate, CHECKED, submit)
    events = [Event.of(one) for one in told["events"]]
    return [decision_of(one) for one in engine.handle(events, told["now"])]
