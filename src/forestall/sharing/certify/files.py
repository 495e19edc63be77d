"""The files of a run of cycle sharing as the certifier reads them, sharing nothing with what wrote
them. Work is read as whole millionths of a second of a host of speed 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from forestall.core.certify import sheet as read
from forestall.core.certify.folder import RunFolder, Summary, table
from forestall.core.certify.intervals import firsts, lasts
from forestall.core.certify.sheet import NONE, Bool, Int, Reals, Rows, Sheet
from forestall.core.files.findings import shown
from forestall.core.model.cycle import Fate, GuestDecisionKind, GuestEventKind, GuestReason, StayEnd
from forestall.core.model.errors import TraceError
from forestall.core.model.stores import Stores
from forestall.core.model.units import MAX_SECONDS
from forestall.sharing.rules.entries import SCHEDULERS, Scheduler

PARTS = 1_000_000
"""Work is held as whole millionths of a second of a host of speed 1."""
MAX_WORK = 2**53
"""Millionths stay below this: as numbers of at most six decimals they are exact."""
STATES = ("S1", "S2", "S3", "S4", "S5")
SHARES = tuple(f"share_{state.lower()}" for state in STATES)
MAX_HOSTS = 2**26


def in_units(value: int, _: Any) -> float:
    """Return millionths as what they are parts of."""
    return value / PARTS


@dataclass(frozen=True)
class JobRows(Rows):
    """`jobs.csv`; `start`, `finish` and `makespan` are NONE where empty."""

    FILE: ClassVar = "jobs.csv"
    name: Int = read.number_of_job()
    submit: Int = read.seconds()
    runtime: Int = read.whole(1, MAX_SECONDS)
    start: Int = read.seconds(empty=True)
    finish: Int = read.seconds(empty=True)
    makespan: Int = read.seconds(empty=True)
    fate: Int = read.words(read.spelled(Fate), "outcome")
    tries: Int = read.whole()
    failures: Int = read.whole()
    lost: Int = read.parts(6, MAX_WORK)
    checkpoints: Int = read.whole()


@dataclass(frozen=True)
class StayRows(Rows):
    """`stays.csv` in order of (job, start), with the position of each row's job; `chance` and
    `promise` in millionths, NONE where empty."""

    FILE: ClassVar = "stays.csv"
    job: Int = read.job()
    host: Int = read.whole(0, "hosts")
    start: Int = read.seconds()
    end: Int = read.seconds()
    ended: Int = read.words(read.spelled(StayEnd))
    work: Int = read.parts(6, MAX_WORK)
    saved: Int = read.parts(6, MAX_WORK)
    lost: Int = read.parts(6, MAX_WORK)
    checkpoints: Int = read.whole()
    chance: Int = read.parts(6, MAX_WORK, empty=NONE)
    promise: Int = read.parts(6, MAX_WORK, empty=NONE)
    resumed: Int = read.column(
        lambda sheet, name: (
            sheet.parts(name, 6, MAX_WORK)
            if sheet.given["stored"]
            else np.zeros(len(sheet), dtype=np.int64)
        ),
        there="stored",
        show=in_units,
    )
    asked: Int = read.column(
        lambda sheet, name: (
            sheet.whole(name, 1 - MAX_SECONDS, MAX_SECONDS, empty=True) if sheet.given["moves"]
            else np.full(len(sheet), NONE)
        ),
        there="moves",
    )  # fmt: skip

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        moved = (self.ended == StayEnd.MOVED) & (self.asked == NONE)
        sheet.refuse(moved, "ended", "consistent with the decisions (no move was decided)")
        for name, values in (("chance", self.chance), ("promise", self.promise)):
            odd = (values == NONE) == sheet.given["foretells"]
            why = "consistent with the scheduler (set if it states chances, empty otherwise)"
            sheet.refuse(odd, name, why)
            sheet.refuse(values > PARTS, name, "a probability")

    @cached_property
    def first(self) -> Bool:
        """Whether it is the first of its job."""
        return firsts(self.job)

    @cached_property
    def last(self) -> Bool:
        """Whether it is the last of its job."""
        return lasts(self.first)

    @cached_property
    def before(self) -> Int:
        """What was saved of its job when it began."""
        saved = np.concatenate(([0], self.saved[:-1]))[: len(self)]
        return np.where(self.first, 0, saved)

    @property
    def left(self) -> Bool:
        """Whether the host left its guest."""
        return (self.ended >= StayEnd.CONTENTION) & (self.ended <= StayEnd.AWAY)

    @property
    def again(self) -> Bool:
        """Whether its job is placed anew: its host left, or it moved."""
        again: Bool = self.left | (self.ended == StayEnd.MOVED)
        return again

    @property
    def working(self) -> Int:
        """Until when the guest worked, but for checkpoints: one that moves is saved last."""
        return np.where(self.asked == NONE, self.end, self.asked)


@dataclass(frozen=True)
class HostRows(Rows):
    """`hosts.csv`; `share` is float64[hosts, 5]."""

    FILE: ClassVar = "hosts.csv"
    BESIDES: ClassVar = ("name", *SHARES)
    number: Int = read.whole(0, MAX_HOSTS, "host")
    speed: Reals = read.column(Sheet.real)
    samples: Int = read.whole()
    share: Reals = read.column(
        lambda sheet, _: np.stack([sheet.real(name) for name in SHARES], axis=1), there=False
    )
    unavailable: Int = read.whole()
    s3: Int = read.whole()
    s4: Int = read.whole()
    s5: Int = read.whole()
    guests: Int = read.whole()
    guest_seconds: Int = read.whole()
    useful: Int = read.parts(6, MAX_WORK)
    lost: Int = read.parts(6, MAX_WORK)

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        if not len(self):
            raise TraceError(sheet.path, "holds no hosts")
        sheet.refuse(self.number != np.arange(len(self)), "host", "the next number, from 0 on")
        sheet.refuse(self.speed > 1e6, "speed", "a speed of at most a million")


@dataclass(frozen=True)
class Spans(Rows):
    """`availability.csv` in order of (host, start)."""

    FILE: ClassVar = "availability.csv"
    host: Int = read.whole(0, "hosts")
    start: Int = read.seconds()
    end: Int = read.seconds()
    state: Int = read.words(STATES)
    work: Int = read.parts(6, MAX_WORK)

    @property
    def available(self) -> Bool:
        """Whether a guest can run."""
        return self.state <= 1

    @property
    def leaves(self) -> Bool:
        """Whether the host leaves S1 or S2 for another state."""
        new, here = ~firsts(self.host), self.available
        new[1:] &= ~here[1:] & here[:-1]
        return new


@dataclass(frozen=True)
class Given:
    """What the certifier takes from `summary.json`: parameters, and where the host traces begin and
    end on the jobs' clock, s; `interval` is 0 where there are no checkpoints on the way; guests
    move where the chance of their hosts to stay for `ahead` s is less than `limit`, millionths, and
    are looked at every `every` s (0: never)."""

    scheduler: str
    rank: str
    resumes: bool
    interval: int
    overhead: int
    at_end: bool
    restart: int
    retry: int
    retries: int
    length: int
    th1: float
    warm_up: int
    seed: int
    begin: int
    end: int
    period: int
    stores: Stores | None = None
    limit: int = 0
    ahead: int = 0
    every: int = 0

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Return what the summary says."""
        p, t = "parameters.", "host_traces."
        resumes = summary.word(p + "restart", ("scratch", "checkpoint")) == "checkpoint"
        limit, ahead, every = _moving(summary, resumes)

        def seconds(name: str, least: int = 0, none: int | None = None) -> int:
            return summary.whole(p + name, least, MAX_SECONDS, none=none)

        at_end, interval = (
            summary.flag(p + "checkpoint_at_end"),
            seconds("checkpoint_interval", 1, 0),
        )
        begin, end = (
            summary.whole(t + name, 1 - MAX_SECONDS, MAX_SECONDS) for name in ("begin", "end")
        )
        return cls(
            scheduler=summary.word(p + "scheduler", tuple(SCHEDULERS), own=True),
            rank=summary.word(p + "rank", ("idle", "speed")),
            resumes=resumes,
            interval=interval if resumes else 0,
            overhead=seconds("checkpoint_overhead") if resumes else 0,
            at_end=at_end and resumes,
            restart=seconds("restart_overhead") if resumes else 0,
            retry=seconds("retry", 1),
            retries=summary.whole(p + "retries", 0, 2**31),
            length=seconds("job_length", 1, none=0),
            th1=summary.number(p + "th1", 0, 1.0 + 1e-12),
            warm_up=seconds("warm_up"),
            seed=summary.whole(p + "seed", 0, 2**63),
            begin=begin,
            end=end,
            period=summary.whole(t + "period", 1, MAX_SECONDS),
            stores=summary.stores() if resumes else None,
            limit=limit,
            ahead=ahead,
            every=every,
        )

    @property
    def entry(self) -> Scheduler:
        """What is known of the scheduler: its name is `own` where it is the user's own class."""
        return SCHEDULERS.chosen(self.scheduler)

    @property
    def may_doom(self) -> bool:
        """Whether a job may wait although hosts are free."""
        return self.scheduler == "omniscient" and not self.resumes


def _moving(summary: Summary, resumes: bool) -> tuple[int, int, int]:
    """Return when guests move, see `Given`; 0 in all where they do not."""
    p, parameters = "parameters.", summary.value("parameters", (dict,), "parameters")
    known = SCHEDULERS.get(parameters.get("scheduler"))
    if "move_below" not in parameters or not resumes or known is None or not known.foretells:
        return 0, 0, 0
    limit = round(PARTS * summary.number(p + "move_below", 0, 1.0 + 1e-12))
    ahead, every = (summary.whole(p + n, 1, MAX_SECONDS) for n in ("look_ahead", "look_every"))
    return limit, ahead, every


# ---------------------------------------------------------------------------------------- the log

NEVER = 2**61
"""Stands for a time that never comes."""


def _figure(sheet: Sheet, name: str) -> Int:
    """Return a figure of a host, NEVER where a field is empty; those that the scheduler does not
    look at have to be."""
    empty = sheet.empty(name)
    scheduler: Scheduler = sheet.given["scheduler"]
    if name not in scheduler.looks_at:
        sheet.refuse(~empty, name, f"empty, although {scheduler.name} does not use it")
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
    rank: Int = read.column(_figure, show=in_units)
    chance: Int = read.column(_figure, show=in_units)

    def figure(self, name: str) -> Int:
        """Return the figures of this name."""
        values: Int = getattr(self, name)
        return values

    def refuse_figures(self, sheet: Sheet, wanted: Bool) -> None:
        """Raise TraceError where figures are there without a host, or the other way round."""
        for name in sheet.given["scheduler"].looks_at:
            empty = sheet.empty(name)
            sheet.refuse(~empty & ~wanted, name, "empty, although no host is chosen")
            if name in ("rank", "chance"):
                sheet.refuse(empty & wanted, name, "a figure of the host that is chosen")


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

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`; `given` marks the hosts' states when the first job comes."""
        about = self.kind == GuestEventKind.HOST_STATE
        text = "the state of a host when the first job comes"
        sheet.refuse(self.given & ~about, "event", text)
        sheet.only_where({"job": ~about, "host": about, "state": about})


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

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        self.refuse_figures(sheet, np.ones(len(sheet), dtype=np.bool_))


# -------------------------------------------------------------------------------------- the vault

KINDS = ("save", "last", "restore")
SAVE, LAST, RESTORE = range(3)
MAX_BYTES = 2**60


def _places(sheet: Sheet, name: str) -> Int:
    """Return int64[rows, most]: numbers of hosts, that of the server being the number of hosts; -1
    after them."""
    hosts = sheet.given["hosts"]
    rows = [(text or "").split() for text in sheet.frame[name].to_list()]
    found = np.full((len(rows), max((len(row) for row in rows), default=0)), -1, dtype=np.int64)
    for k, row in enumerate(rows):
        for j, word in enumerate(row):
            number = hosts if word == "server" else int(word) if word.isdecimal() else -1
            if not 0 <= number <= hosts or (number == hosts) != (word == "server"):
                raise TraceError(
                    sheet.path, f"{shown(word)} is not a store", line=k + 2, field=name
                )
            found[k, j] = number
    return found


@dataclass(frozen=True)
class Transfers(Rows):
    """`checkpoints.csv`, as it stands."""

    FILE: ClassVar = "checkpoints.csv"
    job: Int = read.job()
    kind: Int = read.words(KINDS)
    host: Int = read.whole(0, "hosts")
    start: Int = read.seconds()
    until: Int = read.seconds()
    complete: Bool = read.flag()
    version: Int = read.whole(1)
    base: Int = read.whole(1)
    work: Int = read.parts(6, MAX_WORK)
    bytes: Int = read.whole(0, MAX_BYTES)
    places: Int = read.column(_places, "stores")

    def stores(self, row: int) -> list[int]:
        """Return the stores of a transfer."""
        return [one for one in self.places[row].tolist() if one >= 0]


# --------------------------------------------------------------------------------------- the run


class CycleRun(RunFolder):
    """The files of a run."""

    LOG = ("events.csv", "decisions.csv", "candidates.csv")
    jobs = table(JobRows, alone=True)
    hosts = table(HostRows, alone=True)
    events = table(EventRows)
    decisions = table(DecisionRows)
    candidates = table(CandidateRows)
    transfers = table(Transfers)

    @cached_property
    def given(self) -> Given:
        """What the summary gives."""
        return Given.of(self.summary)

    @property
    def known(self) -> dict[str, Any]:
        """See `RunFolder`."""
        given, hosts = self.given, len(self.hosts)
        return {
            "hosts": hosts, "all": hosts + 1, "ids": self.jobs.name, "scheduler": given.entry,
            "foretells": given.entry.foretells, "stored": given.stores is not None,
            "moves": given.every > 0,
        }  # fmt: skip

    @cached_property
    def stays(self) -> StayRows:
        """The stays in order of (job, start)."""
        stays = StayRows.read(self.folder, **self.known)
        return stays.take(np.lexsort((stays.start, stays.job)))

    @cached_property
    def spans(self) -> Spans:
        """The states of hosts in order of (host, start)."""
        spans = Spans.read(self.folder, **self.known)
        return spans.take(np.lexsort((spans.start, spans.host)))

    @cached_property
    def start(self) -> int:
        """When the run begins, s."""
        return max(int(self.jobs.submit.min()), self.given.begin)

    @cached_property
    def end(self) -> int:
        """When it ends, s."""
        jobs, given = self.jobs, self.given
        gone = jobs.fate == Fate.UNSCHEDULED
        given_up = jobs.submit[gone] + (np.maximum(jobs.tries[gone], 1) - 1) * given.retry
        last = [int(times.max(initial=self.start)) for times in (jobs.finish, given_up)]
        return max([*last, given.end] if (jobs.fate == Fate.UNFINISHED).any() else last)

    @property
    def most(self) -> Int:
        """int64[hosts]: what each host can do in a second without load, in millionths."""
        return np.rint(self.hosts.speed * PARTS).astype(np.int64)
