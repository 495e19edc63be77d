"""Features of event logs: how many records of each severity, and of the most telling kinds."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Ints
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog, Severity

with lazily():
    from forestall.prediction.models.features import features_kernels

WINDOWS: Final = {"1h": 3600, "1d": 86_400}
GRAVE: Final = {
    "info": Severity.UNKNOWN,
    "warning": Severity.WARNING,
    "error": Severity.ERROR,
    "severe": Severity.SEVERE,
    "fatal": Severity.FATAL,
}
"""Classes of severity by the lowest of each."""

KINDS: Final = 12
FEWEST: Final = 5
AHEAD: Final = 86_400


def telling_kinds(past: Observations, most: int = KINDS) -> tuple[str, ...]:
    """Return the kinds of records that tell most of failures to come, the most telling first.

    Each record is followed by a failure of its node within a day, or not; how much more or less
    often than all records are decides, in standard deviations of the count (a kind whose share is
    as all records' tells nothing). Records of the last day are left out: what follows is not known.
    """
    log, failures = past.events, past.failures
    if log is None or not len(log) or not len(failures):
        return ()
    known = (log.time < past.end - AHEAD) & (log.place >= 0)
    time, node, kind = log.time[known], log.place[known].astype(np.int64), log.kind[known]
    if not len(time):
        return ()
    width = past.end - past.begin + 1
    keys = np.sort(failures.node * width + (failures.time - past.begin))
    asked = node * width + (time - past.begin)
    following = np.append(keys, np.iinfo(np.int64).max)[np.searchsorted(keys, asked, "right")]
    hit = (following - asked < AHEAD) & (following // width == node)
    count = np.bincount(kind, minlength=len(log.kinds)).astype(np.float64)
    hits = np.bincount(kind, weights=hit, minlength=len(log.kinds))
    share = hits.sum() / count.sum()
    off = np.abs(hits - share * count) / np.sqrt(np.maximum(share * (1 - share) * count, 1e-9))
    off[count < FEWEST] = 0.0
    best = np.lexsort((np.arange(len(off)), -off))[:most]
    return tuple(log.kinds[k] for k in best if off[k] > 0)


class EventWalk:
    """The walk along records; see `forestall.prediction.models.features.features_kernels`."""

    def __init__(self, seen: Observations, kinds: tuple[str, ...]) -> None:
        log = seen.events
        assert log is not None, "no events"
        classes = len(GRAVE) + len(kinds)
        self._log = features_kernels.EventLog(
            time=np.ascontiguousarray(log.time, dtype=np.int64),
            node=np.where(log.place < seen.nodes, log.place, -1).astype(np.int64),
            grave=np.searchsorted(list(GRAVE.values()), log.severity, "right").astype(np.int64) - 1,
            kind=_codes(log, kinds),
            classes=classes,
            windows=np.array(list(WINDOWS.values()), dtype=np.int64),
            begin=int(seen.begin),
        )
        self._cursor = np.zeros(1 + len(WINDOWS), dtype=np.int64)
        self._own = np.zeros((len(WINDOWS), seen.nodes, classes), dtype=np.int64)
        self._whole = np.zeros((len(WINDOWS), classes), dtype=np.int64)

    @staticmethod
    def names(kinds: tuple[str, ...]) -> tuple[str, ...]:
        """Return the columns' names."""
        classes = [*GRAVE, *kinds]
        whose = ("node", "machine")
        return tuple(f"{who}_events_{c}_{w}" for w in WINDOWS for c in classes for who in whose)

    def write(self, times: Ints, first: Ints, nodes: Ints, out: npt.NDArray[np.float32]) -> None:
        """Write the rows of the next moments."""
        features_kernels.event_rows(
            self._log, self._cursor, self._own, self._whole, times, first, nodes, out
        )


def _codes(log: RasLog, kinds: tuple[str, ...]) -> Ints:
    """Return which class of kind each record is, -1 where of none."""
    code = {kind: len(GRAVE) + k for k, kind in enumerate(kinds)}
    table = np.array([code.get(kind, -1) for kind in log.kinds] + [-1], dtype=np.int64)
    return table[log.kind]
