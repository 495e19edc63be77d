"""The learner: nodes as up/down processes of their own age, hosts with load by clock window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.prediction.models import settings as check
from forestall.prediction.models.baselines.histories import fails_within, outcome_known
from forestall.prediction.models.learner import HORIZONS, Learner, State
from forestall.prediction.models.semi_markov import foresight, load, updown
from forestall.prediction.models.semi_markov.states import HOLD, TH1, TH2

WAYS: Final = ("auto", "use", "ignore")
FORMS: Final = ("auto", "updown", "load")

MOMENTS: Final = 160
CELLS: Final = 400_000
"""Moments, and node-moments at most, of the later half of the past on which levels are checked."""

CERTAIN: Final = 5.0
"""Failures that the belief in the learned level is worth."""


class SemiMarkovPredictor(Learner):
    """Nodes that are up and down by turns, asked with their age since the last recovery.

    How long a node stays up is learned without assuming a law: hazards by age (Nelson and Aalen),
    times a factor for the node (a gamma frailty: of all its past, and of late) and one for the hour
    of the day on weekdays and weekends. A node that was never seen to fail has a constant hazard,
    its age not being known. Where times down count, a node that is not back yet must be back before
    it can fail again. `forestall.prediction.models.semi_markov.updown` has the formulas.

    Where samples of load are there (metrics ``cpu``, a share of 1, and perhaps ``memory_free``), a
    host is in the state S1 to S5 of its load, and its failures are foretold by the process of the
    clock window, see `forestall.prediction.models.semi_markov.load`.

    The level for each horizon is set by what was foretold and what came in the later half of the
    past.

    Parameters
    ----------
    horizons : seconds ahead that it answers for, ascending
    downtimes : "use" or "ignore" the times down of the log; "auto" takes what foretold the later
        half of the past better
    form : "updown", "load", or "auto" for load where there are samples of it
    thresholds, hold, guest_memory : of the states of load, see
        `forestall.prediction.models.semi_markov.states.host_states`; hold in s

    Source: Bagchi et al., the FALCON and iShare work, "Resource Availability Prediction".
    """

    name: ClassVar[str] = "semi-markov"
    memory: ClassVar[int] = 2 * 86_400

    def __init__(
        self,
        *,
        horizons: Sequence[int] = HORIZONS,
        downtimes: str = "auto",
        form: str = "auto",
        thresholds: Sequence[float] = (TH1, TH2),
        hold: int = HOLD,
        guest_memory: float = 0.0,
    ) -> None:
        low, high = check.numbers("thresholds", thresholds, "two numbers, 0 <= Th1 <= Th2", 2)
        super().__init__(
            horizons=check.seconds(horizons),
            downtimes=check.choice("downtimes", downtimes, WAYS),
            form=check.choice("form", form, FORMS),
            thresholds=[low, high],
            hold=check.whole("hold", hold, 0),
            guest_memory=check.number("guest_memory", guest_memory, "0 or more", least=0),
        )
        if not 0 <= low <= high:
            raise ParameterError("thresholds", [low, high], "0 <= Th1 <= Th2")
        held, memory = self.settings["hold"], self.settings["guest_memory"]
        self.model = load.LoadModel((low, high), held, memory)
        self.down = downtimes == "use"
        self.law = updown.no_law()
        self.levels: Floats = np.ones(len(self.horizons))
        self.tables: Floats | None = None

    def learn(self, past: Observations) -> None:
        """Learn hazards, frailties and the clock; with load, the processes of each hour."""
        form = self.settings["form"]
        if form == "load" and not load.usable(past):
            raise ParameterError("form", form, "metrics with a column cpu, or another form")
        self.tables = None
        if form != "updown" and load.usable(past):
            self.tables = load.learn_tables(past, self.model)
        ways = {"use": (True,), "ignore": (False,)}.get(self.settings["downtimes"], (False, True))
        if not np.any(past.failures.downtime > 0):
            ways = (False,)
        tried = []
        for down in ways:
            self.down, self.law = down, updown.learn_law(past, downtimes=down)
            self.levels, loss = self._levels(past)
            tried.append((loss, down, self.law, self.levels))
        _, self.down, self.law, self.levels = min(tried, key=lambda one: one[0])

    def chances(self, seen: Observations, times: Ints) -> Floats:
        raw = self._raw(seen, np.asarray(times, dtype=np.int64))
        levelled: Floats = -np.expm1(self.levels * np.log1p(-np.minimum(raw, 1 - 1e-15)))
        return np.maximum.accumulate(levelled, axis=-1, out=levelled)

    def _raw(self, seen: Observations, times: Ints) -> Floats:
        if self.tables is None:
            return foresight.foretold(self.law, seen, times, self.horizons, downtimes=self.down)
        states = load.states_before(seen, times, self.model)
        found = load.chances_of_load(self.tables, states, times, self.horizons, seen.origin)
        factor = foresight.usual_frailty(self.law, seen, times, downtimes=self.down)[..., None]
        return -np.expm1(factor * np.log1p(-np.minimum(found, 1 - 1e-15)))

    def _levels(self, past: Observations) -> tuple[Floats, float]:
        """Return by what the hazard of each horizon must be multiplied for as many failures as came
        in the later half of the past, and the log loss of a mean node-moment with that."""
        levels, losses = np.ones(len(self.horizons)), []
        middle = (past.begin + past.end) // 2
        count = int(min(MOMENTS, max(8, CELLS // max(past.nodes, 1))))
        for k, ahead in enumerate(self.horizons):
            if past.end - ahead <= middle or len(past.failures) == 0:
                continue
            times = np.unique(np.linspace(middle, past.end - ahead, count).astype(np.int64))
            raw = np.minimum(self._raw(past, times)[..., k], 1 - 1e-12)
            failed = fails_within(past.failures, times, past.nodes, ahead)
            there = outcome_known(past, times, ahead, failed)
            came = failed[there]
            hazard = -np.log1p(-raw[there])
            levels[k] = _level(hazard, came)
            chance = np.clip(-np.expm1(-levels[k] * hazard), 1e-12, 1 - 1e-12)
            losses.append(-float(np.log(np.where(came, chance, 1 - chance)).mean()))
        return levels, float(np.sum(losses)) if losses else math.inf

    def learnt(self) -> State:
        """Return the law, the levels, and the tables of load where there are some."""
        values, arrays = updown.law_state(self.law)
        arrays["levels"] = self.levels
        if self.tables is not None:
            arrays["tables"] = self.tables
        return {**values, "down": self.down}, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held = Held(values, arrays)
        self.down = held.flag("down")
        self.law = updown.law_of_state(held)
        self.levels = held.array("levels", np.float64, len(self.horizons), least=0)
        self.tables = load.tables_of(held) if "tables" in arrays else None


def _level(hazard: Floats, came: Bools) -> float:
    """Return the factor on hazards at which they foretell as many failures as came."""
    low, high = -3.0, 3.0
    want = float(np.count_nonzero(came)) + CERTAIN
    base = float(-np.expm1(-hazard).sum()) if len(hazard) else 0.0
    share = CERTAIN / base if base > 0 else 0.0
    for _ in range(40):
        middle = (low + high) / 2
        factor = math.exp(middle)
        told = float(-np.expm1(-factor * hazard).sum()) + share * factor * base
        low, high = (low, middle) if told > want else (middle, high)
    return math.exp((low + high) / 2)
