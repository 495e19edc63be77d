"""Cases small enough to follow by hand, for the reference and for the fast code alike.

Rates and work are in thousandths: a task of 20 s at the full rate has 20,000 to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from forestall.core.model.virtual import FAR
from forestall.core.model.virtual_books import MOVE, RUN, STRUCK, Begun, Ended, MoveEnd
from forestall.core.streams import stream
from forestall.machines.simulation.outcome import FATE
from forestall.machines.simulation.run import play_virtual
from machines.simulation.virtual_cases import (
    Case,
    FailureRow,
    JobRow,
    PredictionRow,
    plain,
    prepared,
)
from machines.simulation.virtual_reference import PlainOutcome, measure, simulate_plainly

SIMULATORS: list[Callable[..., Any]] = [simulate_plainly, play_virtual]
FIELDS = {"jobs": FATE.names, "runs": RUN.names, "moves": MOVE.names, "struck": STRUCK.names}
TWO = [(0, 1, 20, 60)]
"""A job of one task: 20 s of work, to be done in 60 s."""

Play = Callable[..., PlainOutcome]


@pytest.fixture(params=SIMULATORS, ids=lambda function: function.__name__)
def play(request: pytest.FixtureRequest) -> Play:
    def played(
        jobs: list[JobRow],
        failures: list[FailureRow] | None = None,
        predictions: list[PredictionRow] | None = None,
        **settings: Any,
    ) -> PlainOutcome:
        settings = {"nodes": 2, "strategy": "first-fit", "migration_cost": 2, **settings}
        case = Case(jobs, failures or [], predictions or [], settings)
        return plain(request.param(*prepared(case)))

    return played


def told(outcome: PlainOutcome, table: str, names: str) -> list[tuple[int, ...]]:
    """Return some fields of a table."""
    where = [(FIELDS[table] or ()).index(name) for name in names.split()]
    return [tuple(row[k] for k in where) for row in getattr(outcome, table)]


def nodes(outcome: PlainOutcome) -> list[int]:
    """Return where the tasks were placed first."""
    return [node for node, begun in told(outcome, "runs", "node begun") if begun == Begun.PLACED]


# ------------------------------------------------------------------------------- choosing


def test_first_fit_takes_the_roomiest_node(play: Play) -> None:
    jobs = [(t, 1, 20, 60) for t in range(5)]
    out = play(jobs, nodes=3, processors_per_node=2)
    # Two free everywhere: node 0; then 1 and 2 have two; then all have one again.
    assert nodes(out) == [0, 1, 2, 0, 1]
    assert told(out, "jobs", "start finish done late dropped") == [
        (t, t + 20, 1, 0, 0) for t in range(5)
    ]


def test_first_fit_avoids_a_foreseen_failure_even_for_a_sliver(play: Play) -> None:
    # At 1, node 1 has a whole processor but is foreseen to fail at 39; the deadline is 41.
    jobs = [(0, 1, 20, 20), (1, 1, 4, 40)]
    out = play(jobs, [], [(0, 1, 39)], processors_per_node=1, task_processors=0.8)
    # Node 0 has 0.2 left: 3,200 thousandths take 16 s.
    assert told(out, "runs", "node start end rate work") == [
        (0, 0, 20, 800, 16_000),
        (0, 1, 17, 200, 3_200),
    ]
    out = play(jobs, [], [(0, 1, 41)], processors_per_node=1, task_processors=0.8)
    assert nodes(out) == [0, 1]  # a failure at the very deadline is late enough


def test_tasks_of_a_job_take_what_is_left_down_to_the_least_rate(play: Play) -> None:
    out = play([(0, 5, 3, 60)], nodes=2, task_processors=0.3, strategy="best-fit", alpha=1)
    # Needed: 900 / 60 = 15 thousandths, so the fullest node is the best while it has the least
    # rate: 1000, 700, 400, 100 on node 0, and then node 1.
    assert told(out, "runs", "task node start end rate") == [
        (0, 0, 0, 3, 300),
        (1, 0, 0, 3, 300),
        (2, 0, 0, 3, 300),
        (3, 0, 0, 9, 100),
        (4, 1, 0, 3, 300),
    ]
    assert told(out, "jobs", "start finish done") == [(0, 9, 5)]
    out = play(
        [(0, 5, 3, 60)], nodes=2, task_processors=0.3, strategy="best-fit", alpha=1, least_rate=0.11
    )
    assert nodes(out) == [0, 0, 0, 1, 1]


def test_the_end_is_rounded_up(play: Play) -> None:
    out = play([(0, 4, 1, 60)], nodes=1, task_processors=0.3)
    assert told(out, "runs", "end rate work") == [(1, 300, 300)] * 3 + [(3, 100, 300)]
    out = play([(0, 4, 1, 60)], nodes=1, task_processors=0.31, least_rate=0.07)
    assert told(out, "runs", "end rate work")[3] == (5, 70, 310)  # 4.43 s


def test_best_fit_takes_the_closest_capacity_that_is_enough(play: Play) -> None:
    settings = {"nodes": 2, "processors_per_node": 2, "strategy": "best-fit", "alpha": 1}
    out = play([(0, 1, 20, 60), (1, 1, 20, 60), (2, 1, 20, 60)], **settings)
    assert nodes(out) == [0, 0, 1]
    # The second needs 1.25 processors: node 1, though one is all that it is given.
    out = play([(0, 1, 20, 60), (1, 1, 25, 20)], **settings)
    assert told(out, "runs", "node start end rate work ended") == [
        (0, 0, 20, 1000, 20_000, Ended.COMPLETED),
        (1, 1, 21, 1000, 20_000, Ended.STOPPED),
    ]
    # Exactly one processor is enough for exactly one; with a second less it is not.
    assert nodes(play([(0, 1, 20, 60), (1, 1, 20, 20)], **settings)) == [0, 0]
    assert nodes(play([(0, 1, 20, 60), (1, 1, 20, 19)], **settings)) == [0, 1]


@pytest.mark.parametrize(
    ("strategy", "alpha", "node"),
    [
        ("best-fit", 0.5, 2),
        ("best-fit", 0.0, 2),
        ("best-fit", 1.0, 0),
        ("first-fit", 0.5, 0),
        ("omniscient", 1.0, 2),  # always alpha 0.5
    ],
)
def test_alpha_weighs_reliability(play: Play, strategy: str, alpha: float, node: int) -> None:
    # Nothing is foreseen for node 0: infinitely reliable, too good for the reliability-biased.
    foreseen = [(0, 1, 100), (0, 2, 50), (0, 3, 39)]
    out = play([(0, 1, 20, 40)], [], foreseen, nodes=4, strategy=strategy, alpha=alpha)
    assert nodes(out) == [node]


def test_infinite_deltas_tie_and_the_lower_node_wins(play: Play) -> None:
    # Node 0 has 2 processors free, node 1 has 1: capacity says node 1, but both are infinite.
    jobs = [(0, 1, 60, 60), (1, 1, 20, 40)]
    settings = {"nodes": 2, "processors_per_node": 2, "strategy": "best-fit"}
    foreseen = [(0, 0, 10), (1, 0, FAR)]
    assert nodes(play(jobs, [], foreseen, **settings, alpha=0.99)) == [1, 0]
    assert nodes(play(jobs, [], foreseen, **settings, alpha=1.0)) == [1, 1]


def test_the_measure_by_hand(play: Play) -> None:
    # 10 s of work in 20 s need half a processor. Node 0, one free, foreseen at 40: surplus 1 and 1.
    # Node 1, two free, foreseen at 22: surplus 3 and 0.1.
    assert measure(0.5, 1000, 10_000, 40, 20) == 1.0
    assert measure(0.25, 1000, 10_000, 40, 20) == 1.0
    assert measure(0.5, 2000, 10_000, 22, 20) == pytest.approx(1.55)
    assert measure(0.25, 2000, 10_000, 22, 20) == pytest.approx(0.825)
    assert measure(1.0, 2000, 10_000, None, 20) == 3.0
    assert measure(0.99, 2000, 10_000, None, 20) == math.inf
    jobs = [(0, 1, 30, 30), (1, 1, 10, 20)]
    foreseen = [(0, 0, FAR), (0, 1, 5), (1, 0, 41), (1, 1, 23)]
    settings = {"processors_per_node": 2, "strategy": "best-fit"}
    assert nodes(play(jobs, [], foreseen, **settings, alpha=0.5)) == [0, 0]
    assert nodes(play(jobs, [], foreseen, **settings, alpha=0.25)) == [0, 1]


def test_dynamic_alpha_is_the_share_that_lives_beyond_the_deadline(play: Play) -> None:
    # The measures of the test before: node 1 is the better one below alpha 0.9 / 2.9 = 0.310.
    jobs = [(0, 1, 30, 30), (1, 1, 10, 20)]
    settings = {"processors_per_node": 2, "strategy": "best-fit", "alpha": "dynamic"}
    first = [(0, 1, 5), (0, 2, 5), (0, 3, 5), (0, 4, 5), (0, 5, 5)]
    now = [(1, 0, 41), (1, 1, 23)]
    # Nodes 2 to 4 are foreseen to fail: 2 of 5 are left.
    assert nodes(play(jobs, [], [*first[:4], *now], nodes=5, **settings)) == [0, 0]
    # Nodes 2 to 6 as well: 2 of 7.
    more = [*first, (0, 6, 5), *now]
    assert nodes(play(jobs, [], more, nodes=7, **settings)) == [0, 1]
    # Of those, nodes 5 and 6 are down: 2 of 5 again.
    down = [(0, 5, 50), (0, 6, 50)]
    assert nodes(play(jobs, down, more, nodes=7, **settings)) == [0, 0]


def test_with_no_safe_node_one_that_can_be_left_in_time(play: Play) -> None:
    # 8 s on node 0 and 20 - 8 - 2 on node 1 are enough; node 1 lives longer, but 0 is lower.
    foreseen = [(0, 0, 8), (0, 1, 10)]
    assert nodes(play([(0, 1, 10, 20)], [], foreseen)) == [0]
    # 8 + (20 - 8 - 2) = 18 s are just enough for 18 s of work, and not for 19: so the longest left.
    assert nodes(play([(0, 1, 18, 20)], [], foreseen)) == [0]
    assert nodes(play([(0, 1, 19, 20)], [], foreseen)) == [1]
    # With a migration of 12 s nothing of the second part is left.
    assert nodes(play([(0, 1, 8, 20)], [], foreseen, migration_cost=12, lead=0)) == [0]
    assert nodes(play([(0, 1, 9, 20)], [], foreseen, migration_cost=12, lead=0)) == [1]
    # Where nothing migrates, there is no second part.
    assert nodes(play([(0, 1, 10, 20)], [], foreseen, migration="none")) == [1]
    assert nodes(play([(0, 1, 8, 20)], [], foreseen, migration="none")) == [0]


def test_of_those_that_can_be_left_the_roomiest(play: Play) -> None:
    # Node 0: 8 s at 1, and 10 s at 2; node 1: 7 s at 1, and 11 s at 1. Both will do.
    jobs = [(0, 1, 60, 60), (1, 1, 10, 20)]
    out = play(jobs, [], [(1, 0, 9), (1, 1, 8)], processors_per_node=2, lead=0)
    assert nodes(out) == [0, 1]


def test_a_node_to_be_left_is_of_no_use_but_taken_as_the_last(play: Play) -> None:
    # Lead 20: node 0, foreseen at 25, is doubtful from 5 on. At 6 its delta is 0, and that of node
    # 1 is 24. Node 2 is safe, and the first job's.
    foreseen = [(0, 0, 25), (0, 1, 30)]
    settings = {"nodes": 3, "lead": 20}
    # 30 s of work can be done on neither alone: the longest left, then the last that has room.
    out = play([(6, 1, 30, 40)] * 3, [], foreseen, migration="none", **settings)
    assert nodes(out) == [2, 1, 0]
    # To node 1 a task could move and do 38 s in all; what is on node 0 could not leave it.
    assert nodes(play([(6, 1, 38, 40)] * 3, [], foreseen, **settings)) == [2, 1, 0]


def test_a_node_to_be_left_is_no_target_of_the_one_migration(play: Play) -> None:
    # At 6 node 0 is to be left. From node 1 (10 s) or node 2 (20 s) a task could go on there with
    # both processors; between the two it can do 38 of its 40 s, so that neither qualifies.
    foreseen = [(0, 0, 6), (0, 1, 16), (0, 2, 26)]
    settings = {"nodes": 3, "node_sizes": "1x2+2x1", "lead": 0}
    assert nodes(play([(6, 1, 40, 40)], [], foreseen, **settings))[:1] == [2]
    assert nodes(play([(6, 1, 39, 40)] * 3, [], foreseen, **settings))[:2] == [2, 1]


def test_a_node_that_is_to_be_left_comes_after_all_others(play: Play) -> None:
    # At 15 node 0 is left, and another is to be left since 10. Of the third it is foreseen that it
    # fails 2 s after a move to it. Neither can do the 42 s that remain.
    for doubtful, late in ((1, 2), (2, 1)):
        foreseen = [(1, 0, 17), (10, doubtful, 12), (15, late, 19)]
        out = play([(0, 1, 57, 60)], [], foreseen, nodes=3)
        assert told(out, "moves", "time source target")[0] == (15, 0, late)
        # Had it failed by then, its time left would be none, too: the lower number of the two.
        foreseen[-1] = (15, late, 17)
        out = play([(0, 1, 57, 60)], [], foreseen, nodes=3)
        assert told(out, "moves", "time source target")[0] == (15, 0, 1)


def test_random_takes_the_node_that_its_number_draws(play: Play) -> None:
    draws = stream(7, "virtual", "random-select").random(6)
    out = play([(0, 2, 5, 60), (50, 4, 5, 60)], nodes=4, strategy="random", seed=7)
    free = [0, 1, 2, 3]
    expected = [free.pop(math.floor(u * len(free))) for u in draws[:2]]
    free = [0, 1, 2, 3]
    expected += [free.pop(math.floor(u * len(free))) for u in draws[2:]]
    assert nodes(out) == expected


def test_random_moves_at_random_unless_it_is_to_stay(play: Play) -> None:
    settings = {"nodes": 3, "strategy": "random", "seed": 3}
    failed = [(18, n, 5) for n in range(3)]
    first = math.floor(stream(3, "virtual", "random-select").random() * 3)
    second = math.floor(stream(3, "virtual", "random-moves").random() * 2)
    foreseen = [(5, first, 17)]
    out = play(TWO, failed, foreseen, random_stays=True, **settings)
    assert told(out, "runs", "node end ended") == [(first, 18, Ended.ABORTED)]
    assert out.moves == []
    out = play(TWO, [], foreseen, **settings)
    others = [n for n in range(3) if n != first]
    assert told(out, "moves", "time end source target outcome") == [
        (15, 17, first, others[second], MoveEnd.ARRIVED)
    ]


# ------------------------------------------------------------------------------- moving


def test_a_task_moves_before_its_node_fails(play: Play) -> None:
    out = play(TWO, [(18, 0, 100)], [(5, 0, 17)])
    assert out.jobs == [(0, 22, 1, 0, 0)]
    assert out.runs == [
        (0, 0, 0, Begun.PLACED, Ended.MOVED, 0, 0, 15, 1000, 15_000, 0, 0),
        (0, 0, 1, Begun.MIGRATED, Ended.COMPLETED, 15, 17, 22, 1000, 5_000, 0, 0),
    ]
    assert out.moves == [(15, 17, 17, 0, 0, 0, 1, MoveEnd.ARRIVED)]
    assert out.struck == [(18, 0, 0, 0)]


@pytest.mark.parametrize(("lead", "leaves"), [(0, 17), (1, 16), (5, 12), (12, 5), (40, 5)])
def test_the_lead_tells_when_to_leave(play: Play, lead: int, leaves: int) -> None:
    out = play(TWO, [], [(5, 0, 17)], lead=lead)
    assert told(out, "moves", "time end predicted") == [(leaves, leaves + 2, 17)]
    assert told(out, "jobs", "finish") == [(22,)]


def test_a_prediction_that_is_past_makes_it_leave_at_once(play: Play) -> None:
    out = play(TWO, [], [(5, 0, 3)])
    assert told(out, "moves", "time end predicted") == [(5, 7, 3)]
    assert told(out, "jobs", "finish") == [(22,)]


def test_a_new_prediction_replaces_the_old_one(play: Play) -> None:
    out = play(TWO, [], [(5, 0, 17), (14, 0, 19)])
    assert told(out, "moves", "time predicted") == [(17, 19)]
    out = play(TWO, [], [(5, 0, 17), (15, 0, FAR)])  # in the second in which it was to leave
    assert out.moves == []
    out = play(TWO, [], [(5, 0, 17), (5, 0, 12), (5, 0, 18)])  # the last of one second holds
    assert told(out, "moves", "time predicted") == [(16, 18)]


def test_a_failure_clears_the_prediction_and_a_row_of_that_second_counts(play: Play) -> None:
    job = [(10, 1, 20, 60)]
    # Node 0 is foreseen at 40, so node 1; and after its failure at 5 nothing is foreseen.
    assert nodes(play(job, [], [(0, 0, 40)])) == [1]
    assert nodes(play(job, [(5, 0, 1)], [(0, 0, 40)])) == [0]
    assert nodes(play(job, [(5, 0, 1)], [(0, 0, 40), (5, 0, 40)])) == [1]
    # Also while it is down.
    assert nodes(play(job, [(4, 0, 3), (5, 0, 3)], [(4, 0, 40)])) == [0]


def test_an_unforeseen_failure_aborts_its_tasks_and_the_others_run_on(play: Play) -> None:
    out = play([(0, 2, 20, 60)], [(8, 1, 5)])
    assert out.jobs == [(0, 20, 1, 0, 0)]
    assert told(out, "runs", "task node ended end work lost") == [
        (0, 0, Ended.COMPLETED, 20, 20_000, 0),
        (1, 1, Ended.ABORTED, 8, 8_000, 8_000),
    ]
    assert out.struck == [(8, 0, 1, 8_000)]


def test_one_failure_aborts_all_that_shares_the_node(play: Play) -> None:
    out = play([(0, 2, 20, 60), (3, 1, 20, 60)], [(8, 0, 5)], nodes=1, processors_per_node=3)
    assert out.struck == [(8, 0, 3, 8_000 + 8_000 + 5_000)]
    assert told(out, "jobs", "start finish done") == [(0, 8, 0), (3, 8, 0)]


def test_a_task_dies_with_the_target_that_it_is_moving_to(play: Play) -> None:
    out = play(TWO, [(18, 1, 100)], [(5, 0, 17)], migration_cost=5, lead=2)
    assert told(out, "runs", "node ended start runs_from end work lost") == [
        (0, Ended.MOVED, 0, 0, 15, 15_000, 0),
        (1, Ended.ABORTED, 15, 20, 18, 0, 15_000),
    ]
    assert told(out, "moves", "time end outcome") == [(15, 18, MoveEnd.TARGET_FAILED)]
    # In the second of its arrival it has arrived, though it has done nothing there.
    out = play(TWO, [(20, 1, 100)], [(5, 0, 17)], migration_cost=5, lead=2)
    assert told(out, "moves", "time end outcome") == [(15, 20, MoveEnd.ARRIVED)]
    assert told(out, "runs", "end work lost")[1] == (20, 0, 15_000)
    # The source's failure no longer matters.
    out = play(TWO, [(16, 0, 100)], [(5, 0, 17)], migration_cost=5, lead=2)
    assert out.jobs == [(0, 25, 1, 0, 0)]


def test_a_task_that_is_arriving_is_not_moved_on(play: Play) -> None:
    foreseen = [(5, 0, 17), (5, 1, 20)]
    out = play(TWO, [], foreseen, nodes=3, migration_cost=5, lead=2, strategy="best-fit", alpha=0)
    # Node 2 is safe, and taken; node 1 has nothing to lose.
    assert told(out, "moves", "time source target") == [(15, 0, 2)]
    later = [(1, 0, 17), (16, 1, 19), (16, 0, FAR)]
    out = play(TWO, [(19, 1, 9)], later, migration_cost=5, lead=2)
    # On its way to node 1 from 15 to 20: the leaving at 17 passes it by, and it dies there.
    assert told(out, "moves", "time end outcome") == [(15, 19, MoveEnd.TARGET_FAILED)]
    arrived = [(1, 0, 17), (16, 1, 22), (16, 0, FAR)]
    out = play(TWO, [(25, 1, 9)], arrived, migration_cost=5, lead=2)
    # Just arrived at 20, it leaves at once, back to node 0: 15 s done, 5 s from 25 on.
    assert told(out, "moves", "time end source target") == [(15, 20, 0, 1), (20, 25, 1, 0)]
    assert out.jobs == [(0, 30, 1, 0, 0)]


def test_with_nowhere_to_go_it_stays(play: Play) -> None:
    for room in ({"nodes": 1}, {"nodes": 2}):
        jobs = [(0, 1, 20, 60)] * room["nodes"]
        out = play(jobs, [(18, 0, 9)], [(5, 0, 17)], **room)
        assert out.moves == []
        assert out.struck == [(18, 0, 1, 18_000)]


def test_it_stays_where_the_move_would_end_at_the_deadline_only(play: Play) -> None:
    out = play([(0, 1, 20, 17)], [(18, 0, 9)], [(5, 0, 17)])  # away from 15 to 17
    assert out.moves == []
    assert told(out, "runs", "ended end work lost") == [(Ended.STOPPED, 17, 17_000, 0)]
    out = play([(0, 1, 20, 18)], [(18, 0, 9)], [(5, 0, 17)])
    assert told(out, "runs", "ended end work lost") == [
        (Ended.MOVED, 15, 15_000, 0),
        (Ended.STOPPED, 18, 1_000, 0),
    ]


def test_the_most_urgent_moves_first(play: Play) -> None:
    # Both on node 0 (node 1 down until 10, node 2 foreseen); then node 1 has room for one only.
    jobs = [(0, 1, 20, 60), (1, 1, 20, 50), (11, 1, 40, 80)]
    out = play(jobs, [(0, 1, 10), (16, 0, 9)], [(2, 0, 17)], nodes=2, processors_per_node=2)
    # At 11 node 1 is the roomier: the third job; one is free there. At 15 job 1, due at 51, moves,
    # and the other stays.
    assert told(out, "moves", "time job source target") == [(15, 1, 0, 1)]
    assert out.struck[1:] == [(16, 1, 1, 16_000)]


def test_a_move_takes_the_room_at_once_and_keeps_the_rate_found(play: Play) -> None:
    jobs = [(0, 1, 20, 90), (0, 1, 20, 90)]
    out = play(jobs, [], [(5, 0, 17)], task_processors=0.8)
    # 16,000 each. Job 0 has 4,000 left at 15, and gets 0.2 on node 1 from 17 on: 20 s.
    assert told(out, "runs", "job node start runs_from end rate work") == [
        (0, 0, 0, 0, 15, 800, 12_000),
        (0, 1, 15, 17, 37, 200, 4_000),
        (1, 1, 0, 0, 20, 800, 16_000),
    ]


def test_what_is_freed_by_a_move_is_used_in_that_second(play: Play) -> None:
    # Node 1 comes back at 10; job 0 leaves node 0 at 15, where job 1, of two tasks, could not fit
    # beside it; node 0 is doubtful, and taken as the last.
    jobs = [(0, 1, 20, 60), (12, 2, 3, 60)]
    out = play(jobs, [(0, 1, 10)], [(5, 0, 17)], processors_per_node=1, nodes=3)
    assert told(out, "runs", "job node start end") == [
        (0, 0, 0, 15),
        (0, 1, 15, 22),
        (1, 1, 12, 15),
        (1, 2, 12, 15),
    ]


def test_two_nodes_due_in_one_second_see_each_other_in_order(play: Play) -> None:
    # Lead 30 makes both due at 10 although they are foreseen at 40, after the deadlines at 36. The
    # task of node 0 finds node 1 still safe; that of node 1 does not find node 0 so.
    jobs = [(0, 1, 20, 36), (0, 1, 20, 36)]
    foreseen = [(10, 0, 40), (10, 1, 40)]
    out = play(jobs, [], foreseen, nodes=3, processors_per_node=2, lead=30)
    assert told(out, "moves", "job source target") == [(0, 0, 2), (1, 1, 2)]
    out = play(jobs, [(5, 2, 50)], foreseen, nodes=3, processors_per_node=2, lead=30)
    assert told(out, "moves", "time end job source target") == [
        (10, 12, 0, 0, 1),
        (10, 12, 1, 1, 0),
    ]


def test_predictions_for_a_node_that_is_down_hold_when_it_is_back(play: Play) -> None:
    job = [(10, 1, 20, 60)]
    # Known at 6, while it is down from 5 to 8; from 68 on it is to be left; the deadline is 70.
    assert nodes(play(job, [(5, 0, 3)], [(6, 0, 69)], nodes=2)) == [1]
    assert nodes(play(job, [(5, 0, 3)], [(6, 0, 70)], nodes=2)) == [0]
    # Left already at 7, while it is down.
    assert nodes(play(job, [(5, 0, 3)], [(6, 0, 70)], nodes=2, lead=63)) == [1]


# ------------------------------------------------------------------------------- live migration

LIVE = {"migration": "pre-copy", "migration_cost": 6, "max_downtime": 1.5, "lead": 9}
"""Copying 6 s, standing still 2 s; leaving at 8 what is foreseen to fail at 17."""


def test_live_migration_runs_on_while_it_copies(play: Play) -> None:
    out = play(TWO, [(17, 0, 9)], [(5, 0, 17)], **LIVE)
    assert out.runs == [
        (0, 0, 0, Begun.PLACED, Ended.MOVED, 0, 0, 14, 1000, 14_000, 0, 0),
        (0, 0, 1, Begun.MIGRATED, Ended.COMPLETED, 8, 16, 22, 1000, 6_000, 0, 0),
    ]
    assert out.moves == [(8, 16, 17, 0, 0, 0, 1, MoveEnd.ARRIVED)]
    assert out.jobs == [(0, 22, 1, 0, 0)]


def test_live_migration_holds_both_nodes_meanwhile(play: Play) -> None:
    out = play([*TWO, (9, 1, 4, 50)], [], [(5, 0, 17)], **LIVE)
    # Job 1 waits for node 0, which is free at 14.
    assert told(out, "runs", "job node start end") == [(0, 0, 0, 14), (0, 1, 8, 22), (1, 0, 14, 18)]


def test_the_source_of_a_live_migration_fails(play: Play) -> None:
    for late, lost in ((10, 10_000), (13, 13_000)):
        out = play(TWO, [(late, 0, 9)], [(5, 0, 17)], **LIVE)
        assert told(out, "runs", "node ended start runs_from end work lost") == [
            (0, Ended.ABORTED, 0, 0, late, lost, lost),
            (1, Ended.CANCELLED, 8, 16, late, 0, 0),
        ]
        assert told(out, "moves", "end outcome") == [(late, MoveEnd.SOURCE_FAILED)]
        assert out.struck == [(late, 0, 1, lost)]
    out = play(TWO, [(14, 0, 9)], [(5, 0, 17)], **LIVE)  # the copying ends first
    assert out.jobs == [(0, 22, 1, 0, 0)]


def test_the_target_of_a_live_migration_fails(play: Play) -> None:
    out = play(TWO, [(13, 1, 1)], [(5, 0, 17)], **LIVE)
    assert told(out, "runs", "node ended start runs_from end work lost") == [
        (0, Ended.COMPLETED, 0, 0, 20, 20_000, 0),
        (1, Ended.CANCELLED, 8, 16, 13, 0, 0),
    ]
    assert told(out, "moves", "end outcome") == [(13, MoveEnd.TARGET_FAILED)]
    assert out.struck == [(13, 0, 0, 0)]
    # Once the memory is there, the machine dies with it.
    out = play(TWO, [(15, 1, 1)], [(5, 0, 17)], **LIVE)
    assert told(out, "runs", "node ended start runs_from end work lost") == [
        (0, Ended.MOVED, 0, 0, 14, 14_000, 0),
        (1, Ended.ABORTED, 8, 16, 15, 0, 14_000),
    ]
    assert told(out, "moves", "end outcome") == [(15, MoveEnd.TARGET_FAILED)]


def test_both_ends_of_a_live_migration_fail_in_one_second(play: Play) -> None:
    out = play(TWO, [(10, 0, 9), (10, 1, 9)], [(5, 0, 17)], **LIVE)
    assert told(out, "moves", "end outcome") == [(10, MoveEnd.SOURCE_FAILED)]
    out = play(TWO, [(0, 0, 5), (10, 0, 9), (10, 1, 9)], [(6, 1, 17)], **LIVE)
    # Here node 0 is the target, and its failure comes first.
    assert told(out, "moves", "time source target end outcome") == [
        (8, 1, 0, 10, MoveEnd.TARGET_FAILED)
    ]
    assert told(out, "runs", "node ended") == [(0, Ended.CANCELLED), (1, Ended.ABORTED)]


def test_a_failure_elsewhere_does_not_touch_a_live_migration(play: Play) -> None:
    # From node 0 to node 1 at 8; from there to node 2 from 18 on, when node 0 fails.
    out = play([(0, 1, 40, 90)], [(19, 0, 9)], [(5, 0, 17), (18, 1, 20)], nodes=3, **LIVE)
    assert told(out, "moves", "time end source target outcome") == [
        (8, 16, 0, 1, MoveEnd.ARRIVED),
        (18, 26, 1, 2, MoveEnd.ARRIVED),
    ]
    assert told(out, "runs", "node runs_from end work") == [
        (0, 0, 14, 14_000),
        (1, 16, 24, 8_000),
        (2, 26, 44, 18_000),
    ]


@pytest.mark.parametrize("runtime", [13, 14])
def test_a_task_ends_before_its_live_migration(play: Play, runtime: int) -> None:
    out = play([(0, 1, runtime, 60)], [], [(5, 0, 17)], **LIVE)
    assert told(out, "runs", "node ended start end work") == [
        (0, Ended.COMPLETED, 0, runtime, runtime * 1000),
        (1, Ended.CANCELLED, 8, runtime, 0),
    ]
    assert told(out, "moves", "time end outcome") == [(8, runtime, MoveEnd.ENDED_FIRST)]


def test_a_leaving_task_is_not_moved_again(play: Play) -> None:
    out = play(TWO, [], [(5, 0, 17), (9, 0, 18)], nodes=3, **LIVE)
    assert told(out, "moves", "time end source target") == [(8, 16, 0, 1)]
    # Nor from its target before it stands there; afterwards it is.
    out = play(TWO, [], [(5, 0, 17), (9, 1, 10), (15, 1, 10)], nodes=3, **LIVE)
    assert told(out, "moves", "time end source target") == [(8, 16, 0, 1)]
    out = play(TWO, [], [(5, 0, 17), (16, 1, 10)], nodes=3, **LIVE)
    # 14 s are done, 6 s more until the second copying would end at 22: the task ends first.
    assert told(out, "moves", "time end source target outcome") == [
        (8, 16, 0, 1, MoveEnd.ARRIVED),
        (16, 22, 1, 2, MoveEnd.ENDED_FIRST),
    ]


def test_how_long_copying_takes(play: Play) -> None:
    memory = {"migration": "pre-copy", "vm_memory": 1000.0, "link": 100.0}
    # 10 s, writing 200 MiB; 2 s, writing 40; 0.4 s, writing 8, which take 0.08 s: 12.4 s and 0.08.
    out = play(TWO, [], [(1, 0, 15)], dirty_rate=20.0, **memory)
    assert told(out, "moves", "time end") == [(1, 15)]
    assert told(out, "runs", "node runs_from end") == [(0, 0, 14), (1, 15, 21)]
    # By stop and copy 10 s.
    memory["migration"] = "stop-and-copy"
    out = play(TWO, [], [(1, 0, 15)], **memory)
    assert told(out, "runs", "node runs_from end") == [(0, 0, 5), (1, 15, 30)]


# ------------------------------------------------------------------------------- jobs in line


def test_jobs_wait_in_line_unless_they_may_pass(play: Play) -> None:
    jobs = [(0, 1, 10, 60), (1, 2, 10, 60), (2, 1, 4, 60)]
    assert told(play(jobs), "jobs", "start finish") == [(0, 10), (10, 20), (20, 24)]
    out = play(jobs, backfill=True)
    assert told(out, "jobs", "start finish") == [(0, 10), (10, 20), (2, 6)]


def test_a_job_is_placed_whole_or_not(play: Play) -> None:
    out = play([(0, 3, 10, 60)], [(0, 1, 7)], nodes=3)
    assert told(out, "runs", "task node start") == [(0, 0, 7), (1, 1, 7), (2, 2, 7)]


def test_a_waiting_job_is_dropped_at_its_deadline(play: Play) -> None:
    jobs = [(0, 2, 10, 60), (1, 2, 5, 9), (2, 2, 5, 30)]
    for past in ("stop", "run"):
        out = play(jobs, past_deadline=past)
        assert out.jobs == [(0, 10, 2, 0, 0), (-1, -1, 0, 0, 1), (10, 15, 2, 0, 0)]
    # It makes room in the line, too.
    jobs = [(0, 1, 20, 60), (1, 2, 5, 9), (2, 1, 5, 30)]
    assert told(play(jobs), "jobs", "start finish dropped") == [
        (0, 20, 0),
        (-1, -1, 1),
        (10, 15, 0),
    ]


def test_running_tasks_are_stopped_at_the_deadline_or_run_on(play: Play) -> None:
    jobs = [(0, 4, 10, 25)]
    settings = {"nodes": 1, "task_processors": 0.3}  # three at 0.3 and one at 0.1: 30 s
    out = play(jobs, **settings)
    assert out.jobs == [(0, 25, 3, 0, 0)]
    assert told(out, "runs", "ended end work lost")[3] == (Ended.STOPPED, 25, 2_500, 0)
    out = play(jobs, **settings, past_deadline="run")
    assert out.jobs == [(0, 30, 3, 1, 0)]
    assert told(out, "runs", "ended end work lost")[3] == (Ended.LATE, 30, 3_000, 0)
    # At the very deadline it is in time.
    for past in ("stop", "run"):
        assert play([(0, 4, 10, 30)], **settings, past_deadline=past).jobs == [(0, 30, 4, 0, 0)]


# ------------------------------------------------------------------------------- checkpoints

SAVING = {"checkpoint": "periodic", "checkpoint_interval": 5, "checkpoint_overhead": 2}
"""Checkpoints of 20 s of work: 5 to 7, 12 to 14, 19 to 21; the end is 26."""


def test_checkpoints_pause_the_task_but_none_at_its_end(play: Play) -> None:
    out = play(TWO, **SAVING)
    assert told(out, "runs", "start end work checkpoints") == [(0, 26, 20_000, 3)]
    assert told(play([(0, 1, 21, 60)], **SAVING), "runs", "end checkpoints") == [(29, 4)]
    assert told(play([(0, 1, 5, 60)], **SAVING), "runs", "end checkpoints") == [(5, 0)]


@pytest.mark.parametrize(
    ("failure", "work", "saved", "checkpoints", "end"),
    [
        (4, 4, 0, 0, 4 + 26),
        (5, 5, 0, 0, 5 + 26),  # the pause begins
        (6, 5, 0, 0, 6 + 26),
        (7, 5, 5, 1, 7 + 19),  # the pause ends: saved
        (13, 10, 5, 1, 13 + 19),
        (16, 12, 10, 2, 16 + 12),
        (25, 19, 15, 3, 25 + 5),
    ],
)
def test_an_aborted_task_restarts_from_its_last_checkpoint(
    play: Play, failure: int, work: int, saved: int, checkpoints: int, end: int
) -> None:
    out = play(TWO, [(failure, 0, 100)], **SAVING)
    lost = 1000 * (work - saved)
    first, second = told(out, "runs", "node begun ended start end work lost checkpoints")
    assert first == (
        0, Begun.PLACED, Ended.ABORTED, 0, failure, 1000 * work, lost, checkpoints,
    )  # fmt: skip
    left = 20_000 - 1000 * saved
    later = {20_000: 3, 15_000: 2, 10_000: 1, 5_000: 0}[left]
    assert second == (
        1, Begun.RESTARTED, Ended.COMPLETED, failure, end, left, 0, later,
    )  # fmt: skip
    assert out.struck == [(failure, 0, 1, lost)]
    assert out.jobs == [(0, end, 1, 0, 0)]


def test_free_checkpoints_save_at_once(play: Play) -> None:
    out = play(TWO, [(5, 0, 100)], **{**SAVING, "checkpoint_overhead": 0})
    assert told(out, "runs", "end work lost checkpoints") == [(5, 5_000, 0, 1), (20, 15_000, 0, 2)]


def test_a_task_waits_for_a_node_to_restart_on_before_all_jobs(play: Play) -> None:
    jobs = [*TWO, (0, 1, 12, 60), (8, 1, 4, 60)]
    # Node 0 fails at 8 (6 s done, 5 saved) and is back at 20; node 1 is free at 12 + 2 * 2.
    out = play(jobs, [(8, 0, 12)], **SAVING)
    assert told(out, "runs", "job node start end ended lost") == [
        (0, 0, 0, 8, Ended.ABORTED, 1_000),
        (0, 1, 16, 16 + 19, Ended.COMPLETED, 0),
        (1, 1, 0, 16, Ended.COMPLETED, 0),
        (2, 0, 20, 24, Ended.COMPLETED, 0),
    ]


def test_a_task_that_waits_for_a_restart_ends_at_the_deadline(play: Play) -> None:
    jobs = [(0, 1, 20, 30)]
    out = play(jobs, [(8, 0, 40)], nodes=1, **SAVING)
    assert out.jobs == [(0, 8, 0, 0, 0)]
    out = play(jobs, [(8, 0, 40)], nodes=1, past_deadline="run", **SAVING)
    assert out.jobs == [(0, 48 + 19, 0, 1, 0)]
    assert told(out, "runs", "begun ended start end") == [
        (Begun.PLACED, Ended.ABORTED, 0, 8),
        (Begun.RESTARTED, Ended.LATE, 48, 67),
    ]


def test_after_its_deadline_a_restart_takes_what_lives_longest(play: Play) -> None:
    jobs = [(0, 3, 20, 30)]
    failures = [(8, n, 40) for n in range(3)]
    # All are back at 48; the roomiest first would be 0, 1, 2.
    foreseen = [(9, 0, 90), (9, 1, 95)]
    assert told(play(jobs, [], [], nodes=3), "jobs", "done") == [(3,)]
    out = play(jobs, failures, foreseen, nodes=3, past_deadline="run", migration="none", **SAVING)
    rows = told(out, "runs", "begun task node start")
    assert [row[1:] for row in rows if row[0] == Begun.RESTARTED] == [
        (0, 2, 48),
        (1, 1, 48),
        (2, 0, 48),
    ]


def test_a_move_carries_the_progress_since_the_last_checkpoint(play: Play) -> None:
    # Leaves at 9: 7 s done, 2 since the checkpoint. On node 1 from 11: 3 s, pause 14 to 16, 5 s,
    # pause 21 to 23, and 5 s more.
    out = play(TWO, [], [(1, 0, 11)], **SAVING)
    assert told(out, "runs", "runs_from end work checkpoints") == [
        (0, 9, 7_000, 1),
        (11, 28, 13_000, 2),
    ]
    # A failure there at 15, in the pause: lost are the 5 s since the checkpoint on node 0.
    out = play(TWO, [(15, 1, 50)], [(1, 0, 11)], **SAVING)
    assert told(out, "runs", "node begun end work lost checkpoints") == [
        (0, Begun.PLACED, 9, 7_000, 0, 1),
        (0, Begun.RESTARTED, 15 + 19, 15_000, 0, 2),
        (1, Begun.MIGRATED, 15, 3_000, 5_000, 0),
    ]


def test_a_move_breaks_a_checkpoint_that_is_being_made(play: Play) -> None:
    # Leaves at 13, in the pause from 12 to 14: 10 s done, 5 saved. The checkpoint is made first
    # after the arrival: 15 to 17, 5 s, 22 to 24, 5 s.
    for leaves in (12, 13):
        out = play(TWO, [], [(1, 0, leaves + 2)], **SAVING)
        assert told(out, "runs", "runs_from end work checkpoints") == [
            (0, leaves, 10_000, 1),
            (leaves + 2, leaves + 16, 10_000, 2),
        ]
    # Left at 14, it is saved.
    out = play(TWO, [], [(1, 0, 16)], **SAVING)
    assert told(out, "runs", "runs_from end work checkpoints") == [
        (0, 14, 10_000, 2),
        (16, 28, 10_000, 1),
    ]


def test_a_broken_checkpoint_saves_all_when_it_is_made_at_last(play: Play) -> None:
    # Left in the pause at 13: 10 s done, 5 saved. The checkpoint is made from 15 to 17, and 1 s
    # more; then node 1 fails.
    for failure, lost in ((16, 5_000), (17, 0), (18, 1_000)):
        out = play(TWO, [(failure, 1, 50)], [(1, 0, 15)], **SAVING)
        assert out.struck == [(failure, 0, 1, lost)]


def test_checkpoints_go_on_while_memory_is_copied(play: Play) -> None:
    # From 8 to 14 on both; at 14 the second checkpoint is complete.
    out = play(TWO, [], [(5, 0, 17)], **LIVE, **SAVING)
    assert told(out, "runs", "node start runs_from end work checkpoints") == [
        (0, 0, 0, 14, 10_000, 2),
        (1, 8, 16, 28, 10_000, 1),
    ]


# ------------------------------------------------------------------------------- one second


def test_a_task_ends_before_its_node_fails_in_that_second(play: Play) -> None:
    out = play(TWO, [(20, 0, 9)])
    assert out.jobs == [(0, 20, 1, 0, 0)]
    assert out.struck == []  # nothing was left to be simulated


def test_the_deadline_comes_before_the_failure_of_that_second(play: Play) -> None:
    out = play([(0, 1, 20, 15), (0, 1, 20, 60)], [(15, 0, 9)])
    assert told(out, "runs", "ended lost") == [(Ended.STOPPED, 0), (Ended.COMPLETED, 0)]
    assert out.struck == [(15, 0, 0, 0)]


def test_nothing_starts_on_a_node_that_fails_in_that_second(play: Play) -> None:
    assert nodes(play([(8, 1, 20, 60)], [(8, 0, 9)])) == [1]
    # Back and down again in one second: down. Then it is back at 20.
    out = play([(10, 2, 20, 60)], [(5, 0, 5), (10, 0, 10)])
    assert told(out, "runs", "start") == [(20,), (20,)]
    # Back in the second of the submission: taken.
    assert told(play([(10, 2, 20, 60)], [(5, 0, 5)]), "runs", "start") == [(10,), (10,)]


def test_a_failure_while_down_prolongs_it_and_never_shortens(play: Play) -> None:
    job = [(0, 1, 5, 60)]
    for second, back in (((3, 0, 10), 13), ((3, 0, 2), 8), ((8, 0, 1), 9)):
        out = play(job, [(-2, 0, 10), second], nodes=1)
        assert told(out, "runs", "start") == [(back,)]
    out = play(job, [(0, 0, 4), (0, 0, 9), (0, 0, 6)], nodes=1)
    assert told(out, "runs", "start") == [(9,)]
    assert out.struck == [(0, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0)]


def test_a_failure_comes_before_the_leaving_of_that_second(play: Play) -> None:
    out = play(TWO, [(15, 0, 9)], [(5, 0, 17)])
    assert out.moves == []
    assert out.struck == [(15, 0, 1, 15_000)]


# ------------------------------------------------------------------------------- large numbers


@pytest.mark.parametrize("strategy", ["first-fit", "best-fit"])
def test_large_nodes_and_long_jobs_stay_exact(play: Play, strategy: str) -> None:
    year = 31_536_000
    most = {"processors_per_node": 2**16, "task_processors": 2.0**16, "nodes": 2}
    out = play(
        [(0, 1, 30 * year, 31 * year), (0, 1, 30 * year + 1, 31 * year)],
        [(year + 5, 1, 10)],
        [(0, 1, year)],
        strategy=strategy,
        **most,
    )
    rate = 2**16 * 1000
    # The second job is on node 1, foreseen to fail after a year, and has nowhere to go.
    assert told(out, "runs", "job node start end rate work lost") == [
        (0, 0, 0, 30 * year, rate, 30 * year * rate, 0),
        (1, 1, 0, year + 5, rate, (year + 5) * rate, (year + 5) * rate),
    ]


@pytest.mark.parametrize("at", [10**9, 2**40, FAR - 1])
def test_a_failure_foreseen_for_a_distant_day_is_still_foreseen(play: Play, at: int) -> None:
    # Finite, so that a reliability-biased choice prefers it to node 0; and never to be left.
    out = play(TWO, [], [(0, 1, at)], strategy="best-fit", alpha=0)
    assert nodes(out) == [1]
    assert out.jobs == [(0, 20, 1, 0, 0)]


def test_room_is_for_the_tasks_that_there_are(play: Play) -> None:
    # 65 million such tasks would fit on each node.
    out = play([(0, 3, 5, 9)], processors_per_node=2**16, task_processors=0.001, least_rate=0.001)
    assert told(out, "runs", "node rate end") == [(0, 1, 5), (1, 1, 5), (0, 1, 5)]


# ------------------------------------------------------------------------------- overload

PACKED = {"strategy": "best-fit", "alpha": 1.0, "processors_per_node": 2, "overload_hold": 10}


def test_a_task_leaves_a_node_that_is_above_its_limit_for_too_long(play: Play) -> None:
    # Both tasks are on node 0, which is full from 0 on; without the first it is half full.
    out = play([(0, 2, 30, 90)], overload_limit=0.7, **PACKED)
    assert out.moves == [(10, 12, FAR, 0, 0, 0, 1, MoveEnd.ARRIVED)]
    assert told(out, "runs", "task node start end") == [
        (0, 0, 0, 10), (0, 1, 10, 32), (1, 0, 0, 30),
    ]  # fmt: skip
    assert not play([(0, 2, 30, 90)], **PACKED).moves


def test_a_node_is_watched_anew_when_it_was_within_its_limit(play: Play) -> None:
    # Node 0 is full in [0, 8) and from 12 on; node 1, in between, would be too full with two.
    jobs = [(0, 1, 40, 90), (0, 1, 8, 90), (12, 1, 40, 90)]
    assert told(play(jobs, overload_limit=0.7, **PACKED), "moves", "time job") == [(22, 0)]


def test_what_leaves_an_overloaded_node_overloads_no_other(play: Play) -> None:
    # On node 1 there is room for one task, which would fill it.
    assert not play([(0, 3, 30, 90)], overload_limit=0.7, **PACKED).moves
    # A deadline before a move's end, or one task alone, keeps it where it is.
    assert not play([(0, 2, 11, 12)], overload_limit=0.7, **PACKED).moves
    assert not play([(0, 1, 30, 90)], overload_limit=0.4, **PACKED).moves


def test_the_least_that_suffices_leaves(play: Play) -> None:
    # 2 processors hold 0.8, 0.8 and 0.4; without the last they are 80 % full.
    settings = PACKED | {"task_processors": 0.8, "nodes": 3}
    out = play([(0, 3, 30, 90)], overload_limit=0.8, **settings)
    assert told(out, "moves", "time task source target") == [(10, 2, 0, 1)]
    out = play([(0, 3, 30, 90)], overload_limit=0.7, **settings)
    assert told(out, "moves", "time task source target")[0] == (10, 0, 0, 1)


# ------------------------------------------------------------------------------- learned tau


def test_what_a_move_takes_is_learnt(play: Play) -> None:
    # A move takes 2 s of copying and 3 s of standstill. It is believed to take 2 s, and after the
    # first one (3 x 2 + 5) / 4 s, which is nearly 3: so long before the second failure tasks leave.
    live = {"nodes": 3, "migration": "pre-copy", "migration_cost": 2, "max_downtime": 3.0}
    foreseen = [(5, 0, 17), (18, 1, 30)]
    out = play([(0, 1, 30, 60)], [], foreseen, tau="learned", **live)
    assert told(out, "moves", "time end predicted") == [(15, 20, 17), (27, 32, 30)]
    out = play([(0, 1, 30, 60)], [], foreseen, **live)
    assert told(out, "moves", "time end predicted") == [(12, 17, 17), (25, 30, 30)]
    # A move that broke is not learnt from.
    out = play([(0, 1, 40, 60)], [(16, 1, 100)], [(5, 0, 17), (18, 0, 30)], tau="learned", **live)
    assert told(out, "moves", "time outcome") == [
        (15, MoveEnd.TARGET_FAILED), (28, MoveEnd.ARRIVED),
    ]  # fmt: skip
