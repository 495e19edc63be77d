"""When a running program is saved: by a fixed interval, or by what a save costs and what is at
risk.

By cost and risk a program asks to be saved whenever it has worked for Daly's interval, computed
anew from the rate of failures as it is now and the cost as it was measured. The request is granted
where the work that would probably be lost by the next one exceeds the cost.

Sources: Daly, Future Generation Computer Systems 22 (2006) 303, Equation 37; Oliner et al., DSN
2005, Equation 1 (perform iff p_f d I >= C).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import format_duration
from forestall.reliability.checkpoints.checkpoints import daly

UNKNOWN_COST: Final = 1.0
"""s that a save is taken to cost until one was made."""
LEAST_COST: Final = 0.01
"""s below which no cost counts: clocks and schedulers are not finer."""
PRIOR: Final = 86_400.0
"""s of running in which one failure is taken to have been seen before anything was: learned rates
begin at one a day."""


class FailureOutlook(NamedTuple):
    """How likely a failure is: its rate now, per s; the probability that none comes within times
    from now, s, where that is known; and where this is from, in words."""

    rate: float
    source: str
    reliability: tuple[tuple[float, float], ...] = ()

    def failure(self, within: float) -> float:
        """Return the probability of a failure within a time from now, s: between known times their
        logarithms are interpolated, beyond them the last rate goes on."""
        before, known = 0.0, 0.0
        rate = self.rate
        for time, alive in self.reliability:
            total = -math.log(max(alive, 1e-12))
            rate = max(total - known, 0.0) / (time - before)
            if within <= time:
                break
            before, known = time, max(total, known)
        return -math.expm1(-(known + rate * (within - before)))


def mean_time(mtbf: float) -> FailureOutlook:
    """Return the outlook for a mean time between failures, s. Raises ParameterError."""
    if not 0 < mtbf < math.inf:
        raise ParameterError("mtbf", mtbf, "a time above 0")
    return FailureOutlook(1 / mtbf, "as given")


def learned(evictions: int, ran: float) -> FailureOutlook:
    """Return the outlook from a run's own past: evictions in `ran` s of running (the mean of the
    rate's posterior, whose prior is one failure in a day)."""
    past = "no eviction" if not evictions else f"{evictions} evictions" if evictions > 1 else (
        "1 eviction")  # fmt: skip
    said = f"{past} in {format_duration(ran)} of running"
    return FailureOutlook((1 + evictions) / (PRIOR + ran), said)


def forecast(reliability: Mapping[float, float], source: str) -> FailureOutlook:
    """Return the outlook of a forecast: by times from now, s, the probability that none comes."""
    points = tuple(sorted(reliability.items()))
    time, alive = points[0]
    return FailureOutlook(max(-math.log(max(alive, 1e-12)), 0.0) / time, source, points)


@dataclass(frozen=True)
class Cost:
    """What saves cost: the time that the program stands still, and what else they take from it, as
    s of its time; an average that forgets."""

    pause: float = UNKNOWN_COST
    overhead: float = 0.0
    saves: int = 0

    @property
    def total(self) -> float:
        """s for each save."""
        return max(self.pause + self.overhead, LEAST_COST)

    def after(self, pause: float, overhead: float) -> Cost:
        """Return it after one more save: half of what counts is the last one."""
        if not self.saves:
            return Cost(pause, overhead, 1)
        return Cost(
            (self.pause + pause) / 2, (self.overhead + overhead) / 2, self.saves + 1
        )  # fmt: skip


class SaveChoice(NamedTuple):
    """Whether to save now, why, in words with figures, and the interval, s, that holds now."""

    save: bool
    why: str
    interval: float


def by_interval(interval: float, work: float) -> SaveChoice:
    """Choose by a fixed interval: `work` s were done since the last save."""
    return SaveChoice(work >= interval, f"every {format_duration(interval)}", interval)


def by_risk(cost: Cost, outlook: FailureOutlook, work: float) -> SaveChoice:
    """Choose by cost and risk: `work` s were done since the last save."""
    price = cost.total
    if not outlook.rate > 0:
        return SaveChoice(False, f"no failure is expected ({outlook.source})", math.inf)
    mean = 1 / outlook.rate
    interval = daly(price, mean)
    if work < interval:
        return SaveChoice(False, f"after {format_duration(interval)} of work", interval)
    risk = outlook.failure(interval)
    at_stake = (
        f"{100 * risk:.2f} % x {format_duration(work)} of work, {risk * work:.2g} s, at stake"
    )
    known = "" if cost.saves else ", not yet measured"
    if risk * work < price:
        why = f"{at_stake}: less than a save costs ({price:.2g} s{known})"
        return SaveChoice(False, why, interval)
    why = (
        f"{at_stake}: more than a save costs ({price:.2g} s{known}); one failure in "
        f"{format_duration(mean)} ({outlook.source})"
    )
    return SaveChoice(True, why, interval)
