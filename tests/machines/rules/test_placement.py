"""Nodes for tasks: the strategies by hand, and the trees against looking at every node."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.virtual import FAR, TaskReason
from forestall.machines.rules import placement_entry_kernels as entries
from forestall.machines.rules.entries import LIVE_STRATEGIES
from forestall.machines.rules.fleet_kernels import LEVELS, NOBODY, new_fleet
from forestall.machines.rules.placement import choose_node
from forestall.machines.rules.placement_kernels import Choosing

INF = math.inf


def test_first_fit_takes_the_roomiest_that_outlives_the_deadline() -> None:
    found = choose_node(
        [8, 2, 4, 4], [50, 900, 100, 900], work=10, deadline=100, now=0, strategy="first-fit"
    )
    assert found == (2, TaskReason.QUALIFIED)


@pytest.mark.parametrize(
    ("alpha", "node"),
    [(1, 1), (0, 2), (0.5, 2), ("dynamic", 1)],
)
def test_alpha_weighs_capacity_against_reliability(alpha: float | str, node: int) -> None:
    # cr of capacity: 3, 1, 3 (w 100 in 100 s needs 1 processor); of reliability: 9, 9, 0
    found = choose_node([4, 2, 4], [1000, 1000, 100], work=100, deadline=100, now=0, alpha=alpha)
    assert found == (node, TaskReason.QUALIFIED)


def test_nodes_without_a_foreseen_failure_tie_unless_alpha_is_one() -> None:
    where = {"work": 100, "deadline": 100, "now": 0}
    assert choose_node([4, 2], [INF, INF], **where)[0] == 0
    assert choose_node([4, 2], [INF, INF], alpha=1, **where)[0] == 1
    assert choose_node([4, 2, 4], [INF, INF, 10_000], **where)[0] == 2


def test_least_reliable_is_still_taken_where_one_migration_can_do_the_work() -> None:
    # node 1 works 60 s, then node 0 has (100 - 60 - 12) s left: 60 + 28 >= 88
    at = {"deadline": 100, "now": 0, "transfer": 12}
    one = choose_node([1, 1], [30, 60], work=88, **at)
    assert one == (0, TaskReason.WITH_ONE_MIGRATION)  # 30 + 58 = 88 as well: the lower node
    assert choose_node([1, 1], [30, 60], work=89, **at) == (1, TaskReason.LONGEST_LEFT)
    never = choose_node([1, 1], [30, 60], work=60, deadline=100, now=0, transfer=None)
    assert never == (1, TaskReason.WITH_ONE_MIGRATION)


def test_nothing_to_give() -> None:
    for strategy in LIVE_STRATEGIES:
        found = choose_node([0, 0.05], [INF, INF], work=1, deadline=9, now=0, strategy=strategy)
        assert found[0] is None


def test_a_draw_takes_each_node_that_gives() -> None:
    at = {"work": 1, "deadline": 9, "now": 0, "strategy": "random"}
    taken = [choose_node([1, 0, 2, 1], [INF, INF, 1, INF], draw=d, **at)[0] for d in (0, 0.4, 0.99)]
    assert taken == [0, 2, 3]


@pytest.mark.parametrize(
    "wrong",
    [
        {"strategy": "worst-fit"},
        {"alpha": 1.5},
        {"alpha": "often"},
        {"work": 0},
        {"free": [1]},
        {"free": [-1, 1]},
        {"free": [math.nan, 1]},
        {"free": [1e18, 1]},
        {"free": ["x", 1]},
        {"foreseen": [math.nan, 1]},
        {"alpha": True},
        {"work": math.inf},
        {"work": math.nan},
        {"task_processors": 0},
        {"task_processors": math.nan},
        {"transfer": -5},
        {"draw": 1.0},
        {"draw": -0.5},
    ],
)
def test_wrong_input_is_named(wrong: dict[str, object]) -> None:
    given_ = {"free": [1, 1], "foreseen": [INF, INF], "work": 1, "deadline": 9, "now": 0, **wrong}
    with pytest.raises(ParameterError) as caught:
        choose_node(given_.pop("free"), given_.pop("foreseen"), **given_)  # type: ignore[arg-type]
    assert next(iter(wrong)) in str(caught.value)


# ------------------------------------------------------------------- against looking at every node


def slowly(
    nodes: list[dict[str, int]], strategy: str, alpha: float, work: int, deadline: int, now: int
) -> int:
    """Return the node that qualifies by the rules of Section 4, -1 where none does."""
    span = deadline - now
    able = [
        (number, one)
        for number, one in enumerate(nodes)
        if one["up"]
        and not one["closed"]
        and not one["doubtful"]
        and one["free"] >= 100
        and one["foreseen"] >= deadline
    ]
    if strategy == "first-fit":
        return min(((-one["free"], k) for k, one in able), default=(0, -1))[1]
    fit = []
    for k, one in able:
        if Fraction(one["free"]) < Fraction(work, span):
            continue
        free, needed = one["free"] / 1000, (work / 1000) / span
        cr = alpha * (free - needed) / needed
        if alpha < 1:
            delta = INF if one["foreseen"] == FAR else one["foreseen"] - now
            cr += (1 - alpha) * (delta - span) / span
        fit.append((cr, k))
    return min(fit, default=(0, -1))[1]


node_changes = st.lists(
    st.tuples(
        st.integers(0, 39),
        st.integers(-4, 4),
        st.booleans(),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([False, False, True]),
        st.sampled_from([5, 20, 20, 30, 31, 60, FAR, FAR]),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(
    changes=node_changes,
    strategy=st.sampled_from(["first-fit", "best-fit"]),
    alpha=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    capacity=st.sampled_from([1, 4, 16]),
    work=st.integers(1, 70_000),
    asked=st.lists(st.tuples(st.integers(0, 25), st.integers(1, 40)), min_size=1, max_size=6),
    by_level=st.booleans(),
)
def test_trees_find_what_looking_at_every_node_finds(
    changes, strategy, alpha, capacity, work, asked, by_level
) -> None:
    count = 40
    fleet = new_fleet(np.full(count, capacity * 1000), 1000, 100, by_level=by_level, counted=False)
    assert not by_level or capacity > 4 or fleet.at[LEVELS] == capacity + 1
    nodes = [
        {"free": capacity * 1000, "up": 1, "closed": 0, "doubtful": 0, "foreseen": FAR}
        for _ in range(count)
    ]
    choosing = Choosing(LIVE_STRATEGIES[strategy].number, alpha, 1, 12)
    for i, (node, taken, up, closed, doubtful, foreseen) in enumerate(changes):
        mine = nodes[node]
        take = min(max(taken * 1000, mine["free"] - capacity * 1000), mine["free"])
        mine |= {
            "free": mine["free"] - take,
            "up": int(up),
            "closed": int(closed),
            "doubtful": int(doubtful),
            "foreseen": foreseen,
        }
        entries.change(fleet, node, take, int(up), int(closed), int(doubtful), foreseen)
        now, span = asked[i % len(asked)]
        wanted = slowly(nodes, strategy, alpha, work, now + span, now)
        found, reason = entries.choose(fleet, choosing, work, now + span, now, 0.0)
        if wanted >= 0:
            assert (found, reason) == (wanted, TaskReason.QUALIFIED)
        else:
            assert found == NOBODY or reason != TaskReason.QUALIFIED
