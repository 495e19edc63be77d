"""What keeps a job from starting, however many nodes are free: the limits of its partition."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from forestall.core.model.units import exact_duration
from forestall.core.show.words import counted
from forestall.slurm.cluster.nouns import ClusterJob, ClusterPartition

STOPS: Final = frozenset({"PartitionDown", "PartitionInactive", "PartitionTimeLimit"})
"""What Slurm says of jobs that wait because of their partition."""
_NODES: Final = "PartitionNodeLimit"
"""Says so, too, but also where nodes of a job are down: then it waits for nodes."""


def broken_limits(
    part: ClusterPartition, nodes: int, time: int, lifted: Collection[str] = ()
) -> Iterator[str]:
    """Yield in words which limits of its partition a job of so many nodes and seconds breaks: Slurm
    may take it, and does not start it.

    lifted : flags of the job's QOS, which lift some of them
    """
    if not part.is_up:
        yield f"partition {part.name} starts no jobs now"
    if part.longest is not None and time > part.longest and "PartitionTimeLimit" not in lifted:
        limit = exact_duration(part.longest)
        yield f"partition {part.name} allows {limit}; {exact_duration(time)} are asked for"
    if part.most is not None and nodes > part.most and "PartitionMaxNodes" not in lifted:
        most = counted(part.most, "node")
        yield f"partition {part.name} allows {most}; {nodes:,} are asked for"
    if part.least is not None and nodes < part.least and "PartitionMinNodes" not in lifted:
        yield f"partition {part.name} takes jobs from {counted(part.least, 'node')} on"


def stopped(job: ClusterJob, partitions: Mapping[str, ClusterPartition]) -> str:
    """Return in words why its partition keeps a job that waits from starting, "" where it does not:
    by what Slurm says of the job, since not all that takes no jobs starts none."""
    if not job.waits or job.reason not in {*STOPS, _NODES}:
        return ""
    part = partitions.get(job.partition)
    words = [] if part is None else list(broken_limits(part, job.node_count, job.limit or 0))
    if job.reason == _NODES:
        return words[0] if words else ""
    return words[0] if words else f"Slurm says {job.reason} of partition {job.partition}"
