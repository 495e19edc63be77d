"""Hyper-gamma run times: what follows from the published constants, and what does not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from forestall.core.model.errors import ParameterError
from forestall.logs.generate.lublin import MODELS
from forestall.reliability.queues.runtimes import PAPER_SCAN, HyperGamma

MODEL = HyperGamma()
HOUR = 3600.0


def test_constants_are_those_of_the_generator() -> None:
    known = MODELS["all"]
    names = ("a1", "b1", "a2", "b2", "pa", "pb")
    assert [getattr(MODEL, n) for n in names] == [getattr(known, n) for n in names]


def test_share_is_clipped() -> None:
    assert MODEL.share([1, 2, 144, 145, 1000]) == pytest.approx([0.7746, 0.7692, 0.0024, 0, 0])
    assert HyperGamma(pa=0.01).share(1000) == 1


def test_what_follows_for_2_to_256_nodes() -> None:
    """The paper says 2.96 to 12.71 h. None of the means that the constants have is that."""
    nodes = [2, 256]
    assert MODEL.typical(nodes) / HOUR == pytest.approx([0.0502, 3.226], rel=1e-3)
    assert MODEL.mean(nodes) / HOUR == pytest.approx([29.80, 3.723], rel=1e-3)
    within = [MODEL.mean_within(n, math.exp(12)) / HOUR for n in nodes]
    assert within == pytest.approx([1.018, 3.723], rel=1e-3)  # exponents above 12 drawn again
    assert PAPER_SCAN.mean_log(nodes) == pytest.approx([59.59, 213.72], rel=1e-3)  # e^60 s and more
    assert PAPER_SCAN.mean(256) > 1e100


@given(st.integers(1, 400), st.floats(2.0, 1e6))
def test_distribution(nodes: int, t: float) -> None:
    p = float(MODEL.share(nodes))
    expected = p * stats.gamma.sf(math.log(t), 4.2, scale=0.94) + (1 - p) * stats.gamma.sf(
        math.log(t), 312, scale=0.03
    )
    assert MODEL.sf(t, nodes) == pytest.approx(expected, rel=1e-9)
    assert MODEL.cdf(t, nodes) + MODEL.sf(t, nodes) == pytest.approx(1.0)


def test_before_a_second_nothing_has_ended() -> None:
    assert MODEL.sf([0.0, 0.5, 1.0], 10).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("nodes", [1, 100, 300])
@pytest.mark.parametrize("beyond", ["refused", "cut"])
def test_quadrature_against_draws(nodes: int, beyond: str) -> None:
    drawn = MODEL.draw(np.random.default_rng(nodes), np.full(300_000, nodes))
    for limit in (600.0, 4 * HOUR, 48 * HOUR):
        if nodes == 300 and limit == 600.0:
            continue  # no such job is that short
        runs = MODEL.runs(nodes, limit, beyond=beyond)
        kept = np.minimum(drawn, limit) if beyond == "cut" else drawn[drawn <= limit]
        for power in (1, 2):
            error = 5 * (kept**power).std() / math.sqrt(len(kept))
            moment = float(runs.weights @ runs.times**power)
            assert moment == pytest.approx((kept**power).mean(), abs=error)
        assert runs.times.max() <= limit


def test_quadrature_is_exact_where_the_mean_is_known() -> None:
    """Far beyond the long branch, jobs of 300 nodes have their whole mean."""
    assert MODEL.mean_within(300, 1e9) == pytest.approx(float(MODEL.mean(300)), rel=1e-9)


def test_limits_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="some job of 300 nodes"):
        MODEL.runs(300, 2.0)
    with pytest.raises(ParameterError, match="limit"):
        MODEL.runs(3, 0.5)
    with pytest.raises(ParameterError, match="refused or cut"):
        MODEL.runs(3, 600.0, beyond="all")
    with pytest.raises(ParameterError, match="b1"):
        HyperGamma(b1=-1.0)


def test_a_scale_of_one_or_more_has_no_mean() -> None:
    assert HyperGamma(b1=1.0).mean(2) == math.inf
    assert HyperGamma(b1=1.0).mean(300) == pytest.approx(0.97**-312.0)
