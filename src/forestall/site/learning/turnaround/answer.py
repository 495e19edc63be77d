"""What a book answers: a quote of a job's end in words, and how long a job waits, or still
will, as a distribution."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Floats
from forestall.core.model.quotes import DecileRecord
from forestall.site.learning.turnaround.classes import RUN_CLASSES, WAIT_CLASSES
from forestall.site.learning.turnaround.learned import LEVELS
from forestall.site.learning.turnaround.targets import STARTS

if TYPE_CHECKING:
    from forestall.site.learning.turnaround.target_learner import LearnedLaw

PARTS: Final = np.diff(np.concatenate([[0.0], (np.array(LEVELS[1:]) + LEVELS[:-1]) / 2, [1.0]]))
"""What part of the distribution each level stands for."""


@dataclass(frozen=True)
class WaitLaws:
    """Waits of several jobs.

    Attributes
    ----------
    laws : float64[n, L], quantiles at `learned.LEVELS`, logarithms of 1 + s, ascending, numbers
        below 0 for a start at once (`targets.ZERO`)
    """

    laws: Floats

    @classmethod
    def of(cls, quantiles: npt.NDArray[np.floating]) -> WaitLaws:
        """Return those with these quantiles, of which none lies below the one before it."""
        return cls(np.maximum.accumulate(quantiles.astype(np.float64), axis=1))

    @property
    def logs(self) -> Floats:
        """Quantiles at `learned.LEVELS`, logarithms of 1 + s, a start at once being 0."""
        return np.where(self.laws <= STARTS, 0.0, self.laws)

    def quantile(self, level: float) -> Floats:
        """Return the time within which jobs start with this probability, s, float64[n]."""
        at = int(np.clip(np.searchsorted(LEVELS, level), 1, len(LEVELS) - 1))
        part = np.clip((level - LEVELS[at - 1]) / (LEVELS[at] - LEVELS[at - 1]), 0.0, 1.0)
        place = self.laws[:, at - 1] + part * (self.laws[:, at] - self.laws[:, at - 1])
        return np.asarray(np.where(place <= STARTS, 0.0, np.expm1(place)))

    def interval(self, share: float) -> tuple[Floats, Floats]:
        """Return the ends of the times between which jobs start with this probability, s: half of
        the rest lies on either side, all of it above where a job may start at once."""
        low = self.quantile((1 - share) / 2)
        high = np.where(low > 0, self.quantile((1 + share) / 2), self.quantile(share))
        return low, high

    def chance_within(self, seconds: float) -> Floats:
        """Return the probability to start within so many seconds, float64[n]; within 0: at once."""
        value, levels = max(float(np.log1p(seconds)), STARTS), np.array((0.0, *LEVELS, 1.0))
        at = (self.laws <= value).sum(axis=1)
        edges = np.pad(self.laws, ((0, 0), (1, 1)), mode="edge")
        low, high = (np.take_along_axis(edges, (at + k)[:, None], 1)[:, 0] for k in (0, 1))
        width = np.where(high > low, high - low, 1.0)
        part = np.where(high > low, np.clip((value - low) / width, 0.0, 1.0), 0.5)
        return np.asarray(levels[at] + part * (levels[at + 1] - levels[at]))

    @property
    def mean_log(self) -> Floats:
        """Mean of the logarithm of 1 + s, float64[n]: what the squared error is least of."""
        return self.logs @ PARTS


@dataclass(frozen=True)
class WaitAnswer:
    """How long one job waits, or still will.

    Attributes
    ----------
    law : float64[L], as a row of `WaitLaws`
    share, jobs : weight of the forest in it, and outcomes that it learned from
    """

    law: Floats
    share: float
    jobs: int

    @classmethod
    def of(cls, law: LearnedLaw) -> WaitAnswer:
        """Return the answer of what was learned."""
        return cls(WaitLaws.of(law.quantiles[None]).laws[0], law.share, law.jobs)

    @property
    def _all(self) -> WaitLaws:
        return WaitLaws(self.law[None])

    def quantile(self, level: float) -> float:
        """Return the time within which the job starts with this probability, s."""
        return float(self._all.quantile(level)[0])

    def interval(self, share: float) -> tuple[float, float]:
        """Return the ends of an interval, s; see `WaitLaws.interval`."""
        low, high = self._all.interval(share)
        return float(low[0]), float(high[0])

    def chance_within(self, seconds: float) -> float:
        """Return the probability to start within so many seconds; within 0: at once."""
        return float(self._all.chance_within(seconds)[0])


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
