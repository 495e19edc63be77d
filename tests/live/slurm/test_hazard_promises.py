"""Promises under hazards are kept as often as stated; as moments they were not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from live.slurm.hazard_world import brier, deciles, played, resolution, worst


def surprise(stated: np.ndarray, kept: np.ndarray) -> float:
    """Return by how many standard deviations fewer promises were kept than stated."""
    return float((stated - kept).sum() / math.sqrt((stated * (1 - stated)).sum() + 1e-9))


@pytest.mark.parametrize("source", ["known", "renewal"])
def test_promises_under_hazards_hold_and_tell_jobs_apart(source: str) -> None:
    stated, kept = played(source, 250, 1)
    assert len(stated) > 200
    assert abs(surprise(stated, kept)) < 3.5
    for one in deciles(stated, kept):
        error = math.sqrt(one.stated * (1 - one.stated) / one.count)
        assert abs(one.off) < 0.03 + 3.5 * error
    same = np.full(len(kept), kept.mean())
    assert brier(stated, kept) < brier(same, kept)
    assert resolution(stated, kept) > 0.05


def test_a_hazard_as_a_moment_fails_the_check() -> None:
    stated, kept = played("moments", 250, 1)
    assert surprise(stated, kept) > 10
    assert worst(deciles(stated, kept), 100) > 0.06


def test_the_figures_of_a_rival() -> None:
    kept = np.arange(100) % 10 > 0
    same = np.full(100, 0.9)
    [one] = deciles(same, kept)
    assert (one.count, one.off) == (100, pytest.approx(0.0))
    assert one.low < 0.9 < one.high
    assert (brier(same, kept), resolution(same, kept)) == (pytest.approx(0.09), 0.0)
    told = np.where(kept, 0.95, 0.05)
    assert resolution(told, kept) == pytest.approx(1.0)
    assert worst(deciles(1 - told, kept), 5) == pytest.approx(0.95)
