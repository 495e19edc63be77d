"""Whoever foresees failures of hosts, and several of them together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, TypeVar

from forestall.core.model.errors import ForestallError
from forestall.machines.rules.leaving import Foretold

_Answer = TypeVar("_Answer")


class HostForecasts(Protocol):
    """Foresees failures of hosts. It is asked at each look, and told which hosts are down."""

    def foretold(self, now: int, down: Collection[str]) -> Mapping[str, Foretold]:
        """Return the next failure of each host that has one, with its spread."""
        ...

    def drained(self) -> Collection[str]:
        """Return the hosts that are to be kept empty."""
        ...


class JoinedHostForecasts:
    """All that any of several sources foresees; of one host the failure that may come first.

    A source that cannot be read is told (`trouble`), and the others count.

    Parameters
    ----------
    sources : to ask, in this order
    least : probability from which on a failure is taken for one
    """

    def __init__(self, sources: Sequence[HostForecasts], least: float = 0.5) -> None:
        self._sources, self._least = list(sources), least
        self.trouble: list[str] = []

    def foretold(self, now: int, down: Collection[str]) -> Mapping[str, Foretold]:
        """Return the next failure of each host that has one."""
        self.trouble = []
        found: dict[str, Foretold] = {}
        for told in self._each(lambda source: source.foretold(now, down)):
            for node, one in told.items():
                if one.probability < self._least:
                    continue
                if node not in found or one.early < found[node].early:
                    found[node] = one
        return found

    def drained(self) -> Collection[str]:
        """Return the hosts that any source wants kept empty."""
        return {node for nodes in self._each(lambda source: source.drained()) for node in nodes}

    def _each(self, ask: Callable[[HostForecasts], _Answer]) -> list[_Answer]:
        answers = []
        for source in self._sources:
            try:
                answers.append(ask(source))
            except ForestallError as error:
                self.trouble.append(str(error))
        return answers
