"""Times between failures, and counts by node and year, as tables of arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints

with lazily():
    import polars as pl


@dataclass(frozen=True)
class Gaps:
    """Times between failures, those cut off by the end of observation included.

    Attributes
    ----------
    length : float64[k], seconds
    censored : bool[k], True where observation ended before the next failure
    node : int64[k] (-1 for gaps of the whole system)
    begin, end : int64[k], on the log's clock
    ended_by : int64[k], position in the history of the failure that ended it, -1 where censored
    first : bool[k], True where it began with the node's time in service, not with a failure
    """

    length: Floats
    censored: Bools
    node: Ints
    begin: Ints
    end: Ints
    ended_by: Ints
    first: Bools

    def __len__(self) -> int:
        return len(self.length)

    @property
    def zeros(self) -> int:
        """How many gaps are 0: the next failure came within one tick of the log's clock."""
        return int(np.count_nonzero((self.length == 0) & ~self.censored))

    def take(self, where: Bools) -> Gaps:
        """Return the gaps where the mask holds."""
        return Gaps(*(getattr(self, name)[where] for name in self.__dataclass_fields__))

    def table(self) -> pl.DataFrame:
        """Return a Polars table with the attributes as columns, `length` as ``gap``."""
        names = {name: "gap" if name == "length" else name for name in self.__dataclass_fields__}
        return pl.DataFrame({shown: getattr(self, name) for name, shown in names.items()})


@dataclass(frozen=True)
class NodeYears:
    """Failures and exposure of each node in each year (for box plots and per-node rates).

    Attributes
    ----------
    years : labels of the columns
    failures : int64[nodes, years]
    node_days : float64[nodes, years]; 0 where a node was not in service
    """

    years: tuple[int, ...]
    failures: Ints
    node_days: Floats

    def table(self) -> pl.DataFrame:
        """Return a Polars table ``node,year,failures,node_days`` of what was in service."""
        node, year = np.nonzero((self.node_days > 0) | (self.failures > 0))
        label = np.array(self.years, dtype=np.int64)
        return pl.DataFrame(
            {
                "node": node,
                "year": label[year],
                "failures": self.failures[node, year],
                "node_days": self.node_days[node, year],
            }
        )


def gaps_of(time: Ints, since: Ints, group: Ints, start: Ints, end: Ints) -> Gaps:
    """Return the gaps of groups 0 to k - 1 (nodes), each with its censored last one.

    `time`, `since` (when a gap begins after that failure) and `group` are int64[n] in order of
    (group, time); `start` and `end`, int64[k], bound each group's time under watch. `ended_by` are
    positions in `time`. A failure, or an end of service, that comes before its gap would begin ends
    none: on the uptime clock that is a failure of a machine which is still down.
    """
    count = len(start)
    sizes = np.bincount(group, minlength=count)
    # each group: a slot for each of its failures, then one for the end of its service
    place = np.arange(len(time)) + group
    last = np.cumsum(sizes) + np.arange(count)
    begin, stop, ended_by = (np.full(len(time) + count, -1, dtype=np.int64) for _ in range(3))
    stop[place], stop[last], ended_by[place] = time, end, np.arange(len(time))
    begin[last - sizes], begin[place + 1] = start, since
    first = np.zeros(len(begin), dtype=np.bool_)
    first[last - sizes] = True
    node = np.repeat(np.arange(count), sizes + 1)
    length = (stop - begin).astype(np.float64)
    return Gaps(length, ended_by < 0, node, begin, stop, ended_by, first).take(begin <= stop)
