"""Rules of `events.csv`, `decisions.csv`, `foreseen.csv` and `maintenance.csv`: what came, was
decided, foreseen and planned is what jobs, runs and failures tell."""

from __future__ import annotations

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import Outages
from forestall.core.certify.sheet import Bool, Int
from forestall.core.certify.sums import answering, passes, per
from forestall.core.model.decisions import DecisionKind
from forestall.core.model.events import EventKind
from forestall.scheduling.certify.files import PromiseEventRows, PromiseRun


def events(run: PromiseRun, finding: Finding) -> str:
    """Events are what jobs, runs and failures tell, in their order."""
    events, jobs, failures, parameters = run.events, run.jobs, run.failures, run.given.parameters
    every = np.arange(len(jobs))

    def of(kind: EventKind) -> PromiseEventRows:
        return events.take(events.kind == kind)

    events.in_order(finding, events.time)
    submitted, ended = of(EventKind.SUBMITTED), of(EventKind.CHECKPOINT_FINISHED)
    mine = {"job": every, "time": jobs.submit, "size": jobs.size}
    submitted.match(finding, "submission", mine, "jobs.csv")
    _requested(run, submitted, finding)
    mine = {"job": every, "time": jobs.finish}
    of(EventKind.FINISHED).match(finding, "finish", mine, "jobs.csv")
    until = failures.time + failures.downtime
    mine = {"node": failures.node, "time": failures.time, "until": until}
    of(EventKind.NODE_FAILED).match(finding, "failure", mine, "failures.csv", once=False)
    # A node comes back, and may fail again in that second.
    down = Outages.of(failures.node, failures.time, failures.downtime, joined=False)
    last, back = int(jobs.finish.max()), of(EventKind.NODE_RECOVERED)
    due = down.end < last
    mine = {"node": down.node[due], "time": down.end[due]}
    back.take(back.time < last).match(finding, "recovery", mine, "failures.csv")
    if run.given.stores is None:  # what becomes known of a save makes passes between events
        raised = parameters.get("overrun") == "extend"
        passes(finding, events, events.kind == EventKind.PASS, each=True, alone=raised)
    for kind, count, what in (
        (EventKind.CHECKPOINT_REQUESTED, jobs.checkpoints + jobs.skipped, "requests"),
        (EventKind.CHECKPOINT_FINISHED, run.of_jobs(run.runs.completed), "ends"),
    ):
        here = per(of(kind).job, len(jobs))
        text = "job {name}: {here} " + what + " of checkpoints in events.csv, {count} in the tables"
        jobs.where(finding, here != count, text, here=here, count=count)
    begun = run.decisions.take(run.decisions.kind == DecisionKind.CHECKPOINT)
    odd = ~_among(ended.job, ended.time, begun.job, begun.end)
    text = "job {job}: a checkpoint ends at {time}, but not in decisions.csv"
    ended.where(finding, odd, text)
    return f"{len(events)} events, consistent with jobs, runs and failures"


def _among(owner: Int, time: Int, owners: Int, times: Int) -> Bool:
    """Return which of the first pairs are among the second."""
    known = set(zip(owners.tolist(), times.tolist(), strict=True))
    pairs = zip(owner.tolist(), time.tolist(), strict=True)
    return np.array([pair in known for pair in pairs], dtype=np.bool_)


def _requested(run: PromiseRun, submitted: PromiseEventRows, finding: Finding) -> None:
    """What jobs asked for, as the parameters have it."""
    parameters, runtime = run.given.parameters, run.jobs.runtime[submitted.job]
    if parameters.get("estimates") == "runtime":
        text = "job {job} has an estimate of {estimate} s, but runs {runtime} s"
        submitted.where(finding, submitted.estimate != runtime, text, runtime=runtime)
    every = parameters.get("checkpoint_interval")
    if parameters.get("checkpoint") != "daly" and isinstance(every, int):
        text = "job {job} has a checkpoint interval of {interval} s instead of {every} s"
        submitted.where(finding, submitted.interval != every, text, every=every)


# ------------------------------------------------------------------------------------- decisions


def decisions(run: PromiseRun, finding: Finding) -> str:
    """Decisions answer events, and are what became of the jobs; what is promised when a job comes
    is its promise, and holds for all that follows."""
    told, jobs = run.decisions, run.jobs
    answering(finding, run.events, told)
    if run.is_complete:
        started = told.take(told.kind == DecisionKind.START)
        mine = {"job": run.runs.job, "start": run.runs.start}
        started.match(finding, "start", mine, "runs.csv")
        pairs = zip(run.runs.job.tolist(), run.runs.start.tolist(), strict=True)
        of_run = dict(zip(pairs, run.runs.nodes.tolist(), strict=True))
        pairs = zip(started.job.tolist(), started.start.tolist(), strict=True)
        nodes = zip(pairs, started.nodes.tolist(), strict=True)
        other = np.array([of_run.get(pair, text) != text for pair, text in nodes], dtype=np.bool_)
        started.where(finding, other, "job {job} starts on nodes other than those it runs on")
    for kind, name in (
        (DecisionKind.CHECKPOINT, "checkpoints"),
        (DecisionKind.SKIP, "skipped"),
        (DecisionKind.REQUEUE, "restarts"),
    ):
        here = per(told.job[told.kind == kind], len(jobs))
        jobs.compare(finding, "job {name}", {name: here}, "in decisions.csv")
    made = told.take(np.isin(told.kind, (DecisionKind.RESERVE, DecisionKind.START)))
    made.compare(finding, "job {job}", {"deadline": jobs.deadline[made.job]}, "in jobs.csv")
    first = np.full(len(jobs), -1, dtype=np.int64)
    rows = np.flatnonzero(told.kind == DecisionKind.RESERVE)[::-1]
    first[told.job[rows]] = rows
    promised = jobs.take(jobs.promised & (first >= 0))
    chance = told.probability[first[jobs.promised & (first >= 0)]]
    promised.compare(finding, "job {name}", {"promise": chance}, "in decisions.csv")
    text = "job {name} has a promise, but none in decisions.csv"
    jobs.where(finding, jobs.promised & (first < 0), text)
    return f"{len(told)} decisions, consistent with jobs and runs"


# -------------------------------------------------------------------------- foreseen and planned


def foreseen(run: PromiseRun, finding: Finding) -> str:
    """Failures that could be foreseen were, and no others, as far as they were played."""
    known, failures = run.foreseen, run.failures
    accuracy = run.summary.number("parameters.accuracy", 0, 1 + 1e-12)
    known.in_order(finding, known.time)
    known.where(finding, known.detectability > accuracy, "could not be foreseen")
    if run.summary.held.get("repeat_period") or not len(failures):
        return f"{len(known)} failures, all foreseeable with an accuracy of {accuracy:g}"
    mine = failures.take(~failures.planned & (failures.detectability <= accuracy))
    first, last = int(failures.time.min()), int(failures.time.max())
    within = known.take((known.time >= first) & (known.time <= last))
    columns = {name: getattr(mine, name) for name in ("node", "time", "downtime", "detectability")}
    within.match(finding, "failure", columns, "failures.csv", once=False)
    return f"{len(known)} failures, {len(within)} of them played"


def planned(run: PromiseRun, finding: Finding) -> str:
    """Every outage that was planned before the last job finished came, and lasted as long."""
    planned, failures, said = run.planned, run.failures, run.summary.held.get("planned_outages")
    if said != len(planned):
        text = "summary.json counts {0} planned outages, but {1} are listed"
        finding.wrong(text, said, len(planned))
    due = planned.take(planned.time < int(run.jobs.finish.max()))
    until = failures.time + failures.downtime
    came = set(zip(*(one.tolist() for one in (failures.time, until, failures.node)), strict=True))
    rows = zip(due.time.tolist(), due.until.tolist(), due.node.tolist(), strict=True)
    missing = np.array([row not in came for row in rows], dtype=np.bool_)
    text = "node {node} was planned to be out from {time} to {until}, but failures.csv has no such "
    due.where(finding, missing, text + "outage")
    return f"all {len(due)} planned outages occurred"
