"""What may be seen of a modelled cluster at a moment."""

from __future__ import annotations

from typing import NamedTuple

from forestall.slurm.cluster.nouns import (
    ClusterJob,
    ClusterNode,
    ClusterPartition,
    ClusterReservation,
    ClusterRun,
    ClusterView,
)
from forestall.slurm.simulation.state import SlurmState


class Picture(NamedTuple):
    """Copies of the tables; the entries are values, so that a picture stays as it is."""

    at: int
    jobs: dict[int, ClusterJob]
    nodes: dict[str, ClusterNode]
    reservations: dict[str, ClusterReservation]
    runs: tuple[ClusterRun, ...]
    partition: ClusterPartition


def picture(state: SlurmState, since: int) -> Picture:
    """Return what there is now, and the runs that ended since a time or go on."""
    runs = []
    for run in reversed(state.runs):
        if (run.end or 0) < since:
            break
        runs.append(run)
    runs.reverse()
    runs += [
        ClusterRun(job.id, job.user, job.state, job.submit, job.start, None, job.nodes, job.comment)
        for job in state.jobs.values()
        if job.state in ("RUNNING", "PENDING")
    ]
    return Picture(
        state.now, dict(state.jobs), dict(state.nodes), dict(state.reservations), tuple(runs),
        state.partition,
    )  # fmt: skip


def seen(state: SlurmState) -> ClusterView:
    """Return the cluster as it is, for a question about one action."""
    return ClusterView(state.jobs, state.nodes, state.reservations, tuple(state.runs))
