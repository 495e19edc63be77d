"""How long a migration of a virtual machine takes, and how long the machine stands still for it.

Sources: Clark et al., "Live migration of virtual machines", NSDI 2005 (pre-copy and when it ends);
Fu and Xu, ARES 2009, Section 3 (12 to 14 s for stop and copy of 700 MB).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

ROUNDS: Final = 29
"""Rounds of pre-copy after which the rest is copied with the machine stopped (Clark et al.)."""

MOST_SENT: Final = 3.0
"""Times the memory that pre-copy sends at most (Clark et al.)."""


@dataclass(frozen=True)
class Transfer:
    """What a migration takes: `copy` s in which the machine runs on at its source, and `standstill`
    s in which it runs nowhere."""

    copy: int
    standstill: int

    @property
    def whole(self) -> int:
        """From the beginning until the machine runs at its target, s."""
        return self.copy + self.standstill


def stop_and_copy(memory: float, link: float) -> Transfer:
    """Return the transfer of `memory` MiB over `link` MiB/s with the machine stopped.

    >>> stop_and_copy(700, 58.4)
    Transfer(copy=0, standstill=12)
    """
    return Transfer(0, math.ceil(memory / link))


def pre_copy(memory: float, link: float, dirty_rate: float, max_downtime: float) -> Transfer:
    """Return the transfer of a machine that runs on while it is copied.

    Each round sends what was written during the round before. The machine stops when the rest
    needs at most `max_downtime`, after `ROUNDS` rounds, or when three times its memory was sent.

    Parameters
    ----------
    memory : MiB
    link, dirty_rate : MiB/s
    max_downtime : s

    >>> pre_copy(1000, 100, 20, 0.3)
    Transfer(copy=13, standstill=1)
    """
    copied, sent, left = 0.0, 0.0, float(memory)
    for _ in range(ROUNDS):
        if left / link <= max_downtime or sent + left > MOST_SENT * memory:
            break
        took = left / link
        copied, sent = copied + took, sent + left
        left = min(memory, dirty_rate * took)
    return Transfer(math.ceil(copied), math.ceil(left / link))
