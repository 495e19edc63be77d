"""Measures by hand, and node-seconds against a table of what every node does in every second."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.world.sums import median, spread
from forestall.scheduling.simulation.measures import calibration, down_seconds, quality_of_service
from scheduling.simulation.cases import (
    CLASSIC,
    SHARES,
    Case,
    cases,
    promise_reference,
    result,
    run,
    runs_of,
)


def test_quality_of_service() -> None:
    # Work 10, 40, 50; the second is late.
    assert quality_of_service([10, 20, 25], [1, 2, 2], [1, 0, 1], [0.5, 1.0, 0.9]) == 0.5
    assert quality_of_service([7], [3], [True], [1.0]) == 1.0


def test_calibration() -> None:
    promise = np.array([0.0, 0.05, 0.1, 0.55, 0.59, 0.9, 1.0, 1.0])
    kept = np.array([0, 1, 1, 0, 1, 1, 1, 0])
    bins = calibration(promise, kept)
    assert [b["count"] for b in bins] == [2, 1, 0, 0, 0, 2, 0, 0, 0, 3]
    assert [(b["low"], b["high"]) for b in bins[:2]] == [(0.0, 0.1), (0.1, 0.2)]
    assert bins[0]["kept_share"] == 0.5
    assert bins[5]["promised_mean"] == pytest.approx(0.57)
    assert bins[9]["kept_share"] == pytest.approx(2 / 3)
    assert bins[2]["promised_mean"] is None
    assert bins[2]["kept_share"] is None


@pytest.mark.parametrize("tenth", range(10))
def test_a_promise_of_whole_tenths_lies_in_its_own_bin(tenth: int) -> None:
    # 0.3 is below 3 / 10 times 10 in floats for some; bins are [low, high).
    bins = calibration(np.array([tenth / 10]), np.array([1]))
    assert bins[tenth]["count"] == 1


INTEGERS = st.lists(st.integers(0, 5) | st.integers(0, 2**40), min_size=1, max_size=40)
REALS = st.lists(st.floats(1, 1e6), min_size=1, max_size=40)


@given(st.one_of(INTEGERS.map(np.array), REALS.map(np.array)))
def test_the_median_is_that_of_numpy_to_the_last_bit(values: np.ndarray) -> None:
    assert median(values) == float(np.median(values))


def test_spread() -> None:
    assert spread(np.arange(101)) == {"mean": 50.0, "median": 50.0, "p95": 95.0}


def test_waits_and_slowdowns() -> None:
    # One node: 0-10, 10-15 (submitted at 0), 15-115 (submitted at 5).
    found = result(
        Case([(0, 1, 10, 10), (0, 1, 5, 5), (5, 1, 100, 100)], [], 1), policy="fcfs"
    ).measures
    assert found["wait"] == spread(np.array([0, 10, 10]))
    assert found["response"] == spread(np.array([10, 15, 110]))
    # The bound: five seconds count as ten.
    assert found["bounded_slowdown"] == spread(np.array([1.0, 1.5, 1.1]))
    assert (found["makespan"], found["utilization"]) == (115, 1.0)
    assert (found["qos"], found["calibration"]) == (None, None)


def test_a_promise_that_is_broken() -> None:
    case = Case([(0, 1, 10, 10)], [(5, 0, 3, 0.4)], 1, 2, 100)
    found = result(case, accuracy=0.5, risk=0.5).measures
    assert (found["qos"], found["promises_kept"], found["brier"]) == (0.0, 0.0, pytest.approx(0.36))
    assert (found["lost_work"], found["restarts"], found["failures_hit"]) == (5, 1, 1)
    assert found["promises_below_wanted"] == 0
    # 0-5 lost, 5-8 down, 8-18 useful.
    assert found["node_seconds"] == {
        "useful": 10, "lost": 5, "checkpoint_overhead": 0, "idle": 0, "down": 3, "total": 18,
    }  # fmt: skip
    assert found["utilization"] == 10 / 18


@settings(max_examples=150)
@given(
    cases(),
    SHARES,
    st.sampled_from(["promise", *CLASSIC]),
    st.sampled_from(["risk", "none", "periodic"]),
)
def test_node_seconds(case: Case, accuracy: float, policy: str, checkpoint: str) -> None:
    found = result(case, accuracy=accuracy, risk=0.5, policy=policy, checkpoint=checkpoint)
    outcome = found.outcome
    first, last = case.jobs[0][0], int(outcome.jobs["finish"].max())
    state = np.zeros((case.nodes, last - first), dtype=np.int8)  # 0 idle, 1 busy, 2 down
    for time, node, down in found.failures.select("time", "node", "downtime").iter_rows():
        state[node, max(time - first, 0) : max(time + down - first, 0)] = 2
    assert down_seconds(outcome, first, last) == int((state == 2).sum())
    for row in runs_of(outcome):
        for node in row.nodes:
            assert not state[node, row.start - first : row.end - first].any()
            state[node, row.start - first : row.end - first] = 1
    account = found.measures["node_seconds"]
    busy = account["useful"] + account["lost"] + account["checkpoint_overhead"]
    assert busy == int((state == 1).sum())
    assert account["idle"] == int((state == 0).sum())
    assert account["total"] == state.size
    assert account["checkpoint_overhead"] >= 0


@settings(max_examples=60)
@given(cases(), SHARES, SHARES)
def test_qos_and_utilization_of_the_reference(case: Case, accuracy: float, risk: float) -> None:
    found = result(case, accuracy=accuracy, risk=risk)
    reference = promise_reference(case, accuracy=accuracy, risk=risk)
    assert found.qos == pytest.approx(reference.qos, rel=1e-12)
    assert found.utilization == pytest.approx(reference.utilization, rel=1e-12)
    assert found.lost_work == reference.lost_work


def test_overlapping_outages_count_once() -> None:
    # Node 0 down 2-7 and 4-6 and 5-9; node 1 down 8-20, of which 8-11 lies within the run.
    hits = [(2, 0, 5, 0.5), (4, 0, 2, 0.5), (5, 0, 4, 0.5), (8, 1, 12, 0.5)]
    outcome = run(Case([(0, 1, 11, 11)], hits, 3), policy="fcfs", accuracy=1.0)
    assert down_seconds(outcome, 0, 11) == 7 + 3
    assert down_seconds(outcome, 6, 9) == 3 + 1
