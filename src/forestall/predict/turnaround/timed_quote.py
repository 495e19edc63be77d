"""A quote of a job's end, with what it rests on and its record, in words."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from forestall.model.quotes import DecileRecord
from forestall.predict.turnaround.classes import RUN_CLASSES, WAIT_CLASSES


@dataclass(frozen=True)
class TimedQuote:
    """Done by `deadline` with `probability`.

    Attributes
    ----------
    job : as it was named
    deadline : s, on the clock of the events
    probability : what is said
    before : probability of this deadline before correction, by the plain law
    wait, run : quantiles of wait and run time that go with it by like jobs, s
    reasons : what it rests on, and these, in words
    record : what became of promises like it
    learned_share : weight of what was learned from features of job and queue; the rest is that of
        like jobs
    learned_jobs : ended jobs that this was learned from, 0 for none
    """

    job: Hashable
    deadline: int
    probability: float
    before: float
    wait: float
    run: float
    reasons: tuple[str, ...]
    record: DecileRecord
    learned_share: float = 0.0
    learned_jobs: int = 0


def rests_on(share: float, jobs: int) -> str:
    """Return in words what a quote rests on: `share` is the weight of what was learned from so many
    jobs.

    >>> rests_on(0.83, 12345)
    'learned from 12,345 jobs (weight 83 %), the rest from like jobs'
    >>> rests_on(0.0, 0)
    'rests on like jobs'
    """
    weight = f"{100 * share:.0f} %"
    if not jobs or weight == "0 %":
        return "rests on like jobs"
    if weight == "100 %":
        return f"learned from {jobs:,} jobs"
    return f"learned from {jobs:,} jobs (weight {weight}), the rest from like jobs"


def reasons_of(entry: Any, promise: Any, rests: str) -> tuple[str, ...]:
    """Return in words what a promise rests on."""
    aim = float(promise["aim"])
    waits = WAIT_CLASSES[int(entry["wait_level"])]
    runs = RUN_CLASSES[int(entry["run_level"])]
    found = [
        rests,
        f"wait: {100 * aim:.1f} % wait {float(promise['wait']):,.0f} s or less "
        f"({int(entry['wait_like']):,} {waits}, and wider classes)",
        f"run time: {100 * aim:.1f} % run {float(promise['run']):,.0f} s or less "
        f"({int(entry['run_like']):,} of {runs}, and wider classes)",
    ]
    if float(entry["risk"]) > 0:
        found.append(f"failures: stop it with probability {100 * float(entry['risk']):.2f} %")
    return tuple(found)
