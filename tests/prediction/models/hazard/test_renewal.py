"""The renewal predictor says what the hazard predictor says, for many moments at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

import forestall as fs
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import previous
from forestall.prediction.models.hazard.fit import GapLaw, quiet_hazard
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.prediction.models.hazard.renewal import Renewal, quiet_hazards, summed

DAY = 86_400
HORIZONS = (3600, DAY, 30 * DAY)


def machine(seed: int, *, service: bool = False) -> Observations:
    log = fs.generate_failures(40, 300, seed, mttf_hours=24 * 60, shape=0.7, heterogeneity=0.6)
    end = 300 * DAY
    if service:
        start = np.where(np.arange(40) % 5 == 0, 100 * DAY, 0)
        start[1] = 250 * DAY
        log = replace(
            log, service_start=start, service_end=np.full(40, end), service_new=start == 100 * DAY
        )
    return Observations.of(log, begin=0, end=end, nodes=40)


def by_the_hazard_predictor(
    made: Renewal, seen: Observations, time: int
) -> npt.NDArray[np.float64]:
    """What `HazardPredictor` says that has been fitted to all before `time`, of the same law."""
    law = made.law
    other = HazardPredictor(law.shape, law.prior_failures, law.prior_exposure)
    past = replace(seen.failures.take(seen.failures.time < time), span=time)
    other.fit(past, nodes=seen.nodes)
    assert (other.begin, other.end) == (0, time)
    nodes = np.arange(seen.nodes)
    return np.stack([other.failure_probability(nodes, time, time + h) for h in HORIZONS], axis=1)


@pytest.mark.parametrize("service", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_it_says_what_the_hazard_predictor_says(seed: int, service: bool) -> None:
    seen = machine(seed, service=service)
    made = Renewal(horizons=HORIZONS)
    made.fit(seen.until(200 * DAY))
    times = np.array([10, 99, 101, 150, 200, 249, 299]) * DAY
    said = made.chances(seen, times)
    assert (seen.failures.time < times[0]).sum() < 40  # there are nodes that have not failed
    for k, time in enumerate(times.tolist()):
        expected = by_the_hazard_predictor(made, seen, time)
        assert said[k] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_law_is_the_hazard_predictors() -> None:
    seen = machine(3)
    made, other = Renewal(), HazardPredictor()
    made.fit(seen)
    other.fit(replace(seen.failures, span=300 * DAY), nodes=40)
    law = made.law
    assert (law.shape, law.prior_failures, law.prior_exposure) == (
        other.shape, other.prior_failures, other.prior_exposure,
    )  # fmt: skip


def test_after_updates_it_says_what_the_hazard_predictor_says() -> None:
    seen = machine(4)
    made, split = Renewal(horizons=HORIZONS), 200 * DAY
    made.fit(seen.until(split))
    failed = np.unique(seen.until(split).failures.node)
    law = made.law
    other = HazardPredictor(law.shape, law.prior_failures, law.prior_exposure)
    other.fit(replace(seen.until(split).failures, span=split), nodes=40)
    later = seen.between(split, 300 * DAY).failures
    for time, node in zip(later.time.tolist(), later.node.tolist(), strict=True):
        made.update(time, node)
        other.update(time, node)
    now = int(later.time[-1]) + 1
    for one in (made, other):
        one.advance(now)
    for ahead in HORIZONS:
        said = made.failure_probability(failed, now, now + ahead)
        assert said == pytest.approx(other.failure_probability(failed, now, now + ahead), rel=1e-9)


def test_quiet_hazards_are_quiet_hazard() -> None:
    for law in (GapLaw(0.6, 1.2, 30.0), GapLaw(1.0, 50.0, 900.0), GapLaw(1.8, 0.3, 5.0)):
        days = np.array([0.01, 1.0, 40.0, 3000.0])
        expected = [quiet_hazard(law, day) for day in days.tolist()]
        assert quiet_hazards(law, days) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("nodes", "number"), [(3, 200), (150, 200), (1, 5), (9, 0)])
def test_sums_are_of_one_node_and_one_by_one(nodes: int, number: int) -> None:
    rng = np.random.default_rng(nodes)
    log = Failures.build(rng.integers(0, 50, number), rng.integers(0, nodes, number))
    values = rng.random(number)
    found, before = summed(values, log), previous(log)
    for k in range(number):
        earlier = 0.0 if before[k] < 0 else found[before[k]]
        assert found[k] == earlier + values[k]


def test_below_two_failures_gaps_are_exponential() -> None:
    made = Renewal()
    made.fit(Observations.of(Failures.build([5], [0]), begin=0, end=10 * DAY, nodes=4))
    assert (made.law.shape, made.law.prior_failures, made.law.prior_exposure) == (1.0, 1.5, 40.0)
