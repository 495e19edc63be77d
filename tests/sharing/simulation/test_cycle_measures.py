"""Measures of a run of cycle sharing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.cycle import FATE, MILLION, Fate, StayEnd
from forestall.sharing.simulation import measures as m
from forestall.sharing.simulation.outcome import CycleOutcome
from sharing.simulation import cycle_by_hand as by_hand

whole = st.integers(-(2**62), 2**62)


def test_a_run_by_hand() -> None:
    found = m.measures(by_hand.scratch())
    assert found.keys() == by_hand.MEASURES.keys()
    for name, value in by_hand.MEASURES.items():
        if name == "by_length":
            for one, other in zip(found[name], value, strict=True):
                assert one == pytest.approx(other)
        else:
            assert found[name] == pytest.approx(value), name


def test_checkpoints() -> None:
    found = m.measures(by_hand.checkpoints())
    assert (found["makespan"], found["stretch"]) == (170.0, 170 / 95)
    assert (found["failures_per_job"], found["checkpoints"]) == (2.0, 11)
    assert (found["useful_work"], found["lost_work"], found["unfinished_work"]) == (95.0, 1.0, 0.0)
    # 40 s free, 10 s of a tenth, 40 s free, 10 s without a sample, 40 s free.
    assert found["offered_work"] == 121.0
    assert found["occupied"] == 1.0
    assert found["unavailable"] == {"s3": 1, "s4": 0, "s5": 1}
    assert found["origin"] == 1_000_000
    assert found["makespan_interval"] is found["failures_per_job_interval"] is None


def test_nothing_was_done() -> None:
    outcome = by_hand.scratch()
    fates = outcome.jobs.copy()
    fates["start"] = fates["finish"] = -1
    fates["outcome"] = Fate.UNSCHEDULED
    fates["failures"] = 0
    none = replace(outcome, jobs=fates, stays=outcome.stays[:0])
    found = m.measures(none)
    for name in ("makespan", "makespan_median", "makespan_p95", "stretch", "wait"):
        assert found[name] is None, name
    assert found["makespan_interval"] is found["failures_per_job_interval"] is None
    assert (found["failures_per_job"], found["harvested"], found["occupied"]) == (0.0, 0.0, 0.0)
    assert found["unscheduled_share"] == 1.0


def falcon(chances: list[int], ends: list[StayEnd]) -> CycleOutcome:
    outcome = by_hand.scratch()
    stays = np.zeros(len(chances), dtype=outcome.stays.dtype)
    stays["promise"], stays["ended"], stays["chance"] = chances, ends, 500_000
    parameters = outcome.parameters.model_copy(update={"scheduler": "falcon"})
    return replace(outcome, stays=stays, parameters=parameters)


def test_promises() -> None:
    done, away, cut = StayEnd.COMPLETED, StayEnd.AWAY, StayEnd.UNFINISHED
    chances = [900_000, 1_000_000, 250_000, 200_000, 299_999, 0, 500_000]
    found = m.promises(falcon(chances, [done, done, away, done, away, away, cut]))
    assert (found["stays_promised"], found["kept_share"]) == (6, 0.5)
    assert found["promised_mean"] == pytest.approx(2.649999 / 6)
    squares = (0.1**2, 0.0, 0.25**2, 0.8**2, 0.299999**2, 0.0)
    assert found["brier"] == pytest.approx(sum(squares) / 6)
    assert (found["foreseen_mean"], found["foreseen_brier"]) == (0.5, 0.25)
    rows = found["calibration"]
    assert [row["stays"] for row in rows] == [1, 0, 3, 0, 0, 0, 0, 0, 0, 2]
    assert rows[2]["said"] == pytest.approx(0.749999 / 3)
    assert (rows[2]["low"], rows[2]["high"], rows[2]["kept"]) == (0.2, 0.3, 1 / 3)
    assert rows[1]["said"] is rows[1]["kept"] is None
    assert (rows[9]["said"], rows[9]["kept"]) == (0.95, 1.0)


def test_promises_without_any() -> None:
    found = m.promises(falcon([], []))
    assert found["stays_promised"] == 0
    assert found["promised_mean"] is found["kept_share"] is found["brier"] is None
    assert set(m.promises(by_hand.scratch()).values()) == {None}


def test_intervals_over_days() -> None:
    # 20 days of two jobs each, alike within a day: as wide as if there were 20 jobs.
    day = np.repeat(np.arange(20), 2)
    over, unit = m.units_of(day * 86_400 + 5)
    assert over == "days"
    assert unit.tolist() == day.tolist()
    values = day % 2 * 10
    low, high = m.interval(values, unit)
    half = 2.093024054408263 * math.sqrt(25 / 19)  # t of 19 degrees; variance 25 x 20 / 19, of 20
    assert (low, high) == pytest.approx((5 - half, 5 + half))
    jobs = m.interval(values, np.arange(40))
    assert jobs is not None
    assert jobs[1] - jobs[0] < high - low
    assert m.units_of(day[:-2] * 86_400)[0] == "jobs"


def test_no_interval() -> None:
    one = np.array([3])
    assert m.interval(one, one) is None
    assert m.interval(np.array([3, 3, 3]), np.arange(3)) is None
    assert m.interval(np.array([3, 4, 5]), np.zeros(3, dtype=np.int64)) is None


@given(st.lists(whole))
def test_sums_are_exact(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert m.exact_sum(array) == sum(values)
    if values:
        assert m.mean(array) == float(Fraction(sum(values), len(values)))


@pytest.mark.parametrize("lengths", [[60, 3600, 3601, 7200, 7201], list(range(600, 20_000, 100))])
def test_classes_of_lengths(lengths: list[int]) -> None:
    runtime = np.array(lengths, dtype=np.int64)
    classes = m.length_classes(runtime)
    if len(lengths) <= m.FEW_LENGTHS:
        assert classes.tolist() == lengths
        return
    for length, number in zip(lengths, classes.tolist(), strict=True):
        assert 3600 * 2.0 ** (number - 1) < length <= 3600 * 2.0**number


def test_by_length_in_classes() -> None:
    outcome = by_hand.scratch()
    jobs = outcome.workload.jobs
    many = np.repeat(np.arange(5), 4)
    runtime = 1800 + np.arange(20) * 100  # to 3700
    workload = replace(
        outcome.workload,
        jobs=replace(
            jobs, job=np.arange(20), submit=np.sort(jobs.submit[many]), size=np.ones(20, np.int64),
            runtime=runtime, estimate=runtime,
        ),
        work=runtime * MILLION,
    )  # fmt: skip
    fates = np.zeros(20, dtype=FATE)
    fates["outcome"] = Fate.UNSCHEDULED
    fates["outcome"][:2] = Fate.COMPLETED
    fates["finish"] = 5000
    rows = m.by_length(replace(outcome, workload=workload, jobs=fates))
    told = [
        (row["shortest"], row["longest"], row["jobs"], row["unscheduled_share"]) for row in rows
    ]
    assert told == [(1800, 1800, 1, 0.0), (1900, 3600, 18, 17 / 18), (3700, 3700, 1, 1.0)]
    assert rows[1]["length"] == 2750.0
