"""Systems of components that fail: series, unlike groups, k out of N, and their mean lives.

A component's life follows a `Lifetime`; times are in the unit of that law. How old the components
are at time 0 decides as much as the law does, so it is always said (`Age`):

- ``"new"``: all are as new at time 0, as after the installation or after a renewal of everything.
  Then N like Weibull nodes have the mean life MTTF / N^(1/shape).
- ``"steady"``: the machine has run for long and each node is renewed alone, when it fails. A node's
  age is then random with density R(age) / MTTF, and the system fails every MTTF / N on average.
- a number, or one for each node: so old are the nodes, and all of them work.

Source: Hacker and Meglicki, "Using queue structures to improve job reliability", HPDC 2007,
Sections 4 and 7; Cox, Renewal Theory, 1962, for the steady state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, gammaln

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime, needed_law
from forestall.reliability.lifetimes.registry import lifetime as law_of
from forestall.reliability.systems.equilibrium import equilibrium_of, steady_mean

Age = Literal["new", "steady"] | float | tuple[float, ...]
LogSurvival = Callable[[Floats], Floats]

_STEP = 0.05
"""Step of the trapezoidal rules below, in the logarithm of time and of its doubly exponential
substitute: both converge geometrically for the smooth laws of this room."""


def from_mttf(mttf: float, shape: float = 1.0) -> Lifetime:
    """Return the Weibull law of this mean life and shape; shape 1 is the exponential.

    Its scale is mttf / Gamma(1 + 1/shape) (Equation 3). Raises ParameterError.

    >>> round(from_mttf(102_840.0, 0.75).params["scale"], 1)
    86373.8
    """
    for name, value in (("mttf", mttf), ("shape", shape)):
        if not (value > 0 and math.isfinite(value)):
            raise ParameterError(name, value, "a finite number above 0")
    try:
        scale = mttf / math.gamma(1 + 1 / shape)
    except OverflowError:
        scale = 0.0
    if not scale > 0:
        raise ParameterError("shape", shape, "a number that leaves the scale above 0")
    return law_of("weibull", shape=shape, scale=scale)


def checked_age(age: Age | str, name: str = "ages") -> Age:
    """Return the age; ParameterError where it is neither new, steady, nor a time or times >= 0."""
    if age in ("new", "steady"):
        return age
    allowed = "new, steady, or how long ago the nodes were renewed"
    try:
        values = np.atleast_1d(np.asarray(age, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError(name, age, allowed) from None
    if values.size == 0 or values.ndim > 1 or not bool(np.all(np.isfinite(values) & (values >= 0))):
        raise ParameterError(name, age, allowed)
    return float(values[0]) if np.ndim(age) == 0 else tuple(values.tolist())


def assumption(age: Age, told: Callable[[float], str] = "{:.6g}".format) -> str:
    """Return in words what an age assumes; `told` writes times."""
    if age == "new":
        return "all nodes as new at time 0"
    if age == "steady":
        return "steady state: each node renewed alone, when it fails"
    if isinstance(age, tuple):
        return f"nodes of {len(age)} given ages"
    return f"all nodes {told(float(age))} old"


def integral_to(sf: Callable[[Floats], Floats], t: npt.ArrayLike) -> Floats:
    """Return the integral of a survival function from 0 to `t`, by tanh-sinh quadrature.

    The points crowd towards 0, where laws of shape below 1 have no derivative.
    """
    times = np.asarray(t, dtype=np.float64)
    x = np.arange(-4.0, 3.2, _STEP)
    s = 0.5 * np.pi * np.sinh(x)
    place = 1 / (1 + np.exp(-2 * s))  # in (0, 1), exact near 0
    weight = _STEP * np.pi * np.cosh(x) * place * (1 - place)
    out: Floats = times * (sf(times[..., None] * place) @ weight)
    return out


def log_survival(law: Lifetime, t: npt.ArrayLike, age: Age = "new") -> Floats:
    """Return the logarithm of the probability that one component of that age lasts another `t`.

    For several ages the mean of their logarithms: the share of one node of a mixed set.
    """
    times = np.asarray(t, dtype=np.float64)
    if age == "new":
        return -law.cumulative_hazard(times)
    if age == "steady":
        return equilibrium_of(law).log_sf(times)
    ages = np.atleast_1d(np.asarray(age, dtype=np.float64))
    with np.errstate(invalid="ignore", over="ignore"):
        lived = law.cumulative_hazard(ages)
        both = law.cumulative_hazard(times[..., None] + ages)
        logs = np.where(
            np.isfinite(lived), lived - both, np.where(times > 0, -np.inf, 0.0)[..., None]
        )
        out: Floats = np.mean(logs, axis=-1)
    return out


@dataclass(frozen=True)
class ComponentGroup:
    """Like components: how many, their law (or something fitted), how old they are at time 0."""

    count: int
    lifetime: Lifetime
    age: Age = "new"
    name: str = ""

    def __post_init__(self) -> None:
        if not (self.count >= 0 and self.count == int(self.count)):
            raise ParameterError("count", self.count, "a whole number of at least 0")
        object.__setattr__(self, "lifetime", needed_law(self.lifetime))
        object.__setattr__(self, "age", checked_age(self.age))
        if isinstance(self.age, tuple) and len(self.age) != self.count:
            raise ParameterError("ages", len(self.age), f"as many ages as nodes, {self.count}")

    def log_survival(self, t: npt.ArrayLike) -> Floats:
        """Return the logarithm of the probability that one of them lasts `t`."""
        return log_survival(self.lifetime, t, self.age)


@dataclass(frozen=True)
class MeanLife:
    """A mean time to failure and what it assumes."""

    time: float
    assumes: str

    def __float__(self) -> float:
        return self.time


def series_log_survival(groups: Iterable[ComponentGroup], t: npt.ArrayLike) -> Floats:
    """Return log R(t) of components in series: the sum over all of them (Equations 4, 5, 17)."""
    times = np.asarray(t, dtype=np.float64)
    total = np.zeros(times.shape)
    for group in groups:
        if group.count:
            total = total + group.count * group.log_survival(times)
    return total


def series_sf(groups: Iterable[ComponentGroup], t: npt.ArrayLike) -> Floats:
    """Return R(t), the probability that every component of every group lasts `t`.

    >>> node = from_mttf(35_388.8, 0.75)
    >>> round(float(series_sf([ComponentGroup(256, node)], 100.0)), 4)
    0.028
    """
    return np.exp(series_log_survival(groups, t))


def mean_life(log_sf: LogSurvival, near: float) -> float:
    """Return the integral of a survival function from 0 on, by the trapezoidal rule in log time.

    Parameters
    ----------
    log_sf : logarithm of the survival function, for an array of times
    near : some time of the order of the mean, to start from

    Returns inf where t R(t) does not fall to 1e-15 of its maximum for any time below e^700: the
    integral has no end, or hardly.
    """
    end, peak = math.log(near), -math.inf
    while end < 700:
        log = float(log_sf(np.exp(np.array([end])))[0])
        peak = max(peak, end + log)
        if log < -700 or (log < -40 and end + log < peak - 35):
            break
        end += 0.5
    else:
        return math.inf
    start = math.log(near)
    while float(log_sf(np.exp(np.array([start])))[0]) < -0.5 and start > -690:
        start -= 1.0
    y = np.arange(start - 36.0, end + _STEP, _STEP)
    return float(_STEP * np.sum(np.exp(y + log_sf(np.exp(y)))))


def series_mttf(groups: Sequence[ComponentGroup], assume: Age | None = None) -> MeanLife:
    """Return the mean time to the first failure of components in series, and what it assumes.

    Parameters
    ----------
    groups : the components
    assume : an age for all groups instead of their own

    All as new and Weibull of one shape: (sum N / scale^shape)^(-1/shape) Gamma(1 + 1/shape)
    (Equations 7, 8); other laws and ages: the integral of R. In steady state: 1 / sum(N / MTTF),
    the mean time between failures of a machine whose nodes are renewed one by one.
    """
    there = [g if assume is None else replace(g, age=assume) for g in groups if g.count]
    if not there:
        return MeanLife(math.inf, "no nodes")
    ages = [group.age for group in there]
    said = ages_of(there)
    if all(age == "steady" for age in ages):
        return MeanLife(1 / sum(g.count / steady_mean(g.lifetime) for g in there), said)
    laws = [group.lifetime for group in there]
    shapes = [law.params["shape"] if law.family.name == "weibull" else math.nan for law in laws]
    if all(age == "new" for age in ages) and all(shape == shapes[0] for shape in shapes):
        shape, first = shapes[0], laws[0].params["scale"]
        total = sum(g.count * (first / g.lifetime.params["scale"]) ** shape for g in there)
        return MeanLife(first * total ** (-1 / shape) * math.gamma(1 + 1 / shape), said)
    means = [group.lifetime.mean() for group in there]
    near = min((m for m in means if math.isfinite(m)), default=1.0)
    return MeanLife(mean_life(lambda t: series_log_survival(there, t), near), said)


def ages_of(
    groups: Iterable[ComponentGroup], told: Callable[[float], str] = "{:.6g}".format
) -> str:
    """Return in words what the ages of groups assume; unlike ages are said of which groups."""
    names: dict[str, list[str]] = {}
    for group in groups:
        names.setdefault(assumption(group.age, told), []).append(group.name)
    if len(names) == 1 or not all(name for named in names.values() for name in named):
        return "; ".join(names)
    return "; ".join(f"{', '.join(named)}: {said}" for said, named in names.items())


def counts_of(pairs: Iterable[tuple[int, float]], most: int) -> Floats:
    """Return the probabilities that exactly 0, 1, ..., `most` are lost, of `number` components that
    are each lost with probability `share`, for each pair of them.

    Within a pair the count is binomial; pairs are put together by convolution (the Poisson-binomial
    law).
    """
    counts = np.zeros(most + 1)
    counts[0] = 1.0
    for number, share in pairs:
        counts = np.convolve(counts, binomial_counts(number, share, most))[: most + 1]
    return counts


def at_most_lost(pairs: Sequence[tuple[int, float]], spares: int) -> float:
    """Return the probability that no more than `spares` are lost; pairs as in `counts_of`."""
    if spares < 0:
        raise ParameterError("spares", spares, "at least 0")
    there = [pair for pair in pairs if pair[0]]
    if spares >= sum(number for number, _ in there):
        return 1.0
    if len(there) == 1:
        return float(bdtr(float(spares), there[0][0], there[0][1]))
    return min(1.0, float(counts_of(there, spares).sum()))


def _losses(group: ComponentGroup, t: float) -> list[tuple[int, float]]:
    ages: list[tuple[int, Age]] = [(group.count, group.age)]
    if isinstance(group.age, tuple):
        years, numbers = np.unique(group.age, return_counts=True)
        ages = list(zip(numbers.tolist(), years.tolist(), strict=True))
    return [
        (number, -math.expm1(float(log_survival(group.lifetime, t, age)))) for number, age in ages
    ]


def binomial_counts(number: int, share: float, most: int) -> Floats:
    """Return the binomial probabilities of 0, 1, ..., `most` of `number`, float64[most + 1]."""
    out = np.zeros(most + 1)
    k = np.arange(min(number, most) + 1)
    if share <= 0 or share >= 1:
        out[0 if share <= 0 else number : (0 if share <= 0 else number) + 1] = 1.0
        return out
    log = gammaln(number + 1) - gammaln(k + 1) - gammaln(number - k + 1)
    out[: len(k)] = np.exp(log + k * math.log(share) + (number - k) * math.log1p(-share))
    return out


def k_out_of_n(groups: Sequence[ComponentGroup], t: float, spares: int) -> float:
    """Return the probability that at most `spares` components are lost by `t` (Equation 24).

    The groups' counts are all components there are, the spares among them; what is lost is not
    replaced. `spares` of all components or more give 1.

    >>> blades = from_mttf(102_840.0)
    >>> round(k_out_of_n([ComponentGroup(256, blades)], 128.0, 2), 4)
    0.9958
    """
    return at_most_lost([pair for group in groups for pair in _losses(group, t)], spares)
