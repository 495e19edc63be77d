"""What one look at a cluster shows: jobs, nodes, reservations, and what accounting adds.

Times are Unix seconds, None where there is none. States are Slurm's own words, never folded into
coarser ones: a state that we do not know stays what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from forestall.core.model.faults import LookError
from forestall.core.model.marks import Mark, mark_of_reason
from forestall.slurm.cluster.limits import ClusterLimits

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
    tasks : how many jobs it stands for: while tasks of an array wait, one entry shows all of them
    at_once : how many tasks of its array run at the same time at most, 0: as many as fit
    cut : whether the list of its tasks was cut, so that there are more
    het : the heterogeneous job of which it is a component, 0 for none
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
    tasks: int = 1
    at_once: int = 0
    cut: bool = False
    het: int = 0

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


def waiting_jobs(jobs: Iterable[ClusterJob]) -> tuple[int, bool]:
    """Return how many jobs wait, each task of an array and each heterogeneous job as one, and
    whether there are more, since lists of tasks were cut."""
    waiting = [job for job in jobs if job.waits]
    alone = sum(job.tasks for job in waiting if not job.het)
    return alone + len({job.het for job in waiting if job.het}), any(job.cut for job in waiting)


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


class ClusterPartition(NamedTuple):
    """A partition, with what it allows a job.

    Attributes
    ----------
    default : whether jobs that name none are its own
    is_up : whether it takes and starts jobs
    longest : time limit of a job at most, s; `most`, `least` : nodes; None: no such limit is told
    qos : the QOS whose limits count for its jobs, "" where it has none, or Slurm does not tell
    """

    name: str
    default: bool = False
    is_up: bool = True
    longest: int | None = None
    most: int | None = None
    least: int | None = None
    qos: str = ""


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
    partitions : by name; of those that are not here no limit is known
    limits : of QOS and associations; None: not known
    """

    began: int = 0
    at: int = 0
    told_at: int | None = None
    mark: int = 0
    accounting: LookError | None = None
    version: str = ""
    replaced: int = 0
    default: str = ""
    partitions: Mapping[str, ClusterPartition] = field(default_factory=dict)
    limits: ClusterLimits | None = None
