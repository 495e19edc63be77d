"""What was measured of CPU and memory, one row for each phase."""

from __future__ import annotations

from typing import NamedTuple

from forestall.sharing.contention.plan import Guest


class Point(NamedTuple):
    """A phase with or without a guest.

    Attributes
    ----------
    repeat, group, asked : which repeat, processes of the owner, share of the cores asked for
    guest : what ran beside the owner
    began, seconds : s since the experiment began, and s measured
    owner, guest_cpu : CPU time used in that, s
    cores : that both could use
    background : share of those cores that others used meanwhile, the host's own steal included
    """

    repeat: int
    group: int
    asked: float
    guest: Guest
    began: float
    seconds: float
    owner: float
    guest_cpu: float
    cores: int
    background: float

    @property
    def load(self) -> float:
        """The owner's share of the cores."""
        return self.owner / (self.seconds * self.cores)


class MemoryPoint(NamedTuple):
    """A phase of the experiment on memory.

    Attributes
    ----------
    repeat, guest : which repeat, and what ran beside the owner
    size : bytes that the guest holds
    free : bytes that were left of the limit beside both, negative where some were missing
    pages, seconds, faults : read by the owner, in so many s, so many of them from the disk
    """

    repeat: int
    guest: Guest
    size: int
    free: float
    pages: int
    seconds: float
    faults: int

    @property
    def speed(self) -> float:
        """Pages that the owner read in a second."""
        return self.pages / self.seconds
