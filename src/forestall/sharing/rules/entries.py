"""What can be chosen by name of guests on shared hosts: schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.core.model.entries import Entries, Entry

_SCHEDULERS: Final = "models/cycle-sharing/index.md#schedulers"


@dataclass(frozen=True)
class Scheduler(Entry):
    """A scheduler.

    Attributes
    ----------
    number : of its branches in `engine.event_kernels` and `simulation.world_kernels`
    looks_at : fields of `core.model.cycle.ESTIMATE` that it decides by; logs leave the others empty
    foretells : whether it knows how long hosts are foreseen to stay, so that stays are promised
    draws : whether it settles ties by chance
    knows : whether it knows what will happen, so that it exists in simulation alone
    """

    number: int = -1
    looks_at: tuple[str, ...] = ()
    foretells: bool = False
    draws: bool = False
    knows: bool = False


OWN_SCHEDULER: Final = Scheduler(
    "own",
    "own scheduler",
    "a class of the user's own in Python",
    "how-to/your-own/own-scheduler.md#a-scheduler-of-your-own",
    own=True,
    number=3,
    looks_at=("jct", "mttf", "etl", "jctf", "rank", "chance"),
    foretells=True,
)

SCHEDULERS: Final = Entries(
    "scheduler",
    (
        Scheduler(
            "falcon",
            "Falcon",
            "takes the host predicted to finish the job first, otherwise to last longest",
            _SCHEDULERS,
            colour="#0072B2",
            number=0,
            looks_at=("jct", "mttf", "etl", "jctf", "chance"),
            foretells=True,
        ),
        Scheduler(
            "falcon-slides",
            "Falcon as in the slides",
            "as falcon, by mean loads and each host's own past alone",
            _SCHEDULERS,
            colour="#56B4E9",
            number=4,
            looks_at=("jct", "mttf", "etl", "jctf", "chance"),
            foretells=True,
        ),
        Scheduler(
            "condor",
            "Condor-style",
            "takes the free host of best rank, blind to failures",
            _SCHEDULERS,
            colour="#D55E00",
            number=1,
            looks_at=("rank",),
            draws=True,
        ),
        Scheduler(
            "omniscient",
            "omniscient",
            "knows what will happen: the yardstick",
            _SCHEDULERS,
            colour="#009E73",
            number=2,
            looks_at=("etl", "jctf"),
            knows=True,
        ),
    ),
    own=OWN_SCHEDULER,
)
"""In the order of help: the only list of their names."""
