"""When nodes failed, by the events of a ledger's cycles, and whether a job was lost with one.

Only what is new is read each time. A node that is still down when a controller begins anew has not
failed again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple

from forestall.core.model.events import EventKind
from forestall.core.model.nodes import NodeSet
from forestall.live.ledger.rows import CycleRow, RunRow
from forestall.live.ledger.store import LiveLedger
from forestall.scheduling.engine.engine import Engine

_FAILED, _BACK, _DRAINED, _STARTED = (
    kind.name.lower()
    for kind in (
        EventKind.NODE_FAILED, EventKind.NODE_RECOVERED, EventKind.NODE_DRAINED, EventKind.STARTED,
    )
)  # fmt: skip
_ENDS: Final = frozenset(
    kind.name.lower()
    for kind in (
        EventKind.FINISHED, EventKind.FAILED, EventKind.CANCELLED, EventKind.REQUEUED,
    )
)  # fmt: skip
_LOST: Final = _ENDS - {EventKind.FINISHED.name.lower()}
"""One that waits for its time after it was queued again is told as cancelled."""
_CHUNK: Final = 1000
WITH_IT: Final = 600
"""s before a node is seen to have failed within which a job of it that did not finish was lost with
it: Slurm tells of the node only after its jobs."""


class NodeFailure(NamedTuple):
    """A failure that was seen: when, s since 1970; in which cycle and run; the node's number in
    the engine of that run."""

    at: int
    cycle: int
    run: int
    number: int


@dataclass
class LedgerFailures:
    """All failures of nodes that a ledger tells of; `until` is the moment of the last cycle that
    was read, s since 1970 (0: none)."""

    ledger: LiveLedger
    until: int = 0
    _seen: dict[str, list[NodeFailure]] = field(default_factory=dict)
    _down: set[str] = field(default_factory=set)
    _names: dict[int, list[str]] = field(default_factory=dict)
    _read: int = 0
    _run: int = 0

    def read(self) -> None:
        """Read what is new. Raises LedgerError."""
        upto = self.ledger.count(CycleRow)
        if upto == self._read:
            return
        for row in self.ledger.cycles_telling(_FAILED, _BACK, after=self._read, upto=upto):
            self._take(row)
        last = self.ledger.one(CycleRow, upto)
        self.until = self.until if last is None else last.at
        self._read = upto

    def _take(self, row: CycleRow) -> None:
        again = frozenset(self._down) if row.run != self._run and self._begins(row) else frozenset()
        self._run = row.run
        names = self.names(row.run)
        for one in row.events["events"]:
            if one["kind"] not in (_FAILED, _BACK) or not 0 <= one["key"] < len(names):
                continue
            name = names[one["key"]]
            if one["kind"] == _BACK:
                self._down.discard(name)
                continue
            self._down.add(name)
            if name not in again:
                failure = NodeFailure(int(one["time"]), row.number, row.run, int(one["key"]))
                self._seen.setdefault(name, []).append(failure)

    def _begins(self, row: CycleRow) -> bool:
        """Whether a cycle is the first of its run."""
        before = self.ledger.one(CycleRow, row.number - 1)
        return before is None or before.run != row.run

    def names(self, run: int) -> list[str]:
        """Return the names of the nodes of a run, in the engine's order."""
        if run not in self._names:
            row = self.ledger.one(RunRow, run)
            self._names[run] = [] if row is None else [str(name) for name in row.snapshot["nodes"]]
        return self._names[run]

    @property
    def count(self) -> int:
        """Return how many were seen."""
        return sum(map(len, self._seen.values()))

    def first(self, node: str, since: int, before: int) -> NodeFailure | None:
        """Return a node's first failure in [since, before), None where none was seen."""
        seen = self._seen.get(node, [])
        k = bisect_left(seen, since, key=lambda one: one.at)
        return seen[k] if k < len(seen) and seen[k].at < before else None

    def took_a_job(self, failure: NodeFailure) -> bool:
        """Whether a job was lost with a failure; also where that cannot be told, since the node was
        shared or the job's end was not seen. Raises LedgerError."""
        ends: dict[int, tuple[str, int]] = {}
        since_back = True
        for one in self._back(failure):
            if one["kind"] == _STARTED:
                if failure.number in NodeSet.parse(str(one.get("nodes", ""))):
                    return _lost(ends.get(one["key"]), failure)
            elif one["kind"] in _ENDS:
                ends[one["key"]] = one["kind"], one["time"]
            elif one["key"] == failure.number:
                if one["kind"] == _DRAINED and one.get("until", -1) >= 0 and since_back:
                    return True  # jobs shared it, of which the engine is not told
                since_back = since_back and one["kind"] != _BACK
        return self._had_one(failure, ends)

    def _back(self, failure: NodeFailure) -> Iterator[dict[str, Any]]:
        """Yield the events of a run from the cycle of a failure back to the run's first."""
        upto = failure.cycle
        while upto > 0:
            after = max(upto - _CHUNK, 0)
            rows = list(islice(self.ledger.read(CycleRow, after=after), upto - after))
            for row in reversed(rows):
                if row.run != failure.run:
                    return
                yield from reversed(row.events["events"])
            upto = after

    def _had_one(self, failure: NodeFailure, ends: dict[int, tuple[str, int]]) -> bool:
        """Whether a job was lost that ran when the run began: a run that goes on from another one
        is not told again of what runs."""
        row = self.ledger.one(RunRow, failure.run)
        if row is None:
            return True
        engine = Engine.restore(row.snapshot["engine"])
        for job in range(engine.jobs):
            if engine.job_state(job) == "RUNNING" and failure.number in engine.nodes_of(job):
                return _lost(ends.get(job), failure)
        return False


def _lost(end: tuple[str, int] | None, failure: NodeFailure) -> bool:
    """Whether a run with such an end, None: no end that was told, was lost with a failure."""
    return end is None or (end[0] in _LOST and end[1] >= failure.at - WITH_IT)
