"""How improbable a sample of metrics is among samples of nodes that were well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats
from forestall.prediction.models.outliers.robust import Cloud, robust_cloud

Side = Literal["high", "low", "both"]
Method = Literal["univariate", "mahalanobis"]

KNOTS = 64
"""Points of the curve from a value to its surprise."""
TAIL = 0.01
"""Share of the samples beyond the last point, where an exponential tail goes on."""
GREATEST = 300.0
"""The greatest surprise that is told apart."""
FEWEST = 20
"""Samples below which nothing is learnt of a metric."""


@dataclass(frozen=True)
class SurpriseCurves:
    """From values to surprises, one curve for each of d quantities.

    The surprise of x is -log10 of the share of samples that were at least x.

    Attributes
    ----------
    value, surprise : float64[d, KNOTS], rising
    slope : float64[d], of the surprise beyond the last point: an exponential tail
    """

    value: Floats
    surprise: Floats
    slope: Floats

    def __call__(self, quantities: Floats) -> Floats:
        """Return float64[n, d]: the surprises of float64[n, d]; nan where that is nan."""
        answer = np.empty_like(quantities)
        for k in range(quantities.shape[1]):
            x = quantities[:, k]
            beyond = np.maximum(x - self.value[k, -1], 0.0)
            known = np.interp(x, self.value[k], self.surprise[k])
            answer[:, k] = np.minimum(known + beyond * self.slope[k], GREATEST)
        return answer


def curves_of(quantities: Floats) -> SurpriseCurves:
    """Return the curves of samples float64[n, d]; those that are nan tell nothing."""
    parts = [_curve(column[~np.isnan(column)]) for column in quantities.T]
    value, surprise, slope = (np.array([part[k] for part in parts]) for k in range(3))
    return SurpriseCurves(value.reshape(-1, KNOTS), surprise.reshape(-1, KNOTS), slope)


def _curve(sample: Floats) -> tuple[Floats, Floats, float]:
    if len(sample) < FEWEST:
        return np.zeros(KNOTS), np.zeros(KNOTS), 0.0
    ordered, number = np.sort(sample), len(sample)
    last = max(TAIL, 10 / number)
    above = np.geomspace(1.0, last, KNOTS)
    value = np.unique(ordered[np.minimum(((1 - above) * number).astype(np.int64), number - 1)])
    surprise = -np.log10((number - np.searchsorted(ordered, value, side="left")) / number)
    excess = ordered[ordered > value[-1]] - value[-1]
    scale = float(np.median(excess)) / np.log(2) if len(excess) else 0.0
    least = 1e-9 * max(abs(float(value[-1])), float(np.ptp(ordered)), 1e-9)
    short = KNOTS - len(value)
    return (
        np.pad(value, (short, 0), mode="edge"),
        np.pad(surprise, (short, 0), mode="edge"),
        float(np.log10(np.e) / max(scale, least)),
    )


@dataclass(frozen=True)
class Reference:
    """What samples look like while nodes are well.

    Attributes
    ----------
    side, method : see `reference_of`
    cloud : location and scatter of the metrics, of the method "mahalanobis"
    curves : of the metrics (of both sides), or of the distance from the cloud
    """

    side: Side
    method: Method
    cloud: Cloud | None
    curves: SurpriseCurves

    def surprise(self, samples: Floats) -> Floats:
        """Return float64[n]: -log10 of the probability of so improbable a sample, of float64[n, m].

        The least probability of its metrics, times their number (Bonferroni); nan where a sample
        has no metric.
        """
        each = self.curves(quantities_of(samples, self.side, self.cloud))
        highest = np.full(len(each), np.nan)
        for column in each.T:
            highest = np.fmax(highest, column)
        count = np.maximum((~np.isnan(each)).sum(axis=1), 1)
        answer: Floats = np.maximum(highest - np.log10(count), 0.0)
        return answer

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return it as arrays."""
        curves, cloud = self.curves, self.cloud
        told = {"value": curves.value, "surprise": curves.surprise, "slope": curves.slope}
        if cloud is not None:
            told |= {"location": cloud.location, "scatter": cloud.scatter}
        return told


def reference_from(held: Held, metrics: int, side: Side, method: Method) -> Reference:
    """Return what `Reference.arrays` took apart, of so many metrics. Raises ParameterError."""
    cloud, quantities = None, metrics * (2 if side == "both" else 1)
    if method == "mahalanobis":
        quantities = 1
        location = held.array("location", np.float64, metrics)
        cloud = Cloud(location, held.array("scatter", np.float64, metrics, metrics))
        try:
            np.linalg.cholesky(cloud.scatter)
        except np.linalg.LinAlgError:
            held.hold("scatter", False, "a positive definite matrix")
    value, surprise = (
        held.array(name, np.float64, quantities, KNOTS, rising=True)
        for name in ("value", "surprise")
    )
    slope = held.array("slope", np.float64, quantities, least=0)
    return Reference(side, method, cloud, SurpriseCurves(value, surprise, slope))


def reference_of(
    samples: Floats, side: Side, method: Method, rng: np.random.Generator
) -> Reference:
    """Return what samples float64[n, m] of nodes that were well look like.

    Parameters
    ----------
    side : which values are improbable: "high", "low" or "both"
    method : "univariate", each metric by its own law; or "mahalanobis", by the distance from where
        most samples lie (robust covariance), of one side only if that is asked for
    """
    cloud = None
    if method == "mahalanobis":
        cloud = robust_cloud(samples[~np.isnan(samples).any(axis=1)], rng)
    return Reference(side, method, cloud, curves_of(quantities_of(samples, side, cloud)))


def quantities_of(samples: Floats, side: Side, cloud: Cloud | None) -> Floats:
    """Return float64[n, d]: what is improbable when it is great.

    Without a cloud the metrics, of the side that is asked for; else their distance from it, a
    metric that is missing, or lies on the other side, taken to be in its middle.
    """
    if cloud is None:
        parts = {"high": (samples,), "low": (-samples,), "both": (samples, -samples)}[side]
        return np.concatenate(parts, axis=1)
    away = np.where(np.isnan(samples), 0.0, samples - cloud.location)
    if side != "both":
        away = np.maximum(away, 0.0) if side == "high" else np.minimum(away, 0.0)
    squared = cloud.squared_distances(cloud.location + away)
    squared[np.isnan(samples).all(axis=1)] = np.nan
    return np.sqrt(squared)[:, None]
