"""What a queue's futures are asked: each setting declared once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import parse_duration
from forestall.scheduling.futures.snapshot import Drain
from forestall.slurm.sources.windows import moment

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
        Setting("Time at which the queue is taken (default: the end of the records)", shown="TIME"),
    ] = None
    drain: Annotated[
        str | None,
        Setting(
            "Show which jobs a drain would affect: nodes, start (TIME or HH:MM) and duration",
            shown="NODES@FROM+DURATION",
        ),
    ] = None
    rule: Annotated[
        Literal["easy", "conservative", "priority"],
        Setting("Backfill rule: EASY, conservative, or limited to {depth} as in Slurm"),
    ] = "easy"
    depth: Annotated[
        Annotated[int, Field(ge=1)],
        Setting("Waiting jobs tested, with {rule} priority (Slurm: bf_max_job_test)"),
    ] = 100
    order: Annotated[
        Literal["auto", "submitted", "priority", "learned"],
        Setting(
            "Order of the queue: by submission, by Slurm's priorities, or learned from past starts"
        ),
    ] = "auto"
    holds: Annotated[
        Literal["none", "recorded"],
        Setting(
            "Hold jobs whose nodes are free as long as similar jobs were held, or start them "
            "at once"
        ),
    ] = "recorded"
    arrivals: Annotated[
        Literal["none", "recent"],
        Setting("Future arrivals: none, or jobs as in the same hours of recent weeks"),
    ] = "recent"
    node_failures: Annotated[
        Literal["none", "recorded"],
        Setting("Let nodes fail at the recorded rate; their jobs start over"),
    ] = "recorded"
    futures: Annotated[
        Annotated[int, Field(ge=10, le=MOST)], Setting("Number of futures to simulate")
    ] = 256
    seed: Annotated[Annotated[int, Field(ge=0)], Setting("Seed for the run times drawn")] = 1


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
