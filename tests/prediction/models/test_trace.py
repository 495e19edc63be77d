"""The trace predictor against its definition."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.prediction.models.base import KnowsOutages, Predictor
from forestall.prediction.models.trace import TracePredictor

Row = tuple[int, int, float]
ROWS = st.lists(
    st.tuples(st.integers(0, 50), st.integers(0, 4), st.sampled_from([0.05, 0.2, 0.5, 0.7, 0.95])),
    max_size=15, unique_by=lambda r: r[:2],
)  # fmt: skip
SHARE = st.sampled_from([0.0, 0.2, 0.5, 0.6, 0.95, 1.0])
NODES = st.lists(st.integers(0, 5), max_size=6, unique=True)


def fitted(rows: list[Row], accuracy: float, extra: int = -1) -> tuple[TracePredictor, list[Row]]:
    """Return the predictor and what it should know of, in order of (time, node)."""
    predictor = TracePredictor(accuracy)
    time, node, draw = zip(*rows, strict=True) if rows else ((), (), ())
    log = Failures.build(time, node, detectability=draw)
    predictor.fit(log)
    period = log.span + extra if extra >= 0 and rows else 0
    predictor.repeat(period)
    copies = range(300 // period + 1) if period else range(1)
    known = [(t + k * period, n, d) for k in copies for t, n, d in sorted(rows) if d <= accuracy]
    return predictor, known


@settings(max_examples=200)
@given(ROWS, SHARE, st.integers(-1, 4), NODES, st.integers(-5, 150), st.integers(0, 80))
def test_definition(
    rows: list[Row], accuracy: float, extra: int, nodes: list[int], start: int, length: int
) -> None:
    predictor, known = fitted(rows, accuracy, extra)
    within = [row for row in known if start <= row[0] < start + length]
    numbers = np.array(nodes, dtype=np.int64)
    each = [next((d for _, m, d in within if m == n), 0.0) for n in nodes]
    assert predictor.failure_probability(numbers, start, start + length).tolist() == each
    together = next((d for _, m, d in within if m in nodes), 0.0)
    assert predictor.partition_failure_probability(numbers, start, start + length) == together
    assert max([together, *each]) <= accuracy
    predictor.update(start, 0)
    waits = [
        min((t - start for t, m, _ in known if m == n and t >= start), default=math.inf)
        for n in nodes
    ]
    assert predictor.time_to_failure(numbers).tolist() == waits
    later = [t for t, _, _ in known if t >= start]
    assert predictor.next_predicted_failure(start) == min(later, default=None)


@given(ROWS, NODES, st.integers(0, 50), st.integers(0, 20), st.integers(0, 20))
def test_what_is_foreseen_grows_with_accuracy_and_window(
    rows: list[Row], nodes: list[int], start: int, length: int, more: int
) -> None:
    numbers = np.array(nodes, dtype=np.int64)
    wider = (start, start + length + more)
    for low, high in ((0.2, 0.5), (0.5, 1.0)):
        less, _ = fitted(rows, low)
        full, _ = fitted(rows, high)
        short = less.failure_probability(numbers, start, start + length)
        assert not bool((short > 0)[full.failure_probability(numbers, *wider) == 0].any())
        # Each node's first failure stands for it, so a longer window never changes an answer.
        same = less.failure_probability(numbers, *wider)
        assert bool((same[short > 0] == short[short > 0]).all())


@settings(max_examples=200)
@given(
    ROWS, SHARE, st.integers(-1, 4), NODES, st.integers(0, 120), st.integers(0, 90),
    st.integers(1, 60), st.integers(0, 10**6),
)  # fmt: skip
def test_what_disrupts_a_job(
    rows: list[Row], accuracy: float, extra: int, nodes: list[int],
    now: int, wait: int, length: int, seed: int,
) -> None:  # fmt: skip
    """A failure from now on that comes while the job runs, or leaves the node down at its start;
    each lasts as long as it lasts."""
    predictor, _ = fitted(rows, accuracy, extra)
    assert isinstance(predictor, KnowsOutages)
    rng = np.random.default_rng(seed)
    log = predictor.failures
    down = rng.integers(1, 40, len(log))
    predictor.failures = replace(log, downtime=down)
    period = predictor._period
    copies = range(600 // period + 1) if period else range(1)
    known = [
        (t + k * period, t + k * period + int(d), n, p)
        for k in copies
        for t, d, n, p in zip(
            log.time.tolist(), down, log.node.tolist(), log.detectability.tolist(), strict=True
        )
    ]
    start, end = now + wait, now + wait + length
    predictor.advance(now)
    met = [row for row in known if now <= row[0] < end and row[1] > start]
    numbers = np.array(nodes, dtype=np.int64)
    each = [next((p for _, _, m, p in met if m == n), 0.0) for n in nodes]
    assert predictor.disruption_probability(numbers, start, end).tolist() == each
    together = next((p for _, _, m, p in met if m in nodes), 0.0)
    assert predictor.partition_disruption_probability(numbers, start, end) == together
    for node in nodes:
        first = next((t for t, _, m, _ in met if m == node), None)
        assert predictor.first_disruption(node, start, end) == first
    back = min((u for t, u, _, _ in known if t >= now and u >= start), default=None)
    assert predictor.next_predicted_recovery(start) == back


def test_share_of_false_negatives() -> None:
    rng = np.random.default_rng(3)
    log = Failures.build(np.arange(20_000), np.zeros(20_000), detectability=rng.random(20_000))
    predictor = TracePredictor(0.7)
    predictor.fit(log)
    missed = sum(
        predictor.partition_failure_probability(np.array([0]), t, t + 1) == 0 for t in range(20_000)
    )
    assert missed / 20_000 == pytest.approx(0.3, abs=0.015)


def test_time_never_goes_back() -> None:
    predictor, _ = fitted([(10, 0, 0.2), (30, 0, 0.2)], 1.0)
    predictor.update(20, 1)
    predictor.update(5, 1)
    assert predictor.time_to_failure(np.array([0, 1])).tolist() == [10, math.inf]
    assert isinstance(predictor, Predictor)


@pytest.mark.parametrize("accuracy", [-0.1, 1.1, math.nan, math.inf])
def test_accuracy_is_a_share(accuracy: float) -> None:
    with pytest.raises(ParameterError, match="accuracy"):
        TracePredictor(accuracy)


def test_before_it_is_fitted_it_foresees_nothing() -> None:
    predictor = TracePredictor()
    assert predictor.failure_probability(np.arange(3), 0, 10**9).tolist() == [0, 0, 0]
    assert predictor.next_predicted_failure(0) is None
