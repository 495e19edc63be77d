"""Rules of `events.csv` and `decisions.csv`: what came and was decided is what jobs, stays, moves
and failures tell."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.sheet import NONE, Bool, Int
from forestall.core.certify.sums import answering, passes
from forestall.core.model.virtual import FAR, TaskDecisionKind, TaskEventKind
from forestall.core.model.virtual_books import Begun, Ended
from forestall.logs.predictions import PERFECT, RECORDED
from forestall.machines.certify.facts import Facts
from forestall.machines.certify.files import TaskEventRows


def events(run: Facts, finding: Finding) -> str:
    """Events are what jobs, stays and failures tell, in their order."""
    events, jobs, stays, failures = run.events, run.jobs, run.chain.stays, run.failures

    def of(kind: TaskEventKind) -> TaskEventRows:
        return events.take(events.kind == kind)

    def of_stays(which: Bool) -> dict[str, Int]:
        return {"job": stays.job[which], "index": stays.index[which], "time": stays.end[which]}

    events.in_order(finding, events.time)
    passes(finding, events, events.kind == TaskEventKind.PASS)
    mine = {
        "job": np.arange(len(jobs)), "time": jobs.submit, "size": jobs.size,
        "work": jobs.runtime * run.given.most, "deadline": jobs.deadline,
    }  # fmt: skip
    of(TaskEventKind.SUBMITTED).match(finding, "submission", mine, "jobs.csv")
    of(TaskEventKind.TASK_ENDED).match(finding, "end of a task", of_stays(stays.over), "runs.csv")
    # A live migration stops its machine at the source when its memory is there.
    live = run.given.parameters.get("migration") == "pre-copy"
    moved = of_stays(stays.ended == (Ended.MOVED if live else NONE))
    of(TaskEventKind.MIGRATION_ENDED).match(finding, "end of a copy", moved, "runs.csv")
    until = failures.time + failures.downtime
    mine = {"node": failures.node, "time": failures.time, "at": until}
    of(TaskEventKind.NODE_FAILED).match(finding, "failure", mine, "failures.csv", once=False)
    end, back = int(events.time.max()), of(TaskEventKind.NODE_RECOVERED)
    due = run.down.end < end
    mine = {"node": run.down.node[due], "time": run.down.end[due]}
    back.take(back.time < end).match(finding, "recovery", mine, "failures.csv")
    _foreseen(run, finding)
    _regular(run, finding)
    _leaving(run, finding)
    return f"{len(events)} events, consistent with jobs, stays and failures"


def _about_nodes(run: Facts) -> Iterator[tuple[int, int, int, int]]:
    """Yield time, kind, node, and the time that is foreseen, of each event."""
    columns = (run.events.time, run.events.kind, run.events.node, run.events.at)
    return zip(*(column.tolist() for column in columns), strict=True)


def _foreseen(run: Facts, finding: Finding) -> None:
    """What was foreseen when a failure came is what was told last of its node."""
    failures = run.failures
    force: dict[int, int] = {}
    due: dict[tuple[int, int], list[int]] = {}
    for time, kind, node, at in _about_nodes(run):
        if kind == TaskEventKind.FORESEEN:
            force[node] = at
        elif kind == TaskEventKind.NODE_FAILED:
            due.setdefault((node, time), []).append(force.pop(node, NONE))
    columns = (failures.node, failures.time, failures.predicted)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    known = [due.get((node, time), [said]) for node, time, said in rows]
    pairs = zip(failures.predicted.tolist(), known, strict=True)
    bad = np.array([said not in some for said, some in pairs], dtype=np.bool_)
    text = "failure of node {node} at {time}: predicted is {predicted}, {here} by events.csv"
    here = np.array([some[0] for some in known], dtype=np.int64)
    failures.where(finding, bad, text, here=("predicted", here))


def _regular(run: Facts, finding: Finding) -> None:
    """Predictions are told as the run begins, when their node fails, and as often as was asked."""
    events, name = run.events, str((run.summary.held.get("predictor") or {}).get("name"))
    if not (name in (RECORDED, PERFECT) or name.startswith("synthetic, ") or ", asked " in name):
        return  # made beforehand: they may come at any time
    begin, every = int(events.time.min()), run.given.parameters.get("predict_every")
    failed = events.kind == TaskEventKind.NODE_FAILED
    known = set(zip(events.node[failed].tolist(), events.time[failed].tolist(), strict=True))
    here = events.take(events.kind == TaskEventKind.FORESEEN)
    regular = (here.time - begin) % (every or FAR) == 0
    pairs = zip(here.node.tolist(), here.time.tolist(), strict=True)
    odd = ~regular & np.array([pair not in known for pair in pairs], dtype=np.bool_)
    here.where(finding, odd, "node {node}: a prediction at {time}, when none was due")
    rows, times = np.unique(np.stack((here.node, here.time)), axis=1, return_counts=True)
    finding.where(times > 1, "node {0}: two predictions at {1} (events.csv)", *rows)


def _leaving(run: Facts, finding: Finding) -> None:
    """Nodes are to be left `lead` seconds before the time predicted, or at once, unless they fail
    or are foreseen to fail at another time before; and moves flee what was predicted."""
    events, given, moves = run.events, run.given, run.moves
    known: dict[int, tuple[int, int]] = {}
    lead = 0 if given.parameters.get("migration") == "none" else given.lead
    due, fled, end = [], {}, int(events.time.max())
    for time, kind, node, at in _about_nodes(run):
        if kind not in (TaskEventKind.FORESEEN, TaskEventKind.NODE_FAILED):
            fled.update({(time, node): known[node][1]} if node in known else {})
            continue
        if node in known and known[node][0] < time:
            due.append((node, known[node][0]))
        known.pop(node, None)
        if kind == TaskEventKind.FORESEEN and at != NONE:
            known[node] = (max(time, at - lead), at)
    due += [(node, when) for node, (when, _) in known.items()]
    if "tau" not in given.parameters:  # learnt: what moves take is not told here
        here = np.array([pair for pair in due if pair[1] < end], dtype=np.int64).reshape(-1, 2)
        left = events.take((events.kind == TaskEventKind.LEAVE_DUE) & (events.time < end))
        mine = {"node": here[:, 0], "time": here[:, 1]}
        left.match(finding, "that it is to be left", mine, "the predictions")
    columns = (moves.time, moves.source, moves.predicted)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    here = np.array([fled.get((time, node), said) for time, node, said in rows], dtype=np.int64)
    bad = (moves.predicted != NONE) & (moves.predicted != here)
    text = "flees a failure of node {source} at {predicted}, but {here} was predicted"
    moves.note(finding, bad, text, here=here)


def decisions(run: Facts, finding: Finding) -> str:
    """Decisions answer events, and are what became of the tasks."""
    told, moves, jobs = run.decisions, run.moves, run.jobs
    answering(finding, run.events, told)
    for kind, begun in (
        (TaskDecisionKind.START, Begun.PLACED),
        (TaskDecisionKind.RESTART, Begun.RESTARTED),
        (TaskDecisionKind.MIGRATE, Begun.MIGRATED),
    ):
        here = run.stays.take(run.stays.begun == begun)
        mine = {
            "job": here.job, "index": here.index, "time": here.start, "node": here.node,
            "rate": here.rate,
        }  # fmt: skip
        some = told.take(told.kind == kind)
        some.match(finding, kind.name.lower(), mine, "runs.csv", once=False)
    mine = {
        "job": moves.job, "index": moves.index, "time": moves.time, "source": moves.source,
        "node": moves.target,
    }  # fmt: skip
    some = told.take(told.kind == TaskDecisionKind.MIGRATE)
    some.match(finding, "move", mine, "migrations.csv", once=False)
    some, deadline = told.take(told.deadline != NONE), jobs.deadline[told.job]
    mine = {"deadline": deadline[told.deadline != NONE]}
    some.compare(finding, "job {job}", mine, "in jobs.csv")
    return f"{len(told)} decisions, consistent with stays and moves"
