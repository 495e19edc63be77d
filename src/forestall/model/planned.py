"""Outages that are planned, such as maintenance: they come with certainty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from forestall.model.arrays import Ints
from forestall.model.failures import Failures
from forestall.model.virtual import FAR

KIND = "maintenance"
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
        """Return failures with these outages among them, by the cause `KIND`."""
        count = len(self)
        time = np.concatenate((failures.time, self.time))
        node = np.concatenate((failures.node, self.node))
        order = np.lexsort((node, time))
        kind = (failures.kind or ("",) * len(failures)) + (KIND,) * count
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
