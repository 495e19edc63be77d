"""Where the pieces of a save go: the hosts that cost least for what they are worth, chosen anew as
the save goes on and shows how fast they are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import HostPool
from forestall.vaults.rules.placement import Stake, StoreChoice, StoreOutlook, choose

AGAIN: Final = 64
"""Packs after which it is chosen anew."""
ENOUGH: Final = 2**22
"""Bytes moved to a host from which its speed in this save counts."""


@dataclass
class AutoPlacing:
    """The hosts of a save's packs; any thread may ask.

    Parameters
    ----------
    pool : the hosts
    outlook : what is known of them
    stake : what the checkpoint is for
    code : m + k, no more than there are hosts that can be reached

    Attributes
    ----------
    choice : the last one made; `choices` how many different ones were
    """

    pool: HostPool
    outlook: StoreOutlook
    stake: Stake
    code: Code
    choices: int = 1

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.choice = self._choose(self.outlook)
        self._chosen_at = 0

    def __call__(self, number: int) -> tuple[int, ...]:
        """Return the hosts of a pack's pieces; each has data and parity in turn."""
        with self._lock:
            if number >= self._chosen_at + AGAIN:
                self._chosen_at = number
                self._look_again()
            hosts = self.choice.hosts
        return tuple(hosts[(number + k) % len(hosts)] for k in range(len(hosts)))

    def _look_again(self) -> None:
        bandwidth = self.outlook.bandwidth.copy()
        for number, seen in enumerate(self.pool.seen):
            if seen.said:
                bandwidth[number] = 0.0
            elif seen.moved >= ENOUGH:
                bandwidth[number] = seen.rate
        if np.count_nonzero(bandwidth) < self.code.pieces:
            return  # spare hosts take what one refuses
        before = self.choice
        self.choice = self._choose(replace(self.outlook, bandwidth=bandwidth))
        self.choices += set(self.choice.hosts) != set(before.hosts)

    def _choose(self, outlook: StoreOutlook) -> StoreChoice:
        return choose(outlook, self.stake, self.code.data, self.code.parity)


def enough(bandwidth: Sequence[float], code: Code) -> bool:
    """Whether as many hosts can be reached as a pack has pieces."""
    return sum(one > 0 for one in bandwidth) >= code.pieces
