"""What acting on alarms costs and saves, with the width of the jobs that run on the nodes.

Brandt et al., Section 3.3: the last alarm before a failure is its true positive, at a cost in
proportion to the time from it to the failure, besides that of the action itself. Two answers to an
alarm: the job on the node saves a checkpoint, so a failure later costs its nodes the time since
then; or it leaves the node, which stands empty until the failure or, where none comes, until the
horizon ends.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.prediction.assess.alarm_cover import cover
from forestall.prediction.assess.alarms import WHOLE, Line

HOUR: Final = 3600
NOBODY: Final = -1


class RunningJobs(NamedTuple):
    """Jobs: start and end, int64[n], s; the nodes of job j are node[first[j]:first[j + 1]]. A node
    that several share at once is that of the one that began last."""

    start: Ints
    end: Ints
    first: Ints
    node: Ints

    @property
    def width(self) -> Ints:
        """Nodes of each job, int64[n]."""
        return np.diff(self.first)


class AlarmCosts(NamedTuple):
    """What one answer to alarms brings; node-hours.

    Attributes
    ----------
    response : ``checkpoint`` or ``move``
    struck : jobs that failures hit; lost : what they lose where no alarm is answered, all since
        they began
    saved : of that, by answering; helped : jobs of which something is
    actions : answers, one for each job and alarm; nodes : of those jobs, in all
    spent : on the actions; empty : of nodes that were left
    """

    response: str
    struck: int
    lost: float
    saved: float
    helped: int
    actions: int
    nodes: int
    spent: float
    empty: float

    @property
    def net(self) -> float:
        """Saved less spent and left empty."""
        return self.saved - self.spent - self.empty


def running(jobs: RunningJobs, node: Ints, time: Ints) -> Ints:
    """Return which job runs on each node at each time (start < time <= end), `NOBODY` for none."""
    owner = np.repeat(np.arange(len(jobs.start)), jobs.width)
    order = np.lexsort((owner, jobs.start[owner], jobs.node))
    owner = owner[order]
    span = int(max(jobs.end.max(initial=0), time.max(initial=0))) + 2
    keys = jobs.node[order] * span + jobs.start[owner]
    place = np.searchsorted(keys, node * span + np.maximum(time, 0)) - 1
    found = np.full(len(node), NOBODY)
    some = np.flatnonzero(place >= 0)
    mine = owner[place[some]]
    right = (jobs.node[order][place[some]] == node[some]) & (jobs.end[mine] >= time[some])
    found[some[right]] = mine[right]
    return found


def _struck(line: Line, jobs: RunningJobs) -> tuple[Ints, Ints, Ints]:
    """Return the jobs that failures hit, each once, when, and on which node."""
    hit = running(jobs, line.failure_node, line.failure_time)
    some = np.flatnonzero(hit != NOBODY)
    which, first = np.unique(hit[some], return_index=True)  # failures are in order of time
    return which, line.failure_time[some[first]], line.failure_node[some[first]]


def _answers(line: Line, jobs: RunningJobs) -> tuple[Ints, Ints]:
    """Return (job, time) of each answer to an alarm, each once; one about the machine is answered
    by every job that runs."""
    machine = line.alarm_node == WHOLE
    job = running(jobs, line.alarm_node[~machine], line.alarm_time[~machine] + 1)
    time = line.alarm_time[~machine]
    jobs_of, times = [job[job != NOBODY]], [time[job != NOBODY]]
    for moment in np.unique(line.alarm_time[machine]).tolist():
        every = np.flatnonzero((jobs.start <= moment) & (jobs.end > moment))
        jobs_of.append(every)
        times.append(np.full(len(every), moment))
    pairs = np.unique(np.stack((np.concatenate(jobs_of), np.concatenate(times))), axis=1)
    return pairs[0], pairs[1]


def checkpoint_costs(
    line: Line,
    jobs: RunningJobs,
    *,
    lead: int = 0,
    action_seconds: float = 0.0,
    action_cost: float = 0.0,
) -> AlarmCosts:
    """Return what it brings that jobs save a checkpoint at each alarm on one of their nodes.

    Parameters
    ----------
    lead : s; a checkpoint later than this before the failure is of no use
    action_seconds : for which a job's nodes are busy with a checkpoint
    action_cost : of each, besides, node-hours
    """
    job, time = _answers(line, jobs)
    struck, when, _ = _struck(line, jobs)
    width = jobs.width
    span = int(max(time.max(initial=0), when.max(initial=0))) + 2
    keys = job * span + time
    last = np.searchsorted(keys, struck * span + np.maximum(when - max(lead, 1), 0), "right") - 1
    kept: Bools = np.zeros(len(struck), dtype=np.bool_)
    some = last >= 0
    kept[some] = job[last[some]] == struck[some]
    since = np.where(kept, time[np.maximum(last, 0)] if len(time) else 0, 0) - jobs.start[struck]
    saved = np.where(kept, width[struck] * since, 0) / HOUR
    return AlarmCosts(
        "checkpoint", len(struck), _lost(jobs, struck, when), float(saved.sum()),
        int((saved > 0).sum()), len(job), int(width[job].sum()),
        _spent(width[job], action_seconds, action_cost), 0.0,
    )  # fmt: skip


def move_costs(
    line: Line,
    jobs: RunningJobs,
    horizon: int,
    caught: Bools,
    *,
    action_seconds: float = 0.0,
    action_cost: float = 0.0,
) -> AlarmCosts:
    """Return what it brings that jobs leave a node at each alarm on it.

    Parameters
    ----------
    caught : bool[f], which failures an alarm within the horizon announced in time
        (`JudgedAlarms.caught`)
    action_seconds : for which a job's nodes are busy with moving
    action_cost : of each, besides, node-hours
    """
    job, _ = _answers(line, jobs)
    struck, when, node = _struck(line, jobs)
    known = {
        (t, n) for t, n, c in zip(line.failure_time.tolist(), line.failure_node.tolist(),
                                  caught.tolist(), strict=True) if c
    }  # fmt: skip
    safe = np.array([pair in known for pair in zip(when.tolist(), node.tolist(), strict=True)],
                    dtype=np.bool_)  # fmt: skip
    width = jobs.width
    return AlarmCosts(
        "move", len(struck), _lost(jobs, struck, when), _lost(jobs, struck[safe], when[safe]),
        int(safe.sum()), len(job), int(width[job].sum()),
        _spent(width[job], action_seconds, action_cost), _empty(line, horizon),
    )  # fmt: skip


def _lost(jobs: RunningJobs, struck: Ints, when: Ints) -> float:
    return float((jobs.width[struck] * (when - jobs.start[struck])).sum()) / HOUR


def _spent(width: Ints, seconds: float, cost: float) -> float:
    return float(width.sum()) * seconds / HOUR + cost * len(width)


def _empty(line: Line, horizon: int) -> float:
    """Return the node-hours from alarms to the next failure of their node, or to the horizon's end;
    alarms that overlap count once. An alarm about the machine leaves no node."""
    order = np.lexsort((line.failure_time, line.failure_node))
    own = line.alarm_node != WHOLE
    begin, node = line.alarm_time[own], line.alarm_node[own]
    end = np.minimum(np.minimum(line.until[own], begin + horizon), line.end)
    span = line.end + horizon + 2
    keys = line.failure_node[order] * span + line.failure_time[order]
    place = np.searchsorted(keys, node * span + begin, "right")
    some = place < len(keys)
    at = order[place[some]]
    same = line.failure_node[at] == node[some]
    end[some] = np.where(same, np.minimum(end[some], line.failure_time[at]), end[some])
    found = cover(begin, end, node, line.nodes, (line.begin, line.end))
    hours: Floats = found.by_node * ((line.end - line.begin) / HOUR)
    return float(hours.sum())
