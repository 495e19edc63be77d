"""Times and durations as people and Slurm write them, in whole seconds.

Durations: ``36h``, ``15m``, ``90s``, ``4d``, ``2w``, sums such as ``1d12h``, Slurm's
``D-HH:MM:SS``,
``D-HH:MM``, ``D-HH``, ``HH:MM:SS``, ``MM:SS``. A bare number as text is refused, since it is
minutes to Slurm and hours to a table of failures; in logs and parameters of runs it is seconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from forestall.core.model.errors import ParameterError

SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
MAX_SECONDS: Final = 2**36
"""No time or duration may reach this (2,177 years): event keys pack a time into 36 bits."""
EARLIEST, LATEST = -2_208_988_800, 7_258_118_400
"""Dates of records lie from 1900 on, before 2200 (Unix seconds): others are mistakes, and a span
of millennia would be cut into more hours than memory holds."""
MOST_PROCESSORS: Final = 2**16
"""A node's processors, at most: work and what is compared with it stay within 64 bits."""
MOST_NODES: Final = 2**20
"""A machine's nodes, at most: keys of events have room for no more. Node numbers of logs from here
on are taken for mistakes: tables by node would be long, and nearly empty."""
MOST_DRAWS: Final = 1_000_000
"""Of samples, permutations or weeks: more tell nothing more, and would take for ever."""
MOST_ROUNDED: Final = 1e-3
"""Share of a duration that may go as it becomes whole seconds, as that of ``1.3333h`` does."""

MOST_BYTES: Final = 2**63 - 1
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgtp]?)(b|ib|)")
_NUMBER = re.compile(r"\d+(\.\d*)?(e\d+)?")
_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_SLURM = re.compile(r"(?:(\d{1,18})-)?(\d{1,18})(?::(\d{1,18}))?(?::(\d{1,18}))?")
_ALLOWED = "a duration such as 90s, 15m, 36h, 4d or 1-12:00:00"
_BOUNDS = f"{_ALLOWED}, at least 0 and below 2,177 years"


def parse_duration(
    text: str | float, name: str = "duration", *, exact: bool = False, plain: bool = False
) -> int:
    """Return the whole seconds that `text` says; with `plain` a bare number as text is seconds, as
    a number is.

    Raises ParameterError naming `name` where it cannot be read, has no unit, is negative or is not
    finite; with `exact` also where it has a part of a second that counts, which else is rounded.

    >>> [parse_duration(text) for text in ("36h", "1-12:00:00", "15m", 90)]
    [129600, 129600, 900, 90]
    """
    seconds = text if isinstance(text, int | float) else _seconds(text, name)
    if isinstance(text, str) and seconds and not plain and _NUMBER.fullmatch(text.strip().lower()):
        raise ParameterError(name, text, _with_units(text.strip()))
    if not 0 <= seconds < MAX_SECONDS:  # also refuses nan
        raise ParameterError(name, text, _BOUNDS)
    whole = round(seconds)
    if exact and abs(seconds - whole) > MOST_ROUNDED * seconds:
        raise ParameterError(name, text, f"{_ALLOWED}, in whole seconds")
    return whole


def _with_units(number: str) -> str:
    *others, last = (f"{number}{unit}" for unit in "smhd")
    return f"a duration with its unit: {', '.join(others)} or {last}"


def _seconds(text: str, name: str) -> float:
    stripped = text.strip().lower()
    try:
        return float(stripped)
    except ValueError:
        pass
    parts = _UNIT.findall(stripped)
    if parts and "".join(_UNIT.sub("", stripped).split()) == "":
        return sum(float(number) * SECONDS[unit] for number, unit in parts)
    return _slurm_seconds(stripped, text, name)


def _slurm_seconds(stripped: str, text: str, name: str) -> float:
    match = _SLURM.fullmatch(stripped)
    if match is None:
        raise ParameterError(name, text, _BOUNDS if stripped.startswith("-") else _ALLOWED)
    days, first, second, third = match.groups()
    if days is not None:  # D-HH[:MM[:SS]]
        hours, minutes, seconds = int(first), int(second or 0), int(third or 0)
    elif third is not None:  # HH:MM:SS
        hours, minutes, seconds = int(first), int(second), int(third)
    else:  # MM:SS
        hours, minutes, seconds = 0, int(first), int(second or 0)
    return int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + seconds


def parse_time(text: str, name: str = "time") -> int:
    """Return seconds since 1970-01-01 00:00 for ``2003-07-18T16:00`` or a bare number of seconds.

    A time without a zone is taken as it stands (as UTC): logs of one machine share one clock.
    """
    stripped = text.strip()
    try:
        return int(stripped)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(stripped)
    except ValueError:
        raise ParameterError(
            name, text, "a time such as 2003-07-18T16:00, or seconds since the log's epoch"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp())


def told_moment(moment: float) -> str:
    """Return a moment, s since 1970, as people read it.

    >>> told_moment(1_800_000_000)
    '2027-01-15 08:00 UTC'
    """
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")


def format_duration(seconds: float) -> str:
    """Return a short reading of a duration: ``45 s``, ``12 min``, ``3.4 h``, ``12.1 d``."""
    magnitude = abs(seconds)
    if magnitude < 120:
        return f"{seconds:.0f} s"
    if magnitude < 7200:
        return f"{seconds / 60:.0f} min"
    if magnitude < 172_800:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.1f} d"


def exact_duration(seconds: int) -> str:
    """Return a whole number of seconds in the greatest unit that divides it: nothing is rounded.

    >>> [exact_duration(seconds) for seconds in (0, 45, 5400, 18_000, 86_400)]
    ['0 s', '45 s', '90 min', '5 h', '1 d']
    """
    for name, unit in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds and seconds % unit == 0:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def typed_duration(seconds: int) -> str:
    """Return whole seconds as one types them: the text that `parse_duration` reads them from.

    >>> [typed_duration(seconds) for seconds in (0, 45, 5400, 18_000, 86_400)]
    ['0s', '45s', '90m', '5h', '1d']
    """
    return exact_duration(seconds).replace(" min", "m").replace(" ", "")


def parse_size(text: str, name: str = "size") -> int:
    """Return the bytes that ``900``, ``50GiB``, ``50G`` (binary) or ``50GB`` (decimal) is.

    Raises ParameterError naming `name`.

    >>> [parse_size(text) for text in ("900", "1K", "2KiB", "2kB")]
    [900, 1024, 2048, 2000]
    """
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        raise ParameterError(name, text, "a size such as 50GiB or 500MB")
    number, unit, ending = found.groups()
    base = 1000 if unit and ending == "b" else 1024
    factor: int = base ** (" kmgtp".index(unit) if unit else 0)
    size = round(float(number) * factor)
    if size > MOST_BYTES:
        raise ParameterError(name, text, "a size below 8 EiB")
    return size


def told_bytes(count: int) -> str:
    """Return a number of bytes.

    >>> told_bytes(900), told_bytes(1_500_000)
    ('900 B', '1.50 MB')
    """
    size, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{count} B" if unit == "B" else f"{size:.{max(0, 2 - len(f'{size:.0f}') + 1)}f} {unit}"
