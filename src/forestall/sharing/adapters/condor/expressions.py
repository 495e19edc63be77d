"""ClassAd expressions that use what the agent publishes, for submit files and for machines.

What is older than `max_age` counts as not said. So does what comes from as far in the future: on
such a machine a clock is wrong, and nothing tells how old it is.
"""

from __future__ import annotations

import math
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.sharing.adapters.condor.attributes import AVAILABLE, UPDATED, reliability

MAX_AGE: Final = 600
"""Seconds. Twice the time after which a startd tells the collector of its own accord."""
MOST_HOURS: Final = 10_000
HOURS: Final = (1, 2, 4, 8)
"""Times for which agents of every version predict reliability, h: pools are seldom all of one."""


def fresh(max_age: int = MAX_AGE) -> str:
    """Return an expression for whether the agent's word is there and fresh; it may be undefined."""
    if max_age < 1:
        raise ParameterError("max_age", max_age, "1 s or more")
    return f"time() - {UPDATED} <= {max_age} && {UPDATED} - time() <= {max_age}"


def survival(hours: float) -> str:
    """Return an expression for the probability that a machine stays available for so long.

    Between the times for which the agent predicts, the hazard is taken as constant, and beyond the
    last one as its mean up to there. Undefined where a value is missing that it needs.

    >>> survival(4)
    'ForestallReliability4h'
    >>> survival(16)
    'pow(ForestallReliability8h, 2)'
    """
    if not 0 < hours <= MOST_HOURS:
        raise ParameterError("hours", hours, f"more than 0, at most {MOST_HOURS}")
    if hours in HOURS:
        return reliability(int(hours))
    if hours < HOURS[0] or hours > HOURS[-1]:
        nearest = HOURS[0] if hours < HOURS[0] else HOURS[-1]
        return f"pow({reliability(nearest)}, {_plain(hours / nearest)})"
    before = max(each for each in HOURS if each < hours)
    after = min(each for each in HOURS if each > hours)
    share = (hours - before) / (after - before)
    low, high = _plain(1 - share), _plain(share)
    return f"pow({reliability(before)}, {low}) * pow({reliability(after)}, {high})"


def rank(hours: float, max_age: int = MAX_AGE) -> str:
    """Return the rank of a machine for a job of so many hours: the probability that it stays
    available for so long; 0 where it is not available or nothing fresh is known."""
    value = survival(hours)
    known = f"{fresh(max_age)} && {AVAILABLE} && {value} >= 0"
    return f"ifThenElse(({known}) =?= true, {value}, 0.0)"


def not_refused(max_age: int = MAX_AGE) -> str:
    """Return whether a machine may be used: not where fresh word says that it is not available; a
    machine without an agent, or without fresh word, may be used."""
    return f"({fresh(max_age)} && {AVAILABLE} == false) =!= true"


def _plain(value: float) -> str:
    """Return a number without an exponent.

    >>> _plain(2.0), _plain(1 / 3)
    ('2', '0.333333')
    """
    assert math.isfinite(value)
    return f"{value:.6f}".rstrip("0").rstrip(".") or "0"
