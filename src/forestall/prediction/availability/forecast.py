"""How long a host is likely to stay available, learned from the agent's own day files.

Run as a process of its own (`python -m forestall.prediction.availability.forecast FOLDER HOST`),
because what it needs (NumPy, weeks of samples) is more than the agent need hold all day. It prints
a line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ForestallError
from forestall.logs.metrics.day_files import day_files_in
from forestall.logs.metrics.day_samples import HostDays, host_days
from forestall.prediction.availability.loads import StepLoads, mean_loads
from forestall.prediction.models.semi_markov.learning import DAY, HostHistory, weekend
from forestall.prediction.models.semi_markov.states import stays

HOURS: Final = (1, 2, 4, 8, 16, 24)
STEP: Final = 60
"""Seconds of a step of the process: the worst state of the samples in it."""
LIKE_DAYS: Final = 20
"""Most days of one kind, weekdays or weekends, that are learned from."""
FILES: Final = {False: 30, True: 72}
"""Day files that are read at most: 20 weekdays lie in four weeks, 20 weekend days in ten."""
FAR: Final = 10 * 365 * DAY
"""Seconds that stand for a host that was never seen to leave."""
AT_ONCE: Final = 2
"""Day files that are held at a time: the agent is to take no more memory than 60 MB, ever."""
S5: Final = 4


def coarse_states(host: HostDays, hold: float) -> tuple[int, npt.NDArray[np.int8]]:
    """Return the Unix time of the first step and int8[n], the worst state of each step of `STEP`.

    As a monitor saw it: time without a sample goes on as before, and is S5 from when it is longer
    than the hold time.
    """
    time_ = host.time
    begin = int(time_[0] // STEP) * STEP
    place = (time_ - begin) // STEP
    worst = np.full(int(place[-1]) + 1, -1, dtype=np.int8)
    np.maximum.at(worst, place, host.state)
    known = np.maximum.accumulate(np.where(worst >= 0, np.arange(len(worst)), 0))
    last = np.zeros(len(worst), dtype=np.int8)
    last[place] = host.state  # of equal places the last counts
    worst = np.where(worst >= 0, worst, last[known]).astype(np.int8)
    slots = int(hold // host.period)
    for k in np.flatnonzero(np.diff(time_) > (slots + 1.5) * host.period).tolist():
        away = int(time_[k] + (slots + 1) * host.period)
        worst[(away - begin) // STEP : (int(time_[k + 1]) - 1 - begin) // STEP + 1] = S5
    return begin, worst


def past_states(
    files: Sequence[Path], folder: Path, host: str, hold: float, loads: StepLoads | None = None
) -> tuple[int, npt.NDArray[np.int8]]:
    """Return what `coarse_states` does, of day files; none where there is no sample of the host.

    A few files are held at a time: that a clock was set weeks later corrects no times here. The
    owner's loads go into `loads`.
    """
    begin, whole = 0, np.empty(0, dtype=np.int8)
    last: HostDays | None = None
    for first in range(0, len(files), AT_ONCE):
        try:
            hosts, _ = host_days(files[first : first + AT_ONCE], folder)
        except ForestallError:
            continue
        mine = next((one for one in hosts if one.host == host), None)
        if mine is not None and loads is not None:
            loads.add(mine)
        if mine is not None and last is not None:
            later = mine.time > last.time[0]
            mine = replace(
                mine,
                time=np.concatenate((last.time, mine.time[later])),
                state=np.concatenate((last.state, mine.state[later])),
            )
        if mine is None:
            continue
        start, states = coarse_states(mine, hold)
        if last is None:
            begin, whole = start, states
        else:
            same = (start - begin) // STEP  # the step of the last sample so far
            states[0] = max(states[0], whole[same])
            whole = np.concatenate((whole[:same], states))
        last = replace(mine, time=mine.time[-1:].copy(), state=mine.state[-1:].copy())
    return begin, whole


def forecast(
    history: HostHistory, now: int, loads: StepLoads | None = None, ahead: int = 0
) -> dict[str, Any]:
    """Return the chances from `now`, Unix seconds on the host's clock, by the state then.

    ``reliability``: for each of S1 and S2, of 1, 2, 4, 8, 16 and 24 h, learned from the same clock
    window of like days; never rising. ``mttf``: s, the integral over 24 h, going on as from its
    start. ``load``: the owner's mean load over those times, where `loads` are given, whose times
    lie `ahead` s before those of the history. A state that was never seen is taken for the other:
    it says nothing, not that all is well.
    """
    seen = [bool((history.runs.state == state).any()) for state in (0, 1)]
    row = [0 if seen[0] else 1, 1 if seen[1] else 0]
    alive = np.ones((2, len(HOURS)))
    for k, hours in enumerate(HOURS):
        each = _chances(history, now, hours * 3600 // STEP)[row]
        alive[:, k] = each[:, -1]
    alive = np.minimum.accumulate(alive, axis=1)
    assert HOURS[-1] * 3600 == DAY
    within = STEP * ((each[:, :-1] + each[:, 1:]) / 2).sum(axis=1)
    left = 1 - each[:, -1]
    mttf = np.minimum(np.divide(within, left, out=np.full(2, np.inf), where=left > 0), FAR)
    means = None
    if loads is not None:
        begins = history.windows(now, DAY, LIKE_DAYS)
        from_low = [history.state_at(history.origin + int(at)) == 0 for at in begins]
        means = mean_loads(loads, begins + history.origin - ahead, from_low, HOURS)
    return {
        "reliability": _by_state(alive),
        "load": None if means is None else _by_state(means),
        "mttf": {name: int(x) for name, x in zip(("S1", "S2"), mttf, strict=True)},
    }


def _chances(history: HostHistory, now: int, steps: int) -> npt.NDArray[np.float64]:
    """Return float64[2, steps + 1]; what it is learned from is let go of before the next."""
    return history.process(now, steps * STEP, days=LIKE_DAYS).reliability_of_each(steps)


def _by_state(values: npt.NDArray[np.float64]) -> dict[str, dict[str, float]]:
    """Return float64[2, horizons] by names."""
    return {
        name: {f"{h}h": round(float(p), 6) for h, p in zip(HOURS, row, strict=True)}
        for name, row in zip(("S1", "S2"), values, strict=True)
    }


def learned(folder: Path, host: str, hold: float, now: float, ahead: int = 0) -> dict[str, Any]:
    """Return the forecast for a host from its agent's folder.

    Parameters
    ----------
    hold : s; see `coarse_states`
    now : Unix seconds
    ahead : seconds by which the host's local time is ahead of UTC: days are those of its users

    ``reliability``, ``mttf`` and ``load`` are None while less than a day was seen.
    """
    most = FILES[bool(weekend(np.array([int(now) + ahead]))[0])]
    told: dict[str, Any] = {"made": int(now), "learnt_days": 0.0, "reliability": None, "mttf": None,
                            "load": None}  # fmt: skip
    loads = StepLoads(STEP)
    begin, states = past_states(day_files_in(folder)[-most:], folder, host, hold, loads)
    if not len(states):
        return told
    history = HostHistory(stays(states, STEP), begin + ahead)
    told["learnt_days"] = round(len(states) * STEP / DAY, 3)
    if len(states) * STEP >= DAY:
        # the window to come begins where the past ends: what came after is not known
        start = max(int(now) + ahead, begin + ahead + STEP)
        told |= forecast(history, start, loads, ahead)
    return told


def main(words: Sequence[str]) -> int:
    """Print the forecast for FOLDER HOST HOLD."""
    os.nice(19)
    folder, host, hold = words
    now = time.time()
    told = learned(Path(folder), host, float(hold), now, time.localtime(now).tm_gmtoff)
    used = resource.getrusage(resource.RUSAGE_SELF)
    told["memory"] = used.ru_maxrss * 1024
    sys.stdout.write(json.dumps(told, allow_nan=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
