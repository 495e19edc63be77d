"""Predictions of failures as a table: from when on each node's next failure is expected when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from forestall.core.model.arrays import Ints, brief_repr
from forestall.core.model.virtual import FAR


@dataclass(frozen=True)
class Predictions:
    """Rows in order of (known, node), ties in the order in which they were made: the last holds.

    A node's prediction holds from `known` until its next row or its next failure, after which
    nothing is foreseen for it until a row comes.

    Attributes
    ----------
    known : int64[n], since when it is foreseen, s
    node : int64[n], node number from 0
    expected : int64[n], predicted time of the node's next failure, s; FAR where none is foreseen
    name : what predicted, in words

    `NEVER` stands for the time of a failure that is not foreseen.
    """

    NEVER: ClassVar[int] = FAR

    known: Ints
    node: Ints
    expected: Ints
    name: str = ""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        assert len(self.known) == len(self.node) == len(self.expected), "columns of unlike lengths"
        order = np.diff(self.known)
        nodes = np.diff(self.node)
        assert bool(np.all((order > 0) | ((order == 0) & (nodes >= 0)))), "not by (known, node)"
        assert bool(np.all(self.expected <= FAR)), "a time later than FAR"

    def __len__(self) -> int:
        return len(self.known)

    @classmethod
    def none(cls, name: str = "none") -> Predictions:
        """Return predictions that foresee nothing."""
        empty = np.empty(0, dtype=np.int64)
        return cls(empty, empty, empty, name)
