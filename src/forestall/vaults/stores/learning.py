"""From the book of storage hosts to what a choice among them needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.prediction.models.semi_markov.learning import HostHistory
from forestall.prediction.models.semi_markov.states import on_grid
from forestall.prediction.models.semi_markov.stores import (
    PRIOR,
    STORE_STATES,
    UP,
    availability,
    reliability,
    store_history,
    store_states,
)
from forestall.vaults.rules.outlook import outlook_of
from forestall.vaults.rules.placement import StoreOutlook
from forestall.vaults.stores.book import Looks, StoreBook

PERIOD: Final = 60
"""s between two moments of a host's history."""
MOMENT: Final = 600
"""s between two moments of the joint history."""
PAST: Final = 30 * 86_400
"""s of the past that count."""
NEAR: Final = 3600
"""s before and after a failure within which a host must have been seen."""


@dataclass(frozen=True)
class StoreKnown:
    """What is known of one storage host.

    Attributes
    ----------
    name : by which it is known
    state : S0 to S3 now; "" where nobody looked yet
    available : probability that it can be read from within the horizon
    lasting : probability that it answers all through it (temporal reliability)
    bandwidth : B/s to it; None where it was not measured
    seen : s over which it was looked at
    """

    name: str
    state: str
    available: float
    lasting: float
    bandwidth: float | None
    seen: int

    @property
    def reachable(self) -> bool:
        """Whether it answered when it was last looked at."""
        return self.state in ("", *(STORE_STATES[k] for k in UP))


def learn(book: StoreBook, names: Sequence[str], now: int, horizon: int) -> list[StoreKnown]:
    """Return what is known of hosts, for the next `horizon` s."""
    found = []
    for name in names:
        looks, path = book.looks(name, now - PAST), book.path_to(name)
        rate = None if path is None else path.rate
        if not len(looks.at):
            found.append(StoreKnown(name, "", PRIOR, PRIOR, rate, 0))
            continue
        past = history_of(looks, now)
        found.append(
            StoreKnown(
                name, STORE_STATES[int(past.runs.state[-1])],
                availability(past, past.end, horizon), reliability(past, past.end, horizon), rate,
                past.runs.samples * PERIOD,
            )
        )  # fmt: skip
    return found


def history_of(looks: Looks, now: int) -> HostHistory:
    """Return the past of a host up to now, of looks at it."""
    begin = int(looks.at[0]) // PERIOD * PERIOD
    end = max(now, int(looks.at[-1])) + 1
    told = np.column_stack([looks.answered, looks.load])
    grid = on_grid(looks.at, told, begin=begin, end=end, period=PERIOD)
    return store_history(store_states(grid[:, 0], grid[:, 1], PERIOD), PERIOD, begin)


def outlook(
    book: StoreBook, known: Sequence[StoreKnown], now: int, *, unmeasured: float
) -> StoreOutlook:
    """Return what a choice among hosts needs.

    Parameters
    ----------
    known : as `learn` returns it
    unmeasured : B/s that a path is taken to have that was never measured
    """
    bandwidth = np.array(
        [(unmeasured if one.bandwidth is None else one.bandwidth) if one.reachable else 0.0
         for one in known]
    )  # fmt: skip
    looks = [book.looks(one.name, now - PAST) for one in known]
    chances = np.array([one.available for one in known])
    up, at_failure = together(looks, book.downs(), now)
    return outlook_of(bandwidth, up, at_failure, chances)


def together(
    looks: Sequence[Looks], downs: Sequence[tuple[int, int]], now: int
) -> tuple[Floats, Bools]:
    """Return the joint history: how far each host was up, float64[moments, hosts], at moments ten
    minutes apart and, last, at those when this machine went down; and which moments these are."""
    seen = [one for one in looks if len(one.at)]
    if not seen:
        return np.empty((0, len(looks))), np.zeros(0, bool)
    begin = min(int(one.at[0]) for one in seen)
    moments = np.arange(begin, now + 1, MOMENT)
    columns = [_up_at(one, moments, now) for one in looks]
    failures = [one for one in downs if begin <= one[0] <= now]
    rows = np.array([[_up_when(one, *down) for one in looks] for down in failures])
    up = np.vstack([np.column_stack(columns), rows.reshape(len(failures), len(looks))])
    return up, np.arange(len(up)) >= len(moments)


def _up_at(looks: Looks, moments: Ints, now: int) -> Floats:
    """Return how far a host was up at moments; nan before it was first looked at."""
    if not len(looks.at):
        return np.full(len(moments), np.nan)
    past = history_of(looks, now)
    up = np.isin(past.runs.sequence(), UP).astype(float)
    sample = (moments - past.origin) // PERIOD
    return np.where(sample < 0, np.nan, up[np.clip(sample, 0, len(up) - 1).astype(np.int64)])


def _up_when(looks: Looks, went: int, back: int) -> float:
    """Return how far a host was up when this machine, which looked at it, was down; nan where it
    was not looked at soon before and after.

    Where it says since when it has been running, that tells: it was up if it began before.
    """
    before = np.searchsorted(looks.at, went, side="right") - 1
    after = np.searchsorted(looks.at, max(back, went + 1), side="left")
    early = before >= 0 and went - looks.at[before] <= NEAR
    late = after < len(looks.at) and looks.at[after] - back <= NEAR
    if late and looks.answered[after] and not np.isnan(looks.since[after]):
        if looks.since[after] > went:
            return 0.0
        return 1.0
    if not (early and late):
        return float("nan")
    return float(looks.answered[before] * looks.answered[after])
