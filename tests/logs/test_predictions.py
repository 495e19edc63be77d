"""Synthetic, recorded and perfect predictions: numbers by hand, the law, what stays the same."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual import FAR
from forestall.core.streams import stream
from forestall.logs.given import failures_of
from forestall.logs.predictions import perfect, recorded, synthetic

Row = tuple[int, int, int]

moments = st.tuples(st.integers(0, 400), st.integers(0, 4))
logs = st.lists(moments, min_size=1, max_size=12).map(
    lambda rows: Failures.build(*zip(*rows, strict=True))
)
long_logs = st.lists(
    st.tuples(st.integers(0, 2**35), st.integers(0, 3)), min_size=1, max_size=8
).map(lambda rows: Failures.build(*zip(*rows, strict=True)))
accuracies = st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 0.765, 1.0, 5e-324])


def rows(predictions: Predictions) -> list[Row]:
    columns = (predictions.known, predictions.node, predictions.expected)
    return list(zip(*(c.tolist() for c in columns), strict=True))


def plain(
    log: Failures, accuracy: float, error: str, share: float, seed: int, start: int
) -> list[Row]:
    """Return the rows as the rules are written, in exact fractions."""
    u = stream(seed, "predictions", "error").random(len(log))
    v = stream(seed, "predictions", "missed").random(len(log))
    last: dict[int, int] = {}
    made = []
    for k, (time, node) in enumerate(zip(log.time.tolist(), log.node.tolist(), strict=True)):
        since = last.get(node, start)
        last[node] = time
        wrong, draw = 1 - Fraction(accuracy), Fraction(float(u[k]))
        eps = 2 * wrong * draw if error == "early" else wrong * (4 * draw - 2)
        if time > since and not v[k] < share:
            made.append((since, node, math.floor(since + (time - since) * (1 - eps))))
    return sorted(made, key=lambda row: row[:2])


def test_by_hand() -> None:
    log = Failures.build([100, 300, 300, 1000], [1, 0, 1, 1])
    u = stream(5, "predictions", "error").random(4)
    found = synthetic(log, accuracy=0.75, seed=5, start=20)
    assert rows(found) == [
        (20, 0, math.floor(20 + 280 * (1 - u[1] / 2))),
        (20, 1, math.floor(20 + 80 * (1 - u[0] / 2))),
        (100, 1, math.floor(100 + 200 * (1 - u[2] / 2))),
        (300, 1, math.floor(300 + 700 * (1 - u[3] / 2))),
    ]
    both = synthetic(log, accuracy=0.75, error="two-sided", seed=5, start=20)
    assert rows(both)[3] == (300, 1, math.floor(300 + 700 * (1 - (u[3] - 0.5))))
    assert rows(perfect(log, start=20)) == [
        (20, 0, 300),
        (20, 1, 100),
        (100, 1, 300),
        (300, 1, 1000),
    ]
    assert "0.75" in found.name


def test_the_numbers_do_not_change_between_releases() -> None:
    log = Failures.build([1000, 2000, 5000], [0, 1, 0])
    found = synthetic(log, accuracy=0.5, seed=1)
    assert rows(found) == [(0, 0, FIRST[0]), (0, 1, FIRST[1]), (1000, 0, FIRST[2])]


FIRST = [497, 1214, 1314]


@given(
    logs | long_logs,
    accuracies,
    st.sampled_from(["early", "two-sided"]),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.integers(0, 3),
    st.integers(-50, 0),
)
def test_the_plain_rules(
    log: Failures, accuracy: float, error: str, share: float, seed: int, start: int
) -> None:
    found = synthetic(
        log, accuracy=accuracy, error=error, false_negatives=share, seed=seed, start=start
    )
    assert rows(found) == plain(log, accuracy, error, share, seed, start)


@given(logs, accuracies, st.integers(0, 9))
def test_early_predictions_never_come_after_the_failure(
    log: Failures, accuracy: float, seed: int
) -> None:
    for known, node, expected in rows(synthetic(log, accuracy=accuracy, seed=seed)):
        later = log.time[(log.node == node) & (log.time > known)]
        assert expected <= later[0]
        assert accuracy < 0.5 or expected >= known


@given(logs, st.sampled_from(["early", "two-sided"]))
def test_full_accuracy_is_the_truth(log: Failures, error: str) -> None:
    assert rows(synthetic(log, accuracy=1, error=error)) == rows(perfect(log, start=0))


@given(logs, st.floats(0.1, 0.9), st.floats(0.05, 0.95))
def test_what_is_drawn_does_not_depend_on_the_parameters(
    log: Failures, accuracy: float, share: float
) -> None:
    one, half = synthetic(log, accuracy=accuracy), synthetic(log, accuracy=(1 + accuracy) / 2)
    assert (one.known.tolist(), one.node.tolist()) == (half.known.tolist(), half.node.tolist())
    truth = perfect(log, start=0).expected
    # Half the error at the same draw is half the time before the failure, but for the floors.
    assert np.all(np.abs((truth - one.expected) - 2 * (truth - half.expected)) <= 2)
    some = synthetic(log, accuracy=accuracy, false_negatives=share)
    assert set(rows(some)) <= set(rows(one))


def test_the_mean_error_is_one_less_the_accuracy() -> None:
    count, gap = 20_000, 10**6
    log = Failures.build(np.full(count, gap), np.arange(count))
    for accuracy in (0.0, 0.4, 0.765):
        for error in ("early", "two-sided"):
            found = synthetic(log, accuracy=accuracy, error=error)  # type: ignore[arg-type]
            off = (gap - found.expected) / gap
            mean = 1 - accuracy if error == "early" else 0.0
            # Uniform on a width of 2 (1 - A), or 4 (1 - A): four standard errors.
            width = (1 - accuracy) * (2 if error == "early" else 4)
            assert abs(off.mean() - mean) < 4 * width / math.sqrt(12 * count)
            assert off.max() - off.min() == pytest.approx(width, rel=0.01)
            assert error == "early" or abs(np.abs(off).mean() - (1 - accuracy)) < 0.02
    some = synthetic(log, accuracy=0.5, false_negatives=0.3)
    assert abs(len(some) / count - 0.7) < 4 * math.sqrt(0.21 / count)
    assert len(synthetic(log, accuracy=0.5, false_negatives=1)) == 0


@given(logs)
def test_order(log: Failures) -> None:
    for found in (synthetic(log, accuracy=0.5), perfect(log, start=-5)):
        keys = [row[:2] for row in rows(found)]
        assert keys == sorted(keys)


def test_failures_that_nothing_can_foresee_have_no_prediction() -> None:
    # In the first second of all, and twice in one second: there is no time before to tell of it.
    log = Failures.build([10, 50, 50, 90], [0, 1, 1, 1])
    assert rows(perfect(log, start=10)) == [(10, 1, 50), (50, 1, 90)]
    told = replace(log, predicted=np.array([9, 40, 45, 80]))
    assert rows(recorded(told, start=10)) == [(10, 1, 40), (50, 1, 80)]


def test_recorded_times_stand_as_they_are() -> None:
    log = Failures.build([100, 200, 300, 400], [0, 0, 1, 1], predicted=[90, 250, FAR, -5])
    found = recorded(log, start=0)
    assert rows(found) == [(0, 0, 90), (100, 0, 250), (300, 1, -5)]
    assert "log" in found.name
    with pytest.raises(ParameterError, match="no column predicted"):
        recorded(Failures.build([1], [0]), start=0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"accuracy": 1.1}, "accuracy: 1.1 is not allowed"),
        ({"accuracy": math.nan}, "accuracy: nan is not allowed"),
        ({"accuracy": 0.5, "false_negatives": -0.1}, "false_negatives: -0.1 is not allowed"),
        ({"accuracy": 0.5, "error": "late"}, "error: 'late' is not allowed"),
        ({"accuracy": 0.5, "seed": -1}, "seed: -1 is not allowed"),
        ({"accuracy": 0.5, "start": 6}, "no later than the first failure, at 5 s"),
    ],
)
def test_what_cannot_be(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        synthetic(Failures.build([5], [0]), **given)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_no_failures() -> None:
    none = Failures.none()
    assert len(synthetic(none, accuracy=0.3, start=99)) == len(perfect(none, start=5)) == 0


def test_columns_of_tables() -> None:
    told = [40, FAR, -3]
    columns = {"time": [90, 20, 50], "node": [0, 1, 0]}
    given_as = [
        pl.DataFrame({**columns, "predicted": [-3, 40, None]}),
        pl.DataFrame({**columns, "predicted": [-3.0, 40.0, math.nan]}),
        pd.DataFrame({**columns, "predicted": [-3, 40, None]}),
        pd.DataFrame({**columns, "predicted": pd.array([-3, 40, None], dtype="Int64")}),
        pl.DataFrame({**columns, "predicted": [-3, 40, FAR]}),
    ]
    for table in given_as:
        log = failures_of(table)
        assert log.predicted is not None
        assert log.predicted.tolist() == told
        assert failures_of(log.table()).predicted.tolist() == told  # type: ignore[union-attr]
    assert failures_of(pl.DataFrame(columns)).predicted is None
    for bad in (["x", 1, 2], [0.5, 1, 2], [2**40, 1, 2], [True, False, True]):
        with pytest.raises(
            ParameterError, match=r"predicted: .* a whole number of seconds, or null"
        ):
            failures_of(pl.DataFrame({**columns, "predicted": bad}, strict=False))
