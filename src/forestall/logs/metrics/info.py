"""What is in a set of metrics. Data only; printing is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.metrics import Metrics
from forestall.core.model.units import format_duration
from forestall.logs.metrics.raw import period_of

LATE = 1.5
"""Samples further apart than so many periods have a gap between them."""


@dataclass(frozen=True)
class OneMetric:
    """How the values of one metric lie; nan where there are none.

    `missing` is the share of the samples that lack it.
    """

    name: str
    missing: float
    mean: float
    deviation: float
    least: float
    median: float
    p95: float
    most: float

    @classmethod
    def of(cls, name: str, value: npt.NDArray[np.float64]) -> OneMetric:
        """Return that of these values, nan where missing."""
        known = value[np.isfinite(value)]
        missing = 1 - len(known) / len(value) if len(value) else 0.0
        if len(known) == 0:
            return cls(name, missing, *[float("nan")] * 6)
        least, median, p95, most = np.quantile(known, [0, 0.5, 0.95, 1]).tolist()
        with np.errstate(over="ignore"):  # values near the largest number there is
            mean, deviation = float(known.mean()), float(known.std())
        return cls(name, missing, mean, deviation, least, median, p95, most)

    def __str__(self) -> str:
        lost = f", missing {100 * self.missing:.1f} %" if self.missing else ""
        if not np.isfinite(self.mean):
            return "never known"
        return (
            f"mean {self.mean:,.4g}, sd {self.deviation:,.4g}, least {self.least:,.4g}, "
            f"median {self.median:,.4g}, p95 {self.p95:,.4g}, most {self.most:,.4g}{lost}"
        )


@dataclass(frozen=True)
class MetricInfo:
    """What is in a set of metrics. Times in seconds.

    Attributes
    ----------
    samples, nodes : how many; `sampled_nodes` have at least one
    span : from the first sample to the last, that second included
    period : median gap between samples of a node
    gaps : how often a node had no sample for more than `LATE` periods; `longest_gap` of them
    absent : share of the samples missing that nodes would have had between their first and last
    metrics : each of them
    """

    source: str
    samples: int
    nodes: int
    sampled_nodes: int
    span: int
    period: int
    origin: int | None
    gaps: int
    longest_gap: int
    absent: float
    metrics: tuple[OneMetric, ...]
    oddities: Cleaning

    def rows(self) -> list[tuple[str, str]]:
        """Return (label, value with its unit) pairs for printing."""
        silent = self.nodes - self.sampled_nodes
        told = f"{self.nodes:,}" + (f" ({silent:,} without samples)" if silent else "")
        gaps = f"{self.gaps:,} over {LATE:g} periods"
        if self.gaps:
            longest = format_duration(self.longest_gap)
            gaps += f", longest {longest}; {100 * self.absent:.1f} % of the samples are missing"
        rows = [
            ("metrics of nodes", self.source or "in memory"),
            ("nodes", told),
            ("samples", f"{self.samples:,}"),
            ("first sample's day", _day(self.origin)),
            ("span", format_duration(self.span)),
            ("period", format_duration(self.period) if self.period else "not known"),
            ("gaps", gaps),
        ]
        rows += [(metric.name, str(metric)) for metric in self.metrics]
        found = [(str(r.action), r.counted) for r in self.oddities.remarks]
        return rows + (found or [("oddities", "none")])


def describe_metrics(metrics: Metrics) -> MetricInfo:
    """Return what is in a set of metrics."""
    time, node = metrics.time, metrics.node
    gap = np.diff(time)[np.diff(node) == 0]
    period = metrics.period or period_of(time, node)
    wide = gap[gap > LATE * period] if period else gap[:0]
    lost = int(np.sum(np.rint(wide / period) - 1)) if len(wide) else 0
    return MetricInfo(
        source=metrics.source,
        samples=len(metrics),
        nodes=metrics.nodes,
        sampled_nodes=len(np.unique(node)),
        span=int(time.max() - time.min()) + 1 if len(time) else 0,
        period=period,
        origin=None
        if metrics.origin is None or len(time) == 0
        else metrics.origin + int(time.min()),
        gaps=len(wide),
        longest_gap=int(wide.max(initial=0)),
        absent=lost / (lost + len(time)) if len(time) else 0.0,
        metrics=tuple(OneMetric.of(name, metrics.column(name)) for name in metrics.names),
        oddities=metrics.cleaning,
    )


def _day(origin: int | None) -> str:
    return "not told" if origin is None else str(np.datetime64(origin, "s")).replace("T", " ")
