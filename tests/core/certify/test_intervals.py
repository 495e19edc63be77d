"""Intervals on an axis of all owners, beside plain loops over seconds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.certify.intervals import (
    Axis,
    Outages,
    firsts,
    inside,
    last_begun,
    lasts,
    levels,
    merged,
    overlapping,
    spread,
    touches,
)

STAYS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(-5, 20), st.integers(0, 6)), min_size=1, max_size=12
)
Stays = list[tuple[int, int, int]]


def columns(stays: Stays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return owner, start and end, in order of (owner, start)."""
    owner, start, length = (np.array(one) for one in zip(*sorted(stays), strict=True))
    return owner, start, start + length


def held(stays: Stays) -> dict[tuple[int, int], int]:
    """Return how often each owner's second is held."""
    found: dict[tuple[int, int], int] = {}
    for owner, start, length in stays:
        for second in range(start, start + length):
            found[owner, second] = found.get((owner, second), 0) + 1
    return found


@given(STAYS)
def test_the_union_is_that_of_the_seconds(stays: Stays) -> None:
    owner, start, end = columns(stays)
    axis = Axis.over(start, end)
    since, until = merged(axis.key(owner, start), axis.key(owner, end))
    assert np.all(since[1:] > until[:-1])
    seconds = {(int(axis.owner(k)), int(axis.time(k)))
               for a, b in zip(since, until, strict=True) for k in range(a, b)}  # fmt: skip
    assert seconds == set(held(stays))


@given(STAYS)
def test_nobody_overlaps_where_no_second_is_held_twice(stays: Stays) -> None:
    stays = [(owner, start, length + 1) for owner, start, length in stays]
    owner, start, end = columns(stays)
    axis = Axis.over(start, end)
    late = overlapping(axis.key(owner, start), axis.key(owner, end))
    assert late.any() == (max(held(stays).values()) > 1)


@given(STAYS)
def test_levels_are_what_is_held_at_once(stays: Stays) -> None:
    owner, start, end = columns(stays)
    axis = Axis.over(start, end)
    keys, level = levels(axis, owner, start, end, np.ones(len(owner), dtype=np.int64))
    assert int(level.max()) == max([0, *held(stays).values()])
    assert level[-1] == 0
    assert np.all(np.diff(keys) > 0)


@given(STAYS, STAYS)
def test_who_meets_an_outage(stays: Stays, outages: Stays) -> None:
    owner, start, end = columns([(o, s, n + 1) for o, s, n in stays])
    down, since, until = columns(outages)
    axis = Axis.over(start, end, since, until)
    out = merged(axis.key(down, since), axis.key(down, until))
    met = touches(*out, axis.key(owner, start), axis.key(owner, end))
    gone = held(outages)
    for who, a, b, found in zip(owner, start, end, met, strict=True):
        assert found == any((who, second) in gone for second in range(a, b))


@given(STAYS, STAYS)
def test_moments_within_intervals(stays: Stays, failures: Stays) -> None:
    owner, start, end = columns(stays)
    node, time, _ = columns(failures)
    axis = Axis.over(start, end, time)
    moments = np.sort(axis.key(node, time))
    told = set(zip(node.tolist(), time.tolist(), strict=True))
    for at_start in (False, True):
        found = inside(moments, axis.key(owner, start), axis.key(owner, end), at_start=at_start)
        for who, a, b, yes in zip(owner.tolist(), start.tolist(), end.tolist(), found, strict=True):
            first = a if at_start else a + 1
            assert yes == any((who, second) in told for second in range(first, b))


def test_first_and_last_of_each_owner() -> None:
    first = firsts(np.array([3, 3, 1, 3]))
    assert first.tolist() == [True, False, True, True]
    assert lasts(first).tolist() == [False, True, True, True]
    none = firsts(np.zeros(0, dtype=np.int64))
    assert len(none) == len(lasts(none)) == 0


def test_nothing_meets_nothing() -> None:
    none, one = np.zeros(0, dtype=np.int64), np.array([4])
    assert touches(none, none, one, one + 1).tolist() == [False]
    assert Axis.over(none).width == 2
    assert merged(one, one)[0].tolist() == []


def test_running_numbers() -> None:
    owner, number = spread(np.array([2, 0, 3]))
    assert owner.tolist() == [0, 0, 2, 2, 2]
    assert number.tolist() == [0, 1, 0, 1, 2]


@given(STAYS)
def test_outages_are_prolonged_by_failures_meanwhile(failures: Stays) -> None:
    node, time, back = columns(failures)
    down = Outages.of(node, time, back - time)
    rows = zip(down.node.tolist(), down.start.tolist(), down.end.tolist(), strict=True)
    assert {(n, s) for n, a, b in rows for s in range(a, b)} == set(held(failures))
    capacity = np.array([1, 10, 100])
    seconds = sum(capacity[n] for n, second in held(failures) if 0 <= second < 9)
    assert down.held(0, 9, capacity) == seconds


def test_outages_that_touch_are_two_where_a_node_comes_back_between() -> None:
    node, time, downtime = (np.array(one) for one in ([4, 4, 4, 6], [1, 3, 4, 2], [2, 2, 0, 0]))
    down = Outages.of(node, time, downtime, joined=False)
    assert down.node.tolist() == [4, 4, 6]
    assert list(zip(down.start.tolist(), down.end.tolist(), strict=True)) == [
        (1, 3),
        (3, 5),
        (2, 2),
    ]
    assert Outages.of(node, time, downtime).end.tolist() == [5]


@given(STAYS, STAYS)
def test_who_began_last(stays: Stays, moments: Stays) -> None:
    owner, start, _ = columns(stays)
    whose, time, _ = columns(moments)
    for before in (False, True):
        rows = last_begun(owner, start, whose, time, before=before)
        for who, when, row in zip(whose.tolist(), time.tolist(), rows.tolist(), strict=True):
            mine = [k for k in range(len(owner)) if owner[k] == who and start[k] <= when - before]
            assert row == (mine[-1] if mine else -1)
