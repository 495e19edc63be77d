"""What answering alarms costs and saves, counted plainly, second by second."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.prediction.assess.alarm_costs import (
    NOBODY,
    RunningJobs,
    checkpoint_costs,
    move_costs,
    running,
)
from forestall.prediction.assess.alarms import judge, line_of

NODES, END = 4, 60


def jobs_of(rows: list[tuple[int, int, list[int]]]) -> RunningJobs:
    width = [len(nodes) for _, _, nodes in rows]
    return RunningJobs(
        np.array([a for a, _, _ in rows], dtype=np.int64),
        np.array([b for _, b, _ in rows], dtype=np.int64),
        np.concatenate(([0], np.cumsum(width))).astype(np.int64),
        np.array([n for _, _, nodes in rows for n in nodes], dtype=np.int64),
    )


@st.composite
def machines(draw: st.DrawFn) -> tuple[list[tuple[int, int, list[int]]], list[tuple[int, int]],
                                       list[tuple[int, int]]]:  # fmt: skip
    rows = []
    free = [0] * NODES
    for _ in range(draw(st.integers(0, 6))):
        nodes = draw(st.lists(st.integers(0, NODES - 1), min_size=1, max_size=3, unique=True))
        begin = max(free[n] for n in nodes) + draw(st.integers(1, 8))
        end = begin + draw(st.integers(1, 20))
        rows.append((begin, end, sorted(nodes)))
        for n in nodes:
            free[n] = end
    moments = st.tuples(st.integers(0, END - 1), st.integers(-1, NODES - 1))
    alarms = draw(st.lists(moments, max_size=8))
    failures = draw(st.lists(st.tuples(st.integers(0, END - 1), st.integers(0, NODES - 1)),
                             max_size=5))  # fmt: skip
    return rows, alarms, failures


@given(machines(), st.integers(0, 4), st.integers(5, 30))
@settings(max_examples=300, deadline=None)
def test_costs_counted_plainly(machine: tuple, lead: int, horizon: int) -> None:
    rows, alarms, failures = machine
    line = line_of([t for t, _ in alarms], [n for _, n in alarms], [t for t, _ in failures],
                   [n for _, n in failures], nodes=NODES, begin=0, end=END)  # fmt: skip
    jobs = jobs_of(rows)
    answers = {
        (j, t) for t, n in alarms for j, (a, b, held) in enumerate(rows)
        if a <= t < b and (n == -1 or n in held)
    }  # fmt: skip
    struck: dict[int, tuple[int, int]] = {}
    for t, n in sorted(failures):
        for j, (a, b, held) in enumerate(rows):
            if n in held and a < t <= b:
                struck.setdefault(j, (t, n))
    lost = sum(len(rows[j][2]) * (t - rows[j][0]) for j, (t, _) in struck.items())
    found = checkpoint_costs(line, jobs, lead=lead, action_seconds=7, action_cost=2.0)
    saved = 0
    for j, (t, _) in struck.items():
        usable = [s for k, s in answers if k == j and s <= t - max(lead, 1)]
        saved += len(rows[j][2]) * (max(usable, default=rows[j][0]) - rows[j][0])
    spent = sum(7 * len(rows[j][2]) / 3600 + 2 for j, _ in answers)
    assert (found.struck, found.actions) == (len(struck), len(answers))
    assert found.lost * 3600 == pytest.approx(lost)
    assert found.saved * 3600 == pytest.approx(saved)
    assert found.spent == pytest.approx(spent)
    assert found.net == pytest.approx(saved / 3600 - spent)

    judged = judge(line, horizon, np.random.default_rng(1), lead=min(lead, horizon - 1), draws=2)
    moved = move_costs(line, jobs, horizon, judged.caught, action_seconds=7, action_cost=2.0)
    least = max(min(lead, horizon - 1), 1)
    safe = {
        j for j, (t, n) in struck.items()
        if any(m in (n, -1) and t - horizon <= s <= t - least for s, m in alarms)
    }  # fmt: skip
    assert moved.helped == len(safe)
    whole = sum(len(rows[j][2]) * (struck[j][0] - rows[j][0]) for j in safe)
    assert moved.saved * 3600 == pytest.approx(whole)
    empty = set()
    for s, n in alarms:
        if n >= 0:
            later = [t for t, m in failures if m == n and t > s]
            until = min([s + horizon, END, *later])
            empty |= {(n, second) for second in range(s, until)}
    assert moved.empty * 3600 == pytest.approx(len(empty))


def test_who_runs_where() -> None:
    jobs = jobs_of([(0, 10, [0, 1]), (10, 20, [1])])
    node, time = np.array([0, 1, 1, 1, 2, 0]), np.array([5, 10, 11, 21, 5, 0])
    assert running(jobs, node, time).tolist() == [0, 0, 1, NOBODY, NOBODY, NOBODY]
    none = RunningJobs(*(np.zeros(k, dtype=np.int64) for k in (0, 0, 1, 0)))
    assert running(none, node, time).tolist() == [NOBODY] * 6
