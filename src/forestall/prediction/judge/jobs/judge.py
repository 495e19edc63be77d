"""A node metric judged as a predictor of failed jobs: the whole chain from records to a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.kit.progress import Progress
from forestall.core.model.errors import InputError
from forestall.core.streams import stream
from forestall.prediction.assess.attribution import Attribution, Fates, MetricSamples, attribute
from forestall.prediction.assess.benefit import (
    KNEE,
    Band,
    BenefitCurve,
    Occasions,
    Worth,
    at_random,
    chosen_on_past,
    net_benefit,
    of_periods,
    perfect,
    unrelated,
    worth,
)
from forestall.prediction.assess.roc import Roc, roc
from forestall.prediction.assess.significance import AreaInterval, Permutation, delong, permutation
from forestall.prediction.judge.jobs.inputs import JobInputs, read_inputs
from forestall.prediction.judge.jobs.summary import summary_of
from forestall.prediction.judge.questions import JobStudySettings

DRAWS: Final = 3000


@dataclass(frozen=True)
class JobStudy:
    """What the metric is worth; areas are None where there is none.

    Attributes
    ----------
    inputs : jobs and metric on one clock
    periods : idle periods and what they answer for
    occasions, curve, band, ideal : cost and benefit of acting, in node-hours
    blind : what the same actions would bring if the metric told nothing
    curve_roc, area, area_by_node, chance : over Cases I and II
    best, knee : worth of the best threshold, and of that at the knee (None: acting never pays)
    held_out : worth on the last third of the window of the threshold that the same rule finds
        before it
    """

    asked: JobStudySettings
    told: Mapping[str, Any]
    inputs: JobInputs
    periods: Attribution
    occasions: Occasions
    curve: BenefitCurve
    band: Band
    blind: Band
    ideal: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
    curve_roc: Roc | None
    area: AreaInterval | None
    area_by_node: AreaInterval | None
    chance: Permutation | None
    best: Worth
    knee: Worth | None
    held_out: Worth
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def rule(self) -> str:
        """By which threshold to act: the best one where actions cost something of their own, else
        that of the knee, for routine action is best where acting is free; never, else."""
        if self.knee is None:
            return "never"
        return "best" if self.asked.action_cost > 0 else "knee"

    @property
    def chosen(self) -> Worth:
        """The worth of that threshold."""
        return self.knee if self.knee is not None and self.rule == "knee" else self.best

    def act_on(self) -> list[int]:
        """Return the idle nodes at or beyond the threshold as the window closes, the most suspect
        first; no more than the limit."""
        last = self.periods.open_periods()
        last = last[self.periods.value[last] >= self.chosen.threshold]
        order = np.lexsort((self.periods.node[last], -self.periods.value[last]))
        nodes: list[int] = self.periods.node[last[order]].tolist()
        return nodes[: self.asked.limit]


STEPS: Final = 5
HOUR: Final = 3600
PAST: Final = 2 / 3
"""Share of the window on which the threshold is chosen that the rest is judged by."""
RANDOM_DRAWS: Final = 1000
MOST_RANDOM: Final = 30_000_000
"""Numbers drawn at most for the band of acting at random."""
LEAST_RANDOM: Final = 100


def study(
    jobs: Path,
    metrics: Path,
    metric: str | None,
    reading: Mapping[str, Any],
    asked: JobStudySettings,
    progress: Progress = lambda done, total: None,
) -> JobStudy:
    """Read jobs and a metric and return what acting on the metric is worth.

    Parameters
    ----------
    jobs, metrics : accounting records, and samples of nodes' metrics
    metric : its name; None where there is only one
    reading : options of reading by key: from, days, strict
    asked : how to judge
    progress : called with how many of how many steps are done

    Raises TraceError for a file that cannot be used, ParameterError for an option.
    """
    inputs = read_inputs(jobs, metrics, metric, reading)
    progress(1, STEPS)
    return study_of(inputs, asked, dict(reading), progress)


def study_of(
    inputs: JobInputs,
    asked: JobStudySettings,
    told: Mapping[str, Any] | None = None,
    progress: Progress = lambda done, total: None,
) -> JobStudy:
    """Return what acting on the metric is worth; see `study`."""
    failed, judged = inputs.fates(asked.failed_states, asked.ignored_states)
    records = inputs.records
    start = np.minimum(records.start, inputs.close)
    end = np.clip(records.end, start, inputs.close)
    fates = Fates(start, end, failed, records.offsets, records.node, judged)
    samples = MetricSamples(inputs.time, inputs.node, asked.sign * inputs.value)
    periods = attribute(
        fates, samples, nodes=inputs.nodes, begin=inputs.begin, close=inputs.close,
        rule=asked.value,
    )  # fmt: skip
    occasions = of_periods(
        periods, reboot=asked.reboot, scale=asked.scale, action_cost=asked.action_cost
    )
    if not len(occasions):
        raise InputError(
            f"{inputs.metrics_source}: no job has a sample of {inputs.metric} in an idle period "
            "before it; do jobs and metrics have the same clock and nodes?"
        )
    progress(2, STEPS)
    found = _judged(inputs, periods, occasions, asked, dict(told or {}), progress)
    found.summary.update(summary_of(found))
    return found


def _judged(
    inputs: JobInputs,
    periods: Attribution,
    occasions: Occasions,
    asked: JobStudySettings,
    told: Mapping[str, Any],
    progress: Progress,
) -> JobStudy:
    """Return areas, curves and the worth of thresholds."""
    which = periods.answerable
    value, hit, node = periods.value[which], periods.case[which] == 1, periods.node[which]
    both = bool(hit.any() and not hit.all())
    rng = stream(asked.seed, "assess", "permutation")
    chance = permutation(value, hit, asked.draws, rng=rng) if both else None
    progress(3, STEPS)
    curve = net_benefit(occasions)
    draws = int(np.clip(MOST_RANDOM // len(occasions), LEAST_RANDOM, RANDOM_DRAWS))
    band = at_random(occasions, stream(asked.seed, "assess", "random"), draws=draws)
    progress(4, STEPS)
    hours = (inputs.close - inputs.begin) / HOUR
    split = inputs.begin + PAST * (inputs.close - inputs.begin)
    start = periods.start[periods.considered]

    def told_of(place: int, name: str) -> Worth:
        again = stream(asked.seed, "assess", name)
        return worth(occasions, float(curve.threshold[place]), hours, again, level=asked.level)

    knee = curve.knee()
    study = JobStudy(
        asked=asked,
        told=told,
        inputs=inputs,
        periods=periods,
        occasions=occasions,
        curve=curve,
        band=band,
        blind=unrelated(occasions, stream(asked.seed, "assess", "unrelated"), draws=draws),
        ideal=perfect(occasions),
        curve_roc=roc(value, hit) if both else None,
        area=delong(value, hit, asked.level) if both else None,
        area_by_node=_by_node(value, hit, node, asked.level) if both else None,
        chance=chance,
        best=told_of(curve.best(), "best"),
        knee=None if knee is None else told_of(knee, "knee"),
        held_out=chosen_on_past(
            occasions.take(start < split), occasions.take(start >= split), hours * (1 - PAST),
            stream(asked.seed, "assess", "held out"), level=asked.level,
            part=1.0 if asked.action_cost > 0 else KNEE,
        ),
    )  # fmt: skip
    progress(STEPS, STEPS)
    return study


def _by_node(
    value: npt.NDArray[np.float64],
    hit: npt.NDArray[np.bool_],
    node: npt.NDArray[np.int64],
    level: float,
) -> AreaInterval | None:
    """Return the area with an interval that lets the periods of a node hang together."""
    if len(np.unique(node)) < 2:
        return None
    return delong(value, hit, level, groups=node)
