"""What moves of guests were worth: how many were made, how many were needed, what they took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestall.core.model.cycle import StayEnd
from forestall.core.world.sums import exact_sum
from forestall.sharing.simulation.vault_state import RESTORE

if TYPE_CHECKING:
    from forestall.sharing.simulation.outcome import CycleOutcome
    from forestall.sharing.simulation.tables import Availability

Int = npt.NDArray[np.int64]


def move_measures(outcome: CycleOutcome, span: Availability) -> dict[str, Any]:
    """Return measures of the moves that were decided.

    made : guests that were saved and left their hosts
    useful, needless : of these, those whose host left S1 or S2 within `look_ahead` of the decision,
        and others; what comes after the end of the run does not count
    broken : decided, but the host left, or the traces ended, before the guest was saved
    useful_share : of those made; None where there are none
    seconds : that guests were saved to move, waited to be placed again, and were restored then;
        in all
    """
    stays = outcome.stays[np.lexsort((outcome.stays["start"], outcome.stays["job"]))]
    asked, made = stays["asked"] >= 0, stays["ended"] == StayEnd.MOVED
    until = stays["asked"][made] + outcome.parameters.look_ahead
    left = leaves_after(span, stays["host"][made], stays["asked"][made]) <= until
    count, useful = int(made.sum()), int(left.sum())
    saving = exact_sum((stays["end"] - stays["asked"])[asked])
    went = np.flatnonzero(made[:-1] & (stays["job"][1:] == stays["job"][:-1]))
    waiting = exact_sum(stays["start"][went + 1] - stays["end"][went])
    return {
        "made": count,
        "useful": useful,
        "needless": count - useful,
        "broken": int(asked.sum()) - count,
        "useful_share": useful / count if count else None,
        "seconds": saving + waiting + _restored(outcome, stays[went + 1]),
    }


def leaves_after(span: Availability, host: Int, time: Int) -> Int:
    """Return int64[n]: when hosts next leave S1 or S2 after times, at the end of the run or never
    being the largest number."""
    never = np.iinfo(np.int64).max
    if not span.entered.any():
        return np.full(len(host), never, dtype=np.int64)
    owner, start = span.host[span.entered], span.start[span.entered]
    low = min(int(start.min()), int(time.min(initial=int(start.min()))))
    width = max(int(start.max()), int(time.max(initial=low))) - low + 2
    at = np.searchsorted(owner * width + (start - low), host * width + (time - low), side="right")
    found = np.minimum(at, len(owner) - 1)
    return np.where((at < len(owner)) & (owner[found] == host), start[found], never)


def _restored(outcome: CycleOutcome, stays: npt.NDArray[Any]) -> int:
    """Return the seconds in which stays were restored."""
    stored = outcome.stored
    if stored is None:
        again = stays[stays["resumed"] > 0]
        lasted = again["end"] - again["start"]
        return exact_sum(np.minimum(lasted, outcome.parameters.restart_overhead))
    rows = stored.transfers[stored.transfers["kind"] == RESTORE]
    begun = set(zip(stays["job"].tolist(), stays["start"].tolist(), strict=True))
    told = zip(rows["job"].tolist(), rows["start"].tolist(), rows["until"].tolist(), strict=True)
    return sum(until - start for job, start, until in told if (job, start) in begun)
