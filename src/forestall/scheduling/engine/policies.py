"""The policies that can be chosen by name: what each does, needs, and is by default.

Whatever asks "which policy is it" asks its entry: settings and the command line for names, runs for
defaults and for the loop that plays them, kernels for the number. A policy of the user's own (see
`forestall.scheduling.engine.own`) has the spelling of its class for a name, `module:Class`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.core.model.entries import Entries, Entry


@dataclass(frozen=True)
class PolicyEntry(Entry):
    """A policy.

    Attributes
    ----------
    code : what kernels know it by; part of compiled code, so never given to another one
    promises : whether it promises each job a deadline, by predictions of any kind: it places jobs
        at every event; the others do so once a second, and predictions only choose their nodes
    reserves : whether waiting jobs have reservations, whose starts are events of their own
    checkpoint, placement : what these parameters are where they are not given
    """

    code: int = -1
    promises: bool = False
    reserves: bool = False
    checkpoint: str = "none"
    placement: str = "first"


class Policies(Entries[PolicyEntry]):
    """The table of policies."""

    def coded(self, code: int) -> PolicyEntry | None:
        """Return the entry that kernels know by this number, or None."""
        return next((one for one in self.every if one.code == code), None)


OWN: Final = PolicyEntry(
    "own",
    "own policy",
    "a class of the user's own decides which waiting jobs start",
    "how-to/your-own/own-policy.md#bring-your-own-scheduling-policy",
    code=4,
    own=True,
)
"""What every policy of the user's own has in common. No name in the table: its class is."""

POLICIES: Final = Policies(
    "policy",
    (
        PolicyEntry(
            "promise",
            "promises",
            "every job gets a deadline with a probability at arrival, and keeps what it got",
            "models/promises/index.md#the-promise-policy",
            colour="#0072B2",
            code=0,
            promises=True,
            checkpoint="risk",
            placement="fault-aware",
        ),
        PolicyEntry(
            "fcfs",
            "FCFS",
            "strict order of the queue: nobody passes its head",
            "models/classic.md#fcfs",
            colour="#D55E00",
            code=1,
        ),
        PolicyEntry(
            "easy",
            "EASY backfilling",
            "later jobs start where they do not delay the head of the queue",
            "models/classic.md#easy-backfilling",
            colour="#009E73",
            code=2,
        ),
        PolicyEntry(
            "conservative",
            "conservative backfilling",
            "later jobs start where they delay no job before them",
            "models/classic.md#conservative-backfilling",
            colour="#CC79A7",
            code=3,
            reserves=True,
        ),
    ),
    own=OWN,
)
"""In the order in which users see them."""
