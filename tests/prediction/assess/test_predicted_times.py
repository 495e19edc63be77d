"""Predicted times beside the failures that came, against a plain walk through time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual import FAR
from forestall.prediction.assess.predicted_times import score


def table(rows: list[tuple[int, int, int]]) -> Predictions:
    if not rows:
        return Predictions.none()
    import numpy as np

    known, node, expected = zip(*sorted(rows, key=lambda row: row[:2]), strict=True)
    return Predictions(*(np.array(c, dtype=np.int64) for c in (known, node, expected)))  # type: ignore[arg-type]


def test_by_hand() -> None:
    # Node 0 fails at 100 (told of 60), 300 (told late, of 350) and 400 (told of nothing).
    rows = [(0, 0, 60), (100, 0, 150), (200, 0, 350), (300, 0, FAR), (50, 1, 80), (120, 1, FAR)]
    found = score(table(rows), Failures.build([100, 300, 400], [0, 0, 0]), start=0, end=500)
    assert (found.failures, found.early, found.late, found.missed) == (3, 1 / 3, 1 / 3, 1 / 3)
    assert found.lead == 40
    assert found.error == pytest.approx((40 / 100 + 50 / 200) / 2)
    assert found.accuracy == pytest.approx(1 - 0.325)
    assert found.floored == found.accuracy
    assert found.first_error == pytest.approx((40 / 100 + 150 / 200) / 2)
    assert found.first_late == 0
    # Left at 60 (failure at 100), at 150 (another told at 200), node 1 at 80 (until 120).
    assert (found.alarms, found.false_alarms) == (3, 2)
    assert found.doubtful == 40 + 50 + 40
    early = score(
        table(rows), Failures.build([100, 300, 400], [0, 0, 0]), start=0, end=500, lead=50
    )
    # The time of 350, due at 300, came with the failure: as the failure comes first, no alarm.
    assert (early.alarms, early.doubtful) == (3, 90 + 100 + 70)


def test_at_one_second_the_failure_comes_before_a_new_prediction() -> None:
    log = Failures.build([50, 50, 80], [0, 0, 0])
    found = score(table([(0, 0, 40), (50, 0, 45), (50, 0, 70), (80, 0, 90)]), log, start=0, end=95)
    assert (found.early, found.missed) == (2 / 3, 1 / 3)
    assert found.error == pytest.approx((10 / 50 + 10 / 30) / 2)
    assert found.first_error == pytest.approx((10 / 50 + 10 / 30) / 2)
    assert (found.alarms, found.false_alarms, found.doubtful) == (3, 1, 10 + 10 + 5)


def test_nothing_to_judge() -> None:
    found = score(Predictions.none(), Failures.none())
    assert (found.failures, found.alarms, found.doubtful) == (0, 0, 0)
    assert (found.early, found.error, found.floored, found.first_late) == (None,) * 4
    found = score(Predictions.none(), Failures.build([5], [0]))
    assert (found.early, found.late, found.missed, found.lead) == (0, 0, 1, None)
    found = score(table([(0, 0, 5)]), Failures.none(), end=9)
    assert (found.missed, found.alarms, found.false_alarms, found.doubtful) == (None, 1, 1, 4)


def test_what_cannot_be() -> None:
    log = Failures.build([5], [0])
    with pytest.raises(ParameterError, match="start: 6 is not allowed; expected a time of at most"):
        score(Predictions.none(), log, start=6)
    with pytest.raises(ParameterError, match="lead: -1"):
        score(Predictions.none(), log, lead=-1)


moments = st.integers(0, 30)
nodes = st.integers(0, 2)
some_rows = st.lists(st.tuples(moments, nodes, st.integers(-5, 60) | st.just(FAR)), max_size=14)
some_failures = st.lists(st.tuples(moments, nodes), max_size=8)


@given(some_rows, some_failures, st.integers(0, 4), st.integers(0, 35))
def test_a_walk_through_time(
    rows: list[tuple[int, int, int]], failures: list[tuple[int, int]], lead: int, end: int
) -> None:
    told = table(rows)
    log = Failures.build(*zip(*failures, strict=True)) if failures else Failures.none()
    found = score(told, log, start=0, end=end, lead=lead)
    early = late = missed = alarms = false = doubtful = first_late = forecasts = 0
    errors, firsts, leads = [], [], []
    for node in range(3):
        force: int | None = None  # in force now
        first: int | None = None  # said first in this gap
        left, since = False, 0
        for now in range(end + 1):
            for time, one in sorted(failures):
                if (time, one) != (now, node):
                    continue
                if force is None:
                    missed += 1
                else:
                    early, late = early + (force <= now), late + (force > now)
                    if force <= now:
                        leads.append(now - force)
                    if now > since:
                        errors.append(abs(force - now) / (now - since))
                if first is not None and first < FAR:
                    firsts.append(abs(first - now) / (now - since))
                    forecasts, first_late = forecasts + 1, first_late + (first > now)
                force, first, left, since = None, None, False, now
            made = [
                p
                for k, n, p in zip(told.known, told.node, told.expected, strict=True)
                if (k, n) == (now, node)
            ]
            if made:
                false += left
                force = None if made[-1] == FAR else int(made[-1])
                first = int(made[-1]) if first is None else first
                left = False
            # In force over [now, now + 1): the end closes it.
            if now < end and force is not None and max(force - lead, 0) <= now and not left:
                alarms, left = alarms + 1, True
            doubtful += left and now < end
        false += left
    whole = early + late + missed
    assert found.failures == whole
    if whole:
        assert found.early == pytest.approx(early / whole)
        assert found.late == pytest.approx(late / whole)
        assert found.missed == pytest.approx(missed / whole)
    assert (found.alarms, found.false_alarms, found.doubtful) == (alarms, false, doubtful)
    mean = sum(errors) / len(errors) if errors else None
    assert found.error == (None if mean is None else pytest.approx(mean))
    said = sum(firsts) / len(firsts) if firsts else None
    assert found.first_error == (None if said is None else pytest.approx(said))
    assert found.first_late == (pytest.approx(first_late / forecasts) if forecasts else None)
    assert (found.lead is None) == (not leads)
