"""Run times of Lublin and Feitelson: the logarithm of the run time is a mixture of two gammas.

ln(seconds) is Gamma(a1, scale b1) with probability p and Gamma(a2, scale b2) else, where p falls
with the nodes of the job: p = pa N + pb, clipped to [0, 1].

Source: Lublin and Feitelson, "The workload on parallel supercomputers", JPDC 63(11), 2003; used by
Hacker and Meglicki, HPDC 2007, Section 5.2. The latter print a range of 2.96 to 12.71 h for the
mean of N from 2 to 256, which none of the means here gives with the constants that they print or
with those of the model's authors; `HyperGamma` has every mean that could be meant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaincc, gammaincinv

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.reliability.queues.queues import RunTimes

_POINTS = 48
_PANELS = 24


@dataclass(frozen=True)
class HyperGamma:
    """The model's constants; the defaults are those of the row "all" as its authors give them."""

    a1: float = 4.2
    b1: float = 0.94
    a2: float = 312.0
    b2: float = 0.03
    pa: float = -0.0054
    pb: float = 0.78

    def __post_init__(self) -> None:
        for name in ("a1", "b1", "a2", "b2"):
            if not (getattr(self, name) > 0 and math.isfinite(getattr(self, name))):
                raise ParameterError(name, getattr(self, name), "a finite number above 0")

    def share(self, nodes: npt.ArrayLike) -> Floats:
        """Return p, the share of short jobs among those of so many nodes."""
        return np.clip(self.pa * np.asarray(nodes, dtype=np.float64) + self.pb, 0.0, 1.0)

    def mean_log(self, nodes: npt.ArrayLike) -> Floats:
        """Return the mean of ln(run time in s): p a1 b1 + (1 - p) a2 b2 (Equation 21)."""
        p = self.share(nodes)
        return p * self.a1 * self.b1 + (1 - p) * self.a2 * self.b2

    def typical(self, nodes: npt.ArrayLike) -> Floats:
        """Return exp of the mean logarithm, s: the geometric mean of the run times."""
        return np.exp(self.mean_log(nodes))

    def mean(self, nodes: npt.ArrayLike) -> Floats:
        """Return the mean run time, s: (1 - b)^-a of each gamma; inf where a scale is 1 or more.

        This is the moment generating function of ln(run time) at 1. The second branch hardly
        spreads, the first so much that rare endless jobs make most of its mean: `mean_within` is
        what jobs under a limit have.
        """
        first = (1 - self.b1) ** -self.a1 if self.b1 < 1 else math.inf
        second = (1 - self.b2) ** -self.a2 if self.b2 < 1 else math.inf
        p = self.share(nodes)
        with np.errstate(invalid="ignore"):
            short = np.where(p > 0, p * first, 0.0)
            long = np.where(p < 1, (1 - p) * second, 0.0)
        return short + long

    def sf(self, t: npt.ArrayLike, nodes: npt.ArrayLike) -> Floats:
        """Return the probability that a job runs longer than `t` seconds."""
        y = self._log(t)
        p = self.share(nodes)
        out: Floats = p * gammaincc(self.a1, y / self.b1) + (1 - p) * gammaincc(
            self.a2, y / self.b2
        )
        return out

    def cdf(self, t: npt.ArrayLike, nodes: npt.ArrayLike) -> Floats:
        """Return the probability that a job runs at most `t` seconds."""
        y = self._log(t)
        p = self.share(nodes)
        out: Floats = p * gammainc(self.a1, y / self.b1) + (1 - p) * gammainc(self.a2, y / self.b2)
        return out

    def draw(self, rng: np.random.Generator, nodes: npt.ArrayLike) -> Floats:
        """Return random run times, s, one for each number of nodes."""
        p = self.share(nodes)
        short = rng.random(p.shape) < p
        shape = np.where(short, self.a1, self.a2)
        return np.exp(rng.gamma(shape, np.where(short, self.b1, self.b2)))

    def runs(self, nodes: int, limit: float, *, beyond: str = "refused") -> RunTimes:
        """Return the run times (s) of jobs of so many nodes under a wall limit, as a quadrature.

        `beyond` as in `RunTimes.within`. Gauss-Legendre between quantiles of each gamma up to the
        limit. Raises ParameterError where no job is that short.
        """
        if not (limit > 1 and math.isfinite(limit)):
            raise ParameterError("limit", limit, "a finite number of seconds above 1")
        p = float(self.share(nodes))
        times, weights = [], []
        for share, a, b in ((p, self.a1, self.b1), (1 - p, self.a2, self.b2)):
            below = float(gammainc(a, math.log(limit) / b))
            if share <= 0 or below <= 0:
                continue
            u, w = _panels(below)
            times.append(np.exp(b * gammaincinv(a, u)))
            weights.append(share * w)
        over = float(self.sf(limit, nodes))
        if beyond == "cut":
            times.append(np.array([limit]))
            weights.append(np.array([over]))
        elif beyond != "refused":
            raise ParameterError("beyond", beyond, "refused or cut")
        if not times or not sum(float(w.sum()) for w in weights) > 1e-12:
            raise ParameterError("limit", limit, f"enough time for some job of {nodes} nodes")
        return RunTimes(np.minimum(np.concatenate(times), limit), np.concatenate(weights))

    def averaged(self, nodes: int, limit: float) -> RunTimes:
        """Return Section 5.2's pair of run times, s, each for half of the jobs: T_q1, `typical` of
        the queue's nodes but at most the limit, and T_q2, the limit. F_q of it is the mean of
        F_q(T_q1) and F_q(T_q2)."""
        if not (limit > 0 and math.isfinite(limit)):
            raise ParameterError("limit", limit, "a finite number of seconds above 0")
        typical = min(float(self.typical(nodes)), limit)
        return RunTimes(np.array([typical, limit]), np.array([0.5, 0.5]))

    def mean_within(self, nodes: int, limit: float, *, beyond: str = "refused") -> float:
        """Return the mean run time under a wall limit, s."""
        return self.runs(nodes, limit, beyond=beyond).mean()

    @staticmethod
    def _log(t: npt.ArrayLike) -> Floats:
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.asarray(t, dtype=np.float64)), 0.0)


PAPER_SCAN = HyperGamma(14.20, 0.94, 312.0, 0.685)
"""The constants as the scanned paper prints them: means of 13 and 214 for ln(seconds), which no run
time can have."""


def _panels(top: float) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre points and weights on (0, top), crowded towards both ends."""
    x, w = np.polynomial.legendre.leggauss(_POINTS)
    half = top * 0.5 ** np.arange(_PANELS, 0.0, -1.0)  # ..., 1/4, 1/2 of it
    edges = np.concatenate(([0.0], half, top - half[::-1][1:], [top]))
    low, high = edges[:-1, None], edges[1:, None]
    points = low + (high - low) * (x + 1) / 2
    return points.ravel(), ((high - low) / 2 * w).ravel()
