"""Several predictors as one: their log odds, weighted by what they were worth on later data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from forestall.core._lazy import lazily
from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.core.streams import stream
from forestall.prediction.models.boosted.rows import NEVER, spread
from forestall.prediction.models.calibrate import (
    METHODS,
    Calibrator,
    Platt,
    calibrator,
    curves_from,
    one_by_one,
)
from forestall.prediction.models.entries import LEARNERS, TRIVIAL
from forestall.prediction.models.features.failures import service_of
from forestall.prediction.models.learner import HORIZONS, Learner, State
from forestall.prediction.models.registry import learner_class, new_learner

with lazily():
    from scipy import optimize

HELD_OUT: Final = 0.3
CELLS: Final = 400_000
MOMENTS: Final = (40, 2000)
"""So many moments of the held-out part are asked about, at least and at most; in between, as many
as make `CELLS` answers of each member."""
FEWEST: Final = 10
"""With fewer failures held out, all members count the same."""
LEAST: Final = 1e-9
SHIFT: Final = 3.0


class Stacked(Learner):
    """Other predictors, combined.

    The members learn from the first 70 % of the past and answer about the rest, which they have not
    seen. A logistic curve of their log odds is learnt from those answers, with weights of 0 or
    more, drawn towards equal ones by a ridge, and a shift drawn towards 0 by it: what was held out
    is one season of the machine, and a shift that suits it need not suit the next. For every
    horizon there is one for failing before it, given that the node did not fail before the one that
    comes before, so probabilities ascend. Then the members learn from all of the past. That is
    causal, since nothing later than the past's end is used; and honest, since the weights come from
    answers about what was held out. What the members learn last differs from what was weighted by
    more data only.

    Parameters
    ----------
    members : names of predictors; those that need what is not observed are skipped. Default: the
        trivial baselines, "renewal", and "boosted" where scikit-learn is installed
    ridge : how much a weight's squared distance from an equal share costs, in failures; the
        shift's square costs `SHIFT` times as much
    calibration : of the outcome: "none", for the logistic curve is one already, or "auto",
        "isotonic" or "platt", see `forestall.prediction.models.calibrate`
    seed : of the held-out moments
    horizons : seconds ahead, ascending

    Source: Wolpert, "Stacked generalization", Neural Networks 5, 1992; weights of 0 or more as in
    Breiman, "Stacked regressions", Machine Learning 24, 1996.
    """

    name: ClassVar[str] = "stacked"

    def __init__(
        self,
        *,
        members: Sequence[str] | None = None,
        ridge: float = 10.0,
        calibration: str = "none",
        seed: int = 0,
        horizons: Sequence[int] = HORIZONS,
    ) -> None:
        names = None if members is None else [str(name) for name in members]
        for name in names or ():
            if name not in LEARNERS or name == self.name:
                raise ParameterError("members", name, "predictors that combine no others")
        if names is not None and (not names or len(set(names)) < len(names)):
            raise ParameterError("members", names, "one or more, each once")
        if ridge < 0:
            raise ParameterError("ridge", ridge, "a number of failures, 0 or more")
        if calibration not in ("none", *METHODS):
            raise ParameterError("calibration", calibration, "one of none, " + ", ".join(METHODS))
        if seed < 0:
            raise ParameterError("seed", seed, "a whole number, 0 or more")
        super().__init__(
            members=names,
            ridge=ridge,
            calibration=calibration,
            seed=seed,
            horizons=[int(h) for h in horizons],
        )
        self._members: list[Learner] = []
        self._weights = np.zeros((0, len(self.horizons)))
        self._shifts = np.full(len(self.horizons), -20.0)
        self._curves: tuple[Calibrator, ...] = tuple(Platt(1.0, 0.0) for _ in self.horizons)

    def weights(self) -> dict[str, list[float]]:
        """Return each member's weight for each horizon."""
        pairs = zip(self._members, self._weights.tolist(), strict=True)
        return {member.name: row for member, row in pairs}

    def learn(self, past: Observations) -> None:
        """Learn; see the class. Raises ParameterError where no member can do with what there is."""
        self._members = [
            new_learner(name, horizons=list(self.horizons))
            for name in self.settings["members"] or default_members()
            if learner_class(name).needs <= set(past.parts())
        ]
        if not self._members:
            names = ", ".join(self.settings["members"])
            raise ParameterError("members", names, "one that needs only " + ", ".join(past.parts()))
        split = past.begin + round((1 - HELD_OUT) * (past.end - past.begin))
        held = _HeldOut.of(past, split, self.horizons, self.settings["seed"])
        early = past.until(split)
        said = []
        for member in self._members:
            member.learn(early)
            said.append(log_odds(member.chances(past, held.times)).reshape(-1, len(self.horizons)))
            member.learn(past)
        self._weigh(held, np.stack(said))

    def _weigh(self, held: _HeldOut, said: Floats) -> None:
        """Learn weights and curves from the members' log odds, float64[M, T * nodes, H]."""
        number = len(said)
        self._weights = np.full((number, len(self.horizons)), 1 / number)
        self._shifts = np.zeros(len(self.horizons))
        curves: list[Calibrator] = []
        for k in range(len(self.horizons)):
            chosen, failed, weight = held.rows(k)
            odds, failures = said[:, chosen, k], float(weight[failed].sum())
            if failures < FEWEST:
                curves.append(Platt(1.0, 0.0))
                continue
            made = combination(odds, failed, weight, self.settings["ridge"])
            self._weights[:, k], self._shifts[k] = made
            if self.settings["calibration"] == "none":
                curves.append(Platt(1.0, 0.0))
                continue
            curves.append(
                calibrator(
                    made[0] @ odds + made[1],
                    failed,
                    weight,
                    method=self.settings["calibration"],
                    failures=int(failures),
                )
            )
        self._curves = tuple(curves)

    def chances(self, seen: Observations, times: Ints) -> Floats:
        total = np.tile(self._shifts, (len(times), seen.nodes, 1))
        for member, weights in zip(self._members, self._weights, strict=True):
            total += weights * log_odds(member.chances(seen, times))
        return one_by_one(self._curves, total, total)

    def learnt(self) -> State:
        """Return members, weights and curves."""
        values: dict[str, Any] = {"members": [], "curves": [curve.state for curve in self._curves]}
        arrays: dict[str, npt.NDArray[Any]] = {"weights": self._weights, "shifts": self._shifts}
        for k, member in enumerate(self._members):
            said, held = member.learnt()
            about = {"name": member.name, "settings": member.settings, "learnt": said}
            values["members"].append(about)
            arrays |= {f"{k}.{name}": array for name, array in held.items()}
        return values, arrays

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held, count = Held(values, arrays), len(self.horizons)
        self._members = []
        for k, one in enumerate(held.listed("members")):
            about = Held(one)
            name = about.text("name", [name for name in LEARNERS if name != self.name])
            member = new_learner(name, **about.part("settings").values)
            about.hold("settings", member.horizons == self.horizons, "the horizons of all")
            member.restore(about.part("learnt").values, held.under(f"{k}."))
            self._members.append(member)
        self._weights = held.array("weights", np.float64, len(self._members), count)
        self._shifts = held.array("shifts", np.float64, count)
        self._curves = curves_from(held.value("curves"), count)


def default_members() -> list[str]:
    """Return the members where none are named."""
    names = [*TRIVIAL, "renewal", "boosted"]
    return names if has_scikit() else names[:-1]


def has_scikit() -> bool:
    """Return whether boosted trees can be trained here."""
    try:
        return find_spec("sklearn") is not None
    except ValueError:  # what find_spec makes of a module that was blocked on purpose
        return False


def log_odds(chances: Floats) -> Floats:
    """Return, of probabilities that ascend along the last axis, the log odds of failing before
    each horizon given that the node did not fail before the one that comes before."""
    odds: Floats = np.empty_like(chances)
    lasting = np.ones(chances.shape[:-1])
    for k in range(chances.shape[-1]):
        now = np.clip(1 - chances[..., k], LEAST, lasting)
        odds[..., k] = logit(np.clip(1 - now / lasting, LEAST, 1 - LEAST))
        lasting = now
    return odds


def combination(odds: Floats, failed: Bools, weight: Floats, ridge: float) -> tuple[Floats, float]:
    """Return the weights, float64[M], and the shift of the likeliest logistic curve.

    Parameters
    ----------
    odds : float64[M, n], of each of M predictors
    failed, weight : [n], outcomes and what each counts
    ridge : half of it times the squared distance of the weights from 1 / M, and `SHIFT` times the
        squared shift, counts as loss
    """
    equal = np.full(len(odds), 1 / len(odds))

    def loss(at: Floats) -> tuple[float, Floats]:
        z = at[:-1] @ odds + at[-1]
        off = at[:-1] - equal
        value = weight @ (np.logaddexp(0.0, z) - failed * z)
        value += 0.5 * ridge * (off @ off + SHIFT * at[-1] ** 2)
        slope = weight * (expit(z) - failed)
        tilt = slope.sum() + SHIFT * ridge * at[-1]
        return float(value), np.append(odds @ slope + ridge * off, tilt)

    bounds = [(0.0, None)] * len(odds) + [(None, None)]
    found = optimize.minimize(
        loss, np.append(equal, 0.0), jac=True, method="L-BFGS-B", bounds=bounds
    )
    return found.x[:-1], float(found.x[-1])


class _HeldOut:
    """Moments of the held-out part, what became of each node after each, and what each counts.

    Half of the moments are drawn from all of the time, half from shortly before failures; weights
    make up for that (importance sampling).
    """

    def __init__(
        self, times: Ints, scale: Floats, ahead: Ints, stop: Ints, horizons: tuple[int, ...]
    ) -> None:
        self.times, self._scale = times, scale
        self._ahead, self._stop, self._bounds = ahead, stop, (0, *horizons)

    @classmethod
    def of(cls, past: Observations, begin: int, horizons: tuple[int, ...], seed: int) -> _HeldOut:
        """Return those of a past from `begin` on."""
        rng = stream(seed, "stacked")
        number = int(np.clip(CELLS // max(past.nodes, 1), *MOMENTS))
        failure = np.sort(past.failures.time)
        stop = max(past.end - horizons[0] + 1, begin)
        whole = spread(np.array([begin]), np.array([stop - begin]), number, rng)[1]
        parts, density = [whole], [(begin, np.array([stop]), len(whole) / max(stop - begin, 1))]
        for h in horizons:
            first = np.maximum(failure - h + 1, begin)
            length = np.maximum(np.minimum(failure + 1, stop) - first, 0)
            near = spread(first, length, number // len(horizons), rng)[1]
            parts.append(near)
            density.append((h, failure, len(near) / max(int(length.sum()), 1)))
        times = np.sort(np.concatenate(parts))
        frequency = np.full(len(times), density[0][2])
        for h, at, share in density[1:]:
            inside = np.searchsorted(at, times + h, "left") - np.searchsorted(at, times, "left")
            frequency += share * inside
        since, until = service_of(past)
        width = past.end - past.begin + 1
        keys = np.sort(past.failures.node * width + (past.failures.time - past.begin))
        nodes = np.arange(past.nodes)
        asked = nodes * width + (times - past.begin)[:, None]
        found = np.append(keys, NEVER)[np.searchsorted(keys, asked, "left")]
        ahead = np.where(found // width == nodes, found - asked, NEVER)
        known = np.where(since <= times[:, None], np.minimum(until, past.end), -NEVER)
        return cls(times, 1 / frequency, ahead, known - times[:, None], horizons)

    def rows(self, k: int) -> tuple[Ints, Bools, Floats]:
        """Return which cells count for horizon k, whether the node failed before it, and weights
        in node-intervals."""
        low, high = self._bounds[k : k + 2]
        chosen = np.flatnonzero((self._ahead >= low) & (self._stop >= high))
        weight = np.repeat(self._scale, self._ahead.shape[1])[chosen] / (high - low)
        return chosen, self._ahead.ravel()[chosen] < high, weight
