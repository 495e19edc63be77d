"""From what was believed of a cluster and what is seen now, to events for the engine.

The engine knows whole nodes. A job that shares a node with others is not its matter: the node is
told as taken out of service until the last of them ends by its limit. A job is its matter while it
may start (not held, not waiting for another job, not stopped by its partition) or runs on nodes of
its own. A node that is down counts as failed once no job holds it any more: Slurm takes it from its
jobs within a minute or two.

A first look, from no beliefs, gives events that build the same running jobs and nodes as all looks
before it would have.

Source: page "Live", One loop, step 2 (look, difference).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from forestall.core.model.events import Event, EventKind
from forestall.core.model.nodes import NodeSet
from forestall.live.slurm.limits import STOPS
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode, ClusterView
from forestall.slurm.records.task_lists import task_id

UNLIMITED: Final = 30 * 86_400
"""Seconds that a job without a limit is reckoned to last."""
CHECKED: Final = 3600
"""Seconds between checkpoints that a job is reckoned to take."""
HOLDS_NODES: Final = frozenset(
    {"RUNNING", "SUSPENDED", "STOPPED", "CONFIGURING", "COMPLETING", "SIGNALING", "STAGE_OUT"}
)
"""States and flags of a job that holds nodes."""
_NOT_BEFORE: Final = "BeginTime"
_NOT_YET: Final = frozenset({"Dependency", "DependencyNeverSatisfied", _NOT_BEFORE}) | STOPS
"""Reasons why a job may not start whatever is free."""
_AGAIN: Final = 600
"""s that a job waits at most because it was queued again; one that waits longer was told to."""
_ENDS: Final = {"COMPLETED": EventKind.FINISHED, "CANCELLED": EventKind.CANCELLED}
"""What the end of a run tells; other states, such as TIMEOUT, are failures."""


_GRAINS: Final = (3600, 900, 300, 60, 15, 5)
"""s; each is a multiple of the next, so that jobs of all lengths share moments."""
MOST_TASKS: Final = 100
"""So many waiting tasks of one array are planned for; the others come as these start."""
_SHARE: Final = 50
"""A grain is an n-th of a job's length at most."""


class ToldJob(NamedTuple):
    """What the engine was told of a job.

    Attributes
    ----------
    position : its number in the engine
    user, name, size : by which it is known again, should Slurm give its number to another job
    restarts : how often it had been queued again
    nodes : names of those on which it runs, none while it waits
    until : when its run ends by its limit, Unix seconds
    """

    position: int
    user: str
    name: str
    size: int
    restarts: int
    nodes: tuple[str, ...]
    until: int


class Away(NamedTuple):
    """A node that takes no jobs: failed or drained, by us or not, until when (-1: not known)."""

    failed: bool
    ours: bool
    until: int


class Arrival(NamedTuple):
    """A job that the engine is to be made known with, in this order, before its events; `pool` is
    the engine's number of the nodes that it may have."""

    job: int
    size: int
    estimate: int
    submit: int
    pool: int = 0


@dataclass(frozen=True)
class Beliefs:
    """What the engine was told of a cluster.

    Attributes
    ----------
    names : of the nodes, in the engine's order
    jobs : by number of the job
    away : nodes that take no jobs, by name
    planned : nodes that somebody reserved for himself, such as for maintenance: from when to when
    count : jobs ever told
    rounds : whether lengths and ends are reckoned later by up to 2 % of the length, on moments that
        all jobs share: what a plan takes grows with the moments at which one ends
    """

    names: tuple[str, ...]
    jobs: Mapping[int, ToldJob] = field(default_factory=dict)
    away: Mapping[str, Away] = field(default_factory=dict)
    planned: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    count: int = 0
    rounds: bool = False

    @classmethod
    def none(cls, seen: ClusterView, *, rounds: bool = False) -> Beliefs:
        """Return the beliefs of one who knows the nodes by name, and no more."""
        return cls(tuple(sorted(seen.nodes)), rounds=rounds)

    def reckoned(self, time: int, length: int) -> int:
        """Return an end, or the length itself, of a job that takes `length` s, as it is
        reckoned."""
        return rounded(time, length) if self.rounds else time


class Difference(NamedTuple):
    """What has happened since: jobs to make known, events of this second, what is believed now.

    `strange` are nodes that the engine does not know, and jobs larger than the machine: nobody
    tells it of them.
    """

    arrivals: tuple[Arrival, ...]
    events: tuple[Event, ...]
    beliefs: Beliefs
    strange: tuple[str, ...]


@dataclass(frozen=True)
class _Picture:
    """What the engine should be told of: who waits, who runs where until when, which nodes are
    away, and which will be."""

    waiting: dict[int, ClusterJob]
    running: dict[int, tuple[ClusterJob, tuple[str, ...], int]]
    away: dict[str, Away]
    planned: dict[str, tuple[int, int]]
    strange: tuple[str, ...]


def reconcile(
    beliefs: Beliefs,
    seen: ClusterView,
    now: int,
    ours: Iterable[str] = (),
    unseen: Collection[int] = (),
) -> Difference:
    """Return what the engine is to be told at `now`, Unix seconds.

    ours : names of reservations of ours: they hold promises, and are no one else's
    unseen : numbers of jobs that were submitted after the look began: it does not show them
    """
    picture = _picture(beliefs, seen, now, frozenset(ours))
    number = {name: k for k, name in enumerate(beliefs.names)}
    known = {key: told for key, told in beliefs.jobs.items() if key not in unseen}
    gone, leaving = _left(known, picture, seen, now)
    jobs = {key: told for key, told in known.items() if key not in gone}
    arrivals, coming, jobs = _come(jobs, beliefs, picture, number, now)
    jobs |= {key: beliefs.jobs[key] for key in unseen if key in beliefs.jobs}
    starting = {
        name
        for key, told in jobs.items() if not _goes_on(told, beliefs.jobs.get(key))
        for name in told.nodes
    }  # fmt: skip
    nodes = _nodes(beliefs, picture, number, starting, now)
    events = (*leaving, *coming, *nodes)
    count = beliefs.count + len(arrivals)
    after = replace(beliefs, jobs=jobs, away=picture.away, planned=picture.planned, count=count)
    return Difference(arrivals, events, after, picture.strange)


def length_of(job: ClusterJob) -> int:
    """Return the seconds that a job is reckoned to run: its limit."""
    return job.limit if job.limit else UNLIMITED


def rounded(time: int, length: int) -> int:
    """Return a time that is later by less than a grain, or the same: the coarsest of `_GRAINS` that
    is at most 2 % of a length, s.

    >>> rounded(1001, 86_400), rounded(1001, 600), rounded(1001, 60)
    (1800, 1005, 1001)
    """
    for grain in _GRAINS:
        if grain * _SHARE <= length:
            return -(-time // grain) * grain
    return time


def may_start(job: ClusterJob) -> bool:
    """Return whether a job waits for nothing but nodes."""
    return job.waits and not job.held and job.reason not in _NOT_YET and not holds_nodes(job)


def is_planned_for(job: ClusterJob) -> bool:
    """Return whether a job waits for nothing but nodes, or was queued again and will soon: after a
    requeue Slurm lets it wait for two minutes by default."""
    if job.reason != _NOT_BEFORE or not job.waits or job.held or not job.restarts:
        return may_start(job)
    return (job.eligible or 0) - (job.submit or 0) <= _AGAIN


def holds_nodes(job: ClusterJob) -> bool:
    """Return whether a job has nodes: it runs, or begins or ends to."""
    return job.state in HOLDS_NODES or not HOLDS_NODES.isdisjoint(job.flags)


# ------------------------------------------------------------------------------ what there is


def _picture(beliefs: Beliefs, seen: ClusterView, now: int, ours: frozenset[str]) -> _Picture:
    known = set(beliefs.names)
    held = [job for job in seen.jobs.values() if holds_nodes(job) and job.nodes]
    sharing = Counter(name for job in held for name in job.nodes)
    running, shared, strange = {}, dict[str, int](), [n for n in seen.nodes if n not in known]
    for job in held:
        length = length_of(job)
        until = beliefs.reckoned(max((job.start or now) + length, now + 1), length)
        whole = all(sharing[name] == 1 for name in job.nodes)
        if whole and known.issuperset(job.nodes):
            running[job.id] = (job, tuple(sorted(job.nodes)), until)
            continue
        for name in job.nodes:
            shared[name] = max(shared.get(name, 0), until)
    # What else runs on a shared node's other nodes cannot be told as a run of its own either.
    for key in [key for key, (_, nodes, _) in running.items() if shared.keys() & set(nodes)]:
        _, nodes, until = running.pop(key)
        shared.update({name: max(shared.get(name, 0), until) for name in nodes})
    busy = {name for _, nodes, _ in running.values() for name in nodes}
    away = {
        name: one
        for name in beliefs.names
        if (one := _away(seen.nodes.get(name), name in busy, shared.get(name))) is not None
    }
    waiting = {job.id: job for job in seen.jobs.values() if is_planned_for(job)}
    for key in [key for key, job in waiting.items() if job.node_count > len(known)]:
        strange.append(f"job {key}")
        del waiting[key]
    waiting = _tasks(waiting, seen)
    return _Picture(waiting, running, away, _planned(seen, known, ours, now), tuple(strange))


def _tasks(waiting: Mapping[int, ClusterJob], seen: ClusterView) -> dict[int, ClusterJob]:
    """Return who waits, with an entry for each task of an array that may run beside those that run,
    up to `MOST_TASKS`; none of an array that runs as many as it may."""
    running = Counter(job.array for job in seen.jobs.values() if job.array and holds_nodes(job))
    found = dict[int, ClusterJob]()
    for key, job in waiting.items():
        most = min(job.tasks, MOST_TASKS)
        if job.array and job.at_once:
            most = min(most, job.at_once - running[job.array])
        found |= {task_id(key, k) if k else key: job for k in range(most)}
    return found


def _away(node: ClusterNode | None, busy: bool, shared: int | None) -> Away | None:
    """Return how a node is away, None where it takes jobs; one that nobody sees any more is."""
    if node is None:
        return Away(True, False, -1)
    if node.down and not busy and shared is None:
        return Away(True, False, -1)
    if not node.in_service or node.down:
        return Away(False, bool(node.ours), -1)
    return None if shared is None else Away(False, False, shared)


def _planned(
    seen: ClusterView, known: set[str], ours: frozenset[str], now: int
) -> dict[str, tuple[int, int]]:
    """Return which nodes others reserved for later, each with the first such time."""
    planned: dict[str, tuple[int, int]] = {}
    for one in sorted(seen.reservations.values(), key=lambda one: (one.start, one.name)):
        if one.name not in ours and one.end > now:
            for name in known.intersection(one.nodes):
                planned.setdefault(name, (one.start, one.end))
    return planned


# -------------------------------------------------------------------------------- what changed


def _left(
    known: Mapping[int, ToldJob], picture: _Picture, seen: ClusterView, now: int
) -> tuple[set[int], list[Event]]:
    """Return jobs that are no longer the engine's matter, and what it is told of them."""
    gone, events = set(), []
    for key, told in known.items():
        job = _same(told, picture, key)
        if job is not None:
            continue
        gone.add(key)
        kind = EventKind.CANCELLED
        last = seen.jobs.get(key)
        over = last is not None and not last.waits and not holds_nodes(last)
        if told.nodes and last is not None and over and _is(told, last):
            kind = _ENDS.get(last.state, EventKind.FAILED)
        elif told.nodes and last is None:
            kind = _ended(told, seen, key)
        events.append(Event(now, kind, told.position))
    return gone, events


def _same(told: ToldJob, picture: _Picture, key: int) -> ClusterJob | None:
    """Return the job as it is now, None where it is gone or its number is another job's."""
    job = picture.waiting.get(key)
    if job is None and key in picture.running:
        job = picture.running[key][0]
    return job if job is not None and _is(told, job) else None


def _is(told: ToldJob, job: ClusterJob) -> bool:
    same = (told.user, told.name) == (job.user, job.name) and told.restarts <= job.restarts
    return same and told.size == max(job.node_count, len(job.nodes), 1)


def _ended(told: ToldJob, seen: ClusterView, key: int) -> EventKind:
    """Return how the last run of a job ended that the queue has forgotten, by accounting."""
    runs = [run for run in seen.runs if run.job == key and run.user == told.user and run.end]
    if not runs:
        return EventKind.CANCELLED
    return _ENDS.get(max(runs, key=lambda run: run.end or 0).state, EventKind.FAILED)


def _come(
    before: Mapping[int, ToldJob],
    beliefs: Beliefs,
    picture: _Picture,
    number: Mapping[str, int],
    now: int,
) -> tuple[tuple[Arrival, ...], list[Event], dict[int, ToldJob]]:
    """Return new jobs, events of jobs that wait or run, and what is believed of them."""
    arrivals, events, jobs = list[Arrival](), list[Event](), dict[int, ToldJob]()
    count = beliefs.count
    running = {key: one[0] for key, one in picture.running.items()}
    for key, job in sorted((picture.waiting | running).items(), key=_by_submit):
        told = before.get(key)
        if told is None:
            size = max(job.node_count, len(job.nodes), 1)
            told = ToldJob(count + len(arrivals), job.user, job.name, size, job.restarts, (), -1)
            length = beliefs.reckoned(length_of(job), length_of(job))
            arrivals.append(Arrival(key, size, length, min(job.submit or now, now)))
            if key not in running:
                events.append(Event(now, EventKind.SUBMITTED, told.position))
        nodes, until = picture.running[key][1:] if key in running else ((), -1)
        events += _moved(told, job, nodes, until, number, now)
        jobs[key] = told._replace(restarts=job.restarts, nodes=nodes, until=until)
    return tuple(arrivals), events, jobs


def _goes_on(told: ToldJob, before: ToldJob | None) -> bool:
    """Return whether a job has the nodes that it had, of the same run."""
    same = ("position", "nodes", "restarts")
    return before is not None and all(getattr(told, n) == getattr(before, n) for n in same)


def _by_submit(item: tuple[int, ClusterJob]) -> tuple[int, int]:
    return item[1].submit or 0, item[0]


def _moved(
    told: ToldJob, job: ClusterJob, nodes: tuple[str, ...], until: int, number: Mapping[str, int],
    now: int,
) -> Iterator[Event]:  # fmt: skip
    """Yield events of a job that started, went back to the queue, moved, or got another limit."""
    if told.nodes and (nodes != told.nodes or job.restarts > told.restarts):
        yield Event(now, EventKind.REQUEUED, told.position)
    elif nodes and until == told.until:
        return
    if nodes:
        where = NodeSet.of_sorted(np.sort([number[name] for name in nodes]))
        yield Event(now, EventKind.STARTED, told.position, until=until, nodes=where)


def _nodes(
    beliefs: Beliefs, picture: _Picture, number: Mapping[str, int], starting: set[str], now: int
) -> Iterator[Event]:
    """Yield events of nodes that went, came back, or are away in another way."""
    for name in beliefs.names:
        before, after = beliefs.away.get(name), picture.away.get(name)
        back = before is not None and (name in starting or after is None)
        if back:
            yield Event(now, EventKind.NODE_RECOVERED, number[name])
        if after is None or (after == before and not back):
            continue
        until = after.until if after.until > now else -1
        if after.failed:
            yield Event(now, EventKind.NODE_FAILED, number[name], until=until)
        else:
            drained = EventKind.NODE_DRAINED
            yield Event(now, drained, number[name], until=until, ours=after.ours)
