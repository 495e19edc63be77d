"""Mixtures: the hyperexponential law of two phases.

Each gap is exponential, with the short mean for a share of them and with the long one for the rest.
One phase is enough where mixing in a little of any other mean lowers the likelihood of the best
exponential; the fit is then that exponential. Else a few steps of expectation and maximisation on a
part of the sample lead to where Newton's steps on all of it are sure.

Sources: Dempster, Laird and Rubin, J. Royal Stat. Soc. B 39, 1977; Lindsay, Ann. Stat. 11, 1983
(when one phase is enough).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.batch import BLOCK, Batch, Climbing, Derivatives, Fittable
from forestall.reliability.lifetimes.climb import climb

_SEARCH = 200  # gaps of a sample that starting values are searched with
_ROUNDS = 4  # of expectation and maximisation
_NONE = 1 / (1 + np.exp(25.0))  # the share where one phase is enough
_LOW, _HIGH = np.array([-25.0, -40.0, -40.0]), np.array([25.0, 40.0, 40.0])
_SPLITS = (0.05, 0.5, 0.95)
_TRIED = [0.1, 2.0, 0.01, 1.3, 0.5, 4, 0.8, 10, 0.95, 1.05, 40, *10.0 ** np.arange(-7, -0.2, 0.5)]


class Hyperexponential(Climbing):
    """Hyperexponential: sf = share e^(-t / mean_short) + (1 - share) e^(-t / mean_long)."""

    name, title = "hyperexponential", "Hyperexponential"
    parameters = ("share", "mean_short", "mean_long")
    kinds = ("share", "scale", "scale")
    warm = True
    edge: ClassVar[dict[str, float]] = {"mean_short": 40.0, "mean_long": 40.0}

    def checked(self, values: Mapping[str, float]) -> tuple[float, ...]:
        """Return the values in order; ParameterError names the one that cannot be."""
        share, short, long = super().checked(values)
        if short > long:
            raise ParameterError("mean_short", short, f"at most mean_long, {long:g}")
        return share, short, long

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf below 0."""
        share, short, long = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            value = _mixed(share, -t / short - np.log(short), -t / long - np.log(long))
        return np.where((np.asarray(t) >= 0) & np.less(t, np.inf), value, -np.inf)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        share, short, long = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            at = np.maximum(t, 0.0)
            value = _mixed(share, -at / short, -at / long)
        return np.where(np.equal(t, np.inf), -np.inf, value)

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        share, short, long = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            at = np.maximum(t, 0.0)
            return np.log(-share * np.expm1(-at / short) - (1 - share) * np.expm1(-at / long))

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the time by which a share `p` has failed: Newton on the log survival."""
        _, short, long = (np.asarray(v, dtype=np.float64) for v in theta)
        share = np.asarray(p, dtype=np.float64)
        with np.errstate(all="ignore"):
            wanted = -np.log1p(-share)
            low, high = wanted * short, wanted * long  # the law is between its two phases
            low, high = np.minimum(low, high), np.maximum(low, high)
            # The cumulative hazard is concave: from below, tangents never overshoot.
            t = low
            for _ in range(60):
                off = wanted + self.logsf(t, *theta)
                step = off / np.exp(self.loghazard(t, *theta))
                t = np.clip(t + np.where(np.isfinite(step), step, 0.0), low, high)
                if not np.any(np.abs(step) > 1e-15 * np.abs(t)):
                    break
            inside = np.where(share == 1, np.inf, np.where(share == 0, 0.0, t))
        return np.where((share >= 0) & (share <= 1), inside, np.nan)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        share, short, long = (np.asarray(v, dtype=np.float64) for v in theta)
        return rng.standard_exponential(shape) * np.where(rng.random(shape) < share, short, long)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        share, short, long = (np.asarray(v, dtype=np.float64) for v in theta)
        return share * short + (1 - share) * long

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        share, short, long = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(over="ignore", under="ignore"):
            mean = share * short + (1 - share) * long
            return mean * mean + 2 * share * (1 - share) * (long - short) ** 2

    def climbed(self, batch: Batch) -> tuple[Floats, Bools]:
        mean = _exponential_mean(batch)
        theta = np.stack([np.full_like(mean, _NONE), mean, mean], axis=1)
        done = np.ones(len(batch), dtype=np.bool_)
        two = np.flatnonzero(_gain(batch, mean) > 1e-9 * batch.size)
        if len(two) == 0:
            return theta, done
        some = batch if len(two) == len(batch) else batch.rows(two)
        share, short, long = self._nearby(some, mean[two]).T
        first = np.stack([np.log(share / (1 - share)), np.log(short), np.log(long)], axis=1)
        u, found = climb(self.derivatives, some, first, _LOW, _HIGH)
        best = np.stack([1 / (1 + np.exp(-u[:, 0])), np.exp(u[:, 1]), np.exp(u[:, 2])], axis=1)
        # A second phase that gains nothing, as on a ridge to the exponential, is left out.
        near = (best[:, 2] < 1.2 * best[:, 1]) | (np.abs(u[:, 0]) > 7)
        if near.any():
            gain = self.loglik(some, best) - self.loglik(some, theta[two])
            near &= ~(gain > 1e-7)
        theta[two] = np.where(near[:, None], theta[two], best)
        done[two] = found | near
        return theta, done

    def _nearby(self, batch: Batch, mean: Floats) -> Floats:
        """Return float64[B, 3]: the best of a few laws, after some rounds on part of a sample."""
        part = batch.thinned(_SEARCH)
        middle = np.sort(np.concatenate([part.ended.time, part.right.time], axis=1), axis=1)
        best, most = None, None
        for split in _SPLITS:
            cut = max(1, min(middle.shape[1] - 1, round(split * middle.shape[1])))
            short = middle[:, :cut].mean(axis=1)
            long = np.maximum(mean, middle[:, cut:].mean(axis=1)) if cut < middle.shape[1] else mean
            theta = np.stack([np.full_like(short, split), short, np.maximum(long, 2 * short)], 1)
            for _ in range(_ROUNDS):
                theta = _round(part, theta)
            value = np.nan_to_num(self.loglik(part, theta), nan=-np.inf)
            if best is None or most is None:
                best, most = theta, value
            best = np.where((value > most)[:, None], theta, best)
            most = np.maximum(value, most)
        assert best is not None
        return best

    def derivatives(self, batch: Batch, unconstrained: Floats) -> Derivatives:
        """Return log-likelihood, gradient and Hessian by logit share and the logarithms of means.

        -inf where the short mean is the longer one.
        """
        odds, short, long = (unconstrained[:, k, None] for k in range(3))
        share = 1 / (1 + np.exp(-odds))
        weigh = -np.logaddexp(0, -odds), -np.logaddexp(0, odds)
        answer = np.zeros((10, len(batch)))
        for part, kind in ((batch.exact, _density), (batch.right, _survival), (batch.left, _ended)):
            for some in part.columns(max(1, BLOCK // len(batch))):
                one, one_1, one_2 = kind(some.time, short)
                two, two_1, two_2 = kind(some.time, long)
                value, first = _shared(one + weigh[0], two + weigh[1])
                both = first * (1 - first)
                cross = both * one_1
                terms = (
                    value, first - share, first * one_1, (1 - first) * two_1, both,
                    cross, both * two_1, first * one_2 + cross * one_1, cross * two_1,
                    (1 - first) * two_2 + both * two_1 * two_1,
                )  # fmt: skip
                for row, each in zip(answer, terms, strict=True):
                    row += some.total(each)
        count = batch.exact.count + batch.right.count + batch.left.count
        value, g0, g1, g2, h00, h01, h02, h11, h12, h22 = answer
        h00 = h00 - count * (share * (1 - share))[:, 0]
        rows = [h00, h01, -h02, h01, h11, -h12, -h02, -h12, h22]
        value = np.where((short <= long)[:, 0], value, -np.inf)
        return value, np.stack([g0, g1, g2], axis=1), np.stack(rows, axis=1).reshape(-1, 3, 3)

    def loglik(self, batch: Batch, theta: Floats) -> Floats:
        """Return float64[B], the log-likelihood of each sample; -inf with the means exchanged."""
        return np.where(theta[:, 1] <= theta[:, 2], super().loglik(batch, theta), -np.inf)

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return all parameters where one phase is enough, or one has shrunk to a point."""
        return self.parameters if self.remarks(batch, theta) else ()

    def remarks(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Say so where one phase is enough, or where the short phase has no length."""
        if theta[1] == theta[2]:
            return ("one phase is enough: the fit is the exponential",)
        if theta[1] < np.exp(-35.0):
            return ("no maximum: the short phase tends to a share of gaps of no length",)
        return ()


def _shared(one: Floats, two: Floats) -> tuple[Floats, Floats]:
    """Return log(e^one + e^two) and the share of the first."""
    gap = two - one
    decay = np.exp(-np.abs(gap))
    larger = 1 / (1 + decay)
    value = np.maximum(one, two) + np.log1p(decay)
    return value, np.where(gap > 0, decay * larger, larger)


def _mixed(share: Floats, one: Floats, two: Floats) -> Floats:
    """Return log(share e^one + (1 - share) e^two)."""
    return _shared(one + np.log(share), two + np.log1p(-share))[0]


def _density(t: Floats, log_mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the log-density of an exponential, and its derivatives by the log mean."""
    x = t * np.exp(-log_mean)
    return -x - log_mean, x - 1, -x


def _survival(t: Floats, log_mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the log survival of an exponential, and its derivatives by the log mean."""
    x = t * np.exp(-log_mean)
    return -x, x, -x


def _ended(t: Floats, log_mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the log cdf of an exponential, and its derivatives by the log mean."""
    x = t * np.exp(-log_mean)
    rest = np.expm1(np.minimum(x, 700.0))
    share = x / rest
    return np.log(-np.expm1(-x)), -share, share * (1 - x - share)


def _round(batch: Batch, theta: Floats) -> Floats:
    """Return float64[B, 3] after one round of expectation and maximisation."""
    share, short, long = (theta[:, k, None] for k in range(3))
    totals = np.zeros((4, len(batch)))  # gaps, those of the short phase; its time, the other's
    for part, kind in ((batch.exact, _density), (batch.right, _survival), (batch.left, _ended)):
        if not len(part):
            continue
        one = kind(part.time, np.log(short))[0] + np.log(share)
        first = 1 / (1 + np.exp(kind(part.time, np.log(long))[0] + np.log1p(-share) - one))
        spent = [_expected(part.time, mean, kind) for mean in (short, long)]
        totals[0] += part.count
        totals[1] += part.total(first)
        totals[2] += part.total(first * spent[0])
        totals[3] += part.total((1 - first) * spent[1])
    count, of_short, time_short, time_long = totals
    share_new = np.clip(of_short / count, 1e-6, 1 - 1e-6)
    means = np.stack([time_short / of_short, time_long / (count - of_short)], axis=1)
    new = np.column_stack([share_new, means.min(axis=1), means.max(axis=1)])
    new[:, 0] = np.where(means[:, 0] <= means[:, 1], share_new, 1 - share_new)
    return np.where(np.isfinite(new).all(axis=1)[:, None], new, theta)


def _expected(t: Floats, mean: Floats, kind: object) -> Floats:
    """Return the mean of an exponential lifetime of which so much is known."""
    if kind is _density:
        return t
    if kind is _survival:
        return t + mean
    x = t / mean
    return np.where(x < 1e-4, t / 2, mean - t / np.expm1(np.minimum(x, 700.0)))


def _exponential_mean(batch: Batch) -> Floats:
    """Return float64[B], the mean of the best exponential law."""
    time, count = batch.exact.sum, batch.exact.count
    if len(batch.right):
        time = time + batch.right.sum
    if not len(batch.left):
        return time / count
    left = batch.left
    log_mean = np.log((time + left.sum / 2) / (count + left.count))
    for _ in range(100):
        _, slope, bend = _ended(left.time, log_mean[:, None])
        spent = time * np.exp(-log_mean)
        gradient = spent - count + left.total(slope)
        step = np.clip(gradient / np.maximum(spent - left.total(bend), 1e-300), -1.0, 1.0)
        log_mean = log_mean + step
        if np.max(np.abs(step), initial=0.0) < 1e-13:
            break
    return np.exp(log_mean)


def _gain(batch: Batch, mean: Floats) -> Floats:
    """Return float64[B]: how fast the likelihood rises with the share of another exponential mixed
    in with the best one; no more than 0 where no other helps, so that one phase is enough."""
    count = batch.exact.count + batch.right.count + batch.left.count
    best = np.full(len(batch), -np.inf)
    for factor in _TRIED:
        if (best > 1e-6 * count).all():
            break
        rate = (1 - 1 / factor) / mean[:, None]
        total = batch.exact.total(np.exp(rate * batch.exact.time)) / factor
        if len(batch.right):
            total = total + batch.right.total(np.exp(rate * batch.right.time))
        if len(batch.left):
            x = batch.left.time / mean[:, None]
            total = total + batch.left.total(np.expm1(-x / factor) / np.expm1(-x))
        best = np.maximum(best, total - count)
    return best


MIXTURES: tuple[Fittable, ...] = (Hyperexponential(),)
