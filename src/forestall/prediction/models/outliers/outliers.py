"""Alarms for metrics that are improbably high (or low) among nodes that are well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from forestall.core.files.held import Held
from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.core.streams import stream
from forestall.prediction.models import settings as check
from forestall.prediction.models.baselines.histories import (
    fails_within,
    last_rows,
    node_seconds,
    outcome_known,
)
from forestall.prediction.models.learner import HORIZONS, Learner, State
from forestall.prediction.models.outliers.score import (
    FEWEST,
    Method,
    Reference,
    Side,
    reference_from,
    reference_of,
)

CELLS = 2_000_000
"""Nodes times moments that the probabilities are learnt from."""
MOMENTS = 1000
BINS = 400
STEEP = 1.0
"""Standard deviation of the logistic's slope before anything is seen."""
LONGEST = 864_000
"""Samples further back than this, s, or twice this where laws are learnt anew, are not used."""
PERIODS = 3
"""A sample counts for so many periods of the metrics."""


class Outlier(Learner):
    """How improbable a node's latest sample is among samples of nodes that were well.

    The law of the metrics is learnt from the samples of nodes that did not fail within `guard`
    seconds and were up: of each metric alone (its empirical law, with an exponential tail), or of
    all together (Mahalanobis distance with a robust covariance). A sample's score, its surprise,
    is -log10 of the probability of one as improbable. The probability of failing within a horizon
    is logistic in log(1 + surprise), with slope and level fitted to the past; it does not fall as
    the surprise grows. A node without a sample of late has the rate of all such.

    Parameters
    ----------
    side : which values are improbable: "high" (as for memory that fills up), "low" or "both"
    method : "univariate" or "mahalanobis"
    metrics : names of the metrics to use, None for all
    window : 0 to learn the law once; else it is learnt anew for each such stretch of time (s, at
        most 10 days) from the one before, so that nodes are compared with the machine of late
    guard : seconds before a failure in which a node counts as not well
    stale : seconds that a sample counts for, at most 10 days; 0 for three periods of the metrics
    seed : of the starts of the robust covariance
    horizons : seconds ahead that it answers for, ascending

    Source: J. Brandt et al., "Quantifying effectiveness of failure prediction and response in HPC
    systems: methodology and example", 2010, Section 4, for outliers against a learnt distribution
    (OVIS); how a score becomes a probability is an addition.
    """

    name: ClassVar[str] = "outlier"
    needs: ClassVar[frozenset[str]] = frozenset({"failures", "metrics"})

    def __init__(
        self,
        *,
        side: str = "high",
        method: str = "univariate",
        metrics: Sequence[str] | None = None,
        window: int = 0,
        guard: int = 86_400,
        stale: int = 0,
        seed: int = 0,
        horizons: Sequence[int] = HORIZONS,
    ) -> None:
        check.choice("side", side, ("high", "low", "both"))
        check.choice("method", method, ("univariate", "mahalanobis"))
        window = check.whole("window", window, 0, LONGEST)
        guard = check.whole("guard", guard, 0, 2**40)
        stale = check.whole("stale", stale, 0, LONGEST)
        seed = check.whole("seed", seed, 0, 2**63 - 1)
        names = None if metrics is None else check.texts("metrics", metrics)
        if names == []:
            raise ParameterError("metrics", names, "at least one name, or None for all")
        super().__init__(
            side=side,
            method=method,
            metrics=names,
            window=window,
            guard=guard,
            stale=stale,
            seed=seed,
            horizons=check.seconds(horizons),
        )
        self.side, self.method = cast(Side, side), cast(Method, method)
        self.names: tuple[str, ...] = ()
        self.stale = stale
        self.reference: Reference | None = None
        self.line: Floats = np.zeros((len(self.horizons), 2))
        self.without: Floats = np.zeros(len(self.horizons))

    # ------------------------------------------------------------------------------ learning

    def learn(self, past: Observations) -> None:
        """Learn the law of the metrics, and what surprises have meant."""
        table = past.metrics
        assert table is not None
        wanted = self.settings["metrics"]
        self.names = table.names if wanted is None else tuple(wanted)
        fresh = PERIODS * (table.period or _period(past))
        self.stale = self.settings["stale"] or min(fresh, LONGEST)
        every = np.ones(len(table), dtype=np.bool_)
        self.reference = self._reference(past, every, past.end)
        self._calibrate(past)

    def _values(self, seen: Observations, where: npt.NDArray[Any]) -> Floats:
        """Return float64[n, m] of the samples there, the metrics that are used."""
        table = seen.metrics
        assert table is not None
        for name in self.names:
            if name not in table.names:
                raise ParameterError("metrics", name, "one of " + ", ".join(table.names))
        values: Floats = table.value[where]
        if self.names != table.names:
            values = values[:, [table.names.index(name) for name in self.names]]
        return values

    def _reference(self, seen: Observations, where: Bools, until: int) -> Reference:
        """Return the law of the samples there, by what was known of failures before `until`."""
        table = seen.metrics
        assert table is not None
        time, node = table.time[where], table.node[where]
        well = was_well(seen.failures, time, node, self.settings["guard"], until)
        rng = stream(self.settings["seed"], "outlier")
        return reference_of(self._values(seen, where)[well], self.side, self.method, rng)

    def _calibrate(self, past: Observations) -> None:
        times = _moments(past, self.stale)
        step = int(times[1] - times[0]) if len(times) > 1 else 1
        seconds = node_seconds(past)
        rate = (len(past.failures) + 0.5) / seconds if seconds > 0 else 0.0
        level = -np.expm1(-rate * np.asarray(self.horizons, dtype=np.float64))
        self.line = np.stack((_logit(level), np.zeros(len(level))), axis=1)
        self.without = level.copy()
        if len(times) == 0 or rate == 0:
            return
        bend = np.log1p(self.scores(past, times))
        for k, horizon in enumerate(self.horizons):
            failed = fails_within(past.failures, times, past.nodes, horizon)
            known = outcome_known(past, times, horizon, failed)
            weight = min(1.0, step / horizon)  # moments that see the same failure are not many
            there = known & ~np.isnan(bend)
            self.line[k] = logistic(bend[there], failed[there], weight, level[k])
            rest = known & np.isnan(bend)
            self.without[k] = (weight * failed[rest].sum() + level[k]) / (weight * rest.sum() + 1)
        self.without = np.maximum.accumulate(self.without)

    # ------------------------------------------------------------------------------- answers

    def scores(self, seen: Observations, times: Ints) -> Floats:
        """Return float64[T, nodes]: the surprise of each node's latest sample before each of the
        ascending `times`, 0 and more; nan where there is none that is fresh enough."""
        moments = np.asarray(times, dtype=np.int64)
        answer = np.full((len(moments), seen.nodes), np.nan)
        table = seen.metrics
        if table is None or len(moments) == 0:
            return answer
        rows = np.flatnonzero((table.time >= moments[0] - self.stale) & (table.time < moments[-1]))
        rows = rows[~np.isnan(self._values(seen, rows)).all(axis=1)]
        rows = rows[np.argsort(table.time[rows], kind="stable")]
        last = last_rows(table.time[rows], table.node[rows], moments, seen.nodes)
        there = last >= 0
        which = rows[last[there]]
        since = np.broadcast_to(moments[:, None], last.shape)[there] - table.time[which]
        used = np.zeros(len(table), dtype=np.bool_)
        used[which[since <= self.stale]] = True
        surprise = np.full(len(table), np.nan)
        surprise[used] = self._surprise(seen, np.flatnonzero(used))
        answer[there] = np.where(since <= self.stale, surprise[which], np.nan)
        return answer

    def _surprise(self, seen: Observations, rows: Ints) -> Floats:
        """Return float64[len(rows)]: the surprise of samples, each by the law of its time."""
        table, window = seen.metrics, self.settings["window"]
        assert table is not None
        assert self.reference is not None
        values = self._values(seen, rows)
        if not window:
            return self.reference.surprise(values)
        answer = np.empty(len(rows))
        stretch = (table.time[rows] - seen.begin) // window
        for number in np.unique(stretch).tolist():
            begin = seen.begin + number * window
            where = (table.time >= begin - window) & (table.time < begin)
            enough = int(where.sum()) >= FEWEST
            law = self._reference(seen, where, begin) if enough else self.reference
            answer[stretch == number] = law.surprise(values[stretch == number])
        return answer

    def alarms(self, seen: Observations, times: Ints, share: float = 1e-3) -> Bools:
        """Return bool[T, nodes]: where the latest sample is one of the `share` most improbable."""
        if not 0 < share < 1:
            raise ParameterError("share", share, "a number between 0 and 1")
        scores = self.scores(seen, times)
        return np.asarray(np.nan_to_num(scores, nan=-1.0) >= -np.log10(share))

    def chances(self, seen: Observations, times: Ints) -> Floats:
        bend = np.log1p(self.scores(seen, times))
        answer = np.empty((*bend.shape, len(self.horizons)))
        for k, (level, slope) in enumerate(self.line):
            answer[..., k] = np.where(np.isnan(bend), self.without[k], expit(level + slope * bend))
        return np.maximum.accumulate(answer, axis=-1, out=answer)

    # ------------------------------------------------------------------------------ to a file

    def learnt(self) -> State:
        """Return the law of the metrics and what surprises mean."""
        assert self.reference is not None
        values = {"names": list(self.names), "stale": int(self.stale)}
        told = {"line": self.line, "without": self.without}
        return values, told | self.reference.arrays()

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        held, count = Held(values, arrays), len(self.horizons)
        self.names, self.stale = held.texts("names"), held.whole("stale", 0)
        self.line = held.array("line", np.float64, count, 2)
        self.without = held.array("without", np.float64, count, least=0, most=1)
        self.reference = reference_from(held, len(self.names), self.side, self.method)


def was_well(log: Failures, time: Ints, node: Ints, guard: int, until: int) -> Bools:
    """Return bool[n]: whether a node was up at a time, and did not fail within `guard` seconds,
    by the failures before `until`."""
    known = log.take(log.time < until)
    if len(known) == 0:
        return np.ones(len(time), dtype=np.bool_)
    order = np.argsort(known.node, kind="stable")
    low = int(min(known.time.min(), time.min(initial=0)))
    wide = int(max(known.time.max(), time.max(initial=0))) - low + 1
    keys = known.node[order] * wide + (known.time[order] - low)
    place = np.searchsorted(keys, node * wide + (time - low), side="left")
    after = np.append(order, 0)[place]
    same = (place < len(order)) & (known.node[after] == node)
    well = ~(same & (known.time[after] - time < guard))
    before = order[np.maximum(place - 1, 0)]
    same = (place > 0) & (known.node[before] == node)
    return np.asarray(well & ~(same & (time < known.time[before] + known.downtime[before])))


def logistic(bend: Floats, failed: Bools, weight: float, level: float) -> Floats:
    """Return level and slope, float64[2], of a logistic law of failures; the slope is not below 0.

    Half a failure at the share `level` is added, and the slope is drawn to 0; by Newton's steps
    over bins.
    """
    edges = np.unique(np.quantile(bend, np.linspace(0, 1, BINS + 1))) if len(bend) else np.zeros(1)
    place = np.clip(np.searchsorted(edges, bend, side="right") - 1, 0, len(edges) - 1)
    number = np.bincount(place, minlength=len(edges)).astype(np.float64)
    mean = np.bincount(place, bend, len(edges)) / np.maximum(number, 1)
    share = min(max(level, 1e-12), 0.5)
    x = np.append(mean, mean @ number / max(number.sum(), 1))
    hit = np.append(np.bincount(place, failed, len(edges)) * weight, 0.5)
    tried = np.append(number * weight, 0.5 / share)
    at = np.array([float(_logit(np.array([hit.sum() / tried.sum()]))[0]), 0.0])
    for _ in range(100):
        chance = expit(at[0] + at[1] * x)
        miss, curve = hit - tried * chance, tried * chance * (1 - chance)
        cross = (curve * x).sum()
        bent = np.array([[curve.sum() + 1e-12, cross], [cross, (curve * x**2).sum() + STEEP**-2]])
        rise = np.array([miss.sum(), (miss * x).sum() - at[1] / STEEP**2])
        step = np.clip(np.linalg.solve(bent, rise), -2.0, 2.0)
        at = at + step
        if np.abs(step).max() < 1e-12:
            break
    if at[1] < 0:
        return np.array([float(_logit(np.array([hit.sum() / tried.sum()]))[0]), 0.0])
    return at


def _logit(share: Floats) -> Floats:
    inside = np.clip(share, 1e-15, 1 - 1e-15)
    return np.log(inside / (1 - inside))


def _period(past: Observations) -> int:
    """Return the median of the seconds between samples of a node, an hour where there are none."""
    table = past.metrics
    assert table is not None
    gaps = np.diff(table.time)[np.diff(table.node) == 0]
    return max(int(np.median(gaps)), 1) if len(gaps) else 3600


def _moments(past: Observations, stale: int) -> Ints:
    """Return the moments that probabilities are learnt from, evenly spaced."""
    begin = past.begin + min(stale, (past.end - past.begin) // 10)
    number = int(np.clip(CELLS // max(past.nodes, 1), 20, MOMENTS))
    step = max((past.end - begin) // number, 1)
    return np.arange(begin, past.end, step, dtype=np.int64)
