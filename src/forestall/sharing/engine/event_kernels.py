"""The engine for guests on shared hosts: what happened in, what should be done out.

Source: S. Bagchi et al., slides "Falcon Scheduler" and "Experiments for Schedulers". A guest runs
on one host; one whose host its owner needs, or that is away, is ended and tried elsewhere.
"""

from __future__ import annotations

import numpy as np

from forestall.core._compile import ask, kernel
from forestall.core.model.cycle import S2, S3, S4, GuestDecisionKind, GuestEventKind, GuestReason
from forestall.sharing.engine import state as states
from forestall.sharing.engine.state import CONDOR, DONE, FALCON, OWN, RUNNING, SLIDES, WAITING
from forestall.sharing.rules import falcon_kernels as falcon

_ENDED = np.int64(GuestEventKind.GUEST_ENDED)
_HOST_STATE = np.int64(GuestEventKind.HOST_STATE)
_AT_RISK_EVENT = np.int64(GuestEventKind.GUEST_AT_RISK)
_SAVED = np.int64(GuestEventKind.GUEST_SAVED)
_TRY = np.int64(GuestEventKind.TRY)

_START = np.int64(GuestDecisionKind.START)
_WAIT = np.int64(GuestDecisionKind.WAIT)
_GIVE_UP = np.int64(GuestDecisionKind.GIVE_UP)
_END = np.int64(GuestDecisionKind.END)
_MOVE = np.int64(GuestDecisionKind.MOVE)

_BEST_RANK = np.int64(GuestReason.BEST_RANK)
_TRUE_END = np.int64(GuestReason.TRUE_END)
_TRUE_LONGEST = np.int64(GuestReason.TRUE_LONGEST)
_NO_HOST = np.int64(GuestReason.NO_HOST)
_DOOMED = np.int64(GuestReason.DOOMED)
_TRIED_ENOUGH = np.int64(GuestReason.TRIED_ENOUGH)
_CONTENTION = np.int64(GuestReason.CONTENTION)
_THRASHING = np.int64(GuestReason.THRASHING)
_AWAY = np.int64(GuestReason.AWAY)
_OWN_CHOICE = np.int64(GuestReason.OWN_CHOICE)
_DECLINED = np.int64(GuestReason.DECLINED)
_AT_RISK = np.int64(GuestReason.AT_RISK)


@kernel
def take(state, kind, key, told, now):
    """Take in one event, and leave the decision on it in `state.out` (`state.at[HELD]` of them).

    `told` is the new state of a host (HOST_STATE), or how many candidates `state.estimates` tells
    of (TRY; GUEST_AT_RISK, the guest's own host among them).
    """
    state.at[states.HELD] = 0
    if kind == _ENDED:
        end_guest(state, key)
    elif kind == _HOST_STATE:
        change(state, key, told)
    elif kind == _AT_RISK_EVENT:
        consider(state, key, told)
    elif kind == _SAVED:
        leave(state, key)
    elif kind == _TRY:
        place(state, key, told, now)


@kernel
def free_hosts(state):
    """Write the hosts that a guest could be started on into `state.estimates`, in order; return
    how many there are."""
    count = 0
    for number in range(len(state.hosts)):
        host = state.hosts[number]
        if host.state <= S2 and host.guest < 0:
            state.estimates[count].host = number
            count += 1
    return count


@kernel
def note(state, kind, reason, number, host, at):
    """Write the decision; its figures are 0."""
    out, job = state.out[0], state.jobs[number]
    out.kind, out.reason, out.job, out.host, out.at = kind, reason, number, host, at
    out.tries, out.candidates = job.tries, 0
    out.jct, out.mttf, out.etl, out.jctf, out.rank, out.chance = 0, 0, 0, 0, 0, 0
    state.at[states.HELD] = 1


@kernel
def end_guest(state, number):
    """Take in that a guest has done its work."""
    job = state.jobs[number]
    state.hosts[job.host].guest = -1
    job.host, job.status = -1, DONE
    state.at[states.LEFT] -= 1


@kernel
def change(state, number, told):
    """Take in the new state of a host; end its guest where it cannot stay."""
    host = state.hosts[number]
    host.state = told
    guest = host.guest
    if told <= S2 or guest < 0:
        return
    job = state.jobs[guest]
    host.guest = -1
    # Counted from here anew: tries and misses are those since a job last lost its host.
    job.host, job.status, job.tries, job.misses = -1, WAITING, 0, 0
    reason = _CONTENTION if told == S3 else (_THRASHING if told == S4 else _AWAY)
    note(state, _END, reason, guest, number, -1)


@kernel
def consider(state, number, count):
    """Let a guest whose host may leave move, where another is expected to end it first."""
    chosen = falcon.choose(state.estimates, count)[0]
    own = state.jobs[number].host
    stay = chosen
    for k in range(count):
        if state.estimates[k].host == own:
            stay = k
    best = state.estimates[chosen]
    # Falcon's rule may prefer a host for how long it lives; a guest that runs moves to end sooner.
    if chosen == stay or best.jctf >= state.estimates[stay].jctf:
        return
    note(state, _MOVE, _AT_RISK, number, best.host, -1)
    tell(state.out[0], best)
    state.out[0].tries, state.out[0].candidates = 0, count


@kernel
def leave(state, number):
    """Take in that a guest that moves has been saved, and has left its host."""
    job = state.jobs[number]
    state.hosts[job.host].guest = -1
    job.host, job.status, job.tries, job.misses = -1, WAITING, 0, 0


@kernel
def tell(out, estimate):
    """Write the figures of a decision."""
    out.jct, out.mttf, out.etl = estimate.jct, estimate.mttf, estimate.etl
    out.jctf, out.rank, out.chance = estimate.jctf, estimate.rank, estimate.chance


@kernel
def place(state, number, count, now):
    """Start a job on one of the candidates, or say what becomes of it."""
    job, rules = state.jobs[number], state.rules
    job.tries += 1
    if count == 0:
        job.misses += 1
        # Only a job that never ran is given up: others have work to lose.
        if job.started == 0 and job.misses > rules.retries:
            job.status = DONE
            state.at[states.LEFT] -= 1
            note(state, _GIVE_UP, _TRIED_ENOUGH, number, -1, -1)
        else:
            note(state, _WAIT, _NO_HOST, number, -1, now + rules.retry)
        return
    chosen, reason = choose(state, number, count, now)
    if chosen < 0:
        note(state, _WAIT, reason, number, -1, now + rules.retry)
    else:
        start(state, number, chosen, reason)
    state.out[0].candidates = count


@kernel
def choose(state, number, count, now):
    """Return which candidate the scheduler takes for a job (-1: none), and why."""
    estimates, rules = state.estimates, state.rules
    if rules.scheduler in (FALCON, SLIDES):
        return falcon.choose(estimates, count)
    if rules.scheduler == CONDOR:
        draw = state.draws[state.at[states.STARTS]]
        return falcon.choose_rank(estimates, count, draw), _BEST_RANK
    if rules.scheduler == OWN:
        chosen = ask(rules.own, number, count, now)
        return chosen, _OWN_CHOICE if chosen >= 0 else _DECLINED
    # The omniscient one, which the others are measured against.
    first, longest = falcon.choose_true(estimates, count)
    if first >= 0:
        return first, _TRUE_END
    # No host lasts until the end, but checkpoints keep what is done; from scratch it would be in
    # vain.
    if rules.resumes != 0:
        return longest, _TRUE_LONGEST
    return -1, _DOOMED


@kernel
def start(state, number, chosen, reason):
    """Start a job on a candidate."""
    job, estimate = state.jobs[number], state.estimates[chosen]
    state.at[states.STARTS] += 1
    state.hosts[estimate.host].guest = number
    job.host, job.status, job.started = estimate.host, RUNNING, 1
    note(state, _START, reason, number, estimate.host, -1)
    tell(state.out[0], estimate)
