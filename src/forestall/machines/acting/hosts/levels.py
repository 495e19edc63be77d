"""The levels of coordinators: nodes, clusters of them, the system; and how all of them decide.

Source: Fu and Xu, ARES 2009, Section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from forestall.core.model.errors import ParameterError
from forestall.machines.rules.overload import OverloadRule

SYSTEM: Final = "system"
_KINDS: Final = ("node", "cluster", SYSTEM)


@dataclass(frozen=True)
class HostsPlan:
    """The hosts there are, and how machines are placed on them.

    Attributes
    ----------
    clusters : the cluster of each node by the node's name, "" where it has none; their order
        settles ties
    strategy, alpha, seed : how nodes are chosen, see `machines.rules.placement.choose_node`
    lead : s before a predicted failure, less its spread, by which machines have left the node
    horizon : s that a machine without a deadline is reckoned to run on
    retry : s after which a machine that could not be moved is tried again
    at_once : moves off nodes that a coordinator makes at the same time
    silence : s without an answer after which a host is to be fenced
    life : s that a coordinator's lease counts
    checkpoint : s between two checkpoints of a machine; 0: none are made
    overload : when a node is too busy; None: never
    load : what counts as a node's load: what its machines use, or all that the host does
    """

    clusters: Mapping[str, str]
    strategy: str = "best-fit"
    alpha: float | str = 0.5
    seed: int = 1
    lead: int = 60
    horizon: int = 86_400
    retry: int = 30
    at_once: int = 2
    silence: int = 30
    life: int = 10
    checkpoint: int = 0
    overload: OverloadRule | None = None
    load: Literal["machines", "host"] = "machines"

    def checked(self, node: str) -> str:
        """Return a node's name. Raises ParameterError for an unknown one."""
        if node not in self.clusters:
            raise ParameterError("node", node, f"one of the fleet: {', '.join(self.clusters)}")
        return node


def positions(plan: HostsPlan) -> list[str]:
    """Return the positions that coordinators can hold, the system's first.

    >>> positions(HostsPlan({"h1": "a", "h2": ""}))
    ['system', 'cluster:a', 'node:h1', 'node:h2']
    """
    clusters = dict.fromkeys(name for name in plan.clusters.values() if name)
    return [
        SYSTEM,
        *(f"cluster:{one}" for one in clusters),
        *(f"node:{one}" for one in plan.clusters),
    ]


def checked_position(plan: HostsPlan, position: str) -> str:
    """Return a position. Raises ParameterError for one that the plan has not."""
    if position not in positions(plan):
        raise ParameterError("level", position, f"one of {', '.join(positions(plan))}")
    return position


def nodes_of(plan: HostsPlan, position: str) -> list[str]:
    """Return the nodes under a position."""
    kind, _, name = position.partition(":")
    if kind == "node":
        return [name]
    if kind == "cluster":
        return [node for node, cluster in plan.clusters.items() if cluster == name]
    return list(plan.clusters)


def chain(plan: HostsPlan, node: str) -> list[str]:
    """Return the positions over a node, from its own to the system's.

    >>> chain(HostsPlan({"h1": "a", "h2": ""}), "h1")
    ['node:h1', 'cluster:a', 'system']
    """
    cluster = plan.clusters[node]
    return [f"node:{node}", *([f"cluster:{cluster}"] if cluster else []), SYSTEM]


def above(plan: HostsPlan, position: str) -> str:
    """Return the position that is asked where there is no room; "" above the system."""
    if position == SYSTEM:
        return ""
    order = chain(plan, nodes_of(plan, position)[0])
    return order[order.index(position) + 1]
