"""What the modelled controller knows, and what is true beyond that."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from forestall.slurm.cluster.actions import Action
from forestall.slurm.cluster.nouns import (
    ClusterJob,
    ClusterNode,
    ClusterPartition,
    ClusterReservation,
    ClusterRun,
)

PARTITION: Final = "main"
EXPEDITING: Final = "EXPEDITING"
"""The flag of a job that waits for an expedited restart, from Slurm 25.11 on."""


class JobWork(NamedTuple):
    """What is true of a job: seconds that it still needs, whether it is queued again where its node
    fails, how many seconds of a run its last checkpoint holds, and whether its owner asked for
    expedited requeues."""

    length: int
    again: bool
    saved: int = 0
    expedited: bool = False


class Deed(NamedTuple):
    """An action of ours that took effect."""

    at: int
    action: Action


class PersonsAct(NamedTuple):
    """What an operator or a user did by hand."""

    at: int
    what: str
    target: str


@dataclass
class SlurmState:
    """The tables of a cluster. Entries are values: a change puts another value in its place, so
    that a copy of a table is a picture of its moment.

    Attributes
    ----------
    now : Unix seconds
    next_id : number of the next job
    work : by job; `starts` is the number of the start of its current run, by job
    holder : which job holds a node
    kept : for which job that is queued again, expedited, a node is kept
    partition : the only one, with what it allows now; `refuses`: jobs that break its limits
    dead : nodes that are dead, whether that was seen or not
    free : nodes on which a job can start, in the order in which they became so
    theirs : nodes that people took out of service
    holes : nodes on which jobs fail at once
    runs : ended runs, oldest first
    answers : whether the controller answers
    deeds, acts : what we did, and what people did
    happened : how often what came about, by name
    trespasses : what we did to what is somebody else's: must stay empty
    """

    now: int
    jobs: dict[int, ClusterJob] = field(default_factory=dict)
    nodes: dict[str, ClusterNode] = field(default_factory=dict)
    reservations: dict[str, ClusterReservation] = field(default_factory=dict)
    next_id: int = 1
    work: dict[int, JobWork] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    started: int = 0
    holder: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    refuses: bool = False
    partition: ClusterPartition = field(
        default_factory=lambda: ClusterPartition(PARTITION, default=True)
    )
    dead: set[str] = field(default_factory=set)
    free: dict[str, None] = field(default_factory=dict)
    theirs: set[str] = field(default_factory=set)
    holes: set[str] = field(default_factory=set)
    runs: deque[ClusterRun] = field(default_factory=deque)
    answers: bool = True
    deeds: list[Deed] = field(default_factory=list)
    acts: list[PersonsAct] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    trespasses: list[str] = field(default_factory=list)
    due: list[tuple[int, int, str, Any]] = field(default_factory=list)
    order: int = 0
    changes: deque[tuple[int, dict[Any, Any], Any, Any]] = field(default_factory=deque)

    def plan(self, after: int, what: str, key: Any = None) -> None:
        """Let something happen in so many seconds."""
        self.order += 1
        heapq.heappush(self.due, (self.now + after, self.order, what, key))

    def put(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Put a value into a table (None: take it out), and remember what was there."""
        self.changes.append((self.now, table, key, table.get(key)))
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value

    def job(self, job: ClusterJob) -> None:
        """Put a job into its place."""
        self.put(self.jobs, job.id, job)

    def node(self, node: ClusterNode) -> None:
        """Put a node into its place."""
        self.put(self.nodes, node.name, node)
        self.count(node.name)

    def usable(self, name: str) -> bool:
        """Return whether a job can start on a node."""
        idle = name not in self.holder and name not in self.dead and name not in self.kept
        return idle and self.nodes[name].in_service

    def count(self, name: str) -> None:
        """Count a node among those that are free, or no longer."""
        if self.usable(name):
            self.free.setdefault(name)
        else:
            self.free.pop(name, None)

    @property
    def limited(self) -> bool:
        """Whether the partition allows less than everything."""
        part = self.partition
        return not part.is_up or any((part.longest, part.most, part.least))

    def let_go(self, job: int) -> None:
        """Keep no nodes for a job any more."""
        for name in [name for name, kept_for in self.kept.items() if kept_for == job]:
            del self.kept[name]
            self.count(name)

    def run_ended(self, job: ClusterJob, state: str) -> None:
        """Write the run of a job into the books."""
        self.runs.append(
            ClusterRun(
                job.id, job.user, state, job.submit, job.start, self.now, job.nodes, job.comment
            )
        )

    def forget(self, seconds: int) -> None:
        """Drop what is known of changes older than so many seconds."""
        while self.changes and self.changes[0][0] < self.now - seconds:
            self.changes.popleft()


def is_expediting(job: ClusterJob) -> bool:
    """Return whether a job waits for an expedited restart."""
    return job.waits and EXPEDITING in job.flags


def problems(state: SlurmState) -> list[str]:
    """Return what cannot be, from a walk over the whole state; empty where all adds up."""
    found = []
    held: dict[str, int] = {}
    for job in state.jobs.values():
        if job.state != "RUNNING":
            continue
        if len(job.nodes) != job.node_count:
            found.append(f"job {job.id} has {len(job.nodes)} of {job.node_count} nodes")
        for name in job.nodes:
            if name in held:
                found.append(f"node {name} is held by jobs {held[name]} and {job.id}")
            held[name] = job.id
    if held != state.holder:
        found.append(f"holders differ: {held} and {state.holder}")
    if wrong := [name for name in state.nodes if state.usable(name) != (name in state.free)]:
        found.append(f"free or not: {wrong}")
    for name, kept_for in state.kept.items():
        owner = state.jobs.get(kept_for)
        if owner is None or not is_expediting(owner) or name not in owner.nodes or name in held:
            found.append(f"node {name} is kept for job {kept_for}: {owner}")
    spans = sorted((one.start, one.end, one.name) for one in state.reservations.values())
    for k, (_, end, name) in enumerate(spans):
        for start, _, other in spans[k + 1 :]:
            both = set(state.reservations[name].nodes) & set(state.reservations[other].nodes)
            if start < end and both:
                found.append(f"reservations {name} and {other} share {sorted(both)}")
    found += [f"run of job {run.job} ends before it starts" for run in state.runs
              if run.start is not None and run.end is not None and run.end < run.start]  # fmt: skip
    return found + state.trespasses
