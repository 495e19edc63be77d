"""What an action came to: whether the failure was seen because of which it was done, and what that
would have destroyed; node-seconds.

A failure that was not seen saved nothing, also where an action may have kept it from coming.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from forestall.core.model.live.intents import Action
from forestall.core.proportions import wilson
from forestall.live.ledger.failures import LedgerFailures, NodeFailure
from forestall.live.ledger.rows import IntentRow, OfferRow, OutcomeRow, PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.slurm.actor import AVOID
from forestall.live.slurm.answers import PAUSE

CHOSEN: Final[Mapping[str, str]] = {
    Action.SIGNAL: "cost of a checkpoint now",
    Action.REQUEUE: "cost of start elsewhere from the checkpoint",
    Action.EXCLUDE: "cost of other nodes",
}
"""The figure that says what an answer to a risk was expected to cost (`live.slurm.answers`)."""
NOTHING: Final = "cost of nothing"


class TurnedOut(NamedTuple):
    """What is known of an action in the end.

    Attributes
    ----------
    came : whether the failure was seen
    expected : what it was expected to save
    at_stake : what it was expected to save if the failure came
    saved : what it saved
    spent : what it cost; None: that is counted otherwise
    """

    came: bool
    expected: float
    at_stake: float
    saved: float
    spent: float | None = None


@dataclass
class Judged:
    """Sums over actions of one kind of which it is known what they came to."""

    count: int = 0
    came: int = 0
    expected: float = 0.0
    at_stake: float = 0.0
    saved: float = 0.0

    def add(self, one: TurnedOut) -> None:
        """Let one count."""
        self.count += 1
        self.came += one.came
        self.expected += one.expected
        self.at_stake += one.at_stake
        self.saved += one.saved

    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of what such actions save: that of the share of failures that
        come (Wilson), times what one was worth; where none was worth anything, what was
        expected of one."""
        if not self.count:
            return 0.0, 0.0
        each = self.saved / self.came if self.saved > 0 else self.at_stake / self.count
        low, high = wilson(self.came, self.count)
        least = low * self.count * each if self.saved > 0 else 0.0
        return least, high * self.count * each


def of_drain(
    row: IntentRow, since: int, back: int | None, failures: LedgerFailures
) -> TurnedOut | None:
    """Return what a drain came to, None where that is not known yet.

    It saved what a failure of a node that works was expected to destroy when it was decided on,
    where its node failed while it was out of service and before what was foreseen was over, and no
    job was lost with it.

    Parameters
    ----------
    since : when its effect was seen, s since 1970
    back : when we brought the node back or told it to reboot, None: it is out
    """
    figures: Mapping[str, float] = row.figures
    end = int(figures.get("until", 0.0))
    end = end if back is None else min(end, back)
    chance, expected = figures.get("probability", 0.0), figures.get("saved", 0.0)
    at_stake = figures.get("loss", expected / chance if chance > 0 else 0.0)
    failure = failures.first(row.target, since, end)
    if failure is not None:
        saved = 0.0 if failures.took_a_job(failure) else at_stake
        return TurnedOut(True, expected, at_stake, saved)
    return TurnedOut(False, expected, at_stake, 0.0) if failures.until >= end else None


def judgeable(row: IntentRow) -> bool:
    """Whether an action on a promised job names the nodes that it is to be kept from."""
    return row.action in CHOSEN and any(name.startswith(AVOID) for name in row.figures)


def of_job(
    row: IntentRow, since: int, outcome: OutcomeRow, ledger: LiveLedger, failures: LedgerFailures
) -> TurnedOut | None:
    """Return what an action on a promised job came to, None where that cannot be told: the job was
    cancelled.

    A failure counts of a node that the job was to be kept from, before it would have ended there:
    it ended later by the work that it lost and the wait, as these were reckoned.
    """
    promise = ledger.one(PromiseRow, row.promise)
    offer = None if promise is None else ledger.one(OfferRow, promise.offer)
    if offer is None or outcome.ended < 0 or outcome.outcome == "void":
        return None
    figures: Mapping[str, float] = row.figures
    chance, nothing = figures.get("probability", 0.0), figures.get(NOTHING, 0.0)
    cost, at_stake = figures.get(CHOSEN[row.action], 0.0), nothing / chance if chance > 0 else 0.0
    before, spent = float(outcome.ended), cost
    if row.action == Action.SIGNAL:  # its cost has in it what is lost still
        spent = float(offer.size * PAUSE)
        at_stake = (nothing - cost + spent) / chance if chance > 0 else 0.0
    else:
        before -= cost / offer.size
    names = [name[len(AVOID) :] for name in figures if name.startswith(AVOID)]
    seen = [one for name in names if (one := failures.first(name, since, int(before))) is not None]
    saved = _saved(row, min(seen), offer.size, at_stake) if seen else 0.0
    return TurnedOut(bool(seen), chance * at_stake, at_stake, saved, spent)


def _saved(row: IntentRow, failure: NodeFailure, size: int, at_stake: float) -> float:
    """Return what a failure would have destroyed that came earlier or later than was foreseen."""
    late = 0.0
    if row.action != Action.SIGNAL:  # a checkpoint saves what was done before it
        late = size * (failure.at - row.figures.get("fails at", failure.at))
    return max(at_stake + late, 0.0)
