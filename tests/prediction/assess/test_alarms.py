"""Alarms in time: against a plain count, second by second, and on cases told by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.alarms import JudgedAlarms, Line, judge, line_of

Alarm = tuple[int, int, int]
Failure = tuple[int, int]
NODES, END = 3, 60


def line(alarms: list[Alarm], failures: list[Failure], nodes: int = NODES, end: int = END) -> Line:
    time, node, until = np.array(alarms, dtype=np.int64).reshape(-1, 3).T
    when, on = np.array(failures, dtype=np.int64).reshape(-1, 2).T
    return line_of(time, node, when, on, nodes=nodes, begin=0, end=end, until=until)


def judged(
    alarms: list[Alarm], failures: list[Failure], horizon: int = 10, lead: int = 0
) -> JudgedAlarms:
    return judge(line(alarms, failures), horizon, np.random.default_rng(1), lead=lead)


def ends(alarm: Alarm, horizon: int) -> int:
    time, _, until = alarm
    return time + horizon if until < 0 else min(time + horizon, until)


def caught_at(alarms: list[Alarm], time: int, node: int, horizon: int, lead: int) -> list[int]:
    """Return the lead times of the alarms by which a failure then would be caught."""
    return sorted(
        time - when
        for when, on, until in alarms
        if on in (node, -1) and when + max(lead, 1) <= time <= ends((when, on, until), horizon)
    )


alarms_drawn = st.lists(
    st.tuples(
        st.integers(0, END - 1), st.integers(-1, NODES - 1),
        st.one_of(st.just(-1), st.integers(0, END + 10)),
    ),
    max_size=12,
)  # fmt: skip
failures_drawn = st.lists(st.tuples(st.integers(0, END - 1), st.integers(0, NODES - 1)), max_size=8)


@given(alarms_drawn, failures_drawn, st.integers(1, 25), st.integers(0, 5))
@settings(max_examples=500, deadline=None)
def test_as_counted_second_by_second(
    alarms: list[Alarm], failures: list[Failure], horizon: int, lead: int
) -> None:
    lead = min(lead, horizon - 1)
    seen = line(alarms, failures)
    found = judge(seen, horizon, np.random.default_rng(1), lead=lead)
    leads = [caught_at(alarms, time, node, horizon, lead) for time, node in sorted(failures)]
    assert found.last.tolist() == [one[0] if one else -1 for one in leads]
    assert found.first.tolist() == [one[-1] if one else -1 for one in leads]
    assert found.recall.count == sum(bool(one) for one in leads) == int(found.caught.sum())
    assert found.waiting == sum(one[0] for one in leads if one)
    right = late = undecided = false = echoes = good = 0
    for alarm in alarms:
        time, node, _ = alarm
        mine = [when for when, on in failures if node in (on, -1)]
        last = ends(alarm, horizon)
        useful = any(time + max(lead, 1) <= when <= last for when in mine)
        follows = any(time < when <= last for when in mine)
        right += useful
        late += follows and not useful
        undecided += not follows and last >= END
        if not follows and last < END:
            false += 1
            echoes += any(time - horizon <= when <= time for when in mine)
            good += node >= 0 and not mine
    assert (int(found.right.sum()), found.late, found.undecided, found.false) == (
        right, late, undecided, false,
    )  # fmt: skip
    assert (found.echoes, found.on_good_nodes) == (echoes, good)
    assert (found.precision.count, found.precision.of) == (right, right + late + false)
    covered = [
        [bool(caught_at(alarms, time, node, horizon, lead)) for time in range(END)]
        for node in range(NODES)
    ]
    assert found.covered == pytest.approx(np.mean(covered))
    own = [np.mean(covered[node]) for _, node in failures]
    assert found.covered_same_nodes == pytest.approx(np.mean(own) if own else 0)
    assert 0 <= found.repeats <= right


def test_the_last_alarm_is_the_true_positive() -> None:
    found = judged([(20, 0, -1), (22, 0, -1), (25, 0, -1), (40, 0, -1)], [(28, 0)])
    assert (found.last.tolist(), found.first.tolist(), found.repeats) == ([3], [8], 2)
    assert (found.false, found.waiting) == (1, 3)
    assert found.precision.value == 0.75
    assert found.lead_quantiles((0.5,)).tolist() == [3]


def test_one_alarm_for_the_machine_may_catch_several() -> None:
    found = judged([(20, -1, -1)], [(25, 0), (25, 2), (29, 1)])
    assert (found.recall.value, found.precision.of, found.repeats) == (1.0, 1, 0)
    assert found.covered == pytest.approx(10 / 60)


def test_an_alarm_at_the_failure_is_no_warning() -> None:
    found = judged([(28, 0, -1)], [(28, 0)])
    assert (found.recall.count, found.false, found.echoes) == (0, 1, 1)


def test_late_alarms_are_not_right() -> None:
    found = judged([(27, 0, -1)], [(28, 0)], lead=2)
    assert (found.recall.count, found.late, found.false, found.precision.value) == (0, 1, 0, 0.0)


def test_crying_wolf_always_is_no_better_than_chance() -> None:
    rng = np.random.default_rng(1)
    nodes, days = 20, 60
    failures = np.sort(rng.integers(0, days * 86_400, 300)), rng.integers(0, nodes, 300)
    hours = np.arange(0, days * 86_400, 3600)
    always = line_of(
        np.tile(hours, nodes), np.repeat(np.arange(nodes), len(hours)), *failures,
        nodes=nodes, begin=0, end=days * 86_400,
    )  # fmt: skip
    found = judge(always, 3600, rng)
    assert found.recall.value is not None
    assert found.recall.value > 0.99
    assert found.covered > 0.999
    assert found.beats_chance() is not True
    told = rng.random(300) < 0.3
    knows = line_of(failures[0][told] - 600, failures[1][told], *failures, nodes=nodes,
                    begin=0, end=days * 86_400)  # fmt: skip
    found = judge(knows, 3600, rng)
    assert found.beats_chance() is True
    assert found.lift is not None
    assert found.lift > 50
    assert found.precision.value == 1.0
    assert found.recall.ci_weeks is not None
    assert found.recall.ci_weeks[0] < found.recall.value < found.recall.ci_weeks[1]


def test_knowing_the_bad_node_only() -> None:
    """Alarms all the time on the one node that fails: better than chance, but not in time."""
    rng = np.random.default_rng(2)
    failures = np.sort(rng.integers(0, 50 * 86_400, 100))
    hours = np.arange(0, 50 * 86_400, 3600)
    found = judge(
        line_of(hours, np.zeros_like(hours), failures, np.zeros_like(failures), nodes=10,
                begin=0, end=50 * 86_400),
        3600, rng,
    )  # fmt: skip
    assert found.covered == pytest.approx(0.1, abs=0.001)
    assert found.covered_same_nodes == pytest.approx(1, abs=0.001)


def test_nothing_at_all() -> None:
    found = judged([], [])
    assert (found.recall.value, found.precision.value, found.covered) == (None, None, 0.0)
    assert found.lift is None
    assert found.beats_chance() is None
    assert np.isnan(found.lead_quantiles()).all()
    assert judged([(5, 0, -1)], []).false_per_node_day == 1 / (3 * 60 / 86_400)


def test_what_lies_outside_the_window_is_left_out() -> None:
    seen = line([(-5, 0, -1), (5, 0, -1), (70, 0, -1)], [(-1, 0), (10, 0), (60, 1)])
    assert (seen.alarm_time.tolist(), seen.failure_time.tolist()) == ([5], [10])
    free = line_of([5], [0], [10], [1], nodes=2)
    assert (free.begin, free.end) == (5, 11)


def test_what_is_refused() -> None:
    for horizon, lead, name in ((0, 0, "horizons"), (10, 10, "lead"), (10, -1, "lead")):
        with pytest.raises(ParameterError, match=name):
            judged([], [], horizon, lead)
    with pytest.raises(ParameterError, match="nodes"):
        line([(5, 3, -1)], [])
    with pytest.raises(ParameterError, match="window"):
        line([], [], end=0)
