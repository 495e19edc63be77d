"""Standard laws against SciPy's, their derivatives against differences, far tails included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from forestall.reliability.lifetimes.standard import (
    LargestExtreme,
    Logistic,
    Normal,
    SmallestExtreme,
    Standard,
)

LAWS: list[tuple[Standard, Any]] = [
    (SmallestExtreme(), stats.gumbel_l),
    (LargestExtreme(), stats.gumbel_r),
    (Logistic(), stats.logistic),
    (Normal(), stats.norm),
]
Z = np.concatenate([np.linspace(-30, 6, 73), [-300.0, -40.0, -36.5, -36.0, -35.5]])


@pytest.mark.parametrize(("ours", "theirs"), LAWS)
def test_logarithms_agree_with_scipy(ours: Standard, theirs: Any) -> None:
    z = np.linspace(-3.0, 3.0, 41)
    np.testing.assert_allclose(ours.logpdf(z), theirs.logpdf(z), rtol=1e-12)
    np.testing.assert_allclose(ours.logsf(z), theirs.logsf(z), rtol=1e-11)
    np.testing.assert_allclose(ours.logcdf(z), theirs.logcdf(z), rtol=1e-11)
    p = np.array([1e-9, 0.1, 0.5, 0.9, 1 - 1e-9])
    np.testing.assert_allclose(ours.quantile(p), theirs.ppf(p), rtol=1e-9, atol=1e-12)
    assert ours.middle == pytest.approx(theirs.mean(), abs=1e-12)
    assert ours.spread == pytest.approx(theirs.std())


@pytest.mark.parametrize(("ours", "theirs"), LAWS)
@pytest.mark.parametrize("sort", ["exact", "right", "left"])
def test_values_and_derivatives_of_a_term_belong_together(
    ours: Standard, theirs: Any, sort: str
) -> None:
    term: Callable[..., Any] = getattr(ours, sort)
    plain = {"exact": ours.logpdf, "right": ours.logsf, "left": ours.logcdf}[sort]
    turned = -Z if isinstance(ours, LargestExtreme) else Z
    step = 1e-4 * np.maximum(1, np.abs(turned))
    with np.errstate(all="ignore"):
        value, first, second = term(turned)
        up, down = term(turned + step), term(turned - step)
        np.testing.assert_allclose(value, plain(turned), rtol=1e-13)
    rough = {"rtol": 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(first, (up[0] - down[0]) / (2 * step), **rough)
    # a kink of 1e-11 where one formula takes over from another is no slope
    near = np.abs(np.abs(turned) - 36) > 0.6
    np.testing.assert_allclose(second[near], ((up[1] - down[1]) / (2 * step))[near], **rough)


def test_tails_do_not_vanish() -> None:
    far = np.array([-700.0, 700.0])
    assert SmallestExtreme().logcdf(far)[0] == -700
    assert LargestExtreme().logsf(far)[1] == -700
    assert Logistic().logsf(far)[1] == -700
    assert Normal().logsf(np.array([40.0]))[0] == pytest.approx(-804.608442, rel=1e-8)
