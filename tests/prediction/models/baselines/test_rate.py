"""Each node's rate, beside the integral over the law of rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.rate import SHAPES, UNSEEN, Rate, law_of_rates

DAY = 86_400


def machine(rates: list[float], days: int, seed: int = 1) -> Observations:
    """Return nodes of these rates, failures a day."""
    rng = np.random.default_rng(seed)
    count = rng.poisson(np.array(rates) * days)
    node = np.repeat(np.arange(len(rates)), count)
    log = Failures.build(rng.integers(0, days * DAY, len(node)), node)
    return Observations.of(log, begin=0, end=days * DAY, nodes=len(rates))


def test_the_chance_is_the_integral_over_the_rate() -> None:
    rates = np.random.default_rng(3).gamma(1.5, 0.05, 60)
    seen = machine(rates.tolist(), 300)
    made = Rate()
    made.fit(seen.until(150 * DAY))
    a, b = made.prior_failures, made.prior_seconds / DAY
    for day in (0, 40, 222):
        said = made.risks(seen, np.array([day * DAY]), (DAY, 30 * DAY))[0]
        for node in (0, 7, 31):
            count = int(((seen.failures.node == node) & (seen.failures.time < day * DAY)).sum())
            law = stats.gamma(a + count, scale=1 / (b + day))
            for k, ahead in enumerate((1.0, 30.0)):
                lasting = integrate.quad(
                    lambda rate, law=law, ahead=ahead: law.pdf(rate) * np.exp(-rate * ahead),
                    0, law.ppf(1 - 1e-12), limit=200,
                )[0]  # fmt: skip
                assert said[node, k] == pytest.approx(1 - lasting, rel=1e-6)


def test_the_law_of_the_rates_is_found() -> None:
    rates = np.random.default_rng(5).gamma(2.0, 0.05, 600)
    shape, seconds = law_of_rates(machine(rates.tolist(), 400))
    assert shape == pytest.approx(2.0, rel=0.2)
    assert shape / seconds * DAY == pytest.approx(rates.mean(), rel=0.05)


def test_nodes_that_are_alike_are_held_to_be_alike() -> None:
    made = Rate()
    made.fit(machine([0.05] * 200, 300))
    said = made.hazards()[:, -1]
    assert said.std() / said.mean() < 0.12


def test_a_node_that_fails_becomes_more_suspect_and_others_do_not() -> None:
    made = Rate()
    made.fit(machine(np.random.default_rng(8).gamma(1, 0.05, 50).tolist(), 100))
    before = made.hazards().copy()
    made.update(made.now + 5, 3)
    after = made.hazards()
    assert np.all(after[3] > before[3])
    rest = np.arange(50) != 3
    assert after[rest] == pytest.approx(before[rest], rel=1e-4)


def test_where_there_is_little_to_learn_from() -> None:
    nothing = Observations.of(Failures.none(), begin=0, end=0, nodes=3)
    assert law_of_rates(nothing) == (1.0, UNSEEN)
    quiet = Observations.of(Failures.none(), begin=0, end=DAY, nodes=3)
    assert law_of_rates(quiet) == (0.5, 3 * DAY)
    one = Observations.of(Failures.build([5] * 4, [0] * 4), begin=0, end=DAY, nodes=300)
    assert law_of_rates(one)[0] == SHAPES[0]
