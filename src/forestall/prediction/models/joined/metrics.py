"""Linear time series of the metrics of nodes: how far the last sample is from its forecast, and
where the metric is heading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.metrics import Metrics
from forestall.prediction.models.joined.joined_kernels import follow_metric

FAST: Final = 0.3
SLOW: Final = 0.05
ORDER: Final = 3
FAR: Final = 8.0
"""Scores beyond this say no more."""
DAY: Final = 86_400
FADED: Final = 600
"""Samples after which the slow mean has forgotten all but 4e-14 of what was before."""


@dataclass(frozen=True)
class MetricModel:
    """How each metric is forecast: an exponentially weighted level, and an autoregression of the
    differences from it that all nodes share.

    Attributes
    ----------
    names : the metrics
    ar : float64[m, ORDER]
    spread : float64[m], the usual size of a forecast's error
    stale : seconds after which a sample says nothing any more
    memory : seconds of samples after which older ones have all but faded from the means
    """

    names: tuple[str, ...]
    ar: Floats
    spread: Floats
    stale: int
    memory: int

    @classmethod
    def learn(cls, metrics: Metrics) -> MetricModel:
        """Learn from samples: the autoregressions by the equations of Yule and Walker on all nodes
        together, spreads robustly."""
        m = len(metrics.names)
        ar, spread = np.zeros((m, ORDER)), np.ones(m)
        none = np.zeros(0)
        for j in range(m):
            column = np.ascontiguousarray(metrics.value[:, j], dtype=np.float64)
            step = np.diff(column)[np.diff(metrics.node) == 0]
            step = np.abs(step[np.isfinite(step)])
            seen = column[np.isfinite(column)]
            usual = float(np.median(step)) / 0.6745 if len(step) else 0.0
            wide = float(seen.std()) if len(seen) else 0.0
            spread[j] = usual if usual > 0 else (wide if wide > 0 else 1.0)
            scores, trends = np.zeros(len(column)), np.zeros(len(column))
            follow_metric(
                metrics.node, column, none, FAST, SLOW, spread[j], np.zeros(0), scores, trends
            )
            ar[j] = _yule_walker(np.clip(scores, -FAR, FAR), metrics.node)
        return cls(metrics.names, ar, spread, max(3 * metrics.period, DAY), FADED * metrics.period)

    def features(self, metrics: Metrics) -> Floats:
        """Return float64[n, 4 m]: for each sample and metric the error of its forecast and the
        trend, in units of the usual error, each with its size."""
        columns = []
        for j, name in enumerate(self.names):
            scores, trends = np.zeros(len(metrics)), np.zeros(len(metrics))
            if name in metrics.names:
                column = np.ascontiguousarray(metrics.column(name), dtype=np.float64)
                follow_metric(
                    metrics.node, column, self.ar[j], FAST, SLOW, float(self.spread[j]),
                    np.zeros(ORDER), scores, trends,
                )  # fmt: skip
            for one in (scores, trends):
                bounded = np.clip(one, -FAR, FAR)
                columns += [bounded, np.abs(bounded)]
        return np.stack(columns, axis=1) if columns else np.zeros((len(metrics), 0))

    def latest(self, metrics: Metrics, times: Ints, nodes: Ints) -> Ints:
        """Return int64[k]: the last sample of each node strictly before each time, -1 where there
        is none, or an old one only."""
        if len(metrics) == 0:
            return np.full(len(times), -1, dtype=np.int64)
        begin = int(metrics.time.min())
        stride = int(max(metrics.time.max(), times.max(initial=0))) - begin + 2
        key = metrics.node * stride + (metrics.time - begin)
        after = np.clip(times - begin, 0, stride - 1)
        place = np.searchsorted(key, nodes * stride + after, side="left") - 1
        held = np.maximum(place, 0)
        good = (place >= 0) & (metrics.node[held] == nodes)
        good &= times - metrics.time[held] <= self.stale
        return np.where(good, place, -1)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return all of it as values and arrays."""
        return {"names": list(self.names), "stale": self.stale, "memory": self.memory}, {
            "metric_ar": self.ar,
            "metric_spread": self.spread,
        }

    @classmethod
    def of_state(cls, held: Held) -> MetricModel:
        """Return what `state` told. Raises ParameterError where it cannot have."""
        names = held.texts("names")
        spread = held.array("metric_spread", np.float64, len(names), least=0)
        held.hold("metric_spread", bool((spread > 0).all()), "numbers above 0")
        ar = held.array("metric_ar", np.float64, len(names), ORDER)
        return cls(names, ar, spread, held.whole("stale", 0), held.whole("memory", 0))


def _yule_walker(series: Floats, node: Ints) -> Floats:
    """Return float64[ORDER] for many short series one after the other; zeros where they tell
    nothing."""
    covariance = np.zeros(ORDER + 1)
    for lag in range(ORDER + 1):
        same = node[lag:] == node[: len(node) - lag]
        covariance[lag] = float((series[lag:] * series[: len(series) - lag])[same].sum())
    if not covariance[0] > 0:
        return np.zeros(ORDER)
    index = np.abs(np.arange(ORDER)[:, None] - np.arange(ORDER))
    whole = covariance[index] + np.eye(ORDER) * 1e-6 * covariance[0]
    return np.asarray(np.linalg.solve(whole, covariance[1:]), dtype=np.float64)
