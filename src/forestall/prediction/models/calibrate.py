"""From scores to probabilities that mean what they say, learnt on outcomes held out in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from scipy.special import expit, logit

from forestall.core._lazy import lazily
from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError

with lazily():
    from scipy import optimize

METHODS: Final = ("auto", "isotonic", "platt")
MANY: Final = 200
"""From so many failures on, "auto" considers to leave the shape of the curve to the outcomes."""
LEAST: Final = 1e-9
STEPS: Final = 100


@dataclass(frozen=True)
class Platt:
    """The logistic curve expit(slope * score + shift); slope >= 0.

    Fitted by Newton's method to targets (n1 + 1) / (n1 + 2) and 1 / (n0 + 2) in place of 1 and 0.

    Source: Platt, "Probabilistic outputs for support vector machines", 1999; the steps as in Lin,
    Lin and Weng, "A note on Platt's probabilistic outputs", Machine Learning 68, 2007.
    """

    slope: float
    shift: float

    @classmethod
    def fit(cls, scores: Floats, failed: Bools, weights: Floats | None = None) -> Self:
        """Return the curve for scores, float64[n], and outcomes, bool[n], with weights >= 0."""
        x, y, w = _checked(scores, failed, weights)
        number = np.array([w[~y].sum(), w[y].sum()])
        target = np.where(y, (number[1] + 1) / (number[1] + 2), 1 / (number[0] + 2))
        level = float(logit((number[1] + 1) / (number.sum() + 2)))
        total = w.sum()
        centre = float((w * x).sum() / total) if total > 0 else 0.0
        scale = float(np.sqrt((w * (x - centre) ** 2).sum() / total)) if total > 0 else 0.0
        if scale <= 1e-12 or not number.all():
            return cls(0.0, level)
        slope, shift = _newton((x - centre) / scale, target, w, level)
        if slope <= 0:
            return cls(0.0, level)
        return cls(slope / scale, shift - slope / scale * centre)

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities within (0, 1), of any shape."""
        answer: Floats = np.clip(expit(self.slope * scores + self.shift), LEAST, 1 - LEAST)
        return answer

    @property
    def state(self) -> dict[str, Any]:
        """What `from_state` takes back."""
        return {"method": "platt", "slope": self.slope, "shift": self.shift}


@dataclass(frozen=True)
class Isotonic:
    """The rising curve that fits the outcomes best, by pooling neighbours that fall.

    Each pool's share of failures is drawn towards the share of all, as if `prior` more outcomes
    had been seen in it: no pool of successes alone says 0. Between the pools' mean scores the curve
    is straight, so scores that differ mostly stay apart; beyond them it is level.

    Source: Zadrozny and Elkan, "Transforming classifier scores into accurate multiclass probability
    estimates", KDD 2002.
    """

    scores: Floats
    chances: Floats

    @classmethod
    def fit(
        cls,
        scores: Floats,
        failed: Bools,
        weights: Floats | None = None,
        *,
        prior: float = 1.0,
    ) -> Self:
        """Return the curve for scores, float64[n], and outcomes, bool[n], with weights >= 0.

        A pool's weight of outcomes counts in units of 1 / share of failures: `prior` is in failures
        where they are rare.
        """
        x, y, w = _checked(scores, failed, weights)
        x, y, w = x[w > 0], y[w > 0], w[w > 0]
        if not len(x):
            return cls(np.zeros(1), np.full(1, 0.5))
        share = float((w[y].sum() + 0.5) / (w.sum() + 1.0))
        level = isotonic(x, y.astype(np.float64), w)
        order = np.argsort(x, kind="stable")
        begin = np.flatnonzero(np.diff(level[order], prepend=-1.0) > 0)
        weight = np.add.reduceat(w[order], begin)
        hits = np.add.reduceat((w * y)[order], begin)
        middle = np.add.reduceat((w * x)[order], begin) / weight
        more = prior / share
        drawn = (hits + more * share) / (weight + more)
        drawn = isotonic(middle, drawn, weight)
        return cls(middle, np.clip(drawn, LEAST, 1 - LEAST))

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities within (0, 1), of any shape."""
        answer = np.interp(scores, self.scores, self.chances)
        # Rounding may carry a point past the end of its piece, and the chances would fall there.
        after = np.searchsorted(self.scores, scores, side="right")
        last = len(self.chances) - 1
        low, high = self.chances[np.maximum(after - 1, 0)], self.chances[np.minimum(after, last)]
        return np.asarray(np.clip(answer, low, high))

    @property
    def state(self) -> dict[str, Any]:
        """What `from_state` takes back."""
        return {
            "method": "isotonic",
            "scores": self.scores.tolist(),
            "chances": self.chances.tolist(),
        }


Calibrator = Platt | Isotonic


def calibrator(
    scores: Floats,
    failed: Bools,
    weights: Floats | None = None,
    *,
    method: str = "auto",
    failures: int | None = None,
) -> Calibrator:
    """Return the curve that turns scores into probabilities.

    Parameters
    ----------
    scores : float64[n], finite, higher where a failure is likelier (log odds do best), in order of
        time
    failed : bool[n]
    weights : float64[n], >= 0; all 1 if None
    method : "platt", "isotonic", or "auto": from 200 failures on whichever, learnt on the first
        half, has the smaller log loss on the second; else Platt's
    failures : how many failures there are, where several outcomes come of one; the number of
        outcomes that failed if None

    Raises ParameterError for another method, or scores that are not finite.
    """
    if method not in METHODS:
        raise ParameterError("calibration", method, "one of " + ", ".join(METHODS))
    number = int(np.count_nonzero(failed)) if failures is None else failures
    if method == "auto":
        steps = number >= MANY and _steps_do_better(*_checked(scores, failed, weights))
        method = "isotonic" if steps else "platt"
    made: type[Calibrator] = Isotonic if method == "isotonic" else Platt
    return made.fit(scores, failed, weights)


def _steps_do_better(x: Floats, y: Bools, w: Floats) -> bool:
    half = len(x) // 2
    losses = []
    for kind in (Isotonic, Platt):
        chance = kind.fit(x[:half], y[:half], w[:half])(x[half:])
        said = np.where(y[half:], chance, 1 - chance)
        losses.append(float(-(w[half:] * np.log(said)).sum()))
    return losses[0] < losses[1]


def from_state(state: Mapping[str, Any]) -> Calibrator:
    """Return the curve whose `state` this is. Raises ParameterError where it is none."""
    held = Held(state)
    if held.text("method", METHODS[1:]) == "platt":
        return Platt(held.number("slope", 0), held.number("shift"))
    scores = held.numbers("scores")
    held.hold("scores", len(scores) > 0 and bool((np.diff(scores) > 0).all()), "numbers that rise")
    chances = held.numbers("chances", len(scores), 0, 1)
    return Isotonic(scores, chances)


def curves_from(state: Any, horizons: int) -> tuple[Calibrator, ...]:
    """Return the curves of all horizons from their states."""
    return tuple(from_state(one) for one in Held({"curves": state}).listed("curves", horizons))


def isotonic(scores: Floats, values: Floats, weights: Floats | None = None) -> Floats:
    """Return float64[n]: the values that rise with the scores and are nearest to those given, by
    weighted squares; equal scores get equal values. By pooling adjacent violators, in O(n log n)
    for the sorting."""
    w = np.ones(len(scores)) if weights is None else weights
    if not len(scores):
        return np.empty(0)
    known, place = np.unique(scores, return_inverse=True)
    weight = np.bincount(place, weights=w, minlength=len(known))
    mean = np.bincount(place, weights=w * values, minlength=len(known)) / weight
    answer: Floats = optimize.isotonic_regression(mean, weights=weight).x[place]
    return answer


def _checked(scores: Floats, failed: Bools, weights: Floats | None) -> tuple[Floats, Bools, Floats]:
    x = np.asarray(scores, dtype=np.float64)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ParameterError("scores", float(x[~np.isfinite(x)][0]), "finite numbers")
    assert len(x) == len(failed) == len(w), "scores, outcomes and weights of unlike lengths"
    return x, np.asarray(failed, dtype=np.bool_), w


def _newton(x: Floats, target: Floats, w: Floats, shift: float) -> tuple[float, float]:
    """Return slope and shift of the likeliest logistic curve for scores of unit spread; a trace
    of a ridge on the slope keeps it finite where scores tell all."""
    slope, ridge = 0.0, 1e-6 * float(w.sum())

    def loss(a: float, b: float) -> float:
        z = a * x + b
        return float((w * (np.logaddexp(0.0, z) - target * z)).sum()) + 0.5 * ridge * a * a

    now = loss(slope, shift)
    for _ in range(STEPS):
        p = expit(slope * x + shift)
        off, bend = w * (p - target), w * p * (1 - p)
        g = np.array([(off * x).sum() + ridge * slope, off.sum()])
        cross = (bend * x).sum()
        h = np.array([[(bend * x * x).sum() + ridge, cross], [cross, bend.sum() + 1e-12]])
        step, size = np.linalg.solve(h, g), 1.0
        while size > 1e-10 and loss(slope - size * step[0], shift - size * step[1]) > now:
            size /= 2
        slope, shift = slope - size * step[0], shift - size * step[1]
        now = loss(slope, shift)
        if size <= 1e-10 or np.abs(size * step).max() < 1e-10:
            break
    return float(slope), float(shift)


def one_by_one(curves: Sequence[Calibrator], margins: Floats, answer: Floats) -> Floats:
    """Write into `answer`, and return, the probabilities of failing before each horizon from
    margins of failing between it and the one before; float64[..., H] both, perhaps the same."""
    lasting = np.ones(margins.shape[:-1])
    for k, curve in enumerate(curves):
        lasting *= 1 - curve(margins[..., k])
        answer[..., k] = 1 - lasting
    return answer
