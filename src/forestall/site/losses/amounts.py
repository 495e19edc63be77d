"""Amounts of lost and kept time as several sections write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from forestall.core.show.quantities import at_level, between, duration, number, percent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from forestall.core.show.blocks import Column
    from forestall.prediction.assess.panel import RedrawnEstimate

HOUR = 3600
NONE = "-"


def hours(seconds: int) -> str:
    """Return node- or GPU-seconds in hours.

    >>> hours(0), hours(90), hours(36_000), hours(36_000_000)
    ('0', '0.025', '10.0', '10,000')
    """
    return number(seconds / HOUR)


def every(seconds: int) -> str:
    """Return a time that was asked for or assumed: in whole hours or minutes where it is so many.

    >>> every(3600), every(300), every(5400), every(45), every(100_000)
    ('1 h', '5 min', '90 min', '45 s', '27.8 h')
    """
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds // length:,} {unit}"
    return duration(seconds)


def part(over: float, under: float) -> str:
    """Return a part of a whole as a percentage."""
    return percent(over / under) if under else NONE


def share_interval(row: Mapping[str, Any], name: str) -> str:
    """Return the interval of a share by its name in a row, see `ends_of`; a dash where there is
    none.

    >>> share_interval({"lost": 0.5, "lost_low": 0.25, "lost_high": 0.75}, "lost")
    '25.0 to 75.0 %'
    """
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if not (math.isfinite(low) and math.isfinite(high)):
        return NONE
    return between(low, high, "ratio")


def with_interval(one: RedrawnEstimate, level: float) -> str:
    """Return a share and, where there is one, its interval in brackets."""
    ends = share_interval(ends_of(one, "share"), "share")
    return percent(one.value) + (f" ({at_level(level)}: {ends})" if ends != NONE else "")


def value_of(one: RedrawnEstimate, level: float) -> dict[str, Any]:
    """Return value, interval and level of a figure; a value that is none must say why elsewhere."""
    told: dict[str, Any] = {"value": one.value if math.isfinite(one.value) else None}
    if math.isfinite(one.low) and math.isfinite(one.high):
        told |= {"low": one.low, "high": one.high, "level": level}
    return told


def ends_of(one: RedrawnEstimate, name: str) -> dict[str, float]:
    """Return value and interval for the rows of a table in JSON; the name ends in its unit."""
    return {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}


def error(seconds: float, *, bounded: bool = False) -> str:
    """Return a foreseen start minus the true one in words.

    >>> error(-7200), error(90), error(0), error(-7200, bounded=True)
    ('2 h late', '90 s early', 'on time', '2 h late or more')
    """
    if not math.isfinite(seconds):
        return NONE
    if seconds == 0:
        return "on time or late" if bounded else "on time"
    if seconds > 0:
        early = f"{duration(seconds)} early"
        return f"at most {early}" if bounded else early
    return f"{duration(-seconds)} late" + (" or more" if bounded else "")


def share_columns(head: str, name: str, more: str = "Interval") -> tuple[Column, Column]:
    """Return the columns of a share and of its interval."""
    return (head, name, percent), (more, lambda row: share_interval(row, name))
