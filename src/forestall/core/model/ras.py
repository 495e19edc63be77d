"""Records of event logs (RAS logs, syslog): a table of equal-length arrays, sorted by time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Ints, brief_repr
from forestall.core.model.cleaning import Cleaning

with lazily():
    import polars as pl


class Severity(IntEnum):
    """How grave a record is, in one order for Blue Gene's words and those of syslog."""

    UNKNOWN = 0
    DEBUG = 1
    INFO = 2
    NOTICE = 3
    WARNING = 4
    ERROR = 5
    SEVERE = 6
    """Blue Gene's SEVERE, syslog's critical."""
    FATAL = 7
    """Blue Gene's FATAL, syslog's alert."""
    FAILURE = 8
    """Blue Gene's FAILURE, syslog's emergency."""


@dataclass(frozen=True)
class RasLog:
    """Records in order of time; those of one second as the log has them.

    Attributes
    ----------
    time : int64[n], seconds since the trace's epoch
    place : int32[n], which of `places` reported it
    severity : int8[n], see `Severity`
    kind : int32[n], which of `kinds` it is (a message template, a message id)
    places, kinds : what the numbers stand for
    alert : bool[n], whether the log itself labels the record as an alert; None where it has no
        labels
    span : seconds that the log covers
    origin : Unix seconds of time 0 (the log's clock taken as it stands), None where it has no dates
    source, cleaning : where it came from; what was left out or changed on reading
    """

    time: Ints
    place: npt.NDArray[np.int32]
    severity: npt.NDArray[np.int8]
    kind: npt.NDArray[np.int32]
    places: tuple[str, ...]
    kinds: tuple[str, ...]
    alert: Bools | None = None
    span: int = 0
    origin: int | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        lengths = {len(a) for a in (self.time, self.place, self.severity, self.kind)}
        assert len(lengths) == 1, f"columns of unlike lengths: {lengths}"
        assert self.alert is None or len(self.alert) == len(self.time), "alerts of another length"
        assert bool(np.all(np.diff(self.time) >= 0)), "records are not in order of time"

    def __len__(self) -> int:
        return len(self.time)

    def take(self, index: Ints | Bools) -> RasLog:
        """Return the records at these positions (ascending) or where the mask holds."""
        where = np.flatnonzero(index) if index.dtype == np.bool_ else index
        return replace(
            self,
            time=self.time[where],
            place=self.place[where],
            severity=self.severity[where],
            kind=self.kind[where],
            alert=None if self.alert is None else self.alert[where],
        )

    def table(self) -> pl.DataFrame:
        """Return a Polars table ``time,place,severity,kind`` with the words for the numbers."""
        words = np.array([one.name for one in Severity], dtype=object)
        columns: dict[str, object] = {
            "time": self.time,
            "place": np.array(self.places, dtype=object)[self.place],
            "severity": words[self.severity],
            "kind": np.array(self.kinds, dtype=object)[self.kind],
        }
        if self.alert is not None:
            columns["alert"] = self.alert
        return pl.DataFrame(columns)
