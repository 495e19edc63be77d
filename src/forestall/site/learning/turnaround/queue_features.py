"""What is known of a job, its user, jobs like it and the queue when it is submitted, as numbers.

The same kernels fill a table of a whole record of jobs and tell of one job at a time as events
come, with equal bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core._lazy import lazily
from forestall.core.model.arrays import Ints
from forestall.prediction.models.learner import State
from forestall.site.learning.turnaround import queue_state as state
from forestall.site.learning.turnaround.book_state import LOOK
from forestall.site.learning.turnaround.classes import grouped, size_class, size_classes
from forestall.site.learning.turnaround.kept import inside, spelled_out, taken
from forestall.site.learning.turnaround.queue_state import QueueState
from forestall.site.learning.turnaround.tasks import Tasks, family

with lazily():
    from forestall.site.learning.turnaround import queue_features_kernels as kernels

Rows = npt.NDArray[np.float32]

ROOM: Final = 64
"""Open jobs, and rows of each table of classes, that a watch has room for at first."""


class QueueFeature(NamedTuple):
    """A number that is known of a job when it is submitted."""

    name: str
    unit: str
    meaning: str


_MEAN: Final = "fading geometric mean of"
FEATURES: Final = tuple(
    QueueFeature(*one)
    for one in (
        ("limit", "s", "requested time"),
        ("size", "nodes", "requested nodes"),
        ("hour_of_day", "h", "hours since midnight, UTC"),
        ("day_of_week", "days", "0 to 6; 0 is Thursday where times are Unix's"),
        ("user_last_turnaround", "s", "from submission to end, of the user's latest ended job"),
        ("user_last_wait", "s", "wait of the user's latest started job"),
        ("user_last_used", "share", "run time over requested time, of the user's latest ended job"),
        ("user_last_run", "s", "run time of the user's latest ended job"),
        ("user_mean_run", "s", f"{_MEAN} the user's run times"),
        ("user_mean_wait", "s", f"{_MEAN} the user's waits"),
        ("user_mean_used", "share", f"{_MEAN} the user's run times over requested times"),
        ("user_waiting", "jobs", "of the user, waiting"),
        ("user_running", "jobs", "of the user, running"),
        ("user_open_work", "node-s", "requested by the user's jobs that are not done"),
        ("user_gap", "s", "since the user's latest submission"),
        ("user_gap_before", "s", "between the user's latest two submissions"),
        ("user_burst", "jobs", "that the user submitted without a pause of an hour, this included"),
        ("user_again", "0 or 1", "the user's latest job had this size and limit"),
        ("name_last_run", "s", "run time of the user's latest ended job of this name"),
        ("like_last_run", "s", "run time of the latest ended job like it: user, size and limit"),
        ("like_mean_run", "s", f"{_MEAN} the run times of jobs like it"),
        ("like_ended", "jobs", "like it, ended"),
        ("like_age", "s", "since the latest of them ended"),
        ("like_running", "jobs", "like it, running"),
        ("like_waiting", "jobs", "like it, waiting"),
        ("like_elapsed", "s", "since the latest of those that run started"),
        ("queue_jobs", "jobs", "waiting"),
        ("queue_nodes", "nodes", "that waiting jobs request"),
        ("queue_requested", "node-s", "that waiting jobs request"),
        ("queue_expected", "node-s", "that waiting jobs are expected to take"),
        ("queue_oldest", "s", "that the waiting job submitted first has waited; 0 for none"),
        ("queue_largest", "nodes", "of the largest waiting job, to a quarter of a doubling"),
        ("queue_no_larger", "jobs", "waiting, no larger than it, to a quarter of a doubling"),
        ("running_jobs", "jobs", "running"),
        ("running_nodes", "nodes", "busy"),
        ("running_requested", "node-s", "left to running jobs, by their requests"),
        ("running_expected", "node-s", "left to running jobs, as expected"),
        ("free_nodes", "nodes", "the most that were ever busy for an hour, less those that are"),
        ("last_wait", "s", "of the latest job that started"),
        ("mean_wait", "s", f"{_MEAN} all waits"),
        ("size_mean_wait", "s", f"{_MEAN} the waits in its partition and size class"),
        ("size_age", "s", "since the latest job of its partition and size class first started"),
        ("part_waiting", "jobs", "waiting in its partition"),
        ("part_waiting_nodes", "nodes", "that jobs waiting in its partition request"),
        ("part_running_nodes", "nodes", "busy in its partition"),
        ("part_expected", "node-s", "expected run times of its partition's jobs not done"),
        ("part_mean_wait", "s", f"{_MEAN} the waits in its partition"),
        ("fit_by_like", "s", "until it starts, in order: jobs run as jobs like them did"),
        ("fit_by_user", "s", "until it starts, in order: jobs run as their users' jobs did"),
        ("fit_by_limit", "s", "until it starts, in order: jobs run to their limits"),
        ("expected_run", "s", "run time of jobs like it; else the user's usual share of its limit"),
    )
)
"""What the columns of features are, in order; nan where there is nothing to tell from."""
AGED: Final = (
    QueueFeature("age", "s", "that it has waited"),
    QueueFeature("ahead", "jobs", "waiting, submitted before it"),
    QueueFeature("ahead_expected", "node-s", "that these are expected to take"),
)
"""Further ones of a job that is asked about while it waits."""


def queue_features(tasks: Tasks, looks: Ints | None = None) -> Rows:
    """Return the features of all jobs at their submission, float32[n, len(FEATURES)].

    Those of a job follow from what happened before it in `Tasks.events`.

    looks : int64[2, m], when waiting jobs are looked at, in order of time, and which; their rows
        come after those of the jobs, and all have the columns of `AGED` too
    """
    told, rows = told_of(tasks)
    queue = state.new_queue(tasks.most_open + 1, rows)
    count, width, events = len(tasks), len(FEATURES), tasks.events
    if looks is not None:
        count, width = count + looks.shape[1], width + len(AGED)
        kinds = np.full((1, looks.shape[1]), LOOK)
        events = np.concatenate([np.concatenate([looks[:1], kinds, looks[1:]]), events], axis=1)
        # A look sees what happened before its second.
        events = np.ascontiguousarray(events[:, np.argsort(events[0], kind="stable")])
    out = np.full((count, width), np.nan, np.float32)
    open_slots = np.zeros(len(tasks), np.int64)
    kernels.replay(queue, told, events, open_slots, 0, events.shape[1], out)
    return out


def told_of(tasks: Tasks) -> tuple[npt.NDArray[Any], tuple[int, int, int, int, int]]:
    """Return what jobs say of themselves, TOLD[n], and the rows that each table of classes needs:
    those of its classes, and row 0."""
    user, name, part = (one.code.astype(np.int64) for one in (tasks.user, tasks.name, tasks.part))
    told = records(len(tasks), state.TOLD)
    told["limit"], told["size"] = tasks.limit, tasks.size
    alike = (
        (user,),
        (user, tasks.size, tasks.limit),
        (part,),
        (part, size_classes(tasks.size)),
        (user, name),
    )
    counts = []
    for column, values in zip(state.CLASSES, alike, strict=True):
        codes, count = grouped(values)
        told[column] = 1 + codes
        counts.append(1 + count)
    users, likes, parts, cells, names = counts
    return told, (users, likes, parts, cells, names)


class QueueWatch:
    """A queue as it is now, told event by event; times never go back.

    Its memory grows with the jobs that are open and with the users, partitions and kinds of jobs
    that there are, not with the jobs that there were.

    aged : whether the features of a job's age are told too
    """

    def __init__(self, *, aged: bool = False) -> None:
        self._width = len(FEATURES) + aged * len(AGED)
        self._queue: QueueState = state.new_queue(ROOM, (ROOM, ROOM, ROOM, ROOM, ROOM))
        self._known: list[dict[Hashable, int]] = [{} for _ in state.CLASSES]
        self._slots: dict[Hashable, int] = {}
        self._told = records(1, state.TOLD)

    def ask(
        self,
        now: int,
        *,
        size: int,
        limit: int = 0,
        user: str = "",
        name: str = "",
        partition: str = "",
    ) -> Rows:
        """Return the features, float32[len(FEATURES)], of a job if it were submitted now; nothing
        changes."""
        self._say(size, limit, user, name, partition, kept=False)
        out = np.empty(self._width, np.float32)
        queue, asked = self._queue.queue.copy(), self._queue.jobs[:1].copy()
        kernels.ask(self._queue, self._told, now, out)
        self._queue.queue[:], self._queue.jobs[:1] = queue, asked
        return out

    def submit(
        self,
        job: Hashable,
        now: int,
        *,
        size: int,
        limit: int = 0,
        user: str = "",
        name: str = "",
        partition: str = "",
    ) -> Rows:
        """Enter a job, and return its features, float32[len(FEATURES)].

        Parameters
        ----------
        job : what it is called in `happen`
        now : s
        size : nodes, at least 1
        limit : requested time, s; 0 for none
        user, name, partition : empty where they are not known
        """
        self._say(size, limit, user, name, partition, kept=True)
        self._grow()
        out = np.empty(self._width, np.float32)
        self._slots[job] = int(kernels.submit(self._queue, self._told, now, out))
        return out

    def look(self, job: Hashable, now: int) -> Rows:
        """Return the features of a job that waits, as they are now. Time goes on by that."""
        out = np.empty(self._width, np.float32)
        kernels.look(self._queue, self._slots[job], now, out)
        return out

    def happen(self, kind: int, job: Hashable, now: int) -> None:
        """Take in what happened to a job: `book_state.START`, END, CANCEL, FAIL, LOSE, REQUEUE or
        STOP. Nothing is taken in of a job that is not open."""
        slot = self._slots.get(job)
        if slot is None:
            return
        kernels.happen(self._queue, kind, slot, now)
        if self._queue.jobs["state"][slot] == state.ABSENT:
            del self._slots[job]

    def state(self) -> State:
        """Return all of it as values that JSON can hold and arrays; see `from_state`."""
        arrays = {name: getattr(self._queue, name) for name in state.KEPT}
        arrays["open"] = np.array([*self._slots.values()], np.int64)
        known = {name: [*one] for name, one in zip(state.CLASSES, self._known, strict=True)}
        return {"jobs": spelled_out(self._slots), "known": known}, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over all of what `state` told. Raises ValueError, or what else missing values raise,
        where it does not fit together."""
        self._queue = state.restored(arrays)
        for at, name in enumerate(state.CLASSES):
            words = [tuple(one) if isinstance(one, list) else one for one in values["known"][name]]
            self._known[at] = {word: 1 + k for k, word in enumerate(words)}
            inside(name, np.array([len(words)]), len(getattr(self._queue, f"{name}s")) + 1)
        slots = taken(arrays, "open", np.int64, (len(values["jobs"]),))
        inside("open", slots, len(self._queue.jobs))
        self._slots = dict(zip(values["jobs"], slots.tolist(), strict=True))

    def _say(
        self, size: int, limit: int, user: str, name: str, partition: str, *, kept: bool
    ) -> None:
        """Write down what a job says of itself; `kept`: its classes are remembered."""
        alike: tuple[Hashable, ...] = (
            user,
            (user, size, limit),
            partition,
            (partition, size_class(size)),
            (user, family(name)),
        )
        told = self._told
        told["limit"], told["size"] = limit, size
        for column, known, one in zip(state.CLASSES, self._known, alike, strict=True):
            told[column] = known.setdefault(one, 1 + len(known)) if kept else known.get(one, 0)

    def _grow(self) -> None:
        """Make room for one job and its classes."""
        queue = self._queue
        room = len(queue.jobs) - 1
        tables = [len(getattr(queue, name)) for name in state.TABLES]
        users, likes, parts, cells, names = (
            2 * held if len(known) >= held else held
            for held, known in zip(tables, self._known, strict=True)
        )
        wanted = 2 * room if queue.queue["free"][0] == 0 else room
        if wanted > room or [users, likes, parts, cells, names] != tables:
            self._queue = state.grown(queue, wanted, (users, likes, parts, cells, names))
