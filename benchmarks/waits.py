"""Do waiting-time bounds hold on real logs, in order of time, and how long do they take to make?

`python -m benchmarks.waits [log ...]`

For each log with recorded waits: 95 % bounds with 95 % confidence, quoted to each job from what was
known when it was submitted. A row a way of making them; the last is the same as the first on a log
whose waits were shuffled, each known before the next is asked for, which is how such a bound looks
better (and shorter) than it is.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.common import data
from forestall.logs.jobs.swf import read_swf_file
from forestall.prediction.assess.coverage import Coverage, Outcomes, coverage, held_share, in_burst
from forestall.site.learning.waits.classes import Classes, classify
from forestall.site.learning.waits.online import BoundRule, QuotedBounds, WaitHistory, replay
from reference.plain_waits import plain_replay

LOGS = {
    "KTH": "swf-misc/KTH-SP2-1996-2.swf.gz",
    "HPC2N": "swf-misc/HPC2N-2002-2.2-cln.rebuilt.swf.gz",
    "BLUE": "swf-misc/SDSC-BLUE-2000-4.2-cln.rebuilt.swf.gz",
    "Curie": "swf-misc/CEA-Curie-2011-2.1-cln.swf.gz",
    "Gaia": "swf-misc/UniLu-Gaia-2014-1.swf.gz",
    "Trinity": "lanl-trinity/LANL-Trinity-2016.rebuilt.swf.gz",
    "Mustang": "lanl-mustang/LANL-Mustang-2011.rebuilt.swf.gz",
}
COLUMNS = (
    "submit", "wait", "run", "status", "processors", "allocated", "request", "queue", "user",
)  # fmt: skip
PLAIN = BoundRule(changes=False, waiting=False)
RULES = {
    "order statistic alone": PLAIN,
    "the latest 100 only": BoundRule(changes=False, waiting=False, history=100),
    "with changes": BoundRule(waiting=False),
    "with waiting jobs": BoundRule(changes=False),
    "with both": BoundRule(),
    "with both, adaptive": BoundRule.adaptive(),
}


def load(name: str) -> tuple[WaitHistory, Classes, np.ndarray]:
    """Return a log's waits, classes and users."""
    columns = read_swf_file(data(LOGS[name]), wanted=COLUMNS).columns
    submit, wait, run = columns["submit"], columns["wait"], np.maximum(columns["run"], 0)
    rows = np.flatnonzero(wait >= 0)
    left = submit + wait
    # A cancelled job that never ran was withdrawn when its wait ended.
    started = (columns["status"] != 5) | (run > 0)
    until = int((left + run)[rows].max()) + 1
    waits = WaitHistory.build(submit[rows], left[rows], started[rows], until, rows)
    size = np.where(columns["processors"] > 0, columns["processors"], columns["allocated"])
    limit = np.where(columns["request"] > 0, columns["request"], -1)
    at = waits.row
    return waits, classify(columns["queue"][at], size[at], limit[at]), columns["user"][at]


def shuffled(waits: WaitHistory, seed: int = 1) -> tuple[WaitHistory, np.ndarray]:
    """Return the waits in random order, each over before the next begins; and the order."""
    ran = np.flatnonzero(waits.started)
    order = np.random.default_rng(seed).permutation(ran)
    wait = waits.waited[order]
    ready = np.concatenate(([0], np.cumsum(wait + 2)[:-1]))
    until = int(ready[-1] + wait[-1] + 2)
    return WaitHistory.build(ready, ready + wait, np.ones(len(ran), bool), until), order


def judged(found: QuotedBounds) -> tuple[Outcomes, Coverage]:
    """Return what came of bounds."""
    waits = found.waits
    outcomes = Outcomes(found.bound, waits.waited, waits.started, waits.ready)
    return outcomes, coverage(outcomes, np.random.default_rng(1))


def row(name: str, told: Coverage, seconds: float, changes: int) -> str:
    """Return a line of the table."""
    held = told.held
    return (
        f"  {name:<23}{100 * held.share:6.1f} [{100 * held.low:5.1f}, {100 * held.high:5.1f}]"
        f" [{100 * held.naive_low:5.1f}, {100 * held.naive_high:5.1f}]"
        f"{100 * told.unbounded / told.jobs:7.1f}{told.median_bound / 3600:9.2f}"
        f"{told.mean_bound / 3600:8.2f}{told.loss / told.constant_loss:7.2f}{told.longest:7,}"
        f"{changes:7,}{seconds:7.2f}"
    )


def bursts(found: QuotedBounds, user: np.ndarray, outcomes: Outcomes) -> str:
    """Return how bounds did for jobs in bursts and others."""
    inside = in_burst(user, outcomes.when)
    words = []
    for name, which in (("in bursts", inside), ("not", ~inside)):
        some = outcomes.decided & which
        told = held_share(~outcomes.missed[some], outcomes.when[some], np.random.default_rng(1))
        words.append(f"{name} {told.made:,} jobs {100 * told.share:.1f} %")
    return "  with both: " + "; ".join(words)


def many(count: int = 5_000_000) -> None:
    """Time a log of so many jobs on 10 partitions, made up."""
    rng = np.random.default_rng(1)
    ready = np.sort(rng.integers(0, 3 * 365 * 86_400, count))
    slow = 1 + np.sin(ready / 500_000) + rng.exponential(1.0, count)
    wait = (rng.lognormal(4, 2, count) * slow).astype(np.int64)
    waits = WaitHistory.build(
        ready, ready + wait, np.ones(count, bool), int((ready + wait).max()) + 1
    )
    parts = rng.integers(0, 10, count), 2 ** rng.integers(0, 9, count)
    classes = classify(*parts, rng.choice([1800, 3600, 14_400, 86_400], count))
    for name, rule in (("with both", BoundRule()), ("adaptive", BoundRule.adaptive())):
        start = time.perf_counter()
        found = replay(waits, classes, rule)
        taken = time.perf_counter() - start
        print(f"{count:,} jobs, {name}: {taken:.1f} s, {found.changes:,} changes")


def beside_plain(jobs: int = 4000) -> None:
    """Time a part of KTH's log beside the plain reference, and compare all answers."""
    waits, classes, _ = load("KTH")
    some = WaitHistory.build(
        waits.ready[:jobs], waits.left[:jobs], waits.started[:jobs], waits.until
    )
    part = Classes(
        classes.fine[:jobs], classes.parent, classes.partition, classes.size, classes.time
    )
    for rule in (BoundRule(), BoundRule.adaptive()):
        replay(some, part, rule)
        start = time.perf_counter()
        found = replay(some, part, rule)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        bounds, _levels = plain_replay(some, part, rule)
        plain = time.perf_counter() - start
        assert found.seconds.tolist() == bounds, "the plain reference says otherwise"
        print(f"KTH, {jobs:,} jobs: {1000 * ours:.0f} ms, plain {plain:.1f} s: {plain / ours:.0f}")


def main() -> None:
    """Print the tables."""
    names = [name for name in sys.argv[1:] if name in LOGS] or list(LOGS)
    print(
        f"{'':25}held % [by weeks]      [as if independent] none %  median h  mean h   loss"
        "    run changes     s"
    )
    replay(*load("KTH")[:2], BoundRule())
    for name in names:
        waits, classes, user = load(name)
        print(f"{name}: {len(waits):,} jobs, median wait {np.median(waits.waited):,.0f} s")
        for label, rule in RULES.items():
            start = time.perf_counter()
            found = replay(waits, classes, rule)
            taken = time.perf_counter() - start
            outcomes, told = judged(found)
            print(row(label, told, taken, found.changes), flush=True)
            if label == "with both":
                print(bursts(found, user, outcomes))
        mixed, order = shuffled(waits)
        place = order[mixed.row]
        same = Classes(
            classes.fine[place], classes.parent, classes.partition, classes.size, classes.time
        )
        found = replay(mixed, same, PLAIN)
        print(row("alone, SHUFFLED", judged(found)[1], 0.0, 0), flush=True)
    beside_plain()
    many()


if __name__ == "__main__":
    main()
