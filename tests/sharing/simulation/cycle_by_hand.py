"""Two runs of cycle sharing worked out by hand, as arrays, and the first as files, too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.cycle import ESTIMATE, FATE, MILLION, STAY, Fate, StayEnd
from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.sharing.engine.state import DECISION, EVENT
from forestall.sharing.simulation.outcome import (
    RUN,
    CycleOutcome,
    GuestLog,
    GuestWorkload,
    HostRuns,
)
from forestall.sharing.simulation.parameters import CycleParameters

NAN = math.nan
DONE, CONTENTION, THRASHING, AWAY, CUT, MOVED = StayEnd
COMPLETED, UNSCHEDULED, UNFINISHED = Fate


def made(
    jobs: list[tuple[int, int, int]],
    hosts: HostTraces,
    runs: list[tuple[int, int, int]],
    rates: list[list[int]],
    fates: list[tuple[int, ...]],
    stays: list[tuple[Any, ...]],
    end: int,
    events: int,
    **settings: Any,
) -> CycleOutcome:
    """Return an outcome from rows: jobs are (id, submit, run time), runs (host, state, start),
    rates of each sample in thousandths; work in fates and stays in s."""
    parameters = CycleParameters(**settings)
    ids, submit, runtime = np.array(jobs).T
    ones = np.ones(len(jobs), dtype=np.int64)
    done = np.zeros((len(hosts), hosts.samples + 1), dtype=np.int64)
    done[:, 1:] = np.cumsum(np.array(rates) * 1000 * hosts.period, axis=1)
    begin = -parameters.warm_up
    table = np.zeros(len(runs), dtype=RUN)
    table["host"], table["state"], table["start"] = np.array(runs).T
    table["done"] = done[table["host"], (table["start"] - begin) // hosts.period]
    first = np.searchsorted(table["host"], np.arange(len(hosts) + 1))
    outcome = np.zeros(len(fates), dtype=FATE)
    for k, (start, finish, fate, tries, failures, lost, checkpoints) in enumerate(fates):
        outcome[k] = start, finish, fate, tries, failures, round(lost * MILLION), checkpoints
    rows = np.zeros(len(stays), dtype=STAY)
    for k, (job, host, how, saves, start, until, *work) in enumerate(stays):
        parts = (round(x * MILLION) for x in work)
        resumed = rows["saved"][:k][rows["job"][:k] == job].max(initial=0)
        rows[k] = job, host, how, saves, start, until, *parts, -1, -1, resumed, -1
    return CycleOutcome(
        GuestWorkload(Jobs(ids, submit, ones, runtime, -ones), runtime * MILLION, Cleaning()),
        hosts,
        HostRuns(table, first, done, begin, begin + hosts.end, hosts.period),
        parameters,
        outcome,
        rows,
        GuestLog(np.zeros(0, EVENT), np.zeros(0, DECISION), np.zeros(0, ESTIMATE)),
        events,
        0,
        end,
    )


# Three hosts of speed 1, 0.5 and 2, samples of 10 s, hold time 10 s, jobs from the second 20 on.
#   host 0: 0.1 to 20, 0.5 to 40, 0.9 to 60 (S3 from 50), then free
#   host 1: free to 40, no sample to 60 (S5 from 50), then free
#   host 2: S4 to 30, then 0.25 but for a spike of 0.7 from 70 to 80
# Jobs 10 and 20 are on hosts 0 and 1 until 50; job 30 finds no host at 6 and 11. Job 10 goes to
# host 2 at once and is done at 70; job 20 finds none at 50 and 55, goes to host 0 at 60 and is done
# in the last second, 100. Job 40 is cut off on host 1, job 50 takes 9 / 1.5 = 6 s on host 2.
def scratch() -> CycleOutcome:
    """Return the run whose files stand below."""
    load = [
        [0.0, 0.0, 0.1, 0.1, 0.5, 0.5, 0.9, 0.9, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, NAN, NAN, 0.0, 0.0, 0.0, 0.0],
        [0.25] * 9 + [0.7] + [0.25] * 2,
    ]
    memory = [[1.0] * 12, [1.0] * 12, [0.05] * 5 + [0.5] * 7]
    hosts = HostTraces(
        np.array(load), np.array(memory), 10, np.array([1.0, 0.5, 2.0]), ("a", "b", "c")
    )
    runs = [
        (0, 0, -20), (0, 1, 20), (0, 2, 50), (0, 0, 60),
        (1, 0, -20), (1, 4, 50), (1, 0, 60),
        (2, 3, -20), (2, 1, 30),
    ]  # fmt: skip
    rates = [
        [1000, 1000, 900, 900, 500, 500, 100, 0, 1000, 1000, 1000, 1000],
        [500, 500, 500, 500, 500, 500, 0, 0, 500, 500, 500, 500],
        [0, 0, 0, 0, 0, 1500, 1500, 1500, 1500, 600, 1500, 1500],
    ]
    jobs = [(10, 3, 30), (20, 5, 40), (30, 6, 8), (40, 62, 100), (50, 80, 9)]
    fates = [
        (3, 70, COMPLETED, 2, 1, 26.3, 0), (5, 100, COMPLETED, 4, 1, 17.5, 0),
        (-1, -1, UNSCHEDULED, 2, 0, 0, 0), (62, -1, UNFINISHED, 1, 0, 0, 0),
        (80, 86, COMPLETED, 1, 0, 0, 0),
    ]  # fmt: skip
    stays = [
        (0, 0, CONTENTION, 0, 3, 50, 26.3, 0, 26.3), (1, 1, AWAY, 0, 5, 50, 17.5, 0, 17.5),
        (0, 2, DONE, 0, 50, 70, 30, 30, 0), (4, 2, DONE, 0, 80, 86, 9, 9, 0),
        (1, 0, DONE, 0, 60, 100, 40, 40, 0), (3, 1, CUT, 0, 62, 100, 19, 0, 0),
    ]  # fmt: skip
    return made(jobs, hosts, runs, rates, fates, stays, 100, 19, **SCRATCH)


SCRATCH: dict[str, Any] = {
    "scheduler": "condor", "rank": "speed", "warm_up": 20, "hold": 10, "retry": 5, "retries": 1
}  # fmt: skip

FILES = {
    "jobs": """\
job,submit,runtime,start,finish,makespan,outcome,tries,failures,lost,checkpoints
10,3,30,3,70,67,completed,2,1,26.3,0
20,5,40,5,100,95,completed,4,1,17.5,0
30,6,8,,,,unscheduled,2,0,0.0,0
40,62,100,62,,,unfinished,1,0,0.0,0
50,80,9,80,86,6,completed,1,0,0.0,0
""",
    "stays": """\
job,host,start,end,ended,work,saved,lost,checkpoints,chance,promise
10,0,3,50,contention,26.3,0.0,26.3,0,,
20,1,5,50,away,17.5,0.0,17.5,0,,
10,2,50,70,completed,30.0,30.0,0.0,0,,
50,2,80,86,completed,9.0,9.0,0.0,0,,
20,0,60,100,completed,40.0,40.0,0.0,0,,
40,1,62,100,unfinished,19.0,0.0,0.0,0,,
""",
    "hosts": f"""\
host,name,speed,samples,share_s1,share_s2,share_s3,share_s4,share_s5,unavailable,s3,s4,s5,guests,\
guest_seconds,useful,lost
0,a,1.0,10,{57 / 97},{30 / 97},{10 / 97},0.0,0.0,1,1,0,0,2,87,40.0,26.3
1,b,0.5,8,{87 / 97},0.0,0.0,0.0,{10 / 97},1,0,0,1,2,83,0.0,17.5
2,c,2.0,10,0.0,{70 / 97},0.0,{27 / 97},0.0,0,0,0,0,2,26,39.0,0.0
""",
    "availability": """\
host,start,end,state,work
0,3,20,S1,15.3
0,20,50,S2,11.0
0,50,60,S3,0.0
0,60,100,S1,40.0
1,3,50,S1,18.5
1,50,60,S5,0.0
1,60,100,S1,20.0
2,3,30,S4,0.0
2,30,100,S2,96.0
""",
}

MEASURES: dict[str, Any] = {
    "jobs_simulated": 5,
    "jobs_started": 4,
    "jobs_completed": 3,
    "jobs_unscheduled": 1,
    "jobs_unfinished": 1,
    "makespan": 56.0,  # (67 + 95 + 6) / 3
    # Deviations 11, 39, -50: variance (121 + 1521 + 2500) / 2, t of two degrees 4.302653.
    "makespan_interval": [0.0, 56 + 4.302652729911275 * math.sqrt(4142 / 2 / 3)],
    "makespan_median": 67.0,
    "makespan_p95": 92.2,  # 67 + 0.9 x 28
    "stretch": (67 / 30 + 95 / 40 + 6 / 9) / 3,
    "wait": 0.0,
    "failures_per_job": 0.4,
    # Of 1, 1, 0, 0, 0: variance 1.2 / 4, t of four degrees 2.776445.
    "failures_per_job_interval": [0.0, 0.4 + 2.7764451051977934 * math.sqrt(0.3 / 5)],
    "jobs_failed_share": 0.4,
    "unscheduled_share": 0.2,
    "unfinished_share": 0.2,
    "failures": 2,
    "tries": 10,
    "checkpoints": 0,
    "interval_over": "jobs",
    "stays_count": 6,
    "stays_ended": {"completed": 3, "contention": 1, "thrashing": 0, "away": 1, "unfinished": 1},
    "useful_work": 79.0,
    "lost_work": 43.8,
    "unfinished_work": 19.0,
    "offered_work": 200.8,
    "harvested": 79 / 200.8,
    "guest_seconds": 196,
    "occupied": 196 / 244,  # 87 + 87 + 70 s in S1 and S2
    "stays_promised": None,
    "promised_mean": None,
    "foreseen_mean": None,
    "foreseen_brier": None,
    "kept_share": None,
    "brier": None,
    "calibration": None,
    "hosts_count": 3,
    "state_shares": {
        "s1": 144 / 291, "s2": 100 / 291, "s3": 10 / 291, "s4": 27 / 291, "s5": 10 / 291
    },
    "unavailable_per_host": 2 / 3,
    "uec_per_host": 1 / 3,
    "urr_per_host": 1 / 3,
    "unavailable": {"s3": 1, "s4": 0, "s5": 1},
    "by_length": [
        {
            "length": float(length), "shortest": length, "longest": length, "jobs": 1,
            "makespan": makespan, "makespan_interval": None,
            "stretch": None if makespan is None else makespan / length,
            "failures_per_job": failures, "failures_per_job_interval": None,
            "unscheduled_share": given_up, "unfinished_share": cut,
        }
        for length, makespan, failures, given_up, cut in (
            (8, None, 0.0, 1.0, 0.0), (9, 6.0, 0.0, 0.0, 0.0), (30, 67.0, 1.0, 0.0, 0.0),
            (40, 95.0, 1.0, 0.0, 0.0), (100, None, 0.0, 0.0, 1.0),
        )
    ],
    "span": 97,
    "origin": 4 * 86_400 + 20,
    "events": 19,
    "forecasts": 0,
}  # fmt: skip


# One host, free but for 0.9 from 40 to 60 (S3 from 50) and no sample from 100 to 130 (S5 from
# 110). Checkpoints of 2 s after 10 s each, 3 s to restart. The job of 95 s does 10, 10, 10, 4.6 and
# 0.2 by 50, all saved; then 10 s each from 63, 75 and 87, saved, and 1 from 99, lost; then 10 s
# each from 133, 145 and 157, and 0.2 from 169.
def checkpoints() -> CycleOutcome:
    """Return a run with checkpoints."""
    load = [0.0] * 4 + [0.9] * 2 + [0.0] * 4 + [NAN] * 3 + [0.0] * 7
    hosts = HostTraces(np.array([load]), None, 10, np.array([1.0]), ("alone",), 1_000_000)
    runs = [(0, 0, 0), (0, 1, 40), (0, 2, 50), (0, 0, 60), (0, 4, 110), (0, 0, 130)]
    rates = [[1000] * 4 + [100, 0] + [1000] * 4 + [0] * 3 + [1000] * 7]
    fates = [(0, 170, COMPLETED, 6, 2, 1.0, 11)]
    stays = [
        (0, 0, CONTENTION, 5, 0, 50, 34.8, 34.8, 0),
        (0, 0, AWAY, 3, 60, 110, 31, 64.8, 1),
        (0, 0, DONE, 3, 130, 170, 30.2, 95, 0),
    ]
    return made([(1, 0, 95)], hosts, runs, rates, fates, stays, 170, 12, **CHECKPOINTS)


CHECKPOINTS: dict[str, Any] = {
    "scheduler": "omniscient", "restart": "checkpoint", "checkpoint_interval": 10, "hold": 10,
    "checkpoint_overhead": 2, "restart_overhead": 3, "retry": 10, "warm_up": 0,
}  # fmt: skip


def played(outcome: CycleOutcome) -> CycleOutcome:
    """Return what the simulator makes of the same jobs, hosts and parameters, with its log."""
    from forestall.sharing.simulation.prepare import prepare_guests
    from forestall.sharing.simulation.run import play_cycle

    setup = outcome.hosts, outcome.parameters
    return play_cycle(prepare_guests(outcome.workload.jobs, *setup), *setup, log_events=True)
