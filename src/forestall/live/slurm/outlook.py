"""What is foreseen of nodes: by a predictor, and with certainty where somebody reserved them.

The engine knows one failure of each node at a moment, and its hazard. Where a node is in somebody's
reservation that failure is it, with probability 1; else what is most probable. A hazard is asked
for over the window in question, since a moment made of it would move on with each look and never
come.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from forestall.core.model.events import Event, EventKind
from forestall.core.model.live.intents import Intent
from forestall.live.guard.sight import ClusterSight
from forestall.prediction.watching.foreseen import NodeForecast, NodeForecasts, joined
from forestall.slurm.cluster.nouns import ClusterSnapshot

RESERVED: Final = "reservation"
"""Who foresees what somebody reserved."""
STEERED: Final = "rule: "
"""Forecasts by rules that only keep promises away from a node begin so."""
_STEP: Final = 0.05
"""A change of a probability by less is not told again."""
_CERTAIN: Final = 1.0 - 1e-12
_DAY: Final = 86_400
_MOVE: Final = 600
"""Nor a failure that is foreseen less than so many seconds earlier or later."""


USUAL: Final = "usual"
"""Who foresees what is known of a node of which nothing is: the site's rate of failures."""
_CHANGE: Final = 0.05
"""A hazard that is, up to the end of each part of its window, within this share of what was told is
not told again: then no job's probability is off by more than 0.05 / e, 1.8 points, whatever its
nodes."""
_DIGITS: Final = 10
"""Of the probabilities that are told: a ledger has them all."""


class NodeRules(NodeForecasts, Protocol):
    """Whoever proposes to drain, reboot and bring back nodes (`forestall.live.rules`); what it
    foresees keeps promises away from nodes."""

    def intents(
        self,
        seen: ClusterSnapshot,
        sight: ClusterSight,
        outlook: Mapping[str, NodeForecast],
        now: int,
    ) -> Iterable[Intent]:
        """Yield what should be done with nodes; `outlook` are failures that are foreseen."""

    def learned(self) -> dict[str, list[float]]:
        """Return how predictors proved right, by name, as plain data: the ledger keeps it."""

    def take_over(self, learned: Mapping[str, Iterable[float]]) -> None:
        """Go on from what was learned before a restart."""


def is_ours(one: NodeForecast) -> bool:
    """Whether no predictor foresees it: a node is reserved, or a rule keeps promises away."""
    return one.by == RESERVED or one.by.startswith(STEERED)


def with_usual(
    wanted: Mapping[str, NodeForecast], names: Iterable[str], rate: float, now: int
) -> dict[str, NodeForecast]:
    """Return what is foreseen with the hazard of a site's rate of failures (per s of a node) for
    nodes of which none is known, where one of any node is: else these would pass for safe."""
    if not any(one.hazard is not None for one in wanted.values()):
        return dict(wanted)
    risk = -math.expm1(-rate * _DAY)
    usual = NodeForecast(now, now + _DAY, risk, USUAL, (risk,))
    found = dict(wanted)
    for name in names:
        one = wanted.get(name)
        if one is None or one.hazard is None:
            found[name] = joined(one, usual)
    return found


def without_usual(told: Mapping[str, NodeForecast]) -> dict[str, NodeForecast]:
    """Return what is foreseen of nodes of which something is."""
    found = dict[str, NodeForecast]()
    for name, one in told.items():
        if one.beside is not None and one.beside.by == USUAL:
            found[name] = one._replace(beside=None)
        elif one.by != USUAL:
            found[name] = one
    return found


def foretold(
    told: Mapping[str, NodeForecast],
    wanted: Mapping[str, NodeForecast],
    number: Mapping[str, int],
    now: int,
) -> tuple[list[Event], dict[str, NodeForecast]]:
    """Return what the engine is to be told of what is foreseen, and what it then knows.

    told, wanted : what it knows, and what is foreseen now; by the node's name
    number : of the nodes that the engine knows
    """
    events, after = list[Event](), dict[str, NodeForecast]()
    for name in sorted(number.keys() & (told.keys() | wanted.keys())):
        before, now_is = told.get(name), wanted.get(name)
        moment = _moment_told(_moment(before), _moment(now_is), number[name], now, events)
        was, hazard = (None if one is None else one.hazard for one in (before, now_is))
        hazard = _hazard_told(was, hazard, number[name], now, events)
        if moment is not None or hazard is not None:
            after[name] = joined(moment, hazard)
    return events, after


def _moment(one: NodeForecast | None) -> NodeForecast | None:
    return None if one is None or one.curve else one._replace(beside=None)


def _moment_told(
    before: NodeForecast | None, one: NodeForecast | None, node: int, now: int, events: list[Event]
) -> NodeForecast | None:
    """Tell of a node's failure at a moment where that is news; return what is known then."""
    if one is None:
        if before is not None:
            events.append(Event(now, EventKind.PREDICTION_CHANGED, node))
        return None
    if before is not None and _alike(before, one):
        return before
    at = max(one.at, now)
    events.append(
        Event(now, EventKind.PREDICTION_CHANGED, node, at=at, until=max(one.until, at + 1),
              probability=one.probability)
    )  # fmt: skip
    return one


def _hazard_told(
    before: NodeForecast | None, one: NodeForecast | None, node: int, now: int, events: list[Event]
) -> NodeForecast | None:
    """Tell of a node's hazard where that is news; return what is known then."""
    if one is None:
        if before is not None:
            told = (0.0,)
            events.append(Event(now, EventKind.PREDICTION_CHANGED, node, now + 1, now, hazard=told))
        return None
    if before is not None and _as_likely(before, one, now):
        return before
    one = one._replace(curve=tuple(round(float(risk), _DIGITS) for risk in one.curve))
    events.append(
        Event(now, EventKind.PREDICTION_CHANGED, node, one.until, one.at, hazard=one.curve)
    )
    return one


def _as_likely(told: NodeForecast, one: NodeForecast, now: int) -> bool:
    """Whether a hazard is as good as told, from now to the end of each part of its window."""
    if told == one:
        return True
    if told.by != one.by:
        return False
    for part in range(1, len(one.curve) + 1):
        end = one.at + (one.until - one.at) * part // len(one.curve)
        was, is_now = (-math.log1p(-min(each.risk(now, end), _CERTAIN)) for each in (told, one))
        if abs(was - is_now) > _CHANGE * is_now:
            return False
    return True


def _alike(one: NodeForecast, other: NodeForecast) -> bool:
    near = abs(one.at - other.at) < _MOVE and abs(one.until - other.until) < _MOVE
    return one == other or (
        near and one.by == other.by and abs(one.probability - other.probability) < _STEP
    )
