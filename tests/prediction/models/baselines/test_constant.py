"""The machine's rate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.constant import Constant

DAY = 86_400


def test_the_rate_is_failures_over_time_in_service() -> None:
    log = replace(
        Failures.build([DAY, 3 * DAY], [0, 1]),
        nodes=3,
        service_start=np.array([0, 0, 5 * DAY]),
        service_end=np.array([10 * DAY, 4 * DAY, 99 * DAY]),
        service_new=np.zeros(3, dtype=bool),
    )
    made = Constant()
    made.fit(Observations.of(log, begin=0, end=10 * DAY, nodes=4))
    # 10, 4 and 5 days, and 10 of a node that the log tells nothing of
    assert made.rate * DAY == pytest.approx(2.5 / 29)


def test_all_nodes_at_all_times_and_any_horizon() -> None:
    log = Failures.build(np.arange(0, 100 * DAY, DAY), np.zeros(100, dtype=int))
    made = Constant()
    made.fit(Observations.of(log, begin=0, end=100 * DAY, nodes=2))
    said = made.risks(made.seen, np.array([0, 50 * DAY]), (1, DAY, 1000 * DAY))
    expected = 1 - np.exp(-(100.5 / 200) * np.array([1 / DAY, 1, 1000]))
    assert said == pytest.approx(np.broadcast_to(expected, (2, 2, 3)), rel=1e-12)


def test_nothing_seen_nothing_expected() -> None:
    made = Constant()
    made.fit(Observations.of(Failures.none(), begin=5, end=5, nodes=2))
    assert made.rate == 0
    made.fit(Observations.of(Failures.none(), begin=0, end=DAY, nodes=2))
    assert made.rate * DAY == pytest.approx(0.25)
