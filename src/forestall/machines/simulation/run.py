"""One run of virtual machines: build the state and the world, let the compiled loop play, and
collect what happened."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import records
from forestall.core.clock.progress import CHUNK, Progress
from forestall.core.clock.stop_kernels import ENDED, FULL, STALLED
from forestall.core.engine.growth import longer
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.own import is_own
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual_books import MOVE, RUN, STRUCK
from forestall.core.streams import stream
from forestall.machines.engine import state as states
from forestall.machines.engine.state import JOB, Books, TaskRules, TaskState, grown, new_task_state
from forestall.machines.rules.entries import OWN_STRATEGY, STRATEGIES
from forestall.machines.rules.own import OwnStrategy
from forestall.machines.rules.placement_kernels import Choosing
from forestall.machines.simulation import loop_kernels as loop
from forestall.machines.simulation import world_kernels as worlds
from forestall.machines.simulation.outcome import FATE, TaskLog, VirtualOutcome, VirtualWorkload
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.prepare import (
    capacities,
    lead_of,
    rooms,
    slots_of_machine,
    thousandths,
    transfer_of,
)
from forestall.prediction.models.heap_kernels import new_heap


def choosing_of(parameters: VirtualParameters, own: OwnStrategy | None = None) -> Choosing:
    """Return how nodes are chosen; alpha below 0 is dynamic. Raises ParameterError where an own
    strategy is meant and none is there."""
    alpha = -1.0 if parameters.alpha == "dynamic" else float(parameters.alpha)
    name = parameters.strategy
    if is_own(name) and own is None:
        raise ParameterError("strategy", name, "a Strategy, as it was given to the simulation")
    strategy = OWN_STRATEGY if own is not None else STRATEGIES.chosen(name)
    if strategy.alpha is not None:
        alpha = strategy.alpha
    return Choosing(
        strategy=strategy.number,
        alpha=alpha,
        migrates=int(parameters.migration != "none"),
        transfer=transfer_of(parameters).whole,
        own=0 if own is None else own.asked.address,
    )


def rules_of(parameters: VirtualParameters) -> TaskRules:
    """Return what else the engine needs to know of the parameters."""
    transfer = transfer_of(parameters)
    return TaskRules(
        copy=transfer.copy,
        standstill=transfer.standstill,
        backfill=int(parameters.backfill),
        stop=int(parameters.past_deadline == "stop"),
        random_migrates=int(not parameters.random_stays),
        checkpointing=int(parameters.checkpoint == "periodic"),
        interval=parameters.checkpoint_interval,
        overhead=parameters.checkpoint_overhead,
        limit=0 if parameters.overload_limit is None else thousandths(parameters.overload_limit),
        hold=parameters.overload_hold,
        believed=parameters.migration_cost if parameters.tau == "learned" else -1,
        memory=parameters.vm_memory or 0.0,
    )


def first_moment(workload: VirtualWorkload, failures: Failures) -> int:
    """Return when the first event of a run is, s; predictions are known no earlier."""
    return int(min([workload.jobs.submit[0], *failures.time[:1]]))


def new_state(
    workload: VirtualWorkload, parameters: VirtualParameters, own: OwnStrategy | None = None
) -> TaskState:
    """Return the engine's state with all jobs known, before anything has happened."""
    jobs = workload.jobs
    tasks = int(jobs.size.sum())
    room = 3 * min(tasks, slots_of_machine(parameters)) + 64
    books = Books(
        records(tasks + tasks // 8 + room, RUN, zeroed=False),
        records(room, MOVE, zeroed=False),
        records(64, STRUCK, zeroed=False),
    )
    state = new_task_state(
        capacities(parameters),
        thousandths(parameters.task_processors),
        thousandths(parameters.least_rate),
        choosing_of(parameters, own),
        rules_of(parameters),
        books,
        jobs=0,
        tasks=tasks,
        at_once=tasks,
        rooms=rooms(parameters),
    )
    table = records(len(jobs), JOB)
    table["submit"], table["deadline"] = jobs.submit, workload.deadline
    table["tasks"], table["left"], table["work"] = jobs.size, jobs.size, workload.work
    table["first"] = np.cumsum(jobs.size) - jobs.size
    for name in ("start", "finish", "next", "before", "vm"):
        table[name] = -1
    state.at[states.LEFT] = len(jobs)
    state = state._replace(jobs=table)
    if STRATEGIES.chosen(parameters.strategy).draws:
        draws = stream(parameters.seed, "virtual", "random-select").random(tasks)
        state = state._replace(draws=draws)
    if own is not None:
        own.fleet = state.fleet
    return state


def new_world(
    workload: VirtualWorkload,
    failures: Failures,
    predictions: Predictions,
    parameters: VirtualParameters,
    slots: int,
) -> worlds.TaskWorld:
    """Return the world before anything has happened, for so many places of tasks."""
    origin = min([first_moment(workload, failures), *predictions.known[:1]])
    end = origin + worlds.MAX_TIME  # what is later than any run never comes
    count = int(np.searchsorted(failures.time, end))
    strikes = records(count, worlds.STRIKE)
    strikes["time"], strikes["node"] = failures.time[:count], failures.node[:count]
    strikes["downtime"] = failures.downtime[:count]
    mine = (predictions.node < parameters.nodes) & (predictions.known < end)
    told = records(int(mine.sum()), worlds.TOLD)
    told["known"], told["node"] = predictions.known[mine], predictions.node[mine]
    told["expected"] = predictions.expected[mine]
    return worlds.TaskWorld(
        np.argsort(workload.deadline, kind="stable"),
        strikes,
        told,
        new_heap(2 * slots + 3 * parameters.nodes),
        np.zeros(14, dtype=np.int64),
        np.array([origin, lead_of(parameters)], dtype=np.int64),
    )


def play_virtual(
    workload: VirtualWorkload,
    failures: Failures,
    predictions: Predictions,
    parameters: VirtualParameters,
    *,
    own: OwnStrategy | None = None,
    log_events: bool = False,
    progress: Progress | None = None,
) -> VirtualOutcome:
    """Simulate; `failures` are prepared (see `simulate.promise.prepare`) and all there
    are: `repeat_failures` is not looked at. `own` chooses nodes where the strategy is in Python."""
    state = new_state(workload, parameters, own)
    world = new_world(workload, failures, predictions, parameters, len(state.vms))
    more = stream(parameters.seed, "virtual", "random-moves")
    logs = new_logs(1024 if log_events else 0)
    count = len(workload.jobs)
    while True:
        status = loop.run(state, world, logs, CHUNK)
        if own is not None:
            own.asked.check()
        assert status != STALLED, "jobs are left, yet nothing will happen any more"
        if status == ENDED:
            break
        if status == FULL:
            check_clock(world)
            state = grown(state, more)
            logs = grown_logs(logs, state, world) if log_events else logs
        elif progress is not None:
            progress(count - int(state.at[states.LEFT]), count)
    return collect(workload, failures, predictions, parameters, state, world, logs)


def check_clock(world: worlds.TaskWorld) -> None:
    """Raise InputError where the run has gone past what event keys can hold."""
    if world.at[worlds.TOO_LATE]:
        years = worlds.MAX_TIME / (365.25 * 86_400)
        raise InputError(f"tasks run on for more than {years:,.0f} years; are times in seconds?")


def new_logs(capacity: int) -> worlds.TaskLogs:
    """Return empty logs; capacity 0 logs nothing."""
    return worlds.TaskLogs(records(capacity, states.EVENT), records(capacity, states.DECISION))


def grown_logs(logs: worlds.TaskLogs, state: TaskState, world: worlds.TaskWorld) -> worlds.TaskLogs:
    """Return the logs with more room where room is short."""
    return worlds.TaskLogs(
        longer(logs.events, int(world.at[worlds.LOGGED]) + 1),
        longer(logs.decisions, int(world.at[worlds.DECIDED]) + len(state.out)),
    )


def collect(
    workload: VirtualWorkload,
    failures: Failures,
    predictions: Predictions,
    parameters: VirtualParameters,
    state: TaskState,
    world: worlds.TaskWorld,
    logs: worlds.TaskLogs,
) -> VirtualOutcome:
    """Cut the arrays to what was used."""
    at, books = state.at, state.books
    fates = np.zeros(len(state.jobs), dtype=FATE)
    for name in FATE.names or ():
        fates[name] = state.jobs[name]
    return VirtualOutcome(
        workload,
        failures,
        predictions,
        parameters,
        fates,
        books.runs[: at[states.RUNS]],
        books.moves[: at[states.MOVES]],
        books.struck[: at[states.STRIKES]],
        TaskLog(
            logs.events[: world.at[worlds.LOGGED]],
            logs.decisions[: world.at[worlds.DECIDED]],
        ),
        int(world.at[worlds.EVENTS]),
        int(at[states.ENDED_AT]),
    )
