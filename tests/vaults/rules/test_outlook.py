"""What is known of hosts, put together: joint history, and how they are now."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.vaults.rules.outlook import LEAST, outlook_of
from forestall.vaults.rules.placement import Stake, choose

BAND = np.full(3, 1e8)


def test_without_history_hosts_are_as_they_are_now() -> None:
    seen = outlook_of(BAND, np.empty((0, 3)), np.zeros(0, bool), np.array([0.9, 0.5, 1.0]))
    assert seen.weight.tolist() == [1.0]
    assert seen.up[0].tolist() == pytest.approx([0.9, 0.5, 1 - LEAST])


def test_quiet_moments_are_as_now_and_failures_as_they_were() -> None:
    up = np.ones((100, 3))
    up[:20, :2] = 0.0  # two hosts, together, a fifth of the time
    at_failure = np.zeros(100, bool)
    at_failure[[0, 50]] = True
    now = np.array([0.99, 0.99, 0.6])
    seen = outlook_of(BAND, up, at_failure, now)
    quiet = np.delete(np.arange(100), [0, 50])
    share = 2 / 6  # two failures beside an opinion of four
    mean = seen.weight @ seen.up
    low, high = 1e-3, 1.0
    assert low < mean[0] < high
    general = (1 - share) / 100
    expected = np.array([
        general * len(quiet) * now[0] + (1 - general * len(quiet)) * 0.5, 0, 0,
    ])  # fmt: skip
    assert mean[0] == pytest.approx(expected[0], abs=2e-3)
    assert mean[0] == pytest.approx(mean[1])
    assert mean[2] < mean[0] + 0.4
    assert len(seen.weight) == 4  # quiet: down and up; failures: down and up
    assert seen.weight.sum() == pytest.approx(1.0)


def test_moments_that_are_not_known_count_as_now() -> None:
    up = np.array([[1.0, np.nan, 0.0]] * 4)
    seen = outlook_of(BAND, up, np.zeros(4, bool), np.array([0.9, 0.7, 0.5]))
    assert seen.weight @ seen.up == pytest.approx(np.array([0.9, 0.7, 0.5]), abs=1e-3)


def test_hosts_that_go_with_the_machine_are_left_however_well_they_are_now() -> None:
    up = np.full((300, 4), 1.0)
    up[:, 2] = np.arange(300) % 20 > 0  # these are down now and then, one at a time
    up[:, 3] = np.arange(300) % 20 != 9
    at_failure = np.arange(300) % 30 == 7
    up[at_failure, :2] = 0.0
    seen = outlook_of(np.full(4, 1e8), up, at_failure, np.array([0.999, 0.999, 0.95, 0.95]))
    assert set(choose(seen, Stake(1e6, 0.5, 3600), 1, 1).hosts) == {2, 3}


def test_shapes() -> None:
    with pytest.raises(ParameterError, match="moments of 3 hosts"):
        outlook_of(BAND, np.ones((4, 2)), np.zeros(4, bool), np.ones(3))
