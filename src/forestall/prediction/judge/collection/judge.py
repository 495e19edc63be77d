"""How detection, the cost of analysis, storage and network change with the number of metrics and
with the interval of their collection.

Brandt et al., Section 3.1: the performance of predictors guides the trade-offs among the number of
dimensions, the frequency of collection, and the costs of computing and of storage. The same
predictor is trained on the past of a log with fewer metrics, or with samples thinned out, and
judged on the same decisions of the held-out time.
"""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.kit.progress import Progress
from forestall.core.kit.study_folder import window_told
from forestall.core.kit.versions import versions
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.prediction.judge.collection.report import verdict
from forestall.prediction.judge.predict import Sources
from forestall.prediction.judge.predictors.judge import (
    MAIN,
    JudgedPredictor,
    Task,
    judge_one,
    task_of,
    trained,
)
from forestall.prediction.judge.questions import CollectionSettings, How
from forestall.prediction.models.registry import learner_class
from forestall.reliability.report.fit.fit import finite

with lazily():
    import polars as pl

DAY: Final = 86_400
HEAD, NUMBER = 16, 8
"""Bytes of a sample's time and node, and of each of its values, as they go over the network."""
MULTIPLES: Final = (1, 2, 4, 8)
VALIDATION: Final = 200_000
"""Decisions at most by which metrics are ranked."""


@dataclass(frozen=True)
class Collected:
    """One way of collecting: how many metrics, the first of the ranking, and seconds between
    samples; what it costs, and what the predictor was worth.

    Attributes
    ----------
    samples, stored, sent : a day of the machine: samples, bytes kept (Parquet, zstd), bytes sent
    seconds : of the processor that training and asking took
    """

    metrics: int
    interval: int
    samples: float
    stored: float
    sent: float
    seconds: float
    judged: JudgedPredictor


@dataclass(frozen=True)
class CollectionStudy:
    """What ways of collecting are worth; `order` ranks the metrics."""

    asked: CollectionSettings
    task: Task
    order: tuple[str, ...]
    ways: tuple[Collected, ...]
    summary: dict[str, Any] = field(default_factory=dict)


def study(
    sources: Sources, how: How, asked: CollectionSettings, progress: Progress | None = None
) -> CollectionStudy:
    """Judge a predictor with fewer metrics and fewer samples; InputError and its kin."""
    return study_of(sources.read(), how, asked, progress)


def study_of(
    whole: Observations, how: How, asked: CollectionSettings, progress: Progress | None = None
) -> CollectionStudy:
    """Judge a predictor with fewer metrics and fewer samples of what was observed."""
    if "metrics" not in learner_class(asked.predictor).needs:
        raise ParameterError("predictor", asked.predictor, "a predictor that needs metrics")
    if whole.metrics is None or not len(whole.metrics):
        raise InputError(f"{whole.failures.source}: no samples of metrics lie in its window")
    task = task_of(whole, how)
    period = max(whole.metrics.period, 1)
    intervals = asked.intervals or tuple(period * times for times in MULTIPLES)
    every = whole.metrics.names
    counts = sorted({min(n, len(every)) for n in asked.counts or _doubled(len(every))})
    steps = len(counts) * len(intervals) + 1
    told: Progress = progress or (lambda done, total: None)
    order = _ranked(task, asked) if asked.order == "best" and len(every) > 1 else every
    told(1, steps)
    ways = []
    for count in counts:
        for interval in intervals:
            ways.append(_collected(task, asked.predictor, order[:count], interval))
            told(len(ways) + 1, steps)
    found = CollectionStudy(asked, task, order, tuple(ways))
    found.summary.update(summary_of(found))
    return found


def _doubled(most: int) -> list[int]:
    return [1 << k for k in range(most.bit_length()) if 1 << k < most] + [most]


def thinned(metrics: Metrics, names: Sequence[str], interval: int) -> Metrics:
    """Return these metrics, of each node's samples in an interval (counted from time 0) the
    first."""
    bins = metrics.time // interval
    new = (np.diff(bins, prepend=bins[:1] - 1) != 0) | (np.diff(metrics.node, prepend=-1) != 0)
    kept = metrics.take(np.flatnonzero(new))
    columns = [metrics.names.index(name) for name in names]
    return replace(
        kept, value=kept.value[:, columns], names=tuple(names),
        period=max(interval, metrics.period),
    )  # fmt: skip


def _with(task: Task, metrics: Metrics) -> Task:
    return replace(task, whole=replace(task.whole, metrics=metrics))


def _ranked(task: Task, asked: CollectionSettings) -> tuple[str, ...]:
    """Return the metrics by what each alone was worth in the last part of the past; as the file has
    them where that is too short to tell."""
    metrics = task.whole.metrics
    assert metrics is not None
    how = replace(task.how, most=min(task.how.most, VALIDATION), draws=20)
    try:
        inner = task_of(task.past, how)
    except InputError:
        return metrics.names
    past = inner.whole.metrics
    assert past is not None
    worth = {
        name: _area(_judged(_with(inner, thinned(past, [name], 1)), asked.predictor))
        for name in metrics.names
    }
    return tuple(sorted(metrics.names, key=lambda name: -worth[name]))


def _judged(task: Task, predictor: str) -> JudgedPredictor:
    made = trained(predictor, task)
    return made if isinstance(made, JudgedPredictor) else judge_one(predictor, task, made, None)


def _area(one: JudgedPredictor) -> float:
    value = one.estimates["auc"].value if one.estimates else np.nan
    return value if np.isfinite(value) else 0.0


def _collected(task: Task, predictor: str, names: Sequence[str], interval: int) -> Collected:
    metrics = task.whole.metrics
    assert metrics is not None
    kept = thinned(metrics, names, interval)
    days = (task.whole.end - task.whole.begin) / DAY
    packed = io.BytesIO()
    table = kept.table().with_columns(pl.col("node").cast(pl.Int32))
    table.write_parquet(packed, compression="zstd")
    began = time.process_time()
    judged = _judged(_with(task, kept), predictor)
    return Collected(
        len(names), interval, len(kept) / days, packed.tell() / days,
        len(kept) * (HEAD + NUMBER * len(names)) / days, time.process_time() - began, judged,
    )  # fmt: skip


def summary_of(found: CollectionStudy) -> dict[str, Any]:
    """Return everything as JSON has it."""
    task, asked = found.task, found.asked
    metrics = task.whole.metrics
    assert metrics is not None
    able = [one for one in found.ways if one.judged.estimates]
    best = max(able, key=lambda one: _area(one.judged), default=None)
    summary: dict[str, Any] = finite({
        "verdict": "",
        "source": task.whole.failures.source,
        "metrics_source": metrics.source,
        "window": window_told(task.whole.begin, task.whole.end, task.whole.origin),
        "nodes": task.whole.nodes,
        "held_out_failures": task.failures,
        "predictor": asked.predictor,
        "order": list(found.order),
        "period_s": metrics.period,
        "ways": [_row(one, best, task.how.level) for one in found.ways],
        "level": task.how.level,
        "remarks": [],
        "parameters": {
            "predictor": asked.predictor, "counts": asked.counts, "intervals_s": asked.intervals,
            "order": asked.order, "split": task.how.split, "seed": task.how.seed,
        },
        "versions": versions(),
    })  # fmt: skip
    summary["verdict"] = verdict(summary)
    return summary


def _row(one: Collected, best: Collected | None, level: float) -> dict[str, Any]:
    row: dict[str, Any] = {
        "metrics": one.metrics,
        "interval_s": one.interval,
        "samples_per_day": one.samples,
        "stored_bytes_per_day": one.stored,
        "sent_bytes_per_day": one.sent,
        "analysis_seconds": one.seconds,
        "auc": None, "auc_ci": None, "recall_24h": None, "below_best_ci": None, "why": "",
    }  # fmt: skip
    if best is None or not one.judged.estimates:
        return row | {"why": one.judged.why or "no failure could be judged"}
    found = one.judged.estimates
    gap = found["auc"].over(best.judged.estimates["auc"], level)
    return row | {
        "auc": found["auc"].value,
        "auc_ci": [found["auc"].low, found["auc"].high],
        "recall_24h": found[f"recall_{MAIN // 3600}h"].value,
        "below_best_ci": [gap.low, gap.high],
    }
