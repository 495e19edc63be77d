"""What predictors foresee of hosts, with its spread: a learner that is told of them as time goes
on, and the forecasts that the hosts' own agents publish."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_duration
from forestall.machines.rules.leaving import Foretold, foretold_of
from forestall.prediction.watching.forecasts import WatchingForecasts
from forestall.slurm.cluster.nouns import ClusterNode, ClusterView

WINDOWS: Final = 24
"""Windows within the horizon by which a learner is asked when a failure comes."""
RELIABILITY: Final = "forestall_host_reliability_ratio"
_LINE: Final = re.compile(RELIABILITY + r'\{[^}]*horizon="([^"]+)"[^}]*\}\s+([\d.eE+-]+)')


class LearnerForesight:
    """A learner that has learned (of a site's log, its events, its metrics), asked about hosts.

    It is told of each host that falls silent, of new events and metrics, and asked when any of
    these came and every so often. Metrics that are out of the ordinary speak through a learner of
    that kind (``outlier``).

    Parameters
    ----------
    watching : the learner, and what it hears
    horizon : s ahead that it is asked about
    """

    def __init__(self, watching: WatchingForecasts, horizon: int) -> None:
        self._watching, self._horizon = watching, horizon

    def foretold(self, now: int, down: Collection[str]) -> Mapping[str, Foretold]:
        """Return the next failure of each host that has one."""
        nodes = {name: _node(name, down=name in down) for name in self._watching.names}
        said = self._watching.foreseen(ClusterView({}, nodes, {}), now)
        ends = [self._horizon * (number + 1) // WINDOWS for number in range(WINDOWS)]
        found = {}
        for name, chances in self._watching.chances(list(said), now, ends).items():
            told = foretold_of(now, ends, chances, said[name].by)
            if told is not None and name not in down:
                found[name] = told
        return found

    def drained(self) -> Collection[str]:
        """A learner wants no host kept empty."""
        return ()


class AgentForesight:
    """What the agents of hosts publish (`forestall agent`): the chance that a guest can stay, for
    several horizons.

    Parameters
    ----------
    folder : files ``NODE.prom``, as Prometheus' text format has them
    old : s after which a file says nothing any more
    wall : the clock of files
    """

    def __init__(
        self, folder: Path, old: int = 300, *, wall: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._old, self._wall = folder, old, wall

    def foretold(self, now: int, down: Collection[str]) -> Mapping[str, Foretold]:
        """Return the next failure of each host that has one."""
        found = {}
        for path in sorted(self._folder.glob("*.prom")):
            if path.stem in down:
                continue
            chances = dict(sorted(self._chances(path)))
            told = foretold_of(now, list(chances), list(chances.values()), "agent")
            if told is not None:
                found[path.stem] = told
        return found

    def _chances(self, path: Path) -> Iterator[tuple[int, float]]:
        """Yield horizons, s, and the chance of a failure within each."""
        try:
            if self._wall() - path.stat().st_mtime > self._old:
                return
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        for horizon, value in _LINE.findall(text):
            try:
                yield parse_duration(horizon, plain=True), 1.0 - min(max(float(value), 0.0), 1.0)
            except (ParameterError, ValueError):
                continue

    def drained(self) -> Collection[str]:
        """An agent wants no host kept empty."""
        return ()


def _node(name: str, *, down: bool) -> ClusterNode:
    state = "DOWN" if down else "IDLE"
    return ClusterNode(name, state, (), "", "", None, None, None, 0, 0, (), (), "")
