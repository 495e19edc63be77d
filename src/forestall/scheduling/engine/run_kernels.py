"""What all policies share while jobs run: begin, end, checkpoints, failures of nodes."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import inlined, kernel
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.scheduling.engine.state import COUNTED, DONE, RUNNING, SPENT, WAITING
from forestall.scheduling.rules import checkpoint_kernels as checkpoints
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.nodes import bitset_kernels as bits
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import timeline_kernels as timelines

# NumPy's whole numbers, since Numba compiles a function anew for each literal that it is called
# with.
_START = np.int64(DecisionKind.START)
_CHECKPOINT = np.int64(DecisionKind.CHECKPOINT)
_SKIP = np.int64(DecisionKind.SKIP)
_REQUEUE = np.int64(DecisionKind.REQUEUE)
_NODE_FAILED = np.int64(Reason.NODE_FAILED)
_RISK_WORTH_IT = np.int64(Reason.RISK_WORTH_IT)
_RISK_TOO_LOW = np.int64(Reason.RISK_TOO_LOW)
_DEADLINE_FIRST = np.int64(Reason.DEADLINE_FIRST)
_ALWAYS = np.int64(Reason.ALWAYS)


@inlined
def decided(out, kind, reason, job):
    """Append a decision without figures; return the record for its figures."""
    record = out.decisions[out.held[0]]
    out.held[0] += 1
    record.kind, record.reason, record.job = kind, reason, job
    record.node, record.start, record.end, record.deadline = -1, -1, -1, -1
    record.probability, record.count, record.at = 0.0, 0, -1
    record.left_out, record.left_out_at, record.ranges = -1, -1, 0
    return record


@inlined
def length_of(job, rules):
    """Return the seconds that a reservation for the work left takes, a recovery before it."""
    work = checkpoints.reservation_length(
        job.estimate - job.saved, job.interval, job.pause, rules.checkpoint
    )
    if job.failovers > 0:
        work += job.failovers * failover_of(job, rules)
    return work + job.recovery if job.saved > 0 else work


@inlined
def failover_of(job, rules):
    """Return the most that one failure can delay a job that goes on at once on a spare, s: all
    since its last checkpoint began, or since its start; where requests are skipped it can be more.
    """
    most = job.estimate
    if rules.checkpoint != checkpoints.CHECKPOINT_NONE and job.estimate > job.interval:
        most = job.interval + job.pause
    return most + job.recovery


@inlined
def admit(state, j):
    """Take note of a job that has not been seen before."""
    job = state.jobs[j]
    job.row, job.low, job.deadline = -1, 0, -1


@inlined
def enlist(state, j):
    """Add job `j` to the list of those that run on known nodes."""
    machine = state.machine
    state.jobs[j].place = machine.at[machines.RUNNING]
    machine.running[machine.at[machines.RUNNING]] = j
    machine.at[machines.RUNNING] += 1


@inlined
def delist(state, j):
    """Take job `j` from that list; the last one takes its place."""
    machine = state.machine
    machine.at[machines.RUNNING] -= 1
    last = machine.running[machine.at[machines.RUNNING]]
    machine.running[state.jobs[j].place] = last
    state.jobs[last].place = state.jobs[j].place


@kernel
def job_on(state, node):
    """Return the job that runs on a node, or -1."""
    machine = state.machine
    if bits.has(machine.rows[machines.BUSY], node):
        for k in range(machine.at[machines.RUNNING]):
            j = machine.running[k]
            if bits.has(state.timeline.rows[state.jobs[j].row], node):
                return j
    return np.int64(-1)


@inlined
def begin(state, j, now, reason):
    """Start job `j` on the nodes of its row and say so."""
    job = state.jobs[j]
    # `mark` is c of the lost work (x - c) n: this start, until a checkpoint is complete.
    job.status, job.mark, job.progress, job.since = RUNNING, now, job.saved, 0
    if job.row >= 0:
        machines.assign(state.machine, state.timeline.rows[job.row], job.low, job.size)
        enlist(state, j)
    else:
        state.machine.at[machines.UNASSIGNED] -= job.size
    record = decided(state.out, _START, reason, j)
    record.start, record.end, record.deadline = job.start, job.end, job.deadline
    record.probability = job.promise


@inlined
def end_run(state, j, status):
    """Take the nodes from a running job; its row of nodes is given back."""
    job = state.jobs[j]
    job.status = status
    if job.row >= 0:
        delist(state, j)
        machines.vacate(state.machine, state.timeline.rows[job.row], job.low, job.size)
        timelines.give_row(state.timeline, job.row)
        job.row = -1
    else:
        state.machine.at[machines.UNASSIGNED] += job.size


@inlined
def finish(state, j):
    """Note that job `j` has done its work."""
    end_run(state, j, DONE)


@inlined
def kill(state, j, node, now):
    """End the run of `j` because `node` failed; work since its last checkpoint is lost."""
    job = state.jobs[j]
    record = decided(state.out, _REQUEUE, _NODE_FAILED, j)
    record.node, record.count = node, (now - job.mark) * job.size
    record.deadline, record.probability, record.start = job.deadline, job.promise, job.start
    record.at = job.saved
    if job.spared > 0:
        if job.failovers == 0 and job.spared == COUNTED:
            job.spared = SPENT
        job.pool, job.failovers = 0, max(job.failovers - 1, 0)
    end_run(state, j, WAITING)


@inlined
def answer(state, j, risk, now):
    """Answer a checkpoint request, `risk` being p_f until the next one could be done.

    Only what has passed since the last checkpoint that was done can be lost: `since` counts its
    requests, this one included.
    """
    rules, job = state.rules, state.jobs[j]
    job.progress += job.interval
    job.since += 1
    left = job.estimate - job.progress
    verdict, reason = checkpoints.PERFORM, _ALWAYS
    if rules.checkpoint == checkpoints.CHECKPOINT_RISK:
        verdict = checkpoints.answer_request(
            risk, job.since, job.interval, job.pause, left, now, job.deadline
        )
        reason = _RISK_WORTH_IT
    if verdict == checkpoints.SKIP_RISK:
        reason = _RISK_TOO_LOW
    elif verdict == checkpoints.SKIP_DEADLINE:
        reason = _DEADLINE_FIRST
    perform = verdict == checkpoints.PERFORM
    record = decided(state.out, _CHECKPOINT if perform else _SKIP, reason, j)
    # Here alone a decision's probability is that of a failure; elsewhere it is the promise.
    record.probability, record.count, record.deadline = risk, job.since, job.deadline
    record.start, record.end = now, now + job.pause if perform else now
    if perform:
        job.requested_at, job.since = now, 0


@inlined
def risk_of_waiting(state, j, now):
    """Return p_f of a running job's nodes over [now, now + C + I + C)."""
    rules, job = state.rules, state.jobs[j]
    if rules.checkpoint != checkpoints.CHECKPOINT_RISK or job.row < 0:
        return 0.0
    end = now + 2 * job.pause + job.interval
    return risks.risk_of_set(state.prediction, state.timeline.rows[job.row], now, now, end)


@inlined
def saved(state, j):
    """Note that the checkpoint of job `j` is complete: what it saved is the progress at its
    request, and a failure from now on costs the time since then, its pause included."""
    job = state.jobs[j]
    job.saved, job.mark = job.progress, job.requested_at


@inlined
def fall_back(state, j, work):
    """Note that the last checkpoint of job `j` cannot be had, and that of one that can is `work`:
    the work left, and the time that it takes, are more than they were."""
    job = state.jobs[j]
    job.saved, job.progress = work, work


@inlined
def taken_at_start(state, j):
    """Return the lowest node of `j` that is down or still has another job, or -1: such a start is
    not possible. In a simulation no run lasts longer than its reservation."""
    row = state.timeline.rows[state.jobs[j].row]
    idle = state.machine.rows[machines.IDLE]
    for i in range(len(row)):
        word = row[i] & ~idle[i]
        if word != bits.ZERO:
            return 64 * i + bits.lowest(word)
    return -1
