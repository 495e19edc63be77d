"""What a host tells of its coming day at a few horizons, and when a guest there will be done.

Between horizons the load is constant and the reliability a straight line; after a day everything
goes on as from now: as in the rank by which HTCondor chooses (`sharing.adapters.condor.falcon`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from forestall.core.model.arrays import Floats
from forestall.core.model.errors import ParameterError
from forestall.sharing.rules.falcon import Estimate, estimate

STEP: Final = 60
QUANTILES: Final = (0.1, 0.5, 0.9)
_MOST_DAYS: Final = 60


@dataclass(frozen=True)
class HostHorizons:
    """What a host tells.

    Attributes
    ----------
    hours : horizons, ascending whole hours; the last one is repeated
    loads : the owner's mean load up to each
    chances : to stay available up to each, not rising
    speed : 1 is a host on which work takes its time
    """

    hours: tuple[int, ...]
    loads: tuple[float, ...]
    chances: tuple[float, ...]
    speed: float = 1.0

    def __post_init__(self) -> None:
        whole = len(self.hours) == len(self.loads) == len(self.chances) > 0
        if not whole or list(self.hours) != sorted(set(self.hours)) or self.hours[0] < 1:
            raise ParameterError("hours", self.hours, "ascending, a load and a chance for each")
        shares = (*self.loads, *self.chances)
        if not all(0 <= one <= 1 for one in shares) or not self.speed > 0:
            raise ParameterError("loads", shares, "shares and probabilities, a speed above 0")

    def share(self) -> Floats:
        """Return float64[n], what a guest gets of the host in each step of `STEP` s."""
        ends = np.array([0, *self.hours], dtype=np.float64)
        free = np.array([0.0, *(h * (1 - x) for h, x in zip(self.hours, self.loads, strict=True))])
        each = np.diff(np.maximum.accumulate(free)) / np.diff(ends)
        shares: Floats = np.clip(each, 0, 1)
        steps: Floats = np.repeat(shares, (np.diff(ends) * 3600 / STEP).astype(np.int64))
        return steps

    def reliability(self) -> Floats:
        """Return float64[n + 1], the chance to be there still by each step."""
        at = 3600 * np.array([0, *self.hours])
        falling = np.minimum.accumulate(np.array([1.0, *self.chances]))
        alive: Floats = np.interp(STEP * np.arange(at[-1] // STEP + 1), at, falling)
        return alive

    def estimate(self, work: float) -> Estimate:
        """Return what Falcon expects of a job with so much work, s at speed 1."""
        return estimate(work, self.share(), self.reliability(), step=STEP, speed=self.speed)


class CompletionBand(NamedTuple):
    """When a job will be done, s from now: with 10, 50 and 90 %; inf: not in sight. `stays` is the
    probability that it ends where it runs."""

    early: float
    middle: float
    late: float
    stays: float


def completion_band(
    work: float, here: HostHorizons, elsewhere: HostHorizons | None = None, *, away: float = 0.0
) -> CompletionBand:
    """Return when a job will be done that runs on a host, and goes on elsewhere where it is lost.

    Parameters
    ----------
    work : what is left of it, s at speed 1
    here, elsewhere : the hosts; by default it goes on on one like this
    away : s until it runs again

    It ends here at its JCT with the chance that the host stays so long. With the rest it loses the
    host at some time before, with what it has done saved, and is then done `away` s and the JCTF of
    what is left elsewhere later: of the first loss the whole distribution counts, of later ones the
    mean.
    """
    if not (work > 0 and away >= 0):
        raise ParameterError("work", work, "work above 0, and a time until it runs again")
    other = elsewhere or here
    share, alive = here.share(), here.reliability()
    day = len(share)
    done = np.concatenate(([0.0], np.cumsum(share * here.speed * STEP)))
    turns = min(_MOST_DAYS, int(work / done[-1]) + 1 if done[-1] > 0 else 1)
    whole = np.arange(turns)
    done = np.concatenate(([0.0], (whole[:, None] * done[-1] + done[1:]).ravel()))
    lasting = np.concatenate(([1.0], (alive[-1] ** whole[:, None] * alive[1:]).ravel()))
    last = int(np.searchsorted(done, work))  # the first step by which it is done
    ends = last < len(done)
    upto = min(last, turns * day)
    lost = -np.diff(lasting[: upto + 1])
    at = STEP * (np.arange(upto) + 0.5)
    rest = work - (done[:upto] + done[1 : upto + 1]) / 2
    later = at + away + _time_for(np.maximum(rest, 1.0), other)
    here_at = STEP * upto if ends else np.inf
    times = np.concatenate((later, [here_at]))
    weights = np.concatenate((lost, [lasting[upto]]))
    order = np.argsort(times, kind="stable")
    risen = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(risen, QUANTILES), len(order) - 1)
    early, middle, late = (float(times[order[place]]) for place in places)
    return CompletionBand(early, middle, late, float(lasting[upto]) if ends else 0.0)


def _time_for(rest: Floats, host: HostHorizons) -> Floats:
    """Return the JCTF of so much work on a host, inf: never; 33 are asked, with straight
    lines between them."""
    if not len(rest):
        return rest
    grid: Sequence[float] = np.linspace(rest.min(), max(rest.max(), rest.min() + 1), 33).tolist()
    found = np.array([float(host.estimate(one).jctf) for one in grid])
    found[found >= 2**60] = np.inf
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(np.interp(rest, grid, np.isinf(found))), np.inf,
                        np.interp(rest, grid, found))  # fmt: skip
