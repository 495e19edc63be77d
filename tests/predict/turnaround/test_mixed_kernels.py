"""Mixtures of two sets of quantiles: as a plain reference has them; the better one wins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.predict.turnaround.mixed_kernels import FADING, SHARES, Mixing, mix

LEVELS = np.array([0.25, 0.5, 0.75])


def made(rng: np.random.Generator, count: int) -> Mixing:
    first = np.sort(rng.normal(5, 1, (count, 3)), axis=1).astype(np.float32)
    second = np.sort(rng.normal(6, 1, (count, 3)), axis=1).astype(np.float32)
    second[: count // 5] = np.nan
    submit = np.sort(rng.integers(0, 1000, count))
    finish = submit + rng.integers(0, 300, count)
    order = np.flatnonzero(rng.random(count) < 0.9)
    order = order[np.argsort(finish[order], kind="stable")]
    group = rng.integers(1, 4, count)
    actual = rng.normal(6, 1, count)
    return Mixing(
        first, second, LEVELS, actual, group, submit, finish, order, np.zeros((4, SHARES))
    )


def plainly(given: Mixing) -> npt.NDArray[np.float64]:
    """Return the mixtures, each from all ends before it anew."""
    out = np.empty(given.first.shape)
    for k in range(len(out)):
        losses = np.zeros((4, SHARES))
        for j in given.order:
            if given.finish[j] >= given.submit[k] or np.isnan(given.second[j, 0]):
                continue
            for row in (0, given.group[j]):
                for m in range(SHARES):
                    share = m / (SHARES - 1)
                    said = (1 - share) * given.first[j] + share * given.second[j]
                    over = given.actual[j] - said
                    lost = np.where(over > 0, LEVELS * over, (LEVELS - 1) * over).mean()
                    losses[row, m] = FADING * losses[row, m] + lost
        if np.isnan(given.second[k, 0]):
            out[k] = given.first[k]
            continue
        total = losses[0] + losses[given.group[k]]
        weight = np.exp(total.min() - total)
        share = float((weight * np.arange(SHARES)).sum() / weight.sum() / (SHARES - 1))
        out[k] = given.first[k] + share * (given.second[k] - given.first[k])
    return out


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_as_the_plain_reference(seed: int) -> None:
    mixing = made(np.random.default_rng(seed), 40)
    mixed, shares = np.empty((40, 3), np.float32), np.zeros(40, np.float32)
    mix(mixing, mixed, shares)
    np.testing.assert_allclose(mixed, plainly(mixing), rtol=1e-5)
    assert ((shares >= 0) & (shares <= 1)).all()


def test_the_better_of_two_wins() -> None:
    rng = np.random.default_rng(2)
    count = 2000
    mixing = made(rng, count)
    good = np.sort(6 + rng.normal(0, 0.1, (count, 3)), axis=1).astype(np.float32)
    mixing = mixing._replace(second=good, first=good - 3)
    mixed, shares = np.empty((count, 3), np.float32), np.zeros(count, np.float32)
    mix(mixing, mixed, shares)
    assert shares[count // 2 :].mean() > 0.9
