"""What can be chosen by name of guests on shared hosts: schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.model.entries import Entries, Entry

_SCHEDULERS: Final = "models/cycle-sharing.md#schedulers"


@dataclass(frozen=True)
class Scheduler(Entry):
    """A scheduler; `looks_at` are the fields of `model.cycle.ESTIMATE` that it decides by, which
    logs have: they leave the others empty."""

    looks_at: tuple[str, ...] = ()


SCHEDULERS: Final = Entries(
    "scheduler",
    (
        Scheduler(
            "falcon",
            "Falcon",
            "takes the host that is foreseen to end the job first, else to last longest",
            _SCHEDULERS,
            colour="#0072B2",
            looks_at=("jct", "mttf", "etl", "jctf", "chance"),
        ),
        Scheduler(
            "condor",
            "Condor-style",
            "takes the free host of best rank, blind to failures",
            _SCHEDULERS,
            colour="#D55E00",
            looks_at=("rank",),
        ),
        Scheduler(
            "omniscient",
            "omniscient",
            "knows what will happen: the yardstick",
            _SCHEDULERS,
            colour="#009E73",
            looks_at=("etl", "jctf"),
        ),
    ),
)
