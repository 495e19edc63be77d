"""Features of metrics: the last value, how it was lately, and how far from normal it is."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.observations import Observations

with lazily():
    from forestall.prediction.models.features import samples_kernels

WINDOWS: Final = {"1h": 3600, "1d": 86_400, "7d": 7 * 86_400, "28d": 28 * 86_400}
"""The last is a node's own past: a value is judged by it, and forgotten beyond it."""

MOST: Final = 16
"""So many metrics are used, the first ones of those that there are."""


def metric_names(past: Observations, most: int = MOST) -> tuple[str, ...]:
    """Return the metrics that have more than one value, in order, at most so many."""
    found = past.metrics
    if found is None or not len(found):
        return ()
    with np.errstate(invalid="ignore"):
        low, high = np.fmin.reduce(found.value, axis=0), np.fmax.reduce(found.value, axis=0)
    return tuple(name for k, name in enumerate(found.names) if low[k] < high[k])[:most]


class MetricRows:
    """The walk along samples; see `forestall.prediction.models.features.samples_kernels`."""

    def __init__(self, seen: Observations, names: tuple[str, ...], period: int) -> None:
        found = seen.metrics
        assert found is not None, "no metrics"
        columns = [found.column(name) if name in found.names else None for name in names]
        blank = np.full(len(found), np.nan)
        value = np.column_stack([blank if c is None else c for c in columns])
        value[~np.isfinite(value)] = np.nan
        inside = found.node < seen.nodes
        time, node = found.time[inside].astype(np.int64), found.node[inside].astype(np.int64)
        value = np.ascontiguousarray(value[inside])
        first = np.searchsorted(node, np.arange(seen.nodes + 1)).astype(np.int64)
        order = np.argsort(time, kind="stable").astype(np.int64)
        origin = _first_values(value, node, seen.nodes)
        self._data = samples_kernels.SampleColumns(
            time=time,
            node=node,
            value=value,
            sums=_running(value - origin[node], first),
            origin=origin,
            centre=_first_values(value[order], np.zeros(len(time), dtype=np.int64), 1)[0],
            order=order,
            first=first,
            windows=np.array(list(WINDOWS.values()), dtype=np.int64),
            fresh=max(86_400, 3 * period),
        )
        shape = (seen.nodes, len(names))
        self._state = samples_kernels.SampleState(
            cursor=np.zeros(2, dtype=np.int64),
            left=np.repeat(first[:-1, None], 1 + len(WINDOWS), axis=1),
            last=np.full(shape, -1, dtype=np.int64),
            held=np.full(shape, -1, dtype=np.int64),
            across=np.zeros((len(names), 3)),
        )

    @staticmethod
    def names(metrics: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns' names."""
        spans = list(WINDOWS)[:-1]
        each = ["last", *(f"{what}_{w}" for w in spans for what in ("mean", "sd"))]
        each += [f"above_{w}" for w in spans[1:]] + ["score_own", "score_others"]
        return ("hours_since_sample", *(f"{m}:{what}" for m in metrics for what in each))

    def write(self, times: Ints, first: Ints, nodes: Ints, out: npt.NDArray[np.float32]) -> None:
        """Write the rows of the next moments."""
        samples_kernels.sample_rows(self._data, self._state, times, first, nodes, out)


def _first_values(value: Floats, group: Ints, groups: int) -> Floats:
    """Return float64[groups, m]: the first value that is there, 0 where there is none."""
    found = np.zeros((groups, value.shape[1]))
    for m in range(value.shape[1]):
        there = np.flatnonzero(~np.isnan(value[:, m]))
        which, at = np.unique(group[there], return_index=True)
        found[which, m] = value[there[at], m]
    return found


def _running(off: Floats, first: Ints) -> Floats:
    """Return float64[n, m, 3]: counts, sums and sums of squares of each node's values so far, this
    one included. Each node's are summed on their own: later samples of another change nothing."""
    there = ~np.isnan(off)
    kept = np.where(there, off, 0.0)
    sums = np.stack((there.astype(np.float64), kept, kept * kept), axis=2)
    for begin, end in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        np.cumsum(sums[begin:end], axis=0, out=sums[begin:end])
    return sums
