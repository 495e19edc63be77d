"""The nodes of a machine as its batch system describes them."""

from __future__ import annotations

from dataclasses import dataclass, field

from forestall.core.model.arrays import Ints, brief_repr
from forestall.core.model.cleaning import Cleaning


@dataclass(frozen=True)
class Inventory:
    """One entry a node; whole numbers are -1 and texts "" where not told.

    Attributes
    ----------
    names : of the nodes
    cpus, gpus, memory_mb : int64[n]
    partitions : names of the partitions that each node is in
    hardware : what tells kinds of nodes apart: GPU type, features, CPUs and memory, as text
    state, reason : raw, as last seen
    boot : int64[n], Unix seconds of the last boot
    gres, features : raw, of each node
    partition_limits : requested time allowed in each partition, s (`NEVER`: no limit)
    seen : when this was written down, Unix seconds; None where not told
    """

    names: tuple[str, ...]
    cpus: Ints
    gpus: Ints
    memory_mb: Ints
    partitions: tuple[tuple[str, ...], ...]
    hardware: tuple[str, ...]
    state: tuple[str, ...]
    reason: tuple[str, ...]
    boot: Ints
    partition_limits: dict[str, int] = field(default_factory=dict)
    seen: int | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)
    gres: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    __repr__ = brief_repr

    def __len__(self) -> int:
        return len(self.names)
