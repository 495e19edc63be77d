"""What one look at a cluster shows: jobs, nodes, reservations, and what accounting adds.

Times are Unix seconds, None where there is none. States are Slurm's own words, never folded into
coarser ones: a state that we do not know stays what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from forestall.model.cluster.faults import LookError
from forestall.model.cluster.marks import Mark, mark_of_reason

WAITING: Final = "PENDING"

OUT_OF_SERVICE: Final = frozenset({"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING"})
"""States and flags of a node on which no further job starts."""


class ClusterJob(NamedTuple):
    """A job in the queue, or one that ended a short while ago.

    Attributes
    ----------
    id : its number, which Slurm may give again to another job after it lost its state
    state, flags : ``PENDING`` and ``("REQUEUED",)``
    reason : why it waits
    submit : of its current run: Slurm sets it anew when it queues a job again
    limit : seconds, None without a limit
    nodes : those that it holds or held
    node_count : how many nodes it has, or asks for
    comment : the owner's text, with the tag of a promise; `note` is that of an administrator, with
        the ids of our actions on the job
    array : the number of its array, 0 for none
    restarts : how often it was queued again
    """

    id: int
    user: str
    name: str
    account: str
    partition: str
    qos: str
    state: str
    flags: tuple[str, ...]
    reason: str
    submit: int | None
    eligible: int | None
    start: int | None
    end: int | None
    limit: int | None
    node_count: int
    nodes: tuple[str, ...]
    excluded: tuple[str, ...]
    features: str
    reservation: str
    priority: int
    restarts: int
    array: int
    comment: str
    note: str

    @property
    def waits(self) -> bool:
        """Whether it waits to be started."""
        return self.state == WAITING

    @property
    def held(self) -> bool:
        """Whether somebody holds it back."""
        return self.waits and (self.priority == 0 or self.reason.startswith("JobHeld"))

    @property
    def mark(self) -> Mark:
        """What of ours stands in its comment and its note."""
        return Mark.parse(self.comment, self.note)


class ClusterNode(NamedTuple):
    """A node.

    Attributes
    ----------
    state, flags : ``IDLE`` and ``("DRAIN", "REBOOT_REQUESTED")``
    reason, set_by, set_at : why it is out of service, who said so and when
    booted, answered : when it booted, and when its daemon began
    memory_mb : megabytes
    """

    name: str
    state: str
    flags: tuple[str, ...]
    reason: str
    set_by: str
    set_at: int | None
    booted: int | None
    answered: int | None
    cpus: int
    memory_mb: int
    partitions: tuple[str, ...]
    features: tuple[str, ...]
    gres: str

    @property
    def in_service(self) -> bool:
        """Whether jobs may start on it."""
        return self.state not in OUT_OF_SERVICE and OUT_OF_SERVICE.isdisjoint(self.flags)

    @property
    def down(self) -> bool:
        """Whether it is DOWN, or does not answer."""
        return self.state == "DOWN" or "NOT_RESPONDING" in self.flags

    @property
    def ours(self) -> str:
        """The id of our action that its reason names, "" where the reason is not ours."""
        return mark_of_reason(self.reason)


class ClusterReservation(NamedTuple):
    """A reservation; `nodes` are those that it holds at the moment."""

    name: str
    start: int
    end: int
    nodes: tuple[str, ...]
    node_count: int
    features: str
    partition: str
    flags: tuple[str, ...]
    users: tuple[str, ...]
    accounts: tuple[str, ...]


class ClusterRun(NamedTuple):
    """A run of a job as accounting tells it; a job that was queued again has several."""

    job: int
    user: str
    state: str
    submit: int | None
    start: int | None
    end: int | None
    nodes: tuple[str, ...]
    comment: str


@dataclass(frozen=True)
class ClusterView:
    """What was seen of a cluster; by number of the job, and by name."""

    jobs: Mapping[int, ClusterJob]
    nodes: Mapping[str, ClusterNode]
    reservations: Mapping[str, ClusterReservation]
    runs: tuple[ClusterRun, ...] = ()


@dataclass(frozen=True)
class ClusterSnapshot(ClusterView):
    """One whole look.

    Attributes
    ----------
    began, at : our clock before the first question and after the last answer, Unix seconds
    told_at : when the queue last changed by Slurm's own clock, None where this version does not
        tell
    mark : from when on the next look asks accounting
    accounting : None, or why the runs could not be had; then `runs` is empty and means nothing
    version : Slurm's, such as ``22.05.8``
    replaced : characters that were not UTF-8 and were replaced
    default : partition of jobs that name none, "" where there is none or Slurm does not tell
    """

    began: int = 0
    at: int = 0
    told_at: int | None = None
    mark: int = 0
    accounting: LookError | None = None
    version: str = ""
    replaced: int = 0
    default: str = ""
