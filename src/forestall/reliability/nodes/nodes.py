"""Which nodes fail more than chance allows?

Counts of failures by node, each against its own time under watch. Three questions in turn: is the
fleet heterogeneous at all; which nodes stand out, with a bound on the share of false alarms among
those named; and what rate to believe of each node, given the fleet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, digamma, gammaincc, gammaincinv, gammaln

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.history.history import History
from forestall.reliability.history.rates import PER, checked_level, poisson_interval
from forestall.reliability.roots import root

with lazily():
    import polars as pl


SHAPES = (1e-6, 1e5)
"""Between these lies the shape of a distribution of rates; beyond the latter rates are alike."""
STEPS = 100
MANY = 50_000
"""To more nodes failures are dealt out one by one; of more failures, too, by the chi-square
distribution alone."""
Side = Literal["more", "fewer", "either"]
Against = Literal["chance", "fleet"]
Control = Literal["bh", "by"]


@dataclass(frozen=True)
class Overdispersion:
    """Whether counts vary more than Poisson counts of one common rate would.

    Attributes
    ----------
    statistic : Pearson's sum of (count - expected)^2 / expected
    freedom : nodes - 1
    p_value : of the chi-square distribution, or where `draws` > 0 from as many fleets with the
        failures dealt out by exposure (right also where few failures are expected of a node)
    ratio : statistic / freedom, about 1 for a fleet of one rate
    """

    statistic: float
    freedom: int
    p_value: float
    ratio: float
    draws: int = 0


@dataclass(frozen=True)
class NegativeBinomial:
    """Counts whose rates vary from node to node by a gamma distribution.

    Attributes
    ----------
    rate : mean failures per unit of exposure
    shape : of the gamma distribution of rates; inf where the counts vary no more than by chance
    loglik, loglik_poisson : maximised log-likelihoods of this and of one common rate
    """

    rate: float
    shape: float
    loglik: float
    loglik_poisson: float

    @property
    def variation(self) -> float:
        """The coefficient of variation of rates over the fleet."""
        return 1 / math.sqrt(self.shape)

    def tail(self, count: Ints, exposure: Floats, side: Side = "more") -> Floats:
        """Return the probability of a count as extreme, for each node of the fleet."""
        expected = self.rate * exposure
        if math.isinf(self.shape):
            upper = np.where(count > 0, 1 - gammaincc(np.maximum(count, 1), expected), 1.0)
            lower = gammaincc(count + 1, expected)
        else:
            share = expected / (expected + self.shape)
            upper = np.where(count > 0, betainc(np.maximum(count, 1), self.shape, share), 1.0)
            lower = betainc(self.shape, count + 1, 1 - share)
        return _sided(upper, lower, side)

    def posterior(
        self, count: Ints, exposure: Floats, level: float = 0.95
    ) -> tuple[Floats, Floats, Floats]:
        """Return mean and credible interval of each node's rate, given its count and the fleet."""
        tail = (1 - checked_level(level)) / 2
        if math.isinf(self.shape):
            same = np.full(len(count), self.rate)
            return same, same.copy(), same.copy()
        a, b = self.shape + count, self.shape / self.rate + exposure
        return a / b, gammaincinv(a, tail) / b, gammaincinv(a, 1 - tail) / b


@dataclass(frozen=True)
class NodeReport:
    """Every node in service against the fleet.

    Attributes
    ----------
    node, name : int64[k], numbers of the nodes, and their names
    failures, node_days, expected : of each; `expected` at the fleet's rate
    p_value, q_value : of the node's count, and adjusted for many nodes
    flagged : bool[k], q_value at most `rate`
    beyond : bool[k], the node stands out even from the fleet's own spread of rates (negative
        binomial), with the same bound on false alarms
    rate, rate_low, rate_high : float64[k], the node's own failures per 1000 node-days with the
        exact Poisson interval
    rate_shrunk, low, high : float64[k], failures per 1000 node-days to expect in future by
        empirical Bayes, and the credible interval (that the fleet's own two parameters were
        estimated is not in it); of nodes `beyond` the fleet, whose law they refute, their own
    false_discovery_rate, side, against, control, level : as asked for
    dispersion, fleet : of the fleet
    """

    node: Ints
    name: tuple[str, ...]
    failures: Ints
    node_days: Floats
    expected: Floats
    p_value: Floats
    q_value: Floats
    flagged: Bools
    beyond: Bools
    rate: Floats
    rate_low: Floats
    rate_high: Floats
    rate_shrunk: Floats
    low: Floats
    high: Floats
    false_discovery_rate: float
    side: Side
    against: Against
    control: Control
    level: float
    dispersion: Overdispersion
    fleet: NegativeBinomial

    def __len__(self) -> int:
        return len(self.node)

    def table(self) -> pl.DataFrame:
        """Return a Polars table, a row a node, the highest rate to expect first."""
        order = np.lexsort((self.node, self.p_value, -self.rate_shrunk))
        names = ("failures", "node_days", "expected", "rate", "rate_low", "rate_high")
        shrunk = ("rate_shrunk", "low", "high", "p_value", "q_value", "flagged", "beyond")
        columns: dict[str, object] = {"node": [self.name[i] for i in order.tolist()]}
        for name in (*names, *shrunk):
            columns[name] = getattr(self, name)[order]
        return pl.DataFrame(columns)


def node_report(
    history: History,
    *,
    false_discovery_rate: float = 0.05,
    side: Side = "more",
    against: Against = "chance",
    control: Control = "bh",
    level: float = 0.95,
    rng: np.random.Generator | None = None,
    draws: int = 999,
) -> NodeReport:
    """Return which nodes stand out, and what rate to believe of each.

    Parameters
    ----------
    false_discovery_rate : bound on the expected share of false alarms among the flagged
    side : which nodes are looked for
    against : "chance": a Poisson process of the fleet's rate; "fleet": the fleet's own spread of
        rates (negative binomial), so that only nodes beyond it stand out
    control : "bh", Benjamini and Hochberg; "by", Benjamini and Yekutieli: for any dependence
    rng, draws : where given, the test of overdispersion is by simulation

    Raises ParameterError for a bad option.
    """
    if not 0 < false_discovery_rate < 1:
        allowed = "a number between 0 and 1"
        raise ParameterError("false_discovery_rate", false_discovery_rate, allowed)
    if against not in ("chance", "fleet"):
        raise ParameterError("against", against, "chance or fleet")
    watched = np.flatnonzero(history.node_days > 0)
    days = history.node_days[watched]
    count = np.bincount(history.node, minlength=len(history.start))[watched].astype(np.int64)
    fleet = negative_binomial(count, days)
    unlike = fleet.tail(count, days, side)
    p = node_p_values(count, days, side) if against == "chance" else unlike
    q = adjusted(p, control)
    beyond = adjusted(unlike, control) <= false_discovery_rate
    exposed = days / PER
    own_low, own_high = (bound / exposed for bound in poisson_interval(count, level))
    own = count / exposed
    mean, low, high = (value * PER for value in fleet.posterior(count, days, level))
    pairs = ((own, mean), (own_low, low), (own_high, high))
    mean, low, high = (np.where(beyond, *pair) for pair in pairs)
    names = history.names
    return NodeReport(
        watched,
        tuple(str(n) if names is None else names[n] for n in watched.tolist()),
        count, days, days * (count.sum() / days.sum()), p, q, q <= false_discovery_rate, beyond,
        own, own_low, own_high, mean, low, high, false_discovery_rate, side, against, control,
        level, overdispersion(count, days, rng, draws), fleet,
    )  # fmt: skip


def node_p_values(count: npt.ArrayLike, exposure: npt.ArrayLike, side: Side = "more") -> Floats:
    """Return the exact p-value of each node's count against the rest of the fleet, float64[k].

    Given the failures of all, a node's are binomial with its share of the exposure, if all nodes
    have one rate; what that rate is does not matter. Przyborowski and Wilenski, Biometrika 31
    (1940).
    """
    seen, time = _checked(count, exposure)
    total, share = int(seen.sum()), time / time.sum()
    upper = np.where(seen > 0, betainc(np.maximum(seen, 1), total - seen + 1, share), 1.0)
    rest = np.maximum(total - seen, 1)
    lower = np.where(seen < total, betainc(rest, seen + 1, 1 - share), 1.0)
    return _sided(upper, lower, side)


def _sided(upper: Floats, lower: Floats, side: Side) -> Floats:
    if side == "more":
        return upper
    if side == "fewer":
        return lower
    if side == "either":
        return np.asarray(np.minimum(1.0, 2 * np.minimum(upper, lower)))
    raise ParameterError("side", side, "more, fewer or either")


def adjusted(p_values: npt.ArrayLike, control: Control = "bh") -> Floats:
    """Return p-values adjusted so that those at most q are named with a false-discovery rate of at
    most q.

    Source: Benjamini and Hochberg, JRSS B 57 (1995); Benjamini and Yekutieli, Annals of Statistics
    29 (2001).
    """
    p = np.asarray(p_values, dtype=np.float64)
    if control not in ("bh", "by"):
        raise ParameterError("control", control, "bh or by")
    m = len(p)
    order = np.argsort(p, kind="stable")
    factor = m if control == "bh" else m * float((1 / np.arange(1, m + 1)).sum())
    scaled = p[order] * factor / np.arange(1, m + 1)
    q = np.empty(m)
    q[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return q


def overdispersion(
    count: npt.ArrayLike,
    exposure: npt.ArrayLike,
    rng: np.random.Generator | None = None,
    draws: int = 999,
) -> Overdispersion:
    """Return the test of whether all nodes have one rate (Pearson's chi-square of dispersion)."""
    seen, time = _checked(count, exposure)
    share = time / time.sum()
    total, freedom = int(seen.sum()), len(seen) - 1
    expected = total * share
    statistic = float(((seen - expected) ** 2 / expected).sum()) if total else 0.0
    if freedom < 1 or total == 0:
        return Overdispersion(statistic, freedom, 1.0, math.nan)
    p = float(gammaincc(freedom / 2, statistic / 2))
    if rng is None or min(len(seen), total) > MANY:
        return Overdispersion(statistic, freedom, p, statistic / freedom)
    if draws < 1:
        raise ParameterError("draws", draws, "at least 1")
    far = 0
    rows = max(1, 1_000_000 // min(len(seen), max(total, MANY)))
    for done in range(0, draws, rows):
        distance = _distances(rng, total, share, min(rows, draws - done))
        far += int(np.count_nonzero(distance >= statistic * (1 - 1e-12)))
    p = (far + 1) / (draws + 1)
    return Overdispersion(statistic, freedom, p, statistic / freedom, draws)


def _distances(rng: np.random.Generator, total: int, share: Floats, rows: int) -> Floats:
    """Return Pearson's chi-square, float64[rows], of `total` failures dealt out so often by these
    shares. To many nodes they are dealt one by one: nearly all of these get none."""
    expected = total * share
    if len(share) <= MANY:
        dealt = rng.multinomial(total, share, size=rows)
        return np.asarray(((dealt - expected) ** 2 / expected).sum(axis=1))
    node = np.searchsorted(np.cumsum(share), rng.random((rows, total)))
    place = np.minimum(node, len(share) - 1) + np.arange(rows)[:, None] * len(share)
    met, often = np.unique(place, return_counts=True)
    squares = often**2 / expected[met % len(share)]
    return np.asarray(np.bincount(met // len(share), squares, rows) - total)


def negative_binomial(count: npt.ArrayLike, exposure: npt.ArrayLike) -> NegativeBinomial:
    """Return the maximum-likelihood negative binomial law of counts with exposures."""
    seen, time = _checked(count, exposure)
    total = int(seen.sum())
    if total == 0:
        raise ParameterError("failures", 0, "at least 1 in the fleet")
    rate = total / float(time.sum())
    expected = rate * time
    constant = float(gammaln(seen + 1).sum())
    poisson = float((seen * np.log(expected) - expected).sum()) - constant
    excess = float(((seen - expected) ** 2 - seen).sum())
    if excess <= 0 or len(seen) < 2:  # the likelihood falls as rates begin to vary
        return NegativeBinomial(rate, math.inf, poisson, poisson)
    shape = _likeliest_shape(seen, time, rate)
    if math.isinf(shape):
        return NegativeBinomial(rate, math.inf, poisson, poisson)
    mean = _likeliest_rate(seen, time, rate, shape)
    expected = mean * time
    told = gammaln(seen + shape) - gammaln(shape) - shape * np.log1p(expected / shape)
    told += seen * np.log(expected / (shape + expected))
    loglik = float(told.sum()) - constant
    if loglik <= poisson:
        return NegativeBinomial(rate, math.inf, poisson, poisson)
    return NegativeBinomial(mean, shape, loglik, poisson)


def _likeliest_shape(seen: Ints, time: Floats, rate: float) -> float:
    """Return the likeliest shape, each with its likeliest rate; inf where it has no bound."""

    def slope(log_shape: float) -> float:
        k = math.exp(log_shape)
        mean = _likeliest_rate(seen, time, rate, k) * time
        by_k = digamma(seen + k) - digamma(k) - np.log1p(mean / k) + (mean - seen) / (k + mean)
        return float(by_k.sum())

    low, high = (math.log(shape) for shape in SHAPES)
    if slope(high) >= 0:
        return math.inf
    return SHAPES[0] if slope(low) <= 0 else math.exp(root(slope, low, high))


def _likeliest_rate(seen: Ints, time: Floats, rate: float, shape: float) -> float:
    """Return the likeliest rate for a shape: where the sum of (seen - mean) / (shape + mean) is 0,
    by Newton's steps in its logarithm, in which that sum falls."""
    log_rate = math.log(rate)
    for _ in range(STEPS):
        mean = math.exp(log_rate) * time
        short = float(((seen - mean) / (shape + mean)).sum())
        fall = float((mean * (shape + seen) / (shape + mean) ** 2).sum())
        step = min(max(short / fall, -1.0), 1.0)
        log_rate += step
        if abs(step) < 1e-13:
            break
    return math.exp(log_rate)


def _checked(count: npt.ArrayLike, exposure: npt.ArrayLike) -> tuple[Ints, Floats]:
    """Return counts and exposures as arrays; ParameterError for what is none."""
    counts, time = np.asarray(count), np.asarray(exposure, dtype=np.float64)
    if counts.shape != time.shape or counts.ndim != 1 or len(counts) == 0:
        raise ParameterError("exposure", time.shape, f"one for each count, {counts.shape}")
    if not np.all(counts >= 0) or not np.all(counts == np.floor(counts)):
        raise ParameterError("count", float(np.min(counts)), "whole numbers of at least 0")
    if not np.all((time > 0) & np.isfinite(time)):
        raise ParameterError("exposure", float(np.min(time)), "finite times above 0")
    return counts.astype(np.int64), time
