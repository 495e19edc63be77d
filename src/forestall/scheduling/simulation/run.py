"""One run: build the state and the world, let the compiled loop play, and collect what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import plain, records
from forestall.core._lazy import lazily
from forestall.core.clock import stop_kernels as stops
from forestall.core.clock.progress import CHUNK, Progress
from forestall.core.engine.growth import longer
from forestall.core.model.errors import InputError
from forestall.core.model.events import EventKind
from forestall.core.model.failures import Failures
from forestall.core.model.units import MAX_SECONDS
from forestall.core.model.users import Population
from forestall.prediction.models.heap_kernels import new_heap
from forestall.scheduling.engine.own import AskedPolicy
from forestall.scheduling.engine.plugin import Plugin, row_of
from forestall.scheduling.engine.state import (
    DECISION,
    JOB,
    Prediction,
    State,
    grown,
    most_decisions,
    new_state,
)
from forestall.scheduling.simulation import loop_kernels as loop
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import Workload, near_of, rules_of
from forestall.scheduling.simulation.saves import grown_vault, kept_of, new_vault
from forestall.scheduling.simulation.users import Bargains

if TYPE_CHECKING:
    from forestall.scheduling.simulation.shared import Allocations

with lazily():
    from forestall.scheduling.simulation import classic_loop_kernels, promise_loop_kernels


OF_JOBS: Final = [kind for kind in EventKind if not kind.about_node and kind is not EventKind.PASS]
"""Events about a job."""


@dataclass(frozen=True)
class Outcome:
    """What happened, as the compiled loop left it.

    Attributes
    ----------
    workload, failures, parameters : what was simulated
    jobs : TRUTH[n]; promises : float64[n]; deadlines : int64[n], -1 where nothing was promised
    runs : RUN[m] in order of their start; ranges : int64[k, 2] node ranges of the runs
    played : PLAYED[f], the failures that happened, with the job that each hit (-1: none)
    log : events and decisions, empty unless they were asked for
    events : number of events
    bargains : what came of each job's user, BARGAIN[k]; None where users do not bargain. Jobs of
        users who left are in it and nowhere else; `whole` is the workload with them
    saves : what became of checkpoints, STORED[s]; None without a vault
    taken : what runs had of a machine whose nodes are shared; None where jobs have nodes alone
    """

    workload: Workload
    failures: Failures
    parameters: Parameters
    jobs: npt.NDArray[Any]
    promises: npt.NDArray[np.float64]
    deadlines: npt.NDArray[np.int64]
    runs: npt.NDArray[Any]
    ranges: npt.NDArray[np.int64]
    played: npt.NDArray[Any]
    log: loop.Log
    events: int
    bargains: npt.NDArray[Any] | None = None
    whole: Workload | None = None
    saves: npt.NDArray[Any] | None = None
    taken: Allocations | None = None

    @property
    def sizes(self) -> npt.NDArray[Any]:
        """Return the size of each run: nodes, or node equivalents where nodes are shared."""
        if self.taken is not None:
            return self.taken.size
        return np.asarray(self.workload.jobs.size[self.runs["job"]])


def first_moment(workload: Workload, failures: Failures) -> int:
    """Return when the first event of a run is, s."""
    return int(min(workload.jobs.submit[0], *failures.time[:1].tolist(), MAX_SECONDS))


def new_world(workload: Workload, failures: Failures, parameters: Parameters) -> worlds.World:
    """Return the world before anything has happened."""
    jobs, count = workload.jobs, len(workload.jobs)
    truth = records(count, worlds.TRUTH, zeroed=False)
    truth["submit"], truth["runtime"] = jobs.submit, jobs.runtime
    truth["interval"] = 0 if parameters.checkpoint == "none" else workload.interval
    strikes = records(len(failures), worlds.STRIKE)
    strikes["time"], strikes["node"] = failures.time, failures.node
    strikes["downtime"] = failures.downtime
    items = count + parameters.nodes + 1
    origin = first_moment(workload, failures)
    at = np.zeros(16, dtype=np.int64)
    at[worlds.LEFT] = count
    period = failures.span if parameters.repeat_failures else 0
    return worlds.World(
        truth,
        strikes,
        records(len(failures) + 2, worlds.PLAYED),
        records(count + parameters.nodes + 64, worlds.RUN, zeroed=False),
        new_vault(count, parameters),
        np.empty((count + parameters.nodes + 64, 2), dtype=np.int64),
        new_heap(items),
        at,
        np.array([origin, period, 3 * len(failures) + 100 if period else 0, -1], dtype=np.int64),
    )


def job_records(workload: Workload, parameters: Parameters) -> npt.NDArray[Any]:
    """Return the workload as an engine knows it before anything has happened, JOB[n]."""
    table = records(len(workload.jobs), JOB)
    table["size"], table["submit"] = workload.jobs.size, workload.jobs.submit
    for name in ("estimate", "interval", "pause", "recovery"):
        table[name] = getattr(workload, name)
    if parameters.spares is not None:
        table["pool"], table["spared"], table["failovers"] = 1, 1, parameters.failovers
    return table


def pools_of(parameters: Parameters) -> npt.NDArray[np.uint64]:
    """Return the pools of a run, uint64[pools, words]: all nodes and, with spares, the others."""
    counts = [parameters.nodes]
    if parameters.spares is not None:
        counts.append(parameters.ordinary)
    words = (parameters.nodes + 63) // 64
    return np.array([row_of(np.arange(count), words) for count in counts])


def new_log(capacity: int) -> loop.Log:
    """Return an empty log; capacity 0 logs nothing."""
    return loop.Log(
        records(capacity, loop.EVENT),
        records(capacity, DECISION),
        np.zeros((capacity, 2), dtype=np.int64),
    )


def grown_world(world: worlds.World, nodes: int) -> worlds.World:
    """Return the world with more room where room is short."""
    at = world.at
    return world._replace(
        runs=longer(world.runs, int(at[worlds.RUNS]) + nodes + 2),
        vault=grown_vault(world.vault),
        ranges=longer(world.ranges, int(at[worlds.RANGES]) + nodes + 3),
        played=longer(world.played, int(at[worlds.STRUCK]) + 3),
    )


def check_clock(world: worlds.World, workload: Workload) -> None:
    """Raise InputError where a job can never finish, or the schedule has run past what event keys
    can hold."""
    stuck = int(world.at[worlds.TOO_LATE]) - 2
    if stuck >= 0:
        raise InputError(
            f"job {workload.jobs.job[stuck]} can never finish: the repeated failures end it again "
            "and again, and nothing else makes progress; checkpoint more often, or do not repeat"
        )
    if world.at[worlds.TOO_LATE]:
        years = worlds.MAX_TIME / (365.25 * 86_400)
        raise InputError(f"the schedule runs past {years:,.0f} years; are times in seconds?")


def grown_log(log: loop.Log, state: State, world: worlds.World) -> loop.Log:
    """Return the log with more room where room is short."""
    at, most = world.at, int(plain(most_decisions)(state))
    return loop.Log(
        longer(log.events, int(at[worlds.LOGGED]) + 4),
        longer(log.decisions, int(at[worlds.DECIDED]) + most + 2),
        longer(log.ranges, int(at[worlds.LOG_RANGES]) + 2 * len(state.machine.nodes) + 4),
    )


def play(
    workload: Workload,
    failures: Failures,
    parameters: Parameters,
    prediction: Prediction,
    *,
    plugin: Plugin | None = None,
    policy: AskedPolicy | None = None,
    population: Population | None = None,
    log_events: bool = False,
    placed: bool = True,
    progress: Progress | None = None,
) -> Outcome:
    """Simulate with the compiled engine by a prediction, which it takes for its own. What is in
    Python, a plugin or a policy, is asked as the loop comes to it: slower, with the same results.

    `population`: users who bargain, instead of one least probability for all.
    `placed` False leaves node sets out, which only the classic policies without failures allow.
    """
    entry, asked = parameters.entry, plugin or policy
    assert placed or not (entry.promises or len(failures) or parameters.vault)
    assert entry.promises or (plugin is None and population is None)
    assert entry.own == (policy is not None)
    rules = rules_of(parameters, placed=placed)
    if plugin is not None:
        rules, prediction = plugin.rules(rules), plugin.prediction(prediction)
    world = new_world(workload, failures, parameters)
    start, near = int(world.clock[0]), near_of(parameters)
    state = new_state(len(workload.jobs), parameters.nodes, rules, prediction, start, near)
    state = state._replace(jobs=job_records(workload, parameters), pools=pools_of(parameters))
    log = new_log(1024 if log_events else 0)
    bargains = None
    if population is not None:
        bargains = Bargains(population, workload, parameters.seed, plugin)
        world.clock[worlds.MEETS] = 0
    run, status = _loop_of(parameters), stops.PAUSED
    while status != stops.ENDED:
        status = run(state, world, log, CHUNK, status == stops.ASKED)
        if status == stops.STALLED:
            assert policy is not None, "jobs are left, yet nothing will happen any more"
            left = int(world.at[worlds.LEFT])
            raise InputError(f"policy {policy.policy.name} starts nothing more; jobs left: {left}")
        if status == stops.MET:
            assert bargains is not None, "only users who bargain are met"
            state = bargains.meet(state, world)
        elif status == stops.ASKED:
            assert asked is not None, "only what is Python is asked"
            asked.answer(state, int(world.at[worlds.NOW]))
        elif status == stops.FULL:
            check_clock(world, workload)
            state = grown(state)
            world = grown_world(world, parameters.nodes)
            log = grown_log(log, state, world) if log_events else log
        if status != stops.FULL and progress is not None:
            progress(len(world.jobs) - int(world.at[worlds.LEFT]), len(world.jobs))
    outcome = collect(workload, failures, parameters, state, world, log)
    return outcome if bargains is None else without_left(outcome, bargains.made)


def _loop_of(parameters: Parameters) -> Callable[..., int]:
    """Return the compiled loop; only the one that is needed is loaded, and compiled the first
    time."""
    if parameters.entry.promises:
        return promise_loop_kernels.run

    return classic_loop_kernels.run


def _promised(
    state: State, parameters: Parameters
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the promises and their deadlines, -1 throughout under a policy that makes none."""
    if not parameters.entry.promises:
        return np.zeros(len(state.jobs)), np.full(len(state.jobs), -1, dtype=np.int64)
    return np.asarray(state.jobs["promise"]).copy(), np.asarray(state.jobs["deadline"]).copy()


def collect(
    workload: Workload,
    failures: Failures,
    parameters: Parameters,
    state: State,
    world: worlds.World,
    log: loop.Log,
) -> Outcome:
    """Cut the arrays to what was used."""
    at = world.at
    return Outcome(
        workload,
        failures,
        parameters,
        world.jobs,
        *_promised(state, parameters),
        world.runs[: at[worlds.RUNS]],
        world.ranges[: at[worlds.RANGES]],
        world.played[: at[worlds.STRUCK]],
        loop.Log(
            log.events[: at[worlds.LOGGED]],
            log.decisions[: at[worlds.DECIDED]],
            log.ranges[: at[worlds.LOG_RANGES]],
        ),
        int(at[worlds.EVENTS]),
        saves=kept_of(world.vault),
    )


def without_left(outcome: Outcome, bargains: npt.NDArray[Any]) -> Outcome:
    """Return what happened without the jobs that never came, since their users left. Raises
    InputError where no job came."""
    stays = bargains["row"] > 0
    if not bool(stays.any()):
        raise InputError(f"all {len(stays)} users left: none was offered what they want")
    work, place = outcome.workload, np.cumsum(stays) - 1

    def renumbered(table: npt.NDArray[Any], name: str, about: npt.NDArray[np.bool_]) -> None:
        table[name][about] = place[table[name][about]]

    every = np.ones(len(outcome.runs), np.bool_)
    log, played = outcome.log, outcome.played
    renumbered(outcome.runs, "job", every)
    renumbered(played, "job", played["job"] >= 0)
    if outcome.saves is not None:
        renumbered(outcome.saves, "job", np.ones(len(outcome.saves), np.bool_))
    renumbered(log.events, "key", np.isin(log.events["kind"], OF_JOBS))
    renumbered(log.decisions, "job", log.decisions["job"] >= 0)
    return replace(
        outcome,
        workload=work.take(stays),
        jobs=outcome.jobs[stays],
        promises=outcome.promises[stays],
        deadlines=outcome.deadlines[stays],
        bargains=bargains,
        whole=work,
    )
