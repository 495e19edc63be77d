"""States S1 to S5 from samples, beside a plain reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov.states import (
    host_states,
    on_grid,
    stays,
    unavailability,
    up_down,
)

NAN = math.nan
S1, S2, S3, S4, S5 = range(5)


def runs_of(flags: list[bool]) -> list[tuple[int, int]]:
    found, start = [], None
    for i, flag in enumerate([*flags, False]):
        if flag and start is None:
            start = i
        if not flag and start is not None:
            found.append((start, i))
            start = None
    return found


def plain(load: list[float], memory: list[float], slots: int, need: float) -> list[int]:
    """The model in words, whole runs at a time."""
    n = len(load)
    away = [False] * n
    filled, free = list(load), list(memory)
    for a, b in runs_of([math.isnan(x) for x in load]):
        if b - a > slots or (a == 0 and b == n):
            away[a:b] = [True] * (b - a)
        else:
            source = a - 1 if a > 0 else b
            filled[a:b] = [load[source]] * (b - a)
            free[a:b] = [memory[source]] * (b - a)
    early = next((i for i, x in enumerate(load) if not math.isnan(x)), 0)
    state = [S1 if x <= 0.2 else S2 for x in filled]
    heavy = [x > 0.6 and not away[i] and i >= early for i, x in enumerate(filled)]
    for a, b in runs_of(heavy):
        if b - a > slots:
            state[a:b] = [S3] * (b - a)
    return [
        S5 if away[i] else S4 if free[i] < need else state[i] for i in range(n)
    ]  # nan is never below


levels = st.sampled_from([0.0, 0.2, 0.3, 0.6, 0.61, 0.9, NAN])
memories = st.sampled_from([0.0, 0.5, NAN])


@given(st.lists(st.tuples(levels, memories, st.integers(1, 6)), max_size=25), st.integers(0, 4))
@settings(max_examples=500)
def test_as_the_plain_reference(parts: list[tuple[float, float, int]], slots: int) -> None:
    load = [x for x, _, k in parts for _ in range(k)]
    memory = [m for _, m, k in parts for _ in range(k)]
    found = host_states(load, memory, guest_memory=0.2, period=6, hold=6 * slots)
    assert found.tolist() == plain(load, memory, slots, 0.2)


@given(st.lists(st.tuples(levels, memories, st.integers(1, 6)), max_size=15), st.data())
def test_causal_states_do_not_know_what_follows(
    parts: list[tuple[float, float, int]], data: st.DataObject
) -> None:
    load = [x for x, _, k in parts for _ in range(k)]
    memory = [m for _, m, k in parts for _ in range(k)]
    cut = data.draw(st.integers(0, len(load)))
    whole, part = (
        host_states(load[:k], memory[:k], guest_memory=0.2, period=6, hold=12, causal=True)
        for k in (len(load), cut)
    )
    assert whole[:cut].tolist() == part.tolist()


def test_a_minute_of_heavy_load_is_not_yet_contention() -> None:
    ten, eleven = [0.9] * 10, [0.9] * 11  # 60 s and 66 s
    assert set(host_states([0.1, *ten, 0.1])[1:-1].tolist()) == {S2}
    assert set(host_states([0.1, *eleven, 0.1])[1:-1].tolist()) == {S3}
    online = host_states([0.1, *eleven, 0.1], causal=True)
    assert online.tolist() == [S1, *[S2] * 10, S3, S1]


def test_gaps_and_memory() -> None:
    short, long = [NAN] * 10, [NAN] * 11
    assert host_states([0.3, *short, 0.1]).tolist() == [S2] * 11 + [S1]
    assert host_states([0.3, *long, 0.1]).tolist() == [S2] + [S5] * 11 + [S1]
    assert host_states([*short, 0.3]).tolist() == [S2] * 11
    assert host_states([*short, 0.3], causal=True).tolist() == [S5] * 10 + [S2]
    assert host_states([NAN, NAN]).tolist() == [S5, S5]
    memory = [1.0, 0.1, NAN]
    assert host_states([0.1] * 3, memory, guest_memory=0.5).tolist() == [S1, S4, S1]
    assert host_states([]).tolist() == []


def test_a_short_gap_does_not_end_a_heavy_load() -> None:
    load = [0.1, *[0.9] * 6, NAN, *[0.9] * 6, 0.1]
    assert host_states(load).tolist() == [S1] + [S3] * 13 + [S1]


def test_a_long_gap_does_not_lengthen_the_heavy_load_before_it() -> None:
    assert host_states([0.1, 0.9, *[NAN] * 11, 0.1]).tolist() == [S1, S2, *[S5] * 11, S1]
    heavy = [0.9] * 11
    assert host_states([*heavy, *[NAN] * 11]).tolist() == [S3] * 11 + [S5] * 11


def test_stays_and_counts() -> None:
    states = np.array([S1, S1, S3, S4, S4, S1, S2, S5, S5, S5, S1, S4], dtype=np.int8)
    runs = stays(states, 6)
    assert runs.start.tolist() == [0, 2, 3, 5, 6, 7, 10, 11]
    assert runs.length.tolist() == [2, 1, 2, 1, 1, 3, 1, 1]
    assert runs.sequence().tolist() == states.tolist()
    found = unavailability(runs)
    assert (found.total, found.uec, found.urr) == (3, 2, 1)  # S4 after S3 is no new one
    assert found.occurrences.tolist() == [1, 1, 1]
    np.testing.assert_allclose(found.share, np.array([4, 1, 1, 3, 3]) / 12)
    none = unavailability(stays(np.empty(0, dtype=np.int8)))
    assert none.total == 0
    assert none.share.tolist() == [0.0] * 5


def test_up_and_down() -> None:
    time = np.array([25, 31, 60, 100])
    up = np.array([False, True, False, True])
    runs = up_down(time, up, begin=0, end=120, period=10)
    assert runs.sequence().tolist() == [0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0]
    first_up = up_down(np.array([35]), np.array([True]), begin=0, end=60, period=10)
    assert first_up.sequence().tolist() == [1, 1, 1, 1, 0, 0]  # it was down before
    for_ever = up_down(np.array([35]), np.array([False]), begin=0, end=60, period=10)
    assert for_ever.sequence().tolist() == [0, 0, 0, 1, 1, 1]
    assert up_down(np.empty(0, dtype=np.int64), np.empty(0, dtype=bool), begin=0, end=30,
                   period=10).sequence().tolist() == [0, 0, 0]  # fmt: skip
    blink = up_down(np.array([25, 25]), np.array([False, True]), begin=0, end=50, period=10)
    assert blink.sequence().tolist() == [0, 0, 1, 0, 0]


def test_grid_takes_the_last_sample_of_a_slot() -> None:
    found = on_grid(np.array([0, 5, 12, 40]), np.array([1.0, 2.0, 3.0, 4.0]), begin=0, end=35,
                    period=10)  # fmt: skip
    np.testing.assert_array_equal(found, [2.0, 3.0, NAN, NAN])


@pytest.mark.parametrize(
    "settings",
    [
        {"thresholds": (0.7, 0.6)},
        {"period": 0},
        {"hold": -1},
        {"guest_memory": NAN},
        {"free_memory": [0.1]},
    ],
)
def test_bad_settings(settings: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        host_states([0.1, 0.2], **settings)  # type: ignore[arg-type]
