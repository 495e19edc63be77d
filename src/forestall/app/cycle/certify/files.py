"""The files of a run of cycle sharing as the certifier reads them, sharing nothing with what wrote
them.

`jobs.csv`, `stays.csv`, `hosts.csv`, `availability.csv` and `summary.json`; whatever cannot be what
it should be is a TraceError that names the file, the line and the field. Work is read as whole
millionths of a second of a host of speed 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.app.cycle.certify.sheet import PARTS, GuestSheet
from forestall.app.kit.sheet import MAX_AMOUNT, NONE, Bool, Int, read_summary, value_of
from forestall.decide.cycle.entries import SCHEDULERS
from forestall.model.errors import TraceError
from forestall.model.units import MAX_SECONDS

JOB_FATES = ("completed", "unscheduled", "unfinished")
COMPLETED, UNSCHEDULED, UNFINISHED = range(3)
STAY_ENDS = ("completed", "contention", "thrashing", "away", "unfinished")
DONE, CONTENTION, THRASHING, AWAY, CUT = range(5)
STATES = ("S1", "S2", "S3", "S4", "S5")
SHARES = tuple(f"share_{state.lower()}" for state in STATES)
MAX_HOSTS = 2**26
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JobRows:
    """`jobs.csv`; `start`, `finish` and `makespan` are NONE where empty."""

    name: Int
    submit: Int
    runtime: Int
    start: Int
    finish: Int
    makespan: Int
    fate: Int
    tries: Int
    failures: Int
    lost: Int
    checkpoints: Int

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class StayRows:
    """`stays.csv` in order of (job, start), with the position of each row's job and the line in
    which it stands; `chance` and `promise` in millionths, NONE where empty; `before`, what was
    saved of its job when it began; `first` and `last`, whether it is the first or the last of its
    job."""

    job: Int
    host: Int
    start: Int
    end: Int
    ended: Int
    work: Int
    saved: Int
    lost: Int
    checkpoints: Int
    chance: Int
    promise: Int
    line: Int
    before: Int
    first: Bool
    last: Bool

    def __len__(self) -> int:
        return len(self.job)

    @property
    def left(self) -> Bool:
        """Whether the host left its guest."""
        yes: Bool = (self.ended >= CONTENTION) & (self.ended <= AWAY)
        return yes


@dataclass(frozen=True)
class HostRows:
    """`hosts.csv`; `share` is float64[hosts, 5]."""

    number: Int
    speed: Reals
    samples: Int
    share: Reals
    unavailable: Int
    s3: Int
    s4: Int
    s5: Int
    guests: Int
    guest_seconds: Int
    useful: Int
    lost: Int

    def __len__(self) -> int:
        return len(self.number)


@dataclass(frozen=True)
class Spans:
    """`availability.csv` in order of (host, start), and in which line each row stands."""

    host: Int
    start: Int
    end: Int
    state: Int
    work: Int
    line: Int

    def __len__(self) -> int:
        return len(self.host)

    @property
    def available(self) -> Bool:
        """Whether a guest can run."""
        yes: Bool = self.state <= 1
        return yes


@dataclass(frozen=True)
class Given:
    """What the certifier takes from `summary.json`: parameters, and where the host traces begin and
    end on the jobs' clock, s; `interval` is 0 where there are no checkpoints on the way."""

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

    @property
    def may_doom(self) -> bool:
        """Whether a job may wait although hosts are free."""
        return self.scheduler == "omniscient" and not self.resumes


@dataclass(frozen=True)
class CycleFolder:
    """All files of a run's folder; `start` and `end` of the run, s."""

    jobs: JobRows
    stays: StayRows
    hosts: HostRows
    spans: Spans
    given: Given
    summary: Mapping[str, Any]
    path: Path
    start: int
    end: int

    @property
    def most(self) -> Int:
        """int64[hosts]: what each host can do in a second without load, in millionths."""
        return np.rint(self.hosts.speed * PARTS).astype(np.int64)


class _Parameters:
    def __init__(self, path: Path, summary: Any) -> None:
        self.path, self.summary = path, summary

    def number(self, keys: str, least: float, below: float) -> float:
        value = value_of(self.path, self.summary, keys, (int, float), "a number")
        if not least <= value < below:
            raise TraceError(self.path, f"{value!r} is not {least} to {below}", field=keys)
        return float(value)

    def whole(self, name: str, least: int, below: int, *, none: int | None = None) -> int:
        keys = name if "." in name else f"parameters.{name}"
        if none is not None:
            kinds = (int, float, type(None))
            if value_of(self.path, self.summary, keys, kinds, "a number or null") is None:
                return none
        value = self.number(keys, least, below)
        if value != int(value):
            raise TraceError(self.path, f"{value!r} is not whole", field=keys)
        return int(value)

    def word(self, name: str, known: Sequence[str]) -> str:
        keys = f"parameters.{name}"
        value: str = value_of(self.path, self.summary, keys, (str,), "a word")
        if value not in known:
            raise TraceError(self.path, f"{value!r} is none of {', '.join(known)}", field=keys)
        return value


def _given(path: Path, summary: Any) -> Given:
    asked = _Parameters(path, summary)
    resumes = asked.word("restart", ("scratch", "checkpoint")) == "checkpoint"
    at_end = bool(value_of(path, summary, "parameters.checkpoint_at_end", (bool,), "true or false"))
    interval = asked.whole("checkpoint_interval", 1, MAX_SECONDS, none=0)
    traces = [
        asked.whole(f"host_traces.{name}", 1 - MAX_SECONDS, MAX_SECONDS)
        for name in ("begin", "end")
    ]
    return Given(
        scheduler=asked.word("scheduler", tuple(SCHEDULERS)),
        rank=asked.word("rank", ("idle", "speed")),
        resumes=resumes,
        interval=interval if resumes else 0,
        overhead=asked.whole("checkpoint_overhead", 0, MAX_SECONDS) if resumes else 0,
        at_end=at_end and resumes,
        restart=asked.whole("restart_overhead", 0, MAX_SECONDS) if resumes else 0,
        retry=asked.whole("retry", 1, MAX_SECONDS),
        retries=asked.whole("retries", 0, 2**31),
        length=asked.whole("job_length", 1, MAX_SECONDS, none=0),
        th1=asked.number("parameters.th1", 0, 1.0 + 1e-12),
        warm_up=asked.whole("warm_up", 0, MAX_SECONDS),
        seed=asked.whole("seed", 0, 2**63),
        begin=traces[0],
        end=traces[1],
        period=asked.whole("host_traces.period", 1, MAX_SECONDS),
    )


# ------------------------------------------------------------------------------------- the tables


def _read_jobs(folder: Path) -> JobRows:
    sheet = GuestSheet(folder, "jobs")
    if not len(sheet):
        raise TraceError(sheet.path, "holds no jobs")
    sheet.refuse(~sheet.frame["job"].is_first_distinct(), "job", "a job of its own")
    return JobRows(
        name=sheet.whole("job", -MAX_AMOUNT, MAX_AMOUNT),
        submit=sheet.seconds("submit"),
        runtime=sheet.whole("runtime", 1, MAX_SECONDS),
        start=sheet.seconds("start", empty=True),
        finish=sheet.seconds("finish", empty=True),
        makespan=sheet.seconds("makespan", empty=True),
        fate=sheet.words("outcome", JOB_FATES),
        tries=sheet.whole("tries"),
        failures=sheet.whole("failures"),
        lost=sheet.work("lost"),
        checkpoints=sheet.whole("checkpoints"),
    )


def _read_stays(folder: Path, jobs: JobRows, hosts: int, *, said: bool) -> StayRows:
    sheet = GuestSheet(folder, "stays")
    told = {}
    for name in ("chance", "promise"):
        silent = sheet.frame[name].is_null().to_numpy()
        sheet.refuse(silent == said, name, "there just where the scheduler tells chances")
        told[name] = sheet.work(name, empty=NONE)
        sheet.refuse(told[name] > PARTS, name, "a probability")
    job, start = sheet.jobs(jobs.name), sheet.seconds("start")
    order = np.lexsort((start, job))
    job, saved = job[order], sheet.work("saved")[order]
    first = np.ones(len(job), dtype=np.bool_)
    first[1:] = job[1:] != job[:-1]
    last = np.append(first[1:], True)[: len(job)]
    before = np.where(first, 0, np.concatenate(([0], saved[:-1]))[: len(job)])
    return StayRows(
        job=job,
        host=sheet.whole("host", 0, hosts)[order],
        start=start[order],
        end=sheet.seconds("end")[order],
        ended=sheet.words("ended", STAY_ENDS)[order],
        work=sheet.work("work")[order],
        saved=saved,
        lost=sheet.work("lost")[order],
        checkpoints=sheet.whole("checkpoints")[order],
        chance=told["chance"][order],
        promise=told["promise"][order],
        line=order + 2,
        before=before,
        first=first,
        last=last,
    )


def _read_hosts(folder: Path) -> HostRows:
    sheet = GuestSheet(folder, "hosts")
    if not len(sheet):
        raise TraceError(sheet.path, "holds no hosts")
    number = sheet.whole("host", 0, MAX_HOSTS)
    sheet.refuse(number != np.arange(len(sheet)), "host", "the next number, from 0 on")
    counts = ("unavailable", "s3", "s4", "s5", "guests", "guest_seconds")
    speed = sheet.real("speed")
    sheet.refuse(speed > 1e6, "speed", "a speed up to a million")
    return HostRows(
        number=number,
        speed=speed,
        samples=sheet.whole("samples"),
        share=np.stack([sheet.real(name) for name in SHARES], axis=1),
        **{name: sheet.whole(name) for name in counts},
        useful=sheet.work("useful"),
        lost=sheet.work("lost"),
    )


def _read_spans(folder: Path, hosts: int) -> Spans:
    sheet = GuestSheet(folder, "availability")
    host, start = sheet.whole("host", 0, hosts), sheet.seconds("start")
    order = np.lexsort((start, host))
    return Spans(
        host=host[order],
        start=start[order],
        end=sheet.seconds("end")[order],
        state=sheet.words("state", STATES)[order],
        work=sheet.work("work")[order],
        line=order + 2,
    )


def is_cycle(folder: Path) -> bool:
    """Return whether the summary in a folder says that it is of a run of cycle sharing."""
    try:
        return read_summary(folder / "summary.json").get("model") == "cycle"
    except TraceError:
        return False


def read_cycle_folder(folder: Path) -> CycleFolder:
    """Return what the files of this folder say."""
    path = folder / "summary.json"
    summary = read_summary(path)
    given = _given(path, summary)
    jobs, hosts = _read_jobs(folder), _read_hosts(folder)
    spans = _read_spans(folder, len(hosts))
    stays = _read_stays(folder, jobs, len(hosts), said=SCHEDULERS[given.scheduler].foretells)
    start = max(int(jobs.submit.min()), given.begin)
    last = [int(jobs.finish.max(initial=start))]
    if (jobs.fate == UNFINISHED).any():
        last.append(given.end)
    gone = jobs.fate == UNSCHEDULED
    given_up = jobs.submit[gone] + (np.maximum(jobs.tries[gone], 1) - 1) * given.retry
    last.append(int(given_up.max(initial=start)))
    return CycleFolder(jobs, stays, hosts, spans, given, summary, path, start, max(last))
