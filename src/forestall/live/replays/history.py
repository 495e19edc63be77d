"""What ran on each node, as a ledger's cycles tell: when, of which size, and whether it was lost
with the node.

Known are jobs with nodes of their own; those that shared nodes are not told to an engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from forestall.core.model.events import EventKind
from forestall.core.model.nodes import NodeSet
from forestall.live.ledger.failures import WITH_IT
from forestall.live.ledger.rows import CycleRow
from forestall.live.replays.recorded import Recorded, moment_of

_K = EventKind
_ENDS: Final = frozenset(
    kind.name.lower() for kind in (_K.FINISHED, _K.FAILED, _K.CANCELLED, _K.REQUEUED)
)
_STARTED: Final = _K.STARTED.name.lower()
_FINISHED: Final = _K.FINISHED.name.lower()
_DRAINED: Final = _K.NODE_DRAINED.name.lower()
_AWAY: Final = (_K.NODE_FAILED.name.lower(), _DRAINED)
_BACK: Final = _K.NODE_RECOVERED.name.lower()


class NodeRun(NamedTuple):
    """A run of a job, told of one of its nodes: from when to when, s since 1970, of how many nodes,
    and whether it finished."""

    start: int
    end: int
    size: int
    finished: bool


class OpenRun(NamedTuple):
    """A run that goes on: since when, until when by its limit (s since 1970), on which nodes."""

    start: int
    until: int
    nodes: tuple[str, ...]


@dataclass
class NodeHistory:
    """Takes in cycles, one after the other.

    Attributes
    ----------
    names : of the nodes of the run of the controller, in the engine's order
    running : by the job's number in the engine
    away : nodes that take no jobs
    runs : that are over, oldest first, by the node's name
    drained : when each node was taken out of service, by whomever, s since 1970, oldest first
    continues : whether the run of the controller went on from an engine that knew all this
    """

    recorded: Recorded
    names: tuple[str, ...] = ()
    running: dict[int, OpenRun] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    runs: dict[str, list[NodeRun]] = field(default_factory=dict)
    drained: dict[str, list[int]] = field(default_factory=dict)
    continues: bool = False
    _run: int = 0
    _before: dict[tuple[str, ...], OpenRun] = field(default_factory=dict)

    def take(self, row: CycleRow) -> None:
        """Take in a cycle. Raises LedgerError for damage."""
        with self.recorded.damage(f"cycle {row.number}"):
            begins = row.run != self._run
            if begins:
                self._begin(row.run)
            for one in row.events["events"]:
                self._event(one)
            if begins:  # what a new engine is not told of ran until then
                for gone in self._before.values():
                    self._over(gone, moment_of(row.events), finished=True)
                self._before = {}

    def _begin(self, run: int) -> None:
        """Go over to another run of the controller, in which jobs have other numbers."""
        self._run, self.names = run, self.recorded.nodes(run)
        self._before = {one.nodes: one for one in self.running.values()}
        self.running, engine = {}, self.recorded.engine(run)
        for job in range(engine.jobs):
            if engine.job_state(job) == "RUNNING":
                nodes = tuple(self.names[k] for k in engine.nodes_of(job).tolist())
                start, end = (int(engine.field(job, name)) for name in ("start", "end"))
                self._open(job, OpenRun(start, end, nodes))
        self.continues = bool(self.running)
        # A new engine knows of no node that is away, and is told anew.
        self.away = {name for k, name in enumerate(self.names) if engine.node_state(k) != "UP"}

    def _open(self, job: int, run: OpenRun) -> None:
        before = self._before.pop(run.nodes, None)
        self.running[job] = run if before is None else run._replace(start=before.start)

    def _event(self, one: Mapping[str, Any]) -> None:
        kind, key = one["kind"], int(one["key"])
        if kind in _ENDS and key in self.running:
            self._over(self.running.pop(key), int(one["time"]), finished=kind == _FINISHED)
        elif kind == _STARTED:
            start, numbers = int(one["time"]), NodeSet.parse(str(one.get("nodes", "")))
            before = self.running.get(key)  # another limit of the same run
            start = start if before is None else before.start
            nodes = tuple(self.names[k] for k in numbers)
            self._open(key, OpenRun(start, int(one.get("until", start)), nodes))
        elif kind in _AWAY:
            name = self.names[key]
            self.away.add(name)
            if kind == _DRAINED and "until" not in one:  # not: jobs share it until then
                self.drained.setdefault(name, []).append(int(one["time"]))
        elif kind == _BACK:
            self.away.discard(self.names[key])

    def _over(self, run: OpenRun, end: int, *, finished: bool) -> None:
        for name in run.nodes:
            told = NodeRun(run.start, end, len(run.nodes), finished)
            self.runs.setdefault(name, []).append(told)

    def close(self, now: int) -> None:
        """Let what goes on end now."""
        for one in self.running.values():
            self._over(one, now, finished=True)
        self.running = {}


def lost_with(run: NodeRun, failed: int) -> bool:
    """Whether a run was lost with a failure of a node of it."""
    return not run.finished and failed - WITH_IT <= run.end <= failed
