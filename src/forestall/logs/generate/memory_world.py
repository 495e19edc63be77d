"""The world of nodes that lose memory to jobs: who loses what, who is killed for it, and what
follows from what is done about it.

The plan says when each campaign runs and on which places of the machine; a place is held by a node.
Without a policy every campaign starts as planned and place k is node k: that is the generated
machine of `memory.generate_memory`. A policy looks at a node's first sample in each idle period,
and may take it out of service for a while, which gives memory back; or it chooses which idle nodes
a campaign gets. Nodes that are out are stood in for by other idle ones; where there are too few,
the campaign waits, and so do those after it on its places. What is drawn for a job depends on
neither, so two policies meet the same machine.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.streams import stream

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

HAZARD: Final = 0.35
"""Kills per job and share of memory that its worst node lacks, for a relation of 1."""

CARELESS: Final = 0.10
"""Campaigns whose jobs do not give all memory back."""

LEAK_MEDIAN, LEAK_SIGMA = 0.035, 0.6
"""Lognormal law of what such a job takes of a node for good."""

LEAK_MOST: Final = 0.8

REBOOT: Final = 0.2
"""Chance that a node is started anew after a campaign, which gives all of its memory back."""

REBOOT_TIME: Final = 90
AFTER: Final = 10
"""Seconds from a campaign's end to such a restart."""
SILENT_HOURS: Final = 4.0
"""Mean time for which a node's collector is dead after a kill."""

NOISE: Final = 0.003
"""Deviation of a sample."""

LEAST_SHARE, MOST_SHARE = 0.001, 0.99
"""Ends of what a sample can be."""

NEVER: Final = 2**60
END, START, SAMPLE = 0, 1, 2
"""What happens, in the order of one second."""


@dataclass(frozen=True)
class MemoryPlan:
    """Jobs before anything fails: job k of campaign c runs on the places nodes_of[c]."""

    start: Int
    end: Int
    campaign: Int
    nodes_of: tuple[Int, ...]


@dataclass(frozen=True)
class MemoryPolicy:
    """What is done about memory.

    Attributes
    ----------
    name : in short
    threshold : act on an idle node whose first sample is at least so high; -inf: on every one, inf
        (default): on none
    share : of these, so many, drawn at random
    seconds : how long a node on which one acts is out of service
    gives_back : share of what it lacks that it has again after that
    steers : campaigns get the idle nodes with the lowest last samples
    only : the nodes on which one acts (None: all); the others are left alone
    """

    name: str
    threshold: float = math.inf
    share: float = 1.0
    seconds: int = REBOOT_TIME
    gives_back: float = 1.0
    steers: bool = False
    only: frozenset[int] | None = None

    def __post_init__(self) -> None:
        if math.isnan(self.threshold):
            raise ParameterError("threshold", self.threshold, "a number")
        for name in ("share", "gives_back"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(name, getattr(self, name), "a number from 0 to 1")
        if self.seconds < 0:
            raise ParameterError("seconds", self.seconds, "a whole number of at least 0")

    def acts(self, node: int, value: float, chance: float) -> bool:
        """Return whether to act on an idle node with this sample; `chance` is drawn evenly."""
        return (
            value >= self.threshold
            and chance < self.share
            and (self.only is None or node in self.only)
        )


NOTHING: Final = MemoryPolicy("nothing")


@dataclass(frozen=True)
class MemoryDraws:
    """What is drawn for campaigns and jobs, whatever is done: which campaigns are careless, what
    their jobs take, the chances of kills, seconds that a collector is silent after one, and which
    places of a campaign are restarted after it."""

    careless: Bool
    amounts: Real
    chances: Real
    silent: Real
    lucky: tuple[Bool, ...]


def drawn(seed: int, plan: MemoryPlan) -> MemoryDraws:
    """Return what a seed draws for a plan."""
    count, many = len(plan.start), len(plan.nodes_of)
    rng = stream(seed, "memory", "leaks")
    careless = rng.random(many) < CARELESS
    amounts = rng.lognormal(math.log(LEAK_MEDIAN), LEAK_SIGMA, count)
    again = stream(seed, "memory", "reboots")
    return MemoryDraws(
        careless,
        amounts,
        stream(seed, "memory", "kills").random(count),
        stream(seed, "memory", "collector").exponential(SILENT_HOURS * 3600, count),
        tuple(again.random(len(held)) < REBOOT for held in plan.nodes_of),
    )


@dataclass
class MemoryFate:
    """What became of a machine.

    Attributes
    ----------
    steps : (node, time, what it lacks from then on); outages : (node, from, to) of its samples
    killed, worst, leak : of each job: whether memory killed it, its node that lacked most as it
        started, and how much that was
    begun : int64[campaigns], when each began; held : its nodes
    looks : (time, node, value, whether one acted) of each first sample in an idle period
    """

    steps: list[tuple[int, int, float]]
    outages: list[tuple[int, int, int]]
    killed: Bool
    worst: Int
    leak: Real
    begun: Int
    held: list[Int]
    looks: list[tuple[int, int, float, bool]] = field(default_factory=list)


def lived(
    seed: int,
    plan: MemoryPlan,
    base: Real,
    *,
    relation: float,
    period: int,
    policy: MemoryPolicy = NOTHING,
) -> MemoryFate:
    """Return how memory was lost and given back, and whom it killed.

    Parameters
    ----------
    base : float64[nodes], active memory of an idle node that lacks none
    relation : how strongly lost memory kills
    period : seconds between samples
    """
    rng = stream(seed, "memory", "watch")
    count = len(base) + sum(len(held) for held in plan.nodes_of)
    looks = NOISE * rng.standard_normal(count), rng.random(count)
    return _LeakingWorld(plan, drawn(seed, plan), looks, base, relation, period, policy).played()


class _LeakingWorld:
    """Events in the order of time; a place is held by a node, and has at most one campaign."""

    def __init__(
        self,
        plan: MemoryPlan,
        draws: MemoryDraws,
        looks: tuple[Real, Real],
        base: Real,
        relation: float,
        period: int,
        policy: MemoryPolicy,
    ) -> None:
        self.plan, self.draws, self.base, self.policy = plan, draws, base, policy
        self.relation, self.period = relation, period
        self.noise, self.chance = looks
        nodes, many, count = len(base), len(plan.nodes_of), len(plan.start)
        self.first = np.searchsorted(plan.campaign, np.arange(many + 1))
        self.due = plan.start[self.first[:-1]]
        self.after = _next_campaigns(plan, nodes)
        self.row = nodes + np.concatenate(([0], np.cumsum([len(h) for h in plan.nodes_of])))
        self.awaited = np.array([len(held) for held in plan.nodes_of])
        self.node_of = np.arange(nodes)
        self.busy = np.zeros(nodes, dtype=np.bool_)  # by place
        self.next_due = np.full(nodes, NEVER)
        self.idle = np.arange(nodes)  # by node: the look that its idle period has; -1: it works
        self.out_until = np.zeros(nodes, dtype=np.int64)
        self.silent_until = np.zeros(nodes, dtype=np.int64)
        self.level = np.zeros(nodes)
        self.seen = base.copy()
        self.events = [(0, SAMPLE, n, n) for n in range(nodes)]
        self.fate = MemoryFate(
            [(n, 0, 0.0) for n in range(nodes)], [], np.zeros(count, dtype=np.bool_),
            np.zeros(count, dtype=np.int64), np.zeros(count), np.zeros(many, dtype=np.int64),
            [np.zeros(0, dtype=np.int64)] * many,
        )  # fmt: skip
        begun = np.zeros(nodes, dtype=np.bool_)
        for c, places in enumerate(plan.nodes_of):
            new = places[~begun[places]]
            self.next_due[new] = self.due[c]
            begun[new] = True
            self._released(c, len(new), 0)

    def played(self) -> MemoryFate:
        """Return what became of the machine."""
        heapq.heapify(self.events)
        while self.events:
            now, kind, one, other = heapq.heappop(self.events)
            if kind == END:
                self._end(one, now)
            elif kind == START:
                self._start(one, now)
            else:
                self._look(one, other, now)
        return self.fate

    def _released(self, campaign: int, places: int, now: int) -> None:
        """So many of its places are free for a campaign: with the last it can begin."""
        self.awaited[campaign] -= places
        if places and not self.awaited[campaign]:
            when = max(int(self.due[campaign]), now + 1 if now else 0)
            heapq.heappush(self.events, (when, START, campaign, 0))

    def _start(self, c: int, now: int) -> None:
        places = self.plan.nodes_of[c]
        self._choose(places, now)
        held = self.node_of[places]
        back = self.out_until[held]
        if back.max() > now:
            heapq.heappush(self.events, (int(back[back > now].min()), START, c, 0))
            return
        self.busy[places] = True
        self.idle[held] = -1
        self.fate.begun[c], self.fate.held[c] = now, held
        late = now - int(self.due[c])
        self._run(c, held, late)
        heapq.heappush(self.events, (int(self.plan.end[self.first[c + 1] - 1]) + late, END, c, 0))

    def _choose(self, places: Int, now: int) -> None:
        """Let nodes that are idle and in service hold the places of a campaign: the cleanest, or
        those that are there and, for what is out, others that are not wanted for longest."""
        free = ~self.busy & (self.out_until[self.node_of] <= now)
        if self.policy.steers:
            there = np.flatnonzero(free)
            ranked = there[np.lexsort((self.node_of[there], self.seen[self.node_of[there]]))]
            best = ranked[: len(places)]
            leave, take = places[~np.isin(places, best)], best[~np.isin(best, places)]
        else:
            leave = places[~free[places]]
            if not len(leave):
                return
            free[places] = False
            there = np.flatnonzero(free)
            take = there[np.lexsort((there, -self.next_due[there]))][: len(leave)]
        leave = leave[: len(take)]
        self.node_of[leave], self.node_of[take] = self.node_of[take], self.node_of[leave].copy()

    def _run(self, c: int, held: Int, late: int) -> None:
        """Let memory kill jobs of a campaign, and the careless among them keep some of it."""
        draws, fate, level = self.draws, self.fate, self.level
        for k in range(self.first[c], self.first[c + 1]):
            worst = int(held[np.argmax(level[held])])
            time = int(self.plan.end[k]) + late
            fate.worst[k], fate.leak[k] = worst, level[worst]
            if draws.chances[k] < -math.expm1(-self.relation * HAZARD * float(level[worst])):
                fate.killed[k] = True
                self._silent(worst, time, time + int(draws.silent[k]))
            if draws.careless[c]:
                level[held] = np.minimum(level[held] + draws.amounts[k], LEAK_MOST)
                fate.steps += [(n, time, float(level[n])) for n in held.tolist()]

    def _end(self, c: int, now: int) -> None:
        places, held, after = self.plan.nodes_of[c], self.fate.held[c], self.after[c]
        self.busy[places] = False
        self.next_due[places] = due = np.where(after >= 0, self.due[after], NEVER)
        for n, gap in zip(held[self.draws.lucky[c]].tolist(), (due - now)[self.draws.lucky[c]],
                          strict=True):  # fmt: skip
            if gap > REBOOT_TIME + 2 * AFTER:
                self._restarted(n, now + AFTER, REBOOT_TIME, 1.0)
        for j, n in enumerate(held.tolist()):
            self.idle[n] = look = int(self.row[c]) + j
            self._await_look(n, look, now)
        for following, count in zip(*np.unique(after[after >= 0], return_counts=True), strict=True):
            self._released(int(following), int(count), now)

    def _await_look(self, node: int, look: int, now: int) -> None:
        seen = max(now, int(self.silent_until[node]))
        heapq.heappush(self.events, (-(-seen // self.period) * self.period, SAMPLE, node, look))

    def _look(self, node: int, look: int, now: int) -> None:
        """Sample a node for the first time in an idle period, and perhaps act."""
        if self.idle[node] != look:
            return
        if self.silent_until[node] > now:
            self._await_look(node, look, now)
            return
        value = float(self.base[node] + self.level[node] + self.noise[look])
        self.seen[node] = value = min(max(value, LEAST_SHARE), MOST_SHARE)
        acts = self.policy.acts(node, value, float(self.chance[look]))
        self.fate.looks.append((now, node, value, acts))
        if acts:
            self._restarted(node, now, self.policy.seconds, self.policy.gives_back)
            self.seen[node] = self.base[node] + self.level[node]

    def _restarted(self, node: int, begin: int, seconds: int, part: float) -> None:
        """Give a node this part of what it lacks, and take it out of service."""
        self.level[node] *= 1 - part
        self.fate.steps.append((node, begin, float(self.level[node])))
        self.out_until[node] = begin + seconds
        self._silent(node, begin, begin + seconds)

    def _silent(self, node: int, begin: int, end: int) -> None:
        self.fate.outages.append((node, begin, end))
        self.silent_until[node] = max(end, self.silent_until[node])


def _next_campaigns(plan: MemoryPlan, nodes: int) -> list[Int]:
    """Return for each campaign which one each of its places has next; -1 for none."""
    soonest = np.full(nodes, -1)
    found: list[Int] = []
    for c in range(len(plan.nodes_of) - 1, -1, -1):
        found.append(soonest[plan.nodes_of[c]].copy())
        soonest[plan.nodes_of[c]] = c
    return found[::-1]
