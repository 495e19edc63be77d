"""A gradient-boosted classifier on features of the past: today's yardstick for tables of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import MissingExtraError, ParameterError
from forestall.core.model.observations import Observations
from forestall.core.streams import stream
from forestall.prediction.models import settings as check
from forestall.prediction.models.boosted.rows import SampledMoments, decisions
from forestall.prediction.models.boosted.trees import (
    MOST_NODES,
    Trees,
    coded,
    edges_of,
    from_scikit,
)
from forestall.prediction.models.calibrate import (
    METHODS,
    Calibrator,
    Platt,
    calibrator,
    curves_from,
    one_by_one,
)
from forestall.prediction.models.features.features import Rows, Vocabulary, Walk
from forestall.prediction.models.learner import HORIZONS, Learner, State

HELD_OUT: Final = 0.25
"""The last part of the past: it says how many trees are enough, and calibrates."""
EACH: Final = 4
"""Moments sampled before each failure and horizon, at most."""
LEAST_ROWS: Final = 2000
FOR_EACH: Final = 30
"""Moments sampled far from failures for each failure, at most; or `LEAST_ROWS` in all."""
STAGE: Final = 20
"""Trees between two looks at what is held out; without a better sum in as many, that is all."""
WARM_UP: Final = 30 * 86_400
"""From the beginning of observation on nothing is learnt for so long, or a tenth of the past."""
STEEPEST: Final = 1.0
MANY: Final = 50
"""With fewer failures held out, calibration may draw margins together but not apart: a steeper
curve would multiply risks where margins are higher than any it was learnt on."""
FEWEST: Final = 10
"""With fewer failures to learn from, or half as many held out, the base rate is all there is."""
MOST_TREES, MOST_ROWS = 2_000, 1_000_000
"""Of a model: 100 trees on so many rows take half a minute, and all take some minutes."""


class Boosted(Learner):
    """Gradient-boosted trees on the features of `forestall.prediction.models.features.features`.

    For every horizon there is a model of failing before it, given that the node did not fail before
    the one that comes before (a discrete hazard): so probabilities ascend with the horizon. Each is
    learnt from moments sampled more densely before failures, with weights that make up for it; the
    last quarter of the past decides how many trees are enough, and calibrates them; then so many
    trees are learnt from all of the past.

    Parameters
    ----------
    trees : of each model, at most
    leaves : of each tree
    rate : how much of each tree's correction is taken
    ridge : failures that a leaf must stand out against (added to the expected ones)
    rows : moments sampled far from failures, at most; half as many for each horizon
    calibration : "auto", "isotonic" or "platt", see `forestall.prediction.models.calibrate`
    seed : of the sampling
    horizons : seconds ahead, ascending

    Source: Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29, 2001; trees by scikit-learn (extra "learn"), needed for training only.
    """

    name: ClassVar[str] = "boosted"
    extra: ClassVar[str | None] = "learn"

    def __init__(
        self,
        *,
        trees: int = 100,
        leaves: int = 8,
        rate: float = 0.1,
        ridge: float = 10.0,
        rows: int = 20_000,
        calibration: str = "auto",
        seed: int = 0,
        horizons: Sequence[int] = HORIZONS,
    ) -> None:
        if check.number("rate", rate, "a number in (0, 1]", above=0) > 1:
            raise ParameterError("rate", rate, "a number in (0, 1]")
        leaves, horizons = check.whole("leaves", leaves, 2, 31), check.seconds(horizons)
        most = min(MOST_TREES, MOST_NODES // (len(horizons) * (2 * leaves - 1)))
        super().__init__(
            trees=check.whole("trees", trees, 1, most),
            leaves=leaves,
            rate=float(rate),
            ridge=check.number("ridge", ridge, "a number of failures, 0 or more", least=0),
            rows=check.whole("rows", rows, 100, MOST_ROWS),
            calibration=check.choice("calibration", calibration, METHODS),
            seed=check.whole("seed", seed, 0, 2**32 - 1),
            horizons=horizons,
        )
        self._words = Vocabulary()
        self._trees = Trees.none([0.0] * len(self.horizons))
        self._curves: tuple[Calibrator, ...] = tuple(Platt(0.0, -20.0) for _ in self.horizons)

    def learn(self, past: Observations) -> None:
        """Learn; see the class. Raises MissingExtraError without scikit-learn."""
        _classifier()
        span = past.end - past.begin
        split = past.begin + round((1 - HELD_OUT) * span)
        self._words = Vocabulary.of(past.until(split))
        drawn = decisions(
            past,
            self.horizons,
            stream(self.settings["seed"], "boosted"),
            begin=past.begin + min(WARM_UP, span // 10),
            rows=min(self.settings["rows"], max(LEAST_ROWS, FOR_EACH * len(past.failures))),
            each=EACH,
        )
        times, first = drawn.order()
        rows = Walk(past, self._words).rows(times, first, drawn.node)
        edges = edges_of(rows)
        codes = coded(rows, edges)
        bounds = (0, *self.horizons)
        models = [
            self._model(drawn, codes, (past.begin, split, past.end), bounds[k : k + 2])
            for k in range(len(self.horizons))
        ]
        self._trees = Trees.joined([trees for trees, _ in models]).decoded(edges)
        self._curves = tuple(curve for _, curve in models)

    def _model(
        self,
        drawn: SampledMoments,
        rows: Rows,
        window: tuple[int, int, int],
        bounds: tuple[int, ...],
    ) -> tuple[Trees, Calibrator]:
        """Return the trees for failing between two horizons, and what calibrates them."""
        begin, split, end = window
        low, high = bounds
        early, late, both = (
            _Sample.of(drawn, rows, drawn.within(*part, low, high), low, high)
            for part in ((begin, split), (split, end), (begin, end))
        )
        level = Platt(0.0, both.level())
        if early.failures() < FEWEST or late.failures() < FEWEST / 2:
            return Trees.none([0.0]), level
        trees, number = self._enough(early, late)
        if number == 0:
            return Trees.none([0.0]), level
        curve = calibrator(
            trees.first(number).margins(late.rows)[:, 0],
            late.failed,
            late.weight,
            method=self.settings["calibration"],
            failures=int(late.failures()),
        )
        steep = isinstance(curve, Platt) and curve.slope > STEEPEST
        if steep and late.failures() < MANY:
            curve = _moved(trees.first(number).margins(late.rows)[:, 0], late)
        return from_scikit(self._fitted(both, number)), curve

    def _enough(self, early: _Sample, late: _Sample) -> tuple[Trees, int]:
        """Return trees learnt from the early part, and how many of them do best on the late one; 0
        where even those say next to nothing: the log-likelihood must grow by 2."""
        model, most = None, self.settings["trees"]
        losses = [_loss(np.zeros(len(late.rows)), late)]
        while True:
            model = self._fitted(early, min(len(losses) - 1 + STAGE, most), model)
            trees = from_scikit(model)
            apart = replace(
                trees, group=np.arange(len(trees), dtype=np.int32), base=np.zeros(len(trees))
            )
            stages = np.cumsum(apart.margins(late.rows), axis=1)
            losses += [_loss(stages[:, k], late) for k in range(len(losses) - 1, len(trees))]
            best = int(np.argmin(losses))
            if len(trees) >= most or best <= len(trees) - STAGE:
                return trees, best if losses[best] < losses[0] - 2 else 0

    def _fitted(self, sample: _Sample, trees: int, model: Any = None) -> Any:
        """Return a model of so many trees; a model that is given grows on."""
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped,unused-ignore]

        if model is None:
            model = _classifier()(
                learning_rate=self.settings["rate"],
                max_leaf_nodes=self.settings["leaves"],
                l2_regularization=self.settings["ridge"],
                min_samples_leaf=20,
                max_features=0.5,
                early_stopping=False,
                random_state=self.settings["seed"],
                warm_start=True,
            )
        rows = sample.rows.copy()
        rows[:, np.isnan(rows).all(axis=0)] = 0.0  # no bins are found for nothing at all
        with threadpool_limits(1):
            return model.set_params(max_iter=trees).fit(
                rows, sample.failed, sample_weight=sample.weight
            )

    def chances(self, seen: Observations, times: Ints) -> Floats:
        moments = np.ascontiguousarray(times, dtype=np.int64)
        answer = np.empty((len(moments), seen.nodes, len(self.horizons)))
        if not len(self._trees):
            return one_by_one(self._curves, np.zeros(answer.shape), answer)
        for part, rows in Walk(seen, self._words).blocks(moments):
            margins = self._trees.margins(rows).reshape(answer[part].shape)
            one_by_one(self._curves, margins, answer[part])
        return answer

    def importance(self) -> dict[str, float]:
        """Return each feature's share of what all splits gained, the largest first; none where
        there are no trees."""
        shares = self._trees.importance(len(self._words.names))
        order = np.argsort(-shares, kind="stable")
        return {self._words.names[k]: float(shares[k]) for k in order if shares[k] > 0}

    def learnt(self) -> State:
        """Return the words, the curves and the trees."""
        values = {"words": self._words.state(), "curves": [curve.state for curve in self._curves]}
        return values, self._trees.arrays()

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held, count = Held(values, arrays), len(self.horizons)
        self._words = Vocabulary.from_state(held.value("words"))
        self._curves = curves_from(held.value("curves"), count)
        self._trees = Trees.held(held, len(self._words.names), count)


@dataclass(frozen=True)
class _Sample:
    """Rows to learn from, what became of them, and weights in node-intervals: those of the moments
    before one failure sum to 1."""

    rows: Rows
    failed: Bools
    weight: Floats

    @classmethod
    def of(cls, drawn: SampledMoments, rows: Rows, chosen: Bools, low: int, high: int) -> _Sample:
        """Return the chosen ones for failing between two horizons."""
        weight = drawn.weight[chosen] / (high - low)
        return cls(rows[chosen], drawn.ahead[chosen] < high, weight)

    def failures(self) -> float:
        """Return how many failures there are in it."""
        return float(self.weight[self.failed].sum())

    def level(self) -> float:
        """Return the log odds of failing, whatever the features."""
        failures, total = self.failures(), float(self.weight.sum())
        return float(np.log((failures + 0.5) / max(total - failures + 0.5, 0.5)))


def _loss(margin: Floats, late: _Sample) -> float:
    """Return the log loss at the level that suits these margins best."""
    z = margin + _moved(margin, late).shift
    return float((late.weight * (np.logaddexp(0.0, z) - late.failed * z)).sum())


def _moved(margin: Floats, late: _Sample) -> Platt:
    """Return the curve of slope 1 at the level that suits these margins best."""
    shift = late.level() - float(np.average(margin, weights=late.weight))
    for _ in range(20):
        chance = 1 / (1 + np.exp(-(margin + shift)))
        bend = float((late.weight * chance * (1 - chance)).sum())
        step = float((late.weight * (chance - late.failed)).sum()) / max(bend, 1e-12)
        shift -= min(max(step, -1.0), 1.0)
        if abs(step) < 1e-6:
            break
    return Platt(STEEPEST, shift)


def _classifier() -> Any:
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise MissingExtraError("training boosted trees", "learn") from None
    return HistGradientBoostingClassifier
