"""Attribution: the rules on small cases, and against a plain reading of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.assess.attribution import (
    RULES,
    Attribution,
    Fates,
    MetricSamples,
    Rule,
    attribute,
)

Job = tuple[int, int, bool, list[int]]
Sample = tuple[int, int, float]


def fates_of(jobs: list[Job], judged: list[bool] | None = None) -> Fates:
    return Fates(
        np.array([job[0] for job in jobs], dtype=np.int64),
        np.array([job[1] for job in jobs], dtype=np.int64),
        np.array([job[2] for job in jobs], dtype=np.bool_),
        np.cumsum([0, *(len(job[3]) for job in jobs)], dtype=np.int64),
        np.array([node for job in jobs for node in job[3]], dtype=np.int64),
        None if judged is None else np.array(judged, dtype=np.bool_),
    )


def samples_of(rows: list[Sample]) -> MetricSamples:
    ordered = sorted({(node, time): value for node, time, value in rows}.items())
    return MetricSamples(
        np.array([time for (_, time), _ in ordered], dtype=np.int64),
        np.array([node for (node, _), _ in ordered], dtype=np.int64),
        np.array([value for _, value in ordered], dtype=np.float64),
    )


def attributed(
    jobs: list[Job],
    rows: list[Sample],
    nodes: int = 3,
    close: int = 100,
    rule: Rule = "max",
    judged: list[bool] | None = None,
) -> Attribution:
    fates = fates_of(jobs, judged)
    return attribute(fates, samples_of(rows), nodes=nodes, begin=0, close=close, rule=rule)


def plain(
    jobs: list[Job], rows: list[Sample], nodes: int, close: int, rule: str, judged: list[bool]
) -> tuple[list[tuple[int, int, int, float, int, int, int, float]], list[int], int]:
    """Return the periods (node, start, end, value, jobs, failures, case, lost), each job's period
    and the gaps without data: one node, one second at a time."""
    values = {(node, time): value for node, time, value in rows if not np.isnan(value)}
    kept, empty = [], 0
    for node in range(nodes):
        mine = sorted((job[0], job[1]) for job in jobs if node in job[3] and job[0] < close)
        busy = [False] * close
        for start, end in mine:
            for second in range(max(start, 0), min(end, close)):
                busy[second] = True
        starts = {start for start, _ in mine}
        cuts = [s for s in range(close) if not busy[s] and (s == 0 or busy[s - 1] or s in starts)]
        for cut in cuts:
            last = cut
            while last + 1 < close and not busy[last + 1] and last + 1 not in starts:
                last += 1
            seen = [values[node, s] for s in range(cut, last + 1) if (node, s) in values]
            follows = any(start > cut for start, _ in mine)
            if not seen:
                empty += 1
                continue
            value = {"max": max(seen), "mean": sum(seen) / len(seen), "last": seen[-1]}[rule]
            kept.append((node, cut, last + 1, value, follows))
    answers, told = [], [[0, 0, 0.0] for _ in kept]
    for (start, end, failed, on), counts in zip(jobs, judged, strict=True):
        best = None
        for node in sorted(set(on)):
            before = [k for k, one in enumerate(kept) if one[0] == node and one[2] <= start]
            if before and counts and start < close and start > 0:
                k = max(before, key=lambda k: kept[k][1])
                if best is None or kept[k][3] > kept[best][3]:
                    best = k
        answers.append(-1 if best is None else best)
        if best is not None:
            told[best][0] += 1
            told[best][1] += failed
            told[best][2] += failed * max(end - start, 0) * len(on)
    periods = []
    for (node, start, end, value, follows), (count, bad, lost) in zip(kept, told, strict=True):
        case = 1 if bad else 2 if count else 3 if follows else 0
        periods.append((node, start, end, value, int(count), int(bad), case, lost))
    return periods, answers, empty


jobs_drawn = st.lists(
    st.tuples(
        st.integers(-5, 45),
        st.integers(0, 15),
        st.booleans(),
        st.lists(st.integers(0, 2), max_size=3, unique=True),
        st.booleans(),
    ),
    max_size=9,
)
rows_drawn = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(-2, 42), st.sampled_from([0.0, 0.25, 0.5, float("nan")])
    ),
    max_size=25,
)


@given(jobs_drawn, rows_drawn, st.sampled_from(RULES))
@settings(max_examples=400, deadline=None)
def test_as_a_plain_reading_of_the_rules(
    drawn: list[tuple[int, int, bool, list[int], bool]], rows: list[Sample], rule: Rule
) -> None:
    jobs: list[Job] = [(start, start + run, failed, on) for start, run, failed, on, _ in drawn]
    judged = [one[4] for one in drawn]
    unique = {(node, time): (node, time, value) for node, time, value in rows}
    rows = sorted(unique.values())
    found = attributed(jobs, rows, 3, 40, rule, judged)
    periods, answers, empty = plain(jobs, rows, 3, 40, rule, judged)
    columns = zip(
        found.node.tolist(), found.start.tolist(), found.end.tolist(), found.value.tolist(),
        found.jobs.tolist(), found.failures.tolist(), found.case.tolist(), found.lost.tolist(),
        strict=True,
    )  # fmt: skip
    assert [pytest.approx(one) for one in periods] == list(columns)
    assert found.period.tolist() == answers
    assert found.without_data == empty


def test_the_highest_node_answers_whole() -> None:
    jobs = [(10, 20, True, [0, 1, 2])]
    found = attributed(jobs, [(0, 5, 0.1), (1, 5, 0.9), (2, 5, 0.3)])
    assert found.case.tolist() == [3, 1, 3]
    assert found.lost.tolist() == [0, 30, 0]
    assert found.counts() == (1, 0, 2)
    assert found.period.tolist() == [1]


def test_ties_go_to_the_lowest_number() -> None:
    found = attributed([(10, 20, False, [2, 1, 0])], [(0, 5, 0.1), (1, 5, 0.4), (2, 5, 0.4)])
    assert found.case.tolist() == [3, 2, 3]


def test_the_nearest_earlier_gap_with_data_stands_in() -> None:
    jobs = [(10, 20, False, [0]), (30, 40, True, [0]), (40, 50, True, [0])]
    found = attributed(jobs, [(0, 5, 0.2), (0, 15, 9.0), (0, 60, 0.1)])
    assert found.start.tolist() == [0, 50]
    assert found.case.tolist() == [1, 0]  # one good job, then two that failed: Case I
    assert found.jobs.tolist() == [3, 0]
    assert found.failures.tolist() == [2, 0]
    assert found.without_data == 3  # the gap from 20 to 30, and the nodes that never ran a job


def test_the_last_gap_is_of_no_case_but_kept() -> None:
    found = attributed([(10, 20, False, [0])], [(0, 5, 0.2), (0, 50, 0.7), (1, 3, 0.1)])
    assert found.case.tolist() == [2, 0, 0]
    assert found.open_periods().tolist() == [1, 2]
    assert found.considered.tolist() == [True, False, False]


def test_what_a_gap_is_worth() -> None:
    rows = [(0, 1, 0.5), (0, 2, 0.9), (0, 3, 0.1)]
    values = [attributed([(10, 20, True, [0])], rows, rule=rule).value[0] for rule in RULES]
    assert values == pytest.approx([0.9, 0.5, 0.1])


def test_shared_nodes() -> None:
    jobs = [(10, 50, False, [0]), (20, 30, True, [0]), (60, 70, False, [0])]
    found = attributed(jobs, [(0, 5, 0.2), (0, 35, 0.9), (0, 55, 0.3)], nodes=1)
    assert list(zip(found.start.tolist(), found.end.tolist(), strict=True)) == [(0, 10), (50, 60)]
    assert found.period.tolist() == [0, 0, 1]
    assert found.case.tolist() == [1, 2]


def test_without_jobs_or_samples() -> None:
    assert len(attributed([], [])) == 0
    assert attributed([(10, 20, True, [0])], []).period.tolist() == [-1]
    assert attributed([], [(0, 5, 0.1)]).case.tolist() == [0]
    assert attributed([(10, 20, True, [])], [(0, 5, 0.1)]).period.tolist() == [-1]


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="max, mean, last"):
        attributed([], [], rule="median")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="window"):
        attributed([], [], close=0)
