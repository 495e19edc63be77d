"""Where and when jobs run, or are meant to: put together for a job when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from forestall.live.slurm.mind import Mind, PlannedRun
from forestall.live.slurm.reconcile import holds_nodes, length_of
from forestall.scheduling.engine.plugin import members
from forestall.slurm.cluster.nouns import ClusterJob


class Plans(Mapping[int, PlannedRun]):
    """By number of the job; none of those that nobody has a place for. What the engine means is
    copied, so that any thread may read it while the engine goes on.

    jobs : as seen
    """

    def __init__(self, jobs: Mapping[int, ClusterJob], mind: Mind) -> None:
        state = mind.engine.state
        self._seen, self._names = jobs, mind.beliefs.names
        self._places = {key: told.position for key, told in mind.beliefs.jobs.items()}
        self._jobs, self._rows = state.jobs[: mind.engine.jobs].copy(), state.timeline.rows.copy()

    def __getitem__(self, job: int) -> PlannedRun:
        seen = self._seen[job]
        if holds_nodes(seen):
            if seen.start is None:
                raise KeyError(job)
            return PlannedRun(seen.start, seen.end or seen.start + length_of(seen), seen.nodes)
        meant = self._jobs[self._places[job]] if seen.waits else None
        if meant is None or meant["row"] < 0:
            raise KeyError(job)
        nodes = members(self._rows[meant["row"]]).tolist()
        names = tuple(self._names[k] for k in nodes)
        return PlannedRun(int(meant["start"]), int(meant["end"]), names)

    def __iter__(self) -> Iterator[int]:
        return (job for job in self._seen if job in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
