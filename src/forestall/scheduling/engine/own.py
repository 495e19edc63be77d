"""A scheduling policy of the user's own, in plain Python.

It decides which waiting jobs start, and nothing else: the queue, nodes, checkpoints, failures and
every account are the same compiled functions as those of the classic policies. The pass at the end
of a second stops and asks; each answer starts one job, and the loop goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forestall.core.model.decisions import Reason
from forestall.core.model.errors import ParameterError
from forestall.core.model.own import Own
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.scheduling.engine import classic_entry_kernels as kernels
from forestall.scheduling.engine.state import State
from forestall.scheduling.rules.nodes.machine_kernels import UNASSIGNED
from forestall.scheduling.rules.nodes.queue_kernels import FIRST, LAST, RELEASES


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that waits.

    Attributes
    ----------
    number : its place among the jobs of the run, from 0 in order of submission
    submit : submit time, s
    queued : since when it waits, s: its submit time, or when a failure ended its last run
    size : nodes
    estimate : run time as far as is known, s
    length : seconds for which its nodes are reserved: what is left of the estimate, with the
        pauses of checkpoints
    user : whose it is; None if the log does not say
    """

    number: int
    submit: int
    queued: int
    size: int
    estimate: int
    length: int
    user: str | None = None

    def because(self, reason: Reason, *, at: int = -1, count: int = 0) -> Start:
        """Return the start of this job with a reason for the log of decisions; `at` and `count` are
        a time and a number that go with it."""
        return Start(self, reason, at, count)


@dataclass(frozen=True, slots=True)
class Start:
    """A job to start now, and why."""

    job: Waiting
    reason: Reason = Reason.OWN_POLICY
    at: int = -1
    count: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """A job that runs: its number, its nodes, and its run [start, end) as expected, s."""

    number: int
    size: int
    start: int
    end: int


class MachineView:
    """The machine as a policy sees it: to read only, and always as it is at that moment.

    Attributes
    ----------
    now : the present second
    nodes : nodes of the machine
    """

    def __init__(self, state: State, now: int) -> None:
        self._state = state
        self.now = now
        self.nodes = len(state.machine.nodes)

    @property
    def free(self) -> int:
        """Nodes that are up and have no job."""
        return int(self._state.machine.at[UNASSIGNED])

    def when_free(self, size: int) -> tuple[int, int]:
        """Return (time, extra): when `size` nodes will be free, as far as is known, if nothing else
        starts, and how many more will be free then."""
        time, extra = kernels.shadow(self._state, size)
        return int(time), int(extra)

    @property
    def running(self) -> list[Running]:
        """The jobs that run, in order of their expected ends."""
        jobs = self._state.jobs
        return [
            Running(number, size, int(jobs["start"][number]), end)
            for end, size, number in self._releases
            if number >= 0
        ]

    @property
    def down(self) -> list[tuple[int, int]]:
        """(node, expected recovery) of each node that is down, in order of recovery."""
        return [(-1 - number, time) for time, _, number in self._releases if number < 0]

    @property
    def _releases(self) -> list[tuple[int, int, int]]:
        queue = self._state.queue
        releases: list[tuple[int, int, int]] = queue.releases[: queue.at[RELEASES]].tolist()
        return releases


class Policy(Own):
    """A scheduling policy. A subclass says in which order jobs wait, which of them start, or both.

    It is asked at the end of each second in which something happened, where jobs wait and nodes are
    free. Its answers must depend on nothing but what it is told: no clock, no chance. So a run can
    be repeated and replayed.

    >>> import forestall as fs
    >>> class LargestFirst(fs.Policy):
    ...     def order(self, job):
    ...         return -job.size
    >>> jobs = fs.Jobs.build(submit=[0, 1, 1], size=[4, 1, 3], runtime=[10, 5, 5])
    >>> fs.simulate(jobs, nodes=4, policy=LargestFirst()).jobs["start"].to_list()
    [0, 10, 10]
    """

    def order(self, job: Waiting) -> Any:
        """Return what jobs are sorted by, the least first; jobs that are equal stay in order of
        arrival. Asked once for each wait of a job."""
        return 0

    def select(self, queue: Sequence[Waiting], machine: MachineView) -> Iterable[Waiting | Start]:
        """Yield the jobs that start now, each of which fits into the free nodes.

        A job starts as it is yielded: `machine.free` has changed when the next line runs. Here jobs
        start in order until one does not fit.
        """
        for job in queue:
            if job.size > machine.free:
                break
            yield job


class AskedPolicy:
    """A policy of the user's own instead of a compiled pass.

    Parameters
    ----------
    policy : what is asked
    users : whose each job is, by its number, or None; may grow while jobs arrive
    """

    def __init__(self, policy: Policy, users: Sequence[str | None] | None = None) -> None:
        self.policy = policy
        self.users = users
        self._known: dict[int, tuple[Waiting, Any]] = {}

    def answer(self, state: State, now: int) -> None:
        """Start the jobs that the policy chooses. Raises ParameterError where one cannot."""
        places = self._places(state)
        queue = sorted((self._seen(state, place) for place in places.values()), key=_by_order)
        machine = MachineView(state, now)
        for chosen in self.policy.select(tuple(job for job, _ in queue), machine):
            start = chosen if isinstance(chosen, Start) else Start(chosen)
            place = self._place_of(start.job, places, machine.free)
            del self._known[start.job.number]
            kernels.start_at(state, place, now, int(start.reason), start.at, start.count)

    def _places(self, state: State) -> dict[int, int]:
        """Return the place in the queue of each job that waits, in order of arrival."""
        first, last = int(state.queue.at[FIRST]), int(state.queue.at[LAST])
        entries = state.queue.entries[first:last]
        live = np.flatnonzero(entries["size"] < FAR)
        return dict(zip(entries["job"][live].tolist(), (live + first).tolist(), strict=True))

    def _seen(self, state: State, place: int) -> tuple[Waiting, Any]:
        """Return the job at a place of the queue as the policy sees it, and what it sorts it by."""
        entry = state.queue.entries[place]
        number, queued, length = int(entry["job"]), int(entry["key"]), int(entry["length"])
        known = self._known.get(number)
        if known is None or (known[0].queued, known[0].length) != (queued, length):
            job = state.jobs[number]
            user = None if self.users is None else self.users[number]
            size, estimate = int(entry["size"]), int(job["estimate"])
            view = Waiting(number, int(job["submit"]), queued, size, estimate, length, user)
            known = self._known[number] = view, self.policy.order(view)
        return known

    def _place_of(self, job: Any, places: dict[int, int], free: int) -> int:
        """Return the place of a job that the policy chose, which is then no place any more."""
        if not isinstance(job, Waiting):
            raise ParameterError("policy", job, f"jobs of its queue from {self.policy.name}")
        if job.number not in places:
            text = f"jobs that wait, and each once, from {self.policy.name}"
            raise ParameterError("policy", f"job {job.number}", text)
        if job.size > free:
            text = f"jobs of at most {free} nodes, which are free, from {self.policy.name}"
            raise ParameterError("policy", f"job {job.number} of {job.size} nodes", text)
        return places.pop(job.number)


def _by_order(known: tuple[Waiting, Any]) -> Any:
    return known[1]
