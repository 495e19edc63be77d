"""The state of an engine whose nodes are shared: cores, memory, GPUs, jobs side by side."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import inlined, plain, records
from forestall.core.engine.growth import longer
from forestall.core.model.nodes import MachineSpec
from forestall.scheduling.engine.state import DECISION, EASY, FCFS, Answers, Rules
from forestall.scheduling.rules.fit_kernels import Kinds, Mix
from forestall.scheduling.rules.search_state import Scratch, new_scratch

FIRST, LAST, WAITING, ENDS, FINISHES, FAILURES, FRESH, SLOTS, SEARCH, FRONT = range(10)
"""Counters: first and last job of the queue (-1: none), jobs that wait, expected ends, jobs that
ended and nodes that failed in this second, jobs that came since the last pass, slots of jobs that
wait or run, searches for the start of a head, and where the expected ends begin."""

END: Final = np.dtype([("time", "i8"), ("who", "i8")])
"""The expected end of a job's run, or (-1 - node) the known return of a node that is down."""


class Slots(NamedTuple):
    """Where jobs run, or are to run: int64[jobs + 1] where the slots of each job begin;
    int64[slots] their nodes and units; int64[jobs] how many are in use."""

    first: npt.NDArray[np.int64]
    node: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]
    used: npt.NDArray[np.int64]


class WorkArrays(NamedTuple):
    """What kernels work in: int64[nodes, resources] twice, int64[nodes] four times, float64[nodes]
    scores and risks (0 where none are told), bool[nodes] which are up, int64[nodes] the search in
    which `free` of a node was written, and that in which it was reserved, int64[resources]."""

    free: npt.NDArray[np.int64]
    least: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]
    units: npt.NDArray[np.int64]
    until: npt.NDArray[np.int64]
    opens: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    risk: npt.NDArray[np.float64]
    up: npt.NDArray[np.bool_]
    touched: npt.NDArray[np.int64]
    reserved: npt.NDArray[np.int64]
    rest: npt.NDArray[np.int64]


class Profile(NamedTuple):
    """What is free of each node over time, for reservations: lists of steps. int64[steps] when, and
    the step after (-1: none); int64[steps, resources] what is free from then on; int64[nodes] each
    node's first step; int64[steps] steps that no node has, and int64[1] how many they are."""

    time: npt.NDArray[np.int64]
    after: npt.NDArray[np.int64]
    free: npt.NDArray[np.int64]
    head: npt.NDArray[np.int64]
    spare: npt.NDArray[np.int64]
    spares: npt.NDArray[np.int64]


class SharedState(NamedTuple):
    """JOB[jobs], whose `size` is units; the rules; int64[nodes, resources] capacity, and what is
    free of it now; int64[nodes] when a node that is down is back (0: it is up); kinds of requests,
    and int64[jobs] which each job has; where jobs run; int64[jobs] three times: the job ahead in
    the queue and the one behind (-1: none), and the time that orders them; END[capacity] in order
    from `FRONT` on;
    profiles of nodes; the rule of placement; room; sets of nodes and risks; what is predicted; the
    decisions on the last event; counters."""

    jobs: npt.NDArray[Any]
    rules: Rules
    capacity: npt.NDArray[np.int64]
    free: npt.NDArray[np.int64]
    up_at: npt.NDArray[np.int64]
    kinds: Kinds
    kind: npt.NDArray[np.int64]
    slots: Slots
    ahead: npt.NDArray[np.int64]
    behind: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    ends: npt.NDArray[Any]
    profile: Profile
    placement: npt.NDArray[np.int64]
    mix: Mix
    room: WorkArrays
    scratch: Scratch
    prediction: Any
    out: Answers
    at: npt.NDArray[np.int64]


def new_shared_state(
    jobs: npt.NDArray[Any],
    machine: MachineSpec,
    rules: Rules,
    kinds: Kinds,
    kind: npt.NDArray[np.int64],
    placement: int,
    mix: Mix,
    prediction: Any,
) -> SharedState:
    """Return a state before anything has happened; `jobs` are JOB[n] with units for sizes."""
    nodes, count = len(machine), len(jobs)
    most = np.minimum(jobs["size"], nodes)
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(most, dtype=np.int64)))
    shape = machine.capacity.shape
    at = np.zeros(10, dtype=np.int64)
    at[FIRST] = at[LAST] = -1
    return SharedState(
        jobs,
        rules,
        machine.capacity.copy(),
        machine.capacity.copy(),
        np.zeros(nodes, np.int64),
        kinds,
        kind,
        Slots(
            first, np.zeros(first[-1], np.int64), np.zeros(first[-1], np.int64),
            np.zeros(count, np.int64),
        ),
        np.full(count, -1, np.int64),
        np.full(count, -1, np.int64),
        np.zeros(count, np.int64),
        records(count + nodes + 1, np.dtype(END)),
        new_profile(machine.capacity, 4 * nodes + 64),
        np.array([placement], np.int64),
        mix,
        WorkArrays(
            free=np.zeros(shape, np.int64),
            least=np.zeros(shape, np.int64),
            candidates=np.zeros(nodes, np.int64),
            units=np.zeros(nodes, np.int64),
            until=np.zeros(nodes, np.int64),
            opens=np.zeros(nodes, np.int64),
            score=np.zeros(nodes),
            risk=np.zeros(nodes),
            up=np.zeros(nodes, np.bool_),
            touched=np.zeros(nodes, np.int64),
            reserved=np.zeros(nodes, np.int64),
            rest=np.zeros(shape[1], np.int64),
        ),
        new_scratch(nodes),
        prediction,
        Answers(records(256, DECISION), np.zeros(1, np.int64)),
        at,
    )  # fmt: skip


@inlined
def most_shared_decisions(state):
    """Return how many decisions one event may bring at the most."""
    return 3 * state.at[WAITING] + 2 * state.at[ENDS] + 4


@inlined
def most_steps(state):
    """Return how many steps of profiles an event may add at the most: two for each node of what
    runs and what waits, and for each node that is down."""
    if state.rules.policy == FCFS or state.rules.policy == EASY:  # noqa: PLR1714 - compiled
        return np.int64(0)
    return 2 * (state.at[SLOTS] + len(state.capacity)) + 2


@inlined
def has_shared_room(state):
    """Return whether any one event surely fits into the arrays."""
    return (
        most_shared_decisions(state) <= len(state.out.decisions)
        and most_steps(state) <= state.profile.spares[0]
    )


def new_profile(capacity: npt.NDArray[np.int64], steps: int) -> Profile:
    """Return the profile of nodes that are free for ever, with room for so many steps."""
    nodes, resources = capacity.shape
    profile = Profile(
        np.zeros(steps, np.int64),
        np.full(steps, -1, np.int64),
        np.zeros((steps, resources), np.int64),
        np.arange(nodes, dtype=np.int64),
        np.arange(steps - 1, -1, -1, dtype=np.int64),
        np.array([steps - nodes], np.int64),
    )
    profile.free[:nodes] = capacity
    return profile


def _longer_profile(profile: Profile, more: int) -> Profile:
    """Return the profile with room for `more` further steps."""
    old, spare = len(profile.time), int(profile.spares[0])
    bigger = Profile(
        longer(profile.time, old + more),
        longer(profile.after, old + more, -1),
        longer(profile.free, old + more),
        profile.head,
        longer(profile.spare, old + more),
        profile.spares,
    )
    fresh = np.arange(len(bigger.time) - 1, old - 1, -1)
    bigger.spare[spare : spare + len(fresh)] = fresh
    bigger.spares[0] = spare + len(fresh)
    return bigger


def grown_shared(state: SharedState) -> SharedState:
    """Return the state with room for any one event; what it holds is unchanged."""
    most = int(plain(most_shared_decisions)(state))
    if most > len(state.out.decisions):
        state = state._replace(out=state.out._replace(decisions=records(2 * most, DECISION)))
    short = int(plain(most_steps)(state)) - int(state.profile.spares[0])
    if short > 0:
        state = state._replace(profile=_longer_profile(state.profile, short))
    return state
