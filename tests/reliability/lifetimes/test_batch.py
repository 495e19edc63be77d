"""Batches: rows of unequal numbers of failures, slices, blocks, and what they add up to."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.reliability.lifetimes.batch import BLOCK, Batch, BatchPart, joined
from forestall.reliability.lifetimes.registry import FAMILIES
from forestall.reliability.lifetimes.weibull import WEIBULL
from reliability.lifetimes.laws import batch_of_rows


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    """Return times float64[5, 40] and which are censored, in the last row all but one."""
    rng = np.random.default_rng(1)
    censored = rng.random((5, 40)) < 0.4
    censored[3] = False
    censored[4] = True
    censored[4, 7] = False
    return rng.weibull(0.8, (5, 40)), censored


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_rows_of_unequal_censoring_count_as_they_would_alone(
    name: str, rows: tuple[np.ndarray, np.ndarray]
) -> None:
    time, censored = rows
    batch = batch_of_rows(time, censored)
    family = FAMILIES[name]
    theta = {"share": 0.4, "real": 0.2, "location": 0.0, "logscale": 0.1, "scale": 1e-9}
    values = np.array([theta.get(kind, 1.2) for kind in family.kinds])
    values[[kind == "scale" and name != "pareto" for kind in family.kinds]] = 1.3
    loglik = family.loglik(batch, np.tile(values, (5, 1)))
    for row in range(5):
        seen = ~censored[row]
        alone = family.logpdf(time[row][seen], *values).sum()
        alone += family.logsf(time[row][~seen], *values).sum()
        assert loglik[row] == pytest.approx(alone, rel=1e-11)


def test_counts_and_sums(rows: tuple[np.ndarray, np.ndarray]) -> None:
    time, censored = rows
    batch = batch_of_rows(time, censored)
    assert len(batch) == 5
    np.testing.assert_array_equal(batch.failures, (~censored).sum(axis=1))
    np.testing.assert_allclose(batch.exact.sum, np.where(censored, 0, time).sum(axis=1))
    np.testing.assert_allclose(batch.right.sum_log, np.where(censored, np.log(time), 0).sum(axis=1))
    assert batch_of_rows(time).right.samples == 5
    assert not batch_of_rows(time, np.zeros_like(censored)).censored


def test_blocks_and_columns_cover_everything_once() -> None:
    many = Batch.of(np.arange(1.0, 1 + 70 * 1_000).reshape(70, 1_000))
    seen = [(here, block) for here, block in many.blocks()]
    assert all(block.size * len(block) <= BLOCK for _, block in seen)
    np.testing.assert_array_equal(np.vstack([b.exact.time for _, b in seen]), many.exact.time)
    part = BatchPart(np.arange(1.0, 101.0)[None, :], np.full((1, 100), 0.5))
    _ = part.log
    slices = list(part.columns(33))
    assert [len(s) for s in slices] == [33, 33, 33, 1]
    assert sum(float(s.sum[0]) for s in slices) == part.sum[0] == 2525
    np.testing.assert_array_equal(np.hstack([s.log for s in slices]), part.log)


def test_a_unit_is_divided_out_of_times_and_logarithms() -> None:
    part = BatchPart(np.array([[2e300, 8e300]]), None, 4e300)
    np.testing.assert_allclose(part.time, [[0.5, 2.0]], rtol=1e-15)
    np.testing.assert_allclose(part.log, np.log([[0.5, 2.0]]), rtol=1e-12)


def test_thinning_keeps_the_balance_of_parts() -> None:
    exact, right = BatchPart(np.ones((1, 10_000))), BatchPart(np.ones((1, 5_000)))
    left = BatchPart(np.ones((1, 1)), np.full((1, 1), 200.0))
    batch = Batch(exact, right, left).thinned(1_500)
    assert batch.exact.count[0] / batch.right.count[0] == pytest.approx(2, rel=0.01)
    assert batch.exact.count[0] / batch.left.count[0] == pytest.approx(50, rel=0.01)


def test_joined_parts_keep_their_weights() -> None:
    both = joined(
        BatchPart(np.array([[1.0, 2.0]])), BatchPart(np.array([[4.0]]), np.array([[3.0]]))
    )
    assert both.sum[0] == 15
    assert both.sum_log[0] == pytest.approx(np.log(2) + 3 * np.log(4))
    assert joined(BatchPart.none(1), both) is both


def test_a_sample_too_large_for_the_cache_gives_what_its_pieces_give() -> None:
    t = np.random.default_rng(5).weibull(0.7, 3 * BLOCK + 17)
    theta = np.array([[0.7, 1.1]])
    whole = WEIBULL.loglik(Batch.of(t), theta)
    assert whole == pytest.approx(WEIBULL.logpdf(t, 0.7, 1.1).sum(), rel=1e-12)
