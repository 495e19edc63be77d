"""The measurement: an owner's session of commands and think times, beside each guest in turn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import forestall as fs
from forestall import contention
from studies.contention.programs import BURST, PROGRAMS, make_files
from studies.contention.study import AGAIN, GUESTS, LOWEST, MEMORY, NONE, Case, Plan
from studies.kit.kept_runs import Row

WARM, TRIED = 2, 5
"""Commands run before the owner is measured: to warm up, and to see how long they take."""
FEWEST: Final = 2
"""Commands in a turn."""
PATIENCE: Final = 120.0
SPREAD: Final = 0.5
"""Of think times around their middle, as a share of it."""


@dataclass(frozen=True)
class Given:
    """What all cases need: the plan, and the core."""

    plan: Plan
    core: int


def play_batch(batch: tuple[Case, ...], given: Given) -> list[Row]:
    """Return the rows of cases, one for each guest and turn."""
    return [row for case in batch for row in _play(case, given)]


def _play(case: Case, given: Given) -> list[Row]:
    if case.program == MEMORY:
        return _memory(case, given)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forestall-")))
        make_files(folder, given.plan.seed)
        group = stack.enter_context(contention.core_group())
        where: dict[str, Any] = {"cpus": (given.core,)}
        where |= {} if isinstance(group, str) else {"cgroup": group}
        guests = {name: stack.enter_context(guest(name, where)) for name in GUESTS}
        asked = {
            "kind": "commands", "folder": str(folder), "burst": BURST,
            "command": PROGRAMS[case.program].command(),
        }  # fmt: skip
        owner = stack.enter_context(contention.Herd(asked, **where))
        _ask(owner, [0.0] * WARM)
        each = float(np.median(_ask(owner, [0.0] * TRIED)["used"]))
        thinks = think_times(case, given.plan, each)
        return [
            _turn(case, name, owner, guests.get(name), thinks, given.core)
            for name in order(case, given.plan)
        ]


def guest(name: str, where: dict[str, Any]) -> contention.Herd:
    """Return a guest that spins at this priority, stopped."""
    nice = int(name.removeprefix("nice ")) if name.startswith("nice ") else 0
    herd = contention.Herd.of([contention.SPIN], lowest=name == LOWEST, nice=nice, **where)
    herd.pause()
    return herd


def order(case: Case, plan: Plan) -> Iterator[str]:
    """Yield what runs beside the owner, turn by turn, in random order."""
    names = (NONE, AGAIN, *GUESTS)
    chance = fs.stream(plan.seed, "contention", "order", *_words(case))
    for k in chance.permutation(len(names)):
        yield names[int(k)]


def think_times(case: Case, plan: Plan, each: float) -> list[float]:
    """Return the s that the owner thinks before each command of a turn, the same for all guests.

    Parameters
    ----------
    each : CPU s of a command
    """
    count = max(FEWEST, round(plan.seconds * case.load / each))
    chance = fs.stream(plan.seed, "contention", "think", *_words(case))
    shares = 1 + SPREAD * (2 * chance.random(count) - 1)
    think = each * (1 - case.load) / case.load
    return [float(think * one) for one in shares * count / shares.sum()]


def _words(case: Case) -> tuple[str, ...]:
    return case.program, f"{case.load:g}", str(case.repeat)


def _ask(owner: contention.Herd, thinks: list[float]) -> dict[str, Any]:
    return owner.ask(json.dumps(thinks), PATIENCE)


def _turn(
    case: Case, name: str, owner: contention.Herd, beside: contention.Herd | None,
    thinks: list[float], core: int,
) -> Row:  # fmt: skip
    """Return what came out of one turn."""
    if beside is not None:
        beside.go_on()
    used = 0.0 if beside is None else beside.cpu_time()
    idle = contention.idle_time((core,)).idle
    told = _ask(owner, thinks)
    idle = contention.idle_time((core,)).idle - idle
    if beside is not None:
        used = beside.cpu_time() - used
        beside.pause()
    seconds, own = float(told["seconds"]), float(sum(told["used"]))
    return {
        "program": case.program, "load": case.load, "repeat": case.repeat, "guest": name,
        "commands": len(thinks), "seconds": seconds, "owner": own,
        "response": float(np.mean(told["spent"])), "guest_cpu": used,
        "others": min(1.0, max(0.0, 1 - (own + used + idle) / seconds)),
    }  # fmt: skip


def _memory(case: Case, given: Given) -> list[Row]:
    """Return the owner's speed beside guests that hold memory, a row for each phase."""
    found = contention.measure_memory(
        cpus=(given.core,), repeats=1, seed=given.plan.seed + case.repeat
    )
    return [
        {
            "program": case.program, "load": case.load, "repeat": case.repeat,
            "guest": one.guest, "size": one.size, "free": one.free, "pages": one.pages,
            "seconds": one.seconds, "faults": one.faults,
        }
        for one in found.points
    ]  # fmt: skip
