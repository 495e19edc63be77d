from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import spearmanr

from forestall.core.model.errors import ParameterError
from forestall.site.learning.waits.runs import (
    autocorrelation,
    grid,
    run_chance,
    run_length,
    run_lengths,
)


def plain_chance(length: int, quantile: float, waits: int) -> float:
    """Return the chance for independent waits: by the state of the present run."""
    state = [1.0] + [0.0] * length
    for _ in range(waits):
        going = sum(state[:-1])
        after = [going * quantile, *(one * (1 - quantile) for one in state[:-1])]
        after[-1] += state[-1]
        state = after
    return state[-1]


def simulated(length: int, rho: float, quantile: float, waits: int, draws: int) -> float:
    rng = np.random.default_rng([length, round(100 * rho)])
    x = rng.standard_normal(draws)
    run = np.zeros(draws, dtype=int)
    longest = run
    for _ in range(waits):
        run = np.where(x > ndtri(quantile), run + 1, 0)
        longest = np.maximum(longest, run)
        x = rho * x + math.sqrt(1 - rho**2) * rng.standard_normal(draws)
    return float(np.mean(longest >= length))


def test_three_misses_in_a_row_for_independent_waits() -> None:
    assert run_length(0.0) == 3
    assert run_chance(1, 0.0) == pytest.approx(1 - 0.95**59, rel=1e-9)
    assert run_chance(2, 0.0) > 0.05 > run_chance(3, 0.0)


@pytest.mark.parametrize(
    ("length", "quantile", "waits"), [(2, 0.95, 59), (3, 0.9, 30), (4, 0.5, 9)]
)
def test_independent_waits_by_counting(length: int, quantile: float, waits: int) -> None:
    expected = plain_chance(length, quantile, waits)
    assert run_chance(length, 0.0, quantile, waits) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("length", "rho"), [(3, 0.3), (4, 0.6), (5, 0.8), (8, 0.95)])
def test_chances_are_those_of_simulated_waits(length: int, rho: float) -> None:
    draws = 100_000
    chance = run_chance(length, rho)
    slack = 4 * math.sqrt(chance * (1 - chance) / draws)
    assert simulated(length, rho, 0.95, 59, draws) == pytest.approx(chance, abs=slack)


def test_lengths_grow_with_the_autocorrelation() -> None:
    lengths = run_lengths()
    assert len(lengths) == len(grid()) == 20
    assert lengths[0] == 3
    assert list(lengths) == sorted(lengths)
    for rho, length in zip(grid(), lengths, strict=True):
        assert run_chance(length, rho) <= 0.05 < run_chance(length - 1, rho)
        assert length == run_length(rho)


def test_a_length_beyond_all_waits() -> None:
    assert run_chance(6, 0.5, 0.5, 5) == 0
    assert run_length(0.9, 0.5, 3, 0.01) == 4


def test_autocorrelation_of_normal_scores() -> None:
    rng = np.random.default_rng(1)
    x = np.empty(20_000)
    x[0] = 0
    for t in range(1, len(x)):
        x[t] = 0.7 * x[t - 1] + math.sqrt(1 - 0.49) * rng.standard_normal()
    # Any rising curve, whole seconds.
    assert autocorrelation(np.exp(2 * x + 5).astype(int)) == pytest.approx(0.7, abs=0.02)
    few = rng.integers(0, 4, 200)
    spearman = spearmanr(few[:-1], few[1:]).statistic
    assert autocorrelation(few) == pytest.approx(2 * math.sin(math.pi / 6 * spearman), abs=0.02)


def test_no_autocorrelation_of_waits_that_are_alike_or_few() -> None:
    assert math.isnan(autocorrelation([5, 5, 5, 5]))
    assert math.isnan(autocorrelation([1, 2]))
    assert math.isnan(autocorrelation([]))


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match="rho"):
        run_chance(3, 1.0)
    with pytest.raises(ParameterError, match="length"):
        run_chance(0, 0.0)
    with pytest.raises(ParameterError, match="alpha"):
        run_length(0.0, alpha=0.0)
    with pytest.raises(ParameterError, match="waits"):
        run_lengths(0.95, 0)
    with pytest.raises(ParameterError, match="quantile"):
        run_length(0.0, 1.0)
