"""What taking a node out of service costs, and what it saves, against doing nothing.

All in node-seconds. Source: page "Assessment", Measures (cost-benefit): acting costs the node's
time, and saves what jobs on it would have lost; a node that would stand idle costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

from forestall.live.rules.findings import NodeFinding
from forestall.live.slurm.reconcile import holds_nodes, length_of
from forestall.slurm.cluster.nouns import ClusterJob, ClusterView


class DrainWorth(NamedTuple):
    """Node-seconds that an action is expected to spend and to save, jobs that it saves, and when
    the node is expected to have no job any more, s since 1970."""

    spent: float
    saved: float
    jobs: float
    free: int


@dataclass(frozen=True)
class NodeStakes:
    """What is at stake on the nodes of a cluster at a moment.

    Attributes
    ----------
    busy : share of the nodes in service that work, from 0 to 1
    loss : node-seconds that jobs lose where a node that works fails: of all such nodes the mean of
        (nodes of its job) x (time since that began)
    ends : when the job on a node ends by its limit, s since 1970, by the node's name
    now : s since 1970
    """

    busy: float
    loss: float
    ends: dict[str, int]
    now: int

    @classmethod
    def of(cls, seen: ClusterView, now: int) -> Self:
        """Return what a look shows."""
        ends, lost = dict[str, int](), 0
        for job in seen.jobs.values():
            if holds_nodes(job):
                lost += len(job.nodes) * len(job.nodes) * max(now - (job.start or now), 0)
                ends.update(dict.fromkeys(job.nodes, _end(job, now)))
        count = sum(1 for node in seen.nodes.values() if node.in_service)
        return cls(min(len(ends) / max(count, 1), 1.0), lost / max(len(ends), 1), ends, now)

    def of_drain(self, one: NodeFinding, rest: int) -> DrainWorth:
        """Return what draining a node now is worth that a finding is about.

            saved = p b L e        spent = b ((a - f) + (1 - p) (u - a) + rest)

        with p its probability; b the share of nodes that work, L what a failure of one loses; a
        the moment at which it would fail and u until when that lasts; e the probability that the
        job on it ends before a, taken to end at any moment up to its limit alike; f when that is,
        in the mean (now, where it is idle); `rest` s before a node comes back.
        """
        at = max(one.at, self.now)
        until = max(one.until, at)
        end = self.ends.get(one.node, self.now)
        left = end - self.now
        gone = 1.0 if left <= 0 else min((at - self.now) / left, 1.0)
        free = self.now if left <= 0 else min((self.now + end) // 2, at)
        away = (at - free) + (1.0 - one.probability) * (until - at) + rest
        chance = one.probability * self.busy * gone
        return DrainWorth(self.busy * away, chance * self.loss, max(chance, one.jobs), free)


def _end(job: ClusterJob, now: int) -> int:
    """Return when a job ends by its limit, s; one that is past it ends now."""
    return max((job.start or now) + length_of(job), now)
