"""How a metric is to be judged as a predictor of failed jobs, and all that was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.app.judge.jobs.inputs import JobInputs
from forestall.app.judge.questions import JobStudySettings
from forestall.assess.attribution import Attribution
from forestall.assess.benefit import Band, BenefitCurve, Occasions, Worth
from forestall.assess.roc import Roc
from forestall.assess.significance import AreaInterval, Permutation


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
