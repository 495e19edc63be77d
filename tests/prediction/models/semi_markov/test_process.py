"""Temporal reliability by series, beside the recursion, a simulation and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov import SemiMarkov, reliability_by_recursion
from forestall.prediction.models.semi_markov.series import inverse, product, quotient

Arrays = tuple[np.ndarray, np.ndarray]


def drawn(
    rng: np.random.Generator, rows: int, states: int, steps: int, *, at_once: bool, loops: bool
) -> Arrays:
    q = rng.random((rows, states)) ** 2
    if not loops:
        q[np.arange(rows), np.arange(rows)] = 0
    q /= q.sum(axis=1, keepdims=True) * rng.choice([1.0, 1.1])  # 1.1: it may stay for ever
    h = rng.random((rows, states, steps)) ** 4
    if not at_once:
        h[..., 0] = 0
    h /= np.maximum(h.sum(axis=-1, keepdims=True), 1e-300) * rng.choice([1.0, 1.2])
    return q, h


@st.composite
def processes(draw: st.DrawFn) -> tuple[SemiMarkov, int, np.random.Generator]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, more = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    kind = {"at_once": draw(st.booleans()), "loops": draw(st.booleans())}
    states = rows + more
    made = drawn(rng, rows, states, draw(st.integers(2, 60)), **kind)
    first = (
        drawn(rng, rows, states, draw(st.integers(2, 60)), **kind) if draw(st.booleans()) else None
    )
    failing = range(rows, states)
    return SemiMarkov(*made, failing=[*failing], first=first), draw(st.integers(0, 200)), rng


@given(processes())
def test_series_and_recursion_agree(made: tuple[SemiMarkov, int, np.random.Generator]) -> None:
    process, horizon, rng = made
    for initial in (0, rng.dirichlet(np.ones(process.states))):
        series = process.reliability(initial, horizon)
        slow = reliability_by_recursion(process, initial, horizon)
        assert series.shape == (horizon + 1,)
        np.testing.assert_allclose(series, np.clip(slow, 0, 1), atol=1e-12, rtol=0)
        entered = process.failure_by(initial, horizon)
        assert entered.shape == (len(process.failing), horizon + 1)
        np.testing.assert_allclose(entered.sum(axis=0), 1 - series, atol=1e-12)
        assert np.all(np.diff(series) <= 0)
        assert 0 <= series[-1] <= series[0] <= 1
    each = process.reliability_of_each(horizon)
    assert each.shape == (len(process.transient), horizon + 1)
    for k, state in enumerate(process.transient):
        np.testing.assert_allclose(each[k], process.reliability(state, horizon), atol=1e-13)


def test_all_horizons_of_twelve_hours_agree_with_the_recursion() -> None:
    rng = np.random.default_rng(3)
    process = SemiMarkov(*drawn(rng, 2, 5, 7201, at_once=False, loops=False))
    series = process.reliability("S1", 7200)
    np.testing.assert_allclose(series, reliability_by_recursion(process, "S1", 7200), atol=1e-12)
    assert series[0] == 1.0
    assert 0 < series[-1] < 0.99


def spec_page(q: np.ndarray, h: np.ndarray, horizon: int) -> np.ndarray:
    """TR from S1 and S2 as the specification writes it, sum by sum, all of P kept."""
    p = np.zeros((2, 5, horizon + 1))
    for m in range(1, horizon + 1):
        for i, k in ((0, 1), (1, 0)):
            for j in (2, 3, 4):
                through = sum(q[i, k] * h[i, k, l] * p[k, j, m - l] for l in range(1, m))  # noqa: E741
                direct = sum(q[i, j] * h[i, j, l] for l in range(1, m + 1))  # noqa: E741
                p[i, j, m] = through + direct
    return 1 - p[:, 2:].sum(axis=1)


def test_as_the_specification_writes_it_for_five_rows() -> None:
    rng = np.random.default_rng(5)
    q, h = drawn(rng, 5, 5, 40, at_once=False, loops=False)
    h = np.concatenate((h, np.zeros((5, 5, 21))), axis=-1)
    want = spec_page(q, h, 60)
    whole, two = SemiMarkov(q, h), SemiMarkov(q[:2], h[:2])
    for process in (whole, two):
        np.testing.assert_allclose(process.reliability(0, 60), want[0], atol=1e-12)
        np.testing.assert_allclose(process.reliability("S2", 60), want[1], atol=1e-12)


@pytest.mark.parametrize("delayed", [False, True])
def test_simulation_agrees_within_its_error(delayed: bool) -> None:
    rng = np.random.default_rng(11)
    first = drawn(rng, 2, 5, 25, at_once=True, loops=False) if delayed else None
    process = SemiMarkov(*drawn(rng, 2, 5, 30, at_once=False, loops=False), first=first)
    law = [0.5, 0.4, 0.1, 0.0, 0.0]
    played = process.simulate(law, 150, 40_000, rng)
    off = np.abs(played.reliability - process.reliability(law, 150))
    assert np.all(off <= 4.5 * played.error + 1e-3)
    for place, state in enumerate(process.failing):
        share = float(np.mean(played.state == state))
        assert share == pytest.approx(process.failure_by(law, 150)[place, -1], abs=0.015)


def test_geometric_stays_are_a_markov_chain() -> None:
    steps, leave = 4000, 0.01
    mass = leave * (1 - leave) ** np.arange(steps)
    h = np.zeros((1, 2, steps + 1))
    h[0, 1, 1:] = mass
    process = SemiMarkov([[0.0, 1.0]], h, failing=[1])
    np.testing.assert_allclose(
        process.reliability(0, 300), (1 - leave) ** np.arange(301), atol=1e-12
    )
    h /= h.sum()
    exact = SemiMarkov([[0.0, 1.0]], h, failing=[1])
    assert exact.mean_time_to_failure(0) == pytest.approx(1 / leave, rel=1e-6)


def test_mean_time_is_the_sum_of_reliability() -> None:
    rng = np.random.default_rng(1)
    for rows in (1, 2, 4):
        q = rng.random((rows, rows + 2))
        q /= q.sum(axis=1, keepdims=True)
        h = rng.random((rows, rows + 2, 9))
        h /= h.sum(axis=-1, keepdims=True)
        first = (q[::-1], h[::-1])
        for process in (
            SemiMarkov(q, h, failing=[rows, rows + 1]),
            SemiMarkov(q, h, failing=[rows, rows + 1], first=first),
        ):
            law = np.append(rng.dirichlet(np.ones(rows)) * 0.9, [0.1, 0.0])
            want = process.reliability(law, 20_000).sum()
            assert process.mean_time_to_failure(law) == pytest.approx(want, rel=1e-9)


def test_mean_time_is_infinite_where_failure_may_never_come() -> None:
    h = np.zeros((2, 3, 3))
    h[..., 1] = 1
    stuck = SemiMarkov([[0, 0.5, 0.5], [0, 0, 0.9]], h)
    assert stuck.mean_time_to_failure(0) == np.inf
    apart = SemiMarkov([[0, 0, 1.0], [0, 1.0, 0]], h)
    assert apart.mean_time_to_failure("S1") == 1.0
    assert apart.mean_time_to_failure("S2") == np.inf
    assert apart.mean_time_to_failure([0.0, 0.0, 1.0]) == 0.0
    assert np.all(apart.reliability(1, 50) == 1.0)


def test_failing_start_and_horizon_zero() -> None:
    rng = np.random.default_rng(0)
    process = SemiMarkov(*drawn(rng, 2, 5, 12, at_once=False, loops=False))
    assert process.reliability("S5", 4).tolist() == [0.0] * 5
    assert process.reliability(0, 0).tolist() == [1.0]
    half = process.reliability([0.5, 0.0, 0.5, 0.0, 0.0], 3)
    assert half[0] == pytest.approx(0.5)


def test_a_thousand_hosts_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forestall.prediction.models.semi_markov.process.CHUNK", 20_000)
    rng = np.random.default_rng(2)
    made = [drawn(rng, 2, 5, 20, at_once=False, loops=False) for _ in range(50)]
    q, h = (np.stack(part) for part in zip(*made, strict=True))
    many = SemiMarkov(q.reshape(5, 10, 2, 5), h.reshape(5, 10, 2, 5, 20))
    found = many.reliability("S1", 70)
    assert found.shape == (5, 10, 71)
    one = SemiMarkov(q[37], h[37])
    np.testing.assert_allclose(found[3, 7], one.reliability("S1", 70), atol=1e-13)
    laws = rng.dirichlet(np.ones(5), size=(5, 10))
    mixed = many.reliability(laws, 70)
    np.testing.assert_allclose(mixed[3, 7], one.reliability(laws[3, 7], 70), atol=1e-13)
    np.testing.assert_allclose(many.reliability_of_each(70)[..., 0, :], found, atol=1e-13)
    means = many.mean_time_to_failure(1)
    assert means.shape == (5, 10)
    assert means[3, 7] == pytest.approx(float(one.mean_time_to_failure(1)))


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=80), st.integers(1, 150))
def test_series_are_inverted(series: list[float], terms: int) -> None:
    below = np.array([1.0, *(x / len(series) for x in series)])
    whole = product(inverse(below, terms), below, terms)
    np.testing.assert_allclose(whole, np.eye(1, terms)[0], atol=1e-12)
    above = np.array(series)
    np.testing.assert_allclose(
        product(quotient(above, below, terms), below, terms),
        np.append(above, np.zeros(terms))[:terms],
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("transition", "holding", "more", "word"),
    [
        ([[0.5, 0.6]], np.ones((1, 2, 1)), {"failing": [1]}, "transition"),
        ([[0.0, 1.0]], np.ones((1, 2, 2)), {"failing": [1]}, "holding"),
        ([[0.0, -1.0]], np.ones((1, 2, 1)), {"failing": [1]}, "transition"),
        ([[0.0, np.nan]], np.ones((1, 2, 1)), {"failing": [1]}, "transition"),
        ([[0.0, 1.0]], np.ones((1, 3, 1)), {"failing": [1]}, "holding"),
        ([[0.0, 1.0]], np.ones((1, 2, 1)), {}, "failing"),
        ([[0.0, 1.0]], np.ones((1, 2, 1)), {"failing": [2]}, "failing"),
        ([[0.0, 1.0]], np.ones((1, 2, 1)), {"failing": [1, 1]}, "failing"),
        ([[1.0, 0.0]], np.ones((1, 2, 1)), {"failing": [1]}, "holding"),
        ([0.0, 1.0], np.ones((1, 2, 1)), {"failing": [1]}, "transition"),
        ("words", np.ones((1, 2, 1)), {"failing": [1]}, "transition"),
        ([[0.0, 1.0]], np.ones((1, 2, 1)), {"failing": [1], "names": ["a"]}, "names"),
        (np.eye(3)[[1, 2, 0]], np.ones((3, 3, 0)), {}, "holding"),
    ],
)
def test_what_is_no_process(
    transition: object, holding: np.ndarray, more: dict[str, object], word: str
) -> None:
    with pytest.raises(ParameterError, match=word):
        SemiMarkov(transition, holding, **more)  # type: ignore[arg-type]


def test_bad_questions() -> None:
    h = np.zeros((2, 5, 3))
    h[..., 1] = 1
    process = SemiMarkov([[0, 1, 0, 0, 0], [0, 0, 1, 0, 0]], h)
    for initial in (5, -1, "S9", [0.5, 0.5], [0.5, 0, 0, 0, 0]):
        with pytest.raises(ParameterError, match="initial"):
            process.reliability(initial, 3)
    for horizon in (-1, 2.5, True):
        with pytest.raises(ParameterError, match="horizon"):
            process.reliability(0, horizon)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="runs"):
        process.simulate(0, 3, 0, np.random.default_rng(0))


def test_masses_are_taken_apart_again() -> None:
    rng = np.random.default_rng(8)
    q, h = drawn(rng, 2, 5, 12, at_once=False, loops=False)
    h /= h.sum(axis=-1, keepdims=True)
    process = SemiMarkov(q, h)
    np.testing.assert_allclose(process.transition, q)
    np.testing.assert_allclose(process.holding, np.where(q[..., None] > 0, h, 0))
    again = SemiMarkov.of_mass(process.kernel)
    np.testing.assert_array_equal(again.reliability(0, 30), process.reliability(0, 30))
