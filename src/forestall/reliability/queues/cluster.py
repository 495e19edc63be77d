"""A cluster: its nodes and queues, what follows for its jobs, and what changes would buy."""

from __future__ import annotations

from forestall.reliability.queues.changes import Change, best_interval, what_if
from forestall.reliability.queues.machine import Checkpoints, GroupedMachine, age_of, group_of
from forestall.reliability.queues.queues import Queue

__all__ = ["Checkpoints", "Cluster", "age_of", "group_of"]


class Cluster(GroupedMachine):
    """Nodes in groups, queues, and how likely the jobs of each queue meet a failure.

    Parameters
    ----------
    groups : `Group`s, or tables with name, count and either mttf (a duration) and shape (1 where it
        is missing), or lifetime (a `Lifetime`, or something fitted that has one, in seconds)
    queues : `Queue`s, or tables with name, nodes, limit, slots and perhaps mix
    nodes, mttf, shape : one group instead of `groups`
    ages : new, steady, or a duration: of all nodes when a job starts; without it each group's own
    checkpoints : `Checkpoints`, or what one costs

    Raises ParameterError.

    Examples
    --------
    >>> cluster = Cluster(
    ...     nodes=516,
    ...     mttf="102840h",
    ...     queues=[Queue("Huge", 258, "48h", 2), Queue("Big", 130, "48h", 4)],
    ... )
    >>> round(cluster.queue_failure("Huge"), 4), round(cluster.job_failure(), 4)
    (0.1135, 0.0771)
    >>> round(cluster.mttf().time / 3600, 1)
    199.3
    """

    def checkpoint_interval(self, queue: str | Queue) -> float:
        """Return the checkpoint interval of a job of the queue, s: the work between checkpoints
        of the highest long-run efficiency, by the law of its nodes and their ages.

        Raises ParameterError without the cost of a checkpoint.
        """
        return best_interval(self, self.queue(queue))

    def what_if(self, most: int | None = None) -> list[Change]:
        """Return what single changes would buy, the lowest F_job first; see `changes`."""
        found = what_if(self)
        return found if most is None else found[:most]
