"""Sizes, overload, costs and when to leave: the rules that coordinators and simulation share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.decide.virtual.costs import GIB, MoveCosts
from forestall.decide.virtual.leaving import Foretold, evacuation, foretold_of, leave_at
from forestall.decide.virtual.overload import OverloadRule, OverloadWatch, relieved, relieving
from forestall.decide.virtual.placement import choose_node
from forestall.decide.virtual.sizes import Candidate, NodeChoice, Size, choose_sized

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


@given(st.lists(st.floats(0, 100), max_size=8), st.integers(1, 4))
def test_evacuation_is_between_the_bounds(costs: list[float], at_once: int) -> None:
    whole = evacuation(costs, at_once)
    least = max([sum(costs) / at_once, *costs, 0.0])
    assert least <= whole <= math.ceil(4 / 3 * least) + 1


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
