"""Three runs of virtual machines worked out by hand, as arrays, and the first as files, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual import FAR
from forestall.core.model.virtual_books import MOVE, RUN, STRUCK, Begun, Ended, MoveEnd
from forestall.machines.engine.state import DECISION, EVENT
from forestall.machines.simulation.outcome import FATE, TaskLog, VirtualOutcome, VirtualWorkload
from forestall.machines.simulation.parameters import VirtualParameters

PLACED, MIGRATED, RESTARTED = Begun
COMPLETED, MOVED, ABORTED, STOPPED, LATE, CANCELLED = Ended


def made(
    jobs: list[tuple[int, ...]],
    failures: list[tuple[int, ...]],
    predictions: list[tuple[int, ...]],
    fates: list[tuple[int, ...]],
    runs: list[tuple[int, ...]],
    moves: list[tuple[int, ...]],
    end: int,
    **settings: Any,
) -> VirtualOutcome:
    """Return an outcome from rows: jobs are (id, submit, tasks, runtime, deadline), failures (time,
    node, downtime, tasks, lost), the others have the fields of their dtypes."""
    parameters = VirtualParameters(**settings)
    ids, submit, size, runtime, deadline = np.array(jobs).T
    work = runtime * round(1000 * parameters.task_processors)
    log = np.array(failures, dtype=np.int64).reshape(-1, 5)
    struck = [(row[0], k, row[3], row[4]) for k, row in enumerate(failures)]
    known, node, expected = np.array(predictions, dtype=np.int64).reshape(-1, 3).T
    return VirtualOutcome(
        VirtualWorkload(
            Jobs(ids, submit, size, runtime, deadline - submit), deadline, work, Cleaning()
        ),
        Failures.build(log[:, 0], log[:, 1], log[:, 2]),
        Predictions(known, node, expected, "by hand"),
        parameters,
        np.array(fates, dtype=FATE),
        np.array(runs, dtype=RUN),
        np.array(moves, dtype=MOVE),
        np.array(struck, dtype=STRUCK),
        TaskLog(np.zeros(0, EVENT), np.zeros(0, DECISION)),
        0,
        end,
    )


# Three nodes of 2 processors, at most 0.8 for a task: two of 0.8 and one of 0.4 fit on a node. Job
# 10 has both of its tasks on node 0, which is left at 10 by one of them and fails at 14. Job 40 is
# too wide and blocks jobs 50 and 60 until its deadline. Node 0 fails again while it is down. Job 60
# is stopped at its deadline.
def stop_and_copy() -> VirtualOutcome:
    """Return the run whose files stand below."""
    jobs = [
        (10, 0, 2, 20, 60), (20, 1, 3, 10, 30), (30, 2, 2, 5, 30),
        (40, 5, 9, 10, 15), (50, 8, 1, 4, 40), (60, 9, 1, 100, 25),
    ]  # fmt: skip
    runs = [
        (2, 1, 2, PLACED, COMPLETED, 2, 2, 7, 800, 4000, 0, 0),
        (0, 0, 0, PLACED, MOVED, 0, 0, 10, 800, 8000, 0, 0),
        (1, 0, 1, PLACED, COMPLETED, 1, 1, 11, 800, 8000, 0, 0),
        (1, 1, 1, PLACED, COMPLETED, 1, 1, 11, 800, 8000, 0, 0),
        (1, 2, 2, PLACED, COMPLETED, 1, 1, 11, 800, 8000, 0, 0),
        (2, 0, 1, PLACED, COMPLETED, 2, 2, 12, 400, 4000, 0, 0),
        (0, 1, 0, PLACED, ABORTED, 0, 0, 14, 800, 11200, 11200, 0),
        (4, 0, 1, PLACED, COMPLETED, 15, 15, 19, 800, 3200, 0, 0),
        (0, 0, 2, MIGRATED, COMPLETED, 10, 12, 22, 800, 8000, 0, 0),
        (5, 0, 2, PLACED, STOPPED, 15, 15, 25, 800, 8000, 0, 0),
    ]
    return made(
        jobs,
        [(14, 0, 6, 1, 11200), (16, 0, 10, 0, 0), (24, 1, 5, 0, 0)],
        [(0, 0, 12), (2, 1, FAR), (3, 1, 100), (14, 1, 90)],
        [(0, 22, 1, 0, 0), (1, 11, 3, 0, 0), (2, 12, 2, 0, 0), (-1, -1, 0, 0, 1),
         (15, 19, 1, 0, 0), (15, 25, 0, 0, 0)],
        runs,
        [(10, 12, 12, 0, 0, 0, 2, MoveEnd.ARRIVED)],
        25,
        nodes=3, processors_per_node=2, task_processors=0.8, migration_cost=2,
    )  # fmt: skip


JOBS = """\
job,submit,size,runtime,deadline,start,finish,completed,tasks_completed,outcome,lost,restarts,migrations
10,0,2,20,60,0,22,0,1,uncompleted,11.2,0,1
20,1,3,10,30,1,11,1,3,completed,0.0,0,0
30,2,2,5,30,2,12,1,2,completed,0.0,0,0
40,5,9,10,15,,,0,0,dropped,0.0,0,0
50,8,1,4,40,15,19,1,1,completed,0.0,0,0
60,9,1,100,25,15,25,0,0,uncompleted,0.0,0,0
"""
TASKS = """\
job,task,node,start,end,rate,work,done,outcome,migrations,restarts,checkpoints,lost
10,0,2,0,22,0.8,16.0,16.0,completed,1,0,0,0.0
10,1,0,0,14,0.8,16.0,0.0,aborted,0,0,0,11.2
20,0,1,1,11,0.8,8.0,8.0,completed,0,0,0,0.0
20,1,1,1,11,0.8,8.0,8.0,completed,0,0,0,0.0
20,2,2,1,11,0.8,8.0,8.0,completed,0,0,0,0.0
30,0,1,2,12,0.4,4.0,4.0,completed,0,0,0,0.0
30,1,2,2,7,0.8,4.0,4.0,completed,0,0,0,0.0
40,0,,,,,8.0,0.0,dropped,0,0,0,0.0
40,1,,,,,8.0,0.0,dropped,0,0,0,0.0
40,2,,,,,8.0,0.0,dropped,0,0,0,0.0
40,3,,,,,8.0,0.0,dropped,0,0,0,0.0
40,4,,,,,8.0,0.0,dropped,0,0,0,0.0
40,5,,,,,8.0,0.0,dropped,0,0,0,0.0
40,6,,,,,8.0,0.0,dropped,0,0,0,0.0
40,7,,,,,8.0,0.0,dropped,0,0,0,0.0
40,8,,,,,8.0,0.0,dropped,0,0,0,0.0
50,0,1,15,19,0.8,3.2,3.2,completed,0,0,0,0.0
60,0,2,15,25,0.8,80.0,8.0,stopped,0,0,0,0.0
"""
RUNS = """\
job,task,node,start,runs_from,end,rate,work,begun,outcome,lost,checkpoints
30,1,2,2,2,7,0.8,4.0,placed,completed,0.0,0
10,0,0,0,0,10,0.8,8.0,placed,moved,0.0,0
20,0,1,1,1,11,0.8,8.0,placed,completed,0.0,0
20,1,1,1,1,11,0.8,8.0,placed,completed,0.0,0
20,2,2,1,1,11,0.8,8.0,placed,completed,0.0,0
30,0,1,2,2,12,0.4,4.0,placed,completed,0.0,0
10,1,0,0,0,14,0.8,11.2,placed,aborted,11.2,0
50,0,1,15,15,19,0.8,3.2,placed,completed,0.0,0
10,0,2,10,12,22,0.8,8.0,migrated,completed,0.0,0
60,0,2,15,15,25,0.8,8.0,placed,stopped,0.0,0
"""
MIGRATIONS = """\
time,job,task,source,target,end,predicted,outcome
10,10,0,0,2,12,12,arrived
"""
FAILURES = """\
time,node,downtime,predicted,kind,tasks,lost
14,0,6,12,"",1,11.2
16,0,10,,"",0,0.0
24,1,5,90,"",0,0.0
"""
FILES = {
    "jobs": JOBS,
    "tasks": TASKS,
    "runs": RUNS,
    "migrations": MIGRATIONS,
    "failures": FAILURES,
}
MEASURES = {
    "job_completion_rate": 3 / 6,
    "task_completion_rate": 7 / 18,
    "jobs_count": 6,
    "jobs_completed": 3,
    "jobs_late": 0,
    "jobs_dropped": 1,
    "tasks_count": 18,
    "tasks_completed": 7,
    "tasks_late": 0,
    "tasks_aborted": 1,
    "tasks_stopped": 1,
    "tasks_dropped": 9,
    "utilization": 51.2 / 150,
    "lost_work": 11.2,
    "stopped_work": 8.0,
    "makespan": 25,
    "wait": {"mean": 13 / 5, "median": 0.0, "p95": 6.8},
    "restarts": 0,
    "checkpoints": 0,
    "migrations": 1,
    "migrations_failed": 0,
    "migration_outcomes": {
        "arrived": 1,
        "target failed": 0,
        "source failed": 0,
        "ended first": 0,
        "deadline first": 0,
    },
    "migration_time": 2,
    "migration_work": 1.6,
    "tasks_saved": 1,
    "moves_in_vain": 0,
    "failures_played": 3,
    "failures_hit": 1,
    "least_reliable_share": 8 / 51.2,  # node 0: two failures, and the first stay of 10/0
    "processor_seconds": {
        "useful": 51.2,
        "lost": 11.2,
        "stopped": 8.0,
        "paused": 1.6,  # a move of 2 s at 0.8
        "idle": 54.0,
        "down": 24.0,  # node 0 for 11 s, node 1 for 1 s
        "total": 150.0,
    },
}


# Two nodes of 1, a checkpoint of 1 s after each 4 s of progress; tasks run past their deadlines.
# Job 1 moves at 9, when its second checkpoint has begun: it is taken at the target, 11 to 12. Node
# 1 fails at 15 and takes the 3 s since; the other 12 s run on node 0, checkpoints at 19 and 24.
def checkpoints() -> VirtualOutcome:
    """Return a run with restarts from checkpoints and a job that is late."""
    runs = [
        (1, 0, 1, PLACED, COMPLETED, 1, 1, 8, 1000, 6000, 0, 1),
        (0, 0, 0, PLACED, MOVED, 0, 0, 9, 1000, 8000, 0, 1),
        (0, 0, 1, MIGRATED, ABORTED, 9, 11, 15, 1000, 3000, 3000, 1),
        (2, 0, 1, PLACED, LATE, 18, 18, 21, 1000, 3000, 0, 0),
        (0, 0, 0, RESTARTED, COMPLETED, 15, 15, 29, 1000, 12000, 0, 2),
    ]
    return made(
        [(1, 0, 1, 20, 30), (2, 1, 1, 6, 8), (3, 16, 1, 3, 20)],
        [(15, 1, 3, 1, 3000)],
        [(0, 0, 11)],
        [(0, 29, 1, 0, 0), (1, 8, 1, 0, 0), (18, 21, 0, 1, 0)],
        runs,
        [(9, 11, 11, 0, 0, 0, 1, MoveEnd.ARRIVED)],
        29,
        nodes=2, migration_cost=2, past_deadline="run",
        checkpoint="periodic", checkpoint_interval=4, checkpoint_overhead=1,
    )  # fmt: skip


# Three nodes of 1; a live migration copies for 3 s and stands still for 1 s. Job 1 leaves node 0 at
# 10 and is gone at 13. Job 2 wants to leave node 2: first its target fails at 7, then its source at
# 22. Job 3 is to leave at 24 and ends first.
def pre_copy() -> VirtualOutcome:
    """Return a run of live migrations, three of which break."""
    runs = [
        (1, 0, 1, MIGRATED, CANCELLED, 5, 7, 7, 1000, 0, 0, 0),
        (0, 0, 0, PLACED, MOVED, 0, 0, 13, 1000, 13000, 0, 0),
        (0, 0, 1, MIGRATED, COMPLETED, 10, 14, 21, 1000, 7000, 0, 0),
        (1, 0, 0, MIGRATED, CANCELLED, 20, 22, 22, 1000, 0, 0, 0),
        (1, 0, 2, PLACED, ABORTED, 0, 0, 22, 1000, 22000, 22000, 0),
        (2, 0, 1, MIGRATED, CANCELLED, 24, 26, 26, 1000, 0, 0, 0),
        (2, 0, 0, PLACED, COMPLETED, 23, 23, 26, 1000, 3000, 0, 0),
    ]
    moves = [
        (5, 7, 9, 1, 0, 2, 1, MoveEnd.TARGET_FAILED),
        (10, 14, 14, 0, 0, 0, 1, MoveEnd.ARRIVED),
        (20, 22, 24, 1, 0, 2, 0, MoveEnd.SOURCE_FAILED),
        (24, 26, 28, 2, 0, 0, 1, MoveEnd.ENDED_FIRST),
    ]
    return made(
        [(1, 0, 1, 20, 40), (2, 0, 1, 30, 60), (3, 23, 1, 3, 40)],
        [(7, 1, 2, 0, 0), (22, 2, 2, 1, 22000)],
        [(0, 0, 14), (0, 2, 9), (12, 2, 24), (23, 0, 28)],
        [(0, 21, 1, 0, 0), (0, 22, 0, 0, 0), (23, 26, 1, 0, 0)],
        runs,
        moves,
        26,
        nodes=3, migration="pre-copy", migration_cost=3, max_downtime=1.0,
    )  # fmt: skip
