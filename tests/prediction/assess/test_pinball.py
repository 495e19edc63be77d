"""The pinball loss of turnarounds: by hand, and best for him who says what he believes."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.prediction.assess.pinball import LEVELS, SHOWN, pinball, quantile_scores

WEEK = 7 * 86_400


def test_by_hand() -> None:
    said = np.full((1, 19), 7200.0)
    late, early = pinball(said, np.array([10_800.0])), pinball(said, np.array([3600.0]))
    assert late.hours[0] == pytest.approx(np.mean(LEVELS))
    assert early.hours[0] == pytest.approx(1 - np.mean(LEVELS))
    assert late.logs[0] == pytest.approx(np.log(1.5) * 0.5)
    assert not late.kept.any()
    assert early.kept.all()
    assert early.ratio.tolist() == [[2.0] * len(SHOWN)]


def test_a_turnaround_below_a_second_counts_as_one() -> None:
    found = pinball(np.zeros((1, 19)), np.array([0.0]))
    assert found.logs[0] == 0.0
    assert found.ratio[0].tolist() == [0.0] * len(SHOWN)


def test_the_true_quantiles_lose_least() -> None:
    rng = np.random.default_rng(1)
    took = rng.lognormal(6, 1, 20_000)
    true = np.exp(6 + np.array([float(np.quantile(np.log(took) - 6, level)) for level in LEVELS]))
    when = np.arange(len(took)) * 600
    best = quantile_scores(pinball(np.broadcast_to(true, (len(took), 19)), took), when)
    for factor in (0.7, 0.9, 1.1, 1.4):
        other = quantile_scores(
            pinball(np.broadcast_to(factor * true, (len(took), 19)), took), when
        )
        assert other.hours > best.hours
        assert other.logs > best.logs
    assert best.kept == pytest.approx(SHOWN, abs=0.001)
    # Half the continuous ranked probability score of a normal law, s / sqrt(pi) / 2 in the mean,
    # nearly: the tails beyond 5 and 95 % are not in it.
    assert best.logs == pytest.approx(np.std(np.log(took)) / np.sqrt(np.pi) / 2, rel=0.05)
    assert 0 < best.logs_error < 0.05


def test_within_one_week_there_is_no_interval() -> None:
    took = np.array([10.0, 20.0, 30.0])
    found = quantile_scores(pinball(np.full((3, 19), 15.0), took), np.array([0, 5, WEEK - 1]))
    assert np.isnan(found.hours_error)
