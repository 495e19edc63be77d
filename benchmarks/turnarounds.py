"""Quotes as jobs come: what a learner takes for a job, for a fit, and for a whole log.

`python -m benchmarks.turnarounds`; times are those of a processor, not of the clock.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.common import data
from forestall.site.learning.turnaround import book_state as kinds
from forestall.site.learning.turnaround.learned import LEVELS, fitting_times, learn_quantiles
from forestall.site.learning.turnaround.learner import TurnaroundLearner
from forestall.site.learning.turnaround.replay import replay
from forestall.site.learning.turnaround.tasks import tasks_of
from forestall.slurm.sources.swf_jobs import accounting_of_swf

LOG = "swf-misc/KTH-SP2-1996-2.swf.gz"


def main() -> None:
    """Print times of a whole log in a batch and job by job, and whether both say the same."""
    tasks = tasks_of(accounting_of_swf(data(LOG), 1, strict=False))
    alike = replay(tasks, None, None, shown=LEVELS).book.alike
    began = time.thread_time()
    batch = learn_quantiles(tasks, alike, 1)
    print(f"{len(tasks):,} jobs in a batch: {time.thread_time() - began:.1f} s, {batch.fits} fits")
    users, names, parts = tasks.user.texts(), tasks.name.texts(), tasks.part.texts()
    learner, said = TurnaroundLearner(), np.empty_like(batch.corrected)
    asked, ended = [], []
    for now, kind, k in tasks.events.T.tolist():
        began = time.thread_time()
        if kind == kinds.SUBMIT:
            said[k] = learner.submit(
                k, now, alike[k], size=int(tasks.size[k]), limit=int(tasks.limit[k]),
                user=users[k], name=names[k], partition=parts[k],
            ).quantiles  # fmt: skip
            asked.append(time.thread_time() - began)
        else:
            learner.happen(kind, k, now)
            ended.append(time.thread_time() - began)
    same = said.tobytes() == batch.corrected.tobytes()
    print(f"job by job the same to the last bit: {'yes' if same else 'NO'}")
    for name, times in (("submission", asked), ("other event", ended)):
        usual = np.sort(times)[: len(times) - batch.fits]  # the others fit a forest
        middle, high = 1e3 * np.quantile(usual, (0.5, 0.99))
        print(f"{name}: {middle:.3f} ms, 99 % {high:.3f} ms, at most {1e3 * usual[-1]:.2f} ms")
    print(f"fits: {np.sort(asked)[-batch.fits :].sum():.1f} s in all, at most {max(asked):.2f} s")
    counts = [count for _, count in zip(range(200), fitting_times(), strict=False)]
    print(f"a million jobs are {sum(count < 1_000_000 for count in counts)} fits")


if __name__ == "__main__":
    main()
