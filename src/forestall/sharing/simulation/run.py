"""One run of cycle sharing: build the state and the world, let the compiled loop play, and collect
what happened."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.clock.progress import CHUNK, Progress
from forestall.core.clock.stop_kernels import ENDED, FULL
from forestall.core.engine.growth import longer
from forestall.core.model.cycle import ESTIMATE, FAR, FATE, MILLION, S2, STAY, Fate, StayEnd
from forestall.core.model.hosts import HostTraces
from forestall.core.streams import stream
from forestall.prediction.models.corrected import corrected
from forestall.prediction.models.heap_kernels import new_heap
from forestall.prediction.models.semi_markov.curve_kernels import Sketch
from forestall.prediction.models.semi_markov.forecast import new_sketch
from forestall.sharing.engine import state as states
from forestall.sharing.engine.engine import number_of
from forestall.sharing.engine.state import CycleRules, CycleState, new_cycle_state
from forestall.sharing.rules.own import OwnScheduler
from forestall.sharing.simulation import loop_kernels as loop
from forestall.sharing.simulation import world_kernels as worlds
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.outcome import CycleOutcome, GuestLog, GuestWorkload, HostRuns
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.tables import states_at
from forestall.sharing.simulation.vaults import grown_vault, kept_of, new_vault

DRAWS: Final = ("cycle", "condor")
"""The stream of ties."""
JUST_BACK: Final = (300.0, 3600.0)
"""Seconds over which it fades that a host has just come back. Owners go and come again within
minutes: a host that has just been left is the likeliest one to be taken back."""


def rules_of(parameters: CycleParameters, own: OwnScheduler | None = None) -> CycleRules:
    """Return what the engine needs to know of the parameters. Raises ParameterError where an own
    scheduler is meant and none is there."""
    return CycleRules(
        scheduler=number_of(parameters.scheduler, own),
        retry=parameters.retry,
        retries=parameters.retries,
        resumes=int(parameters.restart == "checkpoint"),
        own=0 if own is None else own.asked.address,
    )


def new_world(
    workload: GuestWorkload, hosts: HostTraces, runs: HostRuns, parameters: CycleParameters
) -> worlds.CycleWorld:
    """Return the world before anything has happened."""
    jobs = workload.jobs
    origin = int(jobs.submit[0])
    guests = records(len(jobs), worlds.GUEST)
    guests["submit"], guests["work"] = jobs.submit, workload.work
    guests["start"], guests["finish"], guests["outcome"] = -1, -1, int(Fate.UNFINISHED)
    guests["asked"], guests["target"] = -1, -1
    start, host = runs.runs["start"], runs.runs["host"]
    later = np.flatnonzero((start > origin) & (start < runs.end))
    later = later[np.lexsort((host[later], start[later]))]
    changes = records(len(later), worlds.CHANGE)
    changes["time"], changes["host"] = start[later], host[later]
    changes["state"] = runs.runs["state"][later]
    ranks = np.empty(0, dtype=np.int64)
    if parameters.rank == "speed":
        ranks = np.rint(MILLION * hosts.speed).astype(np.int64)
    resumes = parameters.restart == "checkpoint"
    saving = worlds.Saving(
        interval=(parameters.checkpoint_interval or 0) if resumes else 0,
        overhead=parameters.checkpoint_overhead if resumes else 0,
        at_end=int(resumes and parameters.checkpoint_at_end),
        restart=parameters.restart_overhead if resumes else 0,
    )
    at = np.zeros(worlds.COUNTERS, dtype=np.int64)
    at[worlds.SLOT], at[worlds.LOOKED] = -1, -1
    moving = moving_of(parameters)
    if moving.every:
        at[worlds.LOOK_AT] = runs.begin + -(-(origin - runs.begin) // moving.every) * moving.every
    return worlds.CycleWorld(
        guests,
        changes,
        new_heap(len(jobs)),
        runs.done,
        runs.first,
        np.ascontiguousarray(start),
        next_failures(runs),
        ranks,
        hosts.speed,
        np.full(len(hosts), -1, dtype=np.int64),
        records(len(jobs) + 2 * len(hosts) + 64, STAY),
        at,
        worlds.TraceClock(runs.begin, runs.end, runs.period, origin, parameters.predict_every),
        saving,
        moving,
        new_vault(len(jobs), runs, parameters),
    )


def moving_of(parameters: CycleParameters) -> worlds.GuestMoves:
    """Return when guests move."""
    if not parameters.moves or parameters.move_below is None:
        return worlds.GuestMoves(0, 0, 0)
    limit = round(MILLION * parameters.move_below)
    return worlds.GuestMoves(limit, parameters.look_ahead, parameters.look_every)


def next_failures(runs: HostRuns) -> npt.NDArray[np.int64]:
    """Return int64[runs]: when, after each run began, its host is next in S3, S4 or S5."""
    table = runs.runs
    failing = np.flatnonzero(table["state"] > S2)
    place = np.searchsorted(failing, np.arange(len(table)), side="right")
    following = np.append(failing, 0)[place]
    same = (place < len(failing)) & (table["host"][following] == table["host"])
    return np.where(same, table["start"][following], FAR).astype(np.int64)


def no_curves() -> Sketch:
    """Return curves of no hosts, for schedulers that do not look at any."""
    return new_sketch(np.empty(0), 1, 1)


def play_cycle(
    workload: GuestWorkload,
    hosts: HostTraces,
    parameters: CycleParameters,
    *,
    forecasts: Forecasts | None = None,
    own: OwnScheduler | None = None,
    log_events: bool = False,
    progress: Progress | None = None,
) -> CycleOutcome:
    """Simulate.

    Parameters
    ----------
    workload : see `prepare.prepare_guests`
    hosts : as read
    forecasts : of the same hosts and parameters about hosts, to share them between runs
    own : chooses hosts where the scheduler is in Python
    log_events : keep what the engine was told and decided
    progress : called periodically with the number of jobs done and of all jobs
    """
    if forecasts is None:
        forecasts = Forecasts(hosts, parameters, kept=False)  # nobody asks for them again
    forecasts.check(hosts, parameters)
    runs = forecasts.states
    state = new_cycle_state(len(workload.jobs), len(hosts), rules_of(parameters, own))
    if own is not None:
        own.estimates = state.estimates
    world = new_world(workload, hosts, runs, parameters)
    state.hosts["state"] = states_at(runs, int(workload.jobs.submit[0]))
    generator = stream(parameters.seed, *DRAWS)
    logs, known = new_logs(1024 if log_events else 0, len(hosts)), no_curves()
    count, asked = len(workload.jobs), 0
    while True:
        status = loop.run(state, world, known, logs, CHUNK)
        if own is not None:
            own.asked.check()
        if status == ENDED:
            break
        if status == loop.FORECAST:
            known, asked = forecasts.sketch(int(world.at[worlds.SLOT])), asked + 1
        elif status == FULL:
            state, world = grown(state, world, generator)
            logs = grown_logs(logs, world, len(hosts)) if log_events else logs
        if progress is not None:
            progress(count - int(state.at[states.LEFT]), count)
    return collect(workload, hosts, runs, parameters, world, logs, asked)


def grown(
    state: CycleState, world: worlds.CycleWorld, generator: np.random.Generator
) -> tuple[CycleState, worlds.CycleWorld]:
    """Return state and world with more room."""
    used = int(state.at[states.STARTS])
    if state.rules.scheduler == states.CONDOR and used >= len(state.draws):
        more = generator.random(len(state.draws) + 1024)
        state = state._replace(draws=np.concatenate((state.draws, more)))
    room = int(world.at[worlds.STAYS]) + len(state.hosts) + 2
    stays, vault = longer(world.stays, room), grown_vault(world.vault)
    return state, world._replace(stays=stays, vault=vault)


def new_logs(capacity: int, hosts: int) -> worlds.GuestLogs:
    """Return empty logs; capacity 0 logs nothing."""
    return worlds.GuestLogs(
        records(capacity, states.EVENT),
        records(capacity, states.DECISION),
        records(capacity + hosts if capacity else 0, ESTIMATE),
    )


def grown_logs(logs: worlds.GuestLogs, world: worlds.CycleWorld, hosts: int) -> worlds.GuestLogs:
    """Return the logs with more room where room is short."""
    at = world.at
    return worlds.GuestLogs(
        longer(logs.events, int(at[worlds.LOGGED]) + 1),
        longer(logs.decisions, int(at[worlds.DECIDED]) + 1),
        longer(logs.estimates, int(at[worlds.LISTED]) + hosts),
    )


def promises(stays: npt.NDArray[Any], runs: HostRuns) -> npt.NDArray[np.int64]:
    """Return int64[stays]: what was promised of each, millionths: the chance foreseen, corrected by
    how the stays that had ended by then turned out, and by how lately the host had come back; -1
    where nothing was said.

    Nothing is decided by it, so that it can be told when all is over.
    """
    made = np.full(len(stays), -1, dtype=np.int64)
    said = np.flatnonzero(stays["chance"] >= 0)
    if len(said):
        mine = stays[said]
        cut = mine["ended"] == StayEnd.UNFINISHED
        known = np.where(cut, FAR, mine["end"])
        came = mine["ended"] == StayEnd.COMPLETED
        back = runs.since_return(mine["host"], mine["start"])
        lately = np.exp(-back[:, None] / np.array(JUST_BACK))
        chance = corrected(mine["chance"] / MILLION, mine["start"], known, came, lately)
        made[said] = np.rint(chance * MILLION)
    return made


def collect(
    workload: GuestWorkload,
    hosts: HostTraces,
    runs: HostRuns,
    parameters: CycleParameters,
    world: worlds.CycleWorld,
    logs: worlds.GuestLogs,
    forecasts: int,
) -> CycleOutcome:
    """Cut the arrays to what was used."""
    at = world.at
    stays = world.stays[: at[worlds.STAYS]]
    stays["promise"] = promises(stays, runs)
    fates = np.zeros(len(world.guests), dtype=FATE)
    for name in FATE.names or ():
        fates[name] = world.guests[name]
    return CycleOutcome(
        workload,
        hosts,
        runs,
        parameters,
        fates,
        stays,
        GuestLog(
            logs.events[: at[worlds.LOGGED]],
            logs.decisions[: at[worlds.DECIDED]],
            logs.estimates[: at[worlds.LISTED]],
        ),
        int(at[worlds.EVENTS]),
        forecasts,
        int(at[worlds.ENDED_AT]),
        kept_of(world.vault),
    )
