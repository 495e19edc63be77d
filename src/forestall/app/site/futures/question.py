"""What a queue's futures are asked: each setting declared once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from forestall.app.site.windows import moment
from forestall.engine.futures.snapshot import Drain
from forestall.model.errors import ParameterError
from forestall.model.settings import Declared, Setting
from forestall.model.units import parse_duration

MOST: Final = 4096
"""Futures."""
_DRAIN: Final = re.compile(r"\s*(\d{1,9})\s*@\s*(.+?)\s*\+\s*([^+]+?)\s*")
_CLOCK: Final = re.compile(r"(\d\d?):(\d\d)")
_ALLOWED: Final = "NODES@FROM+DURATION such as 32@12:00+4h"


@dataclass(frozen=True)
class FuturesQuestion(Declared, group="Futures"):
    """Of when, how the scheduler plans, and what a drain would do."""

    at: Annotated[
        str | None,
        Setting("Of when the queue is taken (default: the end of the records)", shown="TIME"),
    ] = None
    drain: Annotated[
        str | None,
        Setting(
            "Say what a drain would do to whom: nodes, when it begins (TIME or HH:MM), how long",
            shown="NODES@FROM+DURATION",
        ),
    ] = None
    rule: Annotated[
        Literal["easy", "conservative", "priority"],
        Setting("How the scheduler fills in jobs: EASY, conservative, or to a {depth} as Slurm"),
    ] = "easy"
    depth: Annotated[
        Annotated[int, Field(ge=1)],
        Setting("Of {rule} priority: waiting jobs looked at (Slurm: bf_max_job_test)"),
    ] = 100
    order: Annotated[
        Literal["auto", "submitted", "priority", "learned"],
        Setting("Who is first: by submission, Slurm's priorities, learned from past starts"),
    ] = "auto"
    holds: Annotated[
        Literal["none", "recorded"],
        Setting("Let jobs whose nodes are free wait as long as such jobs did, or start at once"),
    ] = "recorded"
    arrivals: Annotated[
        Literal["none", "recent"],
        Setting("Who comes next: nobody, or jobs as of the same hours of recent weeks"),
    ] = "recent"
    node_failures: Annotated[
        Literal["none", "recorded"],
        Setting("Let nodes fail as often as the records tell, jobs on them start over"),
    ] = "recorded"
    futures: Annotated[Annotated[int, Field(ge=10, le=MOST)], Setting("How many to play")] = 256
    seed: Annotated[Annotated[int, Field(ge=0)], Setting("Of the run times that are drawn")] = 1


def drain_of(text: str, now: int, zone: str | None, *, dated: bool) -> Drain:
    """Return a drain as it was typed; a time of day is the next one. Raises ParameterError."""
    match = _DRAIN.fullmatch(text)
    if match is None:
        raise ParameterError("drain", text, _ALLOWED)
    nodes, when, length = int(match[1]), match[2], parse_duration(match[3], "drain")
    clock = _CLOCK.fullmatch(when)
    if clock is not None and dated:
        start = next_clock(int(clock[1]), int(clock[2]), now, zone, text)
    else:
        start = moment(when, "drain", zone, dated)
    if nodes < 1 or length < 1 or start + length <= now:
        raise ParameterError("drain", text, f"{_ALLOWED}, with an end after the queue's time")
    return Drain(start, start + length, nodes)


def next_clock(hour: int, minute: int, now: int, zone: str | None, text: str) -> int:
    """Return the next time of day from `now` on, Unix seconds."""
    if hour > 23 or minute > 59:
        raise ParameterError("drain", text, f"{_ALLOWED}, from 00:00 to 23:59")
    here = datetime.fromtimestamp(now, ZoneInfo(zone or "UTC"))
    then = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if then < here:
        then += timedelta(days=1)
    return int(then.timestamp())
