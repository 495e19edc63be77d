"""What accounting recorded of jobs: every run of every job, requeued runs as well."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints, brief_repr, taken
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER, base_state
from forestall.slurm.records.task_lists import array_of

Short = npt.NDArray[np.int32]

UNKNOWN: Final = -1
"""Stands for a whole number that is not recorded."""
UNLIMITED: Final = NEVER
"""The time limit of a job that has none."""
_UNTOLD: Final = np.empty(0, np.int64)
_UNTOLD_SHORT: Final = np.empty(0, np.int32)


@dataclass(frozen=True)
class Accounting:
    """Runs of jobs in order of (submit, job, attempt). Times are Unix seconds where `dated`, else
    seconds since the trace's epoch; `NEVER` is the time of what has not happened.

    Attributes
    ----------
    job : int64[n], ids as recorded (of an array's task its own, `task` while it waits for one);
        the same id can stand for different jobs where a database was reset
    which : int64[n], which job a run belongs to: jobs are numbered from 0 by their first run
    attempt : int32[n], 0 for the first run of a job, 1 for the one after its first requeue
    submit, eligible, start, end : int64[n]; `eligible` is when the job could first start
        (UNKNOWN if not recorded)
    suspended : int64[n], seconds of [start, end) in which the job was suspended (0 if not recorded)
    limit : int64[n], requested time, s; UNKNOWN or UNLIMITED
    nodes, asked : int32[n], nodes that the run had (0: it had none; UNKNOWN), and that were asked
        for
    cpus, gpus : int32[n], of the whole run; UNKNOWN if not recorded
    exit_code, signal : int32[n]; UNKNOWN if not recorded
    state : raw, such as ``CANCELLED by 1001``
    reason : why it last waited, raw
    user, account, partition, qos, name : as recorded (a partition may be a list with commas)
    nodelist : hosts of the run as a hostlist, as recorded
    excluded : hosts that the user excluded, as a hostlist
    failed_node : the host whose failure ended the run, where it is recorded
    task : int64[n], `task_lists.task_id` of a task of an array; UNKNOWN for other jobs
    at_once : int32[n], tasks of the array that run at once at most; UNKNOWN without a limit
    het : int64[n], the heterogeneous job of which a run is a component; UNKNOWN for other jobs
    memory : int32[n], MiB of the whole run, or that it asks for; UNKNOWN if not recorded
    begin, until : the time that the records cover, [begin, until)
    dated : whether times are Unix seconds
    machine_nodes, cores_per_node : of the whole machine; None if not recorded
    source, cleaning : where it came from; what was left out, changed or found odd
    """

    job: Ints
    which: Ints
    attempt: Short
    submit: Ints
    eligible: Ints
    start: Ints
    end: Ints
    suspended: Ints
    limit: Ints
    nodes: Short
    asked: Short
    cpus: Short
    gpus: Short
    exit_code: Short
    signal: Short
    state: Coded
    reason: Coded
    user: Coded
    account: Coded
    partition: Coded
    qos: Coded
    name: Coded
    nodelist: Coded
    excluded: Coded
    failed_node: Coded
    begin: int
    until: int
    dated: bool = True
    machine_nodes: int | None = None
    cores_per_node: int | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)
    task: Ints = field(default_factory=lambda: _UNTOLD)
    at_once: Short = field(default_factory=lambda: _UNTOLD_SHORT)
    het: Ints = field(default_factory=lambda: _UNTOLD)
    memory: Short = field(default_factory=lambda: _UNTOLD_SHORT)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for name in ("task", "at_once", "het", "memory"):
            column = getattr(self, name)
            if column is _UNTOLD or column is _UNTOLD_SHORT:
                object.__setattr__(self, name, np.full(len(self.job), UNKNOWN, column.dtype))
        lengths = {name: len(getattr(self, name)) for name in COLUMNS}
        assert len(set(lengths.values())) == 1, f"columns of unlike lengths: {lengths}"
        assert bool(np.all(np.diff(self.submit) >= 0)), "runs are not in order of submit"
        assert bool(np.all((self.end >= self.start) | (self.start == NEVER))), (
            "a run that ends before it starts"
        )

    def __len__(self) -> int:
        return len(self.job)

    @property
    def ran(self) -> Bools:
        """Whether a run started and ended, bool[n]."""
        return (self.start < NEVER) & (self.end < NEVER)

    @property
    def running(self) -> Bools:
        """Whether a run had started but not ended, bool[n]."""
        return np.asarray((self.start < NEVER) & (self.end == NEVER))

    @property
    def array(self) -> Ints:
        """The array of each task, int64[n]; UNKNOWN for other jobs."""
        return array_of(self.task)

    @property
    def elapsed(self) -> Ints:
        """Seconds from start to end, those of suspension off; up to `until` where a run had not
        ended, 0 where it had not started; int64[n]."""
        end = np.where(self.end < NEVER, self.end, self.until)
        # A start of NEVER lies beyond any end.
        return np.asarray(np.maximum(end - self.start - self.suspended, 0))

    @property
    def wait(self) -> Ints:
        """Seconds from when a run could first start to its start, int64[n]; UNKNOWN where it did
        not start."""
        ready = np.where(self.eligible >= 0, np.maximum(self.eligible, self.submit), self.submit)
        ready = np.minimum(ready, self.start)
        return np.where(self.start < NEVER, self.start - ready, UNKNOWN)

    @property
    def node_seconds(self) -> Ints:
        """Work units of each run: nodes times `elapsed`, int64[n]; 0 where nodes are unknown."""
        return np.maximum(self.nodes, 0).astype(np.int64) * self.elapsed

    def base(self) -> Coded:
        """Return the states without what stands beside them: CANCELLED of ``CANCELLED by 7``."""
        return self.state.mapped([base_state(word) or word for word in self.state.words])

    def take(self, index: Ints | Bools) -> Accounting:
        """Return the runs at these positions (ascending) or where the mask holds."""
        return taken(self, index, *COLUMNS)


COLUMNS: Final = tuple(
    one.name for one in fields(Accounting) if one.type in ("Ints", "Short", "Coded")
)
"""Names of the columns."""
