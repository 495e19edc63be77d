"""How good estimates of starts were: the start that was foreseen minus the true one.

An error below 0 means that the job started later than estimated. Jobs that had not started when the
records end count as at least so late; quantiles among such are told as bounds. Estimates are asked
again and again: those of one job are alike, and jobs that wait long have more of them. The last
estimate of each job before its start stands beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints, taken
from forestall.core.model.job_records import NEVER
from forestall.prediction.assess.goodput import Blocks
from forestall.prediction.assess.panel import RedrawnEstimate, estimate, share
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.start_estimates import StartEstimates

ON_TIME: Final = 60
"""s by which a start may differ from the estimate and still be on time."""
EDGES: Final = (600, 3600, 6 * 3600, 86_400)
"""Ends of the classes of horizons, s."""
HORIZONS: Final = ("under 10 min", "10 min to 1 h", "1 to 6 h", "6 to 24 h", "over 1 d")
QUANTILES: Final = (0.1, 0.25, 0.5, 0.75, 0.9)
BINS: Final = 1024


@dataclass(frozen=True)
class Matched:
    """Estimates that foresaw a start, of jobs that were waiting, with what became of them;
    int64[k] unless said otherwise.

    Attributes
    ----------
    asked, foreseen : s
    start : true start; where the job did not start, the time until which it is known not to have
    started : bool[k], whether it started
    run : place of the run in the accounting
    ahead : how far ahead the estimate foresaw, s, at least 0
    error : foreseen - start: below 0 where the job started later than estimated; where it did not
        start, it is this or lower
    """

    asked: Ints
    foreseen: Ints
    start: Ints
    started: Bools
    run: Ints

    def __len__(self) -> int:
        return len(self.asked)

    @property
    def ahead(self) -> Ints:
        """See above."""
        return np.asarray(np.maximum(self.foreseen - self.asked, 0))

    @property
    def error(self) -> Ints:
        """See above."""
        return self.foreseen - self.start

    def take(self, where: Bools | Ints) -> Matched:
        """Return those at these places."""
        return taken(self, where, "asked", "foreseen", "start", "started", "run")


@dataclass(frozen=True)
class Errors:
    """Errors of some estimates.

    Attributes
    ----------
    label : which
    estimates, jobs : number of estimates, and of runs that they are about
    waiting : estimates of jobs that are not known to have started
    quantiles : of the errors, s, at `QUANTILES`
    bounded : whether each of these is an upper end (the error is this or lower)
    median : with an interval
    late, early : share that started later (earlier) than said by more than `ON_TIME`
    """

    label: str
    estimates: int
    jobs: int
    waiting: int
    quantiles: tuple[float, ...]
    bounded: tuple[bool, ...]
    median: RedrawnEstimate
    late: RedrawnEstimate
    early: RedrawnEstimate

    @property
    def one_sided(self) -> str:
        """Name the side on which more than four in five of the misses lie; "" for none."""
        late, early = self.late.value, self.early.value
        if late + early < 0.05:
            return ""
        if late > 4 * early:
            return "later than estimated"
        return "earlier than estimated" if early > 4 * late else ""


@dataclass(frozen=True)
class StartErrors:
    """What was found.

    Attributes
    ----------
    asked : number of estimates in the records
    silent : estimates in which no start was foreseen
    unknown : estimates of jobs that the accounting does not have
    begun : estimates asked when the job had started or had ended
    withdrawn : runs for which a start was foreseen, and later none
    never : runs with an estimate that ended without a start
    pending : runs with an estimate that were still waiting when the records end
    every : all estimates together; None without any
    by_ahead : by how far ahead they foresaw
    by_wait : by how long before the true start they were asked; of runs that started
    last : the last estimate of each run before its start
    blocks : what was drawn anew for the intervals
    """

    asked: int
    silent: int
    unknown: int
    begun: int
    withdrawn: int
    never: int
    pending: int
    every: Errors | None
    by_ahead: tuple[Errors, ...]
    by_wait: tuple[Errors, ...]
    last: Errors | None
    blocks: Blocks
    matched: Matched


def start_errors(
    estimates: StartEstimates,
    records: Accounting,
    rng: np.random.Generator,
    level: float = 0.95,
) -> StartErrors:
    """Return how good the estimates were.

    An estimate belongs to the job of its id (and submission, where both tell it; so that jobs of
    one id stay apart), and to the first of its runs that starts at or after the question.
    """
    run, known = next_runs(estimates, records)
    waiting = run >= 0
    none = estimates.start == NEVER
    given_up = np.where(records.end < NEVER, records.end, records.until)
    place = np.where(waiting, run, 0)
    started = waiting.copy()
    truth = np.zeros(len(run), dtype=np.int64)
    if len(records):
        started &= records.start[place] < NEVER
        truth = np.where(started, records.start[place], given_up[place])
    # A question after the end of the records or of the job has no answer in them.
    begun = known & ~waiting
    after = waiting & ~started & (truth < estimates.asked)
    good = np.flatnonzero(waiting & ~after & ~none)
    begun |= after
    found = Matched(
        estimates.asked[good], estimates.start[good], truth[good], started[good], run[good]
    )
    last_day = int(estimates.asked.max(initial=0)) + 1
    blocks = Blocks.over(int(estimates.asked.min(initial=last_day - 1)), last_day)
    weights = blocks.weights(rng)
    sides = _sides(found, blocks, weights, level)
    told = distinct(found.run)
    never_started = told[records.start[told] == NEVER]
    never = int((records.end[never_started] < NEVER).sum())
    return StartErrors(
        len(estimates),
        int(none.sum()),
        int((~known).sum()),
        int(begun.sum()),
        withdrawn(estimates.asked[waiting], run[waiting], none[waiting]),
        never,
        len(never_started) - never,
        *sides,
        blocks,
        found,
    )


def _sides(
    found: Matched, blocks: Blocks, weights: Floats, level: float
) -> tuple[Errors | None, tuple[Errors, ...], tuple[Errors, ...], Errors | None]:
    """Return errors of all, by horizon, by true wait, and of the last estimates."""
    if not len(found):
        return None, (), (), None
    ahead = np.searchsorted(EDGES, found.ahead, "right")
    lead = np.searchsorted(EDGES, found.start - found.asked, "right")
    lead[~found.started] = -1
    classes = [
        tuple(
            errors(found.take(code == k), label, blocks, weights, level)
            for k, label in enumerate(HORIZONS)
            if bool((code == k).any())
        )
        for code in (ahead, lead)
    ]
    order = np.lexsort((found.asked, found.run))
    final = order[np.append(np.diff(found.run[order]) != 0, True)]
    final = np.sort(final[found.started[final]])
    last = errors(found.take(final), "last before start", blocks, weights, level)
    every = errors(found, "all", blocks, weights, level)
    return every, classes[0], classes[1], last if len(final) else None


def next_runs(estimates: StartEstimates, records: Accounting) -> tuple[Ints, Bools]:
    """Return, for each estimate, the place of the first run of its job that starts at or after the
    question (-1: none), and whether the accounting has the job at all."""
    found = np.full(len(estimates), -1, dtype=np.int64)
    known = np.zeros(len(estimates), dtype=np.bool_)
    if not len(estimates) or not len(records):
        return found, known
    wanted = distinct(estimates.job)
    job = records.job.copy()
    for names in (records.array, records.task):  # an estimate of an array is of its next task
        named = np.isin(names, wanted) & (names > 0)
        job[named] = names[named]
    place = np.minimum(np.searchsorted(wanted, job), len(wanted) - 1)
    runs = np.flatnonzero(wanted[place] == job)
    told = estimates.submit >= 0
    for mask, by_submit in ((told, True), (~told, False)):
        if mask.any():
            found[mask], known[mask] = _follow(estimates, records, np.flatnonzero(mask), runs,
                                               job[runs], by_submit)  # fmt: skip
    return found, known


def _follow(
    estimates: StartEstimates, records: Accounting, mine: Ints, runs: Ints, jobs: Ints,
    by_submit: bool,
) -> tuple[Ints, Bools]:  # fmt: skip
    """Return `next_runs` of some estimates among some runs of these `jobs`, told apart by id and,
    where `by_submit`, by submission."""
    m = len(mine)
    job = np.concatenate((estimates.job[mine], jobs))
    also = np.concatenate((estimates.submit[mine], records.submit[runs]))
    if not by_submit:
        also = np.zeros_like(also)
    time = np.concatenate((estimates.asked[mine], records.start[runs]))
    # Questions come before starts of the same second.
    order = np.lexsort((np.arange(len(job)) >= m, time, also, job))
    new = np.append(False, (np.diff(job[order]) != 0) | (np.diff(also[order]) != 0))
    group = np.cumsum(new)
    is_run = order >= m
    spot = np.where(is_run, np.arange(len(order)), len(order))
    ahead = np.minimum.accumulate(spot[::-1])[::-1]
    safe = np.minimum(ahead, len(order) - 1)
    hit = (ahead < len(order)) & (group[safe] == group) & ~is_run
    answer = np.full(m, -1, dtype=np.int64)
    answer[order[hit]] = runs[order[safe[hit]] - m]
    there = np.bincount(group[is_run], minlength=int(group[-1]) + 1) > 0
    known = np.zeros(m, dtype=np.bool_)
    known[order[~is_run]] = there[group[~is_run]]
    return answer, known


def withdrawn(asked: Ints, run: Ints, none: Bools) -> int:
    """Return for how many runs a start was foreseen, and none when asked again later."""
    order = np.lexsort((asked, run))
    one, silent = run[order], none[order]
    back = (one[1:] == one[:-1]) & ~silent[:-1] & silent[1:]
    return len(distinct(one[1:][back]))


def errors(found: Matched, label: str, blocks: Blocks, weights: Floats, level: float) -> Errors:
    """Return the errors of these estimates; nan where there are none."""
    error, sure = found.error, found.started
    block = blocks.of(found.asked)
    # Who has not started is late already, or may still be on time: it is late for sure only where
    # it is late by now.
    late = (error < -ON_TIME).astype(np.float64)
    early = ((error > ON_TIME) & sure).astype(np.float64)
    quantiles = tuple(quantile(error, q) for q in QUANTILES)
    highest = float(error[~sure].max(initial=np.iinfo(np.int64).min))
    bounded = tuple(bool(q <= highest) and not bool(sure.all()) for q in quantiles)
    return Errors(
        label,
        len(found),
        len(distinct(found.run)),
        int((~sure).sum()),
        quantiles,
        bounded,
        _median(error, block, weights, level),
        share(late, block, weights, level),
        share(early, block, weights, level),
    )


def distinct(values: Ints) -> Ints:
    """Return the distinct values, ascending; for many whole numbers quicker than `np.unique`."""
    ranked = np.sort(values)
    new = np.ones(len(ranked), dtype=np.bool_)
    new[1:] = ranked[1:] != ranked[:-1]
    return ranked[new]


def quantile(error: Ints, q: float) -> float:
    """Return the least value that at least a share q does not exceed; nan of none."""
    if not len(error):
        return float("nan")
    place = max(int(np.ceil(q * len(error))) - 1, 0)
    return float(np.partition(error, place)[place])


def _median(error: Ints, block: Ints, weights: Floats, level: float) -> RedrawnEstimate:
    """Return the median with an interval, from errors in bins of like counts."""
    blocks = weights.shape[1]
    value = quantile(error, 0.5)
    if len(error) < 2:
        return estimate(value, np.full(len(weights), np.nan), level, blocks)
    ranked = np.sort(error)
    places = distinct(np.linspace(0, len(ranked) - 1, min(BINS, len(ranked))).astype(np.int64))
    edges = distinct(ranked[places])
    code = np.searchsorted(edges, error, "left")
    table = np.bincount(block * len(edges) + code, minlength=blocks * len(edges))
    drawn = np.cumsum(weights @ table.reshape(blocks, len(edges)).astype(np.float64), axis=1)
    half = drawn[:, -1:] / 2
    draws = edges[np.argmax(drawn >= half, axis=1)].astype(np.float64)
    draws[drawn[:, -1] == 0] = np.nan
    return estimate(value, draws, level, blocks)
