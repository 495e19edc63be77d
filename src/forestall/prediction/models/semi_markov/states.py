"""Availability states of a host from its samples: the multi-state model of cycle sharing.

S1: load up to Th1. S2: load above Th1; the guest runs at lowest priority. S3: load above Th2 for
longer than a hold time. S4: less free memory than the guest needs. S5: the machine is away, no
sample came for longer than a hold time. S3 and S4 are unavailability by excessive contention
(UEC), S5 by revocation (URR); all three end a guest's job. S. Bagchi et al., the FALCON and iShare
work, "Multi-State Resource Availability Model".

States are numbers from 0: S1 is 0, S5 is 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError

with lazily():
    from forestall.prediction.models.semi_markov import states_kernels

States = npt.NDArray[np.int8]

NAMES: Final = ("S1", "S2", "S3", "S4", "S5")
FAILING: Final = (2, 3, 4)
UP_DOWN: Final = ("up", "down")

TH1, TH2, HOLD, PERIOD = 0.20, 0.60, 60, 6
"""Thresholds of load, hold time and sampling period in s of the model."""


@dataclass(frozen=True)
class Stays:
    """A sequence of states as runs.

    Attributes
    ----------
    start : int64[k], the first sample of each stay
    state : int8[k], no two neighbours alike
    samples : samples in all, where the last stay was cut off
    period : seconds between samples
    """

    start: Ints
    state: States
    samples: int
    period: int = PERIOD

    def __len__(self) -> int:
        return len(self.start)

    @property
    def length(self) -> Ints:
        """int64[k], samples of each stay."""
        return np.diff(self.start, append=self.samples)

    def sequence(self) -> States:
        """Return int8[samples], the state of each sample."""
        return np.repeat(self.state, self.length)


@dataclass(frozen=True)
class Unavailability:
    """How often a host became unavailable, and for how long.

    An occurrence begins when S1 or S2 is left for a failing state, and is of the kind of that
    state; what failing states follow before the host is back belong to it.

    Attributes
    ----------
    occurrences : int64[3], those of S3, S4 and S5
    share : float64[5], share of the time in each state
    """

    occurrences: Ints
    share: Floats

    @property
    def total(self) -> int:
        """All occurrences."""
        return int(self.occurrences.sum())

    @property
    def uec(self) -> int:
        """Those by contention, S3 and S4."""
        return int(self.occurrences[:2].sum())

    @property
    def urr(self) -> int:
        """Those by revocation, S5."""
        return int(self.occurrences[2])


def host_states(
    load: npt.ArrayLike,
    free_memory: npt.ArrayLike | None = None,
    *,
    guest_memory: float = 0.0,
    period: int = PERIOD,
    hold: int = HOLD,
    thresholds: tuple[float, float] = (TH1, TH2),
    causal: bool = False,
) -> States:
    """Return int8[n]: the state of each of n samples that are `period` seconds apart.

    Parameters
    ----------
    load : [n], CPU load of the owner's processes from 0 to 1; nan where no sample came
    free_memory : [n], in the unit of `guest_memory`; nan where it is not known, which counts as
        enough. None: never known
    guest_memory : what the guest needs
    hold : seconds. A sample stands for one period: a load above Th2, or a gap, of k samples is
        longer than the hold time where k * period > hold
    thresholds : Th1, Th2
    causal : False: the whole of a heavy load that outlasts the hold time is S3, and of a gap S5,
        from its first sample on. True: as a monitor sees it at the time, from the sample on with
        which it outlasts the hold time

    A load above Th2 for no longer than the hold time stays S2: the guest is held back, and then
    goes on. A gap no longer than the hold time goes on as the sample before it; one that begins the
    samples as the first sample after it (S5 where `causal`). Where several hold, S5 goes before S4
    and S4 before S3. Raises ParameterError for settings or lengths that do not fit.
    """
    x = np.ascontiguousarray(load, dtype=np.float64)
    if x.ndim != 1:
        raise ParameterError("load", x.shape, "one axis of samples")
    memory = np.empty(0) if free_memory is None else np.asarray(free_memory, dtype=np.float64)
    if free_memory is not None and memory.shape != x.shape:
        raise ParameterError("free_memory", memory.shape, f"as many samples as load, {x.shape}")
    low, high = (float(v) for v in thresholds)
    if not 0 <= low <= high:
        raise ParameterError("thresholds", thresholds, "0 <= Th1 <= Th2")
    if period <= 0:
        raise ParameterError("period", period, "seconds above 0")
    if not hold >= 0:
        raise ParameterError("hold", hold, "seconds, at least 0")
    if math.isnan(guest_memory):
        raise ParameterError("guest_memory", guest_memory, "a number")

    out = np.empty(len(x), dtype=np.int8)
    states_kernels.classify(
        x,
        np.ascontiguousarray(memory),
        (low, high),
        int(hold // period),
        float(guest_memory),
        bool(causal),
        out,
    )
    return out


def on_grid(
    time: Ints,
    value: Floats,
    *,
    begin: int,
    end: int,
    period: int,
) -> Floats:
    """Return float64[k, ...]: samples of one host on the grid begin, begin + period, ... below end.

    Each slot of one period takes the last sample within it, nan where there is none.

    Parameters
    ----------
    time : int64[n], s, ascending
    value : float64[n, ...]
    """
    slots = max(0, -(-(end - begin) // period))
    made = np.full((slots, *value.shape[1:]), np.nan)
    inside = (time >= begin) & (time < end)
    made[(time[inside] - begin) // period] = value[inside]
    return made


def stays(states: npt.NDArray[np.integer], period: int = PERIOD) -> Stays:
    """Return the runs of a sequence of states."""
    sequence = np.asarray(states, dtype=np.int8)
    start = np.flatnonzero(np.diff(sequence, prepend=np.int8(-1)) != 0)
    return Stays(start.astype(np.int64), sequence[start], len(sequence), period)


def unavailability(runs: Stays) -> Unavailability:
    """Return how often and how long a host was in S3, S4 and S5."""
    failing = runs.state >= FAILING[0]
    before = np.concatenate(([False], failing[:-1]))
    entered = runs.state[failing & ~before]
    length = np.bincount(runs.state, runs.length, minlength=len(NAMES))
    return Unavailability(
        np.bincount(entered, minlength=len(NAMES))[list(FAILING)],
        length / max(runs.samples, 1),
    )


def up_down(
    time: Ints,
    up: Bools,
    *,
    begin: int,
    end: int,
    period: int,
) -> Stays:
    """Return the two states (0 up, 1 down) of a host whose log says when it went up and down.

    A sample is down where the host was down at any time within its period, so that no outage is
    lost; one before the log's first event is what that event ended.

    Parameters
    ----------
    time : int64[n], s, ascending
    up : bool[n], whether the host went up (True) or down at that time
    """
    samples = max(0, -(-(end - begin) // period))
    if len(time) == 0:
        return stays(np.zeros(samples, dtype=np.int8), period)
    change = np.zeros(samples + 1, dtype=np.int64)
    falls, rises = time[~up], time[up]
    at = np.searchsorted(rises, falls, side="left")
    back = np.concatenate((rises, [end]))[at]
    if bool(up[0]):
        falls, back = np.concatenate(([begin], falls)), np.concatenate(([time[0]], back))
    kept = (back > begin) & (falls < end)
    first = np.clip((falls[kept] - begin) // period, 0, samples)
    last = np.clip(-(-(back[kept] - begin) // period), 0, samples)
    last = np.maximum(last, np.minimum(first + 1, samples))
    np.add.at(change, first, 1)
    np.add.at(change, last, -1)
    return stays((np.cumsum(change)[:samples] > 0).astype(np.int8), period)
