"""How busy machines and nodes are: the load manager's view, from one look to the next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from forestall.machines.acting.hosts.pool import SeenHost


class LoadBook:
    """Knows what machines use, once it has seen them twice on their node."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, str], tuple[float, float]] = {}
        self._used: dict[str, dict[str, float]] = {}
        self._hosts: dict[str, SeenHost] = {}

    def see(self, hosts: Iterable[SeenHost], now: float) -> None:
        """Take in a look."""
        for host in hosts:
            self._hosts[host.node] = host
            used: dict[str, float] = {}
            for one in host.machines:
                if not one.state.alive or math.isnan(one.cpu):
                    continue
                key = (host.node, one.machine)
                then, cpu = self._before.get(key, (now, math.nan))
                if now > then and one.cpu >= cpu:
                    used[one.machine] = (one.cpu - cpu) / (now - then)
                self._before[key] = (now, one.cpu)
            self._used[host.node] = used
        there = {(node, one.machine) for node, host in self._hosts.items() for one in host.machines}
        self._before = {key: value for key, value in self._before.items() if key in there}

    def used(self, node: str) -> Mapping[str, float]:
        """Return the processors that each machine of a node uses, of those that are known."""
        return self._used.get(node, {})

    def total(self, node: str, *, of_host: bool) -> float:
        """Return the processors of a node in use: by its machines, or by anyone on the host."""
        used, host = sum(self.used(node).values()), self._hosts.get(node)
        if not of_host or host is None or math.isnan(host.load):
            return used
        return max(used, host.load * host.size.processors)

    def share(self, node: str, *, of_host: bool) -> float:
        """Return the share of a node's processors in use; nan where it does not answer."""
        host = self._hosts.get(node)
        if host is None or not host.answers or host.size.processors <= 0:
            return math.nan
        return self.total(node, of_host=of_host) / host.size.processors
