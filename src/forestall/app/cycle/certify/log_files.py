"""`events.csv`, `decisions.csv` and `candidates.csv` as the certifier reads them, where they are
there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Self

import numpy as np

from forestall.app.cycle.certify.files import MAX_WORK, STATES, CycleRun
from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.sheet import NONE, Bool, Int, Rows, Sheet
from forestall.model.cycle import GuestDecisionKind, GuestEventKind, GuestReason

FILES = ("events.csv", "decisions.csv", "candidates.csv")
NEVER = 2**61
"""Stands for a time that never comes."""
LOOKED_AT: Final = {
    "falcon": ("jct", "mttf", "etl", "jctf", "chance"),
    "falcon-slides": ("jct", "mttf", "etl", "jctf", "chance"),
    "condor": ("rank",),
    "omniscient": ("etl", "jctf"),
    "own": ("jct", "mttf", "etl", "jctf", "rank", "chance"),
}


def _figure(sheet: Sheet, name: str) -> Int:
    """Return a figure of a host, NEVER where a field is empty; those that the scheduler does not
    look at have to be."""
    empty = sheet.empty(name)
    if name not in LOOKED_AT[sheet.given["scheduler"]]:
        sheet.refuse(~empty, name, f"empty, although {sheet.given['scheduler']} does not use it")
        return np.full(len(sheet), NEVER)
    if name in ("rank", "chance"):
        return sheet.parts(name, 6, MAX_WORK, empty=NEVER)
    values = sheet.whole(name, 0, NEVER, empty=True)
    return np.where(values == NONE, NEVER, values)


@dataclass(frozen=True)
class FigureRows(Rows):
    """Figures of hosts."""

    jct: Int = read.column(_figure)
    mttf: Int = read.column(_figure)
    etl: Int = read.column(_figure)
    jctf: Int = read.column(_figure)
    rank: Int = read.column(_figure)
    chance: Int = read.column(_figure)

    def figure(self, name: str) -> Int:
        """Return the figures of this name."""
        values: Int = getattr(self, name)
        return values

    def refuse_figures(self, sheet: Sheet, wanted: Bool) -> None:
        """Raise TraceError where figures are there without a host, or the other way round."""
        for name in LOOKED_AT[sheet.given["scheduler"]]:
            empty = sheet.empty(name)
            if name in ("rank", "chance"):
                sheet.refuse(
                    empty != ~wanted,
                    name,
                    "consistent with the decision (set if a host is chosen, empty otherwise)",
                )
            else:
                sheet.refuse(~empty & ~wanted, name, "empty, although no host is chosen")


@dataclass(frozen=True)
class EventRows(Rows):
    """`events.csv`; `job` is the position of the job, `job`, `host` and `state` NONE where
    empty."""

    FILE: ClassVar = "events.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(GuestEventKind), "event")
    job: Int = read.job(empty=True)
    host: Int = read.whole(0, "hosts", empty=True)
    state: Int = read.words(STATES, empty=True)
    decisions: Int = read.whole(0, 2)
    candidates: Int = read.whole(0, "all")
    given: Bool = read.column(
        lambda sheet, _: np.arange(len(sheet)) < sheet.given["hosts"], there=False
    )
    line: Int = read.line()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`; `given` marks the hosts' states when the first job comes."""
        about = self.kind == GuestEventKind.HOST_STATE
        text = "the state of a host when the first job comes"
        sheet.refuse(self.given & ~about, "event", text)
        for name in ("job", "host", "state"):
            odd = sheet.empty(name) != (about == (name == "job"))
            sheet.refuse(odd, name, "allowed in such an event")


@dataclass(frozen=True)
class DecisionRows(FigureRows):
    """`decisions.csv`; `host` and `at` are NONE where empty."""

    FILE: ClassVar = "decisions.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(GuestDecisionKind), "decision")
    job: Int = read.job()
    host: Int = read.whole(0, "hosts", empty=True)
    at: Int = read.seconds(empty=True)
    tries: Int = read.whole()
    candidates: Int = read.whole()
    reason: Int = read.words(read.spelled(GuestReason))
    line: Int = read.line()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        placed = (GuestDecisionKind.START, GuestDecisionKind.MOVE)
        self.refuse_figures(sheet, np.isin(self.kind, placed))


@dataclass(frozen=True)
class CandidateRows(FigureRows):
    """`candidates.csv`."""

    FILE: ClassVar = "candidates.csv"
    time: Int = read.seconds()
    job: Int = read.job()
    host: Int = read.whole(0, "hosts")
    line: Int = read.line()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        self.refuse_figures(sheet, np.ones(len(sheet), dtype=np.bool_))


@dataclass(frozen=True)
class LogFiles:
    """The three files, in their order."""

    events: EventRows
    decisions: DecisionRows
    candidates: CandidateRows

    @classmethod
    def read(cls, folder: Path, run: CycleRun) -> Self:
        """Return what the log's files say."""
        hosts = len(run.hosts)
        known = {"ids": run.jobs.name, "hosts": hosts, "scheduler": run.given.rule}
        return cls(
            EventRows.read(folder, all=hosts + 1, **known),
            DecisionRows.read(folder, **known),
            CandidateRows.read(folder, **known),
        )
