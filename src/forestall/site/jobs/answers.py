"""How long one job was to wait by what was learned before, at its submission and now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.model.job_records import NEVER
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.answer import WaitAnswer, WaitLaws
from forestall.site.learning.turnaround.learned import LEVELS, learn_waits
from forestall.site.learning.turnaround.replay import replay
from forestall.site.learning.turnaround.targets import AskedAnswers
from forestall.site.learning.turnaround.tasks import tasks_of

if TYPE_CHECKING:
    from forestall.slurm.records.accounting import Accounting

LATEST: Final = 10_000
"""Of earlier jobs the latest so many are learned from."""
BEFORE: Final = 1000
"""So many answers before the job's own tell what each way to answer is worth."""


def wait_answers(
    records: Accounting, first: int, seed: int
) -> tuple[WaitAnswer | None, WaitAnswer | None]:
    """Return how long the job with this first run was to wait, as answered at its submission; and
    where it still waits when the records end, how long it will from then on. None where too few
    jobs came before it."""
    until = records.until if records.start[first] == NEVER else int(records.start[first])
    earlier = np.flatnonzero(records.submit <= until)
    tasks = tasks_of(records.take(earlier), LATEST)
    mine = np.flatnonzero(tasks.which == records.which[first])
    if not len(mine) or int((tasks.started < tasks.submit[mine[0]]).sum()) < learned.FIRST:
        return None, None
    job = int(mine[0])
    waits = bool(records.start[first] == NEVER and tasks.finish[job] == NEVER)
    moment = max(records.until, int(tasks.submit[job]))
    alike = replay(tasks, None, None, shown=LEVELS).book.waits
    since = int(tasks.submit[max(job - BEFORE, 0)])
    answers, found = learn_waits(
        tasks, alike, seed, since=since, more=((moment, job),) if waits else ()
    )
    told = [_answer(answers, found, job)]
    if waits:
        row = np.flatnonzero((answers.job == job) & (answers.asked == moment))[-1]
        told.append(_answer(answers, found, int(row)))
    return told[0], told[1] if waits else None


def _answer(answers: AskedAnswers, found: learned.LearnedQuantiles, row: int) -> WaitAnswer | None:
    if np.isnan(found.forest[row, 0]):
        return None
    law = WaitLaws.of(found.corrected[row : row + 1]).laws[0]
    known = int((answers.known[answers.learned] < answers.asked[row]).sum())
    return WaitAnswer(law, float(found.shares[row]), min(known, learned.LATEST))
