"""Random cases of virtual machines, small and hard, and how an outcome is compared with the
reference."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual import FAR
from forestall.machines.simulation.outcome import VirtualOutcome, VirtualWorkload
from forestall.machines.simulation.parameters import VirtualParameters
from machines.simulation.virtual_reference import PlainOutcome

JobRow = tuple[int, int, int, int]
"""Submit time, tasks, run time at the full rate, seconds from submission to the deadline."""
FailureRow = tuple[int, int, int]
"""Time, node, downtime."""
PredictionRow = tuple[int, int, int]
"""Since when it is known, node, predicted time."""
Setup = tuple[VirtualWorkload, Failures, Predictions, VirtualParameters]


@dataclass(frozen=True)
class Case:
    """Rows in any order; `settings` are names of VirtualParameters."""

    jobs: list[JobRow]
    failures: list[FailureRow] = field(default_factory=list)
    predictions: list[PredictionRow] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------------------- making cases

STRATEGIES = ("random", "first-fit", "best-fit", "omniscient")
MIGRATIONS = ("stop-and-copy", "pre-copy", "none")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "strategy": (*STRATEGIES, "first-fit", "best-fit", "best-fit"),
    "alpha": (0.5, 0.0, 1.0, 0.25, 0.9, "dynamic"),
    "migration": (*MIGRATIONS, "stop-and-copy", "pre-copy"),
    "migration_cost": (2, 0, 1, 5, 12),
    "vm_memory": (None, None, None, 100.0, 700.0),
    "link": (119.0, 50.0),
    "dirty_rate": (0.0, 20.0, 45.0, 200.0),
    "max_downtime": (0.3, 2.5, 60.0),
    "lead": (None, None, 0, 1, 5, 20),
    "tau": ("told", "told", "learned"),
    "overload_limit": (None, None, 0.5, 0.7, 0.9),
    "overload_hold": (1, 2, 5, 20),
    "past_deadline": ("stop", "run"),
    "backfill": (False, True),
    "random_stays": (False, True),
    "task_processors": (1.0, 0.5, 1.5, 0.3, 2.0, 0.001),
    "least_rate": (0.1, 0.001, 0.5, 0.3, 1.0),
    "checkpoint": ("none", "periodic", "periodic"),
    "checkpoint_interval": (3, 1, 2, 7, 20),
    "checkpoint_overhead": (1, 0, 3),
    "seed": (1, 2, 3),
}


def _sensible(settings: dict[str, Any], sizes: list[int], holds: list[int]) -> dict[str, Any]:
    """Return the settings made to go together; `sizes` are those of unlike nodes (none: all are
    alike), `holds` how many machines their memory has room for (0: any number)."""
    most = min(settings["task_processors"], min(sizes, default=settings["processors_per_node"]))
    settings = {**settings, "least_rate": min(settings["least_rate"], most)}
    if sizes:
        memory = settings["vm_memory"]
        parts = [
            f"1x{size}:{round(many * memory)}MiB" if many and memory else f"1x{size}"
            for size, many in zip(sizes, holds, strict=True)
        ]
        settings["node_sizes"] = "+".join(parts)
    return settings


@st.composite
def virtual_cases(draw: st.DrawFn, **fixed: Any) -> Case:
    """Draw a case that Hypothesis can shrink: few nodes, many equal times, all settings varied
    but those that are `fixed`."""
    settings = {
        name: draw(st.sampled_from(allowed))
        for name, allowed in _CHOICES.items()
        if name not in fixed
    }
    settings["nodes"] = nodes = fixed.get("nodes") or draw(st.integers(1, 4))
    settings["processors_per_node"] = ppn = draw(st.sampled_from([1, 2, 3]))
    some = st.lists(st.integers(1, 4), min_size=nodes, max_size=nodes)
    sizes = draw(st.one_of(st.just([]), some))
    holds = draw(st.lists(st.integers(0, 4), min_size=nodes, max_size=nodes))
    settings = _sensible({**settings, **fixed}, sizes, holds)
    unit = draw(st.sampled_from([1, 5]))
    job = st.builds(
        lambda submit, tasks, runtime, slack: (
            submit * unit, tasks, runtime * unit, max(1, runtime * unit + slack),
        ),
        st.integers(0, 8), st.integers(1, nodes * ppn), st.integers(1, 12),
        st.sampled_from([0, 0, -3, -1, 1, 2, 5, 10, 30]),
    )  # fmt: skip
    failure = st.tuples(
        st.integers(0, 20).map(lambda t: t * unit),
        st.integers(0, nodes - 1),
        st.sampled_from([1, 2, 5, 10]),
    )
    failures = sorted(draw(st.lists(failure, max_size=8)), key=lambda f: f[:2])
    predictions = []
    for time, node, _ in failures:
        told, early = draw(st.integers(0, 40)), draw(st.integers(-3, 15))
        if draw(st.integers(0, 4)):
            predictions.append((max(-2, time - told), node, time - early))
    stray = st.tuples(
        st.integers(0, 60),
        st.integers(0, nodes - 1),
        st.one_of(st.integers(0, 80), st.just(FAR), st.sampled_from([FAR - 1, 2**40, 10**9])),
    )
    predictions += draw(st.lists(stray, max_size=4))
    jobs = draw(st.lists(job, min_size=1, max_size=8))
    return Case(jobs, failures, predictions, settings)


def random_case(seed: int) -> Case:
    """Return a larger case, in which the seed also draws how loaded and apt to fail all is."""
    rng = random.Random(seed)
    nodes = rng.choice([2, 3, 5, 9, 17])
    ppn = rng.choice([1, 1, 2, 4, 5])
    settings = {name: rng.choice(allowed) for name, allowed in _CHOICES.items()}
    settings |= {"nodes": nodes, "processors_per_node": ppn, "seed": seed}
    sizes = [rng.choice([1, 2, ppn, 6]) for _ in range(nodes)] if rng.random() < 0.4 else []
    settings = _sensible(settings, sizes, [rng.choice([0, 0, 1, 2, 5]) for _ in range(nodes)])
    span = rng.choice([20, 60, 300])
    longest = rng.choice([5, 20, span])
    jobs = []
    for _ in range(rng.randint(1, 25)):
        runtime = rng.randint(1, longest)
        tasks = rng.choice([1, 2, nodes, rng.randint(1, nodes * ppn)])
        slack = rng.choice([0, 1, rng.randint(-2, 12), rng.randint(0, 2 * longest)])
        jobs.append((rng.randint(0, span // 2), tasks, runtime, max(1, runtime + slack)))
    step = rng.choice([1, 5])
    failures = sorted(
        (step * rng.randint(0, 2 * span // step), rng.randrange(nodes), rng.randint(1, 20))
        for _ in range(rng.choice([0, 2, 8, 25]))
    )
    failures.sort(key=lambda f: f[:2])
    if rng.random() < 0.3:  # many at nearly the same time
        failures = [(span // 3 + time % 4, node, down) for time, node, down in failures]
        failures.sort(key=lambda f: f[:2])
    predictions = []
    accurate = rng.random()
    for time, node, _ in failures:
        known = time - rng.choice([0, 1, 5, rng.randint(0, span)])
        off = 0 if rng.random() < accurate else rng.randint(-5, 20)
        if rng.random() < 0.85:
            predictions.append((known, node, time - off))
    for _ in range(rng.choice([0, 0, 3, 15])):
        known = rng.randint(0, span)
        predictions.append((known, rng.randrange(nodes), known + rng.randint(-5, span)))
    return Case(jobs, failures, predictions, settings)


def long_case(seed: int) -> Case:
    """Return a case with hundreds of failures, moves and restarts on few nodes: no table of the
    fast code is long enough at first."""
    rng = random.Random(seed)
    nodes, ppn = rng.choice([2, 3, 5]), rng.choice([1, 2])
    settings = {name: rng.choice(allowed) for name, allowed in _CHOICES.items()}
    settings |= {"nodes": nodes, "processors_per_node": ppn, "seed": seed, "random_stays": False}
    settings["migration"] = rng.choice(["stop-and-copy", "pre-copy"])
    settings["checkpoint"] = rng.choice(["none", "periodic", "periodic"])
    settings |= {"task_processors": rng.choice([1.0, 0.5, 0.3]), "past_deadline": "stop"}
    settings = _sensible(settings, [], [])
    jobs = [
        (
            rng.randint(0, 2000),
            rng.randint(1, nodes * ppn),
            rng.randint(1, 80),
            rng.randint(20, 300),
        )
        for _ in range(rng.randint(60, 120))
    ]
    failures = sorted(
        ((rng.randint(0, 2200), rng.randrange(nodes), rng.randint(1, 12)) for _ in range(300)),
        key=lambda f: f[:2],
    )
    predictions = [
        (time - rng.randint(0, 40), node, time - rng.randint(-1, 8))
        for time, node, _ in failures
        if rng.random() < 0.9
    ]
    predictions += [
        (known := rng.randint(0, 2200), rng.randrange(nodes), known + rng.randint(-5, 90))
        for _ in range(200)
    ]
    return Case(jobs, failures, predictions, settings)


def wide_case(seed: int) -> Case:
    """Return a case on many nodes, about powers of two, of which half are foreseen to fail."""
    rng = random.Random(seed)
    nodes, ppn = rng.choice([31, 32, 33, 63, 64, 65, 100, 129, 200]), rng.choice([1, 2, 3])
    settings = {name: rng.choice(allowed) for name, allowed in _CHOICES.items()}
    settings |= {"nodes": nodes, "processors_per_node": ppn, "seed": seed}
    settings |= {"task_processors": rng.choice([1.0, 1.5, 0.3]), "checkpoint_interval": 20}
    settings = _sensible(settings, [], [])
    jobs = []
    for _ in range(rng.randint(5, 30)):
        runtime = rng.randint(5, 60)
        tasks = rng.choice([1, 5, nodes // 4, nodes // 3, nodes])
        jobs.append((rng.randint(0, 60), tasks, runtime, runtime + rng.randint(0, 90)))
    failures = sorted(
        (
            (rng.randint(0, 150), rng.randrange(nodes), rng.randint(1, 60))
            for _ in range(nodes // 2)
        ),
        key=lambda f: f[:2],
    )
    predictions = [(0, node, max(0, time - rng.randint(0, 9))) for time, node, _ in failures]
    for node in rng.sample(range(nodes), nodes // 4):
        predictions.append((rng.randint(0, 90), node, rng.randint(20, 200)))
    return Case(jobs, failures, predictions, settings)


# ------------------------------------------------------------------------------- playing them


def prepared(case: Case) -> Setup:
    """Return what a simulator takes."""
    parameters = VirtualParameters(**case.settings)
    rows = sorted(case.jobs, key=lambda row: row[0])
    submit, size, runtime, asked = (_column(rows, k) for k in range(4))
    jobs = Jobs(np.arange(1, len(rows) + 1), submit, size, runtime, asked)
    work = runtime * round(1000 * parameters.task_processors)
    workload = VirtualWorkload(jobs, submit + asked, work, Cleaning())
    time, node, downtime = (_column(case.failures, k) for k in range(3))
    failures = Failures.build(time, node, downtime)
    foreseen = sorted(case.predictions, key=lambda row: row[:2])
    predictions = Predictions(*(_column(foreseen, k) for k in range(3)))
    return workload, failures, predictions, parameters


def _column(rows: list[Any], k: int) -> np.ndarray:
    return np.array([row[k] for row in rows], dtype=np.int64)


# ------------------------------------------------------------------------------- comparing


def plain(outcome: VirtualOutcome | PlainOutcome) -> PlainOutcome:
    """Return an outcome as the reference lists it."""
    if isinstance(outcome, PlainOutcome):
        return outcome
    return PlainOutcome(
        jobs=_tuples(outcome.jobs),
        runs=sorted(_tuples(outcome.runs)),
        moves=_tuples(outcome.moves),
        struck=_tuples(outcome.struck),
    )


def _tuples(table: np.ndarray) -> list[tuple[int, ...]]:
    return [tuple(int(value) for value in row) for row in table.tolist()]


def difference(one: PlainOutcome, other: PlainOutcome) -> str:
    """Return in words where two outcomes differ first; empty where they are the same."""
    for name in ("struck", "moves", "runs", "jobs"):
        left, right = getattr(one, name), getattr(other, name)
        for k in range(max(len(left), len(right))):
            a, b = left[k : k + 1], right[k : k + 1]
            if a != b:
                return f"{name}[{k}]: {a} here, {b} there"
    return ""
