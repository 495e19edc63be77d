"""From a job log to the tasks of a run of virtual machines; what is left out is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.core.model.errors import InputError
from forestall.core.model.jobs import Jobs
from forestall.core.model.virtual import PROCESSOR
from forestall.core.world.jobs import check_times, nothing_left, raised, sieve
from forestall.machines.rules.fleet_kernels import ANY
from forestall.machines.rules.migration import Transfer, pre_copy, stop_and_copy
from forestall.machines.simulation.outcome import VirtualWorkload
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.world_kernels import MAX_ORDER, MAX_TIME


def thousandths(processors: float) -> int:
    """Return processors in whole thousandths."""
    return round(processors * PROCESSOR)


def capacities(parameters: VirtualParameters) -> Ints:
    """Return int64[nodes]: what each node has, thousandths of a processor."""
    sizes = parameters.machine
    each = [thousandths(one.processors) for one in sizes]
    return np.repeat(np.array(each, dtype=np.int64), [one.nodes for one in sizes])


def rooms(parameters: VirtualParameters) -> Ints:
    """Return int64[nodes]: how many virtual machines the memory of each node holds; ANY where it
    does not count."""
    sizes, memory = parameters.machine, parameters.vm_memory
    each = [
        ANY if one.memory is None or memory is None else int(one.memory // memory) for one in sizes
    ]
    return np.repeat(np.array(each, dtype=np.int64), [one.nodes for one in sizes])


def slots_of_machine(parameters: VirtualParameters) -> int:
    """Return how many tasks the empty nodes have room for."""
    capacity = capacities(parameters)
    rate, least = thousandths(parameters.task_processors), thousandths(parameters.least_rate)
    by_rate = capacity // rate + (capacity % rate >= least)
    return int(np.minimum(by_rate, rooms(parameters)).sum())


def transfer_of(parameters: VirtualParameters) -> Transfer:
    """Return what a migration takes, 0 s where there are none."""
    memory = parameters.vm_memory
    if parameters.migration == "none":
        return Transfer(0, 0)
    if parameters.migration == "stop-and-copy":
        if memory is None:
            return Transfer(0, parameters.migration_cost)
        return stop_and_copy(memory, parameters.link)
    if memory is None:
        return Transfer(parameters.migration_cost, int(np.ceil(parameters.max_downtime)))
    return pre_copy(memory, parameters.link, parameters.dirty_rate, parameters.max_downtime)


def lead_of(parameters: VirtualParameters) -> int:
    """Return how long before its predicted failure a node is left, s; -1: as long as a move is
    believed to take by then."""
    if parameters.lead is None and parameters.tau == "learned":
        return -1
    return transfer_of(parameters).whole if parameters.lead is None else parameters.lead


def prepare_virtual(jobs: Jobs, parameters: VirtualParameters) -> VirtualWorkload:
    """Return the jobs that can be simulated, with work and deadlines; the others are counted and
    named by kind.

    Raises InputError where none is left, or there is more than the clock or the counters hold.
    """
    check_times("a submit time", jobs.submit, 0)
    most = slots_of_machine(parameters)
    text = f"jobs of more tasks than the {most} that the {parameters.nodes} nodes have room for"
    cleaning, keep = sieve(jobs, most, text)
    kept = jobs.take(keep)
    if len(kept) == 0:
        raise nothing_left(jobs, cleaning)
    if int(kept.size.sum()) >= MAX_ORDER:
        raise InputError(
            f"{jobs.source or 'jobs'}: {int(kept.size.sum()):,} tasks are too many; "
            f"at most {MAX_ORDER - 1:,}"
        )
    runtime, cleaning = raised(kept, parameters.min_runtime, cleaning)
    unknown = kept.estimate <= 0
    cleaning = cleaning.plus(
        "no_requested_time",
        f"jobs without requested time; {parameters.slack:g} run times stand for it",
        "changed",
        kept.job[unknown].tolist(),
    )
    span = np.where(unknown, np.ceil(parameters.slack * runtime).astype(np.int64), kept.estimate)
    cleaning = cleaning.plus(
        "longer_than_requested",
        "jobs that run longer than they requested, and cannot be done by their deadlines",
        "kept",
        kept.job[runtime > span].tolist(),
    )
    deadline = kept.submit + span
    if int(deadline.max() - kept.submit[0]) >= MAX_TIME:
        years = MAX_TIME / (365.25 * 86_400)
        raise InputError(f"the last deadline is {years:,.0f} years away; are times in seconds?")
    work = runtime * thousandths(parameters.task_processors)
    return VirtualWorkload(replace(kept, runtime=runtime), deadline, work, cleaning)
