"""The ledger of a replay: what was promised, on what it rested, and why it was missed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core.model import ledger
from forestall.core.model.job_records import NEVER
from forestall.core.model.ledger import Ledger
from forestall.site.learning.turnaround import book_state as state
from forestall.site.learning.turnaround.replay import ReplayedBook

_OUTCOME = np.array(
    [ledger.OPEN, ledger.OPEN, ledger.KEPT, ledger.MISSED, ledger.VOID], dtype=np.int8
)
FAILURE, LONGER_RUN, LONGER_WAIT, OPERATOR, USER = range(1, len(ledger.CAUSES))


def ledger_of(replayed: ReplayedBook, question: int) -> Ledger:
    """Return the promises of one kind, `book_state.BY_LEVEL` or `BY_DEADLINE`, an entry a job."""
    jobs, book = replayed.tasks, replayed.book
    promise, entry = book.promises[question::2], book.jobs
    made = promise["state"] != state.NONE
    outcome = _OUTCOME[promise["state"]]
    columns = {
        "job": jobs.which,
        "question": np.full(len(jobs), question, np.int8),
        "quoted": entry["submit"],
        "deadline": promise["deadline"],
        "asked": promise["asked"],
        "before": np.minimum(promise["raw"], 1.0),
        "stated": promise["stated"],
        "wait": promise["wait"],
        "run": promise["run"],
        "wait_class": entry["wait_level"].astype(np.int8),
        "run_class": entry["run_level"].astype(np.int8),
        "wait_like": entry["wait_like"],
        "run_like": entry["run_like"],
        "risk": entry["risk"],
        "counted": promise["counted"] == 1,
        "outcome": outcome,
        "cause": causes(replayed, question, outcome),
        "known": promise["known"],
    }
    return Ledger(**{name: np.asarray(column)[made] for name, column in columns.items()})


def causes(
    replayed: ReplayedBook, question: int, outcome: npt.NDArray[np.int8]
) -> npt.NDArray[np.int8]:
    """Return why each promise was missed or void, int8[n], place in `ledger.CAUSES`.

    By the first that holds: a failure stopped a run; the operator's rules did; the user cancelled
    the job; else whichever was longer than its quantile by more, the wait or the run. What had not
    started by the deadline waited longer.
    """
    jobs, promise = replayed.tasks, replayed.book.promises[question::2]
    settled_late = np.where(jobs.finish < NEVER, jobs.finish, promise["deadline"])
    begun = jobs.started < NEVER
    wait = np.where(begun, jobs.started, settled_late) - jobs.submit
    run = np.where(begun, np.maximum(settled_late - np.where(begun, jobs.started, 0), 0), 0)
    longer = (run - promise["run"]) > (wait - promise["wait"])
    late_start = ~begun | (jobs.started > promise["deadline"])
    found = np.where(longer & ~late_start, LONGER_RUN, LONGER_WAIT)
    moved = np.zeros(len(jobs), np.bool_)
    taken = np.isin(jobs.events[1], (state.REQUEUE, state.STOP))
    moved[jobs.events[2][taken]] = True
    found = np.where(jobs.ending == state.CANCEL, USER, found)
    found = np.where(moved, OPERATOR, found)
    found = np.where(jobs.lost > 0, FAILURE, found)
    found = np.where(outcome == ledger.VOID, USER, found)
    told = (outcome == ledger.MISSED) | (outcome == ledger.VOID)
    return np.where(told, found, 0).astype(np.int8)
