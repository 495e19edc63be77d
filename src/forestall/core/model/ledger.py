"""What was promised and what became of it: a ledger that only grows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints

Small = npt.NDArray[np.int8]

QUESTIONS: Final = ("deadline", "probability")
"""What was asked for: the deadline of a probability, or the probability of a deadline."""
OUTCOMES: Final = ("open", "kept", "missed", "void")
"""Void: the user cancelled the job before the deadline; neither kept nor missed."""
OPEN, KEPT, MISSED, VOID = range(4)
CAUSES: Final = ("", "failure", "longer run", "longer wait", "operator", "user")
"""Why a promise was missed, or void."""


@dataclass(frozen=True)
class Ledger:
    """Promises in the order in which they were made. Its arrays cannot be written to; what is added
    makes a new ledger that begins with the old one.

    Attributes
    ----------
    job : int64[n], number of the job in the records
    question : int8[n], place in `QUESTIONS`
    quoted, deadline : int64[n], when it was made, and for when; s on the clock of the records
    asked : float64[n], the probability that was asked for; of named deadlines the one believed
        before debts were paid
    before, stated : float64[n], probability of this deadline before correction, and what was said
    wait, run : float64[n], quantiles of wait and run time that went into it, s
    wait_class, run_class : int8[n], the narrowest class with any job, 0 the narrowest of all
    wait_like, run_like : int64[n], how many jobs were in it
    risk : float64[n], probability that a failure stops the job
    counted : bool[n], whether it was made after the warm-up
    outcome, cause : int8[n], places in `OUTCOMES` and `CAUSES`
    known : int64[n], when the outcome was known; -1 while it is open
    """

    job: Ints
    question: Small
    quoted: Ints
    deadline: Ints
    asked: Floats
    before: Floats
    stated: Floats
    wait: Floats
    run: Floats
    wait_class: Small
    run_class: Small
    wait_like: Ints
    run_like: Ints
    risk: Floats
    counted: Bools
    outcome: Small
    cause: Small
    known: Ints

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self}
        assert len(set(lengths.values())) == 1, f"columns of unlike lengths: {lengths}"
        for name, column in self:
            if column.flags.writeable:
                own = column.copy()
                own.flags.writeable = False
                object.__setattr__(self, name, own)

    def __len__(self) -> int:
        return len(self.job)

    def __iter__(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield name and values of each column."""
        return ((one.name, getattr(self, one.name)) for one in fields(self))

    def append(self, later: Self) -> Self:
        """Return a ledger with these entries and then the later ones; this one stays as it is."""
        return type(self)(*(np.concatenate([mine, getattr(later, name)]) for name, mine in self))

    def take(self, index: Ints | Bools) -> Self:
        """Return the entries at these positions or where the mask holds."""
        return type(self)(*(column[index] for _, column in self))

    def columns(self) -> dict[str, Any]:
        """Return what a table of it holds: the columns, with words for codes."""
        words = {"question": QUESTIONS, "outcome": OUTCOMES, "cause": CAUSES}
        return {
            name: [words[name][code] for code in column.tolist()] if name in words else column
            for name, column in self
        }
