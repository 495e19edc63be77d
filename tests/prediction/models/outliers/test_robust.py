"""The robust cloud, beside scikit-learn's and the truth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from forestall.prediction.models.outliers.robust import Cloud, median_and_width, robust_cloud


def spoilt(
    metrics: int, number: int, share: float, seed: int = 1
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return points of which a share lies elsewhere, close together, and the true scatter."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(metrics, metrics))
    points = rng.normal(size=(number, metrics)) @ root.T + 5
    bad = int(number * share)
    points[:bad] = 20 + rng.normal(size=(bad, metrics))
    return points[rng.permutation(number)], root @ root.T


@pytest.mark.parametrize(("metrics", "number", "share"), [(2, 500, 0.2), (5, 3000, 0.3)])
def test_it_is_scikit_learns(metrics: int, number: int, share: float) -> None:
    covariance = pytest.importorskip("sklearn.covariance")
    points, _ = spoilt(metrics, number, share)
    theirs = covariance.MinCovDet(random_state=0, support_fraction=0.5).fit(points)
    ours = robust_cloud(points, np.random.default_rng(2))
    width = np.sqrt(np.diag(theirs.covariance_))
    assert np.abs(ours.location - theirs.location_).max() < 0.05 * width.max()
    apart = np.linalg.norm(ours.scatter - theirs.covariance_)
    assert apart < 0.06 * np.linalg.norm(theirs.covariance_)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_it_finds_the_truth_whatever_the_rest_does(share: float) -> None:
    points, truth = spoilt(3, 8000, share)
    cloud = robust_cloud(points, np.random.default_rng(3))
    assert np.abs(cloud.location - 5).max() < 0.15 * np.sqrt(np.diag(truth)).max()
    assert np.linalg.norm(cloud.scatter - truth) < 0.12 * np.linalg.norm(truth)


def test_units_do_not_matter() -> None:
    points, _ = spoilt(3, 600, 0.2)
    units = np.array([1e-9, 1.0, 1e9])
    one = robust_cloud(points, np.random.default_rng(4))
    two = robust_cloud(points * units, np.random.default_rng(4))
    assert two.location == pytest.approx(one.location * units, rel=1e-6)
    assert two.scatter == pytest.approx(one.scatter * np.outer(units, units), rel=1e-6)


def test_distances_are_mahalanobis() -> None:
    points, truth = spoilt(4, 50, 0.0)
    cloud = Cloud(np.full(4, 5.0), truth)
    away = points - 5
    expected = np.einsum("ni,ij,nj->n", away, np.linalg.inv(truth), away)
    assert cloud.squared_distances(points) == pytest.approx(expected)
    assert np.array_equal(
        cloud.squared_distances(points)[7:9], cloud.squared_distances(points[7:9])
    )


def test_hard_cases() -> None:
    rng = np.random.default_rng(5)
    same = robust_cloud(np.full((100, 2), 3.0), rng)
    assert same.location.tolist() == [3, 3]
    assert np.isfinite(same.squared_distances(np.array([[3.0, 4.0]]))).all()
    few = robust_cloud(np.array([[1.0, 2.0], [3.0, 4.0]]), rng)
    assert few.location.tolist() == [2, 3]
    assert few.scatter[0, 1] == 0
    none = robust_cloud(np.empty((0, 2)), rng)
    assert none.squared_distances(np.array([[1.0, 0.0]])).tolist() == [1]
    line = rng.normal(size=300)
    plane = robust_cloud(np.stack((line, 2 * line), axis=1), rng)
    on, off = plane.squared_distances(np.array([[1.0, 2.0], [1.0, -2.0]]))
    assert on < 5 < off
    mostly = np.append(np.zeros(90), np.arange(10.0))[:, None]
    assert robust_cloud(mostly, rng).scatter[0, 0] > 0


def test_medians_and_widths() -> None:
    points = np.random.default_rng(6).normal(3, 2, (20_001, 1))
    points[:4000] = 1e6
    middle, width = median_and_width(points)
    assert middle == pytest.approx(3, abs=0.7)
    assert 2 < width < 3
    assert median_and_width(np.empty((0, 2)))[1].tolist() == [1, 1]
    assert median_and_width(np.full((5, 1), 7.0))[1].tolist() == [1]
