"""From jobs and samples of hosts to the arrays that a run of cycle sharing starts from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from forestall.core.model.cycle import MILLION, S2
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.core.model.units import format_duration
from forestall.core.world.jobs import check_times, nothing_left
from forestall.prediction.models.semi_markov.states import States, host_states
from forestall.sharing.simulation.outcome import RUN, GuestWorkload, HostRuns
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.world_kernels import MAX_ORDER

Whole = npt.NDArray[np.int64]


def prepare_guests(jobs: Jobs, hosts: HostTraces, parameters: CycleParameters) -> GuestWorkload:
    """Return the jobs that can be simulated, each one guest; the others are counted and named.

    Raises InputError where none is left, ParameterError where the traces end in the warm-up.
    """
    check_times("a submit time", jobs.submit, 0)
    end = hosts.end - parameters.warm_up
    if end <= 0:
        raise ParameterError(
            "warm_up",
            parameters.warm_up,
            f"less than the {format_duration(hosts.end)} that the host traces last",
        )
    length = parameters.job_length
    runtime = jobs.runtime if length is None else np.full(len(jobs), length, dtype=np.int64)
    keep = np.ones(len(jobs), dtype=np.bool_)
    cleaning = jobs.cleaning
    after = f"jobs submitted after the host traces end (at {format_duration(end)})"
    for kind, text, mask in (
        ("no_run_time", "jobs without run time", runtime < 0),
        ("zero_run_time", "jobs that ran 0 s", runtime == 0),
        ("after_the_traces", after, jobs.submit >= end),
    ):
        cleaning = cleaning.plus(kind, text, "left out", jobs.job[mask & keep].tolist())
        keep &= ~mask
    kept = replace(jobs, runtime=runtime).take(keep)
    if len(kept) == 0:
        raise nothing_left(jobs, cleaning)
    if max(len(kept), len(hosts)) >= MAX_ORDER:
        raise InputError(f"{jobs.source or 'jobs'}: at most {MAX_ORDER - 1:,} jobs and hosts")
    cleaning = cleaning.plus(
        "more_than_one_processor",
        "jobs of more than one processor; each is one guest on one host",
        "kept",
        kept.job[kept.size > 1].tolist(),
    )
    return GuestWorkload(kept, kept.runtime * MILLION, cleaning)


def states_of(hosts: HostTraces, number: int, parameters: CycleParameters) -> States:
    """Return int8[samples]: the states of a host as a monitor knows them at the time."""
    memory = None if hosts.free_memory is None else hosts.free_memory[number]
    return host_states(
        hosts.load[number],
        memory,
        guest_memory=parameters.guest_memory,
        period=hosts.period,
        hold=parameters.hold,
        thresholds=(parameters.th1, parameters.th2),
        causal=True,
    )


def rates_of(hosts: HostTraces, number: int, states: States, parameters: CycleParameters) -> Whole:
    """Return int64[samples]: what a guest gets on a host, millionths of a host of speed 1."""
    load = hosts.load[number]
    usable = usable_of(load, states)
    share = 1 - np.clip(np.where(usable, load, 1.0), 0.0, 1.0)
    if parameters.spikes == "stop":
        share[usable & (load > parameters.th2)] = 0.0
    made: Whole = np.rint(MILLION * hosts.speed[number] * share).astype(np.int64)
    return made


def usable_of(load: npt.NDArray[np.float64], states: States) -> npt.NDArray[np.bool_]:
    """Return bool[samples]: those in S1 or S2 that have a load."""
    return (states <= S2) & ~np.isnan(load)


def prepare_hosts(hosts: HostTraces, parameters: CycleParameters) -> HostRuns:
    """Return the states of the hosts as runs, and what work they could do for guests."""
    period, warm_up = hosts.period, parameters.warm_up
    done = np.zeros((len(hosts), hosts.samples + 1), dtype=np.int64)
    made = []
    for number in range(len(hosts)):
        states = states_of(hosts, number, parameters)
        np.cumsum(rates_of(hosts, number, states, parameters) * period, out=done[number, 1:])
        begins = np.flatnonzero(np.diff(states, prepend=np.int8(-1)) != 0)
        runs = np.zeros(len(begins), dtype=RUN)
        runs["host"], runs["state"] = number, states[begins]
        runs["start"], runs["done"] = begins * period - warm_up, done[number, begins]
        made.append(runs)
    first = np.concatenate(([0], np.cumsum([len(runs) for runs in made]))).astype(np.int64)
    return HostRuns(np.concatenate(made), first, done, -warm_up, hosts.end - warm_up, period)
