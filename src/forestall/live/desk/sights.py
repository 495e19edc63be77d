"""The cluster as a viewer may see it, from what the last cycle knew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from forestall.core.model.live.desk import JobTold, NodeTold, Viewer
from forestall.live.slurm.reconcile import holds_nodes
from forestall.live.slurm.view import DAY, ControllerView
from forestall.slurm.cluster.nouns import ClusterJob, ClusterNode

USUAL: Final = "rate of failures"
"""Who tells of nodes of which no failure is foreseen."""


@dataclass
class _JobsThere:
    """Jobs on a node: those that the viewer may see, and when the last of all ends."""

    jobs: list[int] = field(default_factory=list)
    until: int | None = None


def sees(viewer: Viewer, job: ClusterJob) -> bool:
    """Whether a job is the viewer's to see."""
    return viewer.operates or job.user == viewer.name


def nodes_told(view: ControllerView, now: int, viewer: Viewer) -> list[NodeTold]:
    """Return all nodes, by name."""
    on = _on_nodes(view.seen.jobs.values(), viewer)
    return [
        _node(node, view, now, viewer, on.get(name, _JobsThere()))
        for name, node in sorted(view.seen.nodes.items())
    ]


def _node(
    node: ClusterNode, view: ControllerView, now: int, viewer: Viewer, on: _JobsThere
) -> NodeTold:
    foreseen = view.outlook.get(node.name)
    reliability, by = view.lasting, USUAL
    if foreseen is not None and (risk := foreseen.risk(now, now + DAY)):
        lasting = view.lasting if foreseen.hazard is None else 1.0
        reliability, by = lasting * (1.0 - risk), foreseen.by
    return NodeTold(
        node.name, "+".join((node.state, *node.flags)), node.reason if viewer.operates else "",
        node.in_service and not node.down, node.partitions, reliability, by, tuple(on.jobs),
        on.until,
    )  # fmt: skip


def _on_nodes(jobs: Iterable[ClusterJob], viewer: Viewer) -> dict[str, _JobsThere]:
    found: dict[str, _JobsThere] = {}
    for job in jobs:
        if not holds_nodes(job):
            continue
        for name in job.nodes:
            one = found.setdefault(name, _JobsThere())
            if job.end is not None:
                one.until = max(one.until or 0, job.end)
            if sees(viewer, job):
                one.jobs.append(job.id)
    return found


def jobs_told(view: ControllerView, viewer: Viewer) -> list[JobTold]:
    """Return the jobs that wait or run, by number."""
    promise = {job.id: name for name, job in view.carried.items()}
    return [
        _job(job, view, viewer, promise)
        for _, job in sorted(view.seen.jobs.items())
        if job.waits or holds_nodes(job)
    ]


def _job(
    job: ClusterJob, view: ControllerView, viewer: Viewer, promise: Mapping[int, str]
) -> JobTold:
    """Return a job. Of others' jobs: that there is one, its nodes and its times."""
    plan = view.plans.get(job.id)
    runs = holds_nodes(job)
    start, end = (job.start, job.end) if runs else (None, None)
    if plan is not None:
        start, end = plan.start, plan.end
    told = JobTold(
        job.id, "", "", "", job.state, "", job.node_count, job.nodes if runs else (), job.submit,
        start, end, "",
    )  # fmt: skip
    if not sees(viewer, job):
        return told
    return JobTold(
        job.id, job.user, job.name, job.partition, "+".join((job.state, *job.flags)),
        "" if job.reason == "None" else job.reason, job.node_count, told.on, job.submit, start, end,
        promise.get(job.id, ""), view.stray.get(job.id, ""),
    )  # fmt: skip
