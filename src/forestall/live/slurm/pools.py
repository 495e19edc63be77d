"""Of which nodes a job may take its own: those of its partitions that have its features."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import numpy as np

from forestall.core.model.nodes import NodeSet
from forestall.slurm.cluster.nouns import ClusterNode

MOST: Final = 1000
"""Sets of nodes that are told apart; of jobs that would need more the partition alone counts."""
_WORD: Final = re.compile(r"[^&|,]+")
_SIMPLE: Final = re.compile(r"[\w.:=-]+(?:[&|,][\w.:=-]+)*")


class Pools:
    """Numbers of sets of nodes; 0 is all of them.

    nodes : as seen, by name
    number : of the nodes that the engine knows
    """

    def __init__(self, nodes: Mapping[str, ClusterNode], number: Mapping[str, int]) -> None:
        self._nodes = {name: (nodes[name].partitions, nodes[name].features) for name in number}
        self._number = number
        self._sets: dict[bytes, int] = {np.arange(len(number)).tobytes(): 0}
        self._known: dict[tuple[str, str], int] = {("", ""): 0}

    def hold_for(self, nodes: Mapping[str, ClusterNode]) -> bool:
        """Whether partitions and features of the nodes are as they were."""
        known = self._nodes
        return all(
            known[name] == (node.partitions, node.features)
            for name, node in nodes.items()
            if name in known
        )

    def known(self, partition: str, features: str) -> int | None:
        """Return the pool of a job, None where it was never asked for."""
        return self._known.get((partition, features))

    def of(self, partition: str, features: str) -> tuple[int, NodeSet | None]:
        """Return the pool of a job, and its nodes where the engine was not told of it yet."""
        found = self._known.get((partition, features))
        if found is not None:
            return found, None
        if len(self._sets) >= MOST and features:
            return self.of(partition, "")
        nodes = self._matching(partition, features)
        count = len(self._sets)
        pool = self._sets.setdefault(nodes.tobytes(), count)
        if len(self._known) < 10 * MOST:
            self._known[partition, features] = pool
        return pool, NodeSet.of_sorted(nodes) if pool == count else None

    def _matching(
        self, partition: str, features: str
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        partitions = set(partition.split(",")) - {""}
        found = [
            self._number[name]
            for name, (parts, has) in self._nodes.items()
            if (not partitions or not partitions.isdisjoint(parts)) and satisfied(features, has)
        ]
        return np.array(sorted(found), dtype=np.int64)


def satisfied(wanted: str, has: tuple[str, ...]) -> bool:
    """Return whether a node with these features does for a job that wants them: ``a&b|c``, where
    ``&`` (also written ``,``) goes before ``|``. Whatever else Slurm allows, such as brackets and
    counts, is not looked at: every node does.

    >>> satisfied("ib&a100|h100", ("h100",)), satisfied("ib&a100", ("ib",)), satisfied("", ())
    (True, False, True)
    """
    if not _SIMPLE.fullmatch(wanted):
        return True
    return any(all(word in has for word in _WORD.findall(both)) for both in wanted.split("|"))
