"""Bounds on the waits of a log's jobs, each from what was known when the job was submitted.

A job is quoted the bound of the finest of its classes that has waits enough (`classes`, `bound`).
Known are the waits of jobs of the class that started in an earlier second, the latest `history` of
them. Jobs that wait longer than the bound they were given are known to be misses from then on; they
are taken to be the longest waits of their class until they start, and where they are more than a
bound leaves above it, the class has none. Jobs that wait within their bound, and jobs that were
withdrawn before they started, say nothing.

Where `changes` is set, a run of misses that is too long for the autocorrelation of the class's
waits (`runs`) is a change: the class forgets all but its latest waits. Only jobs that were quoted
after a change can say that there was another.

Where `gain` is above 0, the share of misses that a bound aims at moves with what became of earlier
ones (adaptive conformal inference): after a miss it falls by gain x q, after a hit it rises by
gain x (1 - q), and never above 1 - q. Outcomes come late, as they do in the queue.

Sources: Nurmi, Brevik and Wolski, JSSPP 2007 (bounds, runs of misses); Gibbs and Candes, "Adaptive
conformal inference under distribution shift", NeurIPS 2021. How waiting and withdrawn jobs are
taken in is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.site.learning.waits.bound import NONE, least_values, rank_table, upper_ranks
from forestall.site.learning.waits.classes import PARTITION, Classes, classify
from forestall.site.learning.waits.runs import ALPHA, STEP, run_lengths
from forestall.slurm.records.accounting import Accounting

with lazily():
    from forestall.site.learning.waits import waits_kernels as kernels

if TYPE_CHECKING:
    from forestall.site.learning.waits.waits_kernels import Past


GAIN: Final = 0.005
"""For adaptive bounds."""
KEPT: Final = 59
"""Waits that are kept after a change, at least."""
AIMS: Final = 24
"""Steps of the share of misses that an adaptive bound can aim at."""


@dataclass(frozen=True)
class WaitHistory:
    """What became of jobs in a queue, in order of `ready`.

    Attributes
    ----------
    ready : int64[n], when each could first start, s
    left : int64[n], when it started or was withdrawn; NEVER where it still waits at `until`
    started : bool[n]
    until : when the records end, s
    row : int64[n], the place of each in what it was made from
    """

    ready: Ints
    left: Ints
    started: Bools
    until: int
    row: Ints

    def __len__(self) -> int:
        return len(self.ready)

    @property
    def waited(self) -> Ints:
        """Seconds that each is known to have waited, int64[n]."""
        return np.minimum(self.left, self.until) - self.ready

    @cached_property
    def leaving(self) -> Ints:
        """The jobs in order of `left`, int64[n]."""
        return np.argsort(self.left, kind="stable")

    @classmethod
    def of(cls, accounting: Accounting, most: int | None = None) -> WaitHistory:
        """Return the first runs of all jobs, or of the `most` latest ones.

        Runs after a requeue are left out: nobody asks for a quote then. A job is ready when it is
        eligible, where that is told, and submitted.
        """
        rows = np.flatnonzero(accounting.attempt == 0)
        if most is not None:
            rows = rows[max(len(rows) - most, 0) :]
        start, end = accounting.start[rows], accounting.end[rows]
        left = np.where(start < NEVER, start, end)
        ready = np.maximum(accounting.submit[rows], accounting.eligible[rows])
        return cls.build(np.minimum(ready, left), left, start < NEVER, accounting.until, rows)

    @classmethod
    def build(
        cls,
        ready: npt.ArrayLike,
        left: npt.ArrayLike,
        started: npt.ArrayLike,
        until: int,
        row: npt.ArrayLike | None = None,
    ) -> WaitHistory:
        """Return the jobs in order of `ready`; those not ready before `until` are left out."""
        first, last = np.asarray(ready, dtype=np.int64), np.asarray(left, dtype=np.int64)
        if bool(np.any(last < first)):
            raise ParameterError("left", int(last[last < first][0]), "no earlier than ready")
        ran = np.asarray(started, dtype=bool)
        place = np.arange(len(first)) if row is None else np.asarray(row, dtype=np.int64)
        keep = np.flatnonzero(first < until)
        if len(keep) < len(first):
            first, last, ran, place = (a[keep] for a in (first, last, ran, place))
        if bool(np.any(np.diff(first) < 0)):
            order = np.argsort(first, kind="stable")
            first, last, ran, place = (a[order] for a in (first, last, ran, place))
        late = last >= until
        return cls(first, np.where(late, NEVER, last), ran & ~late, int(until), place)


@dataclass(frozen=True)
class BoundRule:
    """How bounds are made.

    Attributes
    ----------
    quantile, confidence : of the bound
    history : at most so many waits of a class count, the latest
    changes : whether runs of misses end the past
    waiting : whether jobs that wait longer than their bound count, see above
    gain : how far a miss moves the share aimed at; 0: the level stays as asked for
    alpha : of the runs, see `runs.run_length`
    """

    quantile: float = 0.95
    confidence: float = 0.95
    history: int = 1000
    changes: bool = True
    waiting: bool = True
    gain: float = 0.0
    alpha: float = ALPHA

    @classmethod
    def adaptive(cls, quantile: float = 0.95, confidence: float = 0.95) -> BoundRule:
        """Return the rule whose level moves with what became of earlier bounds."""
        return cls(quantile, confidence, gain=GAIN)

    def __post_init__(self) -> None:
        least = least_values(self.quantile, self.confidence)
        if not max(least, KEPT) <= self.history <= 10_000:
            raise ParameterError("history", self.history, f"from {max(least, KEPT)} to 10000")
        if not 0 <= self.gain < 1:
            raise ParameterError("gain", self.gain, "at least 0 and below 1")


@dataclass(frozen=True)
class QuotedBounds:
    """The bounds that a log's jobs would have been quoted.

    Attributes
    ----------
    waits, classes, rule : what it was made from
    seconds : int32[n], the bounds; -1 where none could be given
    level : int8[n], which of `classes.LEVELS` each rests on, -1 for none
    used : int16[n], waits that it rests on
    """

    waits: WaitHistory
    classes: Classes
    rule: BoundRule
    seconds: npt.NDArray[np.int32]
    level: npt.NDArray[np.int8]
    used: npt.NDArray[np.int16]
    past: Past

    @cached_property
    def bound(self) -> Floats:
        """The bounds in seconds, float64[n], inf where there is none."""
        return np.where(self.seconds >= 0, self.seconds, np.inf)

    @property
    def changes(self) -> int:
        """How many changes were found."""
        return int(self.past.changes.sum())

    def latest(self, number: int) -> Ints:
        """Return the waits that a class (numbered as in `Classes.parent`) now rests on."""
        past = self.past
        place = np.arange(past.first[number], past.head[number])
        begin = past.ring_at[number]
        room = max(int(past.ring_at[number + 1] - begin), 1)
        return np.asarray(past.ring[begin + place % room], dtype=np.int64)

    def now(self, number: int, quantile: float | None = None) -> float:
        """Return the bound for a job of a class submitted at the end of the records, s; inf where
        there is none. At the level asked for, also where bounds are adaptive."""
        known = np.sort(self.latest(number))
        together = len(known) + int(self.past.broken[number])
        of = self.rule.quantile if quantile is None else quantile
        rank = int(upper_ranks(together, of, self.rule.confidence))
        return float(known[rank - 1]) if NONE < rank <= len(known) else math.inf


def replay(waits: WaitHistory, classes: Classes, rule: BoundRule | None = None) -> QuotedBounds:
    """Return the bound that each job would have been quoted when it was ready.

    `classes` are those of the same jobs in the same order. Raises ParameterError.
    """
    chosen = BoundRule() if rule is None else rule
    count = len(waits)
    if len(classes.fine) != count:
        raise ParameterError("classes", len(classes.fine), f"one for each of {count} jobs")
    past = _past(classes, chosen)
    log = kernels.WaitLog(
        waits.ready,
        waits.left,
        waits.started,
        waits.leaving,
        classes.fine,
    )
    answers = kernels.WaitAnswers(
        np.full(count, kernels.NO_BOUND, dtype=np.int32),
        np.full(count, -1, dtype=np.int8),
        np.zeros(count, dtype=np.int16),
    )
    heap = kernels.OverdueHeap(
        np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int32), np.zeros(1, np.int64)
    )
    kernels.walk(log, past, _rules(chosen), answers, heap, chosen.history, waits.until)
    return QuotedBounds(waits, classes, chosen, *answers, past)


def classes_of(accounting: Accounting, waits: WaitHistory) -> Classes:
    """Return the classes of these jobs: sizes in nodes asked for, or had where that is not told, or
    in processors where neither is."""
    rows = waits.row
    size = accounting.asked[rows]
    for other in (accounting.nodes, accounting.cpus):
        size = np.where(size >= 1, size, other[rows])
    return classify(accounting.partition.code[rows], size, accounting.limit[rows])


def _past(classes: Classes, rule: BoundRule) -> kernels.Past:
    count = classes.count
    jobs = np.maximum(classes.jobs(), 1)
    rings = np.concatenate(([0], np.cumsum(np.minimum(jobs, 2 * rule.history))))
    ordered = np.concatenate(([0], np.cumsum(np.minimum(jobs, rule.history))))
    numbers = {
        name: np.zeros(count, dtype=np.int64)
        for name in ("head", "first", "sorted_head", "sorted_first", "broken", "run", "changes")
    }
    return kernels.Past(
        parent=classes.parent,
        ring=np.zeros(int(rings[-1]), dtype=np.int32),
        ordered=np.zeros(int(ordered[-1]), dtype=np.int32),
        ring_at=rings.astype(np.int64),
        ordered_at=ordered.astype(np.int64),
        changed=np.full(count, np.iinfo(np.int64).min, dtype=np.int64),
        rho=np.zeros(count),
        rho_at=np.full(count, -1, dtype=np.int64),
        short=np.full(count, 1 - rule.quantile),
        **numbers,
    )


def _rules(rule: BoundRule) -> kernels.WaitRules:
    least = least_values(rule.quantile, rule.confidence)
    kept = max(least, KEPT)
    aims = [(1 - rule.quantile) * 0.8**step for step in range(AIMS if rule.gain > 0 else 1)]
    # Twice the history: beside it, jobs that wait longer than their bound are counted.
    most = 2 * rule.history
    ranks = [rank_table(most, 1 - aim, rule.confidence) for aim in aims]
    lengths = run_lengths(rule.quantile, kept, rule.alpha) if rule.changes else (1,)
    return kernels.WaitRules(
        rank=np.asarray(ranks),
        aims=np.asarray(aims),
        lengths=np.asarray(lengths, dtype=np.int64),
        step=STEP,
        kept=kept,
        trims=rule.changes,
        waiting=rule.waiting,
        gain=float(rule.gain),
        sharing=PARTITION,
    )
