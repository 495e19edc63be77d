"""Weibull gaps with a gamma law of the nodes' rates: the law that a failure log makes most likely.

Node i fails at the cumulative hazard r_i x ** k, x being the days since its last failure; the rates
r_i are drawn from a gamma law with shape a and rate b. When observation begins, every node is in
equilibrium: what is left of the gap under way, x, has the density
r ** (1 / k) exp(-r x ** k) / gamma(1 + 1 / k). With the rates integrated out, a node that fails n
times, with exposure E (the sum of x ** k over all its gaps, the last one cut short), contributes

    gamma(a + n - 1 + 1 / k) / gamma(a)  b ** a / (b + E) ** (a + n - 1 + 1 / k)
        / gamma(1 + 1 / k)  product over its further gaps of k x ** (k - 1)

and one that never fails in w days the regularised incomplete beta function
I(b / (b + w ** k); a, 1 / k). A node that was new when its observation began has whole gaps only:
n instead of n - 1 + 1 / k, and (b / (b + w ** k)) ** a if it never fails.

The gamma law as frailty: D. G. Clayton, "A model for association in bivariate life tables",
Biometrika 65, 1978. Equilibrium: D. R. Cox, "Renewal theory", 1962, Chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Self

import numpy as np
from scipy.special import betainc, gammaln

from forestall.core._lazy import lazily
from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.prediction.models.hazard.hazard_kernels import DAY

with lazily():
    from scipy import optimize


SHAPES = (0.1, 10.0)
"""Least and greatest shape that a fit looks at."""
FAILURES = (1e-2, 1e5)
"""Least and greatest a: from nodes that have next to nothing in common to nodes all alike."""
STEP = 3e-3
"""How far from the top the loss is asked for its slope and curvature."""
_MOST = 1e12
DIGITS = 7
"""Of a law's parameters; those after them are noise of the arithmetic."""


@dataclass(frozen=True)
class GapLaw:
    """The shape k of the gaps, and the law of the rates as so many failures a in an exposure b
    (days ** k), as if seen beforehand."""

    shape: float
    prior_failures: float
    prior_exposure: float

    @classmethod
    def held(cls, held: Held) -> Self:
        """Return the law that a file brings; ParameterError for one that is far from all fits: its
        powers of days would be infinite."""
        shape = held.number("shape", SHAPES[0] / 2, 2 * SHAPES[1])
        failures = held.number("prior_failures", 0, _MOST, above=True)
        return cls(shape, failures, held.number("prior_exposure", 0, above=True))

    @property
    def mean_gap(self) -> float:
        """Mean gap of a node whose rate is a / b, days."""
        k = self.shape
        gap = gammaln(1 + 1 / k) + np.log(self.prior_exposure / self.prior_failures) / k
        return float(np.exp(gap))


@dataclass(frozen=True)
class SeenGaps:
    """A failure log as gaps of nodes.

    Attributes
    ----------
    end : when observation ends, s
    begin : int64[nodes], when it begins, s
    new, there : bool[nodes], whether a node was new then, not under way; whether there is one
    count : int64[nodes], failures of each node
    last : int64[nodes], its last failure, s (`begin` where there is none)
    first : float64[m], days until the first failure of the nodes `failed`, which were under way
    failed : int64[m]
    gaps, owner : float64[g] and int64[g], all other gaps above 0 that ended, days, and their nodes
    zeros : how many gaps were of 0 s
    """

    end: int
    begin: Ints
    new: Bools
    there: Bools
    count: Ints
    last: Ints
    first: Floats
    failed: Ints
    gaps: Floats
    owner: Ints
    zeros: int

    def failures(self, law: GapLaw) -> Floats:
        """Return float64[nodes], the failures that nodes' rates are known by, the law's included;
        without meaning for nodes that were under way and never failed."""
        first = np.where(self.new, 0.0, 1 / law.shape - 1)
        return (law.prior_failures + self.count + first).astype(np.float64)

    def exposure(self, law: GapLaw, *, whole: bool) -> Floats:
        """Return float64[nodes], the sum of gap ** shape of each node, the law's included, in days
        ** shape; with `whole` that of the gap under way at the end, too."""
        nodes, k = len(self.count), law.shape
        total = np.full(nodes, law.prior_exposure)
        total += np.bincount(self.owner, self.gaps**k, nodes)
        total += np.bincount(self.failed, self.first**k, nodes)
        if whole:
            total += ((self.end - self.last) / DAY) ** k
        return total


def seen_in(history: Failures, nodes: int, window: tuple[int, int]) -> SeenGaps:
    """Return the gaps of a log in its window, s.

    Nodes without failures were observed as well. A node is observed from when it is in service,
    where the log tells; one that was new then has its first whole gap from there.
    """
    begin, new, there = _service(history, nodes, window)
    order = np.lexsort((history.time, history.node))
    time, node = history.time[order], history.node[order]
    count = np.bincount(node, minlength=nodes).astype(np.int64)
    earliest = np.ones(len(node), dtype=np.bool_)
    earliest[1:] = node[1:] != node[:-1]
    early = node[earliest][time[earliest] < begin[node[earliest]]]
    begin[early], new[early] = window[0], False
    last = begin.copy()
    last[node] = time  # in order of time: the last one stays
    before = np.where(earliest, begin[node], np.roll(time, 1))
    gap, first = time - before, earliest & ~new[node]
    return SeenGaps(
        end=window[1],
        begin=begin,
        new=new,
        there=there | (count > 0),
        count=count,
        last=last,
        first=gap[first] / DAY,
        failed=node[first],
        gaps=gap[~first & (gap > 0)] / DAY,
        owner=node[~first & (gap > 0)],
        zeros=int((~first & (gap == 0)).sum()),
    )


def _service(history: Failures, nodes: int, window: tuple[int, int]) -> tuple[Ints, Bools, Bools]:
    """Return from when each node is observed, whether it was new then, and whether it exists."""
    begin = np.full(nodes, window[0], dtype=np.int64)
    new, there = np.zeros(nodes, dtype=np.bool_), np.ones(nodes, dtype=np.bool_)
    if history.service_start is not None and history.service_end is not None:
        start, known = history.service_start, len(history.service_start)
        begin[:known] = np.clip(start, *window)
        there[:known] = history.service_end > start
        if history.service_new is not None:
            new[:known] = history.service_new & (start >= window[0]) & (start < window[1])
    return begin, new, there


def log_likelihood(seen: SeenGaps, law: GapLaw) -> float:
    """Return the log of the marginal likelihood of what was seen, times in days.

    A gap of 0 s stands for one of less than the smallest that the log tells apart, r; its
    probability is r ** k to first order, times the rate.
    """
    k, a, b = law.shape, law.prior_failures, law.prior_exposure
    exposure, failures = seen.exposure(law, whole=True), seen.failures(law)
    gone = (seen.count > 0) | (seen.new & seen.there)
    total = np.sum(gammaln(failures[gone]) - failures[gone] * np.log(exposure[gone]))
    total += int(gone.sum()) * (a * np.log(b) - gammaln(a)) - len(seen.first) * gammaln(1 + 1 / k)
    total += len(seen.gaps) * np.log(k) + (k - 1) * np.log(seen.gaps).sum()
    if seen.zeros:
        total += seen.zeros * k * np.log(_resolution(seen))
    quiet = exposure[~gone & seen.there]
    total += np.log(np.maximum(betainc(a, 1 / k, b / quiet), 1e-300)).sum()
    return float(total)


def _resolution(seen: SeenGaps) -> float:
    """Return the smallest gap that the log tells apart, days."""
    return float(seen.gaps.min()) if len(seen.gaps) else 1 / DAY


def most_likely(seen: SeenGaps) -> GapLaw:
    """Return the law of greatest marginal likelihood. Raises ParameterError below two failures.

    Found by L-BFGS-B in the logs of shape, a, and mean gap, from three starting points; two steps
    of Newton's take it to the top, and `DIGITS` of its parameters are kept: so processors whose
    logarithms differ in the last bit give the same law.
    """
    count = int(seen.count.sum())
    if count < 2:
        raise ParameterError("train", f"{count} failures", "a history of at least 2 failures")
    typical = np.log(max(float((seen.end - seen.begin)[seen.there].sum()), 1.0) / DAY / count)

    def law_at(point: Floats) -> GapLaw:
        k, a = float(np.exp(point[0])), float(np.exp(point[1]))
        per_gap = k * (point[2] + typical - gammaln(1 + 1 / k))
        return GapLaw(k, a, float(a * np.exp(per_gap)))

    def loss(point: Floats) -> float:
        return -log_likelihood(seen, law_at(point)) / count

    bounds = [tuple(np.log(SHAPES)), tuple(np.log(FAILURES)), (-12.0, 12.0)]
    starts = ((0.7, 1.0), (1.0, 10.0), (0.5, 0.3))
    found = [
        optimize.minimize(
            loss, np.array([np.log(k), np.log(a), 0.0]), method="L-BFGS-B", bounds=bounds
        )
        for k, a in starts
    ]
    top = min(found, key=lambda one: float(one.fun)).x
    for _ in range(2):
        top = _newton(loss, top, np.array(bounds))
    law = law_at(top)
    kept = (float(f"{one:.{DIGITS}g}") for one in astuple(law))
    return GapLaw(*kept)


def _newton(loss: Callable[[Floats], float], point: Floats, bounds: Floats) -> Floats:
    """Return the point one step of Newton's further down, by differences; the same one where that
    is not near or not curved upwards. A coordinate at its bound stays.
    """
    free = np.flatnonzero((point > bounds[:, 0] + STEP) & (point < bounds[:, 1] - STEP))
    steps = STEP * np.eye(len(point))[free]

    def at(by: Floats) -> float:
        return loss(point + by)

    slope = [(8 * (at(s) - at(-s)) - at(2 * s) + at(-2 * s)) / 12 for s in steps]
    curvature = [
        [(at(s + t) + at(-s - t) - at(s - t) - at(t - s)) / 4 for t in steps] for s in steps
    ]
    if not slope or np.linalg.eigvalsh(curvature)[0] <= 0:
        return point
    step = np.linalg.solve(curvature, slope) @ steps
    return point - step if np.abs(step).max() < STEP else point


def quiet_hazard(law: GapLaw, days: float) -> float:
    """Return the hazard, per day, of a node in equilibrium that has not failed in so many days.

    Its density of failing then, over the probability that it has not.
    """
    k, a, b = law.shape, law.prior_failures, law.prior_exposure
    exposure = days**k
    density = gammaln(a + 1 / k) - gammaln(a) - gammaln(1 + 1 / k)
    density += a * np.log(b) - (a + 1 / k) * np.log(b + exposure)
    lasting = np.maximum(betainc(a, 1 / k, b / (b + exposure)), 1e-300)
    return float(np.exp(density - np.log(lasting)))
