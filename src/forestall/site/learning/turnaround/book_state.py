"""What a book of promises holds: a few arrays of records."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records

Array = npt.NDArray[Any]

POINTS: Final = 32
"""Quantiles that a distribution is kept as."""
NEAR: Final = 32
"""Latest values that are kept of a narrow class of jobs, such as one user's jobs of one kind."""
FAR: Final = 256
"""The same of a wide class."""
LEVELS: Final = 5
"""Classes that a distribution is blended from, narrow before wide."""
BACKLOGS: Final = 9
OWN: Final = 5
CELLS: Final = BACKLOGS * OWN
"""Classes of what is in the queue when a job is submitted: its length in time, and how many of it
are the user's own."""
COHORT: Final = 2048
"""Latest jobs whose turnarounds calibrate all promises; of one partition, half of them."""
ALIKE: Final = 3
"""Calibrations that a job counts for: of all, of its partition, of its size class there."""
OWING: Final = 2
"""The first so many of them keep debts and curves too."""
BINS: Final = 10
BY_LEVEL, BY_DEADLINE = 0, 1
"""What was asked: a deadline for a probability, or the probability of a deadline."""
ITSELF: Final = -1
"""In place of a group: a law that was corrected before it was told is its own calibration."""
FOREST: Final = 1
"""Which of the experts on a job may say nothing yet; the first, like jobs, always does."""
BLEND: Final = 20
"""Bins of the curve that corrects probabilities of named deadlines."""

UNSEEN, PENDING, RUNNING, DONE, VOID, LOST = range(6)
"""States of a job. LOST: the system ended it and did not run it again."""
NONE, OPEN, KEPT, MISSED, DROPPED = range(5)
"""States of a promise. DROPPED: the user cancelled the job before the deadline."""
SUBMIT, START, END, CANCEL, FAIL, LOSE, REQUEUE, STOP, LOOK = range(9)
"""Kinds of events. FAIL: a node's failure stopped a run, and the job waits again; LOSE: for good;
REQUEUE and STOP: the same for other reasons, such as preemption. LOOK: a job that waits is asked
about, and nothing happens."""

# Rows of wide classes that every book has.
RUNS, DRAINS, BY_BACKLOG, TURNAROUNDS, DYNAMIC = 0, 2, 3, 3 + BACKLOGS, 4 + BACKLOGS
# Classes of a job: its run time (two narrow, three wide), its wait (two narrow and one wide, each
# the first row of a block), all waits of its partition.
RUN0, RUN1, RUN2, RUN3, RUN4, WAIT0, WAIT1, WAIT2, WAIT3 = range(9)
KEYS: Final = 9

JOB: Final = np.dtype(
    [
        ("submit", np.int64),
        ("limit", np.int64),  # s, 0 for none
        ("size", np.int64),
        ("started", np.int64),
        ("settled", np.int64),  # turnaround, -1 while it is not known
        ("user", np.int64),
        ("part", np.int64),
        ("slot", np.int64),
        ("place", np.int64),
        ("status", np.int64),
        ("failures", np.int64),
        ("told", np.int64),  # 1: its law was told from elsewhere, corrected already
        ("groups", np.int64, (ALIKE,)),  # all jobs, its partition, its size there
        ("numbers", np.int64, (ALIKE,)),  # which of each it is
        ("wait_like", np.int64),  # jobs in the narrowest classes that the law rests on, and which
        ("wait_level", np.int64),
        ("run_like", np.int64),
        ("run_level", np.int64),
        ("length", np.float64),  # s that it is expected to run: its limit, or what others ran
        ("drain", np.float64),  # s that the queue would take before it
        ("risk", np.float64),  # probability that a failure stops it, were it to run to its end
        ("score", np.float64),
        ("keys", np.int64, (KEYS,)),
        ("rows", np.int64, (4,)),
    ]
)
PROMISE: Final = np.dtype(
    [
        ("deadline", np.int64),
        ("known", np.int64),
        ("state", np.int64),
        ("counted", np.int64),
        ("bin", np.int64),
        ("asked", np.float64),  # the probability asked for, or that believed of a named deadline
        ("raw", np.float64),  # before correction: probability of this deadline by the plain law
        ("stated", np.float64),
        ("aim", np.float64),  # what the correction made of it; it is said if that has been worth it
        ("chance", np.float64),  # of being kept, as it stands now
        ("mark", np.float64),  # score of the deadline
        ("wait", np.float64),  # quantiles of wait and run time at `aim`, s
        ("run", np.float64),
        # What others say: deadlines after the submission, s, for the level; probabilities of the
        # deadline. The law before correction; requested time and bound on the wait; all jobs'
        # turnarounds; the law of like jobs alone.
        ("others", np.float64, (4,)),
    ]
)
LAW: Final = np.dtype(
    [
        # waits; run times; probability to have run no longer and not been stopped; the same of
        # those stopped once and run again
        ("grid", np.float64, (4, POINTS + 2)),
        # longest turnaround, its probability, s added and share of restarts
        ("top", np.float64, (4,)),
        # the same of like jobs alone, where `grid` is told from elsewhere
        ("plain", np.float64, (4, POINTS + 2)),
        ("plain_top", np.float64, (4,)),
    ]
)
GROUP: Final = np.dtype(
    [
        ("pushed", np.int64),  # jobs ever
        ("held", np.int64),  # scores of those done
        ("steps", np.int64),  # of the distribution function
        ("stale", np.int64),  # events since it was made
        ("bent", np.int64),  # points of the curve
        ("tail", np.float64),  # how fast scores thin out beyond the last
        # probabilities said less promises kept, those not known yet at their present chance
        ("debt", np.float64, (2, BINS)),
        ("made", np.float64, (2, BINS)),
        ("seen", np.float64, (BLEND, 3)),  # fading sums of count, probability and kept
        ("curve", np.float64, (BLEND, 2)),  # probability before and after
        ("cohort", np.int64, (COHORT,)),  # latest jobs
        ("ordered", np.float64, (COHORT,)),  # scores of those done, ascending
        ("score", np.float64, (COHORT,)),  # calibrated distribution function
        ("below", np.float64, (COHORT,)),
    ]
)
PART: Final = np.dtype(
    [
        ("pending", np.float64),  # node-seconds that wait
        ("busy", np.float64),  # nodes that run, and the most that ever did
        ("most", np.float64),
        ("ends", np.float64),  # sum over running nodes of when they are expected to end
    ]
)
USER: Final = np.dtype(
    [
        ("own", np.int64),  # waiting jobs
        ("exposed", np.int64, (BINS,)),  # open promises for named deadlines, by what was said
    ]
)
DESK: Final = np.dtype(
    [
        ("open", np.int64),
        ("heap", np.int64),
        ("done", np.int64),
        ("free", np.int64),
        ("ran", np.float64),  # node-seconds run, failures of jobs, restarts
        ("failures", np.float64),
        ("restarts", np.float64),
        ("samples", np.float64, (LEVELS, POINTS)),
        ("counts", np.float64, (LEVELS, 4)),
        ("scratch", np.float64, (COHORT,)),
        ("shrink", np.float64),  # a class of n jobs weighs n / (n + this) against the wider one
        ("allowed", np.float64),  # share of its promises that a decile of deadlines may be off
        ("allowed_named", np.float64),  # the same of probabilities of named deadlines
        ("lost", np.float64, (2,)),  # fading Brier scores of these, not moved and moved
        ("gain", np.float64),  # logits at half of that
        ("enough", np.float64),  # scores from which a partition is calibrated by itself
        ("patience", np.float64),  # events after which a calibration is renewed
        ("noise", np.float64),  # share by which a Brier score may be higher and still no worse
        ("prior", np.float64),  # outcomes that the curve starts with, all as said
        ("fading", np.float64),  # of outcomes of named deadlines
        ("warm", np.float64),  # jobs done before promises count
        ("steer", np.float64),  # whether debts are paid
        ("spread", np.float64),  # cost of saying the same of all of a user's jobs
        ("reach", np.float64),  # how far what is said may lie from what is believed
    ]
)
RULES: Final = {
    "shrink": 8.0,
    "allowed": 0.02,
    "allowed_named": 0.02,
    "gain": 1.0,
    "enough": 400.0,
    "patience": 32.0,
    "noise": np.inf,
    "prior": 10.0,
    "fading": 0.995,
    "warm": 1000.0,
    "steer": 1.0,
    "spread": 0.1,
    "reach": 0.2,
}
"""Defaults of the settings in `DESK`."""
CORRECTED: Final = {
    "allowed": 0.04,
    "allowed_named": 0.03,
    "gain": 0.1,
    "prior": 100.0,
    "fading": 0.9998,
    "noise": 0.06,
}
"""Where laws were corrected before they were told: curve and debts only keep deciles from drifting
off, and what they make of a named deadline is said while its Brier score is no worse."""


class BookState(NamedTuple):
    """All of it.

    jobs : JOB[n]; promises : PROMISE[2 n], of job k at 2 k and 2 k + 1
    near, far : classes with their latest values
    laws : LAW[s], of open jobs; free : int64[s], slots without one
    told : float32[t, POINTS], quantiles of turnarounds told from elsewhere, s, in the middles of
        POINTS equal parts; a job without a row, or with one that begins below 0, has none
    levels : float64[L]; alike, waits, offered : float32[t, L], quantiles at these levels, s, for
        jobs with a row: of turnarounds and of waits by the latest similar jobs alone, and of
        turnarounds as they would be promised
    groups : GROUP[g], calibration of all jobs, of partitions, and of size classes in them
    parts : PART[p]; users : USER[u]
    open_jobs : int64[n]; heap : int64[2 n], promises by deadline
    desk : DESK[1]
    """

    jobs: Array
    promises: Array
    near: Array
    far: Array
    laws: Array
    free: Array
    told: Array
    levels: Array
    alike: Array
    waits: Array
    offered: Array
    groups: Array
    parts: Array
    users: Array
    open_jobs: Array
    heap: Array
    desk: Array


class ExpertMixtures(NamedTuple):
    """Mixtures of what experts say, among which the past chooses.

    parts : float64[candidates, experts], weights in parts of `whole`
    fading : what is left of a loss when another outcome becomes known
    rate : how fast weights fall with losses
    """

    parts: Array
    whole: float
    fading: float
    rate: float


def pool(depth: int) -> np.dtype[Any]:
    """Return the type of a class that keeps so many values."""
    return np.dtype(
        [
            ("held", np.int64),
            ("head", np.int64),  # where the next one goes
            ("ring", np.float64, (depth,)),  # in order of arrival
            ("ordered", np.float64, (depth,)),  # ascending
        ]
    )


def new_book(
    jobs: int,
    near: int,
    far: int,
    slots: int,
    parts: int,
    groups: int,
    users: int,
    rules: dict[str, float],
) -> BookState:
    """Return an empty book with room for so many jobs, classes, open jobs, partitions, users."""
    unknown = sorted(name for name in rules if name not in RULES)
    assert not unknown, f"unknown rules: {unknown}"
    desk = records(1, DESK)
    for name, value in (RULES | rules).items():
        desk[name] = value
    desk["free"] = slots
    table = records(jobs, JOB)
    table["settled"] = -1
    none = np.zeros((0, 0), np.float32)
    return BookState(
        table,
        records(2 * jobs, PROMISE),
        records(near, pool(NEAR)),
        records(max(far, DYNAMIC), pool(FAR)),
        records(slots, LAW),
        np.arange(slots, dtype=np.int64)[::-1].copy(),
        np.zeros((0, POINTS), np.float32),
        np.zeros(0),
        none,
        none,
        none,
        records(groups, GROUP),
        records(parts, PART),
        records(users, USER),
        np.zeros(jobs, np.int64),
        np.zeros(2 * jobs, np.int64),
        desk,
    )
