"""A small cluster whose nodes fail by hazards of their own, and jobs that are quoted, promised and
run there: what is promised is held against what is kept.

The engine and its offers are those of a live cluster, told of hazards as it is. Nodes fail by
Weibull gaps of known laws; jobs run as long as they ask for, and a promise is kept where no node of
its job fails first.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from forestall.core._compile import records
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.decisions import Decision, DecisionKind
from forestall.core.model.events import Event, EventKind
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.live.quotes.offers import OfferSources, WantedJob, offers
from forestall.live.slurm.outlook import foretold
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.registry import new_learner
from forestall.prediction.watching.forecasts import hazards_of
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.engine.state import Rules
from forestall.scheduling.rules.checkpoint_kernels import CHECKPOINT_NONE
from forestall.scheduling.rules.curved_risk_kernels import PARTS
from forestall.scheduling.rules.search_state import LEAST_RISKY

DAY = 86_400
DOWN = 600
HORIZON = DAY
LAST = 4
"""Failures are drawn for so many times the time asked for: jobs may wait long."""
Outlook = Mapping[str, NodeForecast]


@dataclass(frozen=True)
class Law:
    """Weibull gaps between the failures of nodes: float64[nodes] their mean, s, and the shape."""

    mean: Floats
    shape: float

    @property
    def scale(self) -> Floats:
        """Of the Weibull law, s."""
        scale: Floats = self.mean / math.gamma(1 + 1 / self.shape)
        return scale


@dataclass(frozen=True)
class Fate:
    """When nodes fail: ascending times, s, and nodes, up to `end`; the first `trained` s are there
    to learn."""

    law: Law
    times: Ints
    nodes: Ints
    trained: int
    end: int


def drawn(seed: int, nodes: int, shape: float, trained: int, end: int) -> Fate:
    """Return a machine's failures: means from 14 hours to 40 days, log-uniform, by a seed. `end` is
    in s; those before `trained` are there to learn."""
    chance, later = (np.random.default_rng([seed, stream]) for stream in (1, 3))
    law = Law(DAY * np.exp(chance.uniform(math.log(0.6), math.log(40), nodes)), shape)
    rows: list[tuple[int, int]] = []
    for node, scale in enumerate(law.scale.tolist()):
        time = 0.0
        while time < LAST * end:  # what comes later does not change what comes before
            draws = chance if time < end else later
            time += max(DOWN + 1.0, scale * draws.weibull(shape))
            rows.append((int(time), node))
    rows = sorted(row for row in rows if row[0] < LAST * end)
    times, numbers = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Fate(law, times, numbers, trained, LAST * end)


# ------------------------------------------------------------------------------ who foresees


class Known:
    """Knows each node's law and when it failed last: the hazard as it is."""

    def __init__(self, fate: Fate) -> None:
        self._law, self._last = fate.law, np.zeros(len(fate.law.mean))
        for time, node in zip(fate.times, fate.nodes, strict=True):
            if time < fate.trained:
                self._last[node] = time

    def failed(self, time: int, node: int) -> None:
        """Take note of a failure."""
        self._last[node] = time

    def outlook(self, now: int) -> Outlook:
        """Return each node's hazard."""
        ends = now + HORIZON * np.arange(1, PARTS + 1)[:, None] / PARTS
        scale, shape = self._law.scale, self._law.shape
        grown = ((ends - self._last) / scale) ** shape - ((now - self._last) / scale) ** shape
        curves = (-np.expm1(-grown)).T.tolist()
        return {
            str(k): NodeForecast(now, now + HORIZON, one[-1], "known", tuple(one))
            for k, one in enumerate(curves)
        }


class Learned:
    """A learner that was trained on the machine's past, and hears of each failure."""

    def __init__(self, fate: Fate, name: str) -> None:
        past, nodes = fate.times < fate.trained, len(fate.law.mean)
        log = Failures.build(fate.times[past].tolist(), fate.nodes[past].tolist())
        self.learner: Learner = new_learner(name)
        self.learner.fit(Observations.of(log, begin=0, end=fate.trained, nodes=nodes))
        self._names = [str(k) for k in range(nodes)]

    def failed(self, time: int, node: int) -> None:
        """Take note of a failure."""
        self.learner.update(time, node)

    def outlook(self, now: int) -> Outlook:
        """Return each node's hazard."""
        self.learner.advance(now)
        return hazards_of(self.learner, self._names, now, HORIZON)


class AsMoments:
    """The counterexample: a hazard as one failure at its median, or in the middle of the horizon
    where that is later, which moves on with each look."""

    def __init__(self, source: Known | Learned) -> None:
        self._source = source

    def failed(self, time: int, node: int) -> None:
        """Take note of a failure."""
        self._source.failed(time, node)

    def outlook(self, now: int) -> Outlook:
        """Return each node's failure at a moment."""
        found = {}
        for name, one in self._source.outlook(now).items():
            passed = sum(risk < 0.5 for risk in one.curve)
            part = passed if passed < PARTS else PARTS // 2
            at = now + HORIZON * part // PARTS
            found[name] = NodeForecast(at, at + 3600, one.probability, one.by)
        return found


# ------------------------------------------------------------------------------------ the world


@dataclass
class Promised:
    """What was promised and kept: probabilities, and whether each job was done by its deadline."""

    stated: list[float] = field(default_factory=list)
    kept: list[bool] = field(default_factory=list)

    def arrays(self) -> tuple[Floats, Bools]:
        """Return both as arrays."""
        return np.array(self.stated), np.array(self.kept, dtype=bool)


class HazardWorld:
    """The machine from the end of its past on, and the engine that is told of it."""

    def __init__(self, fate: Fate, source: Known | Learned | AsMoments, seed: int) -> None:
        nodes = len(fate.law.mean)
        rules = Rules(
            POLICIES["promise"].code, int(CHECKPOINT_NONE), int(LEAST_RISKY), 0, 0, 1, 0, 0.0
        )
        self.engine = Engine(nodes, rules, Foreseen(records(0, FORESEEN), 0, 0), fate.trained - 1)
        self.source, self.chance = source, np.random.default_rng([seed, 2])
        self.promised = Promised()
        self._number = {str(k): k for k in range(nodes)}
        self._told: dict[str, NodeForecast] = {}
        self._now, self._end = fate.trained, fate.end
        self._heap: list[tuple[int, int, int, int]] = []
        self._runs: dict[int, int] = {}
        self._deadline: dict[int, tuple[int, int]] = {}
        for time, node in zip(fate.times.tolist(), fate.nodes.tolist(), strict=True):
            if time >= fate.trained:
                heapq.heappush(self._heap, (time, EventKind.NODE_FAILED.rank, node, 0))

    def play(self, jobs: int, every: float, widest: int) -> Promised:
        """Let so many jobs come, `every` s on average; return what became of the promises."""
        nodes, time = len(self._number), float(self._now)
        for _ in range(jobs):
            time += self.chance.exponential(every)
            self._pass(int(time))
            size = int(self.chance.integers(1, min(widest, nodes) + 1))
            length = int(math.exp(self.chance.uniform(math.log(3600), math.log(1.5 * DAY))))
            self._arrive(WantedJob(size, length), int(time))
        while self._deadline:
            self._pass(self._heap[0][0] + 1)
        return self.promised

    def _arrive(self, job: WantedJob, now: int) -> None:
        """Quote a job, let its user take any of the offers, and place it as it was promised."""
        events, self._told = foretold(self._told, self.source.outlook(now), self._number, now)
        self._handle(events, now)
        found = offers(job, now, OfferSources(self.engine), most=4)
        if not found:
            return  # too few nodes are up
        offer = found[int(self.chance.integers(len(found)))]
        number = self.engine.add_job(job.nodes, job.time, job.time, now)
        self._deadline[number] = offer.deadline, len(self.promised.stated)
        self.promised.stated.append(offer.probability)
        self.promised.kept.append(False)
        self.engine.take_over(number, offer.start, offer.deadline, offer.probability)
        due = (max(self.engine.field(number, "start"), now), EventKind.START_DUE.rank, number, 0)
        heapq.heappush(self._heap, due)
        self._handle([], now)

    def _pass(self, until: int) -> None:
        """Let all happen that comes before a moment, second by second."""
        while self._heap and self._heap[0][0] < until:
            now = self._heap[0][0]
            events: list[Event] = []
            while self._heap and self._heap[0][0] == now:
                _, rank, key, run = heapq.heappop(self._heap)
                events += self._happened(rank, key, run, now)
            self._handle(events, now)

    def _happened(self, rank: int, key: int, run: int, now: int) -> list[Event]:
        if rank == EventKind.NODE_FAILED.rank:
            self.source.failed(now, key)
            back = (now + DOWN, EventKind.NODE_RECOVERED.rank, key, 0)
            heapq.heappush(self._heap, back)
            return [Event(now, EventKind.NODE_FAILED, key, now + DOWN)]
        if rank == EventKind.NODE_RECOVERED.rank:
            return [Event(now, EventKind.NODE_RECOVERED, key)]
        if rank == EventKind.FINISHED.rank and self._runs.get(key) == run:
            assert now < self._end, "no failures are drawn any more: every promise would be kept"
            deadline, place = self._deadline.pop(key)
            self.promised.kept[place] = now <= deadline
            return [Event(now, EventKind.FINISHED, key)]
        return []  # a start that is due, or the end of a run that failed

    def _handle(self, events: list[Event], now: int) -> None:
        """Tell the engine, and start what is due."""
        self._take(self.engine.handle(events, now), now)
        if due := self.engine.due(now):
            self._take(self.engine.handle(due, now), now)

    def _take(self, decisions: list[Decision], now: int) -> None:
        for one in decisions:
            if one.kind is DecisionKind.START:
                self._runs[one.job] = self._runs.get(one.job, 0) + 1
                end = (one.end, EventKind.FINISHED.rank, one.job, self._runs[one.job])
                heapq.heappush(self._heap, end)
            elif one.kind is DecisionKind.REQUEUE:
                self._runs[one.job] += 1
            elif one.kind is DecisionKind.RESERVE:
                due = (max(one.start, now), EventKind.START_DUE.rank, one.job, 0)
                heapq.heappush(self._heap, due)


# ------------------------------------------------------------------------------- how well it holds


@dataclass(frozen=True)
class Decile:
    """Promises of a decile of what was stated: how many, their mean, the share that was kept and
    its 95 % interval (Wilson)."""

    count: int
    stated: float
    kept: float
    low: float
    high: float

    @property
    def off(self) -> float:
        """By how much fewer were kept than stated."""
        return self.stated - self.kept


def deciles(stated: Floats, kept: Bools) -> list[Decile]:
    """Return the deciles of stated probabilities that have any promises, the lowest first."""
    number, found = np.minimum((10 * stated).astype(int), 9), []
    for k in np.unique(number).tolist():
        among = number == k
        n, share, z2 = int(among.sum()), float(kept[among].mean()), 1.96**2
        middle = (share + z2 / (2 * n)) / (1 + z2 / n)
        half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        mean = float(stated[among].mean())
        found.append(Decile(n, mean, share, middle - half, middle + half))
    return found


def worst(found: list[Decile], least: int) -> float:
    """Return by how much the worst decile of at least so many promises is off."""
    return max(abs(one.off) for one in found if one.count >= least)


def resolution(stated: Floats, kept: Bools) -> float:
    """Return how much what was stated tells jobs apart (Murphy 1973): the variance of the deciles'
    shares, as a part of that of outcomes; 0 where the same is stated of all."""
    base = float(kept.mean())
    parts = ((one.count, one.kept) for one in deciles(stated, kept))
    between = sum(count * (share - base) ** 2 for count, share in parts) / len(kept)
    return between / (base * (1 - base))


def brier(stated: Floats, kept: Bools) -> float:
    """Return the mean squared difference of what was stated from what came."""
    return float(np.mean((stated - kept) ** 2))


SOURCES: Mapping[str, Callable[[Fate], Known | Learned | AsMoments]] = {
    "known": Known,
    "renewal": lambda fate: Learned(fate, "renewal"),
    "moments": lambda fate: AsMoments(Known(fate)),
}
"""Who foresees: the hazards as they are, a learner of the project, and the former treatment."""


FULL, LIGHT = 9000.0, 40_000.0
"""s between two jobs on average: so many that waits grow without end, and so few that most start at
once."""


def played(source: str, jobs: int, seed: int, every: float = FULL) -> tuple[Floats, Bools]:
    """Return what was promised, and whether it was kept, where a source foresees."""
    trained = 200 * DAY
    fate = drawn(seed, 24, 0.8, trained, trained + 4 * int(jobs * every) + 60 * DAY)
    return HazardWorld(fate, SOURCES[source](fate), seed).play(jobs, every, 8).arrays()
