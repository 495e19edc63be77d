"""What answers on waits would have been worth: a replay of the records, scored in time order.

Two kinds of answers are scored, each given what was known in its second: how long a job will wait,
at its submission; and how long it still will, when it has waited for some time
(`targets.looks_of`).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.kit.progress import Progress
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.job_records import NEVER
from forestall.core.show.quantities import counted
from forestall.site.learning.turnaround.answer import WaitLaws
from forestall.site.learning.turnaround.learned import LEVELS, LearnedQuantiles, learn_waits
from forestall.site.learning.turnaround.queue_features import queue_features
from forestall.site.learning.turnaround.replay import replay
from forestall.site.learning.turnaround.targets import AskedAnswers
from forestall.site.learning.turnaround.tasks import Tasks, tasks_of
from forestall.site.waits.scores import (
    WaitGroup,
    WaitScores,
    boosted,
    difference,
    groups_of,
    latest,
    score_laws,
    score_times,
)
from forestall.slurm.records.start_estimates import StartEstimates
from forestall.slurm.sources.swf_jobs import waits_told

if TYPE_CHECKING:
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

OURS: Final = "learned"
TODAY: Final = "like jobs, median"
"""What was said before waits were learned."""
YARDSTICKS: Final = ("one constant", "latest 1,000", "user's last 20", "like jobs", "boosted trees")
LATEST: Final = 6_000
"""The latest so many jobs are learned from for a report."""
FEWEST: Final = 1000
"""Jobs that started, at least."""
GROUP: Final = 200
"""AskedAnswers in a group, at least."""
AGES: Final = (600, 3600, 6 * 3600, 86_400)
AGED: Final = ("under 10 min", "10 min to 1 h", "1 to 6 h", "6 to 24 h", "over 1 d")


@dataclass(frozen=True)
class WaitAsked:
    """What is replayed and scored.

    Attributes
    ----------
    begin : answers before this time do not count; None: those of the first half of the jobs
    seed : of the forests and boosted trees
    level : of intervals
    latest : only the latest jobs, None: all
    trees : whether boosted trees are fitted to compare with
    workers : threads that learn; what they find is the same on any number
    """

    begin: int | None = None
    seed: int = 1
    level: float = 0.95
    latest: int | None = None
    trees: bool = True
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)


@dataclass(frozen=True)
class WaitAnswersScored:
    """AskedAnswers of one kind.

    Attributes
    ----------
    kind : "submission" or "waiting"
    scores : of ours, then of all others
    best : name of the best yardstick, by squared error
    above, above_error : by how much our squared error is above its, and half the width of the
        interval of that
    groups : by partition and size, and by age
    """

    kind: str
    scores: tuple[WaitScores, ...]
    best: str
    above: float
    above_error: float
    groups: tuple[WaitGroup, ...]

    @property
    def ours(self) -> WaitScores:
        """What our answers were worth."""
        return self.scores[0]

    def named(self, name: str) -> WaitScores:
        """Return what another way to answer was worth."""
        return next(one for one in self.scores if one.name == name)


@dataclass(frozen=True)
class WaitBacktest:
    """The replay and its scores; `why` and what it takes (`remedy`) where there is none."""

    asked: WaitAsked
    jobs: int
    scored: tuple[WaitAnswersScored, ...] = ()
    share: float = 0.0
    why: str = ""
    remedy: str = ""


def learned_of(site: SiteRecords, asked: Asked) -> tuple[WaitAnswersScored, ...]:
    """Return what learned answers on the waits of the latest jobs were worth, for a report that
    learns."""
    if not asked.learn or site.accounting is None:
        return ()
    wanted = WaitAsked(seed=asked.seed, level=asked.level, latest=LATEST, trees=False)
    return study(site.accounting, site.estimates, wanted).scored


def study(
    accounting: Accounting,
    estimates: StartEstimates | None,
    asked: WaitAsked,
    progress: Progress | None = None,
) -> WaitBacktest:
    """Return what answers on waits would have been worth on these records."""
    tasks = tasks_of(accounting, asked.latest)
    began = tasks.started < NEVER
    if not waits_told(accounting) or not (tasks.started > tasks.submit)[began].any():
        why = "the records do not tell how long jobs waited"
        return WaitBacktest(
            asked, len(tasks), why=why, remedy="records with submit and start times"
        )
    if int(began.sum()) < FEWEST:
        why = f"{counted(int(began.sum()), 'jobs')} started, and {FEWEST:,} are needed"
        return WaitBacktest(asked, len(tasks), why=why, remedy="a longer period of records")
    alike = replay(tasks, None, None, progress=progress, shown=LEVELS).book.waits
    with ThreadPoolExecutor(asked.workers) as pool:
        answers, found = learn_waits(tasks, alike, asked.seed, each=pool.map, progress=progress)
    first = tasks.submit[len(tasks) // 2] if asked.begin is None else asked.begin
    known = np.isfinite(answers.value)
    late = known & (answers.asked >= first)
    whole = np.arange(len(answers.job)) < len(tasks)
    scoring = _Scoring(tasks, answers, found, asked, whole, known & ~late, accounting, estimates)
    scored = tuple(
        scoring.scored(kind, np.flatnonzero(late & mine))
        for kind, mine in (("submission", whole), ("waiting", ~whole))
        if (late & mine).any()
    )
    if not scored:
        why = "no job of the period that is scored started"
        return WaitBacktest(asked, len(tasks), why=why, remedy="a longer period of records")
    return WaitBacktest(asked, len(tasks), scored, float(found.shares[late].mean()))


@dataclass(frozen=True)
class _Scoring:
    """All answers, and what is scored of them; `first`: those that yardsticks are fitted to."""

    tasks: Tasks
    answers: AskedAnswers
    found: LearnedQuantiles
    asked: WaitAsked
    whole: Bools
    first: Bools
    accounting: Accounting
    estimates: StartEstimates | None

    def scored(self, kind: str, rows: Ints) -> WaitAnswersScored:
        """Return what answers of one kind were worth."""
        when, level = self.answers.asked[rows], self.asked.level
        wait = (self.answers.known - self.answers.asked)[rows]
        ours = WaitLaws.of(self.found.corrected[rows])
        alike = WaitLaws.of(self.found.experts[0][rows])
        laws = {OURS: ours, "before correction": WaitLaws.of(self.found.mixed[rows])}
        forest = self.found.forest[rows]
        forest = np.where(np.isnan(forest), self.found.experts[0][rows], forest)
        laws["forest alone"] = WaitLaws.of(forest)
        laws |= {name: WaitLaws.of(law) for name, law in self._others(rows)}
        scores = [score_laws(name, law, wait, when, level) for name, law in laws.items()]
        points = {name: law.mean_log for name, law in laws.items() if name in YARDSTICKS}
        told = self._boosted(rows) if self.asked.trees else None
        if told is not None:
            points["boosted trees"] = told
            scores.append(score_times("boosted trees", told, wait, when, level))
        median = np.log1p(alike.quantile(0.5))
        scores.append(score_times(TODAY, median, wait, when, level))
        scores += self._slurm(rows, wait, when)
        best = min(points, key=lambda name: float(np.mean((points[name] - np.log1p(wait)) ** 2)))
        above = difference(ours.mean_log, points[best], wait, when, level)
        groups = tuple(self._groups(kind, rows, ours, alike, wait))
        return WaitAnswersScored(kind, tuple(scores), best, *above, groups)

    def _others(self, rows: Ints) -> list[tuple[str, Floats]]:
        """Return the laws of the yardsticks."""
        answers = self.answers
        mine = self.first & (self.whole if self.whole[rows[0]] else ~self.whole)
        past = answers.value[mine] if mine.any() else np.zeros(1)
        order = answers.learned[self.whole[answers.learned]]
        if self.whole[rows[0]]:
            recent = latest(
                answers.asked[rows], answers.known, answers.known - answers.asked, order
            )
        else:
            # What is left by the latest waits, given the age, is one of the experts.
            recent = np.expm1(np.maximum(self.found.experts[3][rows], 0.0))
        return [
            ("one constant", np.tile(np.quantile(past, LEVELS), (len(rows), 1))),
            ("latest 1,000" if self.whole[rows[0]] else "latest waits", np.log1p(recent)),
            ("user's last 20", self.found.experts[2][rows]),
            ("like jobs", self.found.experts[0][rows]),
        ]

    def _boosted(self, rows: Ints) -> Floats | None:
        """Return what boosted trees say that learned from the first half, once."""
        looks = np.stack([self.answers.asked[~self.whole], self.answers.job[~self.whole]])
        kind = self.whole if self.whole[rows[0]] else ~self.whole
        features = queue_features(self.tasks, looks)
        learned = self.first & kind & (self.answers.known < self.answers.asked[rows].min())
        if int(learned.sum()) < GROUP:
            return None
        values = np.maximum(self.answers.value, 0.0)
        told = boosted(features.astype(np.float64), values, learned, self.asked.seed)
        return None if told is None else np.maximum(told[rows], 0.0)

    def _slurm(self, rows: Ints, wait: Ints, when: Ints) -> list[WaitScores]:
        """Return what the batch system's own first estimates were worth, on the jobs that have one,
        and ours on the same."""
        if self.estimates is None or not self.whole[rows[0]]:
            return []
        firsts: dict[int, int] = {}
        for job, start in zip(
            self.estimates.job.tolist(), self.estimates.start.tolist(), strict=True
        ):
            if start < NEVER:
                firsts.setdefault(job, start)
        place = np.zeros(int(self.accounting.which.max()) + 1, np.int64)
        place[self.accounting.which[::-1]] = np.arange(len(self.accounting))[::-1]
        number = self.accounting.job[place[self.tasks.which[self.answers.job[rows]]]]
        has = np.array([int(job) in firsts for job in number])
        if int(has.sum()) < 2:
            return []
        start = np.array([firsts[int(job)] for job in number[has]])
        said = np.log1p(np.maximum(start - when[has], 0).astype(np.float64))
        ours = WaitLaws.of(self.found.corrected[rows[has]])
        level = self.asked.level
        return [
            score_times("Slurm's first estimate", said, wait[has], when[has], level),
            score_laws("learned, on the same", ours, wait[has], when[has], level),
        ]

    def _groups(
        self, kind: str, rows: Ints, ours: WaitLaws, alike: WaitLaws, wait: Ints
    ) -> list[WaitGroup]:
        job = self.answers.job[rows]
        if kind == "waiting":
            age = np.searchsorted(AGES, self.answers.age[rows], side="right")
            return list(groups_of("age", age, AGED, ours, alike, wait, GROUP))
        size = (np.frexp(self.tasks.size[job].astype(np.float64))[1].astype(np.int64) - 1) // 2
        sizes = tuple(
            f"{4**k:,} to {4 ** (k + 1) - 1:,} nodes" for k in range(int(size.max(initial=0)) + 1)
        )
        part = self.tasks.part
        return [
            *groups_of(
                "partition", part.code[job].astype(np.int64), part.words, ours, alike, wait, GROUP
            ),
            *groups_of("size", size, sizes, ours, alike, wait, GROUP),
        ]
