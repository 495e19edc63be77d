"""Quotes and promises."""

from __future__ import annotations

from dataclasses import dataclass, field

from forestall.core.model.decisions import Decision
from forestall.core.model.nodes import NodeSet


@dataclass(frozen=True)
class Quote:
    """An offer: done by `deadline` with `probability`, on `nodes` from `start`; accepted, it is a
    promise.

    Times are whole seconds since the trace's epoch. `reasons` say what shaped it; `decision` is
    what an engine would decide, from which others may say it in their own words.
    """

    start: int
    deadline: int
    probability: float
    nodes: NodeSet
    reasons: tuple[str, ...] = ()
    decision: Decision | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class DecileRecord:
    """What became of promises of one decile: no probability is shown without it."""

    low: float
    high: float
    made: int
    kept: int

    def __str__(self) -> str:
        band = f"promises from {100 * self.low:.0f} % to {100 * self.high:.0f} %"
        if not self.made:
            return f"{band}: none is settled yet"
        return (
            f"{band}: {self.made:,} made, {self.kept:,} kept, {100 * self.kept / self.made:.1f} %"
        )

    @property
    def brief(self) -> str:
        """It in few words.

        >>> DecileRecord(0.9, 1.0, 412, 371).brief
        'stated 90 to 100 %: 412, kept 371'
        """
        if not self.made:
            return f"stated {100 * self.low:.0f} to {100 * self.high:.0f} %: none settled yet"
        band = f"stated {100 * self.low:.0f} to {100 * self.high:.0f} %"
        return f"{band}: {self.made:,}, kept {self.kept:,}"


@dataclass(frozen=True)
class Offer:
    """Done by `deadline` with `probability`: one row of what a user may choose from.

    Attributes
    ----------
    start : when it starts where `held`, s; else when as many of like jobs as `probability` says had
        started
    deadline : s
    probability : what is said
    held : whether a reservation holds the start; what is left to chance then are failures
    record : what became of promises like it
    reasons : in words
    before : probability before correction, None: nobody corrected it
    """

    start: int
    deadline: int
    probability: float
    held: bool
    record: DecileRecord
    reasons: tuple[str, ...] = ()
    before: float | None = None
