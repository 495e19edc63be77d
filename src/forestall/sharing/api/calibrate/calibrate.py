"""How much a guest takes from this host's owner, measured: what `forestall calibrate` does.

Source: S. Bagchi et al., the FALCON and iShare slides, "Studies on Resource Contention".
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from math import isnan
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from forestall.core.kit.progress import Progress
from forestall.core.kit.versions import versions
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.show.facts import taken
from forestall.core.streams import stream
from forestall.sharing.contention import memory as memory_study
from forestall.sharing.contention.curves import (
    ContentionCurve,
    MemoryCurve,
    Threshold,
    curves,
    mean_interval,
    memory_curves,
    threshold,
)
from forestall.sharing.contention.measure import (
    MeasuredPoints,
    background,
    lowest_priority,
    measure,
    refuse_if_busy,
)
from forestall.sharing.contention.memory import MemoryMeasured, measure_memory
from forestall.sharing.contention.plan import NICE, ExperimentPlan

QUICK_LOADS: Final = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)
QUICK_SECONDS: Final = 0.6
QUICK_REPEATS: Final = 2
MEMORY_SECONDS: Final = 0.4
LOOK: Final = 0.5
"""Seconds in which the background load is measured first."""
MOST_DISTURBED: Final = 0.25
"""Share of the points during which others may have used the cores, for thresholds to be trusted."""
EXPERIMENT: Final = "The experiment"
LEAST_STEP: Final = 0.01
"""Load by which a step between priorities must reach further than the one before it."""
NOT_ASKED: Final = "it was not asked for"

Tell = Callable[[str], None]


@dataclass(frozen=True)
class ExperimentSettings:
    """An experiment as it is typed. None stands for the default, which is another one for a
    `quick` run."""

    seconds: Annotated[
        float | None,
        Setting(
            "Seconds per measured point (default 2; 0.6 with {quick})",
            shown="S", group=EXPERIMENT,
        ),
    ] = None  # fmt: skip
    repeats: Annotated[
        int | None,
        Setting("Measurements of each point (default 3; 2 with {quick})", group=EXPERIMENT),
    ] = None
    loads: Annotated[
        str | None,
        Setting(
            "Load of the owner's groups, as a share of the cores (default 5%, 10%, 20%, ..., "
            "100%)",
            shown="SHARE,...", group=EXPERIMENT,
        ),
    ] = None  # fmt: skip
    groups: Annotated[
        str | None,
        Setting(
            "Number of processes in the owner's groups (default: 1, and 1, 2 and 4 per core)",
            shown="N,...", group=EXPERIMENT,
        ),
    ] = None  # fmt: skip
    limit: Annotated[
        str,
        Setting(
            "Maximum share of CPU time that the owner may lose", shown="SHARE", group=EXPERIMENT
        ),
    ] = "5%"
    cpus: Annotated[
        str | None,
        Setting(
            "Cores used by owner and guest, such as 0 or 0-3 (default: all)",
            shown="LIST", group=EXPERIMENT,
        ),
    ] = None  # fmt: skip
    pattern: Annotated[
        str,
        Setting(
            "Load pattern of the owner: pauses of fixed length after its work, or work due at "
            "fixed times",
            shown="paused|periodic", group=EXPERIMENT,
        ),
    ] = "paused"  # fmt: skip
    memory: Annotated[
        bool,
        Setting(
            "Also measure a lack of memory, where a memory control group can be made",
            group=EXPERIMENT,
        ),
    ] = True
    nice: Annotated[
        str | None,
        Setting(
            "Also measure guests at these nice values, between normal and lowest priority, "
            "such as 5,10,15",
            shown="N,...", group=EXPERIMENT,
        ),
    ] = None  # fmt: skip
    quick: Annotated[
        bool, Setting("Measure fewer and shorter points, for a first look", group=EXPERIMENT)
    ] = False
    seed: Annotated[Annotated[int, Field(ge=0)], Setting("Seed of the random numbers")] = 1
    force: Annotated[
        bool,
        Setting(
            "Measure even on a busy host, keep thresholds from disturbed measurements, and "
            "write into a folder that already holds other files"
        ),
    ] = False

    def plan(self) -> ExperimentPlan:
        """Return the plan. Raises ParameterError."""
        cpus = parse_cpus(self.cpus)
        quick = self.quick
        loads = QUICK_LOADS if quick else ExperimentPlan.loads
        if self.loads is not None:
            shares = (parse_share(part, "loads") for part in self.loads.split(","))
            loads = tuple(dict.fromkeys(shares))
        groups = default_groups(len(cpus), quick=quick)
        if self.groups is not None:
            groups = tuple(dict.fromkeys(_count(part) for part in self.groups.split(",")))
        limit, pattern = parse_share(self.limit, "limit"), _pattern(self.pattern)
        nices = () if self.nice is None else tuple(_nice(part) for part in self.nice.split(","))
        seconds, repeats = self.seconds, self.repeats
        if seconds is None:
            seconds = QUICK_SECONDS if quick else ExperimentPlan.seconds
        if repeats is None:
            repeats = QUICK_REPEATS if quick else ExperimentPlan.repeats
        try:
            return ExperimentPlan(cpus, groups, loads, seconds, repeats, limit, pattern, self.seed,
                                  nices)  # fmt: skip
        except ParameterError as error:
            typed = getattr(self, error.name)
            value = error.value if typed is None else typed
            raise ParameterError(error.name, value, error.allowed) from None

    @property
    def left(self) -> tuple[int, ...]:
        """MB that guests leave free in the part on memory."""
        return memory_study.QUICK if self.quick else memory_study.LEFT

    def takes(self, plan: ExperimentPlan) -> float:
        """About how long all of it takes, s."""
        more = memory_study.takes(MEMORY_SECONDS, plan.repeats, self.left) if self.memory else 0.0
        return LOOK + plan.takes + more


def default_groups(cores: int, *, quick: bool) -> tuple[int, ...]:
    """Return group sizes: one process, and 1, 2 and 4 for each core; fewer for a quick run."""
    each = (1, 4) if quick else (1, 2, 4)
    return tuple(
        sorted({1, *(cores * k for k in each)} if not quick else {cores * k for k in each})
    )


def parse_share(text: str, name: str) -> float:
    """Return a share from ``5%`` or ``0.05``. Raises ParameterError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(%?)\s*", text)
    if match is None:
        raise ParameterError(name, text, "shares such as 5% or 0.05")
    value = float(match[1])
    if value > 1 and not match[2]:
        raise ParameterError(name, text, f"a share of at most 1, or {text.strip()}%")
    return value / 100 if match[2] else value


def parse_cpus(text: str | None) -> tuple[int, ...]:
    """Return cores from ``0-3,6``; None: all that this process may use. Raises ParameterError."""
    there = sorted(os.sched_getaffinity(0))
    if text is None:
        return tuple(there)
    chosen: set[int] = set()
    allowed = f"cores that may be used here, such as 0 or 0-1 (there are {_ranges(there)})"
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", part)
        if match is None:
            raise ParameterError("cpus", text, allowed)
        chosen.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    if not chosen or not chosen <= set(there):
        raise ParameterError("cpus", text, allowed)
    return tuple(sorted(chosen))


def _ranges(cores: list[int]) -> str:
    parts: list[list[int]] = []
    for core in cores:
        if parts and parts[-1][-1] == core - 1:
            parts[-1][1:] = [core]
        else:
            parts.append([core])
    return ",".join("-".join(map(str, part)) for part in parts)


def _count(text: str) -> int:
    if not re.fullmatch(r"\s*\d{1,5}\s*", text):
        raise ParameterError("groups", text, "numbers of processes, such as 1,2,4")
    return int(text)


def _nice(text: str) -> int:
    if not re.fullmatch(r"\s*\d{1,2}\s*", text):
        raise ParameterError("nice", text, "nice values from 1 to 18, such as 5,10,15")
    return int(text)


def _pattern(text: str) -> Literal["paused", "periodic"]:
    if text == "paused":
        return "paused"
    if text == "periodic":
        return "periodic"
    raise ParameterError("pattern", text, "paused or periodic")


@dataclass(frozen=True)
class HostCalibration:
    """What was measured on this host, and what follows from it.

    Attributes
    ----------
    asked, plan : the experiment
    measured, memory : its points
    background : share of the cores that others used before it began
    lowest : by which means a guest's priority is lowered here
    host, kernel, date : where and when (UTC, ISO 8601)
    """

    asked: ExperimentSettings
    plan: ExperimentPlan
    measured: MeasuredPoints
    memory: MemoryMeasured
    background: float
    lowest: dict[str, bool]
    host: str
    kernel: str
    date: str

    @cached_property
    def normal(self) -> list[ContentionCurve]:
        """What each group loses to a guest at normal priority."""
        return curves(self.measured.points, "normal")

    @cached_property
    def lowered(self) -> list[ContentionCurve]:
        """What each group loses to a guest at lowest priority."""
        return curves(self.measured.points, "lowest")

    @cached_property
    def th1(self) -> Threshold:
        """Of a guest at normal priority."""
        chance = stream(self.plan.seed, "contention", "bootstrap", "normal")
        return threshold(self.normal, self.plan.limit, chance)

    @cached_property
    def th2(self) -> Threshold:
        """Of a guest at lowest priority."""
        chance = stream(self.plan.seed, "contention", "bootstrap", "lowest")
        return threshold(self.lowered, self.plan.limit, chance)

    @cached_property
    def by_nice(self) -> dict[int, Threshold]:
        """For each nice value between, the threshold of a guest that runs at it."""
        return {
            one: threshold(
                curves(self.measured.points, f"{NICE}{one}"), self.plan.limit,
                stream(self.plan.seed, "contention", "bootstrap", f"{NICE}{one}"),
            )
            for one in self.plan.nices
        }  # fmt: skip

    @property
    def steps(self) -> list[tuple[float, int]]:
        """Loads up to which a guest may run at a nice value, where that is above Th1 and what the
        nice value before it allows: a step that gains nothing is none."""
        (last, most), found = self.thresholds, []
        for nice, one in self.by_nice.items():
            load = min(round(one.value, 3), most)
            if load > last + LEAST_STEP:
                found.append((load, nice))
                last = load
        return found

    @property
    def thresholds(self) -> tuple[float, float]:
        """Th1 and Th2 to be used, to three digits; Th1 is not above Th2."""
        second = round(self.th2.value, 3)
        return min(round(self.th1.value, 3), second), second

    @property
    def trusted(self) -> bool:
        """Whether the host was quiet enough for the thresholds to be used unseen."""
        return self.measured.disturbed <= MOST_DISTURBED * len(self.measured.points)

    @cached_property
    def memory_curves(self) -> list[MemoryCurve]:
        """What the owner loses against free memory, at both priorities; none where left out."""
        return memory_curves(self.memory.points)

    @property
    def calibration(self) -> dict[str, Any]:
        """What agent and guest manager take their thresholds from, as plain values."""
        th1, th2 = self.thresholds
        return {
            "th1": th1,
            "th2": th2,
            "th1_interval": _ends(self.th1),
            "th2_interval": _ends(self.th2),
            "steps": [list(one) for one in self.steps],
            "limit": self.plan.limit,
            "host": self.host,
            "date": self.date,
            "cpus": list(self.plan.cpus),
            "version": versions()["forestall"],
        }

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All of it as plain values."""
        plan = self.plan
        points = self.measured.points
        shares = [point.background for point in points]
        return {
            "calibration": self.calibration,
            "host": self.host,
            "kernel": self.kernel,
            "date": self.date,
            "parameters": {
                "cpus": list(plan.cpus), "groups": list(plan.groups), "loads": list(plan.loads),
                **taken(plan, "seconds", "repeats", "limit", "pattern", "seed"),
                "force": self.asked.force,
            },
            "lowest_priority": self.lowest,
            "background": {
                "before": self.background,
                "mean": sum(shares) / len(shares),
                "most": max(shares),
                "measured_again": self.measured.again,
                "points": len(shares),
                "points_disturbed": self.measured.disturbed,
            },
            "th1": _threshold(self.th1),
            "th2": _threshold(self.th2),
            "nice": {str(nice): _threshold(one) for nice, one in self.by_nice.items()},
            "curves": [_curve(one) for one in (*self.normal, *self.lowered)],
            "memory": self._memory(),
            "versions": versions(),
        }  # fmt: skip

    def _memory(self) -> dict[str, Any]:
        found = self.memory
        return {
            "left_out": found.why or None,
            "limit": found.limit,
            "owner": found.owner,
            "curves": [_memory_curve(one, self.plan.limit) for one in self.memory_curves],
        }


def _ends(found: Threshold) -> list[float] | None:
    return None if found.interval is None else [round(end, 3) for end in found.interval]


def _threshold(found: Threshold) -> dict[str, Any]:
    return {
        "value": found.value,
        "kind": found.kind,
        "group": found.group,
        "interval": None if found.interval is None else list(found.interval),
        "by_group": {str(group): value for group, value in found.by_group.items()},
    }


def _rows(**columns: Any) -> list[dict[str, Any]]:
    names = tuple(columns)
    return [
        {name: None if isnan(value) else value for name, value in zip(names, row, strict=True)}
        for row in zip(*(column.tolist() for column in columns.values()), strict=True)
    ]


def _curve(one: ContentionCurve) -> dict[str, Any]:
    ends = one.interval()
    rows = _rows(
        asked=one.asked,
        load=one.mean_load,
        reduction=one.mean_reduction,
        low=ends[:, 0],
        high=ends[:, 1],
    )
    return {"group": one.group, "guest": one.guest, "points": rows}


def _memory_curve(one: MemoryCurve, limit: float) -> dict[str, Any]:
    needed, kind = one.needed(limit)
    ends = mean_interval(one.reduction)
    rows = _rows(
        size=one.size,
        free=one.free.mean(axis=1),
        reduction=one.reduction.mean(axis=1),
        low=ends[:, 0],
        high=ends[:, 1],
        faults_per_page=one.faults.mean(axis=1),
    )
    return {"guest": one.guest, "needed": needed, "kind": kind, "points": rows}


def calibrate(
    asked: ExperimentSettings | None = None,
    *,
    progress: Progress | None = None,
    tell: Tell | None = None,
) -> HostCalibration:
    """Measure this host; takes minutes, and uses all of the chosen cores meanwhile.

    Parameters
    ----------
    asked : the experiment; None: the default one
    progress : called with steps done and steps in all, for each part of the experiment
    tell : called with what is being done

    Raises ParameterError for a bad option, ContentionError where the host is too busy.
    """
    asked = ExperimentSettings() if asked is None else asked
    plan = asked.plan()
    say = (lambda _text: None) if tell is None else tell
    busy = background(plan.cpus, LOOK)
    if not asked.force:
        refuse_if_busy(busy, len(plan.cpus))
    lowest = lowest_priority()
    measured = measure(plan, progress)
    found = MemoryMeasured((), NOT_ASKED)
    if asked.memory:
        say("memory")
        found = measure_memory(
            cpus=plan.cpus,
            seconds=MEMORY_SECONDS,
            repeats=plan.repeats,
            seed=plan.seed,
            left=asked.left,
            progress=progress,
        )
    date = datetime.now(UTC).isoformat(timespec="seconds")
    where = platform.node(), platform.release()
    return HostCalibration(asked, plan, measured, found, busy, lowest, *where, date)
