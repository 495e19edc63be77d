"""How long nodes are down, as small laws of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError

Int = npt.NDArray[np.int64]


class Repair(Protocol):
    """A law of down times."""

    @property
    def mean(self) -> float:
        """Mean down time, s."""

    def draw(self, count: int, rng: np.random.Generator) -> Int:
        """Return down times, s, int64[count]."""


@dataclass(frozen=True)
class ConstantTimes:
    """Every repair takes `mean` seconds."""

    mean: float

    def __post_init__(self) -> None:
        positive("repair-mean", self.mean)

    def draw(self, count: int, rng: np.random.Generator) -> Int:
        """Return down times, s, int64[count]."""
        return whole(np.full(count, self.mean))


@dataclass(frozen=True)
class LognormalTimes:
    """Lognormal with this mean and median, s (the median is below the mean)."""

    mean: float
    median: float

    def __post_init__(self) -> None:
        positive("repair-mean", self.mean)
        positive("repair-median", self.median)
        if self.median > self.mean:
            raise ParameterError("repair-median", self.median, f"at most the mean, {self.mean:g}")

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm."""
        return math.sqrt(2 * math.log(self.mean / self.median))

    def draw(self, count: int, rng: np.random.Generator) -> Int:
        """Return down times, s, int64[count]."""
        return whole(rng.lognormal(math.log(self.median), self.sigma, count))


@dataclass(frozen=True)
class WeibullTimes:
    """Weibull with this mean (s) and shape."""

    mean: float
    shape: float

    def __post_init__(self) -> None:
        positive("repair-mean", self.mean)
        positive("repair-shape", self.shape)

    def draw(self, count: int, rng: np.random.Generator) -> Int:
        """Return down times, s, int64[count]."""
        return whole(weibull_scale(self.mean, self.shape) * rng.weibull(self.shape, count))


def weibull_scale(mean: float, shape: float) -> float:
    """Return the scale of the Weibull law with this mean: mean / Gamma(1 + 1/shape)."""
    return mean / math.gamma(1 + 1 / shape)


def whole(seconds: npt.NDArray[np.float64]) -> Int:
    """Return seconds as whole ones, at least 1."""
    return np.maximum(1, np.rint(np.minimum(seconds, 2.0**36))).astype(np.int64)


def positive(name: str, value: float) -> None:
    """Raise ParameterError where a value is not above 0 and finite."""
    if not (value > 0 and math.isfinite(value)):
        raise ParameterError(name, value, "a finite number above 0")
