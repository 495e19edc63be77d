"""When a running program is saved: against the formulas, and against the best fixed interval of a
simulated program."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.checkpoints import daly
from forestall.vaults.rules.moments import (
    LEAST_COST,
    PRIOR,
    Cost,
    FailureOutlook,
    by_interval,
    by_risk,
    forecast,
    learned,
    mean_time,
)


def test_a_constant_rate_is_exponential() -> None:
    outlook = mean_time(3600.0)
    for time in (1.0, 600.0, 36_000.0):
        assert outlook.failure(time) == pytest.approx(1 - math.exp(-time / 3600), rel=1e-12)


def test_a_forecast_is_kept_at_its_times_and_goes_on() -> None:
    outlook = forecast({7200.0: 0.6, 3600.0: 0.9}, "agent")
    assert outlook.rate == pytest.approx(-math.log(0.9) / 3600)
    assert outlook.failure(3600.0) == pytest.approx(0.1)
    assert outlook.failure(7200.0) == pytest.approx(0.4)
    assert outlook.failure(5400.0) == pytest.approx(1 - math.sqrt(0.9 * 0.6))
    assert outlook.failure(10_800.0) == pytest.approx(1 - 0.6 * 0.6 / 0.9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4), st.lists(st.floats(0, 1e5), min_size=2))
def test_failure_is_a_distribution(alive: list[float], times: list[float]) -> None:
    outlook = forecast({3600.0 * (k + 1): one for k, one in enumerate(alive)}, "x")
    found = [outlook.failure(time) for time in sorted(times)]
    assert all(0 <= one <= 1 for one in found)
    assert all(b >= a - 1e-12 for a, b in itertools.pairwise(found))


def test_what_a_run_learns_from_its_past() -> None:
    assert learned(0, 0.0).rate == pytest.approx(1 / PRIOR)
    assert learned(5, 2 * PRIOR).rate == pytest.approx(2 / PRIOR)
    assert "no eviction in 50 s" in learned(0, 50.0).source
    assert "1 eviction in" in learned(1, 50.0).source


def test_costs_are_averaged_and_never_nothing() -> None:
    assert Cost().total == 1.0
    first = Cost().after(2.0, 1.0)
    assert (first.total, first.saves) == (3.0, 1)
    assert first.after(0.0, 0.0).total == 1.5
    assert Cost().after(0.0, 0.0).total == LEAST_COST


@given(st.floats(0.01, 1e3), st.floats(10, 1e7), st.floats(0, 1e6))
def test_the_rule_is_dalys_interval_and_the_risk(cost: float, mtbf: float, work: float) -> None:
    choice = by_risk(Cost(cost, 0.0, 1), mean_time(mtbf), work)
    interval = daly(cost, mtbf)
    assert choice.interval == pytest.approx(interval, rel=1e-12)
    interval = choice.interval
    risk = -math.expm1(-interval / mtbf)
    if risk * work != pytest.approx(cost):
        assert choice.save == (work >= interval and risk * work >= cost)


def test_a_forecast_that_worsens_saves_earlier_and_one_that_clears_later() -> None:
    cost, work = Cost(10.0, 0.0, 1), 300.0
    calm = forecast({3600.0: 0.999}, "agent")
    storm = forecast({3600.0: 0.2}, "agent")
    assert not by_risk(cost, calm, work).save
    assert by_risk(cost, storm, work).save
    assert by_risk(cost, storm, work).why == (
        "8.75 % x 5 min of work, 26 s, at stake: more than a save costs (10 s); one failure in "
        "37 min (agent)"
    )
    soon = FailureOutlook(calm.rate, "agent", ((600.0, 0.2), (3600.0, 0.19)))
    assert soon.failure(600.0) == pytest.approx(0.8)


def test_what_is_never_saved() -> None:
    assert not by_risk(Cost(), forecast({3600.0: 1.0}, "agent"), 1e9).save
    dear = by_risk(Cost(1000.0, 0.0, 1), mean_time(100.0), 500.0)
    assert not dear.save
    assert "less than a save costs" in dear.why
    with pytest.raises(ParameterError, match="mtbf: 0"):
        mean_time(0.0)


def test_by_interval() -> None:
    assert by_interval(60.0, 60.0) == (True, "every 60 s", 60.0)
    assert not by_interval(math.inf, 1e9).save


def test_by_risk_loses_no_more_than_the_best_fixed_interval() -> None:
    """Time lost to saves and to failures, over a long exponential past."""
    cost, mtbf = 2.0, 900.0
    outlook, chance = mean_time(mtbf), np.random.default_rng(5)
    lives = chance.exponential(mtbf, 4000)

    def lost(interval: float) -> float:
        saves = np.floor(lives / (interval + cost))
        return float(np.sum(saves * cost + (lives - saves * (interval + cost)))) / lives.sum()

    ours = by_risk(Cost(cost, 0.0, 1), outlook, 0.0).interval
    best = min(lost(interval) for interval in np.linspace(10, 200, 96))
    assert lost(ours) <= 1.02 * best
