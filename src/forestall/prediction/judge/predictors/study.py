"""`forestall assess predictors`: the whole account of which predictor is worth acting on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.kit.progress import Progress
from forestall.core.kit.versions import versions
from forestall.core.model.errors import InputError
from forestall.core.show.facts import plain
from forestall.core.streams import stream
from forestall.prediction.assess import benefit
from forestall.prediction.judge.predict import Sources, moment, spoken
from forestall.prediction.judge.predictors import judge as judging
from forestall.prediction.judge.predictors.report import verdict
from forestall.prediction.judge.questions import Stakes

if TYPE_CHECKING:
    from forestall.core.model.observations import Observations
    from forestall.prediction.assess.benefit import BenefitCurve, Occasions, Worth
    from forestall.prediction.assess.panel import RedrawnEstimate
    from forestall.prediction.judge.predictors.judge import JudgedPredictor, Task
    from forestall.prediction.judge.questions import How

FIGURES: Final = ("auc", "brier_skill", "recall_1h", "recall_6h", "recall_24h", "lead_hours")
"""The measures of the table, as `JudgedPredictor.estimates` has them."""
VALIDATION: Final = 300_000
"""Decisions judged for a horizon when a predictor is chosen on the past."""
HOUR: Final = 3600


@dataclass(frozen=True)
class Act:
    """When to act on a predictor, decided on the past, and what that brought later.

    Attributes
    ----------
    worth : on the held-out time; curve, occasions : the net benefit by threshold there
    months : length of the held-out time
    """

    worth: Worth
    curve: BenefitCurve
    occasions: Occasions
    months: float


@dataclass(frozen=True)
class PredictorStudy:
    """Everything found.

    Attributes
    ----------
    task, judged : the held-out decisions and each predictor's worth there
    chosen : the predictor that did best on the validation part of the past
    base : the best trivial baseline of the held-out time
    act : when to act on the chosen one; None where the past was too short to decide
    summary : all of it as JSON can hold it
    """

    task: Task
    judged: tuple[JudgedPredictor, ...]
    chosen: JudgedPredictor
    base: JudgedPredictor
    act: Act | None
    summary: dict[str, Any]


def study(
    sources: Sources,
    names: Sequence[str] | None,
    how: How,
    stakes: Stakes,
    *,
    split_at: str | None = None,
    progress: Progress | None = None,
) -> PredictorStudy:
    """Train every predictor on the past of a log, and judge it on the rest.

    Raises InputError and its kin.
    """
    whole = sources.read()
    split = None if split_at is None else moment(split_at, whole.origin, "split-at")
    return study_of(whole, names, how, stakes, split=split, progress=progress)


def study_of(
    whole: Observations,
    names: Sequence[str] | None,
    how: How,
    stakes: Stakes,
    *,
    split: int | None = None,
    progress: Progress | None = None,
) -> PredictorStudy:
    """Judge predictors on what was observed; see `study`."""
    task = judging.task_of(whole, how, split)
    steps = 2 * len(judging.wanted(names))

    def later(done: int, _total: int) -> None:
        if progress is not None:
            progress(steps // 2 + done, steps)

    chosen_name, past = _choose(task, names, stakes, progress, steps)
    judged = judging.judge(task, names, later)
    able = [one for one in judged if one.estimates]
    base = judging.best_baseline(able)
    chosen = next((one for one in able if one.name == chosen_name), None) or base
    act = None
    if past is not None and chosen.name == chosen_name:
        act = _act(task, chosen, past, stakes)
    found = PredictorStudy(task, tuple(judged), chosen, base, act, {})
    return replace(found, summary=summary_of(found, stakes))


def _choose(
    task: Task, names: Sequence[str] | None, stakes: Stakes, progress: Progress | None, steps: int
) -> tuple[str | None, Occasions | None]:
    """Return the predictor of the highest skill on the last part of the past, trained on the part
    before, and its decisions there."""
    how = replace(task.how, most=min(task.how.most, VALIDATION), draws=20)
    try:
        inner = judging.task_of(task.past, how)
    except InputError:
        return None, None

    def earlier(done: int, _total: int) -> None:
        if progress is not None:
            progress(done, steps)

    plain = None if names is None else [name for name in names if not Path(name).is_file()]
    able = [one for one in judging.judge(inner, plain, earlier) if one.estimates]
    best = max(able, key=_skill)
    return best.name, _occasions(inner, best, stakes)


def _skill(one: JudgedPredictor) -> float:
    value = one.estimates["brier_skill"].value
    return value if np.isfinite(value) else -np.inf


def _occasions(task: Task, one: JudgedPredictor, stakes: Stakes) -> Occasions:
    grid = task.grid(judging.MAIN)
    return benefit.of_probabilities(
        one.scores[judging.MAIN],
        grid.decisions.failed,
        cost=stakes.cost,
        loss=stakes.loss,
        group=grid.decisions.block,
    )


def _act(task: Task, chosen: JudgedPredictor, past: Occasions, stakes: Stakes) -> Act:
    grid = task.grid(judging.MAIN)
    later = _occasions(task, chosen, stakes)
    hours = len(grid.moments) * judging.MAIN / HOUR
    rng = stream(task.how.seed, "judge", "act")
    worth = benefit.chosen_on_past(past, later, hours, rng, level=task.how.level)
    return Act(worth, benefit.net_benefit(later), later, hours / benefit.MONTH_HOURS)


def summary_of(found: PredictorStudy, stakes: Stakes) -> dict[str, Any]:
    """Return the study as JSON can hold it; times in s of the log's clock, rates in words."""
    task, whole = found.task, found.task.whole
    summary: dict[str, Any] = {
        "source": whole.failures.source,
        "nodes": whole.nodes,
        "failures": len(whole.failures),
        "held_out": {
            "from_s": task.split,
            "until_s": whole.end,
            "from": spoken(task.split, whole.origin),
            "until": spoken(whole.end, whole.origin),
            "days": (whole.end - task.split) / 86_400,
            "failures": task.failures,
            "decisions": {f"{g.horizon // HOUR}h": len(g.decisions.failed) for g in task.grids},
        },
        "how": asdict(task.how),
        "stakes": {
            "action_node_hours": stakes.cost,
            "failure_node_hours": stakes.loss,
            "price_per_node_hour": stakes.price,
            "currency": stakes.currency,
        },
        "best_baseline": found.base.name,
        "chosen": found.chosen.name,
        "predictors": [_row(one, found) for one in found.judged],
        "act": None if found.act is None else _act_row(found.act),
        "versions": versions(),
    }
    return {"verdict": verdict(summary), **summary}


def _row(one: JudgedPredictor, found: PredictorStudy) -> dict[str, Any]:
    row: dict[str, Any] = {"name": one.name, "baseline": one.trivial, "why": one.why or None}
    for name in FIGURES:
        told = one.estimates.get(name)
        row[name] = plain(told.value if told else None)
        row[f"{name}_low"] = plain(told.low if told else None)
        row[f"{name}_high"] = plain(told.high if told else None)
    row["standing"] = None
    if one.estimates:
        stands = judging.standing(one, found.base, found.task.how.level)
        row["standing"] = stands["word"]
        difference: RedrawnEstimate = stands["skill"]
        row["skill_over_baseline"] = plain(difference.value)
        row["skill_over_baseline_low"] = plain(difference.low)
        row["skill_over_baseline_high"] = plain(difference.high)
    return row


def _act_row(act: Act) -> dict[str, Any]:
    worth = act.worth
    return {
        "threshold": plain(worth.threshold),
        "node_hours_per_month": worth.per_month,
        "node_hours_per_month_low": worth.low,
        "node_hours_per_month_high": worth.high,
        "actions_per_month": worth.acted / act.months,
        "needless_actions_per_month": worth.needless / act.months,
        "missed_failures_per_month": worth.missed / act.months,
    }
