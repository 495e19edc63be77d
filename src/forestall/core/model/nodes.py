"""Nodes: sets of their numbers, written as hostlists such as ``0-3,7``, and machines whose nodes
are shared: what each node has, and what each job asks of a node.

The first three resources of a machine are always cores, memory (MiB) and GPUs; others, such as
licences of a node or network cards, follow by name. Amounts are whole numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints, brief_repr
from forestall.core.model.errors import ParameterError

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


RESOURCES = ("cores", "memory", "gpus")
"""Resources that every machine has a column for; memory in MiB."""
CORES, MEMORY, GPUS = range(3)


@dataclass(frozen=True)
class MachineSpec:
    """The nodes of a machine, in the order of their numbers.

    Attributes
    ----------
    names : of the nodes, each once
    resources : names of the resources, `RESOURCES` first
    capacity : int64[nodes, resources], what a node has of each
    gpu_type : of each node's GPUs; "" where it has none, or they have no type
    features, partitions : of each node
    source : where it was read from
    """

    names: tuple[str, ...]
    resources: tuple[str, ...]
    capacity: Ints
    gpu_type: tuple[str, ...]
    features: tuple[frozenset[str], ...]
    partitions: tuple[frozenset[str], ...]
    source: str = ""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        assert self.resources[: len(RESOURCES)] == RESOURCES, self.resources
        assert self.capacity.shape == (len(self.names), len(self.resources))
        assert bool((self.capacity >= 0).all()), "a capacity is negative"

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of_equal(cls, nodes: int, cores: int, memory: int = 0, gpus: int = 0) -> MachineSpec:
        """Return a machine of equal nodes; memory in MiB."""
        capacity = np.tile(np.array([cores, memory, gpus], dtype=np.int64), (nodes, 1))
        nothing: tuple[frozenset[str], ...] = (frozenset(),) * nodes
        return cls(
            tuple(f"n{k}" for k in range(nodes)), RESOURCES, capacity, ("",) * nodes, nothing,
            nothing, f"{nodes} equal nodes",
        )  # fmt: skip

    @cached_property
    def totals(self) -> Ints:
        """What the machine has of each resource, int64[resources]."""
        return np.asarray(self.capacity.sum(axis=0), dtype=np.int64)

    def allowed(self, gpu_type: str, features: str, partition: str) -> Bools:
        """Return the nodes that a job may have, bool[nodes].

        gpu_type : types that it takes, ``A10|T4``; "" takes any
        features : ``a&b`` needs both, ``a|b`` one of them (``&`` binds more closely); "" needs none
        partition : "" or one that no node names allows all
        """
        types = {one for one in gpu_type.split("|") if one}
        ways = [frozenset(way.split("&")) for way in features.split("|") if way]
        known = partition and any(partition in mine for mine in self.partitions)
        return np.array(
            [
                (not types or mine in types)
                and (not ways or any(way <= have for way in ways))
                and (not known or partition in parts)
                for mine, have, parts in zip(
                    self.gpu_type, self.features, self.partitions, strict=True
                )
            ],
            dtype=np.bool_,
        )

    def shares(self, amounts: Ints, node: Ints) -> Floats:
        """Return the dominant share of its node that each of these amounts is, float64[m]: the
        largest, over the resources, of amount / capacity.

        amounts : int64[m, resources]; node : int64[m]
        """
        capacity = self.capacity[node]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(capacity > 0, amounts / capacity, 0.0)
        return np.asarray(share.max(axis=1), dtype=np.float64)


@dataclass(frozen=True)
class Requests:
    """What jobs ask of a node, beside how many nodes.

    Attributes
    ----------
    resources : names of the columns of `amounts`, `RESOURCES` first
    amounts : int64[n, resources], of a node, or of a task where `tasks` says how many
    tasks : int64[n]; 0 for a job that asks for nodes, else how many tasks are spread over nodes
    exclusive : bool[n], jobs that take whole nodes, whatever these have
    gpu_type, features : as `MachineSpec.allowed` takes them
    """

    resources: tuple[str, ...]
    amounts: Ints
    tasks: Ints
    exclusive: Bools
    gpu_type: tuple[str, ...]
    features: tuple[str, ...]

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        assert self.resources[: len(RESOURCES)] == RESOURCES, self.resources
        asks = (self.amounts[:, CORES] > 0) | self.exclusive
        assert bool(asks.all()), "a job that shares nodes asks for no core"

    def __len__(self) -> int:
        return len(self.amounts)

    def take(self, index: Ints | Bools) -> Requests:
        """Return the requests at these positions, or where the mask holds."""
        where = np.flatnonzero(index) if index.dtype == np.bool_ else index
        chosen = where.tolist()
        return replace(
            self,
            amounts=self.amounts[where],
            tasks=self.tasks[where],
            exclusive=self.exclusive[where],
            gpu_type=tuple(map(self.gpu_type.__getitem__, chosen)),
            features=tuple(map(self.features.__getitem__, chosen)),
        )

    def columns(self) -> dict[str, Any]:
        """Return the columns of a table of jobs that say the same."""
        amounts = {name: self.amounts[:, k].copy() for k, name in enumerate(self.resources)}
        words = {"gpu_type": list(self.gpu_type), "features": list(self.features)}
        return {
            **amounts, "tasks": self.tasks, "exclusive": self.exclusive.astype(np.int64), **words
        }  # fmt: skip

    @classmethod
    def whole_nodes(cls, count: int) -> Requests:
        """Return requests for whole nodes."""
        return cls(
            RESOURCES,
            np.zeros((count, len(RESOURCES)), dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            np.ones(count, dtype=np.bool_),
            ("",) * count,
            ("",) * count,
        )
