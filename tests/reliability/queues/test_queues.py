"""Queues: Tables 3 and 4 of the paper, both the consistent way and the paper's way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.queues.queues import (
    Queue,
    RunTimes,
    ended_jobs,
    job_failure,
    move_nodes,
    queue_failure,
    resized,
)
from forestall.reliability.systems.systems import from_mttf

MTTF = 102_840.0
TABLE_3 = (
    Queue("Huge", 258, 48.0, 2),
    Queue("Big", 130, 48.0, 4),
    Queue("Medium", 65, 72.0, 4),
    Queue("Small", 5, 240.0, 4),
    Queue("Interactive", 516, 1.0, 2),
)
PRINTED = lifetime("weibull", shape=0.75, scale=from_mttf(MTTF, 0.7).params["scale"])
"""The law that the printed Weibull column comes from: theta at shape 0.7, the exponent 0.75."""
CONSISTENT = from_mttf(MTTF, 0.75)
TABLE_4 = (Queue("Largeq", 32, 12.0), Queue("Smallq", 14, 24.0), Queue("Single", 1, 96.0))


def column(queues: tuple[Queue, ...], law: Lifetime) -> list[float]:
    """Return the failure rates of the queues, %."""
    return [100 * queue_failure(queue, law) for queue in queues]


def overall(queues: tuple[Queue, ...], law: Lifetime) -> float:
    """Return F_job, %."""
    return 100 * job_failure(queues, [queue_failure(queue, law) for queue in queues])


def test_table_3_exponential() -> None:
    found = column(TABLE_3, from_mttf(MTTF))
    assert found == pytest.approx([11.35, 5.89, 4.45, 1.16, 0.50], abs=0.01)  # printed last: 0.13


def test_table_3_weibull_as_printed() -> None:
    found = column(TABLE_3, PRINTED)
    assert found == pytest.approx([62.38, 38.90, 28.40, 6.10, 10.10], abs=0.075)
    assert found[:2] == pytest.approx([62.38, 38.90], abs=0.005)
    assert overall(TABLE_3, PRINTED) == pytest.approx(12.68, abs=0.005)


def test_table_3_weibull_consistent() -> None:
    found = column(TABLE_3, CONSISTENT)
    assert found == pytest.approx([60.70, 37.53, 27.30, 5.87, 9.73], abs=0.005)
    assert overall(TABLE_3, CONSISTENT) == pytest.approx(12.17, abs=0.005)


def test_nodes_moved_from_interactive() -> None:
    moved = move_nodes(TABLE_3, "Interactive", {"Huge": 194, "Big": 194})
    assert [queue.nodes for queue in moved] == [452, 324, 65, 5, 128]
    assert overall(moved, PRINTED) == pytest.approx(7.39, abs=0.005)
    assert overall(moved, CONSISTENT) == pytest.approx(7.16, abs=0.005)


def test_table_4_exponential() -> None:
    law = from_mttf(562.06)
    assert column(TABLE_4, law) == pytest.approx([49.5, 45.0, 15.7], abs=0.05)
    assert 100 - overall(TABLE_4, law) == pytest.approx(54.5, abs=0.05)  # as the text says
    cut = (Queue("Largeq", 25, 6.0), *TABLE_4[1:])
    assert column(cut, law)[0] == pytest.approx(23.4, abs=0.05)
    assert 100 - overall(cut, law) == pytest.approx(72.8, abs=0.05)


def test_table_4_weibull() -> None:
    """The printed 83.3 % and, after the cut, 56.4 % and 42 % come out with the mean taken as the
    scale at shape 0.75; then the other rows are 73.2 and 23.3 %, not the printed 22.3 and 7.0."""
    law = lifetime("weibull", shape=0.75, scale=562.06)
    assert column(TABLE_4, law) == pytest.approx([83.3, 73.15, 23.33], abs=0.05)
    cut = (Queue("Largeq", 25, 6.0), *TABLE_4[1:])
    assert column(cut, law)[0] == pytest.approx(56.4, abs=0.05)
    assert 100 - overall(cut, law) == pytest.approx(42.0, abs=0.05)


@given(
    st.integers(1, 2000), st.floats(0.1, 500), st.sampled_from([0.5, 0.75, 1.0, 2.0]),
    st.sampled_from(["new", "steady", 1000.0]),
)  # fmt: skip
def test_more_nodes_or_time_fail_more(nodes: int, limit: float, shape: float, age: str) -> None:
    law = from_mttf(MTTF, shape)
    small = queue_failure(Queue("q", nodes, limit), law, age=age)  # type: ignore[arg-type]
    for queue in (Queue("q", nodes + 1, limit), Queue("q", nodes, limit * 1.1)):
        assert queue_failure(queue, law, age=age) >= small  # type: ignore[arg-type]
    assert 0 <= small <= 1


def test_failures_hold_for_tiny_chances() -> None:
    found = queue_failure(Queue("q", 1, 1e-6), from_mttf(MTTF))
    assert found == pytest.approx(1e-6 / MTTF, rel=1e-9)


def test_runs_shorter_than_the_limit() -> None:
    queue, law = Queue("q", 100, 48.0, 3), from_mttf(MTTF, 0.75)
    runs = RunTimes(np.array([1.0, 10.0, 100.0]), np.array([2.0, 1.0, 1.0]))
    fails = [1 - float(law.sf(t)) ** 100 for t in (1.0, 10.0, 48.0)]
    found = queue_failure(queue, law, runs=runs)
    assert found == pytest.approx(0.5 * fails[0] + 0.25 * fails[1] + 0.25 * fails[2])
    assert ended_jobs(queue) == 3 / 48
    assert ended_jobs(queue, {"q": runs}) == pytest.approx(3 / (0.5 + 2.5 + 12))
    full = RunTimes(np.array([48.0]), np.array([1.0]))
    assert queue_failure(queue, law, runs=full) == pytest.approx(queue_failure(queue, law))


def test_weights_of_f_job_follow_the_run_times() -> None:
    queues = (Queue("a", 10, 10.0), Queue("b", 10, 10.0))
    short = {"a": RunTimes(np.array([1.0]), np.array([1.0]))}
    assert job_failure(queues, [1.0, 0.0]) == pytest.approx(0.5)
    assert job_failure(queues, [1.0, 0.0], short) == pytest.approx(10 / 11)


def test_run_times_within_a_limit() -> None:
    runs = RunTimes(np.array([1.0, 2.0, 8.0]), np.array([1.0, 1.0, 2.0]))
    assert runs.mean() == pytest.approx(4.75)
    assert runs.within(4.0).mean() == pytest.approx(1.5)
    assert runs.within(4.0, beyond="cut").mean() == pytest.approx(2.75)
    with pytest.raises(ParameterError, match="shortest job"):
        runs.within(0.5)
    with pytest.raises(ParameterError, match="refused or cut"):
        runs.within(4.0, beyond="killed")


def test_durations_and_mixes() -> None:
    assert Queue("q", 1, "2-00:00:00").limit == 172_800  # type: ignore[arg-type]
    queue = Queue("q", 7, 1.0, mix={"a": 5, "b": 2})  # type: ignore[arg-type]
    assert resized(queue, 3).mix == (("a", 2), ("b", 1))
    assert resized(queue, 70).mix == (("a", 50), ("b", 20))


@pytest.mark.parametrize(
    ("nodes", "limit", "slots", "named"),
    [
        (0, 1.0, 1, "nodes"), (2.5, 1.0, 1, "nodes"), (1, 0.0, 1, "limit"),
        (1, math.inf, 1, "limit"), (1, math.nan, 1, "limit"), (1, "soon", 1, "limit"),
        (1, 1.0, 0, "slots"), (True, 1.0, 1, "nodes"),
    ],
)  # fmt: skip
def test_queues_that_cannot_be(nodes: int, limit: float, slots: int, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        Queue("q", nodes, limit, slots)


def test_moves_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="one of Huge"):
        move_nodes(TABLE_3, "Tiny", {"Huge": 1})
    with pytest.raises(ParameterError, match="fewer than the 5"):
        move_nodes(TABLE_3, "Small", {"Huge": 5})
    with pytest.raises(ParameterError, match="add up to 3"):
        Queue("q", 3, 1.0, mix=(("a", 1),))
    with pytest.raises(ParameterError, match="weights"):
        RunTimes(np.array([1.0]), np.array([0.0]))
