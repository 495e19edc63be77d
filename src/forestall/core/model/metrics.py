"""Metrics of nodes: samples of equal-length arrays, sorted by (node, time)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints, brief_repr, taken
from forestall.core.model.cleaning import Cleaning

with lazily():
    import polars as pl


@dataclass(frozen=True)
class Metrics:
    """Samples in order of (node, time); at most one for a node and second.

    Attributes
    ----------
    time : int64[n], seconds since the trace's epoch
    node : int64[n], node number from 0
    value : float64[n, m], nan where a sample lacks a metric
    names : the m metrics, with their units where known, such as ``memory_share``
    nodes : number of nodes
    node_names : names of the nodes by number, where the source has names
    period : seconds between samples (the median of the gaps; 0 where unknown)
    origin : Unix seconds of time 0, None where the source has no dates
    source, cleaning : where it came from; what was left out or changed on reading
    """

    time: Ints
    node: Ints
    value: Floats
    names: tuple[str, ...]
    nodes: int
    node_names: tuple[str, ...] | None = None
    period: int = 0
    origin: int | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        assert len(self.time) == len(self.node) == len(self.value), "columns of unlike lengths"
        assert self.value.shape == (len(self.time), len(self.names)), "names do not fit the values"
        later = np.diff(self.time) > 0
        assert bool(np.all((np.diff(self.node) > 0) | ((np.diff(self.node) == 0) & later))), (
            "samples are not in order of (node, time)"
        )

    def __len__(self) -> int:
        return len(self.time)

    def first(self) -> Ints:
        """Return int64[nodes + 1]: node k's samples are those from first[k] to first[k + 1]."""
        return np.searchsorted(self.node, np.arange(self.nodes + 1))

    def column(self, name: str) -> Floats:
        """Return one metric, float64[n]."""
        return self.value[:, self.names.index(name)]

    def take(self, index: Ints | Bools) -> Metrics:
        """Return the samples at these positions (ascending) or where the mask holds."""
        return taken(self, index, "time", "node", "value")

    def table(self) -> pl.DataFrame:
        """Return a Polars table ``time,node,METRIC,...``."""
        columns = {name: self.value[:, k] for k, name in enumerate(self.names)}
        return pl.DataFrame({"time": self.time, "node": self.node, **columns})
