"""What can be chosen by name of guests on shared hosts: schedulers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.model.entries import Entries, Entry

_SCHEDULERS: Final = "models/cycle-sharing/index.md#schedulers"


@dataclass(frozen=True)
class Scheduler(Entry):
    """A scheduler.

    Attributes
    ----------
    looks_at : fields of `model.cycle.ESTIMATE` that it decides by; logs leave the others empty
    foretells : whether it knows how long hosts are foreseen to stay, so that stays are promised
    """

    looks_at: tuple[str, ...] = ()
    foretells: bool = False


SCHEDULERS: Final = Entries(
    "scheduler",
    (
        Scheduler(
            "falcon",
            "Falcon",
            "takes the host predicted to finish the job first, otherwise to last longest",
            _SCHEDULERS,
            colour="#0072B2",
            looks_at=("jct", "mttf", "etl", "jctf", "chance"),
            foretells=True,
        ),
        Scheduler(
            "falcon-slides",
            "Falcon as in the slides",
            "as falcon, by mean loads and each host's own past alone",
            _SCHEDULERS,
            colour="#56B4E9",
            looks_at=("jct", "mttf", "etl", "jctf", "chance"),
            foretells=True,
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
    own=Scheduler(
        "own",
        "own scheduler",
        "a class of the user's own in Python",
        "how-to/your-own/own-scheduler.md#a-scheduler-of-your-own",
        own=True,
        looks_at=("jct", "mttf", "etl", "jctf", "rank", "chance"),
        foretells=True,
    ),
)
