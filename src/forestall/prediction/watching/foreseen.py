"""What is foreseen of nodes, by whoever foresees it: failures at a moment, and hazards."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, Protocol

from forestall.slurm.cluster.nouns import ClusterView

_CERTAIN: Final = 1.0 - 1e-12
ACTED_ON: Final = 0.05
"""A hazard below this over a job's run is part of its probability, and nothing is done about it."""


class NodeForecast(NamedTuple):
    """A node's failure that is foreseen: when, until when it lasts (s since 1970), how probable,
    and who foresees it. Of a hazard [at, until) is the window that its probability is of, and
    `curve` the probabilities that the node fails within the first part of it, the first two, ...,
    all of it: parts are equal. `beside` is the hazard that a node has beside a failure at a
    moment."""

    at: int
    until: int
    probability: float
    by: str
    curve: tuple[float, ...] = ()
    beside: NodeForecast | None = None

    @property
    def hazard(self) -> NodeForecast | None:
        """The node's hazard, None where none is known."""
        return self if self.curve else self.beside

    @property
    def parts(self) -> tuple[NodeForecast, ...]:
        """The failure at a moment and the hazard, those that there are."""
        return (self,) if self.beside is None else (self._replace(beside=None), self.beside)

    def risk(self, start: int, end: int, now: int = 0) -> float:
        """Return the probability that it keeps a node from working through [start, end), s since
        1970; hazards before `now` are over. A hazard goes on behind its window as it was on
        average."""
        if self.beside is not None:
            moment, hazard = (one.risk(start, end, now) for one in self.parts)
            return 1.0 - (1.0 - moment) * (1.0 - hazard)
        if not self.curve:
            return self.probability if self.at < end and self.until > start else 0.0
        start = max(start, self.at, now)
        return 0.0 if end <= start else -math.expm1(self._hazard(start) - self._hazard(end))

    def _hazard(self, moment: int) -> float:
        """Return the cumulative hazard from `at` to a moment."""
        parts = (moment - self.at) / (self.until - self.at) * len(self.curve)
        table = _table(self.curve)
        whole = int(parts)
        if whole >= len(self.curve):
            return table[-1] * parts / len(self.curve)
        return table[whole] + (parts - whole) * (table[whole + 1] - table[whole])

    def is_acted_on(self, start: int, end: int) -> bool:
        """Whether it is a reason to keep a run in [start, end) off the node."""
        risks = ((one.risk(start, end), ACTED_ON if one.curve else 0.0) for one in self.parts)
        return any(risk > 0 and risk >= least for risk, least in risks)

    def over(self, now: int) -> int:
        """Return when what is foreseen at a moment has come or was wrong: of a hazard, which goes
        on, the end of a window as long as its own."""
        return now + self.until - self.at if self.curve else max(self.until, self.at + 1)

    def moment(self, start: int, end: int) -> int:
        """Return when the failure comes in [start, end): of a hazard the middle."""
        return (max(start, self.at) + end) // 2 if self.curve else self.at


@lru_cache(maxsize=2**14)
def _table(curve: tuple[float, ...]) -> tuple[float, ...]:
    """Return the cumulative hazard at the begin and at the end of each part."""
    return (0.0, *(-math.log1p(-min(one, _CERTAIN)) for one in curve))


class NodeForecasts(Protocol):
    """Whoever foresees failures of nodes."""

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Return the next failure of each node that has one, by its name."""


def parts_of(outlook: Mapping[str, NodeForecast]) -> Iterator[tuple[str, NodeForecast]]:
    """Yield each failure at a moment and each hazard, with its node's name."""
    for name, one in outlook.items():
        for part in one.parts:
            yield name, part


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
    """Several forecasters as one: of each node the failure at a moment that is most probable, of
    these the earliest; and the hazard that is most probable; of equal ones what the first of them
    says."""

    def __init__(self, *several: NodeForecasts) -> None:
        self._several = several

    def foreseen(self, seen: ClusterView, now: int) -> Mapping[str, NodeForecast]:
        """Ask all of them."""
        moments, hazards = dict[str, NodeForecast](), dict[str, NodeForecast]()
        for one in self._several:
            for name, told in one.foreseen(seen, now).items():
                for part in told.parts:
                    found = hazards if part.curve else moments
                    known = found.get(name)
                    if known is None or _rank(part) < _rank(known):
                        found[name] = part
        names = {**moments, **hazards}
        return {name: joined(moments.get(name), hazards.get(name)) for name in names}


def _rank(one: NodeForecast) -> tuple[float, int]:
    return -one.probability, one.at


def joined(moment: NodeForecast | None, hazard: NodeForecast | None) -> NodeForecast:
    """Return both as one; one of them may be None."""
    if moment is None:
        assert hazard is not None, "one of them at least"
        return hazard
    return moment._replace(beside=hazard)


@dataclass(frozen=True)
class Maintenance:
    """A window [start, end), s since 1970, in which people work on `nodes` (none named: on all)."""

    start: int
    end: int
    nodes: frozenset[str] = frozenset()

    def hold(self, now: int, node: str) -> bool:
        """Whether a node is worked on; "": any node."""
        return self.start <= now < self.end and (not self.nodes or not node or node in self.nodes)
