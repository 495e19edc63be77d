"""Processes learned from a host's past: what is counted, and that truth is found again."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov import SemiMarkov
from forestall.prediction.models.semi_markov.learning import (
    DAY,
    MONDAY,
    HostHistory,
    counted,
    learn_host,
    learn_hosts,
    masses,
    weekend,
)
from forestall.prediction.models.semi_markov.states import UP_DOWN, stays

HOUR = 3600


def test_what_a_window_shows_of_stays() -> None:
    #         0  1  2  3  4  5  6  7  8  9
    states = [0, 0, 1, 1, 1, 0, 2, 2, 0, 0]
    found = counted(stays(np.array(states)), np.array([1, 5]), 4)
    # samples 1 to 5, and 5 to 9
    assert found.state.tolist() == [0, 1, 0, 0, 2, 0]
    assert found.steps.tolist() == [1, 3, 0, 1, 2, 1]
    assert found.ended.tolist() == [True, True, False, True, True, False]
    assert found.following[found.ended].tolist() == [1, 0, 2, 0]
    assert found.first.tolist() == [True, False, False, True, False, False]
    assert found.window.tolist() == [0, 0, 0, 1, 1, 1]
    assert found.until_failure([2]).steps.tolist() == [1, 3, 0, 1]


def test_a_window_that_begins_in_a_failing_state_has_nothing_after_it() -> None:
    found = counted(stays(np.array([2, 2, 0, 1, 1, 0, 2, 0])), np.array([0, 2]), 5)
    kept = found.until_failure([2])
    assert kept.window.tolist() == [1, 1, 1]
    assert kept.state.tolist() == [0, 1, 0]


def test_masses_are_those_of_kaplan_meier_and_aalen_johansen() -> None:
    # S1: ends after 2 in S2, after 3 in S3, cut off at 2 and 4 (in one more window)
    rows = [[0, 0, 1, 1, 1, 1], [0, 0, 0, 2, 2, 2], [0] * 3 + [1] * 3, [0] * 6]
    states = np.array([s for row in rows for s in row])
    begins = np.array([0, 6, 12, 18])
    found = counted(stays(states), begins, 2)
    made = masses(found, 3, (0, 1))
    # at risk of 2 steps: all four; one goes to S2; the others are cut off there
    np.testing.assert_allclose(made[0, :, 2], [0, 0.25, 0])
    longer = masses(counted(stays(states), begins, 5), 3, (0, 1))
    np.testing.assert_allclose(longer[0, :, 2], [0, 0.25, 0])
    np.testing.assert_allclose(longer[0, :, 3], [0, 0.25, 0.25])
    assert longer[0].sum() == pytest.approx(0.75)  # a quarter was never seen to end


def test_censored_stays_do_not_shorten_the_law() -> None:
    rng = np.random.default_rng(4)
    leave, n = 0.05, 4000
    length = rng.geometric(leave, n)
    states = np.concatenate([np.append(np.zeros(k, dtype=int), 2) for k in length])
    begins = np.concatenate(([0], np.cumsum(length + 1)[:-1]))
    found = counted(stays(states), begins, 15).until_failure([2])
    process = SemiMarkov.of_mass(masses(found, 3, (0, 1)))
    np.testing.assert_allclose(process.reliability(0, 15), (1 - leave) ** np.arange(16), atol=0.02)


def test_the_law_of_a_process_is_learned_again() -> None:
    rng = np.random.default_rng(7)
    q = np.array([[0, 0.8, 0.2], [0.7, 0, 0.3]])
    h = rng.random((2, 3, 9)) * (np.arange(9) > 0)
    h /= h.sum(axis=-1, keepdims=True)
    truth = SemiMarkov(q, h)
    parts, begins, at = [], [], 0
    for _ in range(3000):
        state, begun = 0, at
        begins.append(begun)
        while state != 2 and at - begun < 60:
            flat = rng.choice(27, p=(q[state, :, None] * h[state]).ravel())
            parts.append((state, flat % 9))
            at += flat % 9
            state = flat // 9
        parts.append((2, 1))
        at += 1
    states = np.repeat([s for s, _ in parts], [k for _, k in parts])
    runs = stays(states)
    found = counted(runs, np.array(begins), 40).until_failure([2])
    learned = SemiMarkov.of_mass(masses(found, 3, (0, 1)))
    np.testing.assert_allclose(learned.reliability(0, 40), truth.reliability(0, 40), atol=0.03)


def test_windows_are_of_like_days_and_before() -> None:
    period = 600
    host = learn_host(np.zeros(21 * DAY // period, dtype=int), period=period)
    assert host.origin == MONDAY
    monday = MONDAY + 14 * DAY + 9 * HOUR
    before = host.windows(monday, 2 * HOUR, None) * 1 + host.origin
    assert not weekend(before).any()
    assert len(before) == 10
    assert np.all(before % DAY == 9 * HOUR)
    assert before.max() == MONDAY + 11 * DAY + 9 * HOUR
    assert len(host.windows(monday, 2 * HOUR, 3)) == 3
    saturday = host.windows(MONDAY + 19 * DAY, DAY, None) + host.origin
    assert weekend(saturday).all()
    # the window of yesterday that had not ended when this one begins does not count
    late = host.windows(MONDAY + 2 * DAY, 30 * HOUR, None)
    assert late.tolist() == [0]


def shifted(seed: int, days: int = 21) -> np.ndarray:
    rng = np.random.default_rng(seed)
    states = np.zeros(days * 144, dtype=np.int8)
    for day in range(days):
        for hour in (9, 14, 20):
            if rng.random() < 0.6:
                at = day * 144 + hour * 6 + int(rng.integers(0, 6))
                states[at - 6 : at] = 1
                states[at : at + 3] = rng.integers(2, 5)
    return states


def test_the_future_does_not_change_what_is_learned() -> None:
    states = shifted(1)
    start = MONDAY + 14 * DAY + 8 * HOUR
    cut = (start - MONDAY) // 600
    other = np.concatenate((states[:cut], np.random.default_rng(0).permutation(states[cut:])))
    for first in ("mixed", "plain", "apart"):
        one, two = (
            learn_host(s, period=600).temporal_reliability(start, 5 * HOUR, 0, first=first)
            for s in (states, other)
        )
        np.testing.assert_array_equal(one, two)
        assert one.shape == (31,)


def test_many_hosts_are_a_batch() -> None:
    hosts = [learn_host(shifted(seed), period=600) for seed in range(6)]
    start = MONDAY + 15 * DAY + 8 * HOUR
    for first in ("mixed", "plain"):
        many = learn_hosts(hosts, start, 4 * HOUR, first=first).reliability("S1", 24)
        assert many.shape == (6, 25)
        for k, host in enumerate(hosts):
            one = host.temporal_reliability(start, 4 * HOUR, 0, first=first)
            np.testing.assert_allclose(many[k], one, atol=1e-13)


def test_first_stays_apart_are_the_share_of_days() -> None:
    """With one state that is not failing, a first stay's own law is what the days showed."""
    rng = np.random.default_rng(2)
    states = (rng.random(30 * 24) < 0.02).astype(np.int8)
    host = HostHistory(stays(states, HOUR), MONDAY, UP_DOWN, (1,))
    start = MONDAY + 28 * DAY + 10 * HOUR
    begins = host.windows(start, 6 * HOUR, None) // HOUR
    kept = [states[b : b + 7] for b in begins if states[b] == 0]
    want = [np.mean([not part[: k + 1].any() for part in kept]) for k in range(7)]
    found = host.temporal_reliability(start, 6 * HOUR, "up", first="apart")
    np.testing.assert_allclose(found, want, atol=1e-12)


def test_a_state_never_seen_is_taken_from_other_days() -> None:
    states = np.zeros(14 * 144, dtype=np.int8)
    states[20 * 6 : 21 * 6] = 1  # once S2, at 20:00, and then it fails
    states[21 * 6 : 21 * 6 + 3] = 2
    host = learn_host(states, period=600)
    start = MONDAY + 9 * DAY + 8 * HOUR
    told = host.temporal_reliability(start, 2 * HOUR, "S2")
    assert told[5] == 1.0
    assert told[6] == pytest.approx(0.0, abs=1e-12)
    assert np.all(host.temporal_reliability(start, 2 * HOUR, "S1") == 1.0)


def test_what_cannot_be_learned() -> None:
    host = learn_host(shifted(3), period=600)
    with pytest.raises(ParameterError, match="length"):
        host.process(MONDAY + DAY, 60)
    with pytest.raises(ParameterError, match="days"):
        host.process(MONDAY + DAY, HOUR, days=0)
    with pytest.raises(ParameterError, match="first"):
        host.process(MONDAY + DAY, HOUR, first="other")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="start"):
        host.process(MONDAY, HOUR)
    with pytest.raises(ParameterError, match=r"start: \d+ .* a state as initial=, 0 to 4"):
        host.temporal_reliability(MONDAY + 400 * DAY, HOUR)
    for states in ([], [5], [-1], [[0]]):
        with pytest.raises(ParameterError, match="states"):
            learn_host(np.array(states, dtype=int))
    with pytest.raises(ParameterError, match="hosts"):
        learn_hosts([], MONDAY, HOUR)
    with pytest.raises(ParameterError, match="hosts"):
        learn_hosts([host, learn_host(shifted(3), period=60)], MONDAY + DAY, HOUR)
