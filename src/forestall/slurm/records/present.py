"""What the batch system said of this moment: which jobs wait why, and which nodes are reserved."""

from __future__ import annotations

from dataclasses import dataclass

from forestall.core.model.arrays import Ints


@dataclass(frozen=True)
class Reservation:
    """Nodes that are set aside in [start, end), Unix seconds; `flags` as told, such as MAINT."""

    name: str
    start: int
    end: int
    nodes: tuple[str, ...]
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class PresentQueue:
    """Waiting jobs in any order, and reservations.

    Attributes
    ----------
    asked : when the batch system was asked, Unix seconds
    job : int64[m], ids; of an array its own
    tasks : int64[m], how many jobs each stands for: the tasks of an array that wait
    priority : int64[m], the largest goes first
    reason : why each waits, as told
    reservation : which one each wants; "" for none
    reservations : those that are on or to come
    """

    asked: int
    job: Ints
    tasks: Ints
    priority: Ints
    reason: tuple[str, ...]
    reservation: tuple[str, ...]
    reservations: tuple[Reservation, ...] = ()
