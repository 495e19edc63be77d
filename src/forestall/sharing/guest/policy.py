"""What a guest may do now: a function of what was seen of its host, sample by sample."""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Final, NamedTuple

from forestall.core.processes.priority import NICE
from forestall.prediction.availability.states import NAMES, S1, S3, S4, S5, StateWatch
from forestall.sharing.guest.settings import AUTO_MEMORY, GuestSettings

MORE_MEMORY: Final = 0.1
"""Share of what a guest held at most that it may need beyond it."""
LEAST_FREE: Final = 0.01
"""Share of the memory below which any guest must go, however much of its need it already has: the
owner would be short of it."""


class Allowed(IntEnum):
    """What a guest may do, from least to most."""

    NOTHING = 0  # it must end
    STAND = 1  # it stands still; one that does not run is not started
    CRAWL = 2  # it runs at lowest priority
    RUN = 3  # at normal priority


class Sight(NamedTuple):
    """What was seen of the host.

    Attributes
    ----------
    boot : when, in s of a clock that does not jump
    load : the owner's share of the machine's CPU time since the last look, 0 to 1; nan: not known
    guest_load : the guests' share
    available : share of the memory that can be had; what guests hold is not counted
    """

    boot: float
    load: float
    guest_load: float
    available: float


class Verdict(NamedTuple):
    """What a guest may do now, and why, in words with figures; `level`: how many nice values below
    normal it runs at least."""

    allowed: Allowed
    state: str
    why: str
    level: int = NICE


class Judge:
    """Says what a guest may do.

    It lowers and stops at the first sample that asks for it, and raises or starts again only when
    the load has been low for `settings.calm` seconds.

    Parameters
    ----------
    settings : thresholds and times
    memory : of the machine, in bytes
    held : what the guest was seen to hold before, in bytes
    """

    def __init__(self, settings: GuestSettings, memory: float, held: float = 0.0) -> None:
        self.settings = settings
        self.need = settings.need(memory)
        if settings.guest_memory == AUTO_MEMORY:
            self.need = (1 + MORE_MEMORY) * held / memory
        self._watch = StateWatch((settings.th1, settings.th2), settings.hold, 0.0, settings.every)
        self._steps = settings.levels()
        self._below = [math.nan] * len(self._steps)  # since when it is at most that of a step
        self._low = math.nan  # since when it is at most Th1
        self._ended = math.nan  # when the host was last seen in S3 to S5

    def see(self, sight: Sight, resident: float) -> Verdict:
        """Take a look at the host and return the verdict.

        Parameters
        ----------
        sight : what was seen
        resident : share of the machine's memory that the guest holds
        """
        rules, load = self.settings, sight.load
        if rules.guest_memory == AUTO_MEMORY:  # what it held once it may hold again, and some more
            self.need = max(self.need, (1 + MORE_MEMORY) * resident)
        free = sight.available + min(resident, self.need) - self.need
        if sight.available < LEAST_FREE:
            free = -math.inf
        state = self._watch.see(sight.boot, load, free)
        name = NAMES[state]
        self._follow(sight.boot, load)
        if state >= S3:
            self._ended = sight.boot
        if state == S3:
            lasted = f"for longer than {rules.hold:g} s"
            return Verdict(
                Allowed.NOTHING, name, f"{self._load(load)} > {100 * rules.th2:.0f} % {lasted}"
            )
        if state == S4:
            return Verdict(Allowed.NOTHING, name, self._memory(sight.available, resident))
        if state == S5:
            return Verdict(Allowed.NOTHING, name, f"no sample for longer than {rules.hold:g} s")
        if math.isnan(load):
            return Verdict(Allowed.STAND, name, "the owner's load is not known")
        if load > rules.th2:
            return Verdict(Allowed.STAND, name, f"{self._load(load)} > {100 * rules.th2:.0f} %")
        return self._priority(state, sight)

    def _priority(self, state: int, sight: Sight) -> Verdict:
        """Return at which priority it may run, in S1 and S2."""
        rules, load, name = self.settings, sight.load, NAMES[state]
        if state == S1 and sight.boot - self._low >= rules.calm:
            why = f"{self._load(load)} <= {100 * rules.th1:.0f} % for {rules.calm:g} s"
            return Verdict(Allowed.RUN, name, why, 0)
        for (most, level), since in zip(self._steps, self._below, strict=True):
            if sight.boot - since >= rules.calm:
                why = f"{self._load(load)} <= {100 * most:.0f} % for {rules.calm:g} s, nice {level}"
                return Verdict(Allowed.CRAWL, name, why, level)
        if state == S1:
            why = f"{self._load(load)} <= {100 * rules.th1:.0f} %, not yet for {rules.calm:g} s"
            return Verdict(Allowed.CRAWL, name, why)
        return Verdict(Allowed.CRAWL, name, f"{self._load(load)} > {100 * rules.th1:.0f} %")

    def calm(self, boot: float) -> bool:
        """Return whether a guest that the host ended may be started again: it was in S1 or S2 for
        long enough."""
        return not boot - self._ended < self.settings.calm  # True where it never was elsewhere

    def _follow(self, boot: float, load: float) -> None:
        if not load <= self.settings.th1:
            self._low = math.nan
        elif math.isnan(self._low):
            self._low = boot
        for place, (most, _) in enumerate(self._steps):
            if not load <= most:
                self._below[place] = math.nan
            elif math.isnan(self._below[place]):
                self._below[place] = boot

    def _load(self, load: float) -> str:
        return f"owner's load {100 * load:.0f} %"

    def _memory(self, available: float, resident: float) -> str:
        if available < LEAST_FREE:
            least = f"{100 * LEAST_FREE:.0f} %"
            return f"free memory {100 * available:.1f} % < {least}, the least for the owner"
        need, has = self.need, min(resident, self.need)
        return (
            f"free memory {100 * available:.1f} % < {100 * (need - has):.1f} %: the guest needs "
            f"{100 * need:.1f} % and has {100 * has:.1f} %"
        )
