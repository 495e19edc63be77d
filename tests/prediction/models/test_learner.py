"""What all learners share: windows from horizons, what was seen, and the way to a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.prediction.models.entries import LEARNERS, TRIVIAL
from forestall.prediction.models.kept import packed, unpacked
from forestall.prediction.models.learner import (
    HORIZONS,
    Learner,
    State,
    cumulative,
    hazards_of,
    median_time,
)
from forestall.prediction.models.registry import learner_class, new_learner

HOUR, DAY = 3600, 86_400


class Counting(Learner):
    """Says 1 - exp(-failures so far x hours ahead / 100), and counts how often it is asked."""

    name: ClassVar[str] = "counting"
    memory: ClassVar[int] = 10 * DAY
    asked: int = 0

    def learn(self, past: Observations) -> None:
        self.learnt_until = past.end - past.begin

    def chances(self, seen: Observations, times: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        self.asked += 1
        answer = np.zeros((len(times), seen.nodes, len(self.horizons)))
        for i, time in enumerate(times.tolist()):
            number = int(np.searchsorted(seen.failures.time, time))
            count = np.bincount(seen.failures.node[:number], minlength=seen.nodes)
            answer[i] = 1 - np.exp(-np.outer(count, self.horizons) / HOUR / 100)
        return answer

    def learnt(self) -> State:
        return {"until": self.learnt_until}, {"nothing": np.zeros(2)}

    def restore(self, values: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.learnt_until = values["until"]
        assert arrays["nothing"].tolist() == [0, 0]


def observed() -> Observations:
    log = Failures.build([100, 500, 500, 3 * DAY], [0, 0, 1, 2], [60, -1, 5, 7])
    events = RasLog(
        np.array([0, 4 * DAY, 19 * DAY]), np.array([0, 1, -1], dtype=np.int32),
        np.array([2, 7, 3], dtype=np.int8), np.array([1, 0, 1], dtype=np.int32), ("a", "b"),
        ("one", "two"), alert=np.array([True, False, True]), span=9, origin=77,
    )  # fmt: skip
    metrics = Metrics(
        np.array([5 * DAY, 15 * DAY, 1]), np.array([0, 0, 2]), np.array([[1.0], [np.nan], [3.0]]),
        ("load",), 3, period=60, node_names=("x", "y", "z"),
    )  # fmt: skip
    named = replace(
        log, kind=("fan", "", "fan", "disk"), names=("n0", "n1", "n2"), nodes=3, origin=1_000_000,
        service_start=np.array([-5, 0, 10]), service_end=np.array([20 * DAY] * 3),
        service_new=np.array([False, True, False]), span=20 * DAY, repairs=True, source="here",
    )  # fmt: skip
    return Observations.of(named, begin=0, end=20 * DAY, events=events, metrics=metrics)


def fitted() -> Counting:
    made = Counting()
    made.fit(observed())
    return made


# ------------------------------------------------------------------------------ windows, medians


def test_hazards_are_straight_between_horizons_and_go_on_beyond() -> None:
    table = np.array([[1.0, 2.0, 6.0], [0.0, 0.0, 0.0]])
    ahead = np.array([0, 5, 10, 15, 20, 40, 60, 80])
    found = cumulative(table, (10, 20, 60), ahead)
    assert found[0] == pytest.approx([0, 0.5, 1, 1.5, 2, 4, 6, 8])
    assert found[1].tolist() == [0.0] * 8


def test_the_median_is_where_half_have_failed() -> None:
    half = math.log(2)
    table = np.array([[half, 1.0], [half / 2, half], [half / 4, half / 2], [0, 0], [0, half]])
    found = median_time(table, (100, 200))
    assert found[:3] == pytest.approx([100, 200, 400])
    assert found[3] == np.inf
    assert found[4] == pytest.approx(200)


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.integers(1, 10**6),
)
def test_the_median_and_the_hazard_agree(chances: list[float], scale: int) -> None:
    horizons = (scale, 3 * scale, 7 * scale)
    table = hazards_of(np.array([chances]))
    assert np.all(np.diff(table) >= 0)
    assert np.isfinite(table).all()
    at = float(median_time(table, horizons)[0])
    if at < 10**9:
        found = cumulative(table, horizons, np.array([math.floor(at), math.ceil(at)]))[0]
        assert found[0] <= math.log(2) + 1e-9
        assert found[1] >= math.log(2) - 1e-9


def test_windows_that_begin_later() -> None:
    made, nodes = fitted(), np.array([2, 0])
    now = made.now
    assert now == 20 * DAY
    rate = np.array([1, 2]) / 100
    for start, end in ((0, 1), (3, 30), (100, 500), (5, 5), (5, 2)):
        found = made.failure_probability(nodes, now + start * HOUR, now + end * HOUR)
        assert found == pytest.approx(1 - np.exp(-rate * max(end - start, 0)))
    # what is past cannot fail any more
    assert made.failure_probability(nodes, now - DAY, now).tolist() == [0, 0]
    whole = made.partition_failure_probability(nodes, now, now + 10 * HOUR)
    assert whole == pytest.approx(1 - math.exp(-0.3))
    assert made.partition_failure_probability(nodes[:0], now, now + DAY) == 0
    assert made.time_to_failure(np.array([0, 2])) == pytest.approx(
        np.array([50, 100]) * math.log(2) * HOUR
    )


def test_a_node_that_is_not_there() -> None:
    with pytest.raises(ParameterError, match="nodes below 3"):
        fitted().failure_probability(np.array([1, 3]), 0, 1)


def test_other_horizons_are_drawn_from_its_own() -> None:
    made = fitted()
    times = np.array([400, 501, 4 * DAY])
    own = made.risks(made.seen, times, HORIZONS)
    assert np.array_equal(own, made.chances(made.seen, times))
    found = made.risks(made.seen, times, (60, 10 * DAY))
    count = np.array([[1, 0, 0], [2, 1, 0], [2, 1, 1]])
    expected = 1 - np.exp(-count[..., None] * np.array([1 / 60, 240]) / 100)
    assert found == pytest.approx(expected)


# --------------------------------------------------------------------------------- what was seen


def test_failures_are_noted_in_order_and_the_answer_is_kept_while_nothing_happens() -> None:
    made = fitted()
    made.hazards()
    asked = made.asked
    made.hazards()
    made.failure_probability(np.array([0]), made.now, made.now + 5)
    assert made.asked == asked
    made.update(21 * DAY, 1)
    made.update(21 * DAY, 2)
    made.advance(20 * DAY)  # the clock does not go back
    assert made.now == 21 * DAY
    assert made.seen.failures.time[-2:].tolist() == [21 * DAY] * 2
    assert made.seen.failures.node[-2:].tolist() == [1, 2]
    assert made.hazards()[:, 0] == pytest.approx(np.array([2, 2, 2]) / 100)
    assert made.asked == asked + 1
    made.advance(22 * DAY)
    made.hazards()
    assert made.asked == asked + 2
    assert made.seen.failures.service_end is not None


def test_a_failure_told_late_counts_from_when_it_was_told() -> None:
    made = fitted()
    made.update(3, 1)
    assert made.seen.failures.time[-1] == 20 * DAY
    assert made.hazards()[1, 0] == pytest.approx(0.02)


def test_what_was_known_is_not_observed_twice() -> None:
    made, seen = fitted(), observed()
    made.observe(seen)
    assert len(made.seen.failures) == 4
    more = Observations.of(Failures.build([500, 21 * DAY], [0, 1]), begin=0, end=22 * DAY, nodes=5)
    made.observe(more)
    assert (made.nodes, made.now, len(made.seen.failures)) == (5, 22 * DAY, 5)


def test_events_and_metrics_are_kept_for_as_long_as_they_matter() -> None:
    made = fitted()
    assert made.seen.events is not None
    assert made.seen.metrics is not None
    assert made.seen.events.time.tolist() == [19 * DAY]
    assert made.seen.metrics.time.tolist() == [15 * DAY]
    assert len(made.seen.failures) == 4


def test_the_window_is_moved_to_the_clock_of_a_run() -> None:
    made = Counting()
    made.fit(observed(), end=7, nodes=9)
    assert (made.now, made.trained, made.trained_until, made.nodes) == (7, 4, 7, 9)
    assert made.seen.begin == 7 - 20 * DAY
    assert made.learnt_until == 20 * DAY


def test_a_log_alone_will_do() -> None:
    made = Counting()
    made.fit(Failures.build([5, 90], [0, 3]))
    assert (made.nodes, made.now, made.trained) == (4, 91, 2)


def test_untrained_and_unknown() -> None:
    with pytest.raises(ParameterError, match="call fit"):
        Counting().hazards()
    with pytest.raises(ParameterError, match="one of constant"):
        learner_class("oracle")
    assert set(TRIVIAL) <= set(LEARNERS)
    assert new_learner("constant", horizons=[5]).horizons == (5,)


# -------------------------------------------------------------------------------------- to a file


def same(one: Any, two: Any) -> None:
    for name, value in vars(one).items():
        other = getattr(two, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == other.dtype, name
            assert np.array_equal(value, other, equal_nan=value.dtype.kind == "f"), name
        elif name not in ("cleaning", "aside"):
            assert value == other, name


def test_observations_come_back_from_values_and_arrays() -> None:
    seen = observed()
    values, arrays = packed(seen)
    back = unpacked(json.loads(json.dumps(values, allow_nan=False)), arrays)
    assert (back.begin, back.end, back.nodes) == (seen.begin, seen.end, seen.nodes)
    for name, part in seen.parts().items():
        same(part, back.parts()[name])


def test_observations_of_little_come_back() -> None:
    bare = Observations.of(Failures.none(), begin=3, end=9, nodes=2)
    values, arrays = packed(bare)
    back = unpacked(json.loads(json.dumps(values)), arrays)
    assert (back.begin, back.end, back.nodes, list(back.parts())) == (3, 9, 2, ["failures"])
    same(bare.failures, back.failures)


def test_a_learner_comes_back() -> None:
    made = Counting(horizons=[HOUR, DAY])
    made.fit(observed())
    made.update(21 * DAY, 1)
    made.advance(23 * DAY)
    values, arrays = made.state()
    back = Counting.from_state(json.loads(json.dumps(values)), arrays)
    assert (back.horizons, back.now, back.trained, back.trained_until, back.learnt_until) == (
        (HOUR, DAY), 23 * DAY, 4, 20 * DAY, 20 * DAY,
    )  # fmt: skip
    assert np.array_equal(back.hazards(), made.hazards())
