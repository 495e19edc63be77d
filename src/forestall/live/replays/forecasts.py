"""Who foresees failures in a replay: nobody, hindsight, or a trained predictor.

A predictor learns here what it would have learned live: that nodes went down, as the engine was
told.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from forestall.core.model.errors import ParameterError
from forestall.core.model.events import EventKind
from forestall.live.replays.recorded import Recorded, moment_of
from forestall.prediction.models.base import KnowsOutages
from forestall.prediction.models.learner import Learner
from forestall.prediction.watching.forecasts import hazards_of
from forestall.prediction.watching.foreseen import NodeForecast

HORIZON: Final = 86_400
DOWNTIME: Final = 3600
"""s that an outage is reckoned to last of which nobody says how long."""
FAILED: Final = EventKind.NODE_FAILED.name.lower()
BACK: Final = EventKind.NODE_RECOVERED.name.lower()


class ReplayForecasts(Protocol):
    """Whoever foresees failures of nodes, told which are down."""

    def foreseen(
        self, names: tuple[str, ...], down: frozenset[str], now: int
    ) -> Mapping[str, NodeForecast]:
        """Return the next failure, or the hazard, of each of the nodes that has one."""


class NoForecasts:
    """Nobody foresees anything."""

    def foreseen(
        self, names: tuple[str, ...], down: frozenset[str], now: int
    ) -> Mapping[str, NodeForecast]:
        """Return none."""
        del names, down, now
        return {}


class HindsightForecasts:
    """What happened, as if it had been known: the most that any predictor could be worth.

    outages : node, when it failed, when it was back
    """

    def __init__(self, outages: Iterable[tuple[str, int, int]]) -> None:
        self._times: dict[str, list[int]] = {}
        self._until: dict[tuple[str, int], int] = {}
        for name, start, end in sorted(outages, key=lambda one: one[1]):
            self._times.setdefault(name, []).append(start)
            self._until[name, start] = end

    def foreseen(
        self, names: tuple[str, ...], down: frozenset[str], now: int
    ) -> Mapping[str, NodeForecast]:
        """Return each node's next failure."""
        del down
        found: dict[str, NodeForecast] = {}
        for name, times in self._times.items():
            k = bisect_left(times, now)
            if k < len(times) and name in names:
                start = times[k]
                found[name] = NodeForecast(start, self._until[name, start], 1.0, "hindsight")
        return found


class LearnedForecasts:
    """A trained predictor, asked at each cycle about the day to come; it knows nodes by their place
    among the names, and time from its own log's origin on."""

    def __init__(self, predictor: Learner) -> None:
        self._predictor, self._origin = predictor, predictor.seen.origin or 0
        self._down: frozenset[str] = frozenset()

    def foreseen(
        self, names: tuple[str, ...], down: frozenset[str], now: int
    ) -> Mapping[str, NodeForecast]:
        """Tell it of nodes that went down, and ask it. Raises ParameterError where it knows fewer
        nodes than there are."""
        one, time = self._predictor, now - self._origin
        if one.nodes < len(names):
            raise ParameterError("predictor", one.name, f"one of {len(names)} nodes or more, not "
                                 f"{one.nodes}")  # fmt: skip
        if time < one.trained_until:
            raise ParameterError("predictor", one.name, "one that was trained on a time before the "
                                 "ledger's first cycle")  # fmt: skip
        for name in sorted(down - self._down):
            one.update(time, names.index(name))
        self._down = down
        if isinstance(one, KnowsOutages):
            one.advance(time)
        return hazards_of(one, names, now, HORIZON, self._origin)


def outages(recorded: Recorded) -> list[tuple[str, int, int]]:
    """Return the outages that the engine was told of: node, start, end, s since 1970. A node that
    is down when a controller begins anew has not failed again."""
    found: list[tuple[str, int, int]] = []
    since: dict[str, int] = {}
    run = 0
    for row in recorded.cycles():
        names, now = recorded.nodes(row.run), moment_of(row.events)
        told = [(one["kind"], names[one["key"]]) for one in row.events["events"]
                if one["kind"] in (FAILED, BACK)]  # fmt: skip
        if row.run != run:
            run, still = row.run, {name for kind, name in told if kind == FAILED}
            engine = recorded.engine(run)  # one that only forgot knows what is down
            still |= {name for k, name in enumerate(names) if engine.node_state(k) != "UP"}
            found += [(name, at, now) for name, at in since.items() if name not in still]
            since = {name: at for name, at in since.items() if name in still}
        for kind, name in told:
            if kind == FAILED:
                since.setdefault(name, now)
            elif name in since:
                found.append((name, since.pop(name), now))
    return found + [(name, at, at + DOWNTIME) for name, at in since.items()]
