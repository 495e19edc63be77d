"""Scores of a predictor against what came: what was asked, what was found, and the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.kit.progress import Progress
from forestall.core.kit.versions import versions
from forestall.core.model.errors import ParameterError
from forestall.core.show.facts import taken
from forestall.core.streams import stream
from forestall.logs.scores import read_scores
from forestall.prediction.assess import calibration as cal
from forestall.prediction.assess import significance as sig
from forestall.prediction.assess.roc import Confusion, Roc, numbered, roc
from forestall.prediction.judge.questions import NO_GROUPS, ScoreQuestion
from forestall.prediction.judge.scores.costs import costs_of
from forestall.prediction.judge.scores.report import verdict
from forestall.reliability.report.fit.fit import finite

if TYPE_CHECKING:
    from forestall.core.show.facts import taken
from forestall.logs.scores import Scores

MOST_DRAWN: Final = 200_000_000
"""Ranks to draw for permutations, at most; beyond it the normal law is as good."""
FALSE_RATES: Final = (0.01, 0.05)
SHARES: Final = (0.01, 0.05)
GIVEN: Final = "given"
BEST_F1: Final = "best F1"
MOST_IN_A_BIN: Final = 0.75


@dataclass(frozen=True)
class ScoreStudy:
    """What was found.

    Attributes
    ----------
    asked, scores : the question and the cases
    curves : ROC curve of each column of scores
    tables : reliability table of those that are probabilities
    summary : everything as JSON has it
    """

    asked: ScoreQuestion
    scores: Scores
    curves: Mapping[str, Roc]
    tables: Mapping[str, cal.ReliabilityTable]
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def marked(self) -> Confusion:
        """What the alarms at the threshold of the judged score met."""
        return chosen(self.curves[self.asked.score[0]], self.asked)


def study(
    path: Path, asked: ScoreQuestion, *, strict: bool = False, progress: Progress | None = None
) -> ScoreStudy:
    """Read a table of scores and judge them.

    Raises TraceError for a file that cannot be used, ParameterError for a question that cannot.
    """
    told: Progress = progress or (lambda done, total: None)
    group = None if asked.group in (None, NO_GROUPS) else asked.group
    scores = read_scores(path, asked.columns, asked.failed, group, strict=strict)
    grouped = None if asked.group == NO_GROUPS else usable_groups(scores)
    steps = 2 * len(asked.columns)
    curves, tables, judged = {}, {}, []
    for k, name in enumerate(asked.columns):
        told(2 * k, steps)
        curves[name] = roc(scores.scores[name], scores.failed)
        told(2 * k + 1, steps)
        value = scores.scores[name]
        if are_probabilities(name, value, asked):
            tables[name] = cal.reliability_table(
                value, scores.failed, asked.bins, binning_of(value, asked), level=asked.level
            )
        judged.append(judge(name, scores, grouped, curves[name], tables.get(name), asked))
    others = [
        {**one, "against": against(asked.score[0], str(one["score"]), scores, grouped, asked)}
        for one in judged[1:]
    ]
    told(steps, steps)
    count, ill = len(scores), int(np.count_nonzero(scores.failed))
    summary = {
        "verdict": "",
        "source": str(path),
        "rows": scores.rows,
        "n": count,
        "failed": ill,
        "prevalence": ill / count,
        **judged[0],
        "others": others,
        "baseline": asked.baseline,
        "worse_than_baseline": worse_than_baseline(judged[0], others, asked.baseline),
        "group": scores.group_name if grouped is not None else None,
        "groups": None if grouped is None else int(grouped.max()) + 1,
        "level": asked.level,
        "remarks": scores.cleaning.told(),
        **costs_of(
            scores.scores[asked.score[0]], scores.failed, grouped, judged[0]["threshold"], asked
        ),
        "parameters": {**_given(asked), "score": ",".join(asked.score), "strict": strict},
        "versions": versions(),
    }
    told_plainly = finite(summary)
    told_plainly["verdict"] = verdict(told_plainly)
    return ScoreStudy(asked, scores, curves, tables, told_plainly)


STAKES: Final = ("loss", "action_cost", "effect")


def _given(asked: ScoreQuestion) -> dict[str, Any]:
    """Return what was asked; of costs only where they count."""
    told = asdict(asked)
    return {k: v for k, v in told.items() if asked.loss is not None or k not in STAKES}


def are_probabilities(name: str, value: Any, asked: ScoreQuestion) -> bool:
    """Return whether a column of scores is judged as probabilities.

    Raises ParameterError where the judged one is said to be and cannot.
    """
    within = cal.is_probability(value)
    if asked.probabilities and name == asked.score[0] and not within:
        high, low = float(value.max()), float(value.min())
        strange = f"{name} = {high if high > 1 else low:g}"
        raise ParameterError("probabilities", strange, "scores within 0 and 1")
    return within and asked.probabilities is not False


def usable_groups(scores: Scores) -> Any:
    """Return the groups where there are at least two and some hold several cases, else None."""
    codes = scores.group
    if codes is None or len(codes) == 0:
        return None
    codes = numbered(codes, len(codes))
    return codes if 0 < codes.max() < len(codes) - 1 else None


def binning_of(value: Any, asked: ScoreQuestion) -> cal.Binning:
    """Return which bins these probabilities get."""
    if asked.binning != "auto":
        return asked.binning
    held = np.bincount(np.minimum((value * asked.bins).astype(np.int64), asked.bins - 1))
    return "count" if held.max() > MOST_IN_A_BIN * len(value) else "width"


def chosen(curve: Roc, asked: ScoreQuestion) -> Confusion:
    """Return what the alarms at the threshold met: the given one, or that of the best F1."""
    return curve.best("f1") if asked.threshold is None else curve.at_threshold(asked.threshold)


def judge(
    name: str,
    scores: Scores,
    grouped: Any,
    curve: Roc,
    table: cal.ReliabilityTable | None,
    asked: ScoreQuestion,
) -> dict[str, Any]:
    """Return the measures of one column of scores."""
    value, failed = scores.scores[name], scores.failed
    interval = sig.delong(value, failed, asked.level, groups=grouped)
    curve_of_precision = curve.precision_recall()
    return {
        "score": name,
        "auc": curve.auc,
        "auc_ci": [interval.low, interval.high],
        "auc_se": interval.se,
        "auc_method": interval.method,
        "auc_why": curve.why,
        "constant": bool(value.min() == value.max()),
        **chance_of(value, failed, interval, curve, asked),
        "partial_auc_at_fpr_0.1": curve.partial(0.1),
        "average_precision": curve_of_precision.average_precision,
        "threshold": chosen(curve, asked).threshold,
        "threshold_by": BEST_F1 if asked.threshold is None else GIVEN,
        "confusion": confusion_of(chosen(curve, asked)),
        "operating_points": operating_points(curve, asked),
        **probabilities_of(value, failed, grouped, table, asked),
    }


def chance_of(
    value: Any, failed: Any, interval: sig.AreaInterval, curve: Roc, asked: ScoreQuestion
) -> dict[str, Any]:
    """Return the p-values of the area: one-sided, of one no better than chance."""
    small = min(curve.positives, curve.negatives)
    clustered = None
    if interval.method == "clustered" and isfinite(interval.p_value):
        clustered = interval.p_better
    if small * asked.draws > MOST_DRAWN:
        p = sig.normal_p(value, failed)
        return {"p_value": p, "p_method": "normal", "p_exceed": None, "draws": None, "p_normal": p,
                "p_grouped": clustered}  # fmt: skip
    rng = stream(asked.seed, "assess", "permutation")
    found = sig.permutation(value, failed, asked.draws, rng=rng)
    return {
        "p_value": found.p_value,
        "p_method": "permutation",
        "p_exceed": found.exceed,
        "draws": found.draws,
        "p_normal": found.p_normal,
        "p_grouped": clustered,
    }


RATES: Final = (
    "threshold", "tp", "fp", "fn", "tn", "recall", "precision", "fpr", "f1", "youden", "mcc",
    "alarmed",
)  # fmt: skip


def confusion_of(one: Confusion) -> dict[str, Any]:
    """Return a confusion matrix with its rates."""
    return taken(one, *RATES)


def operating_points(curve: Roc, asked: ScoreQuestion) -> list[dict[str, Any]]:
    """Return thresholds with what their alarms met; `chosen_for` says why each is there."""
    points: list[tuple[str, Confusion]] = []
    if asked.threshold is not None:
        points.append((GIVEN, curve.at_threshold(asked.threshold)))
    points += [(BEST_F1, curve.best("f1")), ("best Youden", curve.best("youden"))]
    for rate in FALSE_RATES:
        label = f"FPR up to {100 * rate:g} %"
        points.append((label, curve.at_false_positive_rate(rate)))
    points += [(f"alarms for up to {100 * share:g} %", curve.at_share(share)) for share in SHARES]
    return [{"chosen_for": label, **confusion_of(one)} for label, one in points]


def probabilities_of(
    value: Any, failed: Any, grouped: Any, table: cal.ReliabilityTable | None, asked: ScoreQuestion
) -> dict[str, Any]:
    """Return what scores are worth as probabilities; None everywhere where they are none."""
    if table is None:
        names = (
            "brier", "brier_reference", "brier_skill", "brier_skill_ci", "brier_p_value",
            "brier_parts", "log_loss", "clipped", "ece", "ece_by_chance", "max_calibration_error",
            "calibration", "binning", "reliability",
        )  # fmt: skip
        return {"probabilities": False, **dict.fromkeys(names)}
    skill = cal.skill(value, failed, level=asked.level, groups=grouped)
    binning = binning_of(value, asked)
    parts = asdict(cal.decomposition(value, failed, asked.bins, binning))
    del parts["score"]
    found = cal.calibration(value, failed, groups=grouped)
    return {
        "probabilities": True,
        "brier": skill.score,
        "brier_reference": skill.reference,
        "brier_skill": skill.skill,
        "brier_skill_ci": [skill.low, skill.high],
        "brier_p_value": skill.p_value,
        "brier_parts": parts,
        "log_loss": cal.log_loss(value, failed),
        "clipped": cal.clipped(value),
        "ece": table.ece,
        "ece_by_chance": table.ece_by_chance,
        "max_calibration_error": table.max_error,
        "calibration": {**asdict(found), "in_the_large": found.in_the_large},
        "binning": binning,
        "reliability": table_rows(table),
    }


def table_rows(table: cal.ReliabilityTable) -> list[dict[str, Any]]:
    """Return the bins of a reliability table, a dictionary each."""
    names = (
        "begin", "end", "count", "failed", "said", "seen", "low", "high", "low_if_true",
        "high_if_true",
    )  # fmt: skip
    columns = [column.tolist() for column in taken(table, *names).values()]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def against(
    first: str, second: str, scores: Scores, grouped: Any, asked: ScoreQuestion
) -> dict[str, Any]:
    """Return how the first column of scores does beside the second, on the same cases."""
    one, two, failed = scores.scores[first], scores.scores[second], scores.failed
    found = asdict(sig.compare(one, two, failed, asked.level, groups=grouped))
    told = {
        "difference": found["difference"],
        "difference_ci": [found["low"], found["high"]],
        "difference_se": found["se"],
        "p_value": found["p_value"],
        "correlation": found["correlation"],
        "method": found["method"],
        "brier_skill": None,
        "brier_skill_ci": None,
        "brier_p_value": None,
    }
    if are_probabilities(first, one, asked) and are_probabilities(second, two, asked):
        skill = cal.skill(one, failed, two, level=asked.level, groups=grouped)
        told["brier_skill"], told["brier_p_value"] = skill.skill, skill.p_value
        told["brier_skill_ci"] = [skill.low, skill.high]
    return told


def worse_than_baseline(
    judged: Mapping[str, Any], others: list[dict[str, Any]], baseline: str | None
) -> bool | None:
    """Return whether area or Brier score are below those of the baseline; None without one."""
    for one in others:
        if one["score"] == baseline:
            beside = one["against"]
            skill = beside["brier_skill"]
            return bool(beside["difference"] < 0 or (skill is not None and skill < 0))
    return None
