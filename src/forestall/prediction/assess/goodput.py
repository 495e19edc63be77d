"""Goodput of all runs and what took the rest, by the names of Google's goodput library.

Goodput is productive time over the time that jobs took, waits for a restart within it. The names
are those of ``BadputType`` in ml-goodput-measurement (AI-Hypercomputer, Apache 2.0), which reads
them from what a training program logs. Accounting sees jobs from outside: it can tell four of them,
three under assumptions, and says why not where it cannot.

Intervals come from drawing whole weeks (or days) anew, as in `forestall.prediction.assess.panel`:
runs of one week share their failures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.prediction.assess.losses import after_checkpoint, exact_sums
from forestall.prediction.assess.panel import WEEK, RedrawnEstimate, estimate, week_weights
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.run_ends import (
    CAUSES,
    CHUNK,
    INTERRUPTIONS,
    KEPT,
    Ends,
    cause,
    following,
)

Short = npt.NDArray[np.int32]
Codes = npt.NDArray[np.int8]

DAY: Final = 86_400
FEWEST_WEEKS: Final = 8
"""Records of fewer weeks are drawn anew by days."""
DRAWS: Final = 1000

_INSIDE: Final = "accounting does not see what a program does inside its run"


@dataclass(frozen=True)
class TimeShare:
    """One kind of time.

    Attributes
    ----------
    name : the library's name, in lower case; ``total`` is its GoodputType
    label : in words
    rule : how it is told here; "" where it cannot be
    why : why it cannot be told; "" where it can
    """

    name: str
    label: str
    rule: str
    why: str = ""


SHARES: Final = (
    TimeShare("total", "productive",
          "all other time of runs that were not stopped or have kept it"),
    TimeShare("wasted_progress_from_disruption", "wasted progress from disruption",
          "time since the last assumed checkpoint of runs that were stopped from outside (node "
          "failure, node taken down, preemption, requeue, boot or launch failure, canceled by "
          "another)"),
    TimeShare("infrastructure_recovery_from_disruption", "infrastructure recovery from disruption",
          "time from the end of such a run to the start of the same job's next run, on as many "
          "nodes"),
    TimeShare("unproductive_checkpoint_save_time", "unproductive checkpoint save time",
          "the assumed cost of every assumed checkpoint"),
    TimeShare("unproductive_checkpoint_restore_time", "unproductive checkpoint restore time",
          "the assumed time of a restart, in every run of a job but its first"),
    TimeShare("tpu_initialization", "accelerator initialization", "", _INSIDE),
    TimeShare("training_prep", "training preparation", "", _INSIDE),
    TimeShare("program_startup", "program startup", "", _INSIDE),
    TimeShare("data_loading_sync", "data loading that blocks", "", _INSIDE),
    TimeShare("data_loading_async", "data loading beside the work", "", _INSIDE),
    TimeShare("custom_badput_events", "custom badput events", "",
          "only a program can name events of its own"),
    TimeShare("other", "other",
          "time since the last assumed checkpoint of runs that ended by themselves, their user "
          "or their limits: failed, out of memory, time limit, deadline, canceled"),
)  # fmt: skip
"""In the order of `Goodput.node_seconds`."""
NAMES: Final = tuple(share.name for share in SHARES)
TOLD: Final = tuple(share.name for share in SHARES if not share.why)


@dataclass(frozen=True)
class Blocks:
    """Weeks or days that are drawn anew.

    Attributes
    ----------
    begin, size : s; block k is [begin + k size, begin + (k + 1) size), the last one longer by what
        does not fill another
    count : number of blocks
    """

    begin: int
    size: int
    count: int

    @classmethod
    def over(cls, begin: int, until: int) -> Blocks:
        """Return weeks, or days where there are fewer than `FEWEST_WEEKS`."""
        span = max(until - begin, 1)
        size = WEEK if span >= FEWEST_WEEKS * WEEK else DAY
        return cls(begin, size, max(span // size, 1))

    @property
    def word(self) -> str:
        """What a block is."""
        return "week" if self.size == WEEK else "day"

    def of(self, time: Ints) -> Ints:
        """Return the block of each time; those outside are in the first or last."""
        return np.clip((time - self.begin) // self.size, 0, self.count - 1)

    def sums(self, time: Ints, value: Ints) -> Ints:
        """Return the exact sums of values >= 0 by the block of their time, int64[count]."""
        return exact_sums(self.of(time), value, self.count)

    def weights(self, rng: np.random.Generator) -> Floats:
        """Return how often each block is drawn, float64[DRAWS, count]."""
        return week_weights(self.count, DRAWS, rng)


def ratio(
    over: Ints, under: Ints, weights: Floats, level: float, *, flat: bool = False
) -> RedrawnEstimate:
    """Return the ratio of two sums over blocks (int64[blocks]) with an interval, `flat` where it
    may have no width; see `uncertain`."""
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (weights @ over.astype(np.float64)) / (weights @ under.astype(np.float64))
    whole = int(under.sum())
    value = int(over.sum()) / whole if whole else np.nan
    found = estimate(value, draws, level, weights.shape[1])
    return found if flat else uncertain(found)


def uncertain(found: RedrawnEstimate) -> RedrawnEstimate:
    """Return a number without its interval where that has no width: blocks that are all alike do
    not tell how others would differ."""
    if found.high > found.low:
        return found
    return RedrawnEstimate(found.value, np.nan, np.nan, found.draws, found.blocks)


@dataclass(frozen=True)
class Assumed:
    """Checkpoints that runs are taken to make.

    Attributes
    ----------
    interval : s of work between two, at least 1
    cost, restart : s that a checkpoint and a restart take
    """

    interval: int
    cost: int
    restart: int

    def __post_init__(self) -> None:
        if self.interval < 1:
            raise ParameterError("checkpoint_interval", self.interval, "at least 1 s")
        for name in ("cost", "restart"):
            if getattr(self, name) < 0:
                raise ParameterError(name, getattr(self, name), "at least 0 s")


@dataclass(frozen=True)
class Parts:
    """What the seconds of each run went into, int64[n] each; they add up to `Accounting.elapsed`.

    Attributes
    ----------
    restore, save, lost, kept : restarts, checkpoints, work since the last checkpoint of a run that
        was stopped, and the rest
    """

    restore: Ints
    save: Ints
    lost: Ints
    kept: Ints


def parts(elapsed: Ints, attempt: Short, stopped: Bools, assumed: Assumed) -> Parts:
    """Return what runs spent their time on, where checkpoints are as assumed.

    A run after a requeue (`attempt` above 0) begins with a restart; then it works `interval` and
    saves for `cost` in turn. Of runs in `stopped` the time since the last checkpoint was complete
    is lost: all where there is none, else half of interval and cost together, the mean; see
    `after_checkpoint`.
    """
    restore = np.where(attempt > 0, np.minimum(elapsed, assumed.restart), 0)
    work = elapsed - restore
    period = assumed.interval + assumed.cost
    save = work // period * assumed.cost
    # Where saving takes longer than working, half a period can be more than was worked.
    lost = np.where(stopped, np.minimum(after_checkpoint(work, period), work - save), 0)
    return Parts(restore, save, lost, work - save - lost)


def among(causes: Codes, names: tuple[str, ...]) -> Bools:
    """Return which runs ended for one of these causes, bool[n]."""
    return np.asarray(np.isin(CAUSES, names)[causes])


def stopped_from_outside(causes: Codes) -> Bools:
    """Return which runs an interruption ended, bool[n]."""
    return among(causes, INTERRUPTIONS)


@dataclass(frozen=True)
class Goodput:
    """Where the node-time of jobs went.

    Attributes
    ----------
    node_seconds : by name; None where accounting cannot tell
    share : of `whole`, with intervals, for the names that can be told
    whole : node-seconds of runs whose end is told, and of waits for restarts; the sum of all told
    runs : number of these runs
    bare : the share of runs that completed or still run, all of it: the goodput without any
        checkpoint
    restarts : waits for a restart in `whole`
    unknown_runs, unknown_node_seconds : runs whose end is not told: left aside
    blocks : what was drawn anew for the intervals
    assumed : the checkpoints
    """

    node_seconds: dict[str, int | None]
    share: dict[str, RedrawnEstimate]
    whole: int
    runs: int
    bare: RedrawnEstimate
    restarts: int
    unknown_runs: int
    unknown_node_seconds: int
    blocks: Blocks
    assumed: Assumed


def goodput(
    records: Accounting,
    assumed: Assumed,
    rng: np.random.Generator,
    *,
    window: tuple[int, int],
    level: float = 0.95,
    ends: Ends | None = None,
) -> Goodput:
    """Return the goodput of all runs whose end is told, and of those still running.

    Parameters
    ----------
    rng : for the intervals
    window : [begin, until), which is cut into weeks
    ends : how these runs ended, where that is known already
    """
    found = Ends.of(records) if ends is None else ends
    why = found.causes
    blocks = Blocks.over(*window)
    sums = {name: np.zeros(blocks.count, dtype=np.int64) for name in (*TOLD, "bare")}
    unknown = 0
    for low in range(0, len(records), CHUNK):
        rows = slice(low, low + CHUNK)
        unknown += _add(sums, records, found, rows, blocks, assumed)
    number = np.bincount(why, minlength=len(CAUSES))
    runs = len(records) - int(number[cause("unknown_end")] + number[cause("never_started")])
    earlier, later = _restarts(records, found)
    waited = np.maximum(records.nodes[earlier], 0) * restart_waits(records, earlier, later)
    sums["infrastructure_recovery_from_disruption"] += exact_sums(
        blocks.of(records.start[earlier]), waited, blocks.count
    )
    bare = sums.pop("bare")
    whole = np.sum(list(sums.values()), axis=0)
    weights = blocks.weights(rng)
    return Goodput(
        {name: int(sums[name].sum()) if name in sums else None for name in NAMES},
        {name: ratio(sums[name], whole, weights, level) for name in TOLD},
        int(whole.sum()),
        runs,
        ratio(bare, whole, weights, level),
        len(earlier),
        int(number[cause("unknown_end")]),
        unknown,
        blocks,
        assumed,
    )


def _add(
    sums: dict[str, Ints],
    records: Accounting,
    ends: Ends,
    rows: slice,
    blocks: Blocks,
    assumed: Assumed,
) -> int:
    """Add what some runs spent their time on, in place; return the node-seconds of those of them
    whose end is not told."""
    causes, elapsed = ends.causes[rows], ends.elapsed[rows]
    kept = among(causes, KEPT)
    outside = stopped_from_outside(causes)
    spent = parts(elapsed, records.attempt[rows], ~kept, assumed)
    nodes = np.maximum(records.nodes[rows], 0).astype(np.int64)
    nobody = causes == cause("unknown_end")
    untold = int((nodes[nobody] * elapsed[nobody]).sum())
    # Runs that never started took no time, and those whose end is not told count for nothing.
    nodes[nobody] = 0
    block = blocks.of(records.start[rows])
    for name, seconds in (
        ("total", spent.kept),
        ("wasted_progress_from_disruption", np.where(outside, spent.lost, 0)),
        ("unproductive_checkpoint_save_time", spent.save),
        ("unproductive_checkpoint_restore_time", spent.restore),
        ("other", np.where(outside, 0, spent.lost)),
        ("bare", np.where(kept, elapsed, 0)),
    ):
        sums[name] += exact_sums(block, nodes * seconds, blocks.count)
    return untold


def _restarts(records: Accounting, ends: Ends) -> tuple[Ints, Ints]:
    """Return the runs that were stopped from outside and followed by another of the same job, and
    those that follow them."""
    earlier, later = following(records, ends.again)
    stopped = stopped_from_outside(ends.causes[earlier])
    return earlier[stopped], later[stopped]


def restart_waits(records: Accounting, earlier: Ints, later: Ints) -> Ints:
    """Return the s from the end of each run to the start of the one that follows it; up to when
    that one was given up, or to the end of the records, where it has not started."""
    next_start = np.where(records.start[later] < NEVER, records.start[later], records.end[later])
    next_start = np.minimum(next_start, records.until)
    waits = next_start - np.minimum(records.end[earlier], records.until)
    return np.asarray(np.maximum(waits, 0))
