"""Failures of nodes: a table of equal-length arrays, sorted by (time, node)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints, brief_repr, taken
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.virtual import FAR

with lazily():
    import polars as pl


@dataclass(frozen=True)
class Failures:
    """Failures in order of (time, node).

    Attributes
    ----------
    time : int64[n], seconds since the trace's epoch
    node : int64[n], node number from 0
    downtime : int64[n], seconds until the node is back (-1 if the log does not say)
    detectability : float64[n] in (0, 1), nan where none was drawn yet
    kind : cause as text, or None where the log has none
    span : seconds that the log covers, by which a repeated log is shifted
    nodes : number of nodes of the machine (failed or not)
    repairs : whether the downtimes are repair times that a site recorded (hours, often) rather than
        times after which a scheduler would see the node again; then they are used only where asked
        for
    names : names of the nodes by number, where the log has names
    source, cleaning : where it came from; what was left out or changed on reading
    origin : Unix seconds of time 0 where the log has dates (its clock taken as it stands), else
        None
    service_start, service_end : int64[nodes], seconds, when each node was in service:
        [start, end), on the log's clock; negative where a node is older than time 0; equal where a
        number belongs to no node; None if the log does not say
    service_new : bool[nodes], whether a node was new at `service_start` (where not, the log or its
        window begins while the node is in use already); None if the log does not say
    predicted : int64[n], when each failure was predicted to come, s (`virtual.FAR`: not at all);
        None if the log does not say
    aside : remarks that matter to who studies the log, not to who replays it: on the order of
        records and on the times in service
    """

    time: Ints
    node: Ints
    downtime: Ints
    detectability: Floats
    kind: tuple[str, ...] | None = None
    span: int = 0
    nodes: int = 0
    repairs: bool = False
    names: tuple[str, ...] | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)
    origin: int | None = None
    service_start: Ints | None = None
    service_end: Ints | None = None
    service_new: Bools | None = None
    aside: Cleaning = field(default_factory=Cleaning)
    predicted: Ints | None = None

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        lengths = {len(a) for a in (self.time, self.node, self.downtime, self.detectability)}
        assert len(lengths) == 1, f"columns of unlike lengths: {lengths}"
        order = np.diff(self.time)
        assert bool(np.all((order > 0) | ((order == 0) & (np.diff(self.node) >= 0)))), (
            "failures are not in order of (time, node)"
        )
        assert self.predicted is None or len(self.predicted) == len(self), "predicted of its length"
        service = (self.service_start, self.service_end, self.service_new)
        told = [a for a in service if a is not None]
        assert not told or [len(a) for a in told] == [self.nodes] * 3, "service of unlike lengths"

    def __len__(self) -> int:
        return len(self.time)

    @classmethod
    def none(cls) -> Failures:
        """Return a source without failures."""
        whole = np.empty(0, dtype=np.int64)
        return cls(whole, whole, whole, np.empty(0), source="none")

    @classmethod
    def build(
        cls,
        time: npt.ArrayLike,
        node: npt.ArrayLike,
        downtime: npt.ArrayLike | None = None,
        detectability: npt.ArrayLike | None = None,
        predicted: npt.ArrayLike | None = None,
    ) -> Failures:
        """Return the failures of plain columns, sorted; span and nodes as they cover them.

        The span of a log whose window is not known is the half-open one that its seconds fill,
        last - first + 1. In `predicted`, nan stands for a failure that was not foreseen, as `FAR`
        does.
        """
        times = np.asarray(time, dtype=np.int64)
        numbers = np.asarray(node, dtype=np.int64)
        order = np.lexsort((numbers, times))
        downs = np.full(len(times), -1) if downtime is None else np.asarray(downtime)
        draws = np.full(len(times), np.nan) if detectability is None else np.asarray(detectability)
        span = int(times.max() - times.min()) + 1 if len(times) else 0
        return cls(
            times[order],
            numbers[order],
            downs[order].astype(np.int64),
            draws[order].astype(np.float64),
            span=span,
            nodes=int(numbers.max()) + 1 if len(numbers) else 0,
            predicted=None if predicted is None else _seconds_or_far(predicted)[order],
        )

    def take(self, index: Ints | Bools) -> Failures:
        """Return the failures at these positions (ascending) or where the mask holds."""
        columns = ("time", "node", "downtime", "detectability", "kind", "predicted")
        return taken(self, index, *columns)

    def table(self) -> pl.DataFrame:
        """Return a Polars table ``time,node[,downtime][,kind][,detectability][,predicted]`` of
        what is known; predicted is null where a failure was not foreseen."""
        columns: dict[str, object] = {"time": self.time, "node": self.node}
        if len(self) and bool(np.any(self.downtime >= 0)):
            columns["downtime"] = self.downtime
        if self.kind is not None:
            columns["kind"] = list(self.kind)
        if len(self) and not bool(np.any(np.isnan(self.detectability))):
            columns["detectability"] = self.detectability
        if self.predicted is not None:
            told = pl.Series(self.predicted)
            columns["predicted"] = told.set(told >= FAR, None)
        return pl.DataFrame(columns)


def _seconds_or_far(times: npt.ArrayLike) -> Ints:
    given = np.asarray(times)
    if given.dtype.kind == "f":
        given = np.where(np.isnan(given) | (given >= FAR), FAR, given)
    return given.astype(np.int64)


PLANNED: Final = "maintenance"
"""What the log of a run calls the cause of a planned outage."""


@dataclass(frozen=True)
class PlannedOutages:
    """Planned outages [time, until) in order of (time, node); those of a node do not overlap.

    Attributes
    ----------
    time, until, node : int64[n], s on the clock of a run, and node number
    """

    time: Ints
    until: Ints
    node: Ints

    def __len__(self) -> int:
        return len(self.time)

    @classmethod
    def of(cls, windows: Iterable[tuple[int, int, Iterable[int]]]) -> Self:
        """Return the outages of windows (start, end, nodes); those of a node that overlap or touch
        are one."""
        rows: list[list[int]] = []
        for node, start, end in sorted(
            (node, start, end) for start, end, nodes in windows for node in nodes
        ):
            if rows and rows[-1][2] == node and start <= rows[-1][1]:
                rows[-1][1] = max(rows[-1][1], end)
            else:
                rows.append([start, end, node])
        table = np.array(sorted(rows, key=lambda row: (row[0], row[2])), dtype=np.int64)
        return cls(*(column.copy() for column in table.reshape(-1, 3).T))

    def among(self, failures: Failures) -> Failures:
        """Return failures with these outages among them, by the cause `PLANNED`."""
        count = len(self)
        time = np.concatenate((failures.time, self.time))
        node = np.concatenate((failures.node, self.node))
        order = np.lexsort((node, time))
        kind = (failures.kind or ("",) * len(failures)) + (PLANNED,) * count
        predicted = failures.predicted
        if predicted is not None:
            predicted = np.append(predicted, np.full(count, FAR))[order]
        return replace(
            failures,
            time=time[order],
            node=node[order],
            downtime=np.concatenate((failures.downtime, self.until - self.time))[order],
            detectability=np.append(failures.detectability, np.ones(count))[order],
            kind=tuple(kind[k] for k in order.tolist()),
            nodes=max(failures.nodes, int(self.node.max(initial=-1)) + 1),
            predicted=predicted,
        )
