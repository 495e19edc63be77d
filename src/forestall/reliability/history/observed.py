"""Repairable systems under watch: when each failed, and over which window each was watched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError

Truncation = Literal["time", "failure"]


@dataclass(frozen=True)
class Observed:
    """Failures of k repairable systems (nodes, or one machine), in order of (system, time).

    Attributes
    ----------
    time : float64[n], any unit of time
    system : int64[n], 0 to k - 1
    start, end : float64[k], each system was watched over [start, end]
    notes : what was left out on the way
    """

    time: Floats
    system: Ints
    start: Floats
    end: Floats
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        times: npt.ArrayLike,
        start: npt.ArrayLike = 0.0,
        end: npt.ArrayLike | None = None,
        *,
        system: npt.ArrayLike | None = None,
    ) -> Observed:
        """Return the failures at `times`, in any order, of the systems numbered by `system`.

        `start` and `end` are of all systems or of each; without an `end` each was watched up to its
        last failure. Without `system` there is one. Raises ParameterError for times that are not
        finite or outside of their window.
        """
        time = np.asarray(times, dtype=np.float64).ravel()
        of = np.zeros(len(time), dtype=np.int64) if system is None else np.asarray(system)
        if of.shape != time.shape or (len(of) and (of.dtype.kind not in "iu" or of.min() < 0)):
            raise ParameterError("system", system, "the number, from 0, of each failure's system")
        bad = np.flatnonzero(~np.isfinite(time))
        if len(bad):
            raise ParameterError(f"times[{bad[0]}]", float(time[bad[0]]), "a finite time")
        shape = np.broadcast_shapes(np.shape(start), () if end is None else np.shape(end))
        count = shape[0] if shape else int(of.max(initial=0)) + 1
        if len(of) and int(of.max()) >= count:
            raise ParameterError("system", int(of.max()), f"numbers below {count}, the windows")
        starts = np.broadcast_to(np.asarray(start, dtype=np.float64), (count,)).copy()
        order = np.lexsort((time, of))
        time, of = time[order], of[order].astype(np.int64)
        if end is None:
            ends = starts.copy()
            np.maximum.at(ends, of, time)
        else:
            ends = np.broadcast_to(np.asarray(end, dtype=np.float64), (count,)).copy()
        wrong = np.flatnonzero(~(ends >= starts))
        if len(wrong):
            allowed = f"at least the start, {starts[wrong[0]]:g}"
            raise ParameterError(f"end[{wrong[0]}]", float(ends[wrong[0]]), allowed)
        outside = np.flatnonzero((time < starts[of]) | (time > ends[of]))
        if len(outside):
            k = of[outside[0]]
            allowed = f"a time in the window {starts[k]:g} to {ends[k]:g} of system {k}"
            raise ParameterError("times", float(time[outside[0]]), allowed)
        return cls(time, of, starts, ends)

    @property
    def systems(self) -> int:
        """How many systems were watched, failed or not."""
        return len(self.start)

    @cached_property
    def counts(self) -> Ints:
        """Failures of each system, int64[k]."""
        return np.bincount(self.system, minlength=self.systems).astype(np.int64)

    @cached_property
    def span(self) -> Floats:
        """Length of each window, float64[k]."""
        return self.end - self.start

    def aged(self) -> Observed:
        """Return the same with every system's time counted from its own start."""
        return replace(
            self,
            time=self.time - self.start[self.system],
            start=np.zeros(self.systems),
            end=self.span.copy(),
        )

    def superposed(self) -> Observed:
        """Return all failures as those of one system, on the scale of total time on test.

        A failure's time becomes the time that all systems together were under watch by then, so
        that systems which came late or left early do not look like a trend. Window [0, total].
        """
        total = self.time_on_test(self.time)
        end = float(self.span.sum())
        return Observed(
            np.sort(np.minimum(total, end)),
            np.zeros(len(total), dtype=np.int64),
            np.zeros(1),
            np.array([end]),
            self.notes,
        )

    def time_on_test(self, until: Floats) -> Floats:
        """Return the time under watch of all systems together before each moment."""
        starts, ends = np.sort(self.start), np.sort(self.end)
        begun, done = np.searchsorted(starts, until), np.searchsorted(ends, until)
        before = np.concatenate([[0.0], np.cumsum(starts)])[begun]
        after = np.concatenate([[0.0], np.cumsum(ends)])[done]
        return np.asarray(begun * until - before - (done * until - after), dtype=np.float64)

    def inner(self, truncation: Truncation) -> Observed:
        """Return what tests and estimates use: failures strictly inside their windows.

        A failure at the very start of a window is why it starts there and says nothing. Truncated
        at failure, each window ends with its system's last failure, which is then left out
        likewise; systems without failures go.
        """
        if truncation not in ("time", "failure"):
            raise ParameterError("truncation", truncation, "time or failure")
        at_start = self.time <= self.start[self.system]
        kept = ~at_start
        end = self.end
        if truncation == "failure":
            end = self.start.copy()
            np.maximum.at(end, self.system, self.time)
            last = np.ones(len(self.time), dtype=np.bool_)
            last[:-1] = self.system[1:] != self.system[:-1]
            kept &= ~last
        notes = self.notes
        if at_start.any():
            notes = (*notes, f"{int(at_start.sum())} failures at the start of a window left out")
        return Observed(self.time[kept], self.system[kept], self.start, end, notes)

    def gaps(self) -> tuple[Floats, Ints]:
        """Return the times from failure to failure within each system, and their systems."""
        same = self.system[1:] == self.system[:-1]
        return np.diff(self.time)[same], self.system[1:][same]
