"""What is learned of jobs: when an answer is asked for, when what came true is known, and how it
counts.

A target's values are logarithms of 1 + s. A wait of 0 is a class of its own: such waits are spread
evenly over the numbers from -`ZERO` to 0, so that the level at which quantiles come above `STARTS`
is the chance to start at once, and is learned and corrected like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.job_records import NEVER
from forestall.site.learning.turnaround.book_state import (
    CANCEL,
    END,
    LOSE,
    START,
    STOP,
    ExpertMixtures,
)
from forestall.site.learning.turnaround.tasks import Tasks

CLOSING: Final = (END, CANCEL, LOSE, STOP)
"""Events with which a job comes to an end."""
ZERO: Final = 1.0
STARTS: Final = 0.35
"""Between the logarithms of 1 + 0 and 1 + 1 s: at or below it a job starts at once."""
YOUNGEST: Final = 30.0
OLDEST: Final = 1e6
"""Ages at which waiting jobs are looked at to learn from, s: one for each job, evenly in
logarithms."""


@dataclass(frozen=True)
class LearningTarget:
    """Something that is learned of jobs.

    Attributes
    ----------
    name : of it, in the streams that forests draw from
    least : no quantile is moved below it
    candidates : mixtures of what experts say; see `mixed_kernels`
    pace : how fast quantiles are moved by what became of earlier answers
    experts : what the rows of mixtures are of, as files of books have it
    """

    name: str
    least: float
    candidates: ExpertMixtures
    pace: float = 1.0
    experts: tuple[str, ...] = ("alike", "forest")


def _pairs(experts: int) -> npt.NDArray[np.float64]:
    """Return all sets of weights in halves."""
    return np.array(
        [np.eye(experts)[a] + np.eye(experts)[b] for a in range(experts) for b in range(a + 1)]
    )


TURNAROUND: Final = LearningTarget(
    "forest", 0.0, ExpertMixtures(np.array([[5.0 - m, m] for m in range(6)]), 5.0, 0.995, 1.0)
)
WAIT: Final = LearningTarget(
    "waits", -ZERO, ExpertMixtures(_pairs(4), 2.0, 0.9995, 0.1), 4.0,
    ("like jobs", "forest", "user's last 20", "latest waits"),
)  # fmt: skip


@dataclass(frozen=True)
class AskedAnswers:
    """AskedAnswers in order of time, and what came true.

    Attributes
    ----------
    job : int64[n]
    asked, known : int64[n], when it was asked for, and when what came true was known (NEVER)
    age : int64[n], s that the job had waited by then
    value : float64[n], logarithm of 1 + s; nan where it says nothing, inf where it never comes
    order : int64[m], answers in the order in which what became of them was known
    """

    job: Ints
    asked: Ints
    known: Ints
    age: Ints
    value: Floats
    order: Ints

    def __post_init__(self) -> None:
        early = self.known < self.asked
        assert not early.any(), "an outcome was known before it was asked for"

    @property
    def turn(self) -> Ints:
        """The answers by when they were asked for; in one second waiting jobs are looked at before
        others come."""
        return np.lexsort((self.age == 0, self.asked))

    @property
    def learned(self) -> Ints:
        """Those of `order` that there is something to learn from."""
        return np.asarray(self.order[np.isfinite(self.value[self.order])])


def turnarounds_of(tasks: Tasks) -> AskedAnswers:
    """Return the turnarounds of all jobs, as asked for at their submission."""
    _, kind, job = tasks.events
    values, known = turnarounds(tasks)
    silent = np.where(tasks.ending == CANCEL, np.nan, np.inf)
    return AskedAnswers(
        np.arange(len(tasks)), tasks.submit, tasks.finish, np.zeros(len(tasks), np.int64),
        np.where(known, values, silent), np.asarray(job[np.isin(kind, CLOSING)]),
    )  # fmt: skip


def turnarounds(tasks: Tasks) -> tuple[Floats, Bools]:
    """Return logarithms of 1 + turnaround, s, and for which jobs they are known in the end: those
    that ended by themselves."""
    known = (tasks.finish < NEVER) & (tasks.ending == END)
    took = np.where(known, tasks.finish - tasks.submit, 0)
    return np.log1p(np.maximum(took, 0).astype(np.float64)), known


def look_ages(jobs: Ints) -> Ints:
    """Return at which ages jobs of these numbers are looked at, s."""
    place = (0.5 + 0.6180339887498949 * jobs) % 1.0
    return (YOUNGEST * (OLDEST / YOUNGEST) ** place).astype(np.int64)


def looks_of(tasks: Tasks, more: tuple[tuple[int, int], ...] = ()) -> Ints:
    """Return when each job is looked at, int64[2, m], time and job in order of time, of those that
    still wait then; `more`: further looks, time and job, at jobs that wait."""
    when = tasks.submit + look_ages(np.arange(len(tasks)))
    # The records end somewhere: nobody looks beyond.
    until = min(NEVER - 1, int(tasks.events[0].max(initial=0)))
    seen = np.flatnonzero(when <= np.minimum(np.minimum(tasks.started, tasks.finish), until))
    looks = np.concatenate([np.stack([when[seen], seen]), np.array(more).reshape(-1, 2).T], axis=1)
    return looks.astype(np.int64)[:, np.argsort(looks[0], kind="stable")]


def waits_of(tasks: Tasks, looks: Ints) -> AskedAnswers:
    """Return the waits of all jobs as asked for at their submission, and what was left of them at
    the looks: first all jobs, then the looks, as rows of features have them."""
    job = np.concatenate([np.arange(len(tasks)), looks[1]])
    asked = np.concatenate([tasks.submit, looks[0]])
    known = np.minimum(tasks.started, tasks.finish)[job]
    value = np.where(tasks.started[job] < NEVER, wait_value(known - asked, job), np.nan)
    # What became of a job is known with its first start or the cancellation that came before.
    place = np.full(len(tasks), tasks.events.shape[1])
    told = np.flatnonzero(np.isin(tasks.events[1], (START, *CLOSING)))[::-1]
    place[tasks.events[2, told]] = told
    order = np.argsort(place[job], kind="stable")
    return AskedAnswers(
        job, asked, known, asked - tasks.submit[job], value, order[known[order] < NEVER]
    )


def wait_value(wait: Ints, job: Ints) -> Floats:
    """Return logarithms of 1 + wait, s; of a wait of 0 a number from -`ZERO` to 0 by the job's."""
    zero = -ZERO * ((job * 0.6180339887498949) % 1.0)
    return np.where(wait > 0, np.log1p(np.maximum(wait, 0).astype(np.float64)), zero)
