"""Samples on which fits tend to break: each gives a finite answer or one clear line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.fits.estimate import Fitted, fit
from forestall.reliability.lifetimes.registry import FAMILIES

NAMES = list(FAMILIES)
SEVERAL = [name for name in NAMES if len(FAMILIES[name].parameters) > 1]
SINGLE = [name for name in NAMES if name not in SEVERAL]

WEIBULL = np.random.default_rng(1).weibull
CASES: dict[str, tuple[object, object]] = {
    "two": ([3.0, 7.0], None),
    "one and censored": ([5.0, 1.0, 2.0, 9.0], [0, 1, 1, 1]),
    "one and long censored": ([5.0, 900.0], [0, 1]),
    "equal and longer": ([5.0, 5.0, 8.0], [0, 0, 1]),
    "zeros": ([0.0, 0.0, 3.0, 7.0, 12.0], None),
    "mostly zeros": ([0.0] * 20 + [3.0, 7.0], None),
    "tiny": (1e-300 * np.array([1, 3, 2.5, 7, 4, 9]), [0, 0, 1, 0, 0, 0]),
    "huge": (1e300 * np.array([1, 3, 2.5, 0.7, 0.2, 4]), [0, 0, 1, 0, 0, 0]),
    "shape 0.05": (WEIBULL(0.05, 300), None),
    "shape 50": (1e6 * WEIBULL(50, 300), None),
    "shape 0.05, half censored": (WEIBULL(0.05, 300), np.arange(300) % 2 == 0),
    "three of a thousand ended": (WEIBULL(1.5, 1_000), np.arange(1_000) > 2),
    "ties": ([1, 1, 1, 2, 2, 3, 3, 3, 3, 5], None),
    "long ones censored": ([1.0, 2, 3, 4, 100, 100, 100], [0, 0, 0, 0, 1, 1, 1]),
    "nearly equal": ([1, 1 + 1e-12, 1 - 1e-12], None),
    "short ones censored": ([1e-9, 1e-9, 4.0, 5.0], [1, 1, 0, 0]),
}


def attempt(name: str, gaps: object, censored: object = None, zeros: str = "auto") -> Fitted | None:
    """Return the fit, or None for one clear line; nothing else may come, no warning either."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = fit(gaps, name, censored=censored, zeros=zeros)
        except ParameterError as error:
            said = str(error)
        else:
            said = ""
        assert "\n" not in said
        assert len(said) < 300
        if said:
            return None
        assert np.isfinite(found.loglik)
        assert np.isfinite(list(found.params.values())).all()
        assert found.converged or found.notes
        assert found.summary()
        return found


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_a_finite_answer_or_a_clear_line(name: str, case: str) -> None:
    gaps, censored = CASES[case]
    found = attempt(name, gaps, censored)
    if name in ("exponential", "weibull", "lognormal"):
        assert found is not None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("gaps", "n"), [([5.0, 6.0], "2 gaps"), ([4.0], "1 gap")])
def test_all_censored_has_no_fit(name: str, gaps: list[float], n: str) -> None:
    with pytest.raises(ParameterError, match=f"^gaps: '{n}, none of which ended' is not allowed"):
        fit(gaps, name, censored=[1] * len(gaps))


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(
    ("gaps", "censored"), [([5.0], None), ([5.0] * 4, None), ([5.0, 5.0, 2.0], [0, 0, 1])]
)
def test_equal_gaps_have_no_shape(name: str, gaps: list[float], censored: object) -> None:
    with pytest.raises(ParameterError, match="every failure after the same time \\(5\\)"):
        fit(gaps, name, censored=censored)


@pytest.mark.parametrize("name", SINGLE)
def test_equal_gaps_have_a_scale(name: str) -> None:
    found = fit([5.0] * 4, name)
    assert found.converged
    assert found.params["scale"] == pytest.approx(5 if name == "exponential" else 5 / np.sqrt(2))


@pytest.mark.parametrize("name", NAMES)
def test_zeros_beside_censored_gaps_only(name: str) -> None:
    found = attempt(name, [0.0, 0.0, 5.0], [0, 0, 1])
    assert (found is not None) or name in SEVERAL


def test_the_tiny_and_the_huge_are_the_ordinary_in_other_units() -> None:
    gaps, censored = np.array([1, 3, 2.5, 7, 4, 9]), [0, 0, 1, 0, 0, 0]
    for name in ("exponential", "weibull", "loglogistic", "frechet", "gumbel", "rayleigh"):
        plain = fit(gaps, name, censored=censored)
        for unit in (1e-300, 1e300):
            far = fit(gaps * unit, name, censored=censored)
            assert far.params["scale"] == pytest.approx(plain.params["scale"] * unit, rel=1e-6)
            assert far.loglik == pytest.approx(plain.loglik - 5 * np.log(unit), rel=1e-9)
            spread = plain.standard_errors()["scale"] * unit
            assert far.standard_errors()["scale"] == pytest.approx(spread, rel=1e-6)


@pytest.mark.parametrize("shape", [0.05, 50.0])
def test_extreme_shapes_are_found(shape: float) -> None:
    gaps = np.random.default_rng(2).weibull(shape, 2_000)
    found = fit(gaps, "weibull")
    error = found.standard_errors()["shape"]
    assert abs(found.params["shape"] - shape) < 4 * error
    assert error == pytest.approx(shape * np.sqrt(0.608 / 2_000), rel=0.1)


@settings(max_examples=60)
@given(
    st.sampled_from(["exponential", "weibull", "weibull-3p", "lognormal", "loglogistic", "frechet",
                     "gumbel", "rayleigh"]),
    st.lists(st.tuples(st.floats(0, 1e6) | st.sampled_from([0.0, 1.0, 1e-300, 1e300]),
                       st.booleans()), min_size=1, max_size=12),
    st.sampled_from(["auto", "censored", "drop"]),
)  # fmt: skip
def test_whatever_the_gaps(name: str, rows: list[tuple[float, bool]], zeros: str) -> None:
    gaps, censored = zip(*rows, strict=True)
    attempt(name, gaps, censored, zeros)
