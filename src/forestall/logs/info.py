"""What is in a log: span, counts, sizes, load, gaps, oddities. Data only; printing is elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.core.files.guard import reader
from forestall.core.files.packed import head_lines
from forestall.core.files.parquet import is_parquet
from forestall.core.files.pipes import is_there
from forestall.core.model.cleaning import NAMED, Cleaning
from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.units import format_duration
from forestall.logs.failures.formats import FORMATS
from forestall.logs.failures.raw import Head
from forestall.logs.jobs.lanl_usage import is_lanl_usage
from forestall.logs.jobs.swf_rows import is_swf
from forestall.logs.read import read_failures, read_jobs

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Spread:
    """How numbers lie: their count, mean, coefficient of variation and quantiles (nan: none)."""

    count: int
    mean: float
    cv: float
    least: float
    median: float
    p95: float
    most: float

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Spread:
        """Return the spread of these numbers."""
        if len(values) == 0:
            return cls(0, *[float("nan")] * 6)
        mean = float(np.mean(values))
        least, median, p95, most = np.quantile(values, [0, 0.5, 0.95, 1]).tolist()
        cv = float(np.std(values)) / mean if mean else float("nan")
        return cls(len(values), mean, cv, least, median, p95, most)


@dataclass(frozen=True)
class JobInfo:
    """A job log. Times in seconds, sizes in nodes.

    Attributes
    ----------
    count : jobs; usable ones have a size, a run time, and fit into the machine
    span : from the first submit to the last, that second included
    nodes : size of the machine as given, else as the log tells; None where neither does
    size, runtime, estimate, gap : of jobs that tell them; gaps are between submits
    work : sum of size times run time, node-seconds
    load : work / (nodes x span), None without nodes
    users, queues : how many, None where the log has none
    """

    source: str
    count: int
    usable: int
    span: int
    nodes: int | None
    size: Spread
    runtime: Spread
    estimate: Spread
    gap: Spread
    work: int
    load: float | None
    users: int | None
    queues: int | None
    oddities: Cleaning

    def rows(self) -> list[tuple[str, str]]:
        """Return (label, value with its unit) pairs for printing."""
        unknown = "not known"
        return [
            ("job log", self.source or "in memory"),
            ("jobs", f"{self.count:,} ({self.usable:,} usable)"),
            ("span of submits", format_duration(self.span)),
            ("nodes", unknown if self.nodes is None else f"{self.nodes:,}"),
            ("size", _numbers(self.size, "nodes")),
            ("run time", _durations(self.runtime)),
            ("requested time", _durations(self.estimate)),
            ("gap between submits", _durations(self.gap)),
            ("work", f"{self.work / 3600:,.0f} node-hours"),
            ("offered load", unknown if self.load is None else f"{self.load:.3f}"),
            ("users", unknown if self.users is None else f"{self.users:,}"),
            ("queues", unknown if self.queues is None else f"{self.queues:,}"),
            *_oddity_rows(self.oddities),
        ]


@dataclass(frozen=True)
class FailureInfo:
    """A failure log. Times in seconds.

    Attributes
    ----------
    count : failures; `span` of the log, `nodes` of the machine
    failed_nodes : nodes with a failure
    mtbf : span / failures: mean time between failures of the machine, nan without any
    node_mtbf : nodes x span / failures, nan likewise
    gap : between failures of the machine
    downtime : of failures that tell it
    per_node : failures a node, of all nodes
    kinds : the most frequent kinds with their counts, None where the log has none
    """

    source: str
    count: int
    span: int
    nodes: int
    failed_nodes: int
    mtbf: float
    node_mtbf: float
    gap: Spread
    downtime: Spread
    per_node: Spread
    kinds: tuple[tuple[str, int], ...] | None
    oddities: Cleaning

    def rows(self) -> list[tuple[str, str]]:
        """Return (label, value with its unit) pairs for printing."""
        kinds = (
            "not told"
            if self.kinds is None
            else ", ".join(f"{kind or 'no kind'} {count:,}" for kind, count in self.kinds)
        )
        return [
            ("failure log", self.source or "in memory"),
            ("failures", f"{self.count:,}"),
            ("span", format_duration(self.span)),
            ("nodes", f"{self.nodes:,} ({self.failed_nodes:,} with failures)"),
            ("mean time between failures", _known_duration(self.mtbf)),
            ("the same of one node", _known_duration(self.node_mtbf)),
            ("gap between failures", _durations(self.gap)),
            ("down time", _durations(self.downtime)),
            ("failures a node", _numbers(self.per_node, "")),
            ("kinds", kinds),
            *_oddity_rows(self.oddities),
        ]


LogInfo = JobInfo | FailureInfo


def _known_duration(seconds: float) -> str:
    return "not known" if math.isnan(seconds) else format_duration(seconds)


def describe(
    log: str | Path | Jobs | Failures, *, nodes: int | None = None, **reading: Any
) -> LogInfo:
    """Return what is in a log, or in the file of one: a failure log where it looks like one.

    Parameters
    ----------
    log : jobs, failures, or the path of a log of either
    nodes : size of the machine, for the offered load (default: as the log tells)
    reading : options of `read_jobs` or `read_failures`, for a path

    Raises TraceError and ParameterError as those do.
    """
    if isinstance(log, str | Path):
        log = _read(Path(log), reading)
    return describe_jobs(log, nodes) if isinstance(log, Jobs) else describe_failures(log)


@reader
def is_failure_log(path: Path) -> bool:
    """Return whether a file (or folder) is a failure log of a known format."""
    if path.is_dir():
        return True
    head = Head(path, () if is_parquet(path) else head_lines(path, binary=True))
    if is_swf(head.lines) or is_lanl_usage(head.lines):
        return False
    return any(known.looks_like(head) for known in FORMATS)


def describe_jobs(jobs: Jobs, nodes: int | None = None) -> JobInfo:
    """Return what is in a job log, for a machine of `nodes` (default: as the log tells)."""
    machine = jobs.nodes if nodes is None else nodes
    sized, ran = jobs.size > 0, jobs.runtime > 0
    fits = sized if machine is None else sized & (jobs.size <= machine)
    span = int(jobs.submit[-1] - jobs.submit[0]) + 1 if len(jobs) else 0
    # Python's whole numbers do not overflow where int64 could.
    work = (
        int(np.dot(jobs.size[sized & ran].astype(object), jobs.runtime[sized & ran]))
        if (len(jobs))
        else 0
    )
    return JobInfo(
        source=jobs.source,
        count=len(jobs),
        usable=int(np.count_nonzero(fits & ran)),
        span=span,
        nodes=machine,
        size=Spread.of(jobs.size[sized]),
        runtime=Spread.of(jobs.runtime[jobs.runtime >= 0]),
        estimate=Spread.of(jobs.estimate[jobs.estimate > 0]),
        gap=Spread.of(np.diff(jobs.submit)),
        work=work,
        load=work / (machine * span) if machine and span else None,
        users=None if jobs.user is None else len(set(jobs.user) - {""}),
        queues=None if jobs.queue is None else len(set(jobs.queue) - {""}),
        oddities=jobs.cleaning + _job_oddities(jobs, machine),
    )


def describe_failures(failures: Failures) -> FailureInfo:
    """Return what is in a failure log."""
    count = len(failures)
    per_node = np.bincount(failures.node, minlength=failures.nodes) if count else np.zeros(0)
    return FailureInfo(
        source=failures.source,
        count=count,
        span=failures.span,
        nodes=failures.nodes,
        failed_nodes=int(np.count_nonzero(per_node)),
        mtbf=failures.span / count if count else math.nan,
        node_mtbf=failures.nodes * failures.span / count if count else math.nan,
        gap=Spread.of(np.diff(failures.time)),
        downtime=Spread.of(failures.downtime[failures.downtime >= 0]),
        per_node=Spread.of(per_node),
        kinds=_kinds(failures),
        oddities=failures.cleaning + _failure_oddities(failures),
    )


def _read(path: Path, reading: dict[str, Any]) -> Jobs | Failures:
    if not is_there(path):
        raise TraceError(path, "cannot be read: No such file or directory")
    if is_failure_log(path):
        return read_failures(path, **reading)
    return read_jobs(path, **reading)


def _job_oddities(jobs: Jobs, machine: int | None) -> Cleaning:
    known = (jobs.estimate > 0) & (jobs.runtime > 0)
    masks = [
        ("no_size", "jobs without a size", jobs.size <= 0),
        ("no_run_time", "jobs without a known run time", jobs.runtime < 0),
        ("zero_run_time", "jobs that ran 0 s", jobs.runtime == 0),
        ("no_requested_time", "jobs without a requested time", jobs.estimate <= 0),
        (
            "beyond_request",
            "jobs that ran longer than requested",
            known & (jobs.runtime > jobs.estimate),
        ),
        ("submit_tie", "jobs submitted in the second of the job above", _ties(jobs.submit)),
    ]
    if machine is not None:
        text = f"jobs larger than the machine of {machine} nodes"
        masks.append(("too_large", text, jobs.size > machine))
    seen = Cleaning()
    for kind, text, mask in masks:
        seen = seen.plus(kind, text, "kept", (f"job {job}" for job in jobs.job[mask]))
    return seen


def _failure_oddities(failures: Failures) -> Cleaning:
    same = _ties(failures.time)
    same[1:] &= np.diff(failures.node) == 0
    stamps = (f"{t} s" for t in failures.time[_ties(failures.time)])
    seen = Cleaning().plus("tie", "failures in the same second as the one before", "kept", stamps)
    names = (
        f"node {n} at {t} s" for n, t in zip(failures.node[same], failures.time[same], strict=True)
    )
    return seen.plus("same_node_tie", "the same, on the same node", "kept", names)


def _ties(times: Numbers) -> npt.NDArray[np.bool_]:
    tied = np.zeros(len(times), dtype=np.bool_)
    tied[1:] = np.diff(times) == 0
    return tied


def _kinds(failures: Failures) -> tuple[tuple[str, int], ...] | None:
    if failures.kind is None:
        return None
    counted: dict[str, int] = {}
    for kind in failures.kind:
        group = kind.split(": ")[0]  # "Hardware: CPU" counts as Hardware
        counted[group] = counted.get(group, 0) + 1
    return tuple(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:NAMED])


def _durations(spread: Spread) -> str:
    if spread.count == 0:
        return "not known"
    parts = [("mean", spread.mean), ("median", spread.median), ("p95", spread.p95)]
    text = ", ".join(f"{name} {format_duration(value)}" for name, value in parts)
    return f"{text}, longest {format_duration(spread.most)}, cv {spread.cv:.2f}"


def _numbers(spread: Spread, unit: str) -> str:
    if spread.count == 0:
        return "not known"
    text = f"mean {spread.mean:,.2f}, median {spread.median:,g}, p95 {spread.p95:,g}"
    return f"{text}, most {spread.most:,g} {unit}".rstrip()


def _oddity_rows(oddities: Cleaning) -> list[tuple[str, str]]:
    return [(str(remark.action), remark.counted) for remark in oddities.remarks] or [
        ("oddities", "none")
    ]
