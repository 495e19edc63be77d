"""The engine of a live cluster: built from a look, told by each look after it.

A restart needs no history: one look builds it again. A job that Slurm has not started long after
the engine's reservation for it began is placed anew.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from forestall.core._compile import records
from forestall.core.model.decisions import Decision
from forestall.core.model.events import Event, EventKind
from forestall.core.model.nodes import NodeSet
from forestall.core.model.quotes import Quote
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.outlook import RESERVED, foretold, with_usual, without_usual
from forestall.live.slurm.pools import Pools
from forestall.live.slurm.reconcile import (
    CHECKED,
    Arrival,
    Beliefs,
    Difference,
    ToldJob,
    holds_nodes,
    is_planned_for,
    length_of,
    reconcile,
)
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.prediction.watching.foreseen import ACTED_ON, NodeForecast, joined
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.plugin import members
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.engine.state import Rules
from forestall.scheduling.rules.checkpoint_kernels import CHECKPOINT_NONE
from forestall.scheduling.rules.curved_risk_kernels import Curved, hazard_risks
from forestall.scheduling.rules.search_state import LEAST_RISKY
from forestall.slurm.cluster.nouns import ClusterJob, ClusterView
from forestall.slurm.records.task_lists import lead_of

if TYPE_CHECKING:
    from forestall.core.model.arrays import Floats, Ints

PATIENCE: Final = 300
"""s after its reserved start from which a job that waits is placed anew."""


class PromisedStart(NamedTuple):
    """What was promised of a job: when it starts, when it ends, s, and how probable that is."""

    start: int
    deadline: int
    probability: float


class Taken(NamedTuple):
    """What the engine was told at a moment, and what it answered. `pools` are sets of nodes that it
    had not been told of before; `promised` jobs, by their positions, that are placed as it was
    promised."""

    now: int
    arrivals: tuple[Arrival, ...]
    events: tuple[Event, ...]
    decisions: tuple[Decision, ...]
    strange: tuple[str, ...]
    pools: tuple[tuple[int, NodeSet], ...] = ()
    promised: tuple[tuple[int, PromisedStart], ...] = ()


class PlannedRun(NamedTuple):
    """Where and when a job runs, or will: [start, end), s, on these nodes."""

    start: int
    end: int
    nodes: tuple[str, ...]


class PromisedJob(NamedTuple):
    """A job that carries a promise."""

    job: ClusterJob
    promised: PromisedStart


class Mind:
    """An engine that knows the cluster of a look by its nodes' names.

    wanted : the least probability that a job of which nobody asked is placed for
    promised : jobs that were promised before this engine began: they are placed before others, not
        before they were to start, and keep what was said
    rounds : whether lengths and ends are rounded up (`reconcile.Beliefs`)
    """

    def __init__(
        self,
        seen: ClusterView,
        now: int,
        wanted: float,
        promised: Iterable[PromisedJob] = (),
        *,
        rounds: bool = False,
    ) -> None:
        nothing = Foreseen(records(0, FORESEEN), 0, 0)
        rules = Rules(
            POLICIES["promise"].code, int(CHECKPOINT_NONE), int(LEAST_RISKY), 0, 0, 1, 0, wanted
        )
        self.beliefs = Beliefs.none(seen, rounds=rounds)
        self.number = {name: k for k, name in enumerate(self.beliefs.names)}
        self.engine = Engine(len(self.number), rules, nothing, now - 1)
        self.engine.now = now - 1
        self.outlook: dict[str, NodeForecast] = {}
        self._foreseen: tuple[Ints, tuple[tuple[int, NodeForecast], ...]] = (
            np.zeros(0, np.int64), (),
        )  # fmt: skip
        self._told: dict[str, NodeForecast] = {}
        """What is foreseen as the engine was told it, with the usual hazard of other nodes."""
        self._noted: dict[int, int] = {}
        """When jobs were submitted of which looks that began before say nothing."""
        self._pools = Pools(seen.nodes, self.number)
        self._new_pools: list[tuple[int, NodeSet]] = []
        for one in sorted(promised, key=lambda one: (one.promised.start, one.job.id)):
            self._take_over(one)

    def _take_over(self, one: PromisedJob) -> None:
        """Place the job of a promise as it was promised, if it waits or runs."""
        job, size = one.job, max(one.job.node_count, len(one.job.nodes), 1)
        if size > len(self.number) or not (is_planned_for(job) or holds_nodes(job)):
            return
        submit = min(job.submit or self.engine.now, self.engine.now)
        pool = self.pool_of(job.partition, job.features)
        length = self.reckoned(length_of(job))
        position = self.engine.add_job(size, length, CHECKED, submit, pool)
        self.engine.take_over(position, *one.promised)
        told = ToldJob(position, job.user, job.name, size, job.restarts, (), -1)
        jobs = {**self.beliefs.jobs, job.id: told}
        self.beliefs = replace(self.beliefs, jobs=jobs, count=position + 1)

    def pool_of(self, partition: str, features: str) -> int:
        """Return the engine's number of the nodes that such a job may have."""
        pool, nodes = self._pools.of(partition, features)
        if nodes is not None:
            self.engine.set_pool(pool, nodes)
            self._new_pools.append((pool, nodes))
        return pool

    def aside(self) -> Mind:
        """Return one that knows what this one does, to be asked while this one is told of a look.
        Only of pools that this one knows (`has_pool`)."""
        made = copy.copy(self)
        made.engine = self.engine.aside()
        return made

    def has_pool(self, partition: str, features: str) -> bool:
        """Whether the engine was told of the nodes that such a job may have."""
        pool = self._pools.known(partition, features)
        return pool is not None and pool < len(self.engine.state.pools)

    @property
    def ended(self) -> int:
        """How many jobs it remembers that are over."""
        return self.engine.jobs - len(self.beliefs.jobs)

    def forget_ended(self) -> None:
        """Forget them; nothing that is decided later changes."""
        left = self.engine.forget_ended().tolist()
        place = {old: new for new, old in enumerate(left)}
        jobs = {
            key: told._replace(position=place[told.position])
            for key, told in self.beliefs.jobs.items()
        }
        self.beliefs = replace(self.beliefs, jobs=jobs, count=len(left))

    def knows(self, seen: ClusterView) -> bool:
        """Whether it knows all nodes that are seen, and in which partitions they are."""
        return seen.nodes.keys() <= self.number.keys() and self._pools.hold_for(seen.nodes)

    def tell(
        self,
        seen: ClusterView,
        now: int,
        ours: Iterable[str],
        foreseen: Mapping[str, NodeForecast],
        began: int | None = None,
        *,
        rate: float = 0.0,
        promised: Mapping[int, PromisedStart] = MappingProxyType({}),
    ) -> Taken:
        """Tell the engine what is new.

        began : when the look began, None: now; it says nothing of jobs that were submitted since
        ours : names of reservations that hold promises
        foreseen : failures of nodes, as a predictor says
        rate : failures in a second of a node of which nothing is foreseen
        promised : what was promised of jobs, by their numbers
        """
        now = self.moment(now)
        late = self._late(now)
        since = now if began is None else began
        self._noted = {job: at for job, at in self._noted.items()
                       if at >= since and job not in seen.jobs}  # fmt: skip
        found = reconcile(self.beliefs, seen, now, ours, self._noted)
        arrivals = tuple(self._placed(one, seen) for one in found.arrivals)
        for one in arrivals:
            self.engine.add_job(one.size, one.estimate, CHECKED, one.submit, one.pool)
        wanted = dict(foreseen)
        for name, (start, end) in found.beliefs.planned.items():
            hazard = foreseen[name].hazard if name in foreseen else None
            wanted[name] = joined(NodeForecast(max(start, now), end, 1.0, RESERVED), hazard)
        wanted = with_usual(wanted, self.number, rate, now)
        changed, self._told = foretold(self._told, wanted, self.number, now)
        self.outlook = without_usual(self._told)
        self._foreseen = self._by_number()
        held, coming = _as_promised(found, promised)
        events = (*late, *coming, *changed)
        self.beliefs = found.beliefs
        decisions = tuple(answered(self.engine, events, held, now))
        return Taken(now, arrivals, events, decisions, found.strange, self._told_pools(), held)

    def _placed(self, one: Arrival, seen: ClusterView) -> Arrival:
        """Return an arrival with the nodes that it may have."""
        job = seen.jobs[one.job if one.job in seen.jobs else lead_of(one.job)]
        return one._replace(pool=self.pool_of(job.partition, job.features))

    def _told_pools(self) -> tuple[tuple[int, NodeSet], ...]:
        """Return the sets of nodes that the engine was told of since this was asked last."""
        told, self._new_pools = tuple(self._new_pools), []
        return told

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
        self, job: int, what: WantedJob, now: int, promised: PromisedStart | None = None
    ) -> Taken | None:
        """Tell the engine of a job that was submitted just now, before it is seen; None where it
        knows the job. It is placed as it was `promised`, where its start is held; else like one
        that nobody was promised."""
        if job in self.beliefs.jobs:
            return None
        self._noted[job] = now
        now, size, length = self.moment(now), what.nodes, self.reckoned(what.time)
        pool = self.pool_of(what.partition, what.features)
        position = self.engine.add_job(size, length, CHECKED, now, pool)
        told = ToldJob(position, what.user, what.name, size, 0, (), -1)
        jobs = {**self.beliefs.jobs, job: told}
        self.beliefs = replace(self.beliefs, jobs=jobs, count=self.beliefs.count + 1)
        held = () if promised is None else ((position, promised),)
        events = () if held else (Event(now, EventKind.SUBMITTED, position),)
        decisions = tuple(answered(self.engine, events, held, now))
        arrivals, pools = (Arrival(job, size, length, now, pool),), self._told_pools()
        return Taken(now, arrivals, events, decisions, (), pools, held)

    @property
    def knows_hazards(self) -> bool:
        """Whether the engine was told of any hazard."""
        return isinstance(self.engine.state.prediction, Curved)

    def knows_hazard(self, node: int) -> bool:
        """Whether the engine counts on a hazard of a node, by its number."""
        one = self._told.get(self.beliefs.names[node])
        return one is not None and one.hazard is not None

    def hazards(self, nodes: Ints, start: int, end: int) -> Floats:
        """Return float64[len(nodes)]: the probability that each node fails by its hazard in [start,
        end), as the engine knows them; 0 where it knows of none."""
        risks, known = np.zeros(len(nodes)), self.engine.state.prediction
        if isinstance(known, Curved):
            hazard_risks(known, nodes, self.engine.now, start, end, risks)
        return risks

    def _by_number(self) -> tuple[Ints, tuple[tuple[int, NodeForecast], ...]]:
        """Return the nodes with hazards of their own, the usual one is no reason, and the failures
        that are foreseen at moments; by numbers: a quote looks at all of them."""
        there = [(self.number[name], one) for name, one in self.outlook.items()
                 if name in self.number]  # fmt: skip
        hazardous = np.array([node for node, one in there if one.hazard is not None], np.int64)
        return hazardous, tuple((node, one) for node, one in there if not one.curve)

    def left_to_slurm(self, pool: int, size: int, start: int, end: int) -> Ints:
        """Return the nodes of a pool of which Slurm may take any for such a run: all but those that
        are kept out, where enough others are left."""
        nodes = members(self.engine.state.pools[pool])
        hazardous, moments = self._foreseen
        risky = (self.hazards(nodes, start, end) >= ACTED_ON) & np.isin(nodes, hazardous)
        acted = [node for node, one in moments if one.is_acted_on(start, end)]
        risky |= np.isin(nodes, np.array(acted, np.int64))
        left = nodes[~risky]
        return left if len(left) >= size else nodes

    def moment(self, now: int) -> int:
        """Return the time at which it can be asked: clocks may go back, and it does not."""
        return max(now, self.engine.now)

    def places_for(self, job: ClusterJob, length: int, now: int) -> list[Quote]:
        """Return what a job like one, of such a length, s, could choose from if it was submitted
        now; none where it is too large."""
        if job.node_count > len(self.number):
            return []
        pool = self.pool_of(job.partition, job.features)
        length = self.reckoned(length)
        return self.engine.offers(job.node_count, length, CHECKED, self.moment(now), pool=pool)

    def reckoned(self, length: int) -> int:
        """Return how long a job is reckoned to take, s."""
        return self.beliefs.reckoned(length, length)

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
    told: dict[str, Any] = {
        "now": taken.now,
        "arrivals": [list(one) for one in taken.arrivals],
        "events": [one.as_dict() for one in taken.events],
    }
    if taken.pools:
        told["pools"] = [[pool, str(nodes)] for pool, nodes in taken.pools]
    if taken.promised:
        told["promised"] = [[position, *promised] for position, promised in taken.promised]
    return told, [decision_of(one) for one in taken.decisions]


def decision_of(one: Decision) -> dict[str, Any]:
    """Return a decision as plain data, without what it leaves as it is by default."""
    named = {
        "kind": one.kind.name.lower(), "reason": one.reason.name.lower(), "job": one.job,
        "node": one.node, "start": one.start, "end": one.end, "deadline": one.deadline,
        "probability": one.probability, "nodes": str(one.nodes),
    }  # fmt: skip
    return {name: value for name, value in named.items() if value not in (-1, "")}


def _as_promised(
    found: Difference, promised: Mapping[int, PromisedStart]
) -> tuple[tuple[tuple[int, PromisedStart], ...], list[Event]]:
    """Return the positions of new jobs that are placed as it was promised, and all events but those
    that would place these."""
    told = {found.beliefs.jobs[job].position: one for job, one in promised.items()
            if job in found.beliefs.jobs}  # fmt: skip
    new = [event for event in found.events if _is_new(event) and event.key in told]
    held = sorted((event.key, told[event.key]) for event in new)
    return tuple(held), [event for event in found.events if event not in new]


def _is_new(event: Event) -> bool:
    return event.kind is EventKind.SUBMITTED


def answered(
    engine: Engine,
    events: Iterable[Event],
    promised: Collection[tuple[int, PromisedStart]],
    now: int,
) -> list[Decision]:
    """Tell an engine what happened at a moment, and return its decisions; jobs that were promised
    are placed before others that are new."""
    if not promised:
        return engine.handle(events, now)
    told = list(events)
    decisions = engine.handle([one for one in told if not _is_new(one)], now)
    for position, one in promised:
        decisions += engine.take_over(position, *one)
    return decisions + engine.handle(filter(_is_new, told), now)


def make_known(engine: Engine, told: Any) -> None:
    """Make an engine known with the jobs of a cycle as the ledger keeps it."""
    for pool, nodes in told.get("pools", ()):
        engine.set_pool(pool, NodeSet.parse(nodes))
    for _, size, estimate, submit, pool in told["arrivals"]:
        engine.add_job(size, estimate, CHECKED, submit, pool)


def played(
    engine: Engine, told: Any, events: Iterable[Event] | None = None
) -> list[dict[str, Any]]:
    """Tell an engine a cycle as the ledger keeps it, with its own events or these, and return its
    decisions."""
    make_known(engine, told)
    happened = [Event.of(one) for one in told["events"]] if events is None else events
    promised = [(int(job), PromisedStart(*one)) for job, *one in told.get("promised", ())]
    return [decision_of(one) for one in answered(engine, happened, promised, told["now"])]
