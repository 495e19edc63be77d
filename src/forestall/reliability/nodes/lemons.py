"""Lemons: nodes that fail more than chance allows, and what failed with them.

Each node's failures stand against those of nodes of its kind over their time in service. What is
not the node's own is left out first: failures of several nodes at once, and a failure soon after
the last one, which is the same trouble again. What a node is named for is chance in part; so what
would have gone with it is told from the shrunken rate, and the choice is tried on the time after. A
node beyond the spread of its kind refutes the law toward which its rate would be drawn: it keeps
its own rate, and the law is fitted to the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.history.mean_times import Interval
from forestall.reliability.history.rates import PER, checked_level, poisson_interval
from forestall.reliability.nodes.fleet import WatchedNodes
from forestall.reliability.nodes.nodes import (
    NegativeBinomial,
    Overdispersion,
    adjusted,
    negative_binomial,
    node_p_values,
    overdispersion,
)
from forestall.reliability.nodes.signals import Signals

with lazily():
    from scipy import special


AGAIN: Final = 3600
"""A failure that comes within so many seconds of the node's return is the same trouble again."""
LIKE: Final = 10
"""Nodes, at least, of a kind that is compared within itself; smaller kinds are put together."""
SHORT: Final = 0.1
"""A node in service for less than this share of the median is said to be new."""
HALF: Final = 20
"""Failures, at least, in each half of the records for trying the choice on the second."""
DRAWS: Final = 999
ROUNDS: Final = 10
"""So often, at most, the law of a kind is fitted again without the nodes that refute it."""
MANY: Final = 1000
"""Of more nodes the test of their spread is by the chi-square distribution, not by simulation."""


class SecondHalf(NamedTuple):
    """What became, in the second half of the records, of nodes named in the first.

    Attributes
    ----------
    nodes : named in the first half that were in service in the second
    failures, expected : theirs in the second half, and what other nodes of their kind would have
        had in that time
    ratio : of the two, with an exact interval
    others : failures of all others in the second half
    """

    nodes: int
    failures: int
    expected: float
    ratio: Interval
    others: int


@dataclass(frozen=True)
class Lemons:
    """Every node in service, k of them, against those of its kind.

    Attributes
    ----------
    node, name : int64[k], number in the fleet, and name
    kind, kinds : int64[k], what it was compared with: place in `kinds`
    failures : int64[k], all, as recorded
    own : int64[k], its own failures, which are tested: without bursts and troubles that came again
    in_bursts, again : int64[k], what was left out of them
    node_days, expected : float64[k], time in service, and own failures expected of a node of its
        kind in that time
    p_value, q_value : float64[k], of so many or more, exact; adjusted for the number of nodes
    flagged : bool[k], q_value at most `false_discovery_rate`: a lemon
    beyond : bool[k], it stands out even from the spread of rates over its kind (negative binomial,
        fitted without such nodes)
    rate, rate_low, rate_high : float64[k], own failures per 1000 node-days, exact interval
    shrunk, low, high : float64[k], the rate to believe, drawn toward its kind by empirical Bayes,
        with the credible interval; of nodes that are `beyond` their own with the exact interval
    average : float64[k], rate of the nodes of its kind that are no lemons, per 1000 node-days
    share : float64[k], of all own failures
    down_hours : float64[k], hours out of service after its failures but those in bursts; nan where
        not told
    lost_hours : float64[k] or None, node-hours of jobs lost with its failures
    signals : the seven, of the fleet's nodes by number
    spread : whether failures vary more from node to node than by chance, of each kind
    held : what the choice would have been worth out of sample; None where records are too few
    """

    node: Ints
    name: tuple[str, ...]
    kind: Ints
    kinds: tuple[str, ...]
    failures: Ints
    own: Ints
    in_bursts: Ints
    again: Ints
    node_days: Floats
    expected: Floats
    p_value: Floats
    q_value: Floats
    flagged: Bools
    beyond: Bools
    rate: Floats
    rate_low: Floats
    rate_high: Floats
    shrunk: Floats
    low: Floats
    high: Floats
    average: Floats
    share: Floats
    down_hours: Floats
    lost_hours: Floats | None
    signals: Signals
    spread: tuple[Overdispersion, ...]
    held: SecondHalf | None
    false_discovery_rate: float
    level: float

    def __len__(self) -> int:
        return len(self.node)

    @property
    def order(self) -> Ints:
        """Positions of the nodes, the worst first: by p-value, then by the rate to believe; ties by
        number."""
        return np.lexsort((self.node, -self.shrunk, self.p_value))

    @property
    def excess(self) -> Floats:
        """Failures beyond those of an average node of its kind, by the rate to believe, float64[k];
        0 for nodes that are no lemons."""
        return self._excess(self.shrunk)

    @property
    def excess_low(self) -> Floats:
        """The lower ends of `excess`."""
        return self._excess(self.low)

    @property
    def excess_high(self) -> Floats:
        """The upper ends of `excess`."""
        return self._excess(self.high)

    @property
    def usual(self) -> Floats:
        """Failures that an average node of its kind, no lemon, had in its time in service,
        float64[k]."""
        return np.asarray(self.average * self.node_days / PER)

    def _excess(self, rate: Floats) -> Floats:
        over = np.maximum(rate - self.average, 0.0) * self.node_days / PER
        return np.where(self.flagged, over, 0.0)

    @property
    def lemons(self) -> Ints:
        """Positions of the lemons, the worst first."""
        order = self.order
        return order[self.flagged[order]]

    @property
    def gone(self) -> Interval:
        """The share of all own failures that would have gone, had lemons been average nodes."""
        whole = max(int(self.own.sum()), 1)
        parts = (self.excess, self.excess_low, self.excess_high)
        value, low, high = (float(part.sum()) / whole for part in parts)
        return Interval(value, low, high)

    def saved(self, hours: Floats, at: Ints | None = None) -> Interval:
        """Return what of `hours` (float64[k], lost with each node's failures) an average node in
        the lemons' places would have saved; `at` some lemons alone.

        Each failure of a node is taken to have cost the same. Ends are sums of the nodes' ends,
        which is wider than the interval of a sum.
        """
        where = self.lemons if at is None else at
        count = np.maximum(self.own[where], 1)
        known = np.nan_to_num(hours[where])
        parts = (self.excess, self.excess_low, self.excess_high)
        value, low, high = (
            float((known * np.minimum(part[where] / count, 1)).sum()) for part in parts
        )
        return Interval(value, low, high)

    def verdict(self, at: int) -> str:
        """Return what is to be thought of one node, in words."""
        new = self.node_days[at] < SHORT * float(np.median(self.node_days))
        if not self.flagged[at]:
            words = "within chance" if self.own[at] else "no failure of its own"
        elif self.beyond[at]:
            words = "lemon: fails more often than even an unlucky node of its type"
        else:
            words = "lemon: fails more often than chance allows"
        return f"{words}; new, {self.node_days[at]:.0f} days in service" if new else words


def lemons(
    fleet: WatchedNodes,
    *,
    rng: np.random.Generator,
    kind: tuple[Ints, tuple[str, ...]] | None = None,
    signals: Signals | None = None,
    lost: Floats | None = None,
    left_out: Bools | None = None,
    false_discovery_rate: float = 0.05,
    level: float = 0.95,
    again: int = AGAIN,
    draws: int = DRAWS,
) -> Lemons:
    """Return which nodes are lemons.

    Parameters
    ----------
    kind : int64[nodes], what each node is compared with, as a place in names; None: all alike.
        Kinds of fewer than `LIKE` nodes are put together
    signals : of the fleet's nodes
    lost : float64[nodes], node-hours of jobs that were lost with each node's failures
    left_out : bool[nodes], what stands for no single node, such as one named "unknown"
    false_discovery_rate : bound on the expected share of false alarms among the lemons: Benjamini
        and Hochberg, JRSS B 57 (1995), over all nodes
    again : s; see `AGAIN`

    Raises ParameterError for a bad option.
    """
    _check(false_discovery_rate)
    count, own = len(fleet.names), _own(fleet, again)
    compared = (fleet.node_days > 0) & (True if left_out is None else ~left_out)
    own &= compared[fleet.history.node]
    mine = np.bincount(fleet.history.node[own], minlength=count).astype(np.int64)
    there = np.flatnonzero(compared)
    place, kinds = _kinds(kind, there, count)
    days, seen, of = fleet.node_days[there], mine[there], place[there]
    judged = _judged(seen, days, (of, len(kinds)), (false_discovery_rate, level), rng, draws)
    q = adjusted(judged.p)
    flagged = (q <= false_discovery_rate) & (seen > 0)
    average = _average(seen, days, of, flagged, len(kinds))
    own_low, own_high = (end / days * PER for end in poisson_interval(seen, level))
    shrunk, low, high = judged.shrunk
    shared = fleet.counts() - fleet.counts(own=True)
    return Lemons(
        node=there,
        name=tuple(fleet.names[n] for n in there.tolist()),
        kind=of,
        kinds=kinds,
        failures=fleet.counts()[there],
        own=seen,
        in_bursts=shared[there],
        again=(fleet.counts() - shared - mine)[there],
        node_days=days,
        expected=judged.expected,
        p_value=judged.p,
        q_value=q,
        flagged=flagged,
        beyond=judged.beyond & flagged,
        rate=seen / days * PER,
        rate_low=own_low,
        rate_high=own_high,
        shrunk=shrunk,
        low=low,
        high=high,
        average=average,
        share=seen / max(int(seen.sum()), 1),
        down_hours=_down_hours(fleet)[there],
        lost_hours=None if lost is None else lost[there],
        signals=Signals() if signals is None else signals,
        spread=judged.spread,
        held=_held(fleet, own, (place, compared), false_discovery_rate, level),
        false_discovery_rate=false_discovery_rate,
        level=level,
    )


def _check(false_discovery_rate: float) -> None:
    if not 0 < false_discovery_rate < 1:
        allowed = "a number between 0 and 1, such as 0.05"
        raise ParameterError("false_discovery_rate", false_discovery_rate, allowed)


class _Judged(NamedTuple):
    p: Floats
    beyond: Bools
    expected: Floats
    shrunk: tuple[Floats, Floats, Floats]
    spread: tuple[Overdispersion, ...]


def _judged(
    seen: Ints,
    days: Floats,
    kinds: tuple[Ints, int],
    levels: tuple[float, float],
    rng: np.random.Generator,
    draws: int,
) -> _Judged:
    """Return all nodes, each against those of its kind; `levels` are the bound on false alarms and
    the level of intervals."""
    n = len(seen)
    p, expected, mean, low, high = (np.ones(n) for _ in range(5))
    beyond = np.zeros(n, dtype=np.bool_)
    spread = []
    of, count = kinds
    for k in range(count):
        at = np.flatnonzero(of == k)
        one = _against(seen[at], days[at], levels, rng, draws)
        p[at], beyond[at], expected[at] = one.p, one.beyond, one.expected
        mean[at], low[at], high[at] = one.shrunk
        spread.append(one.spread)
    return _Judged(p, beyond, expected, (mean, low, high), tuple(spread))


def _own(fleet: WatchedNodes, again: int) -> Bools:
    """Return which failures are a node's own and no earlier trouble again, bool[n]."""
    node, time = fleet.history.node, fleet.history.time
    own = ~fleet.shared
    order = np.lexsort((time, node))
    back = fleet.history.outages.up[order]
    soon = np.zeros(len(node), dtype=np.bool_)
    soon[1:] = (node[order][1:] == node[order][:-1]) & (time[order][1:] - back[:-1] < again)
    repeated = np.zeros(len(node), dtype=np.bool_)
    repeated[order] = soon
    return own & ~repeated


def _kinds(
    kind: tuple[Ints, tuple[str, ...]] | None, there: Ints, count: int
) -> tuple[Ints, tuple[str, ...]]:
    """Return each node's kind, small ones put together, and the kinds' names."""
    if kind is None:
        return np.zeros(count, dtype=np.int64), ("all nodes",)
    code, names = kind
    sizes = np.bincount(code[there][code[there] >= 0], minlength=len(names))
    large = [k for k in range(len(names)) if sizes[k] >= LIKE]
    table = np.full(len(names) + 1, len(large), dtype=np.int64)
    table[large] = np.arange(len(large))
    place = table[code]
    if not large or bool(np.any(place[there] == len(large))):
        return place, (*(names[k] for k in large), "other nodes" if large else "all nodes")
    return place, tuple(names[k] for k in large)


class _LemonKind(NamedTuple):
    p: Floats
    beyond: Bools
    expected: Floats
    shrunk: tuple[Floats, Floats, Floats]
    spread: Overdispersion


def _against(
    seen: Ints, days: Floats, levels: tuple[float, float], rng: np.random.Generator, draws: int
) -> _LemonKind:
    """Return the nodes of one kind against each other; rates per 1000 node-days."""
    n, total = len(seen), int(seen.sum())
    rate, level = levels
    if n == 0 or total == 0:
        high = float(poisson_interval(0, level)[1]) / max(float(days.sum()), 1e-300) * PER
        nothing = np.zeros(n)
        none = Overdispersion(0.0, n - 1, 1.0, math.nan)
        far = np.zeros(n, dtype=np.bool_)
        return _LemonKind(np.ones(n), far, nothing, (nothing, nothing, np.full(n, high)), none)
    law, far = _law(seen, days, rate)
    mean, low, high_end = (np.asarray(part * PER) for part in law.posterior(seen, days, level))
    if math.isinf(law.shape):
        # Nodes do not differ; what is left to know is their common rate.
        ends = poisson_interval(int(seen[~far].sum()), level)
        low, high_end = (np.full(n, float(end) / float(days[~far].sum()) * PER) for end in ends)
    own_low, own_high = poisson_interval(seen, level)
    believed = (
        np.where(far, own / days * PER, drawn)
        for own, drawn in ((seen, mean), (own_low, low), (own_high, high_end))
    )
    return _LemonKind(
        node_p_values(seen, days),
        far,
        days * (total / float(days.sum())),
        (next(believed), next(believed), next(believed)),
        overdispersion(seen, days, rng if n <= MANY else None, draws),
    )


def _law(seen: Ints, days: Floats, false_discovery_rate: float) -> tuple[NegativeBinomial, Bools]:
    """Return the law of the counts of one kind, and the nodes beyond it, bool[k].

    One node that is far off widens the law of all, hides others like it and draws every rate the
    less; so the law is fitted again to the others until none is beyond it. At least half of the
    nodes stay.
    """
    far = np.zeros(len(seen), dtype=np.bool_)
    law = negative_binomial(seen, days)
    for _ in range(ROUNDS):
        tail = law.tail(seen, days)
        more = (adjusted(tail) <= false_discovery_rate) & (seen > law.rate * days)
        wider = far | more
        rest = ~wider
        if not (more & ~far).any() or 2 * int(wider.sum()) > len(seen) or not seen[rest].any():
            break
        far, law = wider, negative_binomial(seen[rest], days[rest])
    return law, far


def _average(seen: Ints, days: Floats, of: Ints, flagged: Bools, kinds: int) -> Floats:
    """Return the rate of the nodes of each node's kind that are no lemons, per 1000 node-days."""
    rest = ~flagged
    total = np.bincount(of[rest], weights=seen[rest], minlength=kinds)
    time = np.bincount(of[rest], weights=days[rest], minlength=kinds)
    return np.asarray((total / np.maximum(time, 1e-300) * PER)[of])


def _down_hours(fleet: WatchedNodes) -> Floats:
    """Return hours out of service after each node's failures but those in bursts; nan where none
    is told."""
    told, mine = fleet.down >= 0, ~fleet.shared
    count = len(fleet.names)
    node = fleet.history.node
    hours: Floats = np.zeros(count)
    np.add.at(hours, node[told & mine], fleet.down[told & mine] / 3600)
    silent = np.bincount(node[~told], minlength=count) > 0
    some = np.bincount(node[told], minlength=count) > 0
    return np.where(silent & ~some, np.nan, hours)


def _held(
    fleet: WatchedNodes,
    own: Bools,
    nodes: tuple[Ints, Bools],
    false_discovery_rate: float,
    level: float,
) -> SecondHalf | None:
    """Return how nodes that are lemons by the first half of the records did in the second."""
    begin, until = fleet.history.span
    middle = (begin + until) // 2
    count = len(fleet.names)
    node, late = fleet.history.node, fleet.history.time >= middle
    first = np.bincount(node[own & ~late], minlength=count)
    second = np.bincount(node[own & late], minlength=count)
    if int(first.sum()) < HALF or int(second.sum()) < HALF:
        return None
    place, compared = nodes
    before = np.where(compared, fleet.days_between(begin, middle), 0.0)
    after = np.where(compared, fleet.days_between(middle, until), 0.0)
    p = np.ones(count)
    pace = np.zeros(count)
    for k in range(int(place.max(initial=0)) + 1):
        at = np.flatnonzero((place == k) & (before > 0))
        if len(at) and int(first[at].sum()):
            p[at] = node_p_values(first[at], before[at])
            pace[place == k] = first[at].sum() / before[at].sum()
    watched = before > 0
    named = np.zeros(count, dtype=np.bool_)
    named[watched] = adjusted(p[watched]) <= false_discovery_rate
    named &= (first > 0) & (after > 0)
    mine, rest = int(second[named].sum()), int(second[~named].sum())
    weight = after * pace
    theirs, others = float(weight[named].sum()), float(weight[~named].sum())
    if not named.any() or theirs <= 0 or others <= 0:
        return SecondHalf(0, 0, 0.0, Interval(math.nan, math.nan, math.nan), int(second.sum()))
    expected = rest * theirs / others
    return SecondHalf(
        int(named.sum()), mine, expected, _ratio(mine, rest, theirs / others, level), rest
    )


def _ratio(one: int, other: int, exposure: float, level: float) -> Interval:
    """Return the ratio of two Poisson rates with the exact interval, given the ratio of exposures.

    Given their sum the first count is binomial; its interval is Clopper and Pearson's, Biometrika
    26 (1934).
    """
    tail = (1 - checked_level(level)) / 2
    low = float(special.betaincinv(one, other + 1, tail)) if one else 0.0
    high = float(special.betaincinv(one + 1, other, 1 - tail)) if other else 1.0

    def odds(share: float) -> float:
        return share / (1 - share) / exposure if share < 1 else math.inf

    value = one / other / exposure if other else math.inf
    return Interval(value, odds(low), odds(high))
