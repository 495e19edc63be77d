"""The inputs: two job logs of 10,000 jobs, one of them also as it was before cleaning, and a year
of failures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

import forestall as fs
from studies.kit.files import found_in

NASA_FILE: Final = "nasa-ipsc-1993/NASA-iPSC-1993-3.1-cln.swf.gz"
SDSC_FILE: Final = "sdsc-sp2-1998/SDSC-SP2-1998-4-cln.jobs-from-predictsim.swf.gz"
LANL_FILE: Final = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"

NASA, SDSC, REBUILT = "NASA", "SDSC", "NASA rebuilt"
UNCUT, GENERATED = "SDSC uncut", "SDSC generated"
LOGS: Final = (NASA, SDSC, REBUILT, UNCUT, GENERATED)

JOBS: Final = 10_000
REBUILT_IDS: Final = (20_001, 30_000)
"""First and last job number of the rebuilt slice: of all slices of 10,000 numbers it comes near the
paper's mean size and longest run."""
PROBE_SIZE, PROBE_SECONDS = 1, 20
"""What the cleaning of the NASA log removed: one-processor system probes; 119 of them in the first
228 rows of the raw log ran 20.3 s on average."""

SYSTEM, FROM, DAYS, FOLD, NODES = 19, "2003-07-18T16:00", 365, 8, 128
FAILURES: Final = 1021
DAY: Final = 86_400
BURST, BURST_STEP = 5, 300


@dataclass(frozen=True)
class Inputs:
    """Job logs by name, and the failures: seconds since the epoch of each log, set to the same
    0."""

    jobs: dict[str, fs.Jobs]
    failures: fs.Failures


def read_inputs(data: Path, plan: object = None) -> Inputs:
    """Read the two job logs and the failures below the folder `data`, and make the other logs; of
    them only those that the plan plays.

    Raises TraceError where a file is missing or is not what it should be.
    """
    nasa_file, sdsc_file, lanl_file = (found_in(data, n) for n in (NASA_FILE, SDSC_FILE, LANL_FILE))
    nasa = _bare(fs.read_jobs(nasa_file))
    sdsc = _bare(fs.read_jobs(sdsc_file, jobs=f"1:{JOBS}"))
    failures = fs.read_failures(lanl_file, system=SYSTEM, start=FROM, days=DAYS, fold_nodes=FOLD)
    if len(failures) != FAILURES:
        text = f"{len(failures)} failures of system {SYSTEM} in {DAYS} days from {FROM}"
        raise fs.errors.TraceError(lanl_file, f"{text}; expected {FAILURES}")
    rebuilt = rebuild(nasa, *REBUILT_IDS)
    first = nasa.take(np.arange(min(JOBS, len(nasa))))
    plain = replace(failures, kind=None, names=None)
    made = {REBUILT: rebuilt, UNCUT: uncut(sdsc), GENERATED: generated(sdsc)}
    played = getattr(plan, "logs", LOGS)
    known = {NASA: first, SDSC: sdsc, **made}
    return Inputs({log: jobs for log, jobs in known.items() if log in played}, plain)


def _bare(jobs: fs.Jobs) -> fs.Jobs:
    """Return the jobs without users and queues, which nothing here asks for."""
    return replace(jobs, user=None, queue=None)


def rebuild(cleaned: fs.Jobs, first: int, last: int) -> fs.Jobs:
    """Return the jobs numbered `first` to `last` with those put back that cleaning had removed.

    The cleaned log keeps the raw numbering, so its gaps tell where the removed jobs were. Each
    comes back as a probe of one processor and 20 s, submitted between its neighbours in even
    steps. The first submission of the slice becomes time 0.
    """
    numbers = np.arange(first, last + 1)
    known = np.argsort(cleaned.job, kind="stable")
    ids = cleaned.job[known]
    place = np.minimum(np.searchsorted(ids, numbers), len(ids) - 1)
    there = ids[place] == numbers
    row = known[place]
    between = np.interp(numbers, ids, cleaned.submit[known].astype(np.float64))
    submit = np.where(there, cleaned.submit[row], np.rint(between).astype(np.int64))
    order = np.lexsort((numbers, submit))
    return fs.Jobs(
        numbers[order],
        submit[order] - int(submit.min()),
        np.where(there, cleaned.size[row], PROBE_SIZE)[order],
        np.where(there, cleaned.runtime[row], PROBE_SECONDS)[order],
        np.full(len(numbers), -1),
        source=f"{cleaned.source}, rebuilt",
    )


def uncut(jobs: fs.Jobs) -> fs.Jobs:
    """Return the jobs with those that ended at their request going on, so that the mean run time
    and the longest are the paper's.

    The longest goes on to the paper's longest, and each further one, in order of run time, for a
    fixed share of what the one before it did.
    """
    _, mean, longest = PAPER_TABLE_1[SDSC]
    ended = np.flatnonzero((jobs.runtime >= jobs.estimate) & (jobs.estimate > 0))
    order = ended[np.argsort(-jobs.runtime[ended], kind="stable")]
    if len(order) == 0:
        return jobs
    first = longest * 3600 - float(jobs.runtime[order[0]])
    share = 1 - first / max(first, mean * len(jobs) - float(jobs.runtime.sum()))
    runtime = jobs.runtime.copy()
    runtime[order] += np.rint(first * share ** np.arange(len(order))).astype(np.int64)
    return replace(jobs, runtime=runtime, source=f"{jobs.source}, uncut")


def powers_of_two(jobs: fs.Jobs) -> fs.Jobs:
    """Return the jobs with as many nodes as the nearest power of two (by ratio), and run times that
    keep their node-seconds."""
    size = 2 ** np.rint(np.log2(jobs.size)).astype(np.int64)
    runtime = np.maximum(np.rint(jobs.runtime * jobs.size / size), 1).astype(np.int64)
    return replace(
        jobs, size=size, runtime=runtime, estimate=np.full(len(jobs), -1),
        source=f"{jobs.source}, powers of two",
    )  # fmt: skip


def generated(jobs: fs.Jobs) -> fs.Jobs:
    """Return as many jobs submitted at the same times, whose sizes are those of the log and whose
    run times are a Weibull law's, both in an order of their own; the law's mean and its longest of
    so many run times are the paper's."""
    _, mean, longest = PAPER_TABLE_1[SDSC]
    quantile = -np.log((np.arange(len(jobs)) + 0.5) / len(jobs))[::-1]
    low, high = 0.05, 1.0
    for _ in range(60):  # the power of the law, by halving: a higher one has a shorter tail
        power = (low + high) / 2
        times = quantile ** (1 / power)
        low, high = (
            (power, high) if times[-1] / times.mean() > longest * 3600 / mean else (low, power)
        )
    runtime = np.maximum(1, np.rint(times * mean / times.mean())).astype(np.int64)
    draw = fs.stream(1, "reproduce", "promises", "generated")
    sizes = draw.permutation(jobs.size)
    return replace(
        jobs, size=sizes, runtime=draw.permutation(runtime), estimate=np.full(len(jobs), -1),
        source=f"{jobs.source}, generated",
    )  # fmt: skip


def rolled(failures: fs.Failures, days: int) -> fs.Failures:
    """Return the log begun `days` later; what lay before that follows at its end."""
    time = (failures.time - days * DAY) % failures.span
    return _arranged(failures, time, failures.node)


def scattered(failures: fs.Failures, seed: int) -> fs.Failures:
    """Return as many failures over the same span, at times and on nodes without any pattern."""
    count = len(failures)
    time = fs.stream(seed, "reproduce", "promises", "when").integers(0, failures.span, count)
    node = fs.stream(seed, "reproduce", "promises", "which").integers(0, NODES, count)
    return _arranged(failures, time, node)


def gathered(failures: fs.Failures) -> fs.Failures:
    """Return as many failures in bursts: of each five in a row the other four follow the first on
    its node, five minutes apart."""
    number = np.arange(len(failures))
    first = number - number % BURST
    time = failures.time[first] + (number - first) * BURST_STEP
    return _arranged(failures, np.minimum(time, failures.span - 1), failures.node[first])


def _arranged(
    failures: fs.Failures, time: npt.NDArray[np.int64], node: npt.NDArray[np.int64]
) -> fs.Failures:
    order = np.lexsort((node, time))
    return replace(
        failures,
        time=time[order],
        node=node[order],
        downtime=np.full(len(time), -1),
        detectability=np.full(len(time), np.nan),
    )


@dataclass(frozen=True)
class Character:
    """What the paper's Table 1 tells of a job log, and which jobs these are.

    Sizes in nodes, run times in s, `longest` in hours, `days` from the first submission to the
    last, `survival` see there. `jobs` counts all; those that ran 0 s cannot be played (`empty`).
    """

    log: str
    jobs: int
    empty: int
    first_id: int
    last_id: int
    mean_size: float
    mean_runtime: float
    longest: float
    days: float
    survival: float
    paper: tuple[float, float, float]


PAPER_TABLE_1: Final = {
    NASA: (6.3, 381.0, 12.0),
    REBUILT: (6.3, 381.0, 12.0),
    **dict.fromkeys((SDSC, UNCUT, GENERATED), (9.7, 7722.0, 132.0)),
}


def characters(inputs: Inputs) -> list[Character]:
    """Return Table 1: what each log is like, beside what the paper says of its own."""
    return list(_characters(inputs))


def _characters(inputs: Inputs) -> Iterator[Character]:
    for name, jobs in inputs.jobs.items():
        yield Character(
            name,
            len(jobs),
            int((jobs.runtime == 0).sum()),
            int(jobs.job[0]),
            int(jobs.job[-1]),
            float(jobs.size.mean()),
            float(jobs.runtime.mean()),
            float(jobs.runtime.max()) / 3600,
            float(jobs.submit[-1] - jobs.submit[0]) / DAY,
            survival(jobs),
            PAPER_TABLE_1[name],
        )


@dataclass(frozen=True)
class Bursts:
    """How failures come: the share that follows another within ten minutes, on any node; the
    variance of the daily counts over their mean (1 where failures come without any pattern); and
    the same of the counts of the nodes."""

    close: float
    daily: float
    nodes: float


def bursts(failures: fs.Failures) -> Bursts:
    """Return how far the failures come in bursts, and how unlike the nodes are."""
    close = float((np.diff(failures.time) <= 600).mean())
    daily = np.bincount(failures.time // DAY, minlength=failures.span // DAY)
    nodes = np.bincount(failures.node, minlength=NODES)
    return Bursts(close, float(daily.var() / daily.mean()), float(nodes.var() / nodes.mean()))


def survival(jobs: fs.Jobs, accuracy: float = 0.0, *, by_work: bool = True) -> float:
    """Return the share of jobs, or of their work, that no failure above the accuracy would strike
    if failures came without pattern at the log's rate.

    With w = e n in node-seconds and rate (1 - accuracy) times that of a node's failures it is
    the mean of exp(-rate w), by work the sum of w exp(-rate w) over that of w.
    """
    work = (jobs.runtime * jobs.size)[jobs.runtime > 0].astype(np.float64)
    rate = (1 - accuracy) * FAILURES / (DAYS * DAY * NODES)
    weights = work if by_work else np.ones_like(work)
    return float((weights * np.exp(-rate * work)).sum() / weights.sum())
