"""Scores of promises: by hand and against plain sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from forestall.prediction.assess.promises import (
    WEEK,
    as_json,
    blocked_error,
    by_group,
    decile_of,
    score,
    sharpness,
)


def test_deciles_by_hand() -> None:
    said = np.repeat([0.05, 0.95, 1.0], [200, 150, 50])
    kept = np.zeros(400, bool)
    kept[:12] = kept[200:380] = True
    when = np.arange(400) * (WEEK // 100)
    found = score(said, kept, when)
    low, high = found.deciles[0], found.deciles[9]
    assert (low.made, low.kept, low.verdict) == (200, 12, "yes")
    assert low.off == pytest.approx(0.01)
    assert (high.made, high.kept) == (200, 180)
    assert high.said == pytest.approx((150 * 0.95 + 50) / 200)
    assert high.verdict == "no"
    assert found.holds is False
    assert found.worst is high
    assert found.made == 400
    assert found.kept == 192
    assert {one.verdict for one in found.deciles[1:9]} == {"too few"}


def test_three_points_are_within() -> None:
    when = np.arange(1000)
    for kept, verdict in ((930, "yes"), (931, "no"), (870, "yes"), (869, "no")):
        told = score(np.full(1000, 0.9), np.arange(1000) < kept, when)
        assert told.deciles[9].verdict == verdict
    few = score(np.full(199, 0.9), np.zeros(199, bool), np.arange(199))
    assert few.deciles[9].verdict == "too few"
    assert few.holds is None
    assert few.worst is None


def test_quality_of_service_by_hand() -> None:
    said = np.array([0.5, 1.0, 0.8])
    kept = np.array([True, True, False])
    found = score(said, kept, np.zeros(3, np.int64), np.array([10.0, 30.0, 60.0]))
    assert found.qos == pytest.approx((10 * 0.5 + 30) / 100)
    assert found.brier == pytest.approx((0.25 + 0 + 0.64) / 3)


def test_no_promise_at_all() -> None:
    found = score(np.zeros(0), np.zeros(0, bool), np.zeros(0, np.int64))
    assert found.made == 0
    assert math.isnan(found.qos)
    assert found.holds is None
    assert as_json(found)["qos"] is None
    assert len(as_json(found)["deciles"]) == 10


def test_weeks_as_blocks() -> None:
    # Each week all promises are kept, or none: as many cases as weeks.
    kept = np.repeat([1.0, 0.0, 1.0, 1.0], 50)
    when = np.repeat(np.arange(4) * WEEK, 50)
    plain = np.array([1.0, 0.0, 1.0, 1.0])
    wanted = plain.std(ddof=1) / 2 * stats.t.ppf(0.975, 3)
    assert blocked_error(kept - 0.9, when, 0.95) == pytest.approx(wanted)
    assert math.isnan(blocked_error(kept - 0.9, when * 0, 0.95))
    told = score(np.full(200, 0.9), kept == 1, when).deciles[9]
    assert told.low_block < told.low_seen < told.seen
    assert told.high_block == 1.0


def test_sharpness_by_hand() -> None:
    after = np.array([100.0, 200.0, 300.0, 50.0, 10.0])
    run = np.array([50.0, 50.0, 50.0, -1.0, 0.0])
    known = np.array([100.0, 100.0, 100.0, -1.0, 5.0])
    found = sharpness(after, run, known)
    assert found.count == 4
    assert found.times_run == pytest.approx(np.quantile([2, 4, 6, 10], [0.25, 0.5, 0.75]).tolist())
    assert found.times_known == pytest.approx(np.quantile([1, 2, 3, 2], [0.25, 0.5, 0.75]).tolist())
    assert sharpness(after, -after, after).count == 0


def test_groups_by_hand() -> None:
    said = np.repeat([0.25, 0.95], [300, 500])
    kept = np.concatenate([np.arange(300) < 90, np.arange(500) < 480])
    code = np.repeat([1, 0, 2, -1], [300, 250, 100, 150])
    found = by_group(said, kept, code, ("a", "b", "c"))
    assert [(one.name, one.made) for one in found] == [("b", 300), ("a", 250)]
    assert found[0].worst == pytest.approx(0.05)
    assert found[0].seen == pytest.approx(0.3)
    assert found[1].worst == pytest.approx(0.05)


@given(st.integers(0, 1000), st.integers(1, 400))
def test_deciles_add_up(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    said = rng.random(count).round(2)
    kept = rng.random(count) < said
    found = score(said, kept, rng.integers(0, 10 * WEEK, count), rng.random(count))
    assert sum(one.made for one in found.deciles) == count
    assert sum(one.kept for one in found.deciles) == int(kept.sum())
    for k, one in enumerate(found.deciles):
        mine = decile_of(said) == k
        assert one.made == int(mine.sum())
        if one.made:
            assert one.low <= one.said <= one.high + 1e-12
            assert one.low_seen <= one.seen <= one.high_seen
    assert 0 <= found.qos <= 1
