"""Predictors against each other on one log: trained on its past, judged on what came after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.kit.progress import Progress
from forestall.core.model.errors import ForestallError, InputError, ParameterError
from forestall.core.model.observations import Observations
from forestall.core.streams import stream
from forestall.prediction.assess import panel as panels
from forestall.prediction.assess.roc import area
from forestall.prediction.given.predictor_files import load_predictor
from forestall.prediction.judge.questions import How
from forestall.prediction.models.entries import LEARNERS, TRIVIAL
from forestall.prediction.models.registry import learner_class

if TYPE_CHECKING:
    from forestall.prediction.assess.panel import Decisions, RedrawnEstimate
    from forestall.prediction.models.learner import Learner

Int = npt.NDArray[np.int64]
Float = npt.NDArray[np.float64]
Scores = npt.NDArray[np.float32]

HOUR: Final = 3600
HORIZONS: Final = (HOUR, 6 * HOUR, 24 * HOUR)
MAIN: Final = 24 * HOUR
"""The horizon by which predictors are ranked, s."""
LEAST_FAILURES: Final = 10
"""Failures that the held-out time must have for a judgement."""
CELLS: Final = 2**22


@dataclass(frozen=True)
class DecisionGrid:
    """The decisions of one horizon: when, which count, and what came of them."""

    horizon: int
    moments: Int
    counts: npt.NDArray[np.bool_]
    decisions: Decisions
    weights: Float
    thinned: int


@dataclass(frozen=True)
class Task:
    """What is judged: the window, where it is split, and the decisions after that."""

    whole: Observations
    split: int
    how: How
    grids: tuple[DecisionGrid, ...]

    @property
    def past(self) -> Observations:
        """What may be learnt from."""
        return self.whole.until(self.split)

    def grid(self, horizon: int) -> DecisionGrid:
        """Return the decisions of a horizon."""
        return next(one for one in self.grids if one.horizon == horizon)

    @property
    def failures(self) -> int:
        """Failures in the held-out time."""
        return int((self.whole.failures.time >= self.split).sum())


@dataclass(frozen=True)
class JudgedPredictor:
    """What one predictor is worth.

    Attributes
    ----------
    estimates : by name, see `measure`; scores : float32[n] by horizon in s, of the decisions there
    leads : hours from when the alarm came on to the failures that it foresaw, see `leads_of`
    why : why it could not be trained, "" where it could
    """

    name: str
    estimates: dict[str, RedrawnEstimate] = field(default_factory=dict)
    scores: dict[int, npt.NDArray[np.float32]] = field(default_factory=dict)
    leads: Float = field(default_factory=lambda: np.empty(0))
    why: str = ""
    learner: Learner | None = None

    @property
    def trivial(self) -> bool:
        """Whether it is one of the baselines."""
        return self.name in TRIVIAL


def task_of(whole: Observations, how: How, split: int | None = None) -> Task:
    """Return the decisions to judge in a window.

    Raises InputError where too few failures lie after the split.
    """
    begin, end = whole.begin, whole.end
    at = begin + round(how.split * (end - begin)) if split is None else split
    if not begin < at < end:
        raise ParameterError("split_at", at, f"a moment within the log, {begin} to {end} s")
    later = int((whole.failures.time >= at).sum())
    if later < LEAST_FAILURES:
        raise InputError(
            f"{whole.failures.source}: {later} failures lie in the held-out time; at least "
            f"{LEAST_FAILURES} are needed to judge a predictor"
        )
    return Task(whole, at, how, tuple(_grid(whole, at, h, how) for h in HORIZONS))


def _grid(whole: Observations, split: int, horizon: int, how: How) -> DecisionGrid:
    every = np.arange(split, whole.end - horizon + 1, horizon, dtype=np.int64)
    thinned = max(1, -(-len(every) * whole.nodes // how.most))
    moments = every[::thinned]
    if len(moments) == 0:
        raise InputError(
            f"{whole.failures.source}: the held-out time is shorter than {horizon // HOUR} h"
        )
    log = whole.failures
    ahead = panels.time_to_next(log.time, log.node, whole.nodes, moments)
    counts = panels.in_service(log.service_start, log.service_end, moments, ahead, horizon)
    made = panels.Decisions.of(ahead, counts, moments, horizon)
    rng = stream(how.seed, "judge", "weeks", str(horizon))
    weights = panels.week_weights(made.blocks, how.draws, rng)
    return DecisionGrid(horizon, moments, counts, made, weights, thinned)


def scores_of(learner: Learner, task: Task, progress: Progress | None = None) -> dict[int, Scores]:
    """Return what a trained predictor says at the decisions of each horizon, float32[n] by
    horizon in s."""
    every = np.unique(np.concatenate([grid.moments for grid in task.grids]))
    rows = {grid.horizon: np.searchsorted(every, grid.moments) for grid in task.grids}
    room = {
        grid.horizon: np.empty((len(grid.moments), task.whole.nodes), dtype=np.float32)
        for grid in task.grids
    }
    many = max(1, CELLS // (task.whole.nodes * len(HORIZONS)))
    for at in range(0, len(every), many):
        risk = learner.risks(task.whole, every[at : at + many], HORIZONS)
        for k, grid in enumerate(task.grids):
            row = rows[grid.horizon]
            mine = np.flatnonzero((row >= at) & (row < at + many))
            room[grid.horizon][mine] = risk[row[mine] - at, :, k]
        if progress is not None:
            progress(min(at + many, len(every)), len(every))
    return {grid.horizon: room[grid.horizon][grid.counts] for grid in task.grids}


def judge_one(
    name: str, task: Task, learner: Learner, reference: dict[int, Scores] | None
) -> JudgedPredictor:
    """Return what a trained predictor is worth beside the constant rate, `reference`."""
    scores = scores_of(learner, task)
    leads, week = leads_of(scores[MAIN], task)
    found = measure(scores, reference or scores, task)
    found["lead_hours"] = _median(leads, week, task.grid(MAIN).weights, task.how.level)
    return JudgedPredictor(name, found, scores, leads, learner=learner)


def measure(
    scores: dict[int, Scores], reference: dict[int, Scores], task: Task
) -> dict[str, RedrawnEstimate]:
    """Return the measures of held-out decisions.

    `auc`, `brier_skill` (against the constant rate of the past) of the main horizon;
    `recall_1h`, `recall_6h`, `recall_24h`, shares of failing decisions among the highest scores
    that fill the allowed share of node-time.
    """
    how, found = task.how, {}
    for grid in task.grids:
        own, made = scores[grid.horizon].astype(np.float64), grid.decisions
        hit = panels.hits_at(own, own[made.failed], how.alarm_share)
        name = f"recall_{grid.horizon // HOUR}h"
        found[name] = panels.share(hit, made.block[made.failed], grid.weights, how.level)
        if grid.horizon == MAIN:
            exact = area(own, made.failed) if 0 < made.failed.sum() < len(own) else np.nan
            found["auc"] = panels.area(own, made, exact, grid.weights, how.level)
            other = reference[grid.horizon].astype(np.float64)
            found["brier_skill"] = panels.skill(own, other, made, grid.weights, how.level)
    return found


def leads_of(scores: Scores, task: Task) -> tuple[Float, Int]:
    """Return the hours from when an alarm came on to the failure that it foresaw, and the week of
    each, for the main horizon and the allowed share of node-time."""
    grid = task.grid(MAIN)
    edge = panels.alarm_threshold(scores.astype(np.float64), task.how.alarm_share)
    on = np.zeros(grid.counts.shape, dtype=np.bool_)
    on[grid.counts] = scores > edge
    log = task.whole.failures
    ahead = panels.time_to_next(log.time, log.node, task.whole.nodes, grid.moments)
    since = np.where(on, grid.moments[:, None], 0)
    for row in range(1, len(on)):  # the moment at which the alarm under way came on
        since[row] = np.where(on[row] & on[row - 1], since[row - 1], since[row])
    hit = on & (ahead < MAIN) & grid.counts
    lead = (ahead + grid.moments[:, None] - since)[hit] / HOUR
    week = np.broadcast_to(((grid.moments - grid.moments[0]) // panels.WEEK)[:, None], on.shape)
    return lead, week[hit]


def _median(values: Float, block: Int, weights: Float, level: float) -> RedrawnEstimate:
    """Return a median with an interval from redrawn weeks."""
    if len(values) == 0:
        return panels.estimate(np.nan, np.full(len(weights), np.nan), level, weights.shape[1])
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[:, block[order]], axis=1)
    place = np.argmax(sums >= sums[:, -1:] / 2, axis=1)
    draws = np.where(sums[:, -1] > 0, values[order][place], np.nan)
    return panels.estimate(float(np.median(values)), draws, level, weights.shape[1])


def wanted(names: Sequence[str] | None) -> list[str]:
    """Return the predictors to judge, all without a choice; the constant rate is always first."""
    chosen = list(LEARNERS) if names is None else [*names]
    for name in chosen:
        if name not in LEARNERS and not Path(name).is_file():
            allowed = "files of predict train, or some of " + ", ".join(LEARNERS)
            raise ParameterError("predictors", name, allowed)
    return list(dict.fromkeys(("constant", *chosen)))


def judge(
    task: Task, names: Sequence[str] | None = None, progress: Progress | None = None
) -> list[JudgedPredictor]:
    """Return every predictor's worth, the constant rate first; those that lack data or an extra
    say why.

    `names` are of `forestall predict list`, or files of trained predictors that know of nothing
    after the split. Raises ParameterError for others.
    """
    done: list[JudgedPredictor] = []
    reference: dict[int, Scores] | None = None
    asked = wanted(names)
    for k, name in enumerate(asked):
        if progress is not None:
            progress(k, len(asked))
        one = trained(name, task)
        if isinstance(one, JudgedPredictor):
            done.append(one)
            continue
        done.append(judge_one(Path(name).name, task, one, reference))
        reference = reference or done[-1].scores
    if progress is not None:
        progress(len(asked), len(asked))
    return done


def trained(name: str, task: Task) -> Learner | JudgedPredictor:
    """Return a predictor trained on the past, or why there is none."""
    if name not in LEARNERS and Path(name).is_file():
        return _from_file(Path(name), task)
    kind, past = learner_class(name), task.past
    missing = sorted(kind.needs - set(past.parts()))
    if missing:
        return JudgedPredictor(name, why=f"needs {' and '.join(missing)}")
    learner = kind()
    try:
        learner.fit(past)
    except ForestallError as error:
        return JudgedPredictor(name, why=str(error))
    return learner


def _from_file(path: Path, task: Task) -> Learner:
    learner = load_predictor(path)
    mine, log = learner.seen.origin, task.whole.origin
    shift = mine - log if mine is not None and log is not None else 0
    if learner.trained_until + shift > task.split:
        raise ParameterError(
            "predictors",
            str(path),
            "a predictor that was trained on nothing after the split (predict train {until})",
        )
    if learner.nodes > task.whole.nodes:
        raise ParameterError("predictors", str(path), f"one for {task.whole.nodes} nodes")
    return learner


def best_baseline(judged: Sequence[JudgedPredictor]) -> JudgedPredictor:
    """Return the trivial predictor of the highest Brier skill."""
    able = [one for one in judged if one.trivial and one.estimates]
    return max(able, key=lambda one: one.estimates["brier_skill"].value)


def standing(one: JudgedPredictor, base: JudgedPredictor, level: float) -> dict[str, Any]:
    """Return how a predictor stands to the best baseline by the difference of their Brier skills:
    `better` or `worse`, with `perhaps` where its interval holds 0; `even` where there is none."""
    difference = one.estimates["brier_skill"].over(base.estimates["brier_skill"], level)
    area_ = one.estimates["auc"].over(base.estimates["auc"], level)
    word = "even"
    if difference.value != 0:
        word = "better" if difference.value > 0 else "worse"
        if not (difference.low > 0 or difference.high < 0):
            word = f"perhaps {word}"
    return {"word": word, "skill": difference, "auc": area_}
