"""Forecasts of shared hosts: the quick way gives what the semi-Markov process does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.cycle import MILLION
from forestall.prediction.models.semi_markov.forecast import HostPast, curves, foretold
from forestall.prediction.models.semi_markov.learning import DAY, MONDAY


def past(states: np.ndarray, period: int = 600, every: int = 1, speed: float = 1.0) -> HostPast:
    usable = states <= 1
    rate = np.where(usable, round(MILLION * speed * 0.5), 0)
    return HostPast.of(
        states.astype(np.int8), rate, usable, speed=speed, period=period, every=every, origin=MONDAY
    )


@given(
    seed=st.integers(0, 2**32),
    days=st.integers(1, 12),
    hour=st.integers(0, 23),
    steps=st.integers(1, 144),
    history=st.integers(1, 8),
)
@settings(max_examples=60)
def test_the_same_as_the_process_learned_from_every_stay(
    seed: int, days: int, hour: int, steps: int, history: int
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.geometric(rng.uniform(0.02, 0.5), days * 144)
    states = np.repeat(rng.choice(5, len(lengths), p=[0.45, 0.4, 0.05, 0.05, 0.05]), lengths)
    host = past(states[: days * 144])
    start = MONDAY + (days - 1) * DAY + hour * 3600
    told = foretold([host, host], start, steps, days=history)
    assert np.array_equal(told.share[0], told.share[1])
    cut = host.until(start)
    if not cut.runs.samples:
        assert np.all(told.reliability == 1)
        return
    process = cut.process(start, steps * 600, days=history)
    for mine in told.reliability:
        assert mine == pytest.approx(process.reliability_of_each(steps), abs=1e-12)
        assert np.all(np.diff(mine, axis=-1) <= 0)


@given(seed=st.integers(0, 2**32), later=st.integers(0, 400))
@settings(max_examples=25)
def test_what_comes_later_changes_nothing(seed: int, later: int) -> None:
    rng = np.random.default_rng(seed)
    states = np.repeat(rng.integers(0, 5, 300), rng.integers(1, 9, 300))[:1000]
    known = min(500 + later, len(states) - 1)
    other = states.copy()
    other[known:] = rng.integers(0, 5, len(states) - known)
    start = MONDAY + known * 600
    before = foretold([past(states)], start, 100, days=20)
    after = foretold([past(other)], start, 100, days=20)
    assert np.array_equal(before.share, after.share)
    assert np.array_equal(before.reliability, after.reliability)


def test_curves_by_hand() -> None:
    """Speed 2, half of the machine in each of two steps of 10 s, gone for certain after the first
    of them from S2."""
    reliability = np.array([[[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]])
    made = curves(np.full((1, 2, 2), 0.5), reliability, np.array([2.0]), 10)
    assert made.work.tolist() == [[[0, 10, 20], [0, 10, 20]]]
    assert made.sure.tolist() == [[[0, 10, 20], [0, 5, 5]]]
    assert made.lasting.tolist() == [[20, 5]]
    assert made.alive.tolist() == [[1, 0]]
    assert not made.present_work.any()


def test_the_present_load_fades() -> None:
    """Of step j the present has the mean of exp(-t / T) over it, the usual load the rest."""
    made = curves(np.full((1, 2, 3), 0.2), np.ones((1, 2, 4)), np.ones(1), 60, memory=120)
    weight = [2 * (np.exp(-j / 2) - np.exp(-(j + 1) / 2)) for j in range(3)]
    assert np.diff(made.present_work[0]) == pytest.approx(60 * np.array(weight))
    assert np.diff(made.work[0, 0]) == pytest.approx(60 * 0.2 * (1 - np.array(weight)))
    whole = made.work[0, 0] + 0.2 * made.present_work[0]
    assert whole == pytest.approx([0, 12, 24, 36])
