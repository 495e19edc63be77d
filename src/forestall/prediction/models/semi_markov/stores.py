"""Storage hosts as a semi-Markov process: the failure model of the checkpoint repository.

S0: running. S1: loaded, its disk's utilisation, or its clients of as many as it takes, above a
threshold for longer than a hold time. S2: temporarily unavailable, it did not answer for longer
than a hold time. S3: unavailable, it did not for long. Load stands in place of CPU load, and looks
at a host in place of samples on it; all else is as for hosts that run guests. Slides of Ren and
Bagchi on FGCS, "Failure Model".
"""

from __future__ import annotations

from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov.learning import HostHistory
from forestall.prediction.models.semi_markov.states import States, host_states, stays

STORE_STATES: Final = ("S0", "S1", "S2", "S3")
UP: Final = (0, 1)
"""States in which a host can be read from."""
LOADED: Final = 0.9
HOLD: Final = 60
AWAY: Final = 1800
"""s of silence from which a host is unavailable, not only for a while."""
PRIOR: Final = 0.95
"""Availability of a host of which nothing is known; it counts as much as a day."""
DAY: Final = 86_400
_AWAY: Final = 4
_HEAVY: Final = 2


def store_states(
    answered: Floats, load: Floats, period: int, *, hold: int = HOLD, away: int = AWAY
) -> States:
    """Return int8[n]: the state of a storage host at each of n moments.

    Parameters
    ----------
    answered : [n], 1 where it answered, 0 where it did not, nan where nobody looked: then it was as
        at the look before, or, before the first one, as at that
    load : [n], 0 to 1; nan where it is not known, which counts as none
    period : s between moments
    hold, away : s

    A host that is silent at the end is not up, however short that has been: nobody knows what comes
    after.
    """
    if answered.shape != load.shape or answered.ndim != 1:
        raise ParameterError("load", load.shape, f"as many as answered, {answered.shape}")
    seen = _carried(~np.isnan(answered))
    here = answered[seen] if len(seen) else answered
    heavy = np.where(here > 0, np.nan_to_num(load[seen] if len(seen) else load), np.nan)
    found = host_states(heavy, period=period, hold=hold, thresholds=(LOADED, LOADED))
    runs = stays(found, period)
    long = runs.length * period > away
    states = np.where(
        runs.state == _AWAY, np.where(long, 3, 2), np.where(runs.state == _HEAVY, 1, 0)
    )
    found = np.repeat(states.astype(np.int8), runs.length)
    silent = len(here) - 1 - int(np.argmax(here[::-1] > 0)) if (here > 0).any() else -1
    found[silent + 1 :] = np.maximum(found[silent + 1 :], 2)
    return found


def _carried(known: Bools) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return for each moment the last one before it, or at it, that is known; the first one that is
    for those before it. Empty where none is."""
    at = np.flatnonzero(known)
    if not len(at):
        return at
    place = np.searchsorted(at, np.arange(len(known)), side="right") - 1
    return at[np.maximum(place, 0)]


def store_history(states: States, period: int, origin: int) -> HostHistory:
    """Return the past of a storage host, of which processes are learned."""
    return HostHistory(stays(states, period), origin, STORE_STATES, (2, 3))


def reliability(history: HostHistory, now: int, horizon: int) -> float:
    """Return the temporal reliability: the probability that a host answers all through the next
    `horizon` s. 0 where it does not answer now; what little was seen counts for little: see
    `PRIOR`."""
    runs = history.runs
    state = int(runs.state[-1])
    if state not in UP:
        return 0.0
    steps = max(horizon // runs.period, 1)
    process = history.process(now, steps * runs.period)
    return _with_prior(history, float(process.reliability(state, steps)[-1]))


def availability(history: HostHistory, now: int, horizon: int) -> float:
    """Return the probability that a host can be read from at a moment of the next `horizon` s.

    It has been up all the time until then, or was down meanwhile: then it is as it is on the whole.
    """
    runs = history.runs
    share = float(runs.length[np.isin(runs.state, UP)].sum() / max(runs.samples, 1))
    lasting = reliability(history, now, horizon)
    return lasting + (1 - lasting) * _with_prior(history, share)


def _with_prior(history: HostHistory, value: float) -> float:
    """Return a probability that was learned of a host, drawn toward that of any."""
    days = history.runs.samples * history.runs.period / DAY
    return (days * value + PRIOR) / (days + 1)
