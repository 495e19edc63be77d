"""Where the nodes of a machine stand: which of them are near each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.nodes import NodeSet
from forestall.core.model.units import MOST_NODES

CONTIGUOUS: Final = "contiguous"
FORM: Final = "contiguous, the nodes of a switch such as 16, or switches such as s0=0-15 s1=16-31"

Level = tuple[tuple[str, NodeSet], ...]


@dataclass(frozen=True)
class Topology:
    """Sets of nodes that are near each other: those at a switch, or those with numbers in a row.

    Attributes
    ----------
    levels : switches by level, the lowest first, each a name and its nodes; a level has each node
        once at most
    every : nodes of each switch, where all have as many in a row; 0 where that is not so

    Without either, nodes with numbers in a row are near each other.
    """

    levels: tuple[Level, ...] = ()
    every: int = 0

    def __post_init__(self) -> None:
        """Raise ParameterError for what switches cannot be."""
        names: set[str] = set()
        for level in self.levels:
            nodes = [node for _, switch in level for node in switch]
            _hold(bool(level), "", "switches at each level")
            _hold(
                len(set(nodes)) == len(nodes), str(NodeSet.of(nodes)), "each node once at a level"
            )
            for name, switch in level:
                _hold(len(switch) > 0, name, "a node at each switch")
                _hold(name not in names, name, "switches with names of their own")
                names.add(name)

    @property
    def contiguous(self) -> bool:
        """Whether nodes with numbers in a row are near each other."""
        return not self.levels and not self.every

    @property
    def text(self) -> str:
        """It as it could be given, always the same way."""
        if self.contiguous:
            return CONTIGUOUS
        if self.every:
            return str(self.every)
        return "; ".join(" ".join(f"{name}={nodes}" for name, nodes in one) for one in self.levels)

    @classmethod
    def of(cls, text: str) -> Topology:
        """Return the topology that a text says; levels have ``;`` between them. Raises
        ParameterError.

        >>> Topology.of("s0=0-3 s1=4-7; all=0-7").levels[1]
        (('all', NodeSet(0-7)),)
        """
        plain = text.strip()
        if plain == CONTIGUOUS:
            return cls()
        if plain.isascii() and plain.isdigit():
            _hold(0 < int(plain) <= MOST_NODES, plain, "at least one node at a switch")
            return cls(every=int(plain))
        return cls(tuple(tuple(map(_switch, level.split())) for level in plain.split(";")))

    def units(self, nodes: int) -> list[tuple[int, NodeSet]]:
        """Return the switches of a machine of so many nodes as (level, nodes), the lowest first,
        and all nodes as the last. Raises ParameterError for switches with other nodes."""
        whole = NodeSet(((0, nodes),))
        found: list[tuple[int, NodeSet]] = []
        if self.every:
            edges = range(0, nodes, self.every)
            found = [(0, NodeSet(((low, min(low + self.every, nodes)),))) for low in edges]
        for height, level in enumerate(self.levels):
            for name, switch in level:
                last = switch.ranges[-1][1] - 1
                _hold(last < nodes, f"node {last} of {name}", f"nodes from 0 to {nodes - 1}")
                found.append((height, switch))
        return [*found, (found[-1][0] + 1 if found else 1, whole)]


def _switch(word: str) -> tuple[str, NodeSet]:
    name, equals, nodes = word.partition("=")
    _hold(bool(name and equals), word, FORM)
    held = NodeSet.parse(nodes)
    last = held.ranges[-1][1] - 1 if held else 0
    _hold(last < MOST_NODES, word, f"nodes below {MOST_NODES:,}")
    return name, held


def _hold(right: bool, value: str, allowed: str) -> None:
    if not right:
        raise ParameterError("topology", value, allowed)
