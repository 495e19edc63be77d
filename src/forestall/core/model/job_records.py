"""Jobs as an accounting system recorded them: which nodes, from when to when, with what end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from forestall.core.model.arrays import Bools, Ints, brief_repr
from forestall.core.model.cleaning import Cleaning

NEVER: Final = int(np.iinfo(np.int64).max)
"""The start of a job that never started, the end of one that had not ended: after every time."""

UNKNOWN_CORES: Final = -1

FINAL_STATES: Final = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REVOKED",
        "TIMEOUT",
    }
)
"""States of Slurm in which a job has ended. All others (RUNNING, PENDING, a word that is not
Slurm's, none at all) leave open how it ended."""


@dataclass(frozen=True)
class JobRecords:
    """Records in order of start, those of one second as the source has them.

    Attributes
    ----------
    job : ids as text; a job that was queued again has several records
    start, end : int64[n], seconds since the trace's epoch, `NEVER` where it did not happen
    state : as the source has it, such as ``CANCELLED by 1001``; "" where it has none
    offsets : int64[n + 1]; the nodes of record k are node[offsets[k] : offsets[k + 1]]
    node : int64[m], node numbers from 0, ascending within a record
    cores : int64[n], processors of the whole job, -1 where not known
    nodes : number of nodes of the machine, as far as the source says
    node_names : names of the nodes by number, where the source has names
    origin : Unix seconds of time 0, None where the source has no dates
    source, cleaning : where it came from; what was left out or changed on reading
    """

    job: tuple[str, ...]
    start: Ints
    end: Ints
    state: tuple[str, ...]
    offsets: Ints
    node: Ints
    cores: Ints
    nodes: int
    node_names: tuple[str, ...] | None = None
    origin: int | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        lengths = {len(self.job), len(self.start), len(self.end), len(self.state), len(self.cores)}
        assert lengths == {len(self.offsets) - 1}, f"columns of unlike lengths: {lengths}"
        assert int(self.offsets[0]) == 0, "offsets do not begin with 0"
        assert int(self.offsets[-1]) == len(self.node), "offsets do not fit the nodes"
        assert bool(np.all(np.diff(self.offsets) >= 0)), "offsets descend"
        assert bool(np.all(np.diff(self.start) >= 0)), "records are not in order of start"
        assert bool(np.all(self.end >= self.start)), "a job that ends before it starts"
        assert int(self.node.max(initial=-1)) < self.nodes, "a node beyond the machine"

    def __len__(self) -> int:
        return len(self.job)

    @property
    def size(self) -> Ints:
        """Nodes of each job, int64[n]."""
        return np.diff(self.offsets)

    @property
    def ran(self) -> Bools:
        """Whether start, end and nodes of a job are known, bool[n]."""
        return (self.end < NEVER) & (self.start < NEVER) & (self.size > 0)

    @property
    def elapsed(self) -> Ints:
        """Seconds from start to end, int64[n], -1 where a job did not start or end."""
        known = (self.end < NEVER) & (self.start < NEVER)
        return np.where(known, np.where(known, self.end, 0) - np.where(known, self.start, 0), -1)

    def nodes_of(self, k: int) -> Ints:
        """Return the nodes of the record at position k."""
        return self.node[self.offsets[k] : self.offsets[k + 1]]

    def owner(self) -> Ints:
        """Return the position of the record that each entry of `node` belongs to, int64[m]."""
        return np.repeat(np.arange(len(self)), self.size)

    def base(self) -> tuple[str, ...]:
        """Return the states without what stands beside them: CANCELLED of ``CANCELLED by 7``."""
        return tuple(base_state(state) for state in self.state)

    def completed(self, states: Iterable[str] = ("COMPLETED",)) -> Bools:
        """Return which jobs ended well, bool[n]: those whose state is one of these."""
        return self._among(states)

    def failed(
        self,
        success: Iterable[str] = ("COMPLETED",),
        failure: Iterable[str] | None = None,
    ) -> Bools:
        """Return which jobs ended badly, bool[n].

        `success` are the states of a good end, `failure` those of a bad one (default: all other
        `FINAL_STATES`). A job in neither is unknown: in neither of the two arrays. A job that was
        cancelled before it started is among the failed; see `ran`.
        """
        good = {base_state(state) for state in success}
        bad = FINAL_STATES if failure is None else {base_state(state) for state in failure}
        return self._among(bad - good)

    def counts(self) -> dict[str, int]:
        """Return how many jobs ended in each state, the most frequent first."""
        counted: dict[str, int] = {}
        for state in self.base():
            counted[state] = counted.get(state, 0) + 1
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def take(self, index: Ints | Bools) -> JobRecords:
        """Return the records at these positions (ascending) or where the mask holds."""
        where = np.flatnonzero(index) if index.dtype == np.bool_ else index
        size = self.size[where]
        offsets = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
        first = np.repeat(self.offsets[where] - offsets[:-1], size)
        return replace(
            self,
            job=tuple(self.job[k] for k in where.tolist()),
            start=self.start[where],
            end=self.end[where],
            state=tuple(self.state[k] for k in where.tolist()),
            offsets=offsets,
            node=self.node[first + np.arange(len(first))],
            cores=self.cores[where],
        )

    def moved(self, seconds: int) -> JobRecords:
        """Return the same on a clock that shows `seconds` more."""
        return replace(
            self,
            start=np.where(self.start < NEVER, self.start + seconds, NEVER),
            end=np.where(self.end < NEVER, self.end + seconds, NEVER),
            origin=None if self.origin is None else self.origin - seconds,
        )

    def _among(self, states: Iterable[str]) -> Bools:
        wanted = {base_state(state) for state in states}
        return np.fromiter((base in wanted for base in self.base()), np.bool_, len(self))


def base_state(state: str) -> str:
    """Return a state's first word in capitals, without marks such as Slurm's ``+``.

    >>> base_state("cancelled by 1001"), base_state("CANCELLED+")
    ('CANCELLED', 'CANCELLED')
    """
    words = state.split()
    return words[0].rstrip("+*").upper() if words else ""
