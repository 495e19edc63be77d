"""A policy, a strategy and a scheduler of the user's own, as a module that other processes find."""

from __future__ import annotations

from typing import Any

import numpy as np

import forestall as fs


class ShortestJobFirst(fs.Policy):
    """The shortest estimate first; nobody passes the first one."""

    def order(self, job: Any) -> int:
        estimate: int = job.estimate
        return estimate


class Tightest(fs.Strategy):
    """Of the nodes that outlive the deadline, the one with least left to give."""

    def choose(self, nodes: Any, task: Any) -> int | None:
        good = (nodes.free > 0) & ~nodes.doubtful & (nodes.lasts >= task.left)
        return int(np.argmin(np.where(good, nodes.free, np.inf))) if good.any() else None


class Shortest(fs.HostScheduler):
    """The host on which the job would be done first; none that leaves before with `least`."""

    def __init__(self, least: float = 0.0) -> None:
        self.least, self.asked = least, 0
        if least:
            self.name = f"own_deciders:AtLeast{round(100 * least)}"

    def choose(self, hosts: Any) -> int | None:
        self.asked += 1
        assert self.asked < 10_000, "made anew for each run"
        best = int(np.argmin(np.where(hosts.chance >= self.least, hosts.jct, np.inf)))
        return best if hosts.chance[best] >= self.least else None


class Locked(Shortest):
    """Holds what cannot be sent to another process."""

    def __init__(self) -> None:
        super().__init__()
        self.held = lambda: None
