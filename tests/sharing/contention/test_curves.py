"""Thresholds in made-up curves: numbers by hand, and what holds for any curve."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.sharing.contention.curves import (
    curves,
    first_above,
    mean_interval,
    memory_curves,
    threshold,
)
from forestall.sharing.contention.memory import MB
from sharing.contention.contention_cases import linear, memory_points, points

RNG = np.random.default_rng


def least(loss, limit=0.05, **more):  # type: ignore[no-untyped-def]
    return threshold(curves(points(loss, **more), "normal"), limit, RNG(1), draws=200)


def test_a_curve_that_crosses_the_limit_between_two_loads() -> None:
    # 2 % at 0.2, 8 % at 0.4: 5 % lies half-way.
    found = least(lambda load, _: 0.3 * load - 0.04, loads=(0.2, 0.4, 0.6))
    assert found.kind == "crossed"
    assert found.value == pytest.approx(0.3)
    assert found.interval is None


def test_the_first_crossing_counts_not_a_later_dip() -> None:
    lost = {0.2: 0.0, 0.4: 0.10, 0.6: 0.0, 0.8: 0.2}
    assert least(lambda load, _: lost[load], loads=tuple(lost)).value == pytest.approx(0.3)


def test_a_curve_that_never_passes_the_limit_and_one_that_always_does() -> None:
    never = least(lambda _load, _guest: 0.0499999)
    assert (never.value, never.kind) == (1.0, "never")
    always = least(lambda _load, _guest: 0.0500001)
    assert (always.value, always.kind) == (0.0, "always")


def test_the_worst_group_tells() -> None:
    found = points(lambda load, _: load / 10, groups=(1,))
    found += [p._replace(group=4) for p in points(lambda load, _: load / 5)]
    told = threshold(curves(found, "normal"), 0.05, RNG(1))
    assert told.group == 4
    assert told.by_group == pytest.approx({1: 0.5, 4: 0.25})
    assert told.value == pytest.approx(0.25)


def test_reductions_pair_phases_of_the_same_repeat() -> None:
    found = points(linear, wobble=(0.0, 0.0))
    # The host was half as quick in the second repeat, for all three alike.
    slow = [p._replace(owner=p.owner / 2) if p.repeat == 1 else p for p in found]
    (curve,) = curves(slow, "normal")
    assert curve.reduction == pytest.approx(np.array([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3],
                                                      [0.4, 0.4], [0.5, 0.5]]))  # fmt: skip
    assert curve.mean_load == pytest.approx([0.15, 0.3, 0.45, 0.6, 0.75])


def test_a_load_that_was_not_measured_in_every_repeat_is_left_out() -> None:
    found = [
        p for p in points(linear, wobble=(0.0, 0.01))
        if (p.repeat, p.asked, p.guest) != (1, 0.4, "normal")
    ]  # fmt: skip
    assert curves(found, "normal")[0].asked.tolist() == [0.2, 0.6, 0.8, 1.0]
    assert curves(found, "lowest")[0].asked.tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_intervals_of_means() -> None:
    # Student's 97.5 % point with 2 degrees of freedom is 4.302653; s / sqrt(3) = 0.01 / sqrt(3).
    ends = mean_interval(np.array([[0.01, 0.02, 0.03]]))[0]
    half = 4.302653 * 0.01 / math.sqrt(3)
    assert ends == pytest.approx([0.02 - half, 0.02 + half], abs=1e-7)
    for few in ([[0.01]], [[0.2, 0.9]]):  # of two it would be -426 to 536 %
        assert np.isnan(mean_interval(np.array(few))).all()
    assert mean_interval(np.array([[0.2, 0.9, 0.9]]))[0, 1] == 1.0


def test_the_interval_of_a_threshold_comes_from_the_repeats() -> None:
    wobble = (-0.01, 0.0, 0.01)
    found = least(
        lambda load, _: load / 10, wobble=wobble, loads=tuple(k / 10 for k in range(1, 11))
    )
    assert found.value == pytest.approx(0.5)
    assert found.interval is not None
    low, high = found.interval
    assert 0.35 < low < 0.5 < high < 0.65
    again = least(
        lambda load, _: load / 10, wobble=wobble, loads=tuple(k / 10 for k in range(1, 11))
    )
    assert again == found
    same = least(lambda load, _: load / 10, wobble=(0.0, 0.0, 0.0))
    assert same.interval == pytest.approx((0.5, 0.5))
    assert least(lambda load, _: load / 10, wobble=(0.0, 0.0)).interval is None


CURVE = st.lists(
    st.tuples(st.floats(0.01, 1), st.floats(-0.5, 0.9)), min_size=1, max_size=12,
    unique_by=lambda row: row[0],
)  # fmt: skip


def slow_first(rows: list[tuple[float, float]], limit: float) -> float:
    """The least load at which the line through the points is above the limit, step by step."""
    rows = sorted(rows)
    if rows[0][1] > limit:
        return 0.0
    for (x0, y0), (x1, y1) in pairwise(rows):
        if y1 > limit:
            return x0 + (limit - y0) * (x1 - x0) / (y1 - y0)
    return 1.0


@given(CURVE, st.floats(0, 0.5), st.floats(0, 0.5))
def test_thresholds_grow_with_the_limit(
    rows: list[tuple[float, float]], a: float, b: float
) -> None:
    made = [
        p
        for load, lost in rows
        for p in points(lambda _load, _guest, lost=lost: lost, loads=(load,))
    ]
    (curve,) = curves(made, "normal")
    low, high = (threshold([curve], limit, RNG(1)).value for limit in sorted((a, b)))
    assert low <= high + 1e-9
    assert low >= 0
    assert high <= 1


@given(CURVE, st.floats(0, 0.5))
def test_crossings_are_those_of_a_plain_search(
    rows: list[tuple[float, float]], limit: float
) -> None:
    x, y = np.array(rows).T[:, None, :]
    place, kind = first_above(x, y, limit)
    expected = slow_first(rows, limit)
    value = {1.0: 1.0, -1.0: 0.0}.get(float(kind[0]), float(place[0]))
    assert value == pytest.approx(expected, abs=1e-9)


def test_the_free_memory_that_the_owner_needs() -> None:
    normal, lowest = memory_curves(memory_points(needed=2.0))
    # 10 % for each MB below 2: 5 % at 1.5 MB; but measured at 4 (0 %) and 0 (20 %): 3 MB.
    assert normal.needed(0.05) == (pytest.approx(3 * MB), "crossed")
    assert lowest.needed(0.05) == normal.needed(0.05)
    assert normal.size.tolist() == sorted(normal.size.tolist())
    assert normal.needed(0.99)[1] == "never"
    assert memory_curves(memory_points(needed=20.0))[0].needed(0.05) == (8 * MB, "always")
    assert memory_curves([]) == []


def test_one_odd_point_with_plenty_of_memory_does_not_move_what_is_needed() -> None:
    rows = [
        p._replace(pages=800) if p.guest == "normal" and p.free == 8 * MB else p
        for p in memory_points(needed=2.0)
    ]
    assert memory_curves(rows)[0].needed(0.05) == (pytest.approx(3 * MB), "crossed")
