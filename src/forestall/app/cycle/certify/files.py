"""The files of a run of cycle sharing as the certifier reads them, sharing nothing with what wrote
them: `jobs.csv`, `stays.csv`, `hosts.csv`, `availability.csv` and `summary.json`. Work is read as
whole millionths of a second of a host of speed 1."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.intervals import firsts, lasts
from forestall.app.kit.certify.sheet import NONE, Bool, Int, Reals, Rows, Sheet, Summary
from forestall.model.cycle import Fate, StayEnd
from forestall.model.errors import TraceError
from forestall.model.own import is_own
from forestall.model.units import MAX_SECONDS
from forestall.model.vault.stores import Stores

PARTS = 1_000_000
"""Work is held as whole millionths of a second of a host of speed 1."""
MAX_WORK = 2**53
"""Millionths stay below this: as numbers of at most six decimals they are exact."""
STATES = ("S1", "S2", "S3", "S4", "S5")
SHARES = tuple(f"share_{state.lower()}" for state in STATES)
MAX_HOSTS = 2**26

FORETELL = ("falcon", "falcon-slides", "own")
"""Schedulers that know how long hosts are foreseen to stay, so that stays are promised."""
SCHEDULERS = ("falcon", "falcon-slides", "condor", "omniscient")


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
        there=False,
    )
    asked: Int = read.column(
        lambda sheet, name: (
            sheet.whole(name, 1 - MAX_SECONDS, MAX_SECONDS, empty=True)
            if sheet.given["moves"]
            else np.full(len(sheet), NONE)
        ),
        there=False,
    )
    line: Int = read.line()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        moved = (self.ended == StayEnd.MOVED) & (self.asked == NONE)
        sheet.refuse(moved, "ended", "consistent with the decisions (no move was decided)")
        for name, told in (("chance", self.chance), ("promise", self.promise)):
            odd = (told == NONE) == sheet.given["said"]
            sheet.refuse(
                odd,
                name,
                "consistent with the scheduler (set if it states chances, empty otherwise)",
            )
            sheet.refuse(told > PARTS, name, "a probability")

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
    line: Int = read.line()

    @property
    def available(self) -> Bool:
        """Whether a guest can run."""
        return self.state <= 1


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
    def of(cls, said: Summary) -> Self:
        """Return what the summary says."""
        limit, ahead, every = _moving(said)
        p, t = "parameters.", "host_traces."
        resumes = said.word(p + "restart", ("scratch", "checkpoint")) == "checkpoint"
        at_end = said.flag(p + "checkpoint_at_end")
        interval = said.whole(p + "checkpoint_interval", 1, MAX_SECONDS, none=0)
        begin, end = (said.whole(t + n, 1 - MAX_SECONDS, MAX_SECONDS) for n in ("begin", "end"))
        return cls(
            scheduler=said.word(p + "scheduler", SCHEDULERS, own=True),
            rank=said.word(p + "rank", ("idle", "speed")),
            resumes=resumes,
            interval=interval if resumes else 0,
            overhead=said.whole(p + "checkpoint_overhead", 0, MAX_SECONDS) if resumes else 0,
            at_end=at_end and resumes,
            restart=said.whole(p + "restart_overhead", 0, MAX_SECONDS) if resumes else 0,
            retry=said.whole(p + "retry", 1, MAX_SECONDS),
            retries=said.whole(p + "retries", 0, 2**31),
            length=said.whole(p + "job_length", 1, MAX_SECONDS, none=0),
            th1=said.number(p + "th1", 0, 1.0 + 1e-12),
            warm_up=said.whole(p + "warm_up", 0, MAX_SECONDS),
            seed=said.whole(p + "seed", 0, 2**63),
            begin=begin,
            end=end,
            period=said.whole(t + "period", 1, MAX_SECONDS),
            stores=said.stores() if resumes else None,
            limit=limit,
            ahead=ahead,
            every=every,
        )

    @property
    def rule(self) -> str:
        """The name of the scheduler's rule: `own` where it is a class of the user's own."""
        return "own" if is_own(self.scheduler) else self.scheduler

    @property
    def may_doom(self) -> bool:
        """Whether a job may wait although hosts are free."""
        return self.scheduler == "omniscient" and not self.resumes


def _moving(said: Summary) -> tuple[int, int, int]:
    """Return when guests move, see `Given`; 0 in all where they do not."""
    p = "parameters."
    given = said.value("parameters", (dict,), "parameters")
    resumes = given.get("restart") == "checkpoint"
    if "move_below" not in given or not resumes or given.get("scheduler") not in FORETELL[:2]:
        return 0, 0, 0
    limit = round(PARTS * said.number(p + "move_below", 0, 1.0 + 1e-12))
    ahead, every = (said.whole(p + n, 1, MAX_SECONDS) for n in ("look_ahead", "look_every"))
    return limit, ahead, every


@dataclass(frozen=True)
class CycleRun:
    """All files of a run's folder; `start` and `end` of the run, s."""

    jobs: JobRows
    stays: StayRows
    hosts: HostRows
    spans: Spans
    given: Given
    summary: Summary
    start: int
    end: int

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what the files of this folder say."""
        summary = Summary.of(folder)
        given = Given.of(summary)
        jobs, hosts = JobRows.read(folder), HostRows.read(folder)
        spans = Spans.read(folder, hosts=len(hosts))
        said = given.rule in FORETELL
        stored = given.stores is not None
        known = {"said": said, "stored": stored, "moves": given.every > 0}
        stays = StayRows.read(folder, hosts=len(hosts), ids=jobs.name, **known)
        start = max(int(jobs.submit.min()), given.begin)
        last = [int(jobs.finish.max(initial=start))]
        if (jobs.fate == Fate.UNFINISHED).any():
            last.append(given.end)
        gone = jobs.fate == Fate.UNSCHEDULED
        given_up = jobs.submit[gone] + (np.maximum(jobs.tries[gone], 1) - 1) * given.retry
        last.append(int(given_up.max(initial=start)))
        return cls(
            jobs,
            stays.take(np.lexsort((stays.start, stays.job))),
            hosts,
            spans.take(np.lexsort((spans.start, spans.host))),
            given,
            summary,
            start,
            max(last),
        )

    @property
    def most(self) -> Int:
        """int64[hosts]: what each host can do in a second without load, in millionths."""
        return np.rint(self.hosts.speed * PARTS).astype(np.int64)
