"""Sizes, overload, costs and when to leave: the rules that coordinators and simulation share."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forestall.machines.rules.costs import GIB, MoveCosts
from forestall.machines.rules.leaving import Foretold, evacuation, foretold_of, leave_at
from forestall.machines.rules.overload import OverloadRule, OverloadWatch, relieved, relieving
from forestall.machines.rules.placement import choose_node
from forestall.machines.rules.sizes import Candidate, NodeChoice, Size, choose_sized

AMOUNT = st.floats(0.1, 64)
ROOMS = st.lists(st.tuples(AMOUNT, AMOUNT, st.one_of(st.just(math.inf), st.floats(1, 9000))),
                 min_size=1, max_size=8)  # fmt: skip


@given(ROOMS, AMOUNT, AMOUNT)
def test_the_chosen_node_has_room(
    rooms: list[tuple[float, float, float]], processors: float, memory: float
) -> None:
    candidates = [
        Candidate(str(number), Size(cpus, gib), foreseen)
        for number, (cpus, gib, foreseen) in enumerate(rooms)
    ]
    size = Size(processors, memory)
    node, _ = choose_sized(candidates, size, seconds=100, deadline=5000, now=0, choice=NodeChoice())
    fitting = [one.node for one in candidates if one.free.holds(size)]
    assert (node in fitting) if fitting else node is None


def test_without_limits_of_memory_it_is_the_papers_choice() -> None:
    free, foreseen = [1.0, 4.0, 2.0], [100.0, 9000.0, 9000.0]
    candidates = [
        Candidate(str(k), Size(free[k], 1e12), foreseen[k]) for k in range(3)
    ]  # fmt: skip
    for strategy in ("best-fit", "first-fit", "random"):
        alone, reason = choose_node(free, foreseen, work=3600, deadline=7200, now=0,
                                    strategy=strategy, draw=0.5)  # fmt: skip
        assert choose_sized(
            candidates, Size(1, 1), seconds=3600, deadline=7200, now=0,
            choice=NodeChoice(strategy, draw=0.5), transfer=12,
        ) == (str(alone), reason)  # fmt: skip


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(0, 4), max_size=6),
       st.floats(1, 16), st.floats(0.1, 1))  # fmt: skip
def test_who_leaves_relieves(used: dict[str, float], processors: float, limit: float) -> None:
    chosen = relieving(used, processors, limit)
    excess = sum(used.values()) - limit * processors
    if chosen is None:
        assert not any(used.values())
    elif any(use >= excess and use > 0 for use in used.values()):
        assert used[chosen] >= excess
        assert all(used[chosen] <= use for use in used.values() if use >= excess and use > 0)
    else:
        assert used[chosen] == max(used.values())


def test_overload_is_held_and_begins_anew() -> None:
    watch = OverloadWatch(OverloadRule(0.8, 60))
    assert not watch.see("a", 0.9, 100)
    assert watch.since("a") == 100
    assert watch.see("a", 0.9, 160)
    watch.forget("a")
    assert not watch.see("a", 0.9, 161)
    assert not watch.see("a", 0.7, 190)
    assert not watch.see("a", 0.9, 230)
    assert not watch.see("a", 0.9, 200)  # the clock was set back
    assert watch.see("a", 0.9, 260)


def test_targets_stay_within_the_limit() -> None:
    nodes = [Candidate(name, Size(4, 1)) for name in "ab"]
    left = relieved(nodes, {"a": 3.0}, {"a": 4.0, "b": 4.0}, 0.5, 0.8)
    assert [one.node for one in left] == ["b"]


def test_costs_are_those_of_least_squares_with_a_prior() -> None:
    """The plain reference: the ridge solution of the weighted rows, by lstsq."""
    generator = np.random.default_rng(2)
    costs, rows = MoveCosts(fixed=3, per_gib=5), []
    for _ in range(30):
        gib = float(generator.uniform(0.5, 32))
        seconds = 1 + 9 * gib + float(generator.normal(0, 0.5))
        costs.learn("a", "b", gib * GIB, seconds)
        rows.append((gib, seconds))
    weights = 0.98 ** np.arange(29, -1, -1)
    prior = np.array([3.0, 5.0])
    for _ in range(2):  # all moves first, then those of the path, drawn to these
        left = np.concatenate((
            np.sqrt(weights)[:, None] * np.array([[1.0, gib] for gib, _ in rows]),
            np.sqrt(3.0) * np.diag([1.0, 4.0]),
        ))  # fmt: skip
        right = np.concatenate((
            np.sqrt(weights) * np.array([seconds for _, seconds in rows]),
            np.sqrt(3.0) * np.diag([1.0, 4.0]) @ prior,
        ))  # fmt: skip
        prior = np.linalg.lstsq(left, right, rcond=None)[0]
    assert costs.of("a", "b", 8 * GIB).seconds == pytest.approx(prior @ [1, 8])
    assert costs.of("a", "b", 8 * GIB).seconds == pytest.approx(73, abs=2)
    assert costs.of("a", "b", 8 * GIB).moves == 30
    assert costs.of("x", "y", 8 * GIB).moves == 0
    assert costs.of("a", "b", 8 * GIB).high > costs.of("a", "b", 8 * GIB).seconds


def test_a_slow_path_is_told_apart() -> None:
    costs = MoveCosts()
    for _ in range(20):
        costs.learn("a", "b", 4 * GIB, 10)
        costs.learn("a", "c", 4 * GIB, 100)
    assert costs.of("a", "b", 4 * GIB).seconds < 25
    assert costs.of("a", "c", 4 * GIB).seconds > 85
    costs.learn("a", "b", 4 * GIB, math.nan)
    assert costs.of("a", "b", 4 * GIB).seconds < 25


def shortest(costs: list[int], at_once: int) -> int:
    """Return the shortest time of all ways to take these moves, so many at a time."""
    return min(
        max(sum(cost for cost, way in zip(costs, ways, strict=True) if way == k)
            for k in range(at_once))
        for ways in product(range(at_once), repeat=len(costs))
    )  # fmt: skip


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(1, 3))
@example([5] * 6, 4)
@example([3, 3, 2, 2, 2], 2)  # longest first takes 7, and 6 would do
def test_evacuation_is_near_the_shortest(costs: list[int], at_once: int) -> None:
    best, whole = shortest(costs, at_once), evacuation(costs, at_once)
    assert best <= whole
    assert 3 * at_once * whole <= (4 * at_once - 1) * best  # Graham 1969
    assert evacuation([cost - 0.5 for cost in costs if cost], at_once) <= whole


@given(st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 1)), min_size=1, max_size=8))
def test_the_spread_is_in_order(steps: list[tuple[int, float]]) -> None:
    ends = np.cumsum([step for step, _ in steps])
    told = foretold_of(500, ends.tolist(), [chance for _, chance in steps])
    if told is None:
        assert max(chance for _, chance in steps) == 0
    else:
        assert 500 <= told.early <= told.at <= told.late <= 500 + ends[-1]
        assert told.probability == max(chance for _, chance in steps)


def test_leave_in_time() -> None:
    assert leave_at(Foretold(1000, 700, 1200), lead=60, moves=90) == 550
    assert Foretold.sharp(7).early == 7
