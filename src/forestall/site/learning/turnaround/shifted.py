"""Quantiles moved by what became of earlier jobs, one event at a time: see `shifts_kernels`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.prediction.models.heap_kernels import Heap, new_heap
from forestall.prediction.models.learner import State
from forestall.site.learning.turnaround.classes import size_class
from forestall.site.learning.turnaround.kept import inside, taken
from forestall.site.learning.turnaround.learned import LEVELS, Quantiles, new_shifts
from forestall.site.learning.turnaround.targets import TURNAROUND, LearningTarget

with lazily():
    from forestall.site.learning.turnaround import shifts_kernels

ROOM: Final = 64
"""Open jobs, and groups, that there is room for at first."""
SIZES: Final = 32
"""Rows of size classes; those of users come after them."""
BY_JOB: Final = ("quantiles", "submit", "user", "size", "open")
BY_GROUP: Final = ("logits", "seen")


class QuantileShifts:
    """How quantiles are moved, and the open jobs of which outcomes are awaited; times never go
    back."""

    def __init__(self, target: LearningTarget = TURNAROUND) -> None:
        self._target = target
        none = np.zeros(ROOM, np.int64)
        quantiles = np.zeros((ROOM, len(LEVELS)), np.float32)
        self._shifts = new_shifts(target, quantiles, none, none.copy(), none.copy(), ROOM)
        self._free = [*range(ROOM)][::-1]
        self._users: dict[str, int] = {"": SIZES}

    def submit(self, now: int, user: str, size: int, quantiles: Quantiles) -> tuple[int, Quantiles]:
        """Enter a job with its quantiles, float32[L], logarithms of 1 + s; return its place, and
        the quantiles as moved by what is known now."""
        group = self._users.setdefault(user, SIZES + len(self._users))
        self._grow()
        slot, shifts = self._free.pop(), self._shifts
        shifts.quantiles[slot] = quantiles
        shifts.submit[slot], shifts.user[slot], shifts.size[slot] = now, group, size_class(size)
        moved = np.empty(len(LEVELS), np.float32)
        shifts_kernels.take_submission(shifts, slot, moved)
        return slot, moved

    def ask(self, now: int, user: str, size: int, quantiles: Quantiles) -> Quantiles:
        """Return the quantiles of a job as `submit` would move them now; nothing changes."""
        asked, shifts = QuantileShifts(self._target), self._shifts
        due = Heap(*(one.copy() for one in shifts.due))
        copies = {name: getattr(shifts, name).copy() for name in (*BY_JOB, *BY_GROUP, "all")}
        asked._shifts = shifts._replace(due=due, **copies)
        asked._free, asked._users = list(self._free), dict(self._users)
        return asked.submit(now, user, size, quantiles)[1]

    def close(self, slot: int, now: int, actual: float) -> None:
        """Take note that the job in this place ended with this logarithm of 1 + turnaround; inf: it
        never will; nan: it was withdrawn and says nothing."""
        shifts_kernels.take_end(self._shifts, slot, now, float(actual))
        self._free.append(slot)

    def _grow(self) -> None:
        """Make room for one job and its user."""
        old = self._shifts
        jobs, groups = len(old.submit), len(old.logits)
        if self._free and SIZES + len(self._users) <= groups:
            return
        room = jobs if self._free else 2 * jobs
        if SIZES + len(self._users) > groups:
            groups *= 2
        none = np.zeros(room, np.int64)
        quantiles = np.zeros((room, len(LEVELS)), np.float32)
        new = new_shifts(self._target, quantiles, none, none.copy(), none.copy(), groups)
        for name in (*BY_JOB, *BY_GROUP, "all"):
            array = getattr(old, name)
            getattr(new, name)[: len(array)] = array
        for was, due in zip(old.due, new.due, strict=True):
            due[: len(was)] = was
        self._shifts = new
        # New places are taken last.
        self._free = [*range(room - 1, jobs - 1, -1), *self._free]

    def state(self) -> State:
        """Return all of it as values that JSON can hold and arrays; see `from_state`."""
        shifts = self._shifts
        arrays = {name: getattr(shifts, name) for name in (*BY_JOB, *BY_GROUP, "all")}
        count = int(shifts.due.size[0])
        arrays["due.keys"], arrays["due.ids"] = shifts.due.keys[:count], shifts.due.ids[:count]
        arrays["free"] = np.array(self._free, np.int64)
        return {"users": [*self._users]}, arrays

    @classmethod
    def from_state(
        cls,
        values: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        target: LearningTarget = TURNAROUND,
    ) -> QuantileShifts:
        """Return the shifts of which `state` told. Raises KeyError and ValueError where they do not
        fit together."""
        self, levels = cls(target), len(LEVELS)
        self._users = {str(user): SIZES + k for k, user in enumerate(values["users"])}
        quantiles = taken(arrays, "quantiles", np.float32, (None, levels))
        room = len(quantiles)
        submit, user, size, open_ = (taken(arrays, name, np.int64, (room,)) for name in BY_JOB[1:])
        logits = taken(arrays, "logits", np.float64, (None, levels))
        groups = len(logits)
        for name, places, bound in (
            ("user", user, groups),
            ("size", size, groups),
            ("open", open_, levels + 1),
            ("users", np.array([SIZES + len(self._users)]), groups + 1),
        ):
            inside(name, places, bound)
        self._shifts = new_shifts(target, quantiles, submit, user, size, groups)._replace(
            open=open_,
            logits=logits,
            seen=taken(arrays, "seen", np.float64, (groups, levels)),
            all=taken(arrays, "all", np.float64, (levels,)),
            due=_due(arrays, room),
        )
        free = taken(arrays, "free", np.int64, (None,))
        inside("free", free, room)
        self._free = free.tolist()
        return self

    def holds(self, slots: npt.NDArray[np.int64]) -> None:
        """Raise ValueError unless these are the places that are taken."""
        if sorted([*slots.tolist(), *self._free]) != [*range(len(self._shifts.submit))]:
            raise ValueError("places of open jobs are taken twice")


def _due(arrays: Mapping[str, npt.NDArray[Any]], room: int) -> Heap:
    """Return the heap of those that are awaited."""
    keys = taken(arrays, "due.keys", np.int64, (None,))
    ids = taken(arrays, "due.ids", np.int64, (len(keys),))
    inside("due.ids", ids, room)
    if len(keys) > room or len(np.unique(ids)) < len(ids):
        raise ValueError("jobs are awaited twice")
    due = new_heap(room)
    due.keys[: len(keys)], due.ids[: len(ids)] = keys, ids
    due.places[ids] = np.arange(len(ids))
    due.size[0] = len(ids)
    return due
