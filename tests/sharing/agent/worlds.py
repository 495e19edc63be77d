"""A host that does not exist: its clocks, its load, and an agent on it that never waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from forestall.sharing.agent.loop import Agent, AgentSettings
from forestall.sharing.agent.sampler import Counters, Sampler
from forestall.sharing.agent.store import DayStore, next_serial

NOON = 1_700_006_400  # 2023-11-15 00:00 UTC


class World:
    """Clocks that a test moves. `plans`: what happens at a boot time, once it is reached."""

    def __init__(self, boot: float = 1000.0, wall: float = NOON) -> None:
        self.now, self.ahead, self.suspended = boot, wall - boot, 0.0
        self.load: Callable[[float], float] = lambda now: 0.1
        self.free: Callable[[float], float] = lambda now: 0.5
        self.plans: list[tuple[float, Callable[[], None]]] = []
        self.busy = self.total = 0.0

    def wall(self) -> float:
        return self.now + self.ahead

    def boot(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now - self.suspended

    def sleep(self, seconds: float) -> None:
        self.wait(seconds)

    def wait(self, seconds: float) -> bool:
        for at, act in [plan for plan in self.plans if plan[0] <= self.now + seconds]:
            self._pass(max(at - self.now, 0.0))
            self.plans.remove((at, act))
            act()
            return False
        self._pass(seconds)
        return False

    def _pass(self, seconds: float) -> None:
        self.busy += seconds * self.load(self.now)
        self.total += seconds
        self.now += seconds

    def set_clock(self, seconds: float) -> None:
        self.ahead += seconds

    def suspend(self, seconds: float) -> None:
        self.now += seconds
        self.suspended += seconds

    def counters(self) -> Counters:
        free = self.free(self.now)
        return Counters(self.busy, self.total, 100 * free, 100.0, 0.0, 0.0)


def agent_in(
    folder: Path,
    world: World,
    *,
    told: list[str] | None = None,
    boot: bytes = b"b" * 16,
    kept: int = 1000,
    hooks: tuple[Callable[[Mapping[str, Any]], None], ...] = (),
    **settings: Any,
) -> Agent:
    """Return an agent of a made-up host; `told` collects what it says."""
    said = [] if told is None else told
    chosen = AgentSettings(folder, **settings)
    folder.mkdir(exist_ok=True)
    header = chosen.header("node7", boot, next_serial(folder))
    store = DayStore(folder, header, keep=chosen.keep, clock=world, tell=said.append, kept=kept)
    sampler = Sampler(clock=world, counters=world.counters)
    return Agent(
        chosen, "node7", clock=world, sampler=sampler, store=store, tell=said.append, hooks=hooks
    )


def run(agent: Agent, world: World, seconds: float = math.inf) -> None:
    """Let an agent run for so many seconds of its host."""
    agent.run(world.wait, seconds)
