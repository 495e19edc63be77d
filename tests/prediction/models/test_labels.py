"""What may be learnt from nodes that leave service by failing: as much as came."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines.histories import fails_within, outcome_known
from forestall.prediction.models.boosted.rows import decisions
from forestall.prediction.models.registry import new_learner

HOUR, DAY = 3600, 86_400
WEEK = 7 * DAY
NODES, DAYS = 3000, 60


def drives(seed: int = 3) -> Observations:
    """Nodes that fail once at a constant rate, and leave service an hour after."""
    rng = np.random.default_rng(seed)
    end = DAYS * DAY
    life = rng.exponential(800 * DAY, NODES).astype(np.int64)
    node = np.flatnonzero(life < end)
    log = Failures.build(life[node], node)
    stop = np.where(life < end, life + HOUR, end)
    log = replace(
        log,
        nodes=NODES,
        span=end,
        service_start=np.zeros(NODES, dtype=np.int64),
        service_end=stop,
        service_new=np.zeros(NODES, dtype=np.bool_),
    )
    day = np.arange(0, DAYS)
    number = np.repeat(np.arange(NODES), DAYS)
    table = Metrics(
        np.tile(day * DAY, NODES),
        number,
        rng.normal(size=(NODES * DAYS, 1)),
        ("heat",),
        NODES,
        period=DAY,
    )
    return Observations.of(log, begin=0, end=end, nodes=NODES, metrics=table)


@pytest.mark.parametrize("name", ["outlier", "semi-markov", "rules", "joined", "ar", "boosted"])
def test_as_many_are_foretold_in_a_week_as_came(name: str) -> None:
    if name == "boosted":
        pytest.importorskip("sklearn")
    past = drives()
    learner = new_learner(name)
    learner.learn(past)
    times = np.arange(10 * DAY, past.end - WEEK, 2 * DAY) + 5 * HOUR
    failed = fails_within(past.failures, times, NODES, WEEK)
    known = outcome_known(past, times, WEEK, failed)
    told = float(learner.chances(past, times)[..., -1][known].sum())
    assert 0.75 < told / np.count_nonzero(failed & known) < 1.33


def test_which_moments_count() -> None:
    log = replace(
        Failures.build([50, 95], [1, 2]),
        nodes=4,
        span=100,
        service_start=np.array([0, 0, 0, 20]),
        service_end=np.array([100, 55, 90, 60]),
        service_new=np.zeros(4, dtype=np.bool_),
    )
    seen = Observations.of(log, begin=0, end=100)
    times = np.array([10, 45, 52, 85, 95])
    failed = fails_within(log, times, 4, 10)
    assert failed[:, 1].tolist() == [False, True, False, False, False]
    known = outcome_known(seen, times, 10, failed)
    assert known[:, 0].tolist() == [True, True, True, True, False]  # not beyond the window
    assert known[:, 1].tolist() == [True, True, False, False, False]  # fails, or is there for all
    assert known[:, 2].tolist() == [True, True, True, False, False]  # fails after it has left
    assert known[:, 3].tolist() == [False, True, False, False, False]
    rng = np.random.default_rng(0)
    drawn = decisions(seen, (5, 10), rng, begin=0, rows=4000, each=100)
    for horizon in (5, 10):
        chosen = drawn.take(drawn.within(0, 100, 0, horizon))
        truth = np.zeros((100, 4), dtype=np.bool_)
        every = np.arange(100)
        truth = outcome_known(seen, every, horizon, fails_within(log, every, 4, horizon))
        assert truth[chosen.time, chosen.node].all()
        assert np.count_nonzero((chosen.node == 1) & (chosen.ahead < horizon)) > 0
        assert not np.any((chosen.node == 2) & (chosen.ahead < horizon))
