"""What other rules on nodes would have drained, held against what then ran there and failed.

Played again is the rule `risk`, with forecasts as the engine was told them, or those of another
predictor; of the other rules a ledger holds only what they proposed. A drain is taken to be done
when it is wanted. What it would have saved and cost is read from the record: jobs that began on the
node afterwards would have run elsewhere, or waited.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from forestall.core.model.events import Event, EventKind
from forestall.core.model.live.intents import Action
from forestall.core.model.marks import REASON
from forestall.live.ledger.failures import LedgerFailures
from forestall.live.ledger.rows import CycleRow, IntentRow
from forestall.live.replays.forecasts import ReplayForecasts
from forestall.live.replays.history import NodeHistory, NodeRun, lost_with
from forestall.live.replays.recorded import Recorded, moment_of
from forestall.live.rules.findings import NodeFinding
from forestall.live.rules.memory import Record
from forestall.live.rules.rules import AT_ONCE, STEERS, rule_of
from forestall.live.rules.settings import RuleSettings
from forestall.live.rules.sources import risk_of
from forestall.live.rules.worth import NodeStakes
from forestall.prediction.watching.foreseen import NodeForecast, joined, parts_of

_CHANGED: Final = EventKind.PREDICTION_CHANGED.name.lower()
_TOLD: Final = "recorded"


@dataclass(frozen=True)
class DrainOtherwise:
    """A drain that other rules would have wanted, and what the record says of it.

    Attributes
    ----------
    at, node : when, s since 1970, and which
    probability, fails_at, until : as foreseen
    also : whether the node was taken out of service then, by whomever; what jobs there would have
        come to is not known then
    came : whether the node failed while it would have been out
    saved, spent : node-seconds of jobs that began there afterwards and were lost with it; and that
        jobs which began there afterwards ran there
    """

    at: int
    node: str
    probability: float
    fails_at: int
    until: int
    also: bool
    came: bool
    saved: int
    spent: int


@dataclass
class RuledAgain:
    """Drains as they were proposed, by rule, how many of these other rules would not have
    proposed, and what they would have."""

    proposed: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    drains: list[DrainOtherwise] = field(default_factory=list)
    failures: int = 0

    @property
    def came(self) -> int:
        """Return at how many of the drains the failure came."""
        return sum(one.came for one in self.drains)

    @property
    def new(self) -> list[DrainOtherwise]:
        """Return the drains of nodes that stayed in service then."""
        return [one for one in self.drains if not one.also]


class _Wanted:
    """The rule `risk` over a ledger's cycles."""

    def __init__(self, history: NodeHistory, settings: RuleSettings) -> None:
        self.history, self.settings = history, settings
        self.out: dict[str, int] = {}
        self.record = Record()
        self._open: dict[str, tuple[float, int]] = {}

    def score(self, outlook: Mapping[str, NodeForecast], failed: set[str], now: int) -> None:
        """Learn how right forecasts are: what came, and what did not by the end of its time."""
        for name, (said, until) in list(self._open.items()):
            if name in failed or now > until:
                del self._open[name]
                self.record.said += said
                self.record.came += name in failed
        for name, one in parts_of(outlook):
            ahead = one.curve or one.at > now
            if name not in self._open and name not in self.history.away and ahead:
                until = one.over(now)
                self._open[name] = one.risk(now, until), until

    def drains(
        self, outlook: Mapping[str, NodeForecast], now: int
    ) -> list[tuple[int, NodeFinding]]:
        """Return what is drained at a moment, those that save most first."""
        settings, found = self.settings, list[tuple[float, NodeFinding]]()
        self.out = {name: back for name, back in self.out.items() if back > now}
        if "risk" not in settings.drain or not outlook:
            return []
        stakes = self._stakes(now)
        for name, one in parts_of(outlook):
            finding = risk_of(name, one, self.record.trust, settings, now)
            if finding is None or name in self.out:
                continue
            if name in self.history.away or name not in self.history.names:
                continue
            worth = stakes.of_drain(finding, settings.rest)
            net = worth.saved - settings.worth * worth.spent
            if net > 0:
                found.append((net, finding))
        found.sort(key=lambda pair: (-pair[0], pair[1].node))
        chosen = [one for _, one in found[: settings.most]]
        self.out |= {one.node: max(one.until, now + settings.rest) for one in chosen}
        return [(now, one) for one in chosen]

    def _stakes(self, now: int) -> NodeStakes:
        ends, lost = dict[str, int](), 0
        for run in self.history.running.values():
            lost += len(run.nodes) ** 2 * max(now - run.start, 0)
            ends.update(dict.fromkeys(run.nodes, max(run.until, now)))
        there = len(self.history.names) - len(self.history.away)
        return NodeStakes(min(len(ends) / max(there, 1), 1.0), lost / max(len(ends), 1), ends, now)


class _Forewarned:
    """What the engine was told to be foreseen; without what is certain, such as maintenance, and
    what rules said only to keep promises away."""

    def __init__(self) -> None:
        self.moments: dict[str, NodeForecast] = {}
        self.hazards: dict[str, NodeForecast] = {}

    def take(self, events: list[Any], names: tuple[str, ...]) -> None:
        """Take in the events of a cycle."""
        for one in events:
            if one["kind"] != _CHANGED:
                continue
            event = Event.of(one)
            name, chance = names[event.key], event.probability
            if event.hazard:
                hazard = NodeForecast(event.at, event.until, event.hazard[-1], _TOLD, event.hazard)
                self.hazards[name] = hazard
                continue
            self.moments.pop(name, None)
            if 0 < chance < 1.0 and event.at % STEERS:
                self.moments[name] = NodeForecast(event.at, event.until, chance, _TOLD)

    @property
    def known(self) -> dict[str, NodeForecast]:
        """What is foreseen of nodes by now."""
        names = {**self.moments, **self.hazards}
        return {name: joined(self.moments.get(name), self.hazards.get(name)) for name in names}


def rule_again(
    recorded: Recorded,
    failures: LedgerFailures,
    settings: RuleSettings,
    forecasts: ReplayForecasts | None = None,
) -> RuledAgain:
    """Ask other rules about the same weeks; `forecasts` None: as they were told. Raises LedgerError
    for damage."""
    failures.read()
    found = RuledAgain(failures=failures.count)
    _as_proposed(found, recorded, settings)
    history, told = NodeHistory(recorded), _Forewarned()
    wanted = _Wanted(history, settings)
    drains, down, now, run = list[tuple[int, NodeFinding]](), frozenset[str](), 0, 0
    for row in recorded.cycles():
        history.take(row)
        now = moment_of(row.events)
        if row.run != run:
            run, told = row.run, told if history.continues else _Forewarned()
        with recorded.damage(f"cycle {row.number}"):
            told.take(row.events["events"], history.names)
            before, down = down, _down(down, row, history.names)
            outlook: Mapping[str, NodeForecast] = told.known
            if forecasts is not None:
                outlook = forecasts.foreseen(history.names, down, now)
            wanted.score(outlook, set(down - before), now)
            drains += wanted.drains(outlook, now)
    history.close(now)
    for at, one in drains:
        back = max(one.until, at + settings.rest)
        found.drains.append(_held_against(at, one, back, history, failures))
    return found


def _as_proposed(found: RuledAgain, recorded: Recorded, settings: RuleSettings) -> None:
    """Count the drains that rules proposed, and those that others would not have: by the figures
    that were booked."""
    for row in recorded.rows(IntentRow):
        if row.action != Action.DRAIN:
            continue
        rule = rule_of(f"{REASON}{row.reason} [{row.id}]")
        if not rule:
            continue
        found.proposed[rule] = found.proposed.get(rule, 0) + 1
        if not _still(row, rule, settings):
            found.left_out[rule] = found.left_out.get(rule, 0) + 1


def _still(row: IntentRow, rule: str, settings: RuleSettings) -> bool:
    """Whether a drain that was proposed would be by other settings."""
    if rule not in settings.drain:
        return False
    figures: Mapping[str, float] = row.figures
    if rule == "risk":
        soon = figures.get("fails at", 0.0) < row.decided + settings.ahead
        if figures.get("probability", 1.0) < settings.least or not soon:
            return False
    worth = figures.get("saved", 0.0) > settings.worth * figures.get("spent", 0.0)
    return rule in AT_ONCE or worth


def _down(down: frozenset[str], row: CycleRow, names: tuple[str, ...]) -> frozenset[str]:
    """Return the nodes that are down after a cycle."""
    left = set(down)
    for one in row.events["events"]:
        if one["kind"] == EventKind.NODE_FAILED.name.lower():
            left.add(names[one["key"]])
        elif one["kind"] == EventKind.NODE_RECOVERED.name.lower():
            left.discard(names[one["key"]])
    return frozenset(left)


def _held_against(
    at: int, one: NodeFinding, back: int, history: NodeHistory, failures: LedgerFailures
) -> DrainOtherwise:
    """Return a drain with what the record says of the time for which it would have lasted."""
    failure = failures.first(one.node, at + 1, back)
    end = back if failure is None else failure.at
    after = [run for run in history.runs.get(one.node, ()) if at < run.start < end]
    spent = sum(min(run.end, end) - run.start for run in after)
    saved = 0
    if failure is not None:
        lost = [run for run in after if lost_with(run, failure.at)]
        saved = sum(_work(run) for run in lost)
        spent -= sum(run.end - run.start for run in lost)
    also = any(at <= then < end for then in history.drained.get(one.node, ()))
    came = failure is not None
    return DrainOtherwise(
        at, one.node, one.probability, one.at, one.until, also, came, saved, spent
    )


def _work(run: NodeRun) -> int:
    """Return the node-seconds of a run."""
    return run.size * (run.end - run.start)
