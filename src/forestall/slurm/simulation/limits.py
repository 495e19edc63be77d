"""What the partition of a modelled cluster allows, and operators who change it: as Slurm does, jobs
that break its limits are refused, or wait until the limits are others; jobs that run go on."""

from __future__ import annotations

from typing import Final

from forestall.slurm.cluster.nouns import ClusterPartition
from forestall.slurm.simulation.chance import Chance
from forestall.slurm.simulation.state import PersonsAct, SlurmState

DOWN: Final = "PartitionDown"
TIME: Final = "PartitionTimeLimit"
NODES: Final = "PartitionNodeLimit"
REFUSALS: Final = {
    TIME: "Requested time limit is invalid (missing or exceeds some limit)",
    NODES: "Node count specification invalid",
}
"""What Slurm says of a job that it does not take; one for a partition that is down it takes."""
STOPPED: Final = frozenset({DOWN, TIME, NODES})
_TIMES: Final = (300, 900, 1800)


def broken_limit(part: ClusterPartition, nodes: int, limit: int | None) -> str:
    """Return Slurm's reason why a job of so many nodes and seconds does not start, whatever is
    free; "" where it may."""
    if part.longest is not None and (limit is None or limit > part.longest):
        return TIME
    if not (part.least or 0) <= nodes <= (part.most or nodes):
        return NODES
    return "" if part.is_up else DOWN


def stop_by_limits(state: SlurmState) -> None:
    """Give each job that waits the reason by which its partition stops it, or none any more."""
    part = state.partition
    for job in list(state.jobs.values()):
        if not job.waits or not job.priority or (job.eligible or 0) > state.now:
            continue
        reason = broken_limit(part, job.node_count, job.limit)
        if reason and reason != job.reason:
            state.job(job._replace(reason=reason))
        elif not reason and job.reason in STOPPED:
            state.job(job._replace(reason="Priority"))


def change_limits(state: SlurmState, chance: Chance) -> None:
    """Let an operator change what the partition allows, or lift all limits."""
    part, draw = state.partition, chance.draw()
    if draw < 0.25:
        part = part._replace(is_up=not part.is_up)
    elif draw < 0.5:
        part = part._replace(longest=chance.one_of(_TIMES))
    elif draw < 0.65:
        part = part._replace(most=1 + chance.below(4), least=None)
    elif draw < 0.75:
        part = part._replace(least=2, most=None)
    else:
        part = ClusterPartition(part.name, part.default)
    if part != state.partition and state.answers:
        state.partition = part
        stop_by_limits(state)
        state.acts.append(PersonsAct(state.now, "limits", str(part)))
        state.happened["limits changed"] += 1
