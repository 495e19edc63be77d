"""Pareto lifetimes: none shorter than a lower end.

Source: Arnold, "Pareto Distributions", 2nd ed., 2015, 5.2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.reliability.lifetimes.batch import Batch, BatchPart, Fittable


class Pareto(Fittable):
    """Pareto: sf = (t / scale)^-shape from the lower end `scale` on.

    The likelihood rises with the lower end up to the shortest gap that ended, which is its
    estimate; gaps censored before it say nothing of the shape. Gaps known only to have ended by
    some time (zeros) keep the lower end below that time.
    """

    name, title = "pareto", "Pareto"
    parameters = ("shape", "scale")
    kinds = ("shape", "scale")

    def _level(self, t: Floats, *theta: npt.ArrayLike) -> tuple[Floats, Floats, Floats]:
        """Return shape, log scale and log(t / scale), 0 below the lower end."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            return shape, np.log(scale), np.log(np.maximum(t, scale) / scale)

    def logpdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        """Return the logarithm of the density; -inf below the lower end."""
        shape, log_scale, level = self._level(t, *theta)
        with np.errstate(divide="ignore"):
            value = np.log(shape) - log_scale - (shape + 1) * level
        return np.where(np.greater_equal(t, theta[1]), value, -np.inf)

    def logsf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, _, level = self._level(t, *theta)
        return -shape * level

    def logcdf(self, t: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, _, level = self._level(t, *theta)
        with np.errstate(divide="ignore"):
            return np.log(-np.expm1(-shape * level))

    def quantile(self, p: Floats, *theta: npt.ArrayLike) -> Floats:
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            return scale * np.exp(-np.log1p(-np.asarray(p, dtype=np.float64)) / shape)

    def draw(
        self, rng: np.random.Generator, shape: int | tuple[int, ...], *theta: npt.ArrayLike
    ) -> Floats:
        form, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(over="ignore"):
            return scale * np.exp(rng.standard_exponential(shape) / form)

    def mean(self, *theta: npt.ArrayLike) -> Floats:
        """Return shape scale / (shape - 1); inf if shape <= 1."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            return np.where(shape > 1, scale * (shape / (shape - 1)), np.inf)

    def variance(self, *theta: npt.ArrayLike) -> Floats:
        """Return the variance; inf if shape <= 2."""
        shape, scale = (np.asarray(v, dtype=np.float64) for v in theta)
        with np.errstate(all="ignore"):
            value = (scale / (shape - 1)) ** 2 * (shape / (shape - 2))
        return np.where(shape > 2, value, np.inf)

    def start(self, batch: Batch) -> Floats:
        """Return the maximum."""
        return self.closed(batch)

    def closed(self, batch: Batch) -> Floats:
        """Return the maximum, float64[B, 2].

        With a lower end s the shape is failures over the sum of log(t / s). Of k gaps that ended by
        a time c above s, the share of the N others (those ended or censored above s) gives
        (s / c)^shape = N / (N + k), unless the shortest gap is below that s.
        """
        shortest = _shortest(batch.exact)
        log_low = np.log(shortest)
        n = batch.exact.count
        if len(batch.left) == 0:
            return np.stack([n / self._above(batch, log_low)[1], shortest], axis=1)
        hidden = batch.left.count
        limit = np.log(_shortest(batch.left))
        shape = np.ones(len(batch))
        end = np.minimum(limit - 1e-3, log_low)
        for _ in range(200):
            above, total = self._above(batch, end)
            # d / d shape of n log shape - shape total + k log(1 - (s / c)^shape)
            for _ in range(8):
                gap = limit - end
                decay = np.expm1(shape * gap)
                slope = n - shape * total + hidden * shape * gap / decay
                bend = (
                    shape * total
                    + hidden * shape * gap * (shape * gap * (decay + 1) / decay - 1) / decay
                )
                shape = shape * np.exp(np.clip(slope / bend, -1.0, 1.0))
            moved = np.minimum(limit + np.log(above / (above + hidden)) / shape, log_low)
            still = np.where(np.isfinite(moved), np.abs(moved - end), 0.0)
            end = moved
            if np.max(still, initial=0.0) < 1e-13:
                break
        end = np.where(hidden > 0, end, log_low)
        shape = np.where(hidden > 0, shape, n / self._above(batch, log_low)[1])
        return np.stack([shape, np.where(end == log_low, shortest, np.exp(end))], axis=1)

    def _above(self, batch: Batch, log_low: Floats) -> tuple[Floats, Floats]:
        """Return float64[B] twice: gaps longer than the lower end, ended or censored, and their
        log(t / lower end) added up."""
        count = batch.exact.count
        total = batch.exact.sum_log - count * log_low
        if len(batch.right):
            level = np.maximum(batch.right.log - log_low[:, None], 0.0)
            total = total + batch.right.total(level)
            count = count + batch.right.total((level > 0).astype(np.float64))
        return count, total

    def irregular(self, batch: Batch, theta: Floats) -> tuple[str, ...]:
        """Return the lower end, the shortest gap: its error is not of the usual kind."""
        return ("scale",)


def _shortest(part: BatchPart) -> Floats:
    """Return float64[B], the shortest gap of each row; inf where there is none."""
    time = part.time if part.weight is None else np.where(part.weight > 0, part.time, np.inf)
    return np.asarray(np.min(time, axis=1, initial=np.inf))
