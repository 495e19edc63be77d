"""From when to when: what records cover, what was asked for, and how times are written."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import numpy as np

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import SECONDS, parse_duration, parse_time
from forestall.core.show.quantities import brief

if TYPE_CHECKING:
    from forestall.core.model.failures import Failures
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.given import GivenRecords

LIVE_DAYS: Final = 90
"""A live Slurm is asked for so many days where nothing else was said."""
ALL: Final = "all"
SLACK: Final = 60
"""Records that begin so many seconds late are not called younger than what was asked for."""
LEAST_DATE: Final = 100_000_000
"""Of dated records, a number below this (in 1973) is no time but something else."""


def window(
    site: SiteRecords, since: str | None = None, until: str | None = None, zone: str | None = None
) -> tuple[int, int]:
    """Return the window [begin, until): all that the records cover, as far as it is asked for.

    `since` is a date such as ``2024-01-01``, a duration before the end such as ``30d``, or
    ``all``; `until` a date. Dates are in `zone`. Raises ParameterError where the window would be
    empty, and for a date where the records have none; TraceError where they cover no time.
    """
    first, last = span(site)
    dated = is_dated(site)
    end = last if until is None else moment(until, "until", zone, dated)
    if since is None or since == ALL:
        begin = first
    elif is_duration(since):
        begin = max(first, end - parse_duration(since, "since"))
    else:
        begin = moment(since, "since", zone, dated)
    if max(begin, first) < min(end, last):
        return max(begin, first), min(end, last)
    within = f"within the records, {_exact(first, dated)} to {_exact(last, dated)}"
    if until is not None and end <= first:
        raise ParameterError("until", until, f"a time {within}")
    if since is None or since == ALL:
        if until is None:
            said = f"is empty: it begins and ends at {_exact(first, dated)}"
            raise TraceError("; ".join(site.sources) or "records", said)
        raise ParameterError("until", until, f"a time {within}")
    before = f", before {{until}} {until}" if until is not None and begin < last else ""
    raise ParameterError("since", since, f"a time {within}{before}")


def _exact(time: int, dated: bool) -> str:
    """Return a time as an option takes it."""
    return spoken(time, True) if dated else f"{time:,} s"


def younger(site: SiteRecords, given: GivenRecords) -> str:
    """Return a sentence that the records, and so the window, begin later than was asked for, ""
    where they do not."""
    since = (f"{LIVE_DAYS}d" if given.slurm else ALL) if given.since is None else given.since
    if since == ALL or not is_dated(site):
        return ""
    first, last = span(site)
    until = int(time.time()) if given.slurm else last
    if given.until is not None:
        until = min(until, moment(given.until, "until", given.zone, True))
    if is_duration(since):
        wanted = until - parse_duration(since, "since")
    else:
        wanted = moment(since, "since", given.zone, True)
    if first <= wanted + SLACK:
        return ""
    return (
        f"Asked for the time since {spoken(wanted, True)}; the records, and so the window, "
        f"begin {spoken(first, True)} (UTC)."
    )


def span(site: SiteRecords) -> tuple[int, int]:
    """Return the time [begin, until) that the records cover: that of the jobs where there are
    any, else that of outages or failures. Raises ParameterError where there are neither."""
    if site.accounting is not None:
        return site.accounting.begin, max(site.accounting.until, site.accounting.begin + 1)
    if site.events is not None:
        return site.events.span
    if site.failures is not None:
        return failure_span(site.failures)
    allowed = (
        "records of jobs (sacct), outages (sacctmgr show event) or failures, besides node "
        "descriptions or start estimates"
    )
    raise ParameterError("FILES", "; ".join(site.sources), allowed)


def failure_span(failures: Failures) -> tuple[int, int]:
    """Return the time that a failure log covers, on its own clock."""
    if failures.service_start is not None and failures.service_end is not None:
        there = failures.service_end > failures.service_start
        if bool(there.any()):
            return (
                int(failures.service_start[there].min()),
                int(failures.service_end[there].max()),
            )
    if not len(failures):
        return 0, max(failures.span, 1)
    first = min(0, int(failures.time[0]))
    return first, max(first + failures.span, int(failures.time[-1]) + 1)


def is_dated(site: SiteRecords) -> bool:
    """Return whether times are Unix seconds."""
    for part in (site.accounting, site.events):
        if part is not None:
            return part.dated
    return site.failures is not None and site.failures.origin is not None


def moment(text: str, name: str, zone: str | None, dated: bool) -> int:
    """Return a date as Unix seconds; of undated records a number of seconds."""
    more = ", a duration such as 30d, or all" if name == "since" else ""
    if not dated:
        try:
            return int(text)
        except ValueError:
            allowed = f"seconds{more}: these records have no dates"
            raise ParameterError(name, text, allowed) from None
    if text.strip().isdecimal() and int(text) < LEAST_DATE:
        raise ParameterError(name, text, f"a date such as 2024-01-31{more}")
    if zone is None:
        return parse_time(text, name)
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return parse_time(text, name)
    if when.tzinfo is None:
        when = when.replace(tzinfo=ZoneInfo(zone))
    return int(when.timestamp())


def spoken(time: int, dated: bool) -> str:
    """Return a time as a reader takes it: a date, or days where there are no dates.

    >>> spoken(1_700_000_000, True), spoken(0, False), spoken(1_221_811, False)
    ('2023-11-14 22:13', 'day 0', 'day 14.1')
    """
    if dated:
        try:
            return str(np.datetime64(time, "s")).replace("T", " ")[:16]
        except (OverflowError, ValueError):
            pass
    return f"day {brief(round(time / 86_400, 1))}"


def check_zone(zone: str | None) -> None:
    """Raise ParameterError for a time zone that is not known."""
    if zone is None:
        return

    try:
        ZoneInfo(zone)
    except (OSError, ValueError):  # the error for unknown keys is a KeyError of its own
        raise ParameterError("zone", zone, "a time zone such as Europe/Berlin") from None
    except KeyError:
        raise ParameterError("zone", zone, "a time zone such as Europe/Berlin") from None


def is_duration(text: str) -> bool:
    """Return whether a text is a length of time such as 30d."""
    stripped = text.strip().lower()
    return bool(stripped) and stripped[-1] in SECONDS and stripped[0].isdigit()
