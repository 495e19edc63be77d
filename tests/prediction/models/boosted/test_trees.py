"""Trees in plain arrays against scikit-learn, which grew them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from forestall.prediction.models.boosted.trees import Trees, coded, edges_of, from_scikit

ensemble = pytest.importorskip("sklearn.ensemble")
threadpoolctl = pytest.importorskip("threadpoolctl")


@pytest.fixture(autouse=True)
def one_thread():
    with threadpoolctl.threadpool_limits(1):
        yield


def grown(seed: int, number: int = 3000, features: int = 6, **settings: object):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(number, features)).astype(np.float32)
    rows[:, 1] = rng.integers(0, 4, number)
    rows[rng.random(rows.shape) < 0.15] = np.nan
    odds = 2 * np.nan_to_num(rows[:, 0]) - np.nan_to_num(rows[:, 1]) + 2 * np.isnan(rows[:, 2])
    failed = rng.random(number) < 1 / (1 + np.exp(-odds))
    model = ensemble.HistGradientBoostingClassifier(
        **{"max_iter": 20, "early_stopping": False, "random_state": 0, **settings}
    )
    return model.fit(rows, failed), rows, failed


@pytest.mark.parametrize("settings", [{}, {"max_leaf_nodes": 2}, {"max_depth": 9, "max_iter": 3}])
def test_margins_are_scikit_learns(settings: dict[str, object]) -> None:
    model, rows, _ = grown(1, **settings)
    fresh = np.concatenate((rows, np.full((1, 6), np.nan, np.float32), rows[:1] + 1e6))
    margins = from_scikit(model).margins(fresh.astype(np.float32))
    np.testing.assert_allclose(margins[:, 0], model.decision_function(fresh), rtol=0, atol=1e-12)
    chances = 1 / (1 + np.exp(-margins[:, 0]))
    np.testing.assert_allclose(chances, model.predict_proba(fresh)[:, 1], rtol=1e-12)


def test_on_the_thresholds_themselves() -> None:
    model, _, _ = grown(2)
    trees = from_scikit(model)
    at = trees.threshold[np.isfinite(trees.threshold)]
    rows = np.repeat(np.unique(at.astype(np.float32))[:, None], 6, axis=1)
    np.testing.assert_array_equal(trees.margins(rows)[:, 0], model.decision_function(rows))


def test_what_is_missing_only_later_goes_where_scikit_learn_sends_it() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 2)).astype(np.float32)
    model = ensemble.HistGradientBoostingClassifier(max_iter=5, early_stopping=False)
    model.fit(rows, rows[:, 0] > 0.3)
    rows[::3, 0] = np.nan
    np.testing.assert_array_equal(
        from_scikit(model).margins(rows)[:, 0], model.decision_function(rows)
    )


def test_groups_are_summed_apart_and_can_be_cut_short() -> None:
    one, rows, _ = grown(3)
    two, _, _ = grown(4, max_iter=7)
    trees = Trees.joined([from_scikit(one), Trees.none([0.25]), from_scikit(two)])
    margins = trees.margins(rows)
    np.testing.assert_array_equal(margins[:, 0], one.decision_function(rows))
    assert (margins[:, 1] == 0.25).all()
    np.testing.assert_array_equal(margins[:, 2], two.decision_function(rows))
    staged = list(one.staged_decision_function(rows))
    for number in (1, 5, 20):
        short = from_scikit(one).first(number)
        assert len(short) == number
        np.testing.assert_allclose(short.margins(rows)[:, 0], staged[number - 1].ravel())
    assert (from_scikit(one).first(0).margins(rows) == from_scikit(one).base[0]).all()


def test_trees_of_coded_features_are_trees_of_the_features() -> None:
    _, rows, failed = grown(5)
    rows[:, 4], rows[:, 5] = np.nan, 7.0
    edges = edges_of(rows, 15)
    assert [len(e) for e in edges][4:] == [0, 0]
    assert max(len(e) for e in edges) == 15
    assert edges[1].tolist() == [0.0, 1.0, 2.0]
    codes = coded(rows, edges)
    model = ensemble.HistGradientBoostingClassifier(max_iter=10, early_stopping=False)
    model.fit(codes, failed)
    trees = from_scikit(model)
    fresh = np.random.default_rng(9).normal(size=(500, 6)).astype(np.float32)
    fresh[::5] = rows[:100]
    fresh[::11, 0] = edges[0][3]
    wanted = model.decision_function(coded(fresh, edges))
    np.testing.assert_array_equal(trees.decoded(edges).margins(fresh)[:, 0], wanted)


def test_arrays_go_through_json() -> None:
    model, rows, _ = grown(6)
    trees = from_scikit(model)
    kept = json.loads(json.dumps({name: a.tolist() for name, a in trees.arrays().items()}))
    again = Trees.of({name: np.asarray(value) for name, value in kept.items()})
    np.testing.assert_array_equal(again.margins(rows), trees.margins(rows))


def test_importance_goes_to_what_matters() -> None:
    model, _, _ = grown(7)
    shares = from_scikit(model).importance(6)
    assert shares.sum() == pytest.approx(1)
    assert set(np.argsort(shares)[-3:]) == {0, 1, 2}
    assert Trees.none([0.0]).importance(6).tolist() == [0.0] * 6


def test_no_rows_and_no_trees() -> None:
    model, rows, _ = grown(8, max_iter=1)
    assert from_scikit(model).margins(rows[:0]).shape == (0, 1)
    assert Trees.none([1.0, 2.0]).margins(rows[:2]).tolist() == [[1, 2], [1, 2]]
    assert Trees.joined([]).margins(rows[:2]).shape == (2, 0)
