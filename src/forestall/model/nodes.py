"""Sets of node numbers as a value type, written as hostlists such as ``0-3,7``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from forestall.model.arrays import Ints
from forestall.model.errors import ParameterError

_FEW = 32
"""Nodes up to which numbers are walked one by one, which is quicker than by arrays."""
_PART = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")


def _spans(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the ranges, half-open, of numbers that are ascending."""
    first = stop = -1
    for one in numbers:
        if one != stop:
            if stop >= 0:
                yield first, stop
            first = one
        stop = one + 1
    if stop >= 0:
        yield first, stop


def _joined(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield ranges in order, those that meet or overlap as one: none is written out."""
    first, stop = -1, -1
    for one, end in sorted(spans):
        if one > stop:
            if stop >= 0:
                yield first, stop
            first = one
        stop = max(stop, end)
    if stop >= 0:
        yield first, stop


@dataclass(frozen=True)
class NodeSet:
    """An immutable set of node numbers, kept as sorted half-open ranges.

    >>> str(NodeSet.of([7, 0, 1, 2, 3]))
    '0-3,7'
    >>> NodeSet.parse("0-3,7") - NodeSet.parse("2")
    NodeSet(0-1,3,7)
    """

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, nodes: Iterable[int]) -> NodeSet:
        """Return the set of these node numbers (any order, repeats allowed)."""
        return cls.of_sorted(np.unique(np.fromiter(nodes, dtype=np.int64)))

    @classmethod
    def of_sorted(cls, numbers: Ints) -> NodeSet:
        """Return the set of node numbers that are ascending, each once."""
        if numbers.size <= _FEW:
            return cls(tuple(_spans(numbers.tolist())))
        breaks = np.flatnonzero(np.diff(numbers) != 1)
        starts = numbers[np.concatenate(([0], breaks + 1))]
        stops = numbers[np.concatenate((breaks, [numbers.size - 1]))] + 1
        return cls(tuple(zip(starts.tolist(), stops.tolist(), strict=True)))

    @classmethod
    def parse(cls, text: str) -> NodeSet:
        """Return the set that a hostlist such as ``0-3,7`` names; ParameterError where it is
        none."""
        spans: list[tuple[int, int]] = []
        for part in filter(None, text.strip().split(",")):
            match = _PART.fullmatch(part.strip())
            first = int(match[1]) if match else 0
            last = int(match[2]) if match and match[2] else first
            if match is None or last < first:
                raise ParameterError("nodes", text, "a hostlist such as 0-3,7")
            spans.append((first, last + 1))
        return cls(tuple(_joined(spans)))

    def array(self) -> Ints:
        """Return the node numbers, ascending, int64[len(self)]."""
        if not self.ranges:
            return np.empty(0, dtype=np.int64)
        return np.concatenate([np.arange(a, b, dtype=np.int64) for a, b in self.ranges])

    def __iter__(self) -> Iterator[int]:
        for first, stop in self.ranges:
            yield from range(first, stop)

    def __len__(self) -> int:
        return sum(stop - first for first, stop in self.ranges)

    def __contains__(self, node: object) -> bool:
        return isinstance(node, int) and any(a <= node < b for a, b in self.ranges)

    def __or__(self, other: NodeSet) -> NodeSet:
        return NodeSet.of([*self, *other])

    def __and__(self, other: NodeSet) -> NodeSet:
        return NodeSet.of(set(self) & set(other))

    def __sub__(self, other: NodeSet) -> NodeSet:
        return NodeSet.of(set(self) - set(other))

    def __str__(self) -> str:
        return ",".join(str(a) if b == a + 1 else f"{a}-{b - 1}" for a, b in self.ranges)

    def __repr__(self) -> str:
        return f"NodeSet({self})"
