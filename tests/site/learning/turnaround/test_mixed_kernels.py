"""Mixtures of two sets of quantiles: as a plain reference has them; the better one wins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.site.learning.turnaround.mixed_kernels import Mixing, mix
from forestall.site.learning.turnaround.targets import TURNAROUND, WAIT

LEVELS = np.array([0.25, 0.5, 0.75])
SHARES, FADING = 6, 0.995
TWO = TURNAROUND.candidates


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
        np.stack([first, second]),
        LEVELS,
        actual,
        group,
        submit,
        finish,
        np.arange(count),
        order,
        np.zeros((4, SHARES)),
    )


def plainly(given: Mixing) -> npt.NDArray[np.float64]:
    """Return the mixtures, each from all ends before it anew."""
    first, second = given.told
    out = np.empty(first.shape)
    for k in range(len(out)):
        losses = np.zeros((4, SHARES))
        for j in given.order:
            if given.known[j] >= given.asked[k] or np.isnan(second[j, 0]):
                continue
            for row in (0, given.group[j]):
                for m in range(SHARES):
                    share = m / (SHARES - 1)
                    said = (1 - share) * first[j] + share * second[j]
                    over = given.actual[j] - said
                    lost = np.where(over > 0, LEVELS * over, (LEVELS - 1) * over).mean()
                    losses[row, m] = FADING * losses[row, m] + lost
        if np.isnan(second[k, 0]):
            out[k] = first[k]
            continue
        total = losses[0] + losses[given.group[k]]
        weight = np.exp(total.min() - total)
        share = float((weight * np.arange(SHARES)).sum() / weight.sum() / (SHARES - 1))
        out[k] = first[k] + share * (second[k] - first[k])
    return out


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_as_the_plain_reference(seed: int) -> None:
    mixing = made(np.random.default_rng(seed), 40)
    mixed, shares = np.empty((40, 3), np.float32), np.zeros(40, np.float32)
    mix(mixing, TWO, mixed, shares)
    np.testing.assert_allclose(mixed, plainly(mixing), rtol=1e-5)
    assert ((shares >= 0) & (shares <= 1)).all()


def test_the_better_of_two_wins() -> None:
    rng = np.random.default_rng(2)
    count = 2000
    mixing = made(rng, count)
    good = np.sort(6 + rng.normal(0, 0.1, (count, 3)), axis=1).astype(np.float32)
    mixing = mixing._replace(told=np.stack([good - 3, good]))
    mixed, shares = np.empty((count, 3), np.float32), np.zeros(count, np.float32)
    mix(mixing, TWO, mixed, shares)
    assert shares[count // 2 :].mean() > 0.9


@pytest.mark.parametrize("best", range(4))
def test_a_mixture_is_hardly_worse_than_the_best_of_its_experts(best: int) -> None:
    rng = np.random.default_rng(best)
    count = 3000
    middle = rng.normal(6, 1, count)
    actual = middle + rng.normal(0, 0.2, count)
    told = np.empty((4, count, 3), np.float32)
    for expert in range(4):
        off = 0.0 if expert == best else rng.normal(0, 1.5, count)
        told[expert] = (middle + off)[:, None] + np.array([-0.13, 0.0, 0.13])
    asked = np.arange(count) * 10
    mixing = Mixing(
        told, LEVELS, actual, np.full(count, 1), asked, asked + 500, np.arange(count),
        np.arange(count), np.zeros((2, len(WAIT.candidates.parts))),
    )  # fmt: skip
    mixed, shares = np.empty((count, 3), np.float32), np.zeros(count, np.float32)
    mix(mixing, WAIT.candidates, mixed, shares)

    def lost(quantiles: npt.NDArray[np.float32], first: int = count) -> float:
        over = actual[:first, None] - quantiles[:first]
        return float(np.where(over > 0, LEVELS * over, (LEVELS - 1) * over).mean(axis=1).sum())

    losses = [lost(one) for one in told]
    assert int(np.argmin(losses)) == best
    # Regret: while nothing is known all count alike, and logarithm of candidates over their rate.
    weights = np.log(len(WAIT.candidates.parts)) / WAIT.candidates.rate
    assert lost(mixed) <= min(losses) + lost(mixed, 200) + 2 * weights
    assert (shares[1000:].mean() > 0.9) == (best == 1)
