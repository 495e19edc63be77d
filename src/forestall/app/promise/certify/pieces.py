"""What the certifier knows of a vault: what checkpoints cost, where their pieces are, and whether
they can be had; as `docs/models/vault-in-runs` has it, anew, from the files alone."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from functools import cached_property

from forestall.model.vault.stores import Stores

MICRO = 1_000_000
Outages = dict[int, tuple[list[int], list[int]]]
"""When each node that failed was down: when it went, and when it came back, ascending."""


@dataclass(frozen=True)
class Pieces:
    """The stores of a run on so many nodes.

    Attributes
    ----------
    stores, nodes, overhead : as the parameters say; the last is in s
    outages : of the nodes
    """

    stores: Stores
    nodes: int
    overhead: int
    outages: Outages

    @cached_property
    def made(self) -> int:
        """Pieces of a checkpoint of one node, or copies on a ring."""
        if self.stores.layout == "ring":
            return 1 + self.stores.parity
        return self.stores.data + self.stores.parity if self.stores.layout == "code" else 1

    def copies(self, size: int) -> int:
        """Return the pieces of a node of a job on `size` nodes: on a ring no more than nodes."""
        return min(self.made, size) if self.stores.layout == "ring" else self.made

    @cached_property
    def needed(self) -> int:
        """Pieces that give it back."""
        return self.stores.data if self.stores.layout == "code" else 1

    @cached_property
    def keepers(self) -> frozenset[int]:
        """The nodes that keep pieces."""
        return frozenset(self.stores.numbers(self.nodes))

    # ------------------------------------------------------------------------------------ costs

    def costs(self, size: int) -> tuple[int, int]:
        """Return what a checkpoint of a job on `size` nodes takes, and a recovery, s."""
        s = self.stores
        piece = -(-math.ceil(s.size / s.ratio) // self.needed)
        times = sorted(piece * MICRO // rate for rate in self._rates(size))
        coding = s.size * MICRO // s.speed

        def seconds(sending: int) -> int:
            return max(-(-max(coding, sending) // MICRO), 1)

        slowest = times[len(times) - self.needed :]
        return self.overhead + seconds(sum(times)), seconds(sum(slowest))

    def _rates(self, size: int) -> list[int]:
        s = self.stores
        if s.layout == "local":
            return [s.disk]
        if s.layout == "ring":
            sent = self.copies(size) - 1
            return [s.disk] + [max(min(s.near, s.host // sent), 1) for _ in range(sent)]
        if s.layout == "server":
            return [max(min(s.near, s.server // size), 1)]
        if s.layout == "remote":
            return [max(min(s.far, s.server // size), 1)]
        if s.layout == "submitter":
            return [max(min(s.far, s.line // size), 1)]
        each = s.host // math.ceil(size / len(self.keepers))
        paths = [s.near if k % s.sites == 0 else s.far for k in range(self.made)]
        return [max(min(path, each), 1) for path in paths]

    # ----------------------------------------------------------------------------------- places

    def is_down(self, node: int, time: int) -> bool:
        """Return whether a node is down in a second."""
        gone, back = self.outages.get(node, ([], []))
        k = bisect.bisect_right(gone, time) - 1
        return k >= 0 and time < back[k]

    def places(self, node: int, time: int) -> list[int]:
        """Return the stores of the pieces that a node sends from a time on; of those that find no
        store there is nothing."""
        sites = self.stores.sites
        members: list[list[int]] = [[] for _ in range(sites)]
        for one in range(self.nodes):
            members[one * sites // self.nodes].append(one)
        own = node * sites // self.nodes
        offset = members[own].index(node)
        found: list[int] = []
        for piece in range(self.made):
            there = members[(own + piece) % sites]
            turned = [there[(offset + step) % len(there)] for step in range(1, len(there) + 1)]
            free = (
                one
                for one in turned
                if one != node
                and one in self.keepers
                and one not in found
                and not self.is_down(one, time)
            )
            found += [store for store in [next(free, None)] if store is not None]
        return found

    def holders(self, nodes: list[int], k: int) -> list[int]:
        """Return the nodes that have copies of what the k-th node of a job saved: it, and by turns
        its next ones to the right and to the left, around the end."""
        ring = sorted(nodes)
        turns = range(self.copies(len(ring)))
        return [ring[(k + ((i + 1) // 2 if i % 2 else -(i // 2))) % len(ring)] for i in turns]

    def is_there(self, nodes: list[int], saved: int, time: int) -> bool:
        """Return whether what these nodes saved, from one time on, can be had at another."""
        if self.stores.layout == "local":
            return not any(self.is_down(node, time) for node in nodes)
        if self.stores.layout == "ring":
            return all(
                any(not self.is_down(one, time) for one in self.holders(nodes, k))
                for k in range(len(nodes))
            )
        if self.stores.layout != "code":
            return True
        return all(
            sum(not self.is_down(one, time) for one in self.places(node, saved)) >= self.needed
            for node in nodes
        )


def outages_of(
    node: list[int], time: list[int], downtime: list[int], *, joined: bool = True
) -> Outages:
    """Return when nodes were down, from their failures; ones that touch are one, where `joined`."""
    found: Outages = {}
    for one, begin, length in sorted(zip(node, time, downtime, strict=True)):
        gone, back = found.setdefault(one, ([], []))
        if gone and begin < back[-1] + joined:
            back[-1] = max(back[-1], begin + length)
        else:
            gone.append(begin)
            back.append(begin + length)
    return found
