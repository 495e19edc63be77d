"""The experiment on the CPU: owner groups alone, and with a guest at normal and lowest priority."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.sharing.contention.herd import SPIN, ContentionError, Herd, Load
from forestall.sharing.contention.plan import (
    NICE,
    SETTLE_GUEST,
    SETTLE_OWNER,
    ExperimentPlan,
    Guest,
)
from forestall.sharing.contention.points import Point

BUSY: Final = 0.15
"""Share of the cores that others may use before the experiment is refused."""
DISTURBED: Final = 0.05
"""Share of the cores that others may use while a point is measured."""
STAT: Final = Path("/proc/stat")
TICKS: Final = 100
"""Of /proc/stat in a second; the kernel's USER_HZ is that on every Linux."""

FloatArray = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]


class Idle(NamedTuple):
    """Time that cores were idle, and that a hypervisor took from them, s, all cores together."""

    idle: float
    steal: float


def idle_time(cpus: Sequence[int], text: str | None = None) -> Idle:
    """Return how long these cores have been idle so far; `text` is what /proc/stat says."""
    lines = (STAT.read_text(encoding="ascii") if text is None else text).splitlines()
    wanted = {f"cpu{cpu}" for cpu in cpus}
    idle = steal = 0
    for line in lines:
        name, *values = line.split()
        if name in wanted:
            idle += int(values[3]) + int(values[4])
            steal += int(values[7]) if len(values) > 7 else 0
    return Idle(idle / TICKS, steal / TICKS)


def background(cpus: Sequence[int], seconds: float) -> float:
    """Return the share of the cores that is in use now; measures for so many s."""
    before, began = idle_time(cpus), time.monotonic()
    time.sleep(seconds)
    after, ended = idle_time(cpus), time.monotonic()
    share = 1 - (after.idle - before.idle) / ((ended - began) * len(cpus))
    return _share(share)


def refuse_if_busy(share: float, cores: int) -> None:
    """Raise ContentionError where others use so much that nothing could be told from the rest."""
    if share > BUSY:
        which = "the core" if cores == 1 else f"the {cores} cores"
        raise ContentionError(
            f"others use {100 * share:.0f} % of {which} now, and results mean little above "
            f"{100 * BUSY:.0f} %; try when the host is quiet, on other cores ({{cpus}}), or with "
            "{force}"
        )


@dataclass(frozen=True)
class MeasuredPoints:
    """What came out: the points; how many groups were measured again as others had used the cores
    meanwhile; and of how many points that is true all the same."""

    points: tuple[Point, ...]
    again: int
    disturbed: int


def lowest_priority() -> dict[str, bool]:
    """Return by which means a guest's priority is lowered here: "nice" (19), "idle" (SCHED_IDLE),
    and "autogroup" (nice 19 of the session as a whole, where the kernel groups them)."""
    with Herd.of([Load(0.001, 1.0)], lowest=True) as herd:
        return {name: bool(done) for name, done in herd.told.items() if name != "pids"}


def measure(plan: ExperimentPlan, progress: Progress | None = None) -> MeasuredPoints:
    """Return all points of a plan; takes about `plan.takes` s, up to a third more where others use
    the cores now and then.

    Each owner group is started once a repeat. Without a guest, and with a spinning process for
    each core at normal and at lowest priority, are measured in turns of a fraction of a second, so
    that changes of the host meet all three alike. Groups during which others used more than
    `DISTURBED` of the cores are measured again at the end, and the quieter of the two counts. No
    process is left, however this ends. Raises ContentionError.
    """
    began = time.monotonic()
    waiting = list(plan.order())
    total, spare = plan.blocks, math.ceil(plan.blocks / 3)
    found: dict[tuple[int, int, float], list[Point]] = {}
    done = again = 0
    while waiting:
        key = waiting.pop(0)
        points = _block(plan, began, *key)
        if key not in found or _others(points) < _others(found[key]):
            found[key] = points
        if _others(found[key]) > DISTURBED and again < spare:
            again += 1
            waiting.append(key)
            total += 1
        done += 1
        if progress is not None:
            progress(done, total)
    kept = [point for points in found.values() for point in points]
    return MeasuredPoints(tuple(kept), again, sum(point.background > DISTURBED for point in kept))


def _others(points: Sequence[Point]) -> float:
    return max(point.background for point in points)


def _block(plan: ExperimentPlan, began: float, repeat: int, group: int, load: float) -> list[Point]:
    """Return the points of a group, one for each guest."""
    before = time.monotonic() - began
    cores = len(plan.cpus)
    totals = {guest: np.zeros(4) for guest in plan.guests}
    with ExitStack() as stack:

        def start(loads: Sequence[Load], guest: Guest = "normal") -> Herd:
            nice = int(guest.removeprefix(NICE)) if guest.startswith(NICE) else 0
            herd = Herd.of(loads, periodic=plan.pattern == "periodic", lowest=guest == "lowest",
                           nice=nice, cpus=plan.cpus)  # fmt: skip
            return stack.enter_context(herd)

        guests: dict[Guest, Herd] = {}
        for guest in plan.guests[1:]:
            guests[guest] = start([SPIN] * cores, guest)
            guests[guest].pause()
        owner = start(plan.owner(repeat, group, load))
        time.sleep(SETTLE_OWNER)
        for guest in plan.turns(repeat, group, load):
            totals[guest] += _turn(plan, owner, guests.get(guest))
    return [
        Point(repeat, group, load, guest, before, seconds, own, used, cores, _share(others))
        for guest, (seconds, own, used, idle) in totals.items()
        for others in (1 - (idle + own + used) / (seconds * cores),)
    ]


def _turn(plan: ExperimentPlan, owner: Herd, guest: Herd | None) -> FloatArray:
    """Return s that passed, CPU s of owner and guest, and idle time of the cores in one slice."""

    def look() -> FloatArray:
        used = 0.0 if guest is None else guest.cpu_time()
        own, idle = owner.cpu_time(), idle_time(plan.cpus).idle
        return np.array((time.monotonic(), own, used, idle))

    if guest is not None:
        guest.go_on()
    try:
        time.sleep(SETTLE_GUEST)
        first = look()
        time.sleep(plan.seconds / plan.slices)
        return np.asarray(look() - first)
    finally:
        if guest is not None:
            guest.pause()


def _share(value: float) -> float:
    return float(min(1.0, max(0.0, value)))
