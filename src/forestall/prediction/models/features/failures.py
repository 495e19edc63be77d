"""Features of the failures themselves, and of hour and day."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Ints
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations

with lazily():
    from forestall.prediction.models.features import features_kernels


HOUR: Final = 3600
DAY: Final = 86_400
WEEK: Final = 7 * DAY
WINDOWS: Final = {
    "1h": HOUR,
    "6h": 6 * HOUR,
    "1d": DAY,
    "7d": WEEK,
    "30d": 30 * DAY,
    "1y": 365 * DAY,
}
NEAR, WIDE = 4, 5
RADII: Final = (1, 4, 16)
DECAYS: Final = {"hour": HOUR, "day": DAY, "week": WEEK, "month": 30 * DAY}
CROWD: Final = 600
"""Failures of other nodes at most so many seconds before one make it part of a burst."""

KINDS: Final = 6
MONDAY: Final = 4 * DAY
"""The first Monday after Unix second 0, which was a Thursday."""


def kinds_of(log: Failures, most: int = KINDS) -> tuple[str, ...]:
    """Return the most frequent kinds of failures, most frequent first, ties by name."""
    found = Counter(kind for kind in log.kind or () if kind)
    if len(found) < 2:
        return ()
    return tuple(sorted(found, key=lambda kind: (-found[kind], kind))[:most])


def tells_downtimes(log: Failures) -> bool:
    """Return whether the log tells of any failure how long the node was down."""
    return bool((log.downtime >= 0).any())


def service_of(seen: Observations) -> tuple[Ints, Ints]:
    """Return int64[nodes] since when and until when each node is observed: its time in service
    within what was seen. The latest end of all is taken for the log's own: those nodes stay."""
    far = np.int64(1) << 60
    since, until = np.full(seen.nodes, seen.begin), np.full(seen.nodes, far)
    begun, ended = seen.failures.service_start, seen.failures.service_end
    if begun is not None and ended is not None and len(ended):
        told = len(begun)
        since[:told] = np.maximum(since[:told], begun)
        until[:told] = np.where(ended < ended.max(), ended, far)
        until = np.maximum(since, until)
    return since, until


class FailureWalk:
    """The walk along failures; see `forestall.prediction.models.features.features_kernels`."""

    def __init__(self, seen: Observations, kinds: tuple[str, ...], downtimes: bool) -> None:
        self.kinds, self.downtimes = kinds, downtimes
        self._log, self._state = _log_of(seen, kinds), _state_of(seen.nodes, len(kinds))

    @staticmethod
    def names(kinds: tuple[str, ...], downtimes: bool) -> tuple[str, ...]:
        """Return the columns' names."""
        found = [f"failures_{w}" for w in WINDOWS]
        found += ["failures_ever", "frailty", "rate_per_day", "observed_days"]
        found += ["hours_since_last", "hours_since_second_last", "hours_quiet", "last_gap_hours"]
        found += ["mean_gap_hours", "since_last_by_mean_gap", "burst_size"]
        found += [f"decayed_{d}" for d in DECAYS]
        near = list(WINDOWS)[:NEAR]
        found += [f"neighbours_{r}_{w}" for w in near for r in RADII]
        found += [f"machine_{w}" for w in list(WINDOWS)[:WIDE]] + ["machine_hours_since_last"]
        if kinds:
            found += ["last_kind", *(f"kind_{kind}" for kind in kinds)]
        return (*found, "down", "last_downtime_hours") if downtimes else tuple(found)

    def write(self, times: Ints, first: Ints, nodes: Ints, out: npt.NDArray[np.float32]) -> None:
        """Write the rows of the next moments."""
        features_kernels.failure_rows(
            self._log, self._state, self.downtimes, times, first, nodes, out
        )


def _log_of(seen: Observations, kinds: tuple[str, ...]) -> features_kernels.FailureLog:
    log = seen.failures
    time = np.ascontiguousarray(log.time, dtype=np.int64)
    code = {kind: k for k, kind in enumerate(kinds)}
    kind = np.full(len(log), -1)
    if kinds and log.kind is not None:
        kind = np.fromiter((code.get(word, -1) for word in log.kind), np.int64, len(log))
    crowd = np.searchsorted(time, time, "right") - np.searchsorted(time, time - CROWD, "left") - 1
    since, until = service_of(seen)
    real = since < until
    return features_kernels.FailureLog(
        time=time,
        node=np.ascontiguousarray(log.node, dtype=np.int64),
        kind=kind,
        down=np.ascontiguousarray(log.downtime, dtype=np.int64),
        crowd=crowd.astype(np.int64),
        since=since,
        until=until,
        starts=np.sort(since[real]),
        stops=np.sort(until[real]),
        windows=np.array(list(WINDOWS.values()), dtype=np.int64),
        near=NEAR,
        wide=WIDE,
        radii=np.array(RADII, dtype=np.int64),
        decays=np.array(list(DECAYS.values()), dtype=np.float64),
        begin=int(seen.begin),
    )


def _state_of(nodes: int, kinds: int) -> features_kernels.FailureState:
    last = np.full((nodes, 4), features_kernels.NEVER, dtype=np.int64)
    last[:, 3] = 0
    return features_kernels.FailureState(
        cursor=np.zeros(6 + len(WINDOWS), dtype=np.int64),
        last=last,
        down=np.full((nodes, 2), features_kernels.NEVER, dtype=np.int64),
        tags=np.full((nodes, 2), -1, dtype=np.int64),
        decayed=np.zeros((nodes, len(DECAYS))),
        kinds=np.zeros((nodes, kinds), dtype=np.int64),
        counts=np.zeros((len(WINDOWS), nodes), dtype=np.int64),
        around=np.zeros((NEAR * len(RADII), nodes), dtype=np.int64),
    )


class CalendarRows:
    """Hour of the day and day of the week, by the clock of the log."""

    NAMES: Final = ("day_sin", "day_cos", "week_sin", "week_cos", "weekend")

    def __init__(self, seen: Observations) -> None:
        self._origin = seen.origin

    def write(self, times: Ints, first: Ints, nodes: Ints, out: npt.NDArray[np.float32]) -> None:
        """Write the rows of these moments; nan where the log has no dates."""
        if self._origin is None:
            out[:] = np.nan
            return
        week = (times + self._origin - MONDAY) % WEEK
        rows = np.empty((len(times), len(self.NAMES)), dtype=np.float32)
        for k, period in enumerate((DAY, WEEK)):
            turn = 2 * np.pi * (week % period) / period
            rows[:, 2 * k], rows[:, 2 * k + 1] = np.sin(turn), np.cos(turn)
        rows[:, 4] = week >= 5 * DAY
        out[:] = np.repeat(rows, np.diff(first), axis=0)
