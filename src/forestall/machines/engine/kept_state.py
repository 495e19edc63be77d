"""A state of the engine that comes back from outside: no number in it points where nothing is."""

from __future__ import annotations

import numpy as np

from forestall.core.engine.kept import parts
from forestall.core.files.held import Held
from forestall.core.model.virtual_books import MOVE, RUN, STRUCK
from forestall.machines.engine import state as states
from forestall.machines.engine.state import DECISION, JOB, VM, WAIT, TaskState
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules.entries import STRATEGIES
from forestall.machines.rules.placement_kernels import OWN, RANDOM


def taken_up(state: TaskState, *, asked: bool) -> TaskState:
    """Return a state that was kept; `asked`: there is a strategy in Python to be asked.

    Raises ParameterError where arrays are not of their types and lengths, or where something in
    them points outside; and what Python raises where parts are not what they should be.
    """
    values = parts(state)
    held = Held(values, values)
    _check_fleet(held, state)
    _check_jobs(held, state)
    _check_tasks(held, state)
    _check_numbers(held, state)
    strategy = held.whole("choosing.strategy", 0, max(one.number for one in STRATEGIES.every))
    held.hold("choosing.strategy", asked or strategy != OWN, "one that needs no Python")
    marching = held.whole("rules.checkpointing", 0, 1)
    held.whole("rules.interval", marching)
    return state


def beside(held: Held, state: TaskState) -> tuple[int, int, int]:
    """Return what a snapshot has beside the state: the present moment, and how many jobs and tasks
    there are."""
    jobs, tasks = held.whole("jobs", 0, len(state.jobs)), held.whole("tasks", 0, len(state.places))
    short = state.choosing.strategy == RANDOM and len(state.draws) < tasks
    held.hold("tasks", not short, "a draw for each")
    far = int(fleets.FAR)
    return held.whole("now", -far, far), jobs, tasks


def _check_fleet(held: Held, state: TaskState) -> None:
    nodes, slots = len(state.fleet.nodes), len(state.vms)
    held.array("fleet.nodes", fleets.SHARED, None)
    held.hold("fleet.nodes", nodes > 0, "at least one")
    held.column("fleet.nodes", "first", -1, slots - 1)
    held.column("fleet.nodes", "up", 0, 1)
    capacity, free = state.fleet.nodes["capacity"], state.fleet.nodes["free"]
    held.hold("fleet.nodes", ((free >= 0) & (free <= capacity)).all(), "no more free than there is")
    order = held.array("fleet.order", np.int64, nodes, least=0, most=nodes - 1)
    place = held.array("fleet.place", np.int64, nodes, least=0, most=nodes - 1)
    held.hold("fleet.place", (order[place] == np.arange(nodes)).all(), "the place of each node")
    at = held.array("fleet.at", np.int64, 10, least=-1)
    width, levels = 1 << max(nodes - 1, 0).bit_length(), len(state.fleet.lowest)
    held.hold("fleet.at", at[fleets.WIDTH] == width and at[fleets.LEVELS] == levels, "our trees")
    held.hold("fleet.at", min(at[fleets.GRAIN], at[fleets.RATE]) > 0, "rates above 0")
    fits = not levels or int(capacity.max()) // int(at[fleets.GRAIN]) < levels
    held.hold("fleet.lowest", fits, "all levels")
    for name, shape in (("roomiest", (2 * width,)), ("lowest", (levels, 2 * width))):
        tree = held.array(f"fleet.{name}", np.int32, *shape, least=0)
        known = (tree < nodes) | (tree == fleets.NOBODY)
        held.hold(f"fleet.{name}", known.all(), f"numbers of {nodes} nodes")
    counted = 2 * width if at[fleets.COUNTED] else 0
    held.array("fleet.counts", np.int32, counted, least=0, most=width)


def _check_jobs(held: Held, state: TaskState) -> None:
    jobs, tasks = held.array("jobs", JOB, None), len(state.places)
    count, slots = len(jobs), len(state.vms)
    held.column("jobs", "status", 0, int(states.DONE))
    for name in ("tasks", "first", "left"):
        held.column("jobs", name, 0, tasks)
    inside = bool((jobs["first"] + jobs["tasks"] <= tasks).all())
    held.hold("jobs", inside, f"tasks up to {tasks}")
    held.column("jobs", "next", -1, count - 1)
    held.column("jobs", "before", -1, count - 1)
    held.column("jobs", "vm", -1, slots - 1)


def _check_tasks(held: Held, state: TaskState) -> None:
    """Hold tasks that run or wait to the nodes and jobs that there are."""
    vms, nodes = held.array("vms", VM, None), len(state.fleet.nodes)
    slots, count = len(vms), len(state.jobs)
    held.column("vms", "job", -1, count - 1)
    held.column("vms", "node", 0, nodes - 1)
    held.column("vms", "target", -1, nodes - 1)
    held.column("vms", "move", -1, max(len(state.books.moves) - 1, 0))
    for name in ("next_on_node", "before_on_node", "next_of_job", "before_of_job"):
        held.column("vms", name, -1, slots - 1)
    held.array("spare", np.int64, slots, least=0, most=max(slots - 1, 0))
    held.array("places", np.int64, None, least=-1, most=slots - 1)
    held.array("waits", WAIT, None)
    at = held.array("at", np.int64, states.JOBS + 1, least=-1)
    held.hold("at", int(at[states.WAITS]) <= len(state.waits), f"{len(state.waits)} that wait")
    waits = state.waits[: max(int(at[states.WAITS]), 0)]
    for name, some in (("vms", vms[vms["job"] >= 0]), ("waits", waits)):
        inside = ((some["job"] >= 0) & (some["job"] < count)).all()
        held.hold(name, inside, f"numbers of {count} jobs")
        own = state.jobs["tasks"][some["job"]]
        held.hold(name, ((some["task"] >= 0) & (some["task"] < own)).all(), "tasks of their jobs")


def _check_numbers(held: Held, state: TaskState) -> None:
    """Hold counts to the lengths of what they count."""
    at, books = state.at, state.books
    for name, dtype in (("runs", RUN), ("moves", MOVE), ("struck", STRUCK)):
        held.array(f"books.{name}", dtype, None)
    held.array("out", DECISION, None)
    held.array("draws", np.float64, None, least=0, most=1)
    held.array("more", np.float64, None, least=0, most=1)
    held.array("costs", np.float64, 3)
    lengths = {
        states.HEAD: len(state.jobs) - 1, states.TAIL: len(state.jobs) - 1,
        states.HELD: len(state.out), states.RUNS: len(books.runs), states.MOVES: len(books.moves),
        states.STRIKES: len(books.struck), states.MORE: len(state.more),
        states.FREE: len(state.vms),
    }  # fmt: skip
    for number, most in lengths.items():
        held.hold("at", int(at[number]) <= most, f"at most {most} at place {number}")
    ends = (states.HEAD, states.TAIL, states.ENDED_AT)
    rest = np.delete(at, ends)
    held.hold("at", not len(rest) or int(rest.min()) >= 0, "counts of at least 0")
