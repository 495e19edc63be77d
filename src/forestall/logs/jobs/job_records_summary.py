"""What is in accounting records of jobs. Data only; printing is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.job_records import NEVER, JobRecords
from forestall.core.model.units import format_duration


@dataclass(frozen=True)
class RecordInfo:
    """What is in accounting records. Times in seconds.

    Attributes
    ----------
    jobs : records; `ran` of them have a start, an end and nodes
    states : (first word of the state, jobs), the most frequent first
    good, bad : jobs that ended well, and badly; the others are in neither
    nodes : of the machine, as far as the records tell; `used` ran a job
    span : from the first start to the last end; origin : Unix seconds of time 0, None without dates
    node_seconds : of the jobs that ran
    """

    source: str
    jobs: int
    ran: int
    states: tuple[tuple[str, int], ...]
    good: int
    bad: int
    nodes: int
    used: int
    begin: int
    span: int
    node_seconds: int
    origin: int | None
    oddities: Cleaning

    def rows(self) -> list[tuple[str, str]]:
        """Return (label, value with its unit) pairs for printing."""
        first = "not told"
        if self.origin is not None and self.ran:
            first = str(np.datetime64(self.origin + self.begin, "s")).replace("T", " ")
        found = [(str(r.action), r.counted) for r in self.oddities.remarks]
        return [
            ("job records", self.source or "in memory"),
            ("jobs", f"{self.jobs:,} ({self.ran:,} with start, end and nodes)"),
            ("states", ", ".join(f"{state or 'none'} {count:,}" for state, count in self.states)),
            ("ended", f"{self.good:,} well, {self.bad:,} badly"),
            ("nodes", f"{self.nodes:,} ({self.used:,} with jobs)"),
            ("first start", first),
            ("span", format_duration(self.span)),
            ("work", f"{self.node_seconds / 3600:,.0f} node-hours"),
            *(found or [("oddities", "none")]),
        ]


def describe_records(records: JobRecords) -> RecordInfo:
    """Return what is in accounting records."""
    there = np.flatnonzero(records.ran)
    start, end = records.start[there], records.end[there]
    begin = int(start.min()) if len(there) else 0
    known = records.end[records.end != NEVER]
    last = int(max(end.max(initial=begin), known.max(initial=begin)))
    work = int(np.dot((end - start).astype(object), records.size[there])) if len(there) else 0
    states = sorted(records.counts().items(), key=lambda item: (-item[1], item[0]))
    return RecordInfo(
        source=records.source,
        jobs=len(records),
        ran=len(there),
        states=tuple(states),
        good=int(np.count_nonzero(records.completed())),
        bad=int(np.count_nonzero(records.failed())),
        nodes=records.nodes,
        used=len(np.unique(records.node)),
        begin=begin,
        span=last - begin,
        node_seconds=work,
        origin=records.origin,
        oddities=records.cleaning,
    )
