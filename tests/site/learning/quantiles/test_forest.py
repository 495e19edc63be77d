"""Boosted quantiles against plain ones, scikit-learn's, and what must hold of them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.arrays import Bools, Floats
from forestall.core.model.errors import ParameterError
from forestall.site.learning.quantiles.forest import (
    LEVELS,
    QuantileForest,
    Rows,
    TreeSettings,
    fit,
    weighted_quantiles,
)
from reference.plain_forest import PlainForest

FEW = (0.1, 0.25, 0.5, 0.9)
SMALL = TreeSettings(depth=3, trees=6, rate=0.3, least=2, ridge=1)


def made(count: int, seed: int, features: int = 3) -> tuple[Rows, Floats]:
    """Return rows of which some features are not known, and values that depend on two of them."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 20, (count, features)).astype(np.float32)
    values = rows[:, 0] + rows[:, 1] * rng.normal(size=count)
    rows[rng.random(rows.shape) < 0.15] = np.nan
    return rows, values


def loss(told: Floats, values: Floats, levels: tuple[float, ...] = LEVELS) -> float:
    """Return the mean pinball loss."""
    over = values[:, None] - told
    tau = np.array(levels)
    return float(np.where(over > 0, tau * over, (tau - 1) * over).mean())


@pytest.mark.parametrize("seed", range(8))
def test_trees_are_those_of_the_plain_ones(seed: int) -> None:
    rows, values = made(60, seed)
    rng = np.random.default_rng(seed)
    censored = rng.random(60) < (0.3 if seed % 2 else 0.0)
    weight = rng.integers(0, 4, 60) / 2 if seed % 3 else np.ones(60)
    plain = PlainForest(
        rows.tolist(), values.tolist(), censored.tolist(), weight.tolist(), list(FEW), SMALL,
        weighted_quantiles(values, censored, weight, np.array(FEW)).tolist(),
    )  # fmt: skip
    plain.fit(np.random.default_rng(seed + 100))
    found = fit(
        rows, values, np.random.default_rng(seed + 100),
        censored=censored, weight=weight, levels=FEW, settings=SMALL,
    )  # fmt: skip
    fresh, _ = made(40, seed + 50)
    for some in (rows, fresh):
        expected = [plain.told(row) for row in some.tolist()]
        assert found.tell(some).tolist() == expected
    root = plain.trees[0]
    assert root.feature is not None, "the cases are such that there is something to split"
    assert found.feature[0, 0] == root.feature
    assert found.threshold[0, 0] == root.threshold


def shifted(count: int, seed: int) -> tuple[Rows, Floats]:
    """Return values whose place and spread depend on features."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 6)).astype(np.float32)
    spread = np.exp(0.7 * rows[:, 1])
    return rows, 2 * np.abs(rows[:, 0]) + rows[:, 2] + spread * rng.normal(size=count)


def skewed(count: int, seed: int) -> tuple[Rows, Floats]:
    """Return logarithms of waits: none on an empty machine, else long and uneven."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0, 1, (count, 6)).astype(np.float32)
    waits = rows[:, 0] * rng.exponential(1, count) * np.where(rows[:, 1] > 0.5, 3000, 100)
    return rows, np.log1p(np.where(rows[:, 2] < 0.3, 0, waits) + rng.exponential(60, count))


@pytest.mark.parametrize("case", [shifted, skewed])
def test_as_good_as_one_model_a_level(case: Any) -> None:
    sklearn = pytest.importorskip("sklearn.ensemble")
    levels = (0.1, 0.5, 0.9)
    rows, values = case(4000, 1)
    fresh, truth = case(4000, 2)
    every = TreeSettings(features=1.0)  # as the other one has it
    told = fit(rows, values, np.random.default_rng(0), settings=every).tell(fresh)
    told = told[:, [LEVELS.index(level) for level in levels]]
    other = np.empty_like(told)
    for k, level in enumerate(levels):
        model = sklearn.HistGradientBoostingRegressor(
            loss="quantile", quantile=level, max_iter=150, max_depth=3, early_stopping=False
        )
        other[:, k] = model.fit(rows, values).predict(fresh)
    assert loss(told, truth, levels) <= 1.03 * loss(other, truth, levels)
    kept = [(truth <= told[:, k]).mean() for k in range(3)]
    assert kept == pytest.approx(levels, abs=0.05)


def test_what_has_not_ended_counts_for_what_it_may_become() -> None:
    rows, values = shifted(4000, 3)
    values -= values.min()
    # Looked at when other jobs have ended, a little later: 40 % have not ended yet.
    looked = np.random.default_rng(4).permutation(values) * 1.04
    censored = looked < values
    assert 0.38 < censored.mean() < 0.42
    seen = np.minimum(values, looked)
    fresh, _ = shifted(2000, 5)
    middle = LEVELS.index(0.5)
    truth = fit(rows, values, np.random.default_rng(0)).tell(fresh)[:, middle]

    def off(rows: Rows, values: Floats, censored: Bools | None) -> float:
        told = fit(rows, values, np.random.default_rng(0), censored=censored).tell(fresh)
        return float(np.abs(told[:, middle] - truth).mean())

    with_them = off(rows, seen, censored)
    assert with_them < 0.6 * off(rows[~censored], seen[~censored], None), "than left out"
    assert with_them < 0.6 * off(rows, seen, None), "than taken for ended"


def test_the_same_bytes_again_and_others_with_other_draws() -> None:
    rows, values = made(300, 1)
    one, again, other = (fit(rows, values, np.random.default_rng(k)) for k in (3, 3, 4))
    for name, array in one.arrays().items():
        assert array.tobytes() == again.arrays()[name].tobytes()
    assert one.value.tobytes() != other.value.tobytes()


def test_only_the_order_of_a_feature_matters() -> None:
    rows, values = made(400, 2)
    plain = fit(rows, values, np.random.default_rng(0), settings=SMALL).tell(rows)
    for bent in (np.exp(rows / 4), rows**3 - 1000, np.sqrt(rows)):
        found = fit(bent.astype(np.float32), values, np.random.default_rng(0), settings=SMALL)
        assert found.tell(bent.astype(np.float32)).tobytes() == plain.tobytes()


def test_values_in_another_unit() -> None:
    rows, values = made(300, 5)
    plain = fit(rows, values, np.random.default_rng(0), settings=SMALL).tell(rows)
    found = fit(rows, values * 8, np.random.default_rng(0), settings=SMALL).tell(rows)
    assert found.tobytes() == (plain * 8).tobytes()


def test_more_values_than_codes_and_none() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 3)).astype(np.float32)
    rows[:, 1] = np.nan  # never known
    rows[:, 2] = 7  # never another
    values = rows[:, 0].astype(np.float64)
    found = fit(rows, values, rng, settings=TreeSettings(trees=200, rate=0.1, features=1))
    assert set(found.feature[np.isfinite(found.threshold)].tolist()) == {0}
    assert len(np.unique(found.threshold)) <= 64
    told = found.tell(rows)[:, LEVELS.index(0.5)]
    assert np.abs(told - values).mean() < 0.1


def test_what_is_not_known_is_a_value_of_its_own() -> None:
    rng = np.random.default_rng(1)
    rows = np.full((2000, 1), np.nan, np.float32)
    known = rng.random(2000) < 0.5
    rows[known, 0] = rng.normal(size=int(known.sum()))
    values = np.where(known, 0.0, 10.0) + rng.normal(size=2000)
    found = fit(rows, values, rng, settings=TreeSettings(rate=0.1, features=1))
    middle = found.tell(np.array([[np.nan], [-math.inf], [-3], [0], [math.inf]], np.float32))
    assert middle[:, LEVELS.index(0.5)] == pytest.approx([10, 10, 0, 0, 0], abs=1)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**31), st.integers(1, 120), st.floats(0, 1))
def test_quantiles_ascend(seed: int, count: int, hidden: float) -> None:
    rows, values = made(count, seed)
    rng = np.random.default_rng(seed)
    censored = rng.random(count) < hidden
    rough = TreeSettings(depth=4, trees=20, rate=1.0, least=0, ridge=0.1)
    found = fit(rows, np.round(values), rng, censored=censored, settings=rough)
    told = found.tell(made(50, seed + 1)[0])
    assert np.isfinite(told).all()
    assert (np.diff(told, axis=1) >= 0).all()


def test_rows_alone_and_in_blocks() -> None:
    rows, values = made(333, 6)
    found = fit(rows, values, np.random.default_rng(0), settings=SMALL)
    together = found.tell(rows)
    alone = np.concatenate([found.tell(rows[k : k + 1]) for k in range(len(rows))])
    assert together.tobytes() == alone.tobytes()
    assert found.tell(rows[:0]).shape == (0, len(LEVELS))


def test_kept_as_arrays() -> None:
    rows, values = made(200, 7)
    found = fit(rows, values, np.random.default_rng(0), settings=SMALL)
    lists = {name: array.tolist() for name, array in found.arrays().items()}
    again = QuantileForest.of({name: np.array(one) for name, one in lists.items()})
    assert again.tell(rows).tobytes() == found.tell(rows).tobytes()


def test_quantiles_of_values_by_weight() -> None:
    values, none = np.array([5.0, 1.0, 3.0, 2.0]), np.zeros(4, np.bool_)
    levels = np.array([0.25, 0.5, 0.51, 0.99])
    assert weighted_quantiles(values, none, np.ones(4), levels).tolist() == [1, 2, 3, 5]
    heavy = np.array([6.0, 1, 1, 1])
    assert weighted_quantiles(values, none, heavy, levels).tolist() == [3, 5, 5, 5]
    # At least 2: its share goes to 3 and 5 in equal parts, 1/8 each.
    gone = np.array([False, False, False, True])
    found = weighted_quantiles(values, gone, np.ones(4), np.array([0.25, 0.26, 0.62, 0.63]))
    assert found.tolist() == [1, 3, 3, 5]


def test_one_level_and_equal_values() -> None:
    rows, values = made(100, 8)
    one = fit(rows, values, np.random.default_rng(0), levels=(0.5,), settings=SMALL).tell(rows)
    assert loss(one, values, (0.5,)) < float(np.abs(values - np.median(values)).mean() / 2)
    same = fit(rows, np.full(100, 4.0), np.random.default_rng(0)).tell(rows)
    assert all(a <= b for a, b in pairwise(same[0]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"levels": (0.5, 0.5)}, "levels"),
        ({"levels": ()}, "levels"),
        ({"levels": (0.0, 0.5)}, "levels"),
        ({"levels": (0.5, 1.0)}, "levels"),
        ({"weight": np.full(20, -1.0)}, "weight"),
        ({"weight": np.zeros(20)}, "weight"),
        ({"weight": np.ones(19)}, "weight"),
        ({"values": np.full(20, np.nan)}, "values"),
        ({"rows": np.zeros((20, 0), np.float32)}, "rows"),
        ({"rows": np.zeros(20, np.float32)}, "rows"),
        ({"values": np.zeros(0), "rows": np.zeros((0, 3), np.float32)}, "values"),
    ],
)
def test_what_cannot_be_learnt_from(given: dict[str, Any], message: str) -> None:
    rows, values = made(20, 9)
    used = {"rows": rows, "values": values, "rng": np.random.default_rng(0), **given}
    with pytest.raises(ParameterError, match=message):
        fit(**used)


@pytest.mark.parametrize(
    "given",
    [{"depth": 0}, {"depth": 11}, {"trees": 0}, {"rate": 0}, {"rows": 1.1}, {"features": 0},
     {"ridge": -1}, {"least": math.nan}, {"spread": -0.1}],
)  # fmt: skip
def test_settings_that_cannot_be(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(given))):
        TreeSettings(**given)
