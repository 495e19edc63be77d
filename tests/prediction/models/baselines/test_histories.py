"""What nodes have been through at many moments, beside plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.models.baselines import histories as past_of

END = 60
logs = st.lists(st.tuples(st.integers(0, END - 1), st.integers(0, 3)), max_size=25)
moments = st.lists(st.integers(-5, END + 20), max_size=8).map(sorted)


def observed(rows: list[tuple[int, int]], service: list[tuple[int, int]]) -> Observations:
    log = Failures.build([t for t, _ in rows], [n for _, n in rows])
    start, stop = np.array(service).T
    log = replace(
        log, nodes=4, service_start=start, service_end=stop, service_new=np.zeros(4, dtype=bool)
    )
    return Observations.of(log, begin=0, end=END, nodes=5)


def history_of(rows: list[tuple[int, int]], node: int, time: int) -> list[int]:
    return sorted(t for t, n in rows if n == node and t < time)


windows = st.lists(
    st.tuples(st.integers(-20, 40), st.integers(0, 60)).map(lambda w: (w[0], w[0] + w[1])),
    min_size=4,
    max_size=4,
)


@given(logs, moments, windows)
def test_histories_are_those_of_loops(
    rows: list[tuple[int, int]], times: list[int], service: list[tuple[int, int]]
) -> None:
    seen = observed(rows, service)
    past = past_of.histories(seen, np.array(times, dtype=np.int64))
    known = [*service, (0, 10**9)]
    assert past.last.shape == (len(times), 5)
    for i, time in enumerate(times):
        for node in range(5):
            mine = history_of(rows, node, time)
            begin, stop = max(known[node][0], 0), known[node][1]
            assert past.count()[i, node] == len(mine)
            assert past.failed()[i, node] == (len(mine) > 0)
            assert past.exposure()[i, node] == max(min(time, stop) - begin, 0)
            assert past.age()[i, node] == max(time - (mine[-1] if mine else begin), 0)
            if mine:
                assert seen.failures.time[past.last[i, node]] == mine[-1]
    total = sum(max(min(stop, END) - max(begin, 0), 0) for begin, stop in known)
    assert past_of.node_seconds(seen) == total


@given(logs)
def test_failures_are_chained_node_by_node(rows: list[tuple[int, int]]) -> None:
    log = Failures.build([t for t, _ in rows], [n for _, n in rows])
    before, rank = past_of.previous(log), past_of.ranks(log)
    latest: dict[int, int] = {}
    counts: dict[int, int] = {}
    for i, node in enumerate(log.node.tolist()):
        assert before[i] == latest.get(node, -1)
        assert rank[i] == counts.get(node, 0)
        latest[node], counts[node] = i, counts.get(node, 0) + 1


@given(logs, moments, st.integers(1, 30))
def test_what_fails_within_a_horizon(
    rows: list[tuple[int, int]], times: list[int], horizon: int
) -> None:
    log = Failures.build([t for t, _ in rows], [n for _, n in rows])
    found = past_of.fails_within(log, np.array(times, dtype=np.int64), 4, horizon)
    expected: npt.NDArray[np.bool_] = np.zeros((len(times), 4), dtype=bool)
    for i, time in enumerate(times):
        for t, n in rows:
            expected[i, n] |= time <= t < time + horizon
    assert np.array_equal(found, expected)


def test_without_moments_there_is_nothing() -> None:
    past = past_of.histories(observed([(3, 1)], [(0, 9)] * 4), np.array([], dtype=np.int64))
    assert past.count().shape == past.age().shape == (0, 5)
