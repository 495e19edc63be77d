"""What another rule or predictor would have decided, told the same of the cluster.

The cluster's answers are those that were recorded: jobs ran where they ran, nodes failed when they
failed. So the first decisions of a job are what would have been decided; what follows on them is
not, since the cluster would have answered otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from forestall.core.model.decisions import DecisionKind
from forestall.core.model.events import Event, EventKind
from forestall.core.model.live.canonical import canonical
from forestall.core.model.nodes import NodeSet
from forestall.live.ledger.rows import CycleRow
from forestall.live.replays.forecasts import BACK, FAILED, ReplayForecasts
from forestall.live.replays.recorded import Recorded, RecordedPromise, moment_of
from forestall.live.replays.same import PlayedAgain, Progress, decided
from forestall.live.slurm.mind import played
from forestall.live.slurm.outlook import RESERVED, foretold
from forestall.live.slurm.reconcile import CHECKED
from forestall.prediction.watching.foreseen import NodeForecast, joined
from forestall.scheduling.engine.engine import Engine

RESERVE = DecisionKind.RESERVE.name.lower()


@dataclass(frozen=True)
class EngineChange:
    """What is otherwise: the least probability that jobs of which nobody asked are placed for, and
    who foresees failures. None: as it was."""

    wanted: float | None = None
    forecasts: ReplayForecasts | None = None


@dataclass(frozen=True)
class JobPlacedOtherwise:
    """A job's first place, as it was decided and as it would have been (None: it had none).

    `job` is Slurm's number.
    """

    cycle: int
    at: int
    job: int
    was: Mapping[str, Any] | None
    other: Mapping[str, Any] | None


@dataclass(frozen=True)
class SaidOtherwise:
    """A promise, and with which probability the engine holds that deadline, as it was and as it
    would have been (None: it would have promised nothing by then)."""

    promise: RecordedPromise
    was: float | None
    other: float | None

    @property
    def changed(self) -> bool:
        """Whether another probability would have been said, or none."""
        if self.was is None or self.other is None:
            return self.was is not self.other
        return abs(self.was - self.other) > 1e-9


@dataclass
class OtherPlayed:
    """What both engines came to; `again` is the one that was recorded."""

    again: PlayedAgain
    different: int = 0
    jobs: int = 0
    placed: list[JobPlacedOtherwise] = field(default_factory=list)
    said: list[SaidOtherwise] = field(default_factory=list)


class _Run:
    """A run of the controller: its engine, another one, and what both decided of each job."""

    def __init__(self, recorded: Recorded, number: int, change: EngineChange) -> None:
        self.recorded, self.number, self.change = recorded, number, change
        self.names = recorded.nodes(number)
        self.engine, self.other = recorded.engine(number), recorded.engine(number)
        if change.wanted is not None:
            self.other.want(change.wanted)
        self.down: set[str] = set()
        self._reserved: dict[str, NodeForecast] = {}
        self._outlook: dict[str, NodeForecast] = {}
        self._number = {name: k for k, name in enumerate(self.names)}
        self._first: tuple[dict[int, Any], dict[int, Any]] = ({}, {})
        self._jobs: dict[int, tuple[int, int, int]] = {}

    def play(self, row: CycleRow) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Tell both engines a cycle; return their decisions. Raises LedgerError for damage."""
        with self.recorded.damage(f"cycle {row.number}"):
            return self._played(row)

    def _played(self, row: CycleRow) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        count = self.engine.jobs
        for k, arrival in enumerate(row.events["arrivals"]):
            self._jobs[count + k] = (row.number, row.at, int(arrival[0]))
        was = decided(self.recorded, self.engine, row)
        other = self._told_otherwise(row)
        for first, made in zip(self._first, (was, other), strict=True):
            for one in made:
                if one["kind"] == RESERVE:
                    first.setdefault(one["job"], one)
        return was, other

    def _told_otherwise(self, row: CycleRow) -> list[dict[str, Any]]:
        now, forecasts = moment_of(row.events), self.change.forecasts
        events = [Event.of(one) for one in row.events["events"]]
        if forecasts is not None:
            events = self._foreseen_otherwise(events, forecasts, now)
        return played(self.other, row.events, events)

    def _foreseen_otherwise(
        self, events: list[Event], forecasts: ReplayForecasts, now: int
    ) -> list[Event]:
        """Return the events with other predictions; what is certain, such as maintenance, stays."""
        left = []
        for one in events:
            if one.kind is EventKind.PREDICTION_CHANGED and one.hazard:
                continue
            if one.kind is EventKind.PREDICTION_CHANGED:
                self._reserved.pop(self.names[one.key], None)
                if one.at >= 0 and one.probability >= 1.0:
                    self._reserved[self.names[one.key]] = NodeForecast(
                        one.at, one.until, 1.0, RESERVED
                    )
                continue
            left.append(one)
            if one.kind.name.lower() in (FAILED, BACK):
                change = self.down.add if one.kind.name.lower() == FAILED else self.down.discard
                change(self.names[one.key])
        found = forecasts.foreseen(self.names, frozenset(self.down), now)
        wanted = dict(found)
        for name, sure in self._reserved.items():
            wanted[name] = joined(sure, found[name].hazard if name in found else None)
        changed, self._outlook = foretold(self._outlook, wanted, self._number, now)
        return [*left, *changed]

    def said(self, one: RecordedPromise) -> SaidOtherwise:
        """Ask both engines what they would say by the deadline of a promise."""
        with self.recorded.damage(f"offer {one.offer.id}"):
            offer = one.offer
            by = offer.deadline
            for quote in self._offers(self.engine, one, by):
                if quote.start == offer.start:
                    by = quote.deadline  # the offer's own has the time for taking it in it
                    break
            was, other = (
                max((quote.probability for quote in self._offers(engine, one, by)), default=None)
                for engine in (self.engine, self.other)
            )
            return SaidOtherwise(one, was, other)

    def _offers(self, engine: Engine, one: RecordedPromise, by: int) -> list[Any]:
        if one.offer.size > len(self.names):
            return []
        now = max(one.offer.at, engine.now)
        pool = int(one.offer.question.get("pool", 0))
        if pool >= len(engine.state.pools):
            pool = 0  # of nodes that this engine is told of with the job
        size, length = one.offer.size, one.offer.length
        return engine.offers(size, length, CHECKED, now, by=by, most=1000, pool=pool)

    def placed(self) -> list[JobPlacedOtherwise]:
        """Return the jobs whose first places differ."""
        found = []
        for position, (cycle, at, job) in sorted(self._jobs.items()):
            was, other = (first.get(position) for first in self._first)
            if canonical(_place(was)) != canonical(_place(other)):
                told = [self._named(one) for one in (was, other)]
                found.append(JobPlacedOtherwise(cycle, at, job, *told))
        return found

    def _named(self, one: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """Return a reservation with its nodes by name."""
        if one is None:
            return None
        numbers = NodeSet.parse(str(one.get("nodes", "")))
        return {**one, "nodes": ",".join(self.names[k] for k in numbers)}

    @property
    def jobs(self) -> int:
        """Return how many jobs arrived."""
        return len(self._jobs)


def _place(one: Mapping[str, Any] | None) -> Any:
    """Return what of a reservation is its place, not why."""
    return None if one is None else [one.get(name) for name in ("start", "nodes")]


def play_other(
    recorded: Recorded, change: EngineChange, progress: Progress | None = None
) -> OtherPlayed:
    """Play all cycles with the engine that was and with another one; each promise is asked for
    again where it was. Raises LedgerError for damage, ParameterError for a predictor that does not
    fit."""
    found = OtherPlayed(PlayedAgain())
    asked = sorted(recorded.promises(), key=lambda one: one.offer.at)
    run: _Run | None = None
    for row in recorded.cycles():
        while run is not None and asked and asked[0].offer.at <= row.at:
            found.said.append(run.said(asked.pop(0)))
        if run is None or row.run != run.number:
            _ended(found, run)
            run = _Run(recorded, row.run, change)
            found.again.runs += 1
        was, other = run.play(row)
        found.again.count(row, was)
        found.different += canonical(was) != canonical(other)
        if progress is not None:
            progress(row.number, recorded.last)
    if run is not None:
        found.said += [run.said(one) for one in asked]
    _ended(found, run)
    return found


def _ended(found: OtherPlayed, run: _Run | None) -> None:
    if run is not None:
        found.placed += run.placed()
        found.jobs += run.jobs
