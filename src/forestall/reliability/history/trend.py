"""Is a machine failing more and more, or less and less? Tests of trend for repairable systems.

Times between failures of a system that is changing are no sample of like draws: what fits a
distribution to them fits nothing. The tests take failures of one or more systems (nodes), each
watched over its own window; a system that is repaired keeps its age.

- Laplace and MIL-HDBK-189: the null hypothesis is a Poisson process of constant rate; Laplace's has
  most power against a rate that changes exponentially, the other against a power law. Ascher and
  Feingold, "Repairable systems reliability", 1984; MIL-HDBK-189, 1981.
- Lewis and Robinson: Laplace's test, divided by the gaps' coefficient of variation: the null
  hypothesis is any renewal process. Lawless, Cigsar and Cook, "Testing for monotone trend in
  recurrent event processes", Technometrics 54 (2012).
- Mann: whether later gaps tend to be longer (reverse arrangements; Kendall's S of gaps against
  order); likewise against any renewal process. Mann, Econometrica 13 (1945).

Several systems are pooled in one of two ways. "own": each system's failures are compared with its
own window, given their number, so that systems may have unlike rates. "total": all failures as one
process on the scale of total time on test, for systems with one rate. Kvaloy and Lindqvist,
"TTT-based tests for trend in repairable systems data", Reliability Engineering and System Safety 60
(1998).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.reliability.history.observed import Observed, Truncation
from forestall.reliability.history.rates import PER, checked_level, poisson_interval

with lazily():
    import polars as pl


Pooling = Literal["own", "total"]

MORE, FEWER, NONE = "more and more failures", "fewer and fewer failures", "no clear trend"
POISSON, RENEWAL = "constant rate", "renewal process"
MOST_EXACT = 40
"""Up to so many gaps of one system, without ties, Mann's p-value is exact."""


@dataclass(frozen=True)
class Trend:
    """What one test says.

    Attributes
    ----------
    test, null : its name, and the hypothesis that a small p-value speaks against
    statistic, p_value : the latter two-sided
    direction : in words, at the level asked for
    failures, systems : how many failures were used, of how many systems
    notes : what was left out
    """

    test: str
    null: str
    statistic: float
    p_value: float
    direction: str
    failures: int
    systems: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trends:
    """The answers of several tests, in order."""

    tests: tuple[Trend, ...]

    def __iter__(self) -> Iterator[Trend]:
        return iter(self.tests)

    def __getitem__(self, test: str) -> Trend:
        return next(one for one in self.tests if one.test == test)

    def table(self) -> pl.DataFrame:
        """Return a Polars table, a row a test."""
        names = ("test", "statistic", "p_value", "direction", "null", "failures", "systems")
        return pl.DataFrame({name: [getattr(t, name) for t in self.tests] for name in names})


Told = tuple[float, float, float, Observed]
"""A statistic, its two-sided p-value, what is above 0 where failures grow more, what was used."""


@dataclass(frozen=True)
class TrendTest:
    """A test of trend: call it with what was observed.

    Attributes
    ----------
    name, null : as `Trend` has them
    told : of what was observed, the truncation and the pooling
    """

    name: str
    null: str
    told: Callable[[Observed, Truncation, Pooling], Told]

    def __call__(
        self,
        observed: Observed,
        *,
        truncation: Truncation = "time",
        pooling: Pooling = "own",
        level: float = 0.95,
    ) -> Trend:
        """Return what the test says. Raises ParameterError, also for too few failures."""
        statistic, p, rising, used = self.told(observed, truncation, pooling)
        told = p < 1 - checked_level(level)
        direction = NONE if not told else MORE if rising > 0 else FEWER
        systems = len(np.unique(used.system))
        return Trend(
            self.name, self.null, statistic, p, direction, len(used.time), systems, used.notes
        )


def trend_tests(
    observed: Observed,
    *,
    truncation: Truncation = "time",
    pooling: Pooling = "own",
    level: float = 0.95,
) -> Trends:
    """Return all four tests: laplace, mil-hdbk-189, lewis-robinson, mann.

    One that needs more failures than there are has nan for statistic and p-value, and says why in
    its notes.
    """
    for name, value, allowed in (
        ("truncation", truncation, ("time", "failure")),
        ("pooling", pooling, ("own", "total")),
    ):
        if value not in allowed:
            raise ParameterError(name, value, " or ".join(allowed))
    checked_level(level)
    answers = []
    for test in TESTS:
        try:
            answers.append(test(observed, truncation=truncation, pooling=pooling, level=level))
        except ParameterError as error:
            notes = (str(error),)
            answers.append(Trend(test.name, test.null, math.nan, math.nan, NONE, 0, 0, notes))
    return Trends(tuple(answers))


def _by_laplace(observed: Observed, truncation: Truncation, pooling: Pooling) -> Told:
    used = _used(observed, truncation, pooling, least=1)
    z = _laplace(used)
    return z, _two_sided(z), z, used


def _by_mil_hdbk_189(observed: Observed, truncation: Truncation, pooling: Pooling) -> Told:
    used = _used(observed, truncation, pooling, least=1)
    age = used.time - used.start[used.system]
    statistic = float(2 * np.log(used.span[used.system] / age).sum())
    n = len(age)
    p = min(1.0, 2 * min(float(gammainc(n, statistic / 2)), float(gammaincc(n, statistic / 2))))
    return statistic, p, 2 * n - statistic, used


def _by_lewis_robinson(observed: Observed, truncation: Truncation, pooling: Pooling) -> Told:
    used = _used(observed, truncation, pooling, least=3)
    gaps, system = used.gaps()
    count = np.bincount(system, minlength=used.systems)
    mean = np.bincount(system, weights=gaps, minlength=used.systems) / np.maximum(count, 1)
    with_spread = (count > 1) & (mean > 0)
    mine = with_spread[system]
    freedom = int((count[with_spread] - 1).sum())
    if freedom < 1:
        raise ParameterError("failures", len(used.time), "3 on one system, at distinct times")
    relative = gaps[mine] / mean[system[mine]]
    variation = math.sqrt(float(((relative - 1) ** 2).sum()) / freedom)
    if variation == 0:
        raise ParameterError("gaps", "all equal", "gaps that differ: without spread no test")
    z = _laplace(used) / variation
    return z, _two_sided(z), z, used


def _by_mann(observed: Observed, truncation: Truncation, pooling: Pooling) -> Told:
    if pooling == "total":
        observed = observed.superposed()
    elif pooling != "own":
        raise ParameterError("pooling", pooling, "own or total")
    gaps, system = observed.gaps()
    edges = np.flatnonzero(np.diff(system)) + 1
    score, variance, ties = 0, 0.0, False
    for part in np.split(gaps, edges):
        one = kendall_score(part)
        score += one[0]
        variance += one[1]
        ties = ties or one[2]
    if variance <= 0:
        raise ParameterError("failures", len(observed.time), "3 on one system, not all gaps alike")
    z = score / math.sqrt(variance)
    exact = len(edges) == 0 and len(gaps) <= MOST_EXACT and not ties
    p = _exact_kendall(score, len(gaps)) if exact else _two_sided(z)
    return z, p, -z, observed


laplace: Final = TrendTest("laplace", POISSON, _by_laplace)
"""Laplace's test: the mean of the failure times against the middle of the windows. The statistic is
standard normal under a constant rate; above 0: more and more failures."""

mil_hdbk_189: Final = TrendTest("mil-hdbk-189", POISSON, _by_mil_hdbk_189)
"""The test of MIL-HDBK-189: 2 sum ln(window / time since its start). The statistic is chi-square
with two degrees of freedom a failure under a constant rate; a small one: more and more failures."""

lewis_robinson: Final = TrendTest("lewis-robinson", RENEWAL, _by_lewis_robinson)
"""Lewis and Robinson's test: Laplace's statistic over the gaps' coefficient of variation, which is
pooled over systems, each gap measured in its system's mean gap."""

mann: Final = TrendTest("mann", RENEWAL, _by_mann)
"""Mann's test: Kendall's S of the gaps against their order, summed over systems. The statistic is S
over its standard deviation, with ties accounted for; above 0: gaps grow, so fewer and fewer
failures. The p-value is exact for one system with at most 40 gaps without ties. All gaps between
failures are used, whatever the truncation."""

TESTS: Final = (laplace, mil_hdbk_189, lewis_robinson, mann)


def kendall_score(values: Floats) -> tuple[int, float, bool]:
    """Return Kendall's S of values against their order (pairs that rise less pairs that fall), its
    variance under chance, and whether there were ties.

    Source: Kendall, "Rank correlation methods", 1955; the count by merging, O(n log^2 n).
    """
    n = len(values)
    if n < 2:
        return 0, 0.0, False
    _, ranks, counts = np.unique(values, return_inverse=True, return_counts=True)
    tied = counts.astype(np.float64)
    pairs = n * (n - 1) // 2 - int((counts * (counts - 1) // 2).sum())
    score = pairs - 2 * _falling_pairs(ranks.astype(np.int64))
    variance = n * (n - 1) * (2.0 * n + 5) - (tied * (tied - 1) * (2 * tied + 5)).sum()
    return score, float(variance) / 18, bool(counts.max() > 1)


def _falling_pairs(ranks: Ints) -> int:
    """Return in how many pairs the later value is the lower."""
    width = 1
    size = 1 << max(1, (len(ranks) - 1).bit_length())
    row = np.full(size, len(ranks), dtype=np.int64)  # padding is above all, and last
    row[: len(ranks)] = ranks
    falling = 0
    while width < size:
        halves = row.reshape(-1, 2 * width)
        order = np.argsort(halves, axis=1, kind="stable")
        right = order >= width
        # how many of the left half are sorted before each of the right: those not above it
        before = np.cumsum(~right, axis=1)
        falling += int(((width - before) * right).sum())
        row = np.take_along_axis(halves, order, axis=1).ravel()
        width *= 2
    return falling


def _exact_kendall(score: int, n: int) -> float:
    """Return the two-sided p-value of S of n untied values."""
    ways = np.ones(1)
    for k in range(2, n + 1):
        ways = np.convolve(ways, np.full(k, 1 / k))  # distribution of the number of falling pairs
    pairs = n * (n - 1) // 2
    falling = (pairs - abs(score)) // 2
    return min(1.0, 2 * float(ways[: falling + 1].sum()))


def _used(observed: Observed, truncation: Truncation, pooling: Pooling, least: int) -> Observed:
    if pooling not in ("own", "total"):
        raise ParameterError("pooling", pooling, "own or total")
    pooled = observed.superposed() if pooling == "total" else observed
    used = pooled.inner(truncation)
    if len(used.time) < least:
        few = f"at least {least} inside the windows (truncated by {truncation})"
        raise ParameterError("failures", len(used.time), few)
    return used


def _laplace(used: Observed) -> float:
    position = (used.time - used.start[used.system]) / used.span[used.system]
    # weighted by the window's length, as the likelihood of exp(a + b t) has it
    length = used.span[used.system]
    return float(((position - 0.5) * length).sum() / math.sqrt(float((length**2).sum()) / 12))


def _two_sided(z: float) -> float:
    return float(2 * ndtr(-abs(z)))


# Rate over age ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AgeRate:
    """Failure rate over age: what a bathtub curve is drawn from.

    Attributes
    ----------
    edges : float64[m + 1], ages in the unit of the observed times
    failures, exposure : int64[m], float64[m], of all systems at that age
    rate, low, high : float64[m], failures per unit of exposure with exact Poisson intervals (nan
        without exposure)
    age, smooth, smooth_low, smooth_high : float64[g], the same smoothed (see `rate_over_age`)
    bandwidth : of the smoothing
    """

    edges: Floats
    failures: Ints
    exposure: Floats
    rate: Floats
    low: Floats
    high: Floats
    age: Floats
    smooth: Floats
    smooth_low: Floats
    smooth_high: Floats
    bandwidth: float

    def table(self, unit: float = 86_400.0) -> pl.DataFrame:
        """Return a Polars table with ages and exposure in `unit` s and rates per 1000 of them."""
        scale = PER * unit
        return pl.DataFrame(
            {
                "age_from": self.edges[:-1] / unit,
                "age_to": self.edges[1:] / unit,
                "failures": self.failures,
                "exposure": self.exposure / unit,
                "rate": self.rate * scale,
                "low": self.low * scale,
                "high": self.high * scale,
            }
        )


def rate_over_age(
    observed: Observed,
    *,
    width: float | None = None,
    bandwidth: float | None = None,
    level: float = 0.95,
    points: int = 200,
) -> AgeRate:
    """Return the failure rate by age, age being the time since each system's window began.

    In steps of `width` (a thirtieth of the longest window) with exact intervals; and smooth:
    failures and exposure are both weighted by a Gaussian of `bandwidth` (a twentieth), so that the
    edges are not pulled down; its band is that of a Poisson count of the effective number of
    failures, (sum w)^2 / sum w^2.
    """
    aged = observed.aged()
    longest = float(aged.end.max(initial=0.0))
    if longest <= 0:
        raise ParameterError("observed", "no time under watch", "systems in service for a time")
    width = longest / 30 if width is None else width
    bandwidth = longest / 20 if bandwidth is None else bandwidth
    for name, value in (("width", width), ("bandwidth", bandwidth)):
        if not 0 < value < math.inf or longest / value > 1e6:
            raise ParameterError(name, value, f"a time above 0, not far below {longest:g}")
    steps = max(1, math.ceil(longest / width - 1e-9))
    edges = np.minimum(np.arange(steps + 1) * width, longest)
    place = np.clip(np.searchsorted(edges, aged.time, side="right") - 1, 0, steps - 1)
    failures = np.bincount(place, minlength=steps).astype(np.int64)
    exposure = np.diff(aged.time_on_test(edges))
    exposed = np.where(exposure > 0, exposure, np.nan)
    low, high = poisson_interval(failures, level)
    age = np.linspace(0, longest, points)
    smooth = _smoothed(aged, age, bandwidth, level)
    return AgeRate(
        edges, failures, exposure, failures / exposed, low / exposed, high / exposed,
        age, *smooth, bandwidth,
    )  # fmt: skip


def _smoothed(
    aged: Observed, age: Floats, bandwidth: float, level: float
) -> tuple[Floats, Floats, Floats]:
    """Return the smoothed rate at each age and its band; nan where nothing is near."""
    mass, square = np.zeros(len(age)), np.zeros(len(age))
    for part in np.array_split(aged.time, max(1, len(aged.time) // 4096)):
        weight = np.exp(-0.5 * ((age[:, None] - part) / bandwidth) ** 2)
        mass += weight.sum(axis=1)
        square += (weight**2).sum(axis=1)
    ends, many = np.unique(aged.end, return_counts=True)
    upper = ndtr((ends - age[:, None]) / bandwidth) - ndtr(-age[:, None] / bandwidth)
    exposure = (upper * many).sum(axis=1) * bandwidth * math.sqrt(2 * math.pi)
    exposed = np.where(exposure > 0, exposure, np.nan)
    effective = np.divide(mass**2, square, out=np.zeros_like(mass), where=square > 0)
    low, high = poisson_interval(effective, level)
    share = np.divide(mass, effective, out=np.full_like(mass, np.nan), where=effective > 0)
    return mass / exposed, share * low / exposed, share * high / exposed
