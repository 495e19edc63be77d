"""How sharp quotes are beside boosted quantiles as scikit-learn fits them, the requested time, and
a scheduler that knows all run times.

`python -m benchmarks.quotes [LOG ...]`. Jobs are every k-th, so that some 10,000 are left, as the
yardsticks are slow; scored is their second half. Boosted quantiles: 150 trees of depth 3 for each
level on eleven plain features of job, user and queue, refitted each 8 % of the log on what has
ended. Hindsight: EASY on the whole log with true run times on a machine as large as the log was at
its busiest, told as if it were certain; a scheduler, so no quote can be had from it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.common import data
from benchmarks.promises import LOGS, WITH_WAITS
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.prediction.assess.pinball import LEVELS, SHOWN, pinball, quantile_scores
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, prepare_jobs
from forestall.scheduling.simulation.run import play
from forestall.site.learning.turnaround.book_state import START
from forestall.site.learning.turnaround.learned import LEVELS as LEARNED
from forestall.site.learning.turnaround.learned import learn_quantiles
from forestall.site.learning.turnaround.queue_features import FEATURES, queue_features
from forestall.site.learning.turnaround.replay import mixed_levels, replay
from forestall.site.learning.turnaround.targets import turnarounds
from forestall.site.learning.turnaround.tasks import Tasks, tasks_of
from forestall.slurm.sources.swf_jobs import accounting_of_swf

PLAIN = (
    "limit", "size", "hour_of_day", "day_of_week", "user_last_turnaround", "user_last_wait",
    "user_last_used", "queue_jobs", "queue_requested", "running_jobs", "running_requested",
)  # fmt: skip
KEPT, REFIT, BEGIN = 10_000, 0.08, 0.1
LATEST = 1000
Quantiles = npt.NDArray[np.floating]


def boosted(tasks: Tasks, taken: npt.NDArray[np.int64]) -> Quantiles:
    """Return quantiles of the taken jobs, s, by scikit-learn, each by what had ended before."""
    columns = [[one.name for one in FEATURES].index(name) for name in PLAIN]
    rows = np.nan_to_num(queue_features(tasks)[taken][:, columns], nan=-1.0)
    values, known = (one[taken] for one in turnarounds(tasks))
    out = np.full((len(taken), len(LEVELS)), 3600.0)
    steps = (len(taken) * np.arange(BEGIN, 1.0, REFIT)).astype(int).tolist()
    for first, last in zip(steps, [*steps[1:], len(taken)], strict=True):
        now = tasks.submit[taken[first]]
        past = np.flatnonzero(known[:first] & (tasks.finish[taken[:first]] < now))
        for i, level in enumerate(LEVELS):
            model = HistGradientBoostingRegressor(
                loss="quantile", quantile=level, max_iter=150, max_depth=3, early_stopping=False
            )
            model.fit(rows[past], values[past])
            out[first:last, i] = np.expm1(model.predict(rows[first:last]))
    return np.sort(np.maximum(out, 1.0), axis=1)


def requested(tasks: Tasks, taken: npt.NDArray[np.int64]) -> Quantiles:
    """Return requested times, s, with quantiles of the latest waits of all jobs added."""
    begun = tasks.events[:, tasks.events[1] == START]
    waits = (begun[0] - tasks.submit[begun[2]]).astype(np.float64)
    out = np.empty((len(taken), len(LEVELS)))
    for row, k in enumerate(taken):
        last = int(np.searchsorted(begun[0], tasks.submit[k], side="left"))
        latest = waits[max(last - LATEST, 0) : last]
        wait = np.quantile(latest, LEVELS) if last else np.zeros(len(LEVELS))
        out[row] = (tasks.limit[k] if tasks.limit[k] > 0 else 3600) + wait
    return np.maximum(out, 1.0)


def hindsight(tasks: Tasks, taken: npt.NDArray[np.int64]) -> Quantiles:
    """Return turnarounds, s, under EASY that knows run times, the same at each level."""
    ran = np.flatnonzero(tasks.ran > 0)
    order = np.argsort(np.concatenate((tasks.started[ran], tasks.finish[ran])), kind="stable")
    busy = np.cumsum(np.concatenate((tasks.size[ran], -tasks.size[ran]))[order])
    jobs = Jobs(
        ran, tasks.submit[ran] - tasks.submit[0], tasks.size[ran], tasks.ran[ran], tasks.ran[ran]
    )
    nodes = int(max(busy.max(), jobs.size.max()))
    parameters = Parameters(nodes=nodes, policy="easy", estimates="runtime")
    none = Failures.none()
    work = prepare_jobs(jobs, none, parameters)
    outcome = play(work, none, parameters, foreseen_by(None, none, 0), placed=False)
    took = np.full(len(tasks), 3600.0)
    took[ran] = outcome.jobs["finish"] - work.jobs.submit
    return np.repeat(np.maximum(took[taken], 1.0)[:, None], len(LEVELS), axis=1)


def quotes(tasks: Tasks, taken: npt.NDArray[np.int64]) -> Iterator[tuple[str, Quantiles]]:
    """Yield the quantiles of each way to quote, s, ours first."""
    levels, places = mixed_levels(len(tasks), 0.3), [LEARNED.index(level) for level in LEVELS]
    alone = replay(tasks, levels, None, shown=LEARNED).book
    with ThreadPoolExecutor(2) as pool:
        learned = learn_quantiles(tasks, alone.alike, 1, each=pool.map)
    ours = replay(tasks, levels, None, told=learned.told(), shown=LEARNED).book
    for name, book in (("promised", ours), ("book of like jobs", alone)):
        yield name, np.maximum.accumulate(book.offered[taken][:, places], axis=1)
    yield "boosted, scikit-learn", boosted(tasks, taken)
    yield "requested time and wait", requested(tasks, taken)
    yield "hindsight: EASY, exact times", hindsight(tasks, taken)


def main() -> None:
    """Print losses, shares kept and deadlines of each."""
    print(f"{'':<40}{'log':>8}{'hours':>9}{'kept':>9}{'90 %':>9}")
    for name in sys.argv[1:] or LOGS[:WITH_WAITS]:
        tasks = tasks_of(accounting_of_swf(data(name), 1, strict=False))
        taken = np.arange(0, len(tasks), max(len(tasks) // KEPT, 1))
        values, known = turnarounds(tasks)
        scored = np.flatnonzero(known[taken] & (np.arange(len(taken)) >= len(taken) // 2))
        actual, when = np.expm1(values[taken[scored]]), tasks.submit[taken[scored]]
        short, at = name.rpartition("/")[2].split(".")[0][:14], SHOWN.index(0.9)
        for said, quantiles in quotes(tasks, taken):
            scores = quantile_scores(pinball(quantiles[scored], actual), when)
            print(
                f"{short:<14}{said:<26}{scores.logs:8.3f}{scores.hours:9.3f}"
                f"{scores.kept[at]:9.1%}{scores.ratio[at][1]:8.2f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
