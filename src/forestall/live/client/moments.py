"""Moments as people at a terminal say and read them: in the zone of their machine."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import MAX_SECONDS, parse_duration

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ALLOWED: Final = (
    "such as '8:00', 'tomorrow 8:00', 'fri 18:00', +6h, 2026-11-30T12:00 or seconds since 1970"
)
_WORDS: Final = re.compile(
    r"(?:(?P<day>(?!at\b)[a-z]+|\d{4}-\d\d-\d\d)(?:\s+|$))?"
    r"(?:at\s+)?(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm)?)?"
)
_FAR: Final = 300 * 86_400
"""s from now at which a year is told, too."""


def parse_when(text: str, now: int, name: str = "by") -> int:
    """Return the seconds since 1970 of a moment to come, as a person says it.

    A date and a time without a zone are those of this machine; a time alone is the next one that
    the clock shows, a day alone is that day's end. Raises ParameterError, also for what is over.

    Parameters
    ----------
    now : the controller's clock, s since 1970, which ``+6h`` and ``tomorrow`` begin from
    """
    stripped = " ".join(text.strip().lower().split())
    found = _moment(stripped, now, name, text)
    if not now < found < MAX_SECONDS:
        raise ParameterError(name, text, f"a moment after {told_when(now, now)}; {_ALLOWED}")
    return found


def _moment(stripped: str, now: int, name: str, text: str) -> int:
    if stripped.startswith("+") or stripped.startswith("in "):
        span = stripped.removeprefix("+").removeprefix("in ")
        return now + parse_duration(span, name)
    if stripped.isascii() and stripped.isdigit() and len(stripped) > 2:
        return int(stripped)
    try:
        if ":" in stripped and "-" in stripped:
            return int(datetime.fromisoformat(stripped.upper()).timestamp())
        found = _WORDS.fullmatch(stripped)
        if found is not None and stripped:
            return _of_words(found, datetime.fromtimestamp(now))
    except (ValueError, OverflowError, OSError):
        pass
    raise ParameterError(name, text, f"a moment {_ALLOWED}")


def _of_words(found: re.Match[str], today: datetime) -> int:
    """Return the moment that a day and a time of day say. Raises ValueError."""
    day, hour = found["day"], found["hour"]
    if day is None and hour is not None and found["minute"] is None and found["half"] is None:
        raise ValueError("a bare number is not a time")
    clock = (24, 0) if hour is None else _clock(found)
    begin = today.replace(hour=0, minute=0, second=0, microsecond=0)
    if day is None:
        at = _on(begin, clock)
        return at if at > today.timestamp() else _on(begin + timedelta(days=1), clock)
    if day in {"today", "tonight"}:
        return _on(begin, clock)
    if day == "tomorrow":
        return _on(begin + timedelta(days=1), clock)
    if day[0].isdigit():
        return _on(datetime.fromisoformat(day), clock)
    [named] = [k for k, one in enumerate(DAYS) if len(day) > 2 and one.startswith(day)]
    ahead = (named - begin.weekday()) % 7
    at = _on(begin + timedelta(days=ahead), clock)
    return at if at > today.timestamp() else _on(begin + timedelta(days=ahead + 7), clock)


def _clock(found: re.Match[str]) -> tuple[int, int]:
    """Return hour and minute of a time of day. Raises ValueError."""
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), found["half"]
    if half is not None:
        if not 1 <= hour <= 12:
            raise ValueError("not an hour from 1 to 12")
        hour = hour % 12 + (12 if half == "pm" else 0)
    if minute > 59 or hour * 60 + minute > 24 * 60:
        raise ValueError("not a time of day")
    return hour, minute


def _on(day: datetime, clock: tuple[int, int]) -> int:
    """Return the moment of a clock time on a day; 24:00 is the next day's begin."""
    if clock[0] == 24:
        return int((day + timedelta(days=1)).timestamp())
    return int(day.replace(hour=clock[0], minute=clock[1]).timestamp())


def told_when(moment: int | None, now: int) -> str:
    """Return a moment as this machine's clock shows it, "-" for None: ``Tue 24 Nov 08:00``; one
    that is far off with its year.

    >>> told_when(None, 0)
    '-'
    """
    if moment is None:
        return "-"
    far = abs(moment - now) >= _FAR
    return time.strftime("%a %d %b %Y %H:%M" if far else "%a %d %b %H:%M", time.localtime(moment))
