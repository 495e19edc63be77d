"""Random cases of cycle sharing, small and hard, and how an outcome is compared with the
reference."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from forestall.core.model.hosts import HostTraces
from forestall.core.model.jobs import Jobs
from forestall.prediction.models.semi_markov.forecast import HostCurves
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.outcome import CycleOutcome
from forestall.sharing.simulation.parameters import CycleParameters
from sharing.simulation.cycle_reference import PlainOutcome, Table

NAN = math.nan
DAY = 86_400
JobRow = tuple[int, int]
"""Submit time, run time."""
Setup = tuple[Jobs, HostTraces, CycleParameters]

SCHEDULERS = ("falcon", "falcon-slides", "condor", "omniscient")
RESTARTS = ("scratch", "checkpoint")


@dataclass(frozen=True)
class Case:
    """Jobs in any order; samples of each host; `settings` are names of CycleParameters."""

    jobs: list[JobRow]
    load: list[list[float]]
    memory: list[list[float]] | None = None
    period: int = 60
    speed: list[float] = field(default_factory=list)
    origin: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def prepared(case: Case) -> Setup:
    """Return what a simulator takes."""
    rows = sorted(case.jobs, key=lambda row: row[0])
    submit, runtime = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
    ones = np.ones(len(rows), dtype=np.int64)
    jobs = Jobs(np.arange(1, len(rows) + 1), submit, ones, runtime, -ones)
    hosts = HostTraces(
        np.array(case.load, dtype=np.float64),
        None if case.memory is None else np.array(case.memory, dtype=np.float64),
        case.period,
        np.array(case.speed or [1.0] * len(case.load), dtype=np.float64),
        tuple(f"host{h}" for h in range(len(case.load))),
        case.origin,
    )
    return jobs, hosts, CycleParameters(**{"warm_up": 0, **case.settings})


# ------------------------------------------------------------------------------- making cases

_CHOICES: dict[str, tuple[Any, ...]] = {
    "scheduler": SCHEDULERS,
    "rank": ("idle", "idle", "speed"),
    "restart": ("scratch", "checkpoint", "checkpoint"),
    "checkpoint_interval": (60, 1, 7, 300, 1000, None),
    "checkpoint_overhead": (0, 0, 1, 5, 60, 100),
    "checkpoint_at_end": (True, False),
    "restart_overhead": (0, 0, 1, 17, 60, 400),
    "move_below": (None, None, 0.5, 0.9, 1.0),
    "look_ahead": (600, 60, 3600, 7000),
    "look_every": (60, 300, 100, 900),
    "retry": (60, 7, 300, 45, 1000),
    "retries": (1, 0, 2, 5, 100),
    "hold": (60, 0, 6, 30, 59, 61, 120, 600),
    "guest_memory": (0.1, 0.0, 0.5, 1.0),
    "spikes": ("share", "stop"),
    "history": (20, 1, 2, 5),
    "predict_every": (3600, 60, 61, 600, 1000),
    "predict_step": (60, 300, 450, 600, 3600),
    "pooling": ("partial", "partial", "none"),
    "load_memory": (1800, 0, 1, 600, 100_000),
    "seed": (1, 2, 3),
}
_LEVELS = ((0.2, 0.6), (0.2, 0.6), (0.0, 0.5), (0.5, 0.5), (0.3, 1.0), (0.0, 0.0))


def loads_for(th1: float, th2: float) -> list[float]:
    """Return loads of every kind, and those at and next to the thresholds."""
    beside = [math.nextafter(th, 2.0) for th in (th1, th2)]
    return [0.0, 0.05, th1, th2, *beside, th1 / 3, (th1 + th2) / 2, 0.97, 1.0, NAN]


def _row(rng: random.Random, samples: int, values: list[float], lengths: list[int]) -> list[float]:
    """Return segments of one value each, now and then of changing ones."""
    row: list[float] = []
    while len(row) < samples:
        length = rng.choice(lengths)
        if rng.random() < 0.15:
            row += [rng.choice(values) for _ in range(length)]
        else:
            row += [rng.choice(values)] * length
    return row[:samples]


def _memory(
    rng: random.Random, hosts: int, samples: int, need: float, lengths: list[int]
) -> list[list[float]] | None:
    if rng.random() < 0.4:
        return None
    values = [1.0, 1.0, need, math.nextafter(need, 2.0), NAN, math.nextafter(need, -1.0), need / 2]
    return [_row(rng, samples, values, [*lengths, 20, 40]) for _ in range(hosts)]


def _speeds(rng: random.Random, hosts: int) -> list[float]:
    if rng.random() < 0.4:
        return [1.0] * hosts
    return [rng.choice([1.0, 2.0, 0.5, 1.3, 0.37, 3.0]) for _ in range(hosts)]


def _settings(rng: random.Random) -> dict[str, Any]:
    settings = {name: rng.choice(allowed) for name, allowed in _CHOICES.items()}
    settings["th1"], settings["th2"] = rng.choice(_LEVELS)
    settings["horizon"] = rng.choice([3600, 3600, 7200])
    if rng.random() < 0.1:
        settings["job_length"] = rng.choice([1, 100, 1000])
    return settings


def random_case(seed: int) -> Case:
    """Return a case of minutes or hours, in which the seed also draws how all is loaded."""
    rng = random.Random(seed)
    settings = _settings(rng)
    period = rng.choice([6, 60, 60, 300, 7])
    samples = rng.choice([1, 3, 20, 60, 150])
    hosts = rng.choice([1, 2, 2, 3, 6])
    slots = settings["hold"] // period
    lengths = [1, 1, 2, max(1, slots - 1), max(1, slots), slots + 1, slots + 2, 5, 20, 60]
    values = loads_for(settings["th1"], settings["th2"])
    calm = [x for x in values if x <= settings["th2"]]
    values += calm * rng.choice([0, 1, 4])
    load = [_row(rng, samples, values, lengths) for _ in range(hosts)]
    if hosts > 1 and rng.random() < 0.3:  # identical hosts
        load[-1] = list(load[0])
    span = samples * period
    warm = min(rng.choice([0, 0, period, span // 3, span // 2 + 1]), span - 1)
    settings["warm_up"] = warm
    left = span - warm
    longest = rng.choice([10, period, 5 * period, max(1, left // 3), 2 * left + 1])
    grid = rng.choice([1, period, 10 * period])
    jobs = [
        (rng.randint(0, max(0, left)) // grid * grid, rng.randint(0, longest))
        for _ in range(rng.choice([1, 3, 8, 20]))
    ]
    jobs.append((0, rng.randint(1, longest)))  # one at least can be simulated
    memory = _memory(rng, hosts, samples, settings["guest_memory"], lengths)
    if memory is not None and hosts > 1 and load[-1] == load[0]:
        memory[-1] = list(memory[0])
    origin = rng.choice([None, 4 * DAY, 1_700_000_000])
    speed = _speeds(rng, hosts)
    return Case(jobs, load, memory, period, speed, origin, settings)


def daily_case(seed: int) -> Case:
    """Return a case of some days, of which the first are learnt from: hosts are busy at like hours
    of weekdays."""
    rng = random.Random(f"daily {seed}")
    settings = _settings(rng) | {
        "th1": 0.2, "th2": 0.6, "predict_step": rng.choice([300, 600, 1800, 3600]),
        "horizon": rng.choice([3600, 2 * 3600, 6 * 3600, 12 * 3600]),
        "scheduler": rng.choice(["falcon", *SCHEDULERS]),
        "predict_every": rng.choice([3600, 1800, 7200, 5000, DAY]),
        "checkpoint_interval": rng.choice([None, 600, 3600]),
        "retry": rng.choice([300, 1000]), "hold": rng.choice([60, 300, 600]),
    }  # fmt: skip
    period = rng.choice([300, 300, 600, 900])
    hosts = rng.choice([2, 3, 4])
    days = rng.choice([2, 3, 5, 9])
    origin = 4 * DAY + rng.choice([0, 3, 4, 5]) * DAY + rng.choice([0, 0, 7, 30_000])
    warm = rng.choice([days - 1, days // 2]) * DAY + rng.choice([0, 0, 3 * 3600, 1234])
    settings["warm_up"] = warm
    samples = days * DAY // period
    load = [_habit(rng, samples, period, origin) for _ in range(hosts)]
    if rng.random() < 0.2:
        load[-1] = list(load[0])
    left = min(DAY, samples * period - warm)
    longest = rng.choice([1800, 3 * 3600, 6 * 3600, 12 * 3600])
    jobs = [
        (rng.randint(0, left - 1) // 600 * 600, rng.randint(60, longest))
        for _ in range(rng.choice([2, 6]))
    ]
    memory = None
    if rng.random() < 0.3:
        memory = _memory(rng, hosts, samples, settings["guest_memory"], [100])
    return Case(
        jobs, load, memory, period, _speeds(rng, hosts),
        None if rng.random() < 0.2 else origin, settings,
    )  # fmt: skip


def _habit(rng: random.Random, samples: int, period: int, origin: int) -> list[float]:
    """Return the load of an owner with habits, who is away now and then."""
    spells = [(rng.randint(0, 23), rng.choice([0, 1, 3, 8]))]
    if rng.random() < 0.5:  # never free for long
        spells += [(hour, 1) for hour in range(rng.randint(0, 2), 24, rng.choice([2, 3, 5]))]
    weekends, strays = rng.random() < 0.5, rng.choice([0.0, 0.01, 0.05])
    row: list[float] = []
    while len(row) < samples:
        t = origin + len(row) * period
        works = weekends or (t // DAY + 3) % 7 < 5
        works = works and any((t // 3600 - hour) % 24 < many for hour, many in spells)
        if rng.random() < strays:
            row += [rng.choice([NAN, NAN, 0.9, 0.61, 1.0])] * rng.randint(1, 12)
        else:
            row.append(rng.choice([0.7, 0.8, 0.9] if works else [0.0, 0.1, 0.2, 0.3, 0.05]))
    return row[:samples]


@st.composite
def cycle_cases(draw: st.DrawFn, **fixed: Any) -> Case:
    """Draw a case that Hypothesis can shrink: few hosts and samples, many equal times, all settings
    varied but those that are `fixed`."""
    settings = {
        name: draw(st.sampled_from(allowed))
        for name, allowed in _CHOICES.items()
        if name not in fixed
    }
    settings["th1"], settings["th2"] = draw(st.sampled_from(_LEVELS))
    period = draw(st.sampled_from([60, 6, 300]))
    hosts = draw(st.integers(1, 3))
    runs = st.lists(
        st.tuples(
            st.sampled_from(loads_for(settings["th1"], settings["th2"])),
            st.sampled_from([1, 2, 5, 11, 30]),
        ),
        min_size=1, max_size=8,
    )  # fmt: skip
    load = [[x for x, many in draw(runs) for _ in range(many)] for _ in range(hosts)]
    samples = max(len(row) for row in load)
    load = [row + [row[-1]] * (samples - len(row)) for row in load]
    memory = None
    if draw(st.booleans()):
        need = settings.get("guest_memory", fixed.get("guest_memory", 0.1))
        free = st.sampled_from([1.0, need, math.nextafter(need, -1.0), NAN])
        memory = [draw(st.lists(free, min_size=samples, max_size=samples)) for _ in range(hosts)]
    span = samples * period
    settings["warm_up"] = warm = draw(st.sampled_from([0, 0, span // 2, min(period, span - 1)]))
    unit = draw(st.sampled_from([1, period]))
    latest = max(0, span - warm - 1) // unit
    job = st.tuples(
        st.integers(0, min(12, latest)).map(lambda t: t * unit),
        st.integers(1, 20).map(lambda t: t * unit),
    )
    jobs = draw(st.lists(job, min_size=1, max_size=6))
    speed = [draw(st.sampled_from([1.0, 2.0, 0.5, 1.3])) for _ in range(hosts)]
    settings["horizon"] = 3600
    return Case(jobs, load, memory, period, speed, None, {**settings, **fixed})


# ------------------------------------------------------------------------------- comparing


def plain(outcome: CycleOutcome | PlainOutcome) -> PlainOutcome:
    """Return an outcome as the reference lists it; events and decisions where they were logged."""
    if isinstance(outcome, PlainOutcome):
        return outcome
    log = outcome.log
    figures = "kind reason job host at tries candidates jct mttf etl jctf rank chance"
    times = np.repeat(log.events["time"], log.events["decisions"]).tolist()
    decisions = rows(log.decisions, figures)
    return PlainOutcome(
        rows(outcome.jobs),
        rows(outcome.stays, "job host ended checkpoints start end work saved lost chance"),
        rows(log.events, "time kind key state"),
        [(int(t), *row) for t, row in zip(times, decisions, strict=True)],
        rows(log.estimates, "host jct mttf etl jctf rank chance"),
    )


def rows(table: np.ndarray, names: str | None = None) -> list[tuple[int, ...]]:
    """Return the rows of a table, or some fields of them, as tuples of whole numbers."""
    fields = names.split() if names else list(table.dtype.names or ())
    columns = [table[name].tolist() for name in fields]
    return [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]


def _nearly(one: list[tuple[int, ...]], other: list[tuple[int, ...]]) -> bool:
    """Tell whether two rows are alike but for one millionth in their last field."""
    if not one or not other:
        return False
    (*same, last), (*alike, final) = one[0], other[0]
    return same == alike and abs(last - final) <= 1


def difference(one: PlainOutcome, other: PlainOutcome) -> str:
    """Return in words where two outcomes differ first; empty where they are the same.

    A chance, the last field of estimates, decisions and stays, may differ by one millionth: that of
    half a millionth is rounded up or down as the last place of a sum has it.
    """
    for name in ("events", "estimates", "decisions", "stays", "fates"):
        left, right = getattr(one, name), getattr(other, name)
        for k in range(max(len(left), len(right))):
            a, b = left[k : k + 1], right[k : k + 1]
            if a != b and (name in ("events", "fates") or not _nearly(a, b)):
                return f"{name}[{k}]: {a} here, {b} there"
    return ""


def tables_of(curves: HostCurves) -> list[Table]:
    """Return the fast code's forecasts of a slot as the reference has them."""
    parts = (
        curves.work, curves.sure, curves.lasting, curves.alive,
        curves.present_work, curves.present_sure, curves.reliability,
    )  # fmt: skip
    return [Table(curves.step, *(part[h].tolist() for part in parts)) for h in range(len(parts[0]))]


def shared(forecasts: Forecasts) -> Callable[[int], list[Table]]:
    """Return the fast code's forecasts for the reference, so that choices are the same also where
    two sums differ in their last place."""
    return cache(lambda slot: tables_of(forecasts.curves(slot)))
