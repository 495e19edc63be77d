"""Linear time series and rules in one: the hybrid of Sahoo et al. as a Bayesian logistic model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.core.streams import stream
from forestall.prediction.models import settings as check
from forestall.prediction.models.baselines.histories import service
from forestall.prediction.models.joined.metrics import MetricModel
from forestall.prediction.models.learner import HORIZONS, Learner, State
from forestall.prediction.models.linear.learners import Autoregressive
from forestall.prediction.models.linear.shares import DAY
from forestall.prediction.models.rules.items import FailureLookup, TypedRecords
from forestall.prediction.models.rules.rules import EventRules

CELLS = 200_000
"""How many moments and nodes are worked on together."""
PANEL = 1_200_000
"""How many of them are looked at in training, at most ..."""
QUIET = 100_000
"""... and how many of those without a failure are used."""
FIXED = 4
"""Features beside those of metrics: 1, the machine's series, the node's own rate, rules."""
MEANS = (0.0, 0.5, 0.5, 1.0)
"""What their weights are before anything is learnt."""


class Joined(Learner):
    """Linear forecasts of the continuous joined with rules on the discrete.

    For each horizon the log-odds of a failure are a sum, weighted by what the past says:

    - the log-odds by an autoregression of the machine's failure counts, shared out to the nodes
      (see `linear.learners.Autoregressive`);
    - the log-odds by the node's own failure rate alone (see `linear.shares.Shares`);
    - the logarithm of the factor of the rule that holds for it (see `EventRules`);
    - for each metric of the node: how far its last sample was from a linear forecast (an
      exponentially weighted level and an autoregression of the differences from it), and its trend
      (a fast mean less a slow one), both in units of the forecast's usual error, and the sizes of
      both. Nodes without a recent sample have zeros.

    Weights have a normal prior of standard deviation `width`, around 1/2 for the first two, 1 for
    the third and 0 for the others; the mode is found by iteratively reweighted least squares. Rules
    and autoregression are first learnt on the first three fifths of the past, so that the weights,
    from the other two, judge what they say about times that they have not seen; then both are
    learnt again on all of it.

    Parameters
    ----------
    rules : settings of `EventRules` beside its horizons
    series : settings of `linear.learners.Autoregressive` beside its horizons
    width : standard deviation of the prior of a weight, above 0
    seed : of the draw of quiet moments that weights are learnt from
    horizons : seconds ahead that it answers for, ascending

    Source: Sahoo et al., "Critical event prediction for proactive management in large-scale
    computer clusters", KDD 2003, as told in section 3.2 of Oliner et al., "Probabilistic QoS
    guarantees for supercomputing systems", DSN 2005.
    """

    name: ClassVar[str] = "joined"

    def __init__(
        self,
        *,
        rules: Mapping[str, Any] | None = None,
        series: Mapping[str, Any] | None = None,
        width: float = 0.2,
        seed: int = 0,
        horizons: Sequence[int] = HORIZONS,
    ) -> None:
        ahead = check.seconds(horizons)
        parts = {}
        for name, kind, given in (("rules", EventRules, rules), ("series", Autoregressive, series)):
            if not isinstance(given or {}, Mapping) or "horizons" in (given or {}):
                allowed = f"settings of {kind.name} beside its horizons, in braces"
                raise ParameterError(name, given, allowed)
            parts[name] = dict(given or {})
            check.check_names(name, kind, parts[name])
        super().__init__(
            **parts, width=check.number("width", width, "a finite number above 0", above=0),
            seed=check.whole("seed", seed, 0), horizons=ahead,
        )  # fmt: skip
        self.width, self.seed = self.settings["width"], self.settings["seed"]
        self.rules = EventRules(**parts["rules"], horizons=ahead)
        self.series = Autoregressive(**parts["series"], horizons=ahead)
        self.metrics: MetricModel | None = None
        self.weights = np.tile(MEANS, (len(ahead), 1))

    @property
    def memory(self) -> int:  # type: ignore[override]
        """Seconds of events and metrics that must be kept to answer."""
        return max(self.rules.memory, self.metrics.memory if self.metrics else 0)

    # --------------------------------------------------------------------------------- training

    def learn(self, past: Observations) -> None:
        """Learn the parts, and how far each is to be believed."""
        middle = past.begin + (past.end - past.begin) * 3 // 5
        measured = past.metrics is not None and len(past.metrics) > 0
        self.metrics = None
        if past.metrics is not None and measured:
            self.metrics = MetricModel.learn(past.metrics)
        early = past.until(middle)
        self.rules.learn(early)
        self.series.learn(early)
        self.weights = self._weighed(past, middle)
        self.rules.learn(past)
        self.series.learn(past)

    def _weighed(self, past: Observations, since: int) -> Floats:
        """Return float64[H, F]: the weights learnt from what came since a moment."""
        ahead = np.asarray(self.horizons, dtype=np.int64)
        rows = max(1, PANEL // max(past.nodes, 1))
        step = max(self.rules.windows[0], math.ceil((past.end - since) / rows))
        step += step % 7 + 1 if 3600 < step < 86_400 else 0
        times = np.arange(since, past.end, step, dtype=np.int64)
        rng = stream(self.seed, "joined")
        share = min(1.0, QUIET / max(len(times) * past.nodes, 1))
        kept: list[tuple[Floats, Floats, Floats, Ints]] = []
        histories, stop = FailureLookup.of(past), service(past)[1]
        for cells, common, special in self._rows(past, times, self._active(past, times)):
            moment, node = times[cells // past.nodes], cells % past.nodes
            wait = histories.following(moment, node) - moment
            use = (wait < ahead[-1]) | (rng.random(len(cells)) < share)
            weight = np.where(wait < ahead[-1], 1.0, 1 / share)
            about = np.stack((wait, past.end - moment, stop[node] - moment), axis=1)
            kept.append((common[use], special[use], weight[use], about[use]))
        prior = self._prior()
        if not kept or not sum(len(part[0]) for part in kept):
            return np.tile(prior, (len(ahead), 1))
        common, special, weight, about = (np.concatenate(p) for p in zip(*kept, strict=True))
        answer = np.empty((len(ahead), len(prior)))
        for k, horizon in enumerate(ahead.tolist()):
            failed = about[:, 0] < np.minimum(horizon, about[:, 2])  # before it leaves service
            known = (about[:, 1] >= horizon) & (failed | (about[:, 2] >= horizon))
            design, failed = _design(common[known], special[known, k]), failed[known]
            apart = min(1.0, step / horizon)  # a failure counts about once
            answer[k] = logistic(design, failed, apart * weight[known], prior, self.width)
        return answer

    def _prior(self) -> Floats:
        prior = np.zeros(FIXED + (4 * len(self.metrics.names) if self.metrics else 0))
        prior[:FIXED] = MEANS
        return prior

    def _active(self, seen: Observations, times: Ints) -> Ints:
        begin, stop = service(seen)
        inside = (begin <= times[:, None]) & (times[:, None] < stop)
        return np.flatnonzero(inside)

    # --------------------------------------------------------------------------------- features

    def _rows(
        self, seen: Observations, times: Ints, cells: Ints
    ) -> Iterator[tuple[Ints, Floats, Floats]]:
        """Yield cells (row * nodes + node) in runs, with features float64[k, F - FIXED] that all
        horizons share and float64[k, H, FIXED - 1] that they do not."""
        last = int(times[-1]) if len(times) else seen.begin
        records = TypedRecords.of(seen, last)
        days = np.asarray(self.horizons) / DAY
        metrics, table = seen.metrics, None
        if self.metrics is not None and metrics is not None and len(metrics):
            table = self.metrics.features(metrics)
        width = 4 * len(self.metrics.names) if self.metrics else 0
        per = max(1, CELLS // max(seen.nodes, 1))
        for first in range(0, len(times), per):
            some = times[first : first + per]
            edge = np.searchsorted(cells, [first * seen.nodes, (first + per) * seen.nodes])
            here = cells[edge[0] : edge[1]]
            row, node = here // seen.nodes, here % seen.nodes
            series = self.series.chances(seen, some)[row - first, node]
            rate = self.rules.shares.of(seen, some)[0][row - first, node]
            which = self.rules.which(records, some, seen.nodes)[row - first, node]
            parts = (
                _log_odds(-np.log1p(-np.minimum(series, 1 - 1e-12))),
                _log_odds(rate[:, None] * days),
                np.log(self.rules.factors)[which],
            )
            special = np.stack(parts, axis=2)
            common = np.zeros((len(here), width))
            if table is not None and self.metrics is not None and metrics is not None:
                place = self.metrics.latest(metrics, times[row], node)
                common[place >= 0] = table[place[place >= 0]]
            yield here, common, special

    # ---------------------------------------------------------------------------------- answers

    def chances(self, seen: Observations, times: Ints) -> Floats:
        moments = np.asarray(times, dtype=np.int64)
        answer = np.empty((len(moments) * seen.nodes, len(self.horizons)))
        cells = np.arange(len(answer))
        for here, common, special in self._rows(seen, moments, cells):
            for k in range(len(self.horizons)):
                # No matrix product: its rounding depends on the number of rows.
                score = np.full(len(here), self.weights[k, 0])
                columns = (*special[:, k].T, *common.T)
                for column, weight in zip(columns, self.weights[k, 1:], strict=True):
                    score += column * weight
                answer[here, k] = expit(score)
        np.maximum.accumulate(answer, axis=1, out=answer)
        return answer.reshape(len(moments), seen.nodes, len(self.horizons))

    def learnt(self) -> State:
        """Return what the parts learnt, and the weights."""
        rules, rule_arrays = self.rules.learnt()
        series, series_arrays = self.series.learnt()
        metrics, metric_arrays = self.metrics.state() if self.metrics else (None, {})
        values = {"rules": rules, "series": series, "metrics": metrics}
        return values, {
            "weights": self.weights,
            **metric_arrays,
            **{f"rules.{name}": array for name, array in rule_arrays.items()},
            **{f"series.{name}": array for name, array in series_arrays.items()},
        }

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held = Held(values, arrays)
        for name, part in (("rules", self.rules), ("series", self.series)):
            part.restore(held.value(name), held.under(f"{name}."))
        told = held.value("metrics")
        self.metrics = None if told is None else MetricModel.of_state(Held(told, arrays))
        shape = (len(self.horizons), len(self._prior()))
        self.weights = held.array("weights", np.float64, *shape)


def _log_odds(hazard: Floats) -> Floats:
    """Return the log-odds of the probabilities of cumulative hazards."""
    return np.log(np.maximum(np.expm1(np.minimum(hazard, 30.0)), 1e-15))


def _design(common: Floats, special: Floats) -> Floats:
    return np.concatenate((np.ones((len(common), 1)), special, common), axis=1)


def logistic(
    design: Floats,
    failed: Bools,
    weight: Floats,
    prior: Floats,
    width: float,
    steps: int = 50,
) -> Floats:
    """Return the weights of greatest posterior density of a logistic regression.

    Parameters
    ----------
    design : float64[n, F], the first column 1, which has a prior ten times as wide
    failed, weight : bool[n], float64[n]: outcomes, and how many each stands for
    prior, width : means float64[F] and standard deviation of the normal prior

    By iteratively reweighted least squares (Newton's method), with steps halved until the density
    does not fall.
    """
    rigid = np.full(len(prior), 1 / width**2)
    rigid[0] = 0.01 / width**2
    point = prior.copy()

    def density(at: Floats) -> float:
        score = design @ at
        signed = np.where(failed, -score, score)
        loss = float(weight @ np.logaddexp(0.0, signed))
        return -loss - 0.5 * float(rigid @ (at - prior) ** 2)

    value = density(point)
    for _ in range(steps):
        chance = expit(design @ point)
        slope = design.T @ (weight * (failed - chance)) - rigid * (point - prior)
        curve = design.T @ (design * (weight * chance * (1 - chance))[:, None]) + np.diag(rigid)
        step = np.asarray(np.linalg.solve(curve, slope), dtype=np.float64)
        length = 1.0
        while (new := density(point + length * step)) < value and length > 1e-6:
            length /= 2
        if new <= value:
            break
        gained, value, point = new - value, new, point + length * step
        if gained < 1e-8 * max(1.0, abs(value)):
            break
    return point
