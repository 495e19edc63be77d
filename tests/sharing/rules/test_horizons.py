"""When a guest will be done, from what a host tells at a few horizons: by hand, and played."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.sharing.rules.horizons import STEP, HostHorizons, completion_band

HOURS = (1, 2, 4, 8, 16, 24)
SURE = HostHorizons(HOURS, (0.0,) * 6, (1.0,) * 6)


def test_a_host_that_stays_ends_it_at_its_jct() -> None:
    assert completion_band(3600, SURE) == (3600, 3600, 3600, 1.0)
    slow = HostHorizons(HOURS, (0.5,) * 6, (1.0,) * 6, 2.0)
    assert completion_band(40 * 3600, slow) == (144_000, 144_000, 144_000, 1.0)  # over a day on
    assert slow.estimate(3600).jct == 3600


def test_between_horizons_load_is_constant_and_reliability_a_line() -> None:
    host = HostHorizons((1, 2, 4), (0.2, 0.4, 0.4), (1.0, 0.5, 0.25))
    share, alive = host.share(), host.reliability()
    assert share[[0, 59, 60, 119, 120, 239]] == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.6, 0.6])
    assert alive[[0, 60, 90, 120, 180, 240]] == pytest.approx([1, 1, 0.75, 0.5, 0.375, 0.25])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_band_is_that_of_many_played_lives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    falls = np.exp(-np.cumsum(rng.uniform(0.05, 0.5, 6)))
    loads = rng.uniform(0, 0.5, 6)
    loads = np.maximum.accumulate(loads)
    here = HostHorizons(HOURS, tuple(loads.tolist()), tuple(falls.tolist()), 1.2)
    other = HostHorizons(HOURS, (0.1,) * 6, (0.99,) * 6)
    work, away = 5 * 3600.0, 300.0
    band = completion_band(work, here, other, away=away)
    # a life ends in the step in which the reliability falls below a uniform draw
    alive, done = here.reliability(), np.concatenate(([0], np.cumsum(here.share() * 1.2 * STEP)))
    jct = int(np.searchsorted(done, work))
    lives = np.searchsorted(-alive, -rng.uniform(0, 1, 20_000))
    end_of = {}
    for life in np.unique(lives).tolist():
        end_of[life] = float(STEP * jct)
        if life <= jct:
            rest = max(work - (done[life - 1] + done[life]) / 2, 1.0)
            end_of[life] = STEP * (life - 0.5) + away + other.estimate(rest).jctf
    ends = [end_of[life] for life in lives.tolist()]
    assert (band.early, band.middle, band.late) == pytest.approx(
        np.quantile(ends, (0.1, 0.5, 0.9)), rel=0.02
    )
    assert band.stays == pytest.approx(np.mean(lives > jct), abs=0.02)


def test_what_never_ends_is_not_in_sight() -> None:
    full = HostHorizons(HOURS, (1.0,) * 6, (1.0,) * 6)
    assert completion_band(3600, full).middle == math.inf
    gone = HostHorizons(HOURS, (0.0,) * 6, (0.0,) * 6)
    assert completion_band(9 * 3600, gone).late == math.inf
    assert completion_band(9 * 3600, gone, SURE).late < 11 * 3600


@settings(max_examples=30, deadline=None)
@given(
    loads=st.lists(st.floats(0, 1), min_size=6, max_size=6),
    falls=st.lists(st.floats(0, 1), min_size=6, max_size=6),
    hours=st.floats(0.1, 60),
)
def test_bands_are_in_order_and_no_sooner_than_the_jct_of_the_quicker(
    loads: list[float], falls: list[float], hours: float
) -> None:
    chances = np.cumprod(falls).tolist()
    here = HostHorizons(HOURS, tuple(loads), tuple(chances))
    band = completion_band(3600 * hours, here, SURE, away=60)
    assert band.early <= band.middle <= band.late
    assert band.early >= 3600 * hours - STEP
    assert 0 <= band.stays <= 1


@pytest.mark.parametrize(
    ("hours", "loads", "chances", "speed"),
    [((1, 2), (0.1,), (1.0, 1.0), 1), ((2, 1), (0, 0), (1, 1), 1), ((0,), (0,), (1,), 1),
     ((1,), (1.1,), (1,), 1), ((1,), (0,), (-1,), 1), ((1,), (0,), (1,), 0)],
)  # fmt: skip
def test_what_no_host_tells_is_refused(
    hours: tuple[int, ...], loads: tuple[float, ...], chances: tuple[float, ...], speed: float
) -> None:
    with pytest.raises(ParameterError):
        HostHorizons(hours, loads, chances, speed)
    with pytest.raises(ParameterError):
        completion_band(0, SURE)
