"""Trials with controls: planned from a site's records, and judged by those of the trial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from forestall.core.kit.progress import Progress
from forestall.core.kit.study_folder import window_told
from forestall.core.kit.versions import of_fits
from forestall.core.model.arrays import Floats, Ints
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import NEVER
from forestall.core.streams import stream
from forestall.logs.trial_arms import ARMS, TrialArms, read_arms
from forestall.prediction.assess.trials import (
    ACT,
    CONTROL,
    OUT,
    TrialResult,
    days_needed,
    judge_trial,
    least_effect,
    pair_nodes,
    spread_of_nodes,
)
from forestall.prediction.judge.jobs.inputs import fates_of
from forestall.prediction.judge.questions import TrialPlanSettings, TrialSettings
from forestall.prediction.judge.trials.report import plan_verdict, trial_verdict
from forestall.reliability.report.fit.fit import finite
from forestall.slurm.job_records import read_job_records

if TYPE_CHECKING:
    from forestall.core.model.job_records import JobRecords

DAY: Final = 86_400
HOUR: Final = 3600
SHARES_OF_NODES: Final = (0.1, 0.25, 0.5, 1.0)
LENGTHS: Final = (7, 14, 30, 60, 90, 180)


class NodeDays(NamedTuple):
    """What nodes had on each day, float64[nodes, days]: failed jobs, in equal parts of their nodes,
    and node-hours of failed jobs; how many jobs failed and counted; the window, s."""

    failures: Floats
    lost: Floats
    failed: int
    counted: int
    close: int

    def by(self, name: str) -> Floats:
        """Return one of the two measures."""
        found: Floats = getattr(self, name)
        return found


def measured(
    records: JobRecords,
    failed: tuple[str, ...] | None,
    ignored: tuple[str, ...],
    days: float | None = None,
) -> NodeDays:
    """Return what nodes had on each whole day of the records, from time 0 on, or of so many.

    A failed job counts on the day on which it ended; each of its nodes has an equal part of the
    failure, and its own node-hours.
    """
    close = int(records.end[records.end < NEVER].max(initial=0))
    length = int(days if days is not None else close // DAY)
    if length < 1:
        raise TraceError(records.source, "is shorter than a day; a trial is counted in days")
    fell, counts = fates_of(records, failed, ignored, length * DAY)
    counts &= (records.end > 0) & (records.size > 0)
    hurt = np.flatnonzero(fell & counts)
    size = records.size[hurt]
    node = np.concatenate([records.node[records.offsets[k] : records.offsets[k + 1]] for k in hurt]
                          or [np.zeros(0, dtype=np.int64)])  # fmt: skip
    day = np.repeat(np.minimum(records.end[hurt] // DAY, length - 1), size)
    hours = np.repeat(records.elapsed[hurt] / HOUR, size)
    cells = node * length + day
    shape = records.nodes, length

    def summed(weights: Floats) -> Floats:
        total = np.bincount(cells, weights=weights, minlength=shape[0] * length)
        return total.astype(np.float64).reshape(shape)

    return NodeDays(
        summed(1 / np.repeat(size, size)), summed(hours), len(hurt), int(counts.sum()), length * DAY
    )


@dataclass(frozen=True)
class TrialPlan:
    """A trial to be run: what is done with each node, and its pair."""

    asked: TrialPlanSettings
    records: JobRecords
    before: Floats
    arm: Ints
    pair: Ints
    summary: dict[str, Any] = field(default_factory=dict)

    def arms_table(self) -> dict[str, list[Any]]:
        """Return the table that `read_arms` reads, with what each node had before."""
        words = {number: word for word, number in ARMS.items()}
        return {
            "node": _names(self.records, np.arange(self.records.nodes)),
            "arm": [words[arm] for arm in self.arm.tolist()],
            "pair": [None if one < 0 else one for one in self.pair.tolist()],
            "before_per_day": self.before.tolist(),
        }


def plan(
    jobs: Path,
    reading: Mapping[str, Any],
    asked: TrialPlanSettings,
    progress: Progress = lambda done, total: None,
) -> TrialPlan:
    """Plan a trial from a site's job records: which nodes to act on, and for how long.

    Raises TraceError for a file that cannot be used, ParameterError for an option.
    """
    records = _read(jobs, reading)
    found = measured(records, asked.failed_states, asked.ignored_states, reading.get("days"))
    progress(1, 2)
    daily = found.by(asked.measure)
    if min(daily.shape) < 2 and reading.get("days") is None:
        text = "holds {1} days of {0} nodes; expected two or more of each"
        raise TraceError(jobs, text.format(*daily.shape))
    spread = spread_of_nodes(daily)
    most = records.nodes // 2
    pairs = most if asked.pairs is None else asked.pairs
    before = daily.mean(axis=1)
    arm, pair = pair_nodes(before, pairs, stream(asked.seed, "assess", "trial"))
    power = {"power": asked.power, "level": asked.level}
    sizes = sorted({max(1, round(share * most)) for share in SHARES_OF_NODES} | {pairs})
    made = TrialPlan(asked, records, before, arm, pair)
    made.summary.update(finite({
        "verdict": "",
        "source": records.source,
        "window": window_told(0, found.close, records.origin),
        "nodes": records.nodes,
        "jobs_failed": found.failed,
        "jobs_counted": found.counted,
        "measure": asked.measure,
        "per_node_day": spread.mean,
        "between_nodes_sd": math.sqrt(spread.between),
        "within_node_days_sd": math.sqrt(spread.within),
        "reliability": spread.reliability,
        "effect": asked.effect,
        "power": asked.power,
        "pairs": pairs,
        "days_needed": days_needed(spread, pairs, asked.effect, **power),
        "days_by_pairs": [
            {"pairs": n, "days": days_needed(spread, n, asked.effect, **power)} for n in sizes
        ],
        "least_effect_by_days": [
            {"days": days, "effect": least_effect(spread, pairs, days, **power)}
            for days in LENGTHS
        ],
        "act_on": _names(records, np.flatnonzero(arm == ACT)),
        "control": _names(records, np.flatnonzero(arm == CONTROL)),
        "level": asked.level,
        "remarks": records.cleaning.told(),
        "parameters": {**reading, **_given(asked)},
        "versions": of_fits(),
    }))  # fmt: skip
    made.summary["verdict"] = plan_verdict(made.summary)
    progress(2, 2)
    return made


@dataclass(frozen=True)
class Trial:
    """What came of a trial: by measure, and the means of its nodes."""

    asked: TrialSettings
    arms: TrialArms
    means: Mapping[str, Floats]
    results: Mapping[str, TrialResult]
    summary: dict[str, Any] = field(default_factory=dict)


def judge(
    arms: Path,
    jobs: Path,
    reading: Mapping[str, Any],
    asked: TrialSettings,
    progress: Progress = lambda done, total: None,
) -> Trial:
    """Judge a trial by which nodes were acted on and the job records of its time.

    Raises TraceError for a file that cannot be used, ParameterError for an option.
    """
    table = read_arms(arms)
    records = _read(jobs, reading)
    found = measured(records, asked.failed_states, asked.ignored_states, reading.get("days"))
    progress(1, 2)
    place = _places(table, records, arms)
    means, results = {}, {}
    for name in ("failures", "lost"):
        daily = np.append(found.by(name).mean(axis=1), 0.0)  # the last: nodes that no job names
        means[name] = daily[place]
        rng = stream(asked.seed, "assess", "trial", name)
        try:
            results[name] = judge_trial(
                means[name], table.arm, table.pair, rng, level=asked.level, draws=asked.draws
            )
        except ParameterError as error:
            if error.name != "arms":
                raise
            raise TraceError(arms, f"has {error.value}; expected {error.allowed}") from None
    made = Trial(asked, table, means, results)
    made.summary.update(finite({
        "verdict": "",
        "source": records.source,
        "arms_source": str(arms),
        "window": window_told(0, found.close, records.origin),
        "jobs_failed": found.failed,
        "jobs_counted": found.counted,
        "acted_nodes": int((table.arm == ACT).sum()),
        "control_nodes": int((table.arm == CONTROL).sum()),
        "measure": asked.measure,
        "results": [{"measure": name, **_result(one)} for name, one in results.items()],
        "level": asked.level,
        "remarks": records.cleaning.told(),
        "parameters": {**reading, **_given(asked)},
        "versions": of_fits(),
    }))  # fmt: skip
    made.summary["verdict"] = trial_verdict(made.summary)
    progress(2, 2)
    return made


def _read(jobs: Path, reading: Mapping[str, Any]) -> JobRecords:
    return read_job_records(
        jobs, start=reading.get("from"), days=reading.get("days"),
        strict=bool(reading.get("strict", False)),
    )  # fmt: skip


def _names(records: JobRecords, nodes: Ints) -> list[str]:
    named = records.node_names
    return [str(n) if named is None else named[n] for n in nodes.tolist()]


def _given(asked: TrialPlanSettings | TrialSettings) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in asked.__dataclass_fields__}


def _places(table: TrialArms, records: JobRecords, path: Path) -> Ints:
    """Return the number of each node of the table in the records, one beyond theirs for a node
    that no job names."""
    names = _names(records, np.arange(records.nodes))
    number = {name: place for place, name in enumerate(names)}
    place = np.array([number.get(name, records.nodes) for name in table.node], dtype=np.int64)
    inside = table.arm != OUT
    if inside.any() and bool((place[inside] == records.nodes).all()):
        raise TraceError(path, f"names no node of {records.source}")
    return place


def _result(one: TrialResult) -> dict[str, Any]:
    return {
        "acted_per_node_day": one.acted,
        "control_per_node_day": one.control,
        "difference": one.difference,
        "difference_ci": [one.low, one.high],
        "effect": one.effect,
        "effect_ci": None if one.control <= 0 else [-one.high / one.control,
                                                    -one.low / one.control],
        "p_value": one.p_value,
        "units": one.units,
        "paired": one.paired,
    }  # fmt: skip
