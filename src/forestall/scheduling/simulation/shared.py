"""Runs in which jobs share nodes: what jobs ask for is made ready, and the loop plays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core._compile import plain, records
from forestall.core._lazy import lazily
from forestall.core.clock import stop_kernels as stops
from forestall.core.clock.progress import CHUNK, Progress
from forestall.core.engine.growth import longer
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.nodes import (
    CORES,
    GPUS,
    MEMORY,
    RESOURCES,
    MachineSpec,
    Requests,
)
from forestall.core.world.jobs import nothing_left
from forestall.scheduling.engine.shared.state import (
    SLOTS,
    SharedState,
    grown_shared,
    most_shared_decisions,
    new_shared_state,
)
from forestall.scheduling.rules import fit_kernels as fits
from forestall.scheduling.rules.entries import SHARED_PLACEMENTS
from forestall.scheduling.simulation import loop_kernels as loop
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import Workload, rules_of
from forestall.scheduling.simulation.run import (
    Outcome,
    check_clock,
    job_records,
    new_log,
    new_world,
    play,
)

with lazily():
    from forestall.scheduling.simulation import shared_loop_kernels

Ints = npt.NDArray[np.int64]
SPREAD = 2**40
"""Units of a job's tasks that a node may have at most: as many as fit."""
MOST_IN_MIX = 32
RULES = {
    "best": fits.BEST, "first": fits.FIRST, "worst": fits.WORST, "gradient": fits.GRADIENT,
}  # fmt: skip
assert set(RULES) == set(SHARED_PLACEMENTS)


@dataclass(frozen=True)
class Demand:
    """What the jobs of a run ask of a machine.

    Attributes
    ----------
    machine : the nodes
    kinds : the different requests; kind : int64[jobs], which each job has
    units : int64[jobs], the nodes that a job wants, or its tasks
    """

    machine: MachineSpec
    kinds: fits.Kinds
    kind: Ints
    units: Ints


@dataclass(frozen=True)
class Allocations:
    """What the runs of an outcome had of the machine.

    Attributes
    ----------
    machine : the nodes
    node, units : int64[k], the nodes of all runs and the job's units on each; a run's stand where
        its ranges are, in ascending order
    amounts : int64[k, resources], what these took; share : float64[k], of the node
    size : float64[runs], node equivalents
    """

    machine: MachineSpec
    node: Ints
    units: Ints
    amounts: Ints
    share: npt.NDArray[np.float64]
    size: npt.NDArray[np.float64]


def sized(jobs: Jobs, machine: MachineSpec) -> Jobs:
    """Return the jobs, of size 1 where they ask for tasks: these get as many nodes as needed.
    Processors of a log are tasks of a core each; where the machine tells no memory, none is
    planned for them."""
    if jobs.requests is None and jobs.processor_memory is not None:
        count = len(jobs)
        amounts = np.zeros((count, len(RESOURCES)), dtype=np.int64)
        amounts[:, CORES] = 1
        amounts[:, MEMORY] = jobs.processor_memory * (machine.totals[MEMORY] > 0)
        alone = Requests(
            RESOURCES, amounts, jobs.size, np.zeros(count, np.bool_), ("",) * count, ("",) * count
        )
        jobs = replace(jobs, requests=alone)
    if jobs.requests is None:
        return jobs
    spread = (jobs.requests.tasks > 0) & ~jobs.requests.exclusive
    return replace(jobs, size=np.where(spread, 1, jobs.size))


def demand_of(workload: Workload, machine: MachineSpec) -> tuple[Workload, Demand]:
    """Return what jobs ask of a machine, and the workload without those that fit on no node of it;
    these are counted by the resource that is short. Raises InputError where none is left."""
    jobs = workload.jobs
    requests = jobs.requests or Requests.whole_nodes(len(jobs))
    amounts = _in_order_of(requests, machine)
    spread = (requests.tasks > 0) & ~requests.exclusive
    units = np.where(spread, requests.tasks, jobs.size)
    rows, row = _allowed(requests, jobs.queue, machine)
    table = np.column_stack((amounts, spread, requests.exclusive, row))
    table[requests.exclusive, : amounts.shape[1]] = 0
    different, kind = np.unique(table, axis=0, return_inverse=True)
    kinds = _kinds(different.astype(np.int64), rows, machine)
    most, short = _most_units(kinds, machine)
    cleaning, keep = _without_unfit(workload, units, kind.ravel(), most, short)
    if not bool(keep.any()):
        raise nothing_left(jobs, cleaning)
    kept = replace(workload.take(keep), cleaning=cleaning)
    return kept, Demand(machine, kinds, kind.ravel()[keep].astype(np.int64), units[keep])


def _in_order_of(requests: Requests, machine: MachineSpec) -> Ints:
    """Return the amounts in the order of the machine's resources. Raises ParameterError for a
    resource that no node has."""
    amounts = np.zeros((len(requests), len(machine.resources)), dtype=np.int64)
    for k, name in enumerate(requests.resources):
        if name in machine.resources:
            amounts[:, machine.resources.index(name)] = requests.amounts[:, k]
        elif bool(requests.amounts[:, k].any()):
            raise ParameterError(
                "machine", machine.source, f"nodes with {name}, which jobs ask for"
            )
    return amounts


def _allowed(
    requests: Requests, queue: tuple[str, ...] | None, machine: MachineSpec
) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Return the different sets of nodes that jobs may have, bool[rows, nodes], and which each has.
    A queue is a partition where nodes name it."""
    queues = ("",) * len(requests) if queue is None else queue
    wanted = list(zip(requests.gpu_type, requests.features, queues, strict=True))
    places = {key: k for k, key in enumerate(dict.fromkeys(wanted))}
    rows = np.array([machine.allowed(*key) for key in places])
    return rows, np.array([places[key] for key in wanted], dtype=np.int64)


def _kinds(different: Ints, rows: npt.NDArray[np.bool_], machine: MachineSpec) -> fits.Kinds:
    count, resources = len(different), len(machine.resources)
    table = records(count, fits.KIND)
    table["cap"] = np.where(different[:, resources] > 0, SPREAD, 1)
    table["exclusive"], table["nodes"] = different[:, resources + 1], different[:, resources + 2]
    need = np.ascontiguousarray(different[:, :resources])
    return fits.Kinds(table, need, rows, np.zeros(count, np.int64), np.zeros(1, np.int64))


def _most_units(kinds: fits.Kinds, machine: MachineSpec) -> tuple[Ints, list[str]]:
    """Return how many units of each kind fit on the idle machine, and what is short for one."""
    most, short = [], []
    for k in range(len(kinds.table)):
        kind, need = kinds.table[k], kinds.need[k]
        nodes = kinds.allowed[kind["nodes"]]
        capacity = machine.capacity[nodes]
        if kind["exclusive"]:
            most.append(int(nodes.sum()))
            short.append("nodes")
            continue
        asked = need > 0
        each = (capacity[:, asked] // need[asked]).min(axis=1) if len(capacity) else np.zeros(0)
        most.append(int(np.minimum(each, kind["cap"]).sum()))
        short.append(_short(need, capacity, machine))
    return np.array(most, dtype=np.int64), short


def _short(need: Ints, capacity: Ints, machine: MachineSpec) -> str:
    """Return the first resource of which no allowed node has enough, or "nodes"."""
    if not len(capacity):
        return "nodes"
    lacking = np.flatnonzero(need > capacity.max(axis=0))
    return machine.resources[lacking[0]] if len(lacking) else "nodes"


def _without_unfit(
    workload: Workload, units: Ints, kind: Ints, most: Ints, short: list[str]
) -> tuple[Cleaning, npt.NDArray[np.bool_]]:
    cleaning, job = workload.cleaning, workload.jobs.job
    unfit = units > most[kind]
    lacking = np.array(short)[kind]
    for name in dict.fromkeys(lacking[unfit].tolist()):
        text = f"jobs that ask a node for more {name} than any that they may have has"
        if name == "nodes":
            text = "jobs that ask for more than the nodes that they may have can hold"
        mine = unfit & (lacking == name)
        cleaning = cleaning.plus(f"fits_nowhere_{name}", text, "left out", job[mine].tolist())
    return cleaning, ~unfit


def play_on_machine(
    workload: Workload,
    demand: Demand,
    failures: Failures,
    parameters: Parameters,
    prediction: Any,
    progress: Progress | None = None,
) -> Outcome:
    """Simulate jobs on a machine. If all of them take whole nodes and all nodes are alike and
    allowed, that is a run without one, whose policies count nodes."""
    kinds, capacity = demand.kinds, demand.machine.capacity
    whole = bool((kinds.table["exclusive"] > 0).all()) and bool(kinds.allowed.all())
    if not whole or not bool((capacity == capacity[0]).all()):
        return play_shared(workload, demand, failures, parameters, prediction, progress=progress)
    alike = parameters
    if parameters.entry.promises and parameters.placement != "first":
        # Among free nodes none has more than another: only risks tell them apart.
        alike = parameters.model_copy(update={"placement": "fault-aware"})
    outcome = play(workload, failures, alike, prediction, progress=progress)
    return replace(_with_nodes(outcome, demand), parameters=parameters)


def _with_nodes(outcome: Outcome, demand: Demand) -> Outcome:
    """Return a run of jobs with nodes alone as one on a machine: each run with its nodes."""
    runs, ranges = outcome.runs.copy(), outcome.ranges
    length = ranges[:, 1] - ranges[:, 0]
    node = np.repeat(ranges[:, 0] - np.cumsum(length) + length, length) + np.arange(length.sum())
    size = outcome.workload.jobs.size[runs["job"]]
    runs["ranges"], runs["first_range"] = size, np.cumsum(size) - size
    runs["lost"] //= size
    taken = _taken(runs, np.column_stack((node, np.ones_like(node))), demand)
    return replace(outcome, runs=runs, ranges=np.column_stack((node, node + 1)), taken=taken)


def mix_of(demand: Demand, workload: Workload) -> fits.Mix:
    """Return the typical jobs that the fragmentation gradient goes by: the kinds of this workload
    that ask for GPUs and are asked for most often."""
    kinds = demand.kinds
    count = np.bincount(demand.kind, minlength=len(kinds.table)).astype(np.float64)
    count[kinds.need[:, GPUS] == 0] = 0
    chosen = np.argsort(-count, kind="stable")[:MOST_IN_MIX]
    chosen = chosen[count[chosen] > 0]
    weight = count[chosen] / max(count[chosen].sum(), 1)
    return fits.Mix(
        np.ascontiguousarray(kinds.need[chosen]), weight,
        np.ascontiguousarray(kinds.allowed[kinds.table["nodes"][chosen]]),
    )  # fmt: skip


def play_shared(
    workload: Workload,
    demand: Demand,
    failures: Failures,
    parameters: Parameters,
    prediction: Any,
    *,
    log_events: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Simulate jobs that share the nodes of a machine, with the compiled engine; `prediction` as
    kernels take it."""
    world = new_world(workload, failures, parameters)
    table = job_records(workload, parameters)
    table["size"] = demand.units
    state = new_shared_state(
        table, demand.machine, rules_of(parameters), demand.kinds, demand.kind,
        int(RULES[str(parameters.placement)]), mix_of(demand, workload), prediction,
    )  # fmt: skip
    log = new_log(1024 if log_events else 0)
    loop_of = shared_loop_kernels.run
    if parameters.entry.promises:
        loop_of = shared_loop_kernels.run_promises
    status = stops.PAUSED
    while status != stops.ENDED:
        status = loop_of(state, world, log, CHUNK)
        assert status != stops.STALLED, "jobs are left, yet nothing will happen any more"
        if status == stops.FULL:
            check_clock(world, workload)
            state = grown_shared(state)
            world = _grown_world(world, state)
            log = _grown_log(log, state, world) if log_events else log
        elif progress is not None:
            progress(len(world.jobs) - int(world.at[worlds.LEFT]), len(world.jobs))
    return _collected(workload, demand, failures, parameters, world, log, state.jobs)


def _grown_world(world: worlds.World, state: SharedState) -> worlds.World:
    """Return the world with room for any one event."""
    at, slots = world.at, int(state.at[SLOTS]) + 4
    return world._replace(
        runs=longer(world.runs, int(at[worlds.RUNS]) + slots),
        ranges=longer(world.ranges, int(at[worlds.RANGES]) + slots),
        played=longer(world.played, int(at[worlds.STRUCK]) + 3),
    )


def _grown_log(log: loop.Log, state: SharedState, world: worlds.World) -> loop.Log:
    """Return the log with room for any one event."""
    at, most = world.at, int(plain(most_shared_decisions)(state))
    return loop.Log(
        longer(log.events, int(at[worlds.LOGGED]) + 4),
        longer(log.decisions, int(at[worlds.DECIDED]) + most + 2),
        longer(log.ranges, int(at[worlds.LOG_RANGES]) + 2 * int(state.at[SLOTS]) + 4),
    )


def _collected(
    workload: Workload,
    demand: Demand,
    failures: Failures,
    parameters: Parameters,
    world: worlds.World,
    log: loop.Log,
    promised: npt.NDArray[Any],
) -> Outcome:
    """Cut the arrays to what was used; `promised` are JOB[jobs]."""
    at = world.at
    runs, pairs = world.runs[: at[worlds.RUNS]], world.ranges[: at[worlds.RANGES]]
    taken = _taken(runs, pairs, demand)
    ranges = np.column_stack((taken.node, taken.node + 1))
    logged = loop.Log(
        log.events[: at[worlds.LOGGED]],
        log.decisions[: at[worlds.DECIDED]],
        log.ranges[: at[worlds.LOG_RANGES]],
    )
    return Outcome(
        workload, failures, parameters, world.jobs, promised["promise"].copy(),
        promised["deadline"].copy(), runs, ranges, world.played[: at[worlds.STRUCK]], logged,
        int(at[worlds.EVENTS]), taken=taken,
    )  # fmt: skip


def _taken(runs: npt.NDArray[Any], pairs: Ints, demand: Demand) -> Allocations:
    """Return what runs had of the machine; `pairs` are (node, units) of all runs."""
    owner = np.repeat(np.arange(len(runs)), runs["ranges"])
    order = np.lexsort((pairs[:, 0], owner))
    node, units = pairs[order, 0], pairs[order, 1]
    kind = demand.kind[runs["job"]][owner]
    machine, kinds = demand.machine, demand.kinds
    amounts = kinds.need[kind] * units[:, None]
    whole = kinds.table["exclusive"][kind] > 0
    amounts[whole] = machine.capacity[node[whole]]
    share = machine.shares(amounts, node)
    size = np.bincount(owner, weights=share, minlength=len(runs)).astype(np.float64)
    return Allocations(machine, node, units, amounts, share, size)
