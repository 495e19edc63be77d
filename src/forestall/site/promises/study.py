"""What promises would have been worth: a replay of the records, scored in time order."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from forestall.core.kit.progress import Progress
from forestall.core.model import ledger as entries
from forestall.core.model.job_records import NEVER
from forestall.core.show.quantities import counted
from forestall.core.streams import stream
from forestall.prediction.assess.promises import by_group, decile_of, score, sharpness
from forestall.site.learning.turnaround.book_state import BY_LEVEL, END, NONE
from forestall.site.learning.turnaround.entries import ledger_of
from forestall.site.learning.turnaround.learned import LEVELS, learn_quantiles
from forestall.site.learning.turnaround.replay import mixed_levels, named_deadlines, replay
from forestall.site.learning.turnaround.targets import turnarounds
from forestall.site.learning.turnaround.tasks import tasks_of
from forestall.site.promises.yardsticks import (
    BOOK,
    OURS,
    Quantiles,
    Yardstick,
    beside,
    promised,
    yardsticks,
)
from forestall.slurm.sources.swf_jobs import waits_told

if TYPE_CHECKING:
    from collections.abc import Callable

    from forestall.core.model.ledger import Ledger
    from forestall.prediction.assess.promises import PromiseGroup, PromiseScores, Sharpness
    from forestall.site.learning.turnaround.book_state import BookState
    from forestall.site.learning.turnaround.replay import ReplayedBook
    from forestall.site.learning.turnaround.tasks import Tasks
    from forestall.slurm.records.accounting import Accounting

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WARM_UP: Final = 1000
"Completed jobs before promises are counted."
NEEDED: Final = ("submit", "wait_level", "run_level", "wait_like", "run_like", "risk")
"""What the ledger takes of a book's jobs."""
MONTH: Final = 30 * 86_400
SHADOWS: Final = {
    "deadline": (
        "plain distribution", "requested time and wait", "all turnarounds", "similar jobs only",
    ),
    "probability": ("plain distribution", "", "all turnarounds", "similar jobs only"),
}  # fmt: skip
"""Others that were asked the same beside the book, by question: the same distribution without
correction; the requested time and the quantile of the partition's latest waits; the latest
turnarounds of all jobs; where the distribution is learned, that of like jobs."""


@dataclass(frozen=True)
class Question:
    """What is replayed and scored.

    Attributes
    ----------
    questions : of `ledger.QUESTIONS`
    chance : the probability that every job asks for; None: 1 % to 99 %, spread evenly
    warm_up : jobs done before promises count
    begin : promises before this time do not count either
    seed : of the draw where the even spread begins
    level : of intervals
    latest : only the latest jobs, None: all
    learn : whether distributions are learned from features of job and queue; else they are those of
        similar jobs only
    workers : threads that learn; what they find is the same on any number
    """

    questions: tuple[str, ...] = entries.QUESTIONS
    chance: float | None = None
    warm_up: int = WARM_UP
    begin: int | None = None
    seed: int = 1
    level: float = 0.95
    latest: int | None = None
    learn: bool = False
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)


@dataclass(frozen=True)
class Other:
    """A predictor that ran in the shadow: what it was worth, and how far its deadlines lay."""

    name: str
    scores: PromiseScores
    sharp: Sharpness


@dataclass(frozen=True)
class Answer:
    """Promises of one kind.

    Attributes
    ----------
    question : of `ledger.QUESTIONS`
    ledger : all promises
    counted : bool[n], those that are scored: after the warm-up, kept or missed
    scores : what they were worth
    sharp, sharp_by : how far deadlines lay, over all and by decile
    others : predictors in the shadow, the plain distribution first
    groups : partitions, sizes, users and months with enough promises, by what they are
    missed : why promises were missed, count by `ledger.CAUSES`
    void, open : after the warm-up, cancelled before the deadline, and not known yet
    void_missed, void_kept : the same scores with void promises taken as missed, and as kept
    moved, moved_most : how far debts and curve moved the probability, mean and largest: that which
        a deadline was looked up for, from the one said; that said, from the one believed
    """

    question: str
    ledger: Ledger
    counted: Flags
    scores: PromiseScores
    sharp: Sharpness
    sharp_by: tuple[Sharpness, ...]
    others: tuple[Other, ...]
    groups: dict[str, tuple[PromiseGroup, ...]]
    missed: dict[str, int]
    void: int
    open: int
    void_missed: PromiseScores
    void_kept: PromiseScores
    moved: float = math.nan
    moved_most: float = math.nan

    @property
    def before(self) -> PromiseScores:
        """What the same distribution was worth without correction."""
        return self.others[0].scores


@dataclass(frozen=True)
class Learning:
    """What was learned for a replay; nothing where quotes rest on similar jobs only.

    Attributes
    ----------
    yardsticks : how sharp each way to quote was
    share : mean weight of the forests in what was said, after the warm-up
    jobs : ended jobs that they learned from
    """

    yardsticks: tuple[Yardstick, ...] = ()
    share: float = 0.0
    jobs: int = 0


@dataclass(frozen=True)
class PromiseStudy:
    """The replay and its answers, and what was learned for it; `why` and what it takes (`remedy`)
    where there is none."""

    asked: Question
    jobs: int
    left_out: int
    waits: bool
    answers: tuple[Answer, ...] = ()
    learned: Learning = Learning()
    why: str = ""
    remedy: str = ""
    tasks: Tasks | None = field(default=None, repr=False)

    @property
    def holds(self) -> bool | None:
        """Whether all deciles with enough promises agree; None where none has enough."""
        told = [one.scores.holds for one in self.answers if one.scores.holds is not None]
        return all(told) if told else None


def study(
    accounting: Accounting, asked: Question, progress: Progress | None = None
) -> PromiseStudy:
    """Return what promises would have been worth on these records."""
    tasks = tasks_of(accounting, asked.latest)
    began = tasks.started < NEVER
    waits = waits_told(accounting) and bool((tasks.started > tasks.submit)[began].any())
    ended = int((tasks.finish < NEVER).sum())
    if ended <= asked.warm_up:
        why = (
            f"{counted(ended, 'jobs')} ended, and promises count after a warm-up of "
            f"{asked.warm_up:,} jobs that ended"
        )
        remedy = f"records of more than {counted(asked.warm_up, 'jobs')} that ended"
        if asked.warm_up > WARM_UP:
            remedy += ", or a shorter {warm_up}"
        return PromiseStudy(asked, len(tasks), tasks.left_out, waits, why=why, remedy=remedy)
    shifts = stream(asked.seed, "backtest", "promises").random(2).tolist()
    count = len(tasks)
    levels = names = None
    if "deadline" in asked.questions:
        levels = mixed_levels(count, shifts[0])
        if asked.chance is not None:
            levels = np.full(count, asked.chance)
    if "probability" in asked.questions:
        names = named_deadlines(count, shifts[1])
    rules = {"warm": float(asked.warm_up)}
    until = accounting.until
    replaying = partial(replay, tasks, levels, names, rules, progress)
    learned = Learning()
    if asked.learn:
        replayed, learned = _learned(tasks, asked, until, replaying, progress)
    else:
        replayed = replaying()
    replayed = replace(replayed, book=results(replayed.book))
    answers = tuple(_answer(replayed, one, asked, until) for one in asked.questions)
    if not any(one.scores.made for one in answers):
        why = "no promise after the warm-up was kept or missed"
        remedy = "jobs that were submitted, and ended, after those of the warm-up"
        return PromiseStudy(asked, count, tasks.left_out, waits, why=why, remedy=remedy)
    return PromiseStudy(asked, count, tasks.left_out, waits, answers, learned, tasks=tasks)


def _learned(
    tasks: Tasks,
    asked: Question,
    until: int,
    replaying: Callable[..., ReplayedBook],
    progress: Progress | None,
) -> tuple[ReplayedBook, Learning]:
    """Return the replay with learned distributions, and what is told of them; the book of similar
    jobs only is replayed beside it."""
    alike, offered, counted = _of_like_jobs(replaying)
    if asked.begin is not None:
        counted &= tasks.submit >= asked.begin
    measure = partial(yardsticks, tasks, counted=counted, level=asked.level)
    book = measure([(BOOK, promised(offered))])
    # Of a million jobs each of these takes 100 MB: what has been measured is let go.
    del offered
    with ThreadPoolExecutor(asked.workers) as pool:
        learned = learn_quantiles(tasks, alike, asked.seed, each=pool.map, progress=progress)
    del alike
    others = measure(beside(tasks, learned, until))
    told = learned.told()
    share = float(learned.shares[counted].mean()) if counted.any() else 0.0
    jobs = int(turnarounds(tasks)[1].sum()) if learned.fits else 0
    del learned
    replayed = replaying(told=told, shown=LEVELS)
    ours = measure([(OURS, promised(replayed.book.offered))])
    return replayed, Learning((*ours, *others[:2], *book, *others[2:]), share, jobs)


def _of_like_jobs(replaying: Callable[..., ReplayedBook]) -> tuple[Quantiles, Quantiles, Flags]:
    """Return what similar jobs alone say, before correction and after, and which promises count;
    the book itself is let go."""
    book = replaying(shown=LEVELS).book
    counted = (book.promises["counted"][0::2] | book.promises["counted"][1::2]) == 1
    return book.alike, book.offered, counted


def results(book: BookState) -> BookState:
    """Return a book at its end without what only served to make it, which is let go: of a million
    jobs some 300 MB."""
    none = np.zeros(0, np.int64)
    jobs = np.empty(len(book.jobs), [(name, book.jobs.dtype[name]) for name in NEEDED])
    for name in NEEDED:
        jobs[name] = book.jobs[name]
    return book._replace(
        jobs=jobs, near=none, far=none, laws=none, free=none, groups=none, open_jobs=none,
        heap=none, told=none, alike=none, waits=none, offered=none,
    )  # fmt: skip


def _answer(replayed: ReplayedBook, question: str, asked: Question, until: int) -> Answer:
    number = entries.QUESTIONS.index(question)
    book, tasks = ledger_of(replayed, number), replayed.tasks
    late = book.counted & (book.quoted >= (asked.begin if asked.begin is not None else -NEVER))
    kept, missed = book.outcome == entries.KEPT, book.outcome == entries.MISSED
    counted = late & (kept | missed)
    said, when = book.stated[counted], book.quoted[counted]
    run = tasks.ran.astype(np.float64)
    known = np.where(tasks.finish < NEVER, tasks.finish - tasks.submit, -1).astype(np.float64)
    known = np.where(run >= 0, known, -1.0)
    work = tasks.size.astype(np.float64) * np.maximum(run, 0.0)
    after = (book.deadline - book.quoted).astype(np.float64)
    cells = decile_of(said)
    level = asked.level

    def judged(mask: Flags, good: Flags) -> PromiseScores:
        return score(book.stated[mask], good[mask], book.quoted[mask], work[mask], level=level)

    void = late & (book.outcome == entries.VOID)
    causes = np.bincount(book.cause[counted], minlength=len(entries.CAUSES)).tolist()
    return Answer(
        question,
        book,
        counted,
        score(said, kept[counted], when, work[counted], level=level),
        sharpness(after[counted], run[counted], known[counted]),
        tuple(
            sharpness(*(one[counted][cells == k] for one in (after, run, known))) for k in range(10)
        ),
        _others(replayed, book, number, counted, until, asked),
        _groups(tasks, book, counted),
        {name: causes[k] for k, name in enumerate(entries.CAUSES) if k},
        int(void.sum()),
        int((late & (book.outcome == entries.OPEN)).sum()),
        judged(counted | void, kept),
        judged(counted | void, kept | void),
        *_moved(replayed, book, number, counted),
    )


def _moved(
    replayed: ReplayedBook, book: Ledger, number: int, counted: Flags
) -> tuple[float, float]:
    """Return how far debts and curve moved probabilities, mean and largest."""
    promise = replayed.book.promises[number::2]
    said = promise["aim"][promise["state"] != NONE] if number == BY_LEVEL else book.stated
    off = np.abs(said - book.asked)[counted]
    return (float(off.mean()), float(off.max())) if len(off) else (math.nan, math.nan)


def _others(
    replayed: ReplayedBook, book: Ledger, number: int, counted: Flags, until: int, asked: Question
) -> tuple[Other, ...]:
    """Return what the predictors in the shadow were worth on the same jobs."""
    tasks, found = replayed.tasks, []
    told = replayed.book.promises["others"][number::2]
    run = tasks.ran.astype(np.float64)
    known = np.where(tasks.finish < NEVER, tasks.finish - tasks.submit, -1).astype(np.float64)
    ended = (tasks.finish < NEVER) & (tasks.ran >= 0)
    for place, name in enumerate(SHADOWS[entries.QUESTIONS[number]]):
        if not name or (name == SHADOWS["deadline"][-1] and not asked.learn):
            continue
        value = told[:, place]
        mine = counted & (value >= 0)
        if number == BY_LEVEL:
            # Kept as the book's own are: ended by itself, in time. Of jobs that have not ended, the
            # outcome is known where the deadline lies in the records.
            kept, after = book_kept(tasks, value), value
            mine &= ended | (tasks.submit + value < until)
            said = book.asked
        else:
            kept, after = book.outcome == entries.KEPT, (book.deadline - book.quoted) * 1.0
            said = value
        scores = score(
            said[mine], kept[mine], book.quoted[mine],
            (tasks.size.astype(np.float64) * np.maximum(run, 0.0))[mine], level=asked.level,
        )  # fmt: skip
        found.append(Other(name, scores, sharpness(after[mine], run[mine], known[mine])))
    return tuple(found)


def book_kept(tasks: Tasks, after: Floats) -> Flags:
    """Return which jobs ended by themselves within so many seconds of their submission."""
    done = (tasks.finish < NEVER) & (tasks.ending == END)
    took = np.where(done, tasks.finish - tasks.submit, 0)
    return np.asarray(done & (took <= after))


def _groups(tasks: Tasks, book: Ledger, counted: Flags) -> dict[str, tuple[PromiseGroup, ...]]:
    said, kept = book.stated[counted], book.outcome[counted] == entries.KEPT
    size = (np.frexp(tasks.size[counted].astype(np.float64))[1].astype(np.int64) - 1) // 2
    kinds = range(int(size.max(initial=0)) + 1)
    sizes = tuple(f"{4**k:,} to {4 ** (k + 1) - 1:,} nodes" for k in kinds)
    month = (tasks.submit[counted] - int(tasks.submit[0])) // MONTH if len(tasks) else size
    months = tuple(f"days {30 * k} to {30 * k + 29}" for k in range(int(month.max(initial=0)) + 1))
    return {
        "partition": by_group(
            said, kept, tasks.part.code[counted].astype(np.int64), tasks.part.words
        ),
        "size": by_group(said, kept, size, sizes),
        "user": by_group(said, kept, tasks.user.code[counted].astype(np.int64), tasks.user.words),
        "30 days": by_group(said, kept, month, months),
    }
