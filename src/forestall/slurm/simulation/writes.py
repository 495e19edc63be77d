"""How the modelled controller carries out an action; it knows nothing of promises and refuses only
what Slurm would refuse."""

from __future__ import annotations

from forestall.core.model.faults import WriteError, WriteFault
from forestall.core.model.marks import mark_of_reason, noted, reason_of, reservation_name, tagged
from forestall.slurm.cluster.actions import (
    RESERVATION_FLAGS,
    TEST_FLAGS,
    Action,
    DrainNode,
    Exclude,
    Hold,
    OnJob,
    OnNode,
    RebootNode,
    Release,
    Requeue,
    Reserve,
    ReserveNode,
    SignalJob,
    StartNow,
    Submit,
    Unreserve,
)
from forestall.slurm.cluster.nouns import ClusterJob, ClusterReservation
from forestall.slurm.simulation.limits import REFUSALS, broken_limit
from forestall.slurm.simulation.moves import (
    candidates,
    drained,
    end_reservation,
    hold,
    queue_again,
    rehome,
    resumed,
    waiting,
)
from forestall.slurm.simulation.state import PARTITION, Deed, SlurmState

ME = "forestall"
"""The user whose process acts."""


def apply(state: SlurmState, action: Action, delay: int) -> int:
    """Carry out an action; returns the number of a job that it submitted, else 0.

    Parameters
    ----------
    delay : seconds that a job which is queued again waits

    Raises WriteError: REFUSED or UNKNOWN_ID.
    """
    made = 0
    if isinstance(action, Submit):
        made = _submit(state, action)
    elif isinstance(action, Reserve):
        _reserve(state, action)
    elif isinstance(action, ReserveNode):
        _reserve_node(state, action)
    elif isinstance(action, Unreserve):
        one = state.reservations.get(reservation_name(action.of))
        if one is None:
            raise WriteError(WriteFault.UNKNOWN_ID, action.id, "Requested reservation is invalid")
        if any(
            job.reservation == one.name and job.state == "RUNNING" for job in state.jobs.values()
        ):
            raise WriteError(WriteFault.REFUSED, action.id, "Requested reservation is in use")
        end_reservation(state, one)
    elif isinstance(action, OnNode):
        _on_node(state, action)
    else:
        _on_job(state, action, delay)
    state.deeds.append(Deed(state.now, action))
    return made


def _submit(state: SlurmState, action: Submit) -> int:
    if action.partition not in ("", PARTITION):
        message = "Invalid partition name specified"
        raise WriteError(WriteFault.REFUSED, action.id, message)
    if action.reservation and action.reservation not in state.reservations:
        raise WriteError(WriteFault.REFUSED, action.id, "Requested reservation is invalid")
    limit = 60 * -(-action.time // 60)
    job = waiting(state, action.user or ME, action.name, action.nodes, limit)
    broken = broken_limit(state.partition, job.node_count, job.limit) if state.refuses else ""
    if broken in REFUSALS:
        state.happened["refused by a limit"] += 1
        raise WriteError(WriteFault.REFUSED, action.id, REFUSALS[broken])
    begin = max(action.begin or 0, state.now)
    state.job(
        job._replace(
            comment=tagged(action.id, action.words), reservation=action.reservation,
            excluded=action.excluded, features=action.features, eligible=begin, priority=2,
        )
    )  # fmt: skip
    if begin > state.now:
        state.plan(begin - state.now, "eligible", job.id)
    return job.id


def _reserve(state: SlurmState, action: Reserve) -> None:
    name, end = reservation_name(action.id), action.start + 60 * -(-action.time // 60)
    if name in state.reservations:
        raise WriteError(WriteFault.REFUSED, action.id, "Duplicate reservation name")
    free = candidates(state, action.start, end)
    if end <= state.now or len(free) < action.nodes:
        raise WriteError(WriteFault.REFUSED, action.id, "Requested nodes are busy")
    one = ClusterReservation(
        name, action.start, end, tuple(free[: action.nodes]), action.nodes, action.features,
        action.partition, RESERVATION_FLAGS, action.users, action.accounts,
    )  # fmt: skip
    state.put(state.reservations, name, one)
    state.plan(end - state.now, "over", name)


def _reserve_node(state: SlurmState, action: ReserveNode) -> None:
    name, end = reservation_name(action.id), action.start + 60 * -(-action.time // 60)
    if action.node not in state.nodes:
        raise WriteError(WriteFault.REFUSED, action.id, "Invalid node name specified")
    others = [one for one in state.reservations.values() if action.node in one.nodes]
    if any(one.start < end and one.end > action.start for one in others) or end <= state.now:
        raise WriteError(WriteFault.REFUSED, action.id, "Requested nodes are busy")
    one = ClusterReservation(
        name, action.start, end, (action.node,), 1, "", "", TEST_FLAGS, action.users, ()
    )
    state.put(state.reservations, name, one)
    state.plan(end - state.now, "over", name)


def _on_job(state: SlurmState, action: OnJob, delay: int) -> None:
    job = state.jobs.get(action.job)
    if job is None:
        raise WriteError(WriteFault.UNKNOWN_ID, action.id, "Invalid job id specified")
    match action:
        case Requeue():
            avoided = tuple(dict.fromkeys((*job.excluded, *action.excluded)))
            if job.held and job.mark.hold and job.restarts > action.restarts:  # left half-way
                state.job(_let_go(job._replace(excluded=avoided), action.id))
                return
            if job.state != "RUNNING":
                raise WriteError(WriteFault.REFUSED, action.id, "Job is pending execution")
            queue_again(state, job._replace(excluded=avoided), "REQUEUED", delay)
        case StartNow():
            job = _let_go(job, action.id) if job.held and job.mark.hold else job
            state.job(job._replace(eligible=state.now, reason="Priority"))
        case Hold():
            note = noted(job.note, action.id, hold=action.id)
            hold(state, job, "JobHeldAdmin", note)
        case Release():
            state.job(_let_go(job, action.id))
        case SignalJob():
            _signal(state, action, job)
        case Exclude():
            avoided = tuple(dict.fromkeys((*job.excluded, *action.nodes)))
            state.job(job._replace(excluded=avoided, note=noted(job.note, action.id)))


def _let_go(job: ClusterJob, action: str) -> ClusterJob:
    return job._replace(priority=2, reason="Priority", note=noted(job.note, action, hold=""))


def _signal(state: SlurmState, action: SignalJob, job: ClusterJob) -> None:
    if job.state != "RUNNING":
        message = "Job can not be altered now, try again later"
        raise WriteError(WriteFault.REFUSED, action.id, message)
    state.job(job._replace(note=noted(job.note, action.id)))
    work = state.work.get(job.id)
    if work is not None and not set(job.nodes) & state.dead:
        state.work[job.id] = work._replace(saved=state.now - (job.start or state.now))


def _on_node(state: SlurmState, action: OnNode) -> None:
    node = state.nodes.get(action.node)
    if node is None:
        raise WriteError(WriteFault.UNKNOWN_ID, action.id, "Invalid node name specified")
    if node.name in state.theirs:
        state.trespasses.append(f"{action} touches node {node.name}, which people took out")
    if not isinstance(action, DrainNode) and not mark_of_reason(node.reason):
        state.trespasses.append(f"{action} touches node {node.name}: {node.reason!r} is not ours")
    held = node.name in state.holder
    if isinstance(action, DrainNode):
        state.node(drained(node, reason_of(action.id, action.words), ME, state.now))
        rehome(state, node.name)
    elif isinstance(action, RebootNode):
        out = drained(node, reason_of(action.id, action.words), ME, state.now)
        state.node(out._replace(flags=(*out.flags, "REBOOT_REQUESTED")))
        state.plan(1, "reboot", node.name)
    elif node.name in state.dead:
        raise WriteError(WriteFault.REFUSED, action.id, "the node does not answer")
    else:
        state.node(resumed(node, held))
