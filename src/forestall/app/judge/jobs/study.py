"""How a metric is to be judged as a predictor of failed jobs, and all that was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from forestall.app.judge.jobs.inputs import JobInputs
from forestall.assess.attribution import Attribution, Rule
from forestall.assess.benefit import Band, BenefitCurve, Occasions, Worth
from forestall.assess.roc import Roc
from forestall.assess.significance import AreaInterval, Permutation
from forestall.model.errors import ParameterError

DRAWS: Final = 3000


@dataclass(frozen=True)
class JobStudySettings:
    """How a metric shall be judged.

    Attributes
    ----------
    failed_states : states that count as failures; None: every end but COMPLETED
    ignored_states : states of jobs that are nobody's success and nobody's failure
    value : what an idle period's metric is: the max, mean or last of its samples
    side : whether high or low values are suspect
    reboot : how long acting takes, s
    cores : of a node; None: as the records have it, else 1
    scale : share of a failed job's time that acting saves
    action_cost : what every action costs besides, node-hours
    price, currency : of a node-hour; None: none
    limit : nodes to act on at once, at most
    level, draws, seed : of intervals and permutations
    """

    failed_states: tuple[str, ...] | None = None
    ignored_states: tuple[str, ...] = ()
    value: Rule = "max"
    side: Literal["high", "low"] = "high"
    reboot: int = 90
    cores: int | None = None
    scale: float = 1.0
    action_cost: float = 0.0
    price: float | None = None
    currency: str = ""
    limit: int = 10
    level: float = 0.95
    draws: int = DRAWS
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ParameterError("level", self.level, "a number between 0 and 1")
        for name in ("scale", "action_cost", "price"):
            number = getattr(self, name)
            if number is not None and not 0 <= number < np.inf:
                raise ParameterError(name, number, "a number of at least 0")

    @property
    def sign(self) -> float:
        """What values are multiplied by, so that high ones are suspect."""
        return 1.0 if self.side == "high" else -1.0


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
