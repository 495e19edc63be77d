"""How much longer held jobs wait: drawn from those that were held about as long."""

from __future__ import annotations

import numpy as np

from forestall.site.learning.futures.held import ALIKE, FEWEST, PART, HoldLaw


def test_draws_are_those_of_jobs_of_the_same_age() -> None:
    rng = np.random.default_rng(0)
    age = np.concatenate([np.full(500, 60), np.full(500, 86_400)])
    left = np.concatenate([rng.integers(1, 600, 500), rng.integers(40_000, 90_000, 500)])
    law = HoldLaw.of(age, left)
    drawn = law.draw(np.array([3, 4]), np.array([70, 80_000]), 64, 1)
    assert drawn.shape == (64, 2)
    assert set(drawn[:, 0].tolist()) <= set(left[:500].tolist())
    assert set(drawn[:, 1].tolist()) <= set(left[500:].tolist())


def test_draws_have_the_quantiles_of_the_past() -> None:
    count = ALIKE * PART
    left = np.tile(np.random.default_rng(1).integers(0, 10_000, ALIKE), PART)
    drawn = HoldLaw.of(np.full(count, 100), left).draw(np.array([1]), np.array([100]), 1000, 1)
    for level in (10, 50, 90):
        told = np.percentile(drawn[:, 0], level)
        assert abs(told - np.percentile(left, level)) < 200


def test_a_jobs_draws_do_not_depend_on_the_others() -> None:
    law = HoldLaw.of(np.arange(300), np.arange(300) * 7)
    both = law.draw(np.array([5, 9]), np.array([20, 200]), 32, 1)
    alone = law.draw(np.array([9]), np.array([200]), 32, 1)
    assert both[:, 1].tolist() == alone[:, 0].tolist()


def test_too_few_tell_nothing() -> None:
    law = HoldLaw.of(np.arange(FEWEST - 1), np.full(FEWEST - 1, 900))
    assert law.draw(np.array([1]), np.array([5]), 8, 1).tolist() == [[0]] * 8
