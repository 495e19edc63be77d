"""An engine's state: one tuple of structured arrays, made for compiled kernels."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import inlined, plain, record_of, records
from forestall.prediction.models.foreseen_kernels import Foreseen
from forestall.prediction.models.hazard.hazard_kernels import Hazard
from forestall.prediction.models.table_kernels import HazardTable
from forestall.scheduling.engine.policies import OWN, POLICIES
from forestall.scheduling.rules.asked_risk_kernels import AskedPredictor
from forestall.scheduling.rules.curved_risk_kernels import Curved
from forestall.scheduling.rules.nodes import timeline_kernels as timelines
from forestall.scheduling.rules.nodes.machine_kernels import IDLE, NODE, UNASSIGNED, Machine
from forestall.scheduling.rules.nodes.queue_kernels import (
    BLOCK,
    ENTRY,
    FIRST,
    LAST,
    LIVE,
    RELEASE,
    RELEASES,
    SHIFT,
    JobQueue,
    compact,
)
from forestall.scheduling.rules.nodes.timeline_kernels import EDGE, Timeline
from forestall.scheduling.rules.planned_risk_kernels import Planned
from forestall.scheduling.rules.search_state import NO_MATTER, ROWS, Near, Scratch, new_scratch
from forestall.scheduling.rules.spare_kernels import new_losses

PROMISE: Final = np.int64(POLICIES["promise"].code)
FCFS: Final = np.int64(POLICIES["fcfs"].code)
EASY: Final = np.int64(POLICIES["easy"].code)
CONSERVATIVE: Final = np.int64(POLICIES["conservative"].code)
OWN_POLICY: Final = np.int64(OWN.code)

NEW, WAITING, RUNNING, DONE = map(np.int64, range(4))
COUNTED, UNCOUNTED, SPENT = map(np.int64, range(1, 4))

JOB: Final = record_of(
    "size estimate interval submit status start end deadline promise:f8 saved progress mark "
    "requested_at since row low place pool pause recovery spared failovers earliest"
)
"""What the scheduler knows of a job: nodes; expected run time; seconds between checkpoint requests;
submit time; status; reservation or run [start, end); promise (deadline -1: none); work saved and
progress at the last request, s; what a failure now would roll back to; the last request; requests
since the last checkpoint; row of its node set (-1: none), a word before which that is empty, and
its place in the machine's list of running jobs; the pool of which it takes its nodes (0: all); the
pause of a checkpoint of it, C, and what it takes to go on from one, s; whether it may take any node
once it has lost one (0: no; 1: yes; 2: yes, and its losses are no longer counted; 3: yes, and it
has just lost one more than there was time for), and how many failures its reservation still has
time for; before when it is not placed, s."""

DECISION: Final = record_of(
    "kind reason job node start end deadline probability:f8 count at left_out left_out_at ranges"
)
"""A decision as kernels write it; the fields are those of `decisions.Decision`. `ranges` is
used only in logs: how many ranges of nodes belong to it."""

NOTHING, PLACE, CHECKPOINT = map(np.int64, range(3))

TASK: Final = record_of("kind job fresh reason node failed")
"""What an event leaves to decide: NOTHING, PLACE a job or answer its CHECKPOINT request; the job;
whether it is placed for the first time (0 or 1); otherwise why, and because of which node; a node
that has failed, which the prediction has not been told yet (-1: none)."""

Prediction = Foreseen | Curved | Hazard | HazardTable | Planned | AskedPredictor
"""What is known of failures to come; kernels are compiled for the one that a state has."""

FINISHES, FAILURES, OPENED, CLOSED, CARRY_OPENED, CARRY_CLOSED = range(6)


class Rules(NamedTuple):
    """The parameters that decisions depend on, as whole numbers and one float.

    policy: the code of its entry (`scheduling.engine.policies`); checkpoint: CHECKPOINT_NONE, _RISK
    or _ALL; placement: one of the rules of `search_state`; compression, requeue_original: 0 or 1;
    placed: whether node sets are kept (counting policies can do without); overhead: C in s of jobs
    of which nothing else is said; wanted: U, the least probability of success that a user takes.
    """

    policy: int
    checkpoint: int
    placement: int
    compression: int
    requeue_original: int
    placed: int
    overhead: int
    wanted: float


class Answers(NamedTuple):
    """DECISION[capacity], and int64[1] how many there are."""

    decisions: npt.NDArray[Any]
    held: npt.NDArray[np.int64]


class State(NamedTuple):
    """JOB[jobs]; the rules; the machine; the timeline (also the pool of bitset rows); the queue;
    room to work in; what is predicted; the decisions on the last event; TASK[1] what of it is left
    to decide; int64[6] flags of the present second; uint64[pools, words], the nodes of each pool,
    of which the promise policy may be told: 0 is all of them; which nodes a job has rather;
    what is learned of lost nodes of jobs with spares (`spare_kernels`)."""

    jobs: npt.NDArray[Any]
    rules: Rules
    machine: Machine
    timeline: Timeline
    queue: JobQueue
    scratch: Scratch
    prediction: Prediction
    out: Answers
    task: npt.NDArray[Any]
    at: npt.NDArray[np.int64]
    pools: npt.NDArray[np.uint64]
    near: Near = NO_MATTER
    losses: npt.NDArray[np.float64] = new_losses()


def full_row(nodes: int) -> npt.NDArray[np.uint64]:
    """Return the row of the set {0, ..., nodes - 1}."""
    flags = np.zeros((nodes + 63) // 64 * 64, dtype=np.uint8)
    flags[:nodes] = 1
    return np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64)


def new_machine(nodes: int) -> Machine:
    """Return a machine of `nodes` nodes, all up and unassigned."""
    machine = Machine(
        records(nodes, NODE),
        np.zeros((3, (nodes + 63) // 64), dtype=np.uint64),
        np.zeros(nodes, dtype=np.int64),
        np.zeros(nodes, dtype=np.int64),
        np.array([0, nodes, 0, 0], dtype=np.int64),
    )
    machine.rows[IDLE] = full_row(nodes)
    return machine


def new_timeline(nodes: int, edges: int, rows: int, start: int, sets: bool) -> Timeline:
    """Return a timeline with room for so many edges and rows, all free from `start` on; `sets` says
    whether it keeps node sets or only counts."""
    words = (nodes + 63) // 64
    timeline = Timeline(
        records(edges, EDGE),
        np.zeros((rows, words), dtype=np.uint64),
        np.arange(rows, dtype=np.int64)[::-1].copy(),
        np.array([0, 0, rows], dtype=np.int64),
    )
    timeline.edges["time"][0], timeline.edges["free"][0] = start, nodes
    timeline.edges["row"][0] = -1
    timeline.at[timelines.TAIL] = 1
    if sets:
        timeline.at[timelines.SPARE] -= 1
        row = timeline.spare[timeline.at[timelines.SPARE]]
        timeline.rows[row] = full_row(nodes)
        timeline.edges["row"][0] = row
    return timeline


def new_queue(nodes: int, entries: int) -> JobQueue:
    """Return an empty queue."""
    return JobQueue(
        records(entries, ENTRY),
        records((entries >> SHIFT) + 1, BLOCK),
        records(
            2 * nodes + 2, RELEASE
        ),  # of each job, and of each node that is away, has it one or not
        np.zeros(5, dtype=np.int64),
    )


def new_state(
    jobs: int, nodes: int, rules: Rules, prediction: Prediction, start: int, near: Near = NO_MATTER
) -> State:
    """Return a state for `jobs` jobs on `nodes` nodes whose clock begins at `start`."""
    sets = rules.policy == PROMISE
    rows = 64 if rules.placed or sets else 1
    state = State(
        records(jobs, JOB),
        rules,
        new_machine(nodes),
        new_timeline(nodes, 64, rows, start, sets),
        new_queue(nodes, 64 if sets else 4096),  # with reservations there is none
        new_scratch(nodes),
        prediction,
        Answers(records(256, DECISION), np.zeros(1, dtype=np.int64)),
        records(1, TASK),
        np.zeros(6, dtype=np.int64),
        full_row(nodes)[None].copy(),
        near,
        new_losses(),
    )
    state.at[OPENED] = state.at[CARRY_OPENED] = 2**60
    state.at[CLOSED] = state.at[CARRY_CLOSED] = -1
    return state


def as_now(state: State) -> State:
    """Return a state that may have been kept before searches had so much room, lost nodes were
    learned from, or jobs had pauses of their own: then they are as the rules say."""
    if len(state.scratch.rows) < ROWS:
        state = state._replace(scratch=new_scratch(len(state.machine.nodes)))
    if state.losses.shape != new_losses().shape:  # only simulated runs, which are not kept, learn
        state = state._replace(losses=new_losses())
    old = state.jobs
    if old.dtype.names == JOB.names:
        return state
    jobs = records(len(old), JOB)
    for name in old.dtype.names or ():
        jobs[name] = old[name]
    if "pause" not in (old.dtype.names or ()):
        jobs["pause"] = state.rules.overhead
    return state._replace(jobs=jobs, scratch=new_scratch(len(state.machine.nodes)))


@inlined
def needs_edges(state):
    """Return whether the next event might not find room for its edges."""
    timeline, queue, rules = state.timeline, state.queue, state.rules
    if rules.policy == PROMISE:
        used = timeline.at[timelines.TAIL] - timeline.at[timelines.HEAD]
        return len(timeline.edges) - used < timelines.ROOM
    if rules.policy != CONSERVATIVE:
        return False
    return len(timeline.edges) < 2 * (queue.at[LIVE] + queue.at[RELEASES]) + timelines.ROOM


@inlined
def needs_rows(state):
    """Return whether the next event might not find rows for its node sets."""
    spare, rules = state.timeline.at[timelines.SPARE], state.rules
    if rules.policy == PROMISE:
        return spare < timelines.ROOM
    if not rules.placed:
        return False
    return spare < min(state.queue.at[LIVE], state.machine.at[UNASSIGNED]) + timelines.ROOM


@inlined
def needs_entries(state):
    """Return whether the next job might not find room in the queue."""
    return state.queue.at[LAST] + 2 >= len(state.queue.entries)


@inlined
def most_decisions(state):
    """Return how many decisions one event may bring at the most."""
    waiting, policy = state.queue.at[LIVE], state.rules.policy
    if policy == PROMISE:
        return 4
    if policy == CONSERVATIVE:
        return 3 * waiting + 4
    return min(waiting, len(state.machine.nodes)) + 4


@inlined
def has_room(state):
    """Return whether any one event surely fits into the arrays."""
    if needs_edges(state) or needs_rows(state) or most_decisions(state) > len(state.out.decisions):
        return False
    return state.rules.policy == PROMISE or not needs_entries(state)


def is_full(state: State) -> bool:
    """Return whether an event might not find room: `has_room` for Python, which is sooner there
    than a compiled function has been handed the state."""
    if plain(needs_edges)(state) or plain(needs_rows)(state):
        return True
    if int(plain(most_decisions)(state)) > len(state.out.decisions):
        return True
    return bool(state.rules.policy != PROMISE and plain(needs_entries)(state))


def grown(state: State) -> State:
    """Return the state with room for any one event; what it holds is unchanged."""
    while plain(needs_edges)(state):
        state = state._replace(timeline=_more_edges(state.timeline))
    while plain(needs_rows)(state):
        state = state._replace(timeline=_more_rows(state.timeline))
    most = int(plain(most_decisions)(state))
    if most > len(state.out.decisions):
        state = state._replace(out=state.out._replace(decisions=records(2 * most, DECISION)))
    if state.rules.policy != PROMISE and plain(needs_entries)(state):
        if 2 * state.queue.at[LIVE] < len(state.queue.entries):
            compact(state.queue)
        else:
            state = state._replace(queue=_more_entries(state.queue))
    return state


def _more_edges(timeline: Timeline) -> Timeline:
    first, last = int(timeline.at[timelines.HEAD]), int(timeline.at[timelines.TAIL])
    edges = records(2 * len(timeline.edges), EDGE)
    edges[: last - first] = timeline.edges[first:last]
    timeline.at[timelines.HEAD], timeline.at[timelines.TAIL] = 0, last - first
    return timeline._replace(edges=edges)


def _more_rows(timeline: Timeline) -> Timeline:
    old = len(timeline.rows)
    rows = np.zeros((2 * old, timeline.rows.shape[1]), dtype=np.uint64)
    rows[:old] = timeline.rows
    spare = np.zeros(2 * old, dtype=np.int64)
    count = int(timeline.at[timelines.SPARE])
    spare[:count] = timeline.spare[:count]
    spare[count : count + old] = np.arange(2 * old - 1, old - 1, -1)
    timeline.at[timelines.SPARE] = count + old
    return timeline._replace(rows=rows, spare=spare)


def _more_entries(queue: JobQueue) -> JobQueue:
    first, last = int(queue.at[FIRST]), int(queue.at[LAST])
    entries = records(2 * len(queue.entries), ENTRY)
    entries[first:last] = queue.entries[first:last]
    blocks = records((len(entries) >> SHIFT) + 1, BLOCK)
    blocks[: len(queue.blocks)] = queue.blocks
    return queue._replace(entries=entries, blocks=blocks)
