"""What a queue teaches of turnarounds and waits as jobs come and go, one event at a time.

Told the events of a record in their order, it says of each job what `learned` says of it, to the
last bit. Its memory grows with the jobs that are open, and with the users and kinds of jobs that
there are.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.prediction.models.kept import under
from forestall.prediction.models.learner import State
from forestall.site.learning.turnaround.book_state import CANCEL, END, FAR, START, pool
from forestall.site.learning.turnaround.kept import inside, spelled_out, taken
from forestall.site.learning.turnaround.learned import (
    LEVELS,
    RECENT,
    Quantiles,
    logs_of,
    new_recent,
)
from forestall.site.learning.turnaround.queue_features import AGED, FEATURES, QueueWatch, Rows
from forestall.site.learning.turnaround.target_learner import (
    LEVEL_ARRAY,
    Fitting,
    LearnedLaw,
    QuantileLearner,
    at_need,
)
from forestall.site.learning.turnaround.targets import (
    CLOSING,
    TURNAROUND,
    WAIT,
    LearningTarget,
    look_ages,
    wait_value,
)

with lazily():
    from forestall.site.learning.turnaround import recent_kernels

LOOKED = "look"
"""What a look at a waiting job is called beside its submission."""


def _told(target: LearningTarget, alike: Quantiles) -> Quantiles:
    """Return what experts say, float32[E, L], as far as like jobs do, s."""
    told = np.full((len(target.experts), len(LEVELS)), np.nan, np.float32)
    told[0] = logs_of(alike[None])[0]
    return told


class WaitLearner:
    """Learns quantiles of waits, and of what is left of them while jobs wait.

    Each job is an answer when it is submitted, and another one if it still waits at an age that is
    drawn for it: a forest of both answers at any age.
    """

    def __init__(self, watch: QueueWatch, seed: int, fitting: Fitting) -> None:
        self._watch = watch
        self._law = QuantileLearner(WAIT, len(FEATURES) + len(AGED), seed, fitting)
        self._recent = new_recent(8)
        self._users: dict[str, int] = {"": 1}
        self._waiting: dict[Hashable, tuple[int, str, int]] = {}
        """Number, user and size of jobs that wait for their first start."""
        self._due: list[tuple[int, int, Hashable]] = []
        self._count = 0

    def submit(
        self, job: Hashable, now: int, seen: Rows, alike: Quantiles, user: str, size: int
    ) -> LearnedLaw:
        """Enter a job with its features and what like jobs say of its wait, s."""
        number, self._count = self._count, self._count + 1
        self._waiting[job] = number, user, size
        age = int(look_ages(np.array([number]))[0])
        heapq.heappush(self._due, (now + age, number, job))
        row = self._users.setdefault(user, 1 + len(self._users))
        while row >= len(self._recent.users):
            self._recent = new_recent(2 * len(self._recent.users), self._recent)
        told = _told(WAIT, alike)
        recent_kernels.recall(self._recent, row, told)
        return self._law.enter(job, now, seen, told, user, size)

    def ask(self, now: int, seen: Rows, alike: Quantiles, user: str, size: int) -> LearnedLaw:
        """Return what `submit` would say; nothing changes."""
        told = _told(WAIT, alike)
        recent_kernels.recall(self._recent, self._users.get(user, 0), told)
        return self._law.would(now, seen, told, user, size)

    def __contains__(self, job: Hashable) -> bool:
        return job in self._waiting

    def left(self, job: Hashable, now: int) -> LearnedLaw:
        """Return what is left of the wait of a job that has not started. Raises KeyError for
        others."""
        _, user, size = self._waiting[job]
        return self._law.would(now, self._watch.look(job, now), self._aged(job, now), user, size)

    def look_around(self, now: int) -> None:
        """Look at the jobs whose time has come by now, before anything else of this second."""
        while self._due and self._due[0][0] <= now:
            when, number, job = heapq.heappop(self._due)
            if self._waiting.get(job, (-1,))[0] == number:
                _, user, size = self._waiting[job]
                seen = self._watch.look(job, when)
                self._law.enter((LOOKED, job), when, seen, self._aged(job, when), user, size)

    def happen(self, kind: int, job: Hashable, now: int) -> None:
        """Take in what happened to a job, before the queue does."""
        self.look_around(now)
        if kind not in (START, *CLOSING) or job not in self._waiting:
            return
        number, user, _ = self._waiting.pop(job)
        for key in (job, (LOOKED, job)):
            if key not in self._law:
                continue
            value, took = np.nan, now - self._law.asked(key)
            if kind == START:
                value = float(wait_value(np.array([took]), np.array([number]))[0])
                if key == job:
                    recent_kernels.note(self._recent, self._users[user], value)
            self._law.close(key, now, value)

    def _aged(self, job: Hashable, now: int) -> Quantiles:
        """Return what the experts' words at the submission of a job come to by now."""
        told, age = self._law.said(job), now - self._law.asked(job)
        out = np.full_like(told, np.nan)
        for expert in (0, *range(2, len(told))):
            recent_kernels.left_at(told[expert], LEVEL_ARRAY, self._recent.logit, age, out[expert])
        return out

    def state(self) -> State:
        """Return all of it as values that JSON can hold and arrays."""
        values, arrays = self._law.state()
        names = spelled_out(self._waiting)
        values["waiting"] = [
            [name, *rest] for name, rest in zip(names, self._waiting.values(), strict=True)
        ]
        values["due"] = [[when, number, job] for when, number, job in self._due]
        values["recent"], values["count"] = [*self._users], self._count
        arrays |= {f"recent.{name}": getattr(self._recent, name) for name in ("users", "all")}
        return values, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over all of what `state` told. Raises ValueError, or what else missing values raise,
        where it does not fit together."""
        self._law.restore(values, arrays)
        self._waiting = {
            job: (int(k), str(user), int(size)) for job, k, user, size in values["waiting"]
        }
        self._due = [(int(when), int(number), job) for when, number, job in values["due"]]
        self._users = {user: 1 + k for k, user in enumerate(values["recent"])}
        self._count = int(values["count"])
        users = taken(arrays, "recent.users", pool(RECENT), (None,))
        inside("recent", np.array([len(self._users)]), len(users))
        everybody = taken(arrays, "recent.all", pool(FAR), (1,))
        self._recent = self._recent._replace(users=users, all=everybody)


class TurnaroundLearner:
    """Learns quantiles of turnarounds from a queue's events, and of waits where it is asked to;
    times never go back. `seed` and `fitting` are as in `QuantileLearner`."""

    def __init__(self, seed: int = 1, *, fitting: Fitting = at_need, waits: bool = False) -> None:
        self._watch = QueueWatch(aged=waits)
        self._law = QuantileLearner(TURNAROUND, len(FEATURES), seed, fitting)
        self.waits = WaitLearner(self._watch, seed, fitting) if waits else None

    @property
    def ended(self) -> int:
        """Jobs that ended by themselves so far: those that are learned from."""
        return self._law.ended

    def submit(
        self, job: Hashable, now: int, alike: Quantiles, wait: Quantiles | None = None, **said: Any
    ) -> LearnedLaw:
        """Enter a job, and return what is learned of its turnaround.

        Parameters
        ----------
        job : what it is called in `happen`
        now : s
        alike, wait : float32[L], s, what the latest similar jobs alone say of its turnaround and of
            its wait at `learned.LEVELS`
        said : size, limit, user, name, partition, as in `QueueWatch.submit`
        """
        user, size = said.get("user", ""), said["size"]
        if self.waits is not None:
            self.waits.look_around(now)
        seen = self._watch.submit(job, now, **said)
        waits = None
        if self.waits is not None and wait is not None:
            waits = self.waits.submit(job, now, seen, wait, user, size)
        told = _told(TURNAROUND, alike)
        law = self._law.enter(job, now, seen[: len(FEATURES)], told, user, size)
        return replace(law, wait=waits)

    def ask(
        self, now: int, alike: Quantiles, wait: Quantiles | None = None, **said: Any
    ) -> LearnedLaw:
        """Return what `submit` would say of a job that is submitted now; nothing changes."""
        user, size = said.get("user", ""), said["size"]
        seen = self._watch.ask(now, **said)
        waits = None
        if self.waits is not None and wait is not None:
            waits = self.waits.ask(now, seen, wait, user, size)
        told = _told(TURNAROUND, alike)
        law = self._law.would(now, seen[: len(FEATURES)], told, user, size)
        return replace(law, wait=waits)

    def happen(self, kind: int, job: Hashable, now: int) -> None:
        """Take in what happened to a job, as `QueueWatch.happen` does."""
        if self.waits is not None:
            self.waits.happen(kind, job, now)
        self._watch.happen(kind, job, now)
        if kind not in CLOSING or job not in self._law:
            return
        actual = np.nan if kind == CANCEL else np.inf
        if kind == END:
            took = max(now - self._law.asked(job), 0)
            actual = np.log1p(np.array([took], np.float64))[0]
        self._law.close(job, now, actual)

    def state(self) -> State:
        """Return all of it as values that JSON can hold and arrays, as `QuantileLearner.state`
        does."""
        values, arrays = self._law.state()
        values["watch"], watch = self._watch.state()
        arrays |= {f"watch.{name}": array for name, array in watch.items()}
        values["waits"] = None
        if self.waits is not None:
            values["waits"], more = self.waits.state()
            arrays |= {f"waits.{name}": array for name, array in more.items()}
        return values, arrays

    @classmethod
    def from_state(
        cls,
        values: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        fitting: Fitting = at_need,
    ) -> TurnaroundLearner:
        """Return the learner of which `state` told; one from before waits were learned begins to
        learn them. Raises ValueError, or what else missing values raise, where they do not fit
        together."""
        waits = values.get("waits", {})
        self = cls(int(values["seed"]), fitting=fitting, waits=waits is not None)
        self._watch.restore(values["watch"], under("watch.", arrays))
        self._law.restore(values, arrays)
        if self.waits is not None and waits:
            self.waits.restore(waits, under("waits.", arrays))
        return self
