"""What acting on a predictor brings and costs, over every threshold.

Brandt et al., "Quantifying Effectiveness of Failure Prediction and Response in HPC Systems",
Sections 4.3 and 4.4, Figure 3. An occasion is a moment at which one could act: an idle period of a
node, or a decision with a probability. Acting has a cost; acting before a failure saves what the
failure would have destroyed. Everything is in node-hours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints, taken
from forestall.core.model.errors import ParameterError

if TYPE_CHECKING:
    from forestall.prediction.assess.attribution import Attribution

HOUR: Final = 3600.0
MONTH_HOURS: Final = 730.5
"""A twelfth of 365.25 days."""
KNEE: Final = 0.8
CELLS: Final = 4_000_000
"""Numbers drawn at once."""


@dataclass(frozen=True)
class Occasions:
    """Moments at which one could act, equal-length arrays.

    Attributes
    ----------
    value : float64[n], what the predictor says; one acts where it reaches the threshold
    gain : float64[n], node-hours that acting saves (0 where no failure comes)
    cost : float64[n], node-hours that acting costs
    hit : bool[n], whether a failure comes that acting would prevent
    group : int64[n], what belongs together when occasions are drawn again: the node
    potential : float64[n], node-hours that acting would save if all that hangs on it failed; None
        where that is not known
    """

    value: Floats
    gain: Floats
    cost: Floats
    hit: Bools
    group: Ints
    potential: Floats | None = None

    def __post_init__(self) -> None:
        lengths = {len(a) for a in (self.value, self.gain, self.cost, self.hit, self.group)}
        assert len(lengths) == 1, f"columns of unlike lengths: {lengths}"
        if bool(np.isnan(self.value).any()):
            raise ParameterError("value", "nan", "values without nan")

    def __len__(self) -> int:
        return len(self.value)

    @property
    def net(self) -> Floats:
        """What acting brings at each occasion, float64[n]."""
        return self.gain - self.cost

    def take(self, where: Ints | Bools) -> Occasions:
        """Return some of the occasions."""
        return taken(self, where, "value", "gain", "cost", "hit", "group", "potential")


def of_periods(
    periods: Attribution, *, reboot: float = 90.0, scale: float = 1.0, action_cost: float = 0.0
) -> Occasions:
    """Return the idle periods of Cases I to III as occasions.

    Acting in a period shorter than `reboot` costs the rest of it on that node; the gain in Case I
    is the node time of the failed jobs that the period answers for.

    Parameters
    ----------
    periods : idle periods and what they answer for
    reboot : how long the action takes, s
    scale : share of a failed job's time that acting saves (the paper: 1)
    action_cost : what every action costs besides, node-hours
    """
    _not_negative(reboot=reboot, scale=scale, action_cost=action_cost)
    use = np.flatnonzero(periods.considered)
    idle = (periods.end - periods.start)[use]
    return Occasions(
        periods.value[use],
        periods.lost[use] * (scale / HOUR),
        np.maximum(reboot - idle, 0.0) / HOUR + action_cost,
        periods.case[use] == 1,
        periods.node[use],
        periods.work[use] * (scale / HOUR),
    )


def of_probabilities(
    probability: npt.ArrayLike,
    failed: npt.ArrayLike,
    *,
    cost: npt.ArrayLike,
    loss: npt.ArrayLike,
    effect: float = 1.0,
    event: npt.ArrayLike | None = None,
    group: npt.ArrayLike | None = None,
) -> Occasions:
    """Return decisions with a probability as occasions.

    Parameters
    ----------
    probability : float64[n], chance of a failure, or any score
    failed : bool[n], whether a failure came
    cost : node-hours that acting costs, a number or float64[n]
    loss : node-hours that a failure destroys, a number or float64[n]
    effect : share of the loss that acting avoids, from 0 to 1
    event : int64[n], which failure came; a failure that several decisions precede is saved once,
        at the one of the highest probability (-1 where none came). None: each has its own
    group : int64[n], what belongs together (the node); None: each by itself
    """
    value = np.asarray(probability, dtype=np.float64)
    hit = np.asarray(failed, dtype=np.bool_)
    each_cost = np.broadcast_to(np.asarray(cost, dtype=np.float64), value.shape)
    each_loss = np.broadcast_to(np.asarray(loss, dtype=np.float64), value.shape)
    if not 0 <= effect <= 1:
        raise ParameterError("effect", effect, "a number from 0 to 1")
    for name, some in (("cost", each_cost), ("loss", each_loss)):
        if not bool(np.all(some >= 0)):
            raise ParameterError(name, float(np.min(some)), "numbers of at least 0")
    gain = np.where(hit, each_loss * effect, 0.0)
    if event is not None:
        which = np.where(hit, np.asarray(event, dtype=np.int64), -1)
        order = np.lexsort((-value, which))
        first = np.diff(which[order], prepend=-1) != 0
        counted = np.zeros(len(value), dtype=np.bool_)
        counted[order[first & (which[order] >= 0)]] = True
        gain = np.where(counted, gain, 0.0)
    together = np.arange(len(value)) if group is None else np.asarray(group, dtype=np.int64)
    return Occasions(value, gain, each_cost.copy(), hit, together)


def _not_negative(**numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 <= number < np.inf:
            raise ParameterError(name.replace("_", "-"), number, "a number of at least 0")


@dataclass(frozen=True)
class BenefitCurve:
    """Net benefit by threshold, from never acting to acting always.

    Attributes
    ----------
    threshold : float64[k], act where the value is at least so high; the first is inf: never
    acted, hits : int64[k], occasions acted on, and those of them that a failure follows
    gain, cost : float64[k], node-hours
    occasions : how many there are
    """

    threshold: Floats
    acted: Ints
    hits: Ints
    gain: Floats
    cost: Floats
    occasions: int

    @property
    def share(self) -> Floats:
        """The share of occasions acted on, float64[k]."""
        return self.acted / max(self.occasions, 1)

    @property
    def net(self) -> Floats:
        """Node-hours gained less node-hours spent, float64[k]."""
        return self.gain - self.cost

    def best(self) -> int:
        """Return the place of the highest net benefit, of several the one that acts least."""
        return int(np.argmax(self.net))

    def knee(self, part: float = KNEE) -> int | None:
        """Return the place of the smallest share that reaches this part of the highest net
        benefit; None where acting never pays."""
        top = float(self.net.max())
        if top <= 0:
            return None
        return int(np.argmax(self.net >= part * top))

    def part_at(self, share: float) -> float | None:
        """Return which part of the highest net benefit acting on at most that share brings; None
        where acting never pays."""
        top = float(self.net.max())
        if top <= 0:
            return None
        within = self.acted <= share * self.occasions
        return float(self.net[within][-1]) / top


def net_benefit(occasions: Occasions) -> BenefitCurve:
    """Return the net benefit at every threshold; equal values are acted on together."""
    order = np.argsort(-occasions.value, kind="stable")
    value = occasions.value[order]
    last = np.flatnonzero(np.append(value[1:] != value[:-1], len(value) > 0)[: len(value)])

    def summed(column: Floats) -> Floats:
        return np.concatenate(([0.0], np.cumsum(column[order])[last]))

    return BenefitCurve(
        threshold=np.concatenate(([np.inf], value[last])),
        acted=np.concatenate(([0], last + 1)).astype(np.int64),
        hits=np.concatenate(([0], np.cumsum(occasions.hit[order])[last])).astype(np.int64),
        gain=summed(occasions.gain),
        cost=summed(occasions.cost),
        occasions=len(value),
    )


@dataclass(frozen=True)
class Band:
    """What chance brings: share of occasions, float64[k]; mean in closed form, and the 5 and 95 %
    ends and the mean of the draws, node-hours, float64[k]."""

    share: Floats
    mean: Floats
    low: Floats
    high: Floats
    drawn_mean: Floats


def at_random(
    occasions: Occasions,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
    points: int = 101,
) -> Band:
    """Return what acting on a random share of the occasions brings.

    Acting on k of n at random brings k / n of the whole on average; the band is of `draws` random
    orders of the occasions.
    """
    net = occasions.net
    count = len(net)
    acted = np.round(np.linspace(0, count, points)).astype(np.int64)
    mean = float(net.sum()) * acted / max(count, 1)
    found = np.zeros((draws, points))
    step = max(1, CELLS // max(count, 1))
    for begin in range(0, draws, step):
        rows = min(step, draws - begin)
        mixed = rng.permuted(np.broadcast_to(net, (rows, count)), axis=1)
        total = np.concatenate((np.zeros((rows, 1)), np.cumsum(mixed, axis=1)), axis=1)
        found[begin : begin + rows] = total[:, acted]
    low, high = np.quantile(found, (0.05, 0.95), axis=0)
    return Band(acted / max(count, 1), mean, low, high, found.mean(axis=0))


def unrelated(
    occasions: Occasions,
    rng: np.random.Generator,
    *,
    draws: int = 1000,
    points: int = 101,
) -> Band:
    """Return what acting on the same occasions would bring if the predictor told nothing.

    Attribution alone bends the curve: a period with a high value answers for jobs more often, and
    for wider ones. Here the shares of work that was lost are dealt out anew among the occasions
    that jobs hang on, and scaled to the same gain in all; whatever lies above the band is the
    predictor's. Needs `potential`.
    """
    if occasions.potential is None:
        raise ParameterError("potential", None, "what is at stake on each occasion")
    order = np.argsort(-occasions.value, kind="stable")
    potential, gain = occasions.potential[order], occasions.gain[order]
    count, total = len(order), float(gain.sum())
    acted = np.round(np.linspace(0, count, points)).astype(np.int64)
    cost = np.concatenate(([0.0], np.cumsum(occasions.cost[order])))[acted]
    some = np.flatnonzero(potential > 0)
    part = gain[some] / potential[some]
    before = np.searchsorted(some, acted)
    whole = float(potential.sum())
    sure = np.concatenate(([0.0], np.cumsum(potential[some])))[before]
    mean = (sure * (total / whole) if whole > 0 else sure) - cost
    found = np.zeros((draws, points))
    step = max(1, CELLS // max(len(some), 1))
    for begin in range(0, draws, step):
        rows = min(step, draws - begin)
        mixed = rng.permuted(np.broadcast_to(part, (rows, len(some))), axis=1) * potential[some]
        sums = np.concatenate((np.zeros((rows, 1)), np.cumsum(mixed, axis=1)), axis=1)
        scale = np.divide(total, sums[:, -1:], out=np.zeros((rows, 1)), where=sums[:, -1:] > 0)
        found[begin : begin + rows] = sums[:, before] * scale - cost
    low, high = np.quantile(found, (0.05, 0.95), axis=0)
    return Band(acted / max(count, 1), mean, low, high, found.mean(axis=0))


def perfect(occasions: Occasions) -> tuple[Floats, Floats]:
    """Return share acted on and net benefit, float64[k] twice, of a predictor that acts exactly
    where a failure follows, where it brings most first, and not where it would not pay."""
    net = occasions.net[occasions.hit & (occasions.net > 0)]
    ordered = -np.sort(-net)
    share = np.arange(len(net) + 1) / max(len(occasions), 1)
    return share, np.concatenate(([0.0], np.cumsum(ordered)))


@dataclass(frozen=True)
class Worth:
    """What a threshold brings.

    Attributes
    ----------
    threshold : act where the value is at least so high; inf: never
    net : node-hours saved in all; acted, needless : actions of so many `occasions`, and those that
        no failure follows; missed : failures' occasions at which one did not act
    per_month : node-hours saved a month; low, high : ends of its interval, of `level`, from drawing
        the groups (nodes) again
    """

    threshold: float
    net: float
    acted: int
    needless: int
    missed: int
    occasions: int
    per_month: float
    low: float
    high: float
    level: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval, node-hours a month."""
        return (self.high - self.low) / 2


def in_words(found: Worth, name: str = "p", action: str = "action") -> str:
    """Return what a threshold is worth in a sentence: ``act when p ≥ 0.31: saves 412 ± 60
    node-hours a month, 7 needless drains``."""
    if not np.isfinite(found.threshold):
        return "never act: it does not pay at any threshold"
    places = 0 if abs(found.per_month) >= 100 else 1
    count = f"{found.needless:,} needless {action}{'' if found.needless == 1 else 's'}"
    return (
        f"act when {name} ≥ {found.threshold:.3g}: saves {found.per_month:,.{places}f} ± "
        f"{found.half_width:,.{places}f} node-hours a month, {count}"
    )


def worth(
    occasions: Occasions,
    threshold: float,
    hours: float,
    rng: np.random.Generator,
    *,
    draws: int = 2000,
    level: float = 0.95,
) -> Worth:
    """Return what acting from this threshold on brings; `hours` is how long was observed.

    The interval is of the percentile bootstrap over groups: a node's occasions are not independent
    of each other.
    """
    if hours <= 0:
        raise ParameterError("hours", hours, "a number above 0")
    act = occasions.value >= threshold
    names, which = np.unique(occasions.group, return_inverse=True)
    parts = np.bincount(which[act], weights=occasions.net[act], minlength=len(names))
    per_group = parts.astype(np.float64)
    per_month = MONTH_HOURS / hours
    net = float(per_group.sum())
    sums = _redrawn(per_group, rng, draws)
    low, high = np.quantile(sums, ((1 - level) / 2, (1 + level) / 2)) * per_month
    return Worth(
        threshold=float(threshold),
        net=net,
        acted=int(act.sum()),
        needless=int((act & ~occasions.hit).sum()),
        missed=int((~act & occasions.hit).sum()),
        occasions=len(act),
        per_month=net * per_month,
        low=float(low),
        high=float(high),
        level=level,
    )


def _redrawn(parts: Floats, rng: np.random.Generator, draws: int) -> Floats:
    """Return the sums of the parts drawn again with replacement, float64[draws]."""
    if not len(parts):
        return np.zeros(draws)
    sums = np.empty(draws)
    step = max(1, CELLS // len(parts))
    for begin in range(0, draws, step):
        rows = min(step, draws - begin)
        sums[begin : begin + rows] = parts[rng.integers(0, len(parts), (rows, len(parts)))].sum(1)
    return sums


def chosen_on_past(
    past: Occasions,
    held_out: Occasions,
    hours: float,
    rng: np.random.Generator,
    *,
    part: float = 1.0,
    draws: int = 2000,
    level: float = 0.95,
) -> Worth:
    """Return what the past's best threshold brings on held-out occasions, `hours` of them.

    With a `part` below 1 it is the past's highest threshold that reached this part of the gain.
    Where acting never paid in the past the threshold is inf: never act.
    """
    curve = net_benefit(past)
    knee = curve.knee(part)
    threshold = np.inf if knee is None else float(curve.threshold[knee])
    return worth(held_out, threshold, hours, rng, draws=draws, level=level)


def fair_threshold(cost: float, loss: float, effect: float = 1.0) -> float:
    """Return the probability from which on acting pays if probabilities are what they say: the
    cost of acting over what it saves; inf where it saves nothing."""
    _not_negative(cost=cost, loss=loss, effect=effect)
    saved = loss * effect
    return cost / saved if saved > 0 else float("inf")
