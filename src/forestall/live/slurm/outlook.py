"""What is foreseen of nodes: by a predictor, and with certainty where somebody reserved them.

The engine knows one failure of each node. Where a node is in somebody's reservation that one is
it, with probability 1; else what the predictor says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from forestall.live.guard.sight import ClusterSight
from forestall.model.cluster.nouns import ClusterSnapshot, ClusterView
from forestall.model.events import Event, EventKind
from forestall.model.live.intents import Intent

RESERVED: Final = "reservation"
"""Who foresees what somebody reserved."""
STEERED: Final = "rule: "
"""Forecasts by rules that only keep promises away from a node begin so."""
_STEP: Final = 0.05
"""A change of a probability by less is not told again."""
_MOVE: Final = 600
"""Nor a failure that is foreseen less than so many seconds earlier or later."""


class NodeForecast(NamedTuple):
    """A node's failure that is foreseen: when, until when it lasts (s since 1970), how probable,
    and who foresees it."""

    at: int
    until: int
    probability: float
    by: str


class NodeForecasts(Protocol):
    """Whoever foresees failures of nodes."""

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Return the next failure of each node that has one, by its name."""


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


class ListedForecasts:
    """Failures that are known in advance, such as from a list; each until its moment has passed.

    failures : (node, forecast), in any order
    """

    def __init__(self, failures: Iterable[tuple[str, NodeForecast]] = ()) -> None:
        self._failures = sorted(failures, key=lambda one: one[1].at)

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Return each node's next one."""
        found: dict[str, NodeForecast] = {}
        for name, one in self._failures:
            if one.at >= now and name in seen.nodes:
                found.setdefault(name, one)
        return found


class JoinedForecasts:
    """Several forecasters as one: of each node what is most probable, of that the earliest; of
    equal ones what the first of them says."""

    def __init__(self, *several: NodeForecasts) -> None:
        self._several = several

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Ask all of them."""
        found: dict[str, NodeForecast] = {}
        for one in self._several:
            for name, told in one.foreseen(seen, now).items():
                known = found.get(name)
                if known is None or (-told.probability, told.at) < (-known.probability, known.at):
                    found[name] = told
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
    events, after = [], dict[str, NodeForecast]()
    changed = EventKind.PREDICTION_CHANGED
    for name in sorted(number.keys() & (told.keys() | wanted.keys())):
        before, now_is = told.get(name), wanted.get(name)
        if now_is is None:
            events.append(Event(now, changed, number[name]))
            continue
        if before is not None and _alike(before, now_is):
            after[name] = before
            continue
        after[name] = now_is
        at = max(now_is.at, now)
        events.append(
            Event(now, changed, number[name], at=at, until=max(now_is.until, at + 1),
                  probability=now_is.probability)
        )  # fmt: skip
    return events, after


def _alike(one: NodeForecast, other: NodeForecast) -> bool:
    near = abs(one.at - other.at) < _MOVE and abs(one.until - other.until) < _MOVE
    return one == other or (
        near and one.by == other.by and abs(one.probability - other.probability) < _STEP
    )
