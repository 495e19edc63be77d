"""Chances of hosts, drawn together as far as chance explains how they differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.streams import stream
from forestall.prediction.models.semi_markov.forecast import pool


def test_by_hand() -> None:
    """Of chances 1/2 and 1, the mean is 3/4 and the variance 1/8; chance alone, with four windows,
    has (3/4)(1/4)/4 = 3/64: so the weight of a host's own is 1 - 3/8 = 5/8."""
    own = np.ones((2, 2, 2))
    own[0, 0, 1] = 0.5
    drawn = pool(own, 4)
    assert drawn[:, 0, 1] == pytest.approx([0.75 - 0.25 * 5 / 8, 0.75 + 0.25 * 5 / 8])
    assert np.all(drawn[:, 1] == 1)
    assert np.all(drawn[..., 0] == 1)
    few = pool(own, 1)  # (3/4)(1/4) > 1/8: all of it may be chance
    assert few[:, 0, 1] == pytest.approx([0.75, 0.75])
    assert np.array_equal(pool(own, 0), few)


def test_one_host_keeps_its_own() -> None:
    own = np.linspace(1, 0.2, 10)[None, None, :].repeat(2, axis=1)
    assert np.array_equal(pool(own, 3), own)


@given(
    seed=st.integers(0, 2**32), hosts=st.integers(2, 9), steps=st.integers(1, 30),
    windows=st.integers(0, 40),
)  # fmt: skip
def test_what_must_hold(seed: int, hosts: int, steps: int, windows: int) -> None:
    rng = np.random.default_rng(seed)
    own = np.cumprod(rng.random((hosts, 2, steps + 1)) ** rng.uniform(0, 1), axis=-1)
    own[..., 0] = 1
    drawn, mean = pool(own, windows), own.mean(axis=0)
    assert drawn.mean(axis=0) == pytest.approx(mean)
    assert np.all(
        (drawn >= np.minimum(own, mean) - 1e-12) & (drawn <= np.maximum(own, mean) + 1e-12)
    )
    assert np.all(np.diff(drawn, axis=-1) <= 1e-12)
    more = pool(own, windows + 1)  # what is better known is drawn less
    assert np.all(np.abs(more - mean) >= np.abs(drawn - mean) - 1e-12)
    order = rng.permutation(hosts)
    assert pool(own[order], windows) == pytest.approx(drawn[order])


def test_alike_hosts_become_alike_and_unlike_ones_stay() -> None:
    rng = stream(1, "test", "pool")
    windows, hosts = 20, 400

    def seen(truth: np.ndarray) -> np.ndarray:
        kept = rng.binomial(windows, truth) / windows
        return np.broadcast_to(kept[:, None, None], (hosts, 2, 6)).copy()

    same = pool(seen(np.full(hosts, 0.8)), windows)
    assert same.std(axis=0).max() < 0.03  # 0.09 by chance
    truth = rng.beta(2, 1, hosts)
    own = seen(truth)
    drawn = pool(own, windows)
    before, after = (np.mean((x[:, 0, 1] - truth) ** 2) for x in (own, drawn))
    assert after < before
