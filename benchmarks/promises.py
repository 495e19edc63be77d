"""Promises replayed on real logs: time, deciles before and after correction, and how far deadlines
were.

`python -m benchmarks.promises`; `python -m benchmarks.promises sharp`: how sharp learned quotes are
beside yardsticks, on the logs that tell waits; `python -m benchmarks.promises stretches`: do quotes
hold in 10,000 jobs alone, up to six stretches of each of these logs?

The yardstick for time is the same replay without kernels, on a hundredth of the jobs. What is
printed of calibration is the decile that is farthest off, of those with 200 promises or more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np

from benchmarks.common import data, line
from forestall.core.model.ledger import QUESTIONS
from forestall.prediction.assess.pinball import SHOWN
from forestall.site.promises.pictures import points, times
from forestall.site.promises.study import Question, study
from forestall.site.promises.yardsticks import BOOK
from forestall.slurm.sources.swf_jobs import accounting_of_swf

LOGS = (
    "swf-misc/KTH-SP2-1996-2.swf.gz",
    "swf-misc/SDSC-BLUE-2000-4.2-cln.rebuilt.swf.gz",
    "swf-misc/HPC2N-2002-2.2-cln.rebuilt.swf.gz",
    "swf-misc/CEA-Curie-2011-2.1-cln.swf.gz",
    "swf-misc/UniLu-Gaia-2014-1.swf.gz",
    "lanl-mustang/LANL-Mustang-2011.rebuilt.swf.gz",
    "lanl-trinity/LANL-Trinity-2016.rebuilt.swf.gz",
    "swf-misc/LLNL-Atlas-2006-2.1-cln.swf.gz",
    "swf-misc/LCG-2005-1.swf.gz",
    "nasa-ipsc-1993/NASA-iPSC-1993-3.1-cln.swf.gz",
    "sdsc-sp2-1998/SDSC-SP2-1998-4-cln.jobs-from-predictsim.swf.gz",
)
"""Those from Atlas on have no waits: promises there are about run times."""
WITH_WAITS = 7
STRETCH, MOST = 10_000, 6
PLAIN = 3000
SPEED = "swf-misc/CEA-Curie-2011-2.1-cln.swf.gz"


def interpreted() -> None:
    """Print the seconds that the latest jobs of a log take without kernels."""
    accounting = accounting_of_swf(data(SPEED), 1, strict=False)
    begun = time.perf_counter()
    study(accounting, Question(latest=PLAIN, warm_up=500))
    print(time.perf_counter() - begun)


def stretches() -> None:
    """Print in how many stretches quotes hold, and by how much the others are off."""
    held = dict.fromkeys(QUESTIONS, 0)
    count = 0
    for name in LOGS[:WITH_WAITS]:
        accounting = accounting_of_swf(data(name), 1, strict=False)
        parts = min(MOST, len(accounting) // STRETCH)
        for k in range(parts):
            first = k * (len(accounting) // parts)
            found = study(accounting.take(np.arange(first, first + STRETCH)), Question())
            count += 1
            for one in found.answers:
                held[one.question] += one.scores.holds is True
                worst = one.scores.worst
                if one.scores.holds is False and worst is not None:
                    where = f"{name.rpartition('/')[2]}, jobs from {first + 1:,}"
                    print(f"{where}: {one.question} {points(worst.off)} points")
    for question, number in held.items():
        print(f"{question}: held in {number} of {count} stretches of {STRETCH:,} jobs")


def sharp() -> None:
    """Print what learned quotes lose beside others, and how far their deadlines lie."""
    heads = ("log", "hours", "of book", "kept", "90 %")
    print(f"{'log':<10} {'quotes':<29} " + " ".join(f"{head:>8}" for head in heads))
    for name in LOGS[:WITH_WAITS]:
        accounting = accounting_of_swf(data(name), 1, strict=False)
        begun = time.perf_counter()
        found = study(accounting, Question(learn=True))
        took = time.perf_counter() - begun
        book = next(one.scores for one in found.learned.yardsticks if one.name == BOOK)
        at = SHOWN.index(0.9)
        short = name.rpartition("/")[2].split("-")[0]
        for one in found.learned.yardsticks:
            scores = one.scores
            of_book, far = scores.hours / book.hours, scores.ratio[at][1]
            print(
                f"{short:<10} {one.name:<29} {scores.logs:8.3f} {scores.hours:8.3f} "
                f"{of_book:8.1%} {scores.kept[at]:8.1%} {far:7.2f}x"
            )
        print(f"{short:<10} {found.jobs:,} jobs in {took:.0f} s")


def main() -> None:
    """Print all of it."""
    if sys.argv[1:] == ["sharp"]:
        sharp()
        return
    if sys.argv[1:] == ["plain"]:
        interpreted()
        return
    if sys.argv[1:] == ["stretches"]:
        stretches()
        return
    for name in LOGS:
        accounting = accounting_of_swf(data(name), 1, strict=False)
        begun = time.perf_counter()
        found = study(accounting, Question())
        took = time.perf_counter() - begun
        print(f"{name.rpartition('/')[2]}: {found.jobs:,} jobs in {took:.1f} s")
        for one in found.answers:
            before, after = one.before.worst, one.scores.worst
            assert before is not None
            assert after is not None
            print(
                f"  {one.question:<12} worst decile {points(before.off)} before, "
                f"{points(after.off)} after, of {len(one.scores.judged)} deciles; deadline over "
                f"run time {times(one.others[0].sharp.times_run[1])} before, "
                f"{times(one.sharp.times_run[1])} after"
            )
    accounting = accounting_of_swf(data(SPEED), 1, strict=False)
    begun = time.perf_counter()
    found = study(accounting, Question())
    ours = (time.perf_counter() - begun) / found.jobs
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.promises", "plain"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    line("replay, a job, both questions", ours, "without kernels", float(done.stdout) / PLAIN)


if __name__ == "__main__":
    main()
