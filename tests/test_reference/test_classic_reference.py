"""The classic reference on cases small enough for paper; schedules by hand in the comments."""

from __future__ import annotations

import random

import pytest

from reference.classic_reference import Profile, conservative_with_nodes, simulate_classic
from reference.result import FailureRow, Hit, JobRow

POLICIES = ("fcfs", "easy", "conservative")


def exact(*rows: tuple[int, int, int]) -> list[JobRow]:
    """Jobs (submit, size, run time) whose estimate is the run time."""
    return [(submit, size, runtime, runtime) for submit, size, runtime in rows]


def down(*rows: tuple[int, int, int]) -> list[FailureRow]:
    return [(time, node, downtime, 0.5) for time, node, downtime in rows]


def starts(jobs: list[JobRow], policy: str, nodes: int, **options: object) -> list[int]:
    return simulate_classic(jobs, [], nodes=nodes, policy=policy, **options).start  # type: ignore[arg-type]


def test_fcfs_lets_nobody_pass() -> None:
    # 4 nodes. A has 0-2 until 10; B needs all 4: 10-15; C would fit on node 3 at 2, but waits.
    run = simulate_classic(exact((0, 3, 10), (1, 4, 5), (2, 1, 3)), [], nodes=4, policy="fcfs")
    assert run.start == [0, 10, 15]
    assert run.finish == [10, 15, 18]
    assert run.nodes == [[0, 1, 2], [0, 1, 2, 3], [0]]
    assert run.qos is None
    assert run.utilization == (30 + 20 + 3) / (18 * 4)
    assert (run.lost_work, run.restarts, run.deadline) == (0, [0, 0, 0], [None, None, None])


def test_easy_backfills_what_ends_by_the_shadow_time() -> None:
    # As above, but C (2 + 3 <= shadow 10) takes node 3 at once; one that would end at 11 does not.
    run = simulate_classic(exact((0, 3, 10), (1, 4, 5), (2, 1, 3)), [], nodes=4, policy="easy")
    assert run.start == [0, 10, 2]
    assert run.nodes[2] == [3]
    assert starts(exact((0, 3, 10), (1, 4, 5), (2, 1, 8)), "easy", 4) == [0, 10, 2]
    assert starts(exact((0, 3, 10), (1, 4, 5), (2, 1, 9)), "easy", 4) == [0, 10, 15]


@pytest.mark.parametrize("second", [2, 3])
def test_easy_uses_extra_nodes_once(second: int) -> None:
    # A has 0,1 until 10. B needs 3: shadow 10, when 4 are free: 1 extra. C (1 node, until 22) takes
    # the extra one (node 2). D (1 node, until 22 or more) must not take the last: B runs 10-15 on
    # 0,1,3. D follows at 15 on node 0.
    jobs = exact((0, 2, 10), (1, 3, 5), (2, 1, 20), (second, 1, 20))
    run = simulate_classic(jobs, [], nodes=4, policy="easy")
    assert run.start == [0, 10, 2, 15]
    assert run.nodes == [[0, 1], [0, 1, 3], [2], [0]]


def test_easy_what_ends_by_the_shadow_takes_nothing_of_the_extra() -> None:
    # C ends at 10, the shadow: starts at 2 and leaves the extra node to D, which runs 2-22.
    jobs = exact((0, 2, 10), (1, 3, 5), (2, 1, 8), (2, 1, 20))
    assert starts(jobs, "easy", 4) == [0, 10, 2, 2]


def test_easy_counts_every_release_at_the_shadow_as_extra() -> None:
    # A (1 node) and B (2 nodes) both end at 10; C needs 3 of 4: shadow 10. All 4 are free then, so
    # one is extra, whichever release comes first: D starts at 2.
    jobs = exact((0, 1, 10), (0, 2, 10), (1, 3, 5), (2, 1, 50))
    assert starts(jobs, "easy", 4) == [0, 0, 10, 2]


def test_easy_believes_the_estimates() -> None:
    # A runs 5 s but asked for 20: shadow 20. C (until 20) is backfilled, and B waits for it until
    # 20 although A ended at 5.
    assert starts([(0, 1, 5, 20), (1, 2, 5, 5), (2, 1, 18, 18)], "easy", 2) == [0, 20, 2]
    # Were the true run time used, the shadow would be 5 and C would have to wait.
    assert starts(exact((0, 1, 5), (1, 2, 5), (2, 1, 18)), "easy", 2) == [0, 5, 10]


def test_conservative_protects_more_than_the_head() -> None:
    # A 0-10 on two of 4. B (3): 10-20. C (4): 20-30. D (1 node, 30 s) would delay C: 30-60.
    # EASY only protects B: D takes the extra node at 3 until 33, and C starts at 33.
    jobs = exact((0, 2, 10), (1, 3, 10), (2, 4, 10), (3, 1, 30))
    assert starts(jobs, "conservative", 4) == [0, 10, 20, 30]
    assert starts(jobs, "easy", 4) == [0, 10, 33, 3]
    assert starts(jobs, "fcfs", 4) == [0, 10, 20, 30]


def test_conservative_fills_holes() -> None:
    # D lasts 7 s: it fits before B, on [3, 10). E (size 1, 10 s) fits beside B: [10, 20).
    jobs = exact((0, 2, 10), (1, 3, 10), (2, 4, 10), (3, 2, 7), (4, 1, 10))
    assert starts(jobs, "conservative", 4) == [0, 10, 20, 3, 10]


def test_conservative_with_and_without_compression() -> None:
    # A asked for 10 and ends at 4; B was promised 10. With compression B runs 4-7 (believed until
    # 9), C first gets 9 and moves to 7 when B ends. Without it B stays at 10 and C takes [5, 10).
    jobs = [(0, 2, 4, 10), (1, 2, 3, 5), (5, 2, 5, 5)]
    assert starts(jobs, "conservative", 2) == [0, 4, 7]
    assert starts(jobs, "conservative", 2, compression=False) == [0, 10, 5]
    assert conservative_with_nodes(jobs, nodes=2).start == [0, 10, 5]
    assert starts(jobs, "easy", 2) == [0, 4, 7]


def test_compression_goes_in_queue_order() -> None:
    # 3 nodes. Reservations: A 0-10 (ends at 6), B (2) 10-20, C (2) 20-25, D (1) 10-15.
    # At 6: B to 6; C cannot go beside B: 16; D beside B: 6.
    jobs = [(0, 3, 6, 10), (1, 2, 10, 10), (2, 2, 5, 5), (3, 1, 5, 5)]
    assert starts(jobs, "conservative", 3) == [0, 6, 16, 6]
    assert starts(jobs, "conservative", 3, compression=False) == [0, 10, 20, 10]


def test_compression_is_never_later_than_promised() -> None:
    # The simulator asserts it for every move; here jobs end early at random.
    rng = random.Random(3)
    for _ in range(30):
        jobs = []
        for _ in range(40):
            runtime = rng.randrange(1, 30)
            row = (rng.randrange(60), rng.randrange(1, 9), runtime, runtime + rng.randrange(40))
            jobs.append(row)
        jobs.sort(key=lambda row: row[0])
        simulate_classic(jobs, [], nodes=8, policy="conservative")


def test_killed_jobs_queue_now_or_by_submit_time() -> None:
    # 2 nodes: A on 0, B on 1 until 10. Node 0 fails at 4 (up at 7): A loses 4 node-seconds.
    # now: C, D, A in the queue. C needs both nodes: 10-15. Then D on node 0 and A on node 1.
    # original: A is the head again: 7-17 on node 0; C 17-22; D 22.
    jobs = exact((0, 1, 10), (0, 1, 10), (1, 2, 5), (2, 1, 5))
    now = simulate_classic(jobs, down((4, 0, 3)), nodes=2, policy="fcfs")
    assert now.last_start == [15, 0, 10, 15]
    assert now.nodes == [[1], [1], [0, 1], [0]]
    assert now.start == [0, 0, 10, 15]
    assert (now.lost, now.restarts, now.lost_work) == ([4, 0, 0, 0], [1, 0, 0, 0], 4)
    assert now.runs[0] == (0, 0, 4, (0,), "failed", 0, 4)
    assert now.failures == [Hit(4, 0, 3, 0.5, 0, 4)]
    original = simulate_classic(jobs, down((4, 0, 3)), nodes=2, policy="fcfs", requeue="original")
    assert original.last_start == [7, 0, 17, 22]


@pytest.mark.parametrize("policy", POLICIES)
def test_overlapping_failures(policy: str) -> None:
    # Down at 5 until 15; the one at 8 (until 11) changes nothing; the one at 12 extends to 22.
    failures = down((5, 0, 10), (8, 0, 3), (12, 0, 10))
    run = simulate_classic(exact((0, 1, 10)), failures, nodes=1, policy=policy)
    assert (run.start, run.last_start, run.finish) == ([0], [22], [32])
    assert [(hit.job, hit.lost) for hit in run.failures] == [(0, 5), (None, 0), (None, 0)]


@pytest.mark.parametrize("policy", POLICIES)
def test_failure_at_the_second_of_a_finish(policy: str) -> None:
    # A ends at 5, before the failure: nothing is lost. B waits for the recovery: 8-13.
    failures = down((5, 0, 3), (13, 0, 3))
    run = simulate_classic(exact((0, 1, 5), (0, 1, 5)), failures, nodes=1, policy=policy)
    assert (run.start, run.finish, run.lost_work) == ([0, 8], [5, 13], 0)
    # The second one comes when the last job has just finished: it is not played.
    assert run.failures == [Hit(5, 0, 3, 0.5, None, 0)]


@pytest.mark.parametrize("policy", POLICIES)
def test_failure_at_the_second_of_an_arrival_and_start(policy: str) -> None:
    # Both at 3: the failure is known when the job is placed, which takes node 1, or waits until 13.
    assert simulate_classic(exact((3, 1, 5)), down((3, 0, 10)), nodes=2, policy=policy).nodes == [
        [1]
    ]
    run = simulate_classic(exact((3, 1, 5)), down((3, 0, 10)), nodes=1, policy=policy)
    assert (run.start, run.lost_work) == ([13], 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_failures_before_the_first_job_are_played(policy: str) -> None:
    run = simulate_classic(exact((3, 1, 5)), down((-10, 0, 20)), nodes=1, policy=policy)
    assert run.start == [10]
    assert run.failures == [Hit(-10, 0, 20, 0.5, None, 0)]


def test_recovery_and_finish_at_one_second_come_before_the_pass() -> None:
    # At 10 A ends (node 0) and node 1 is back: B, which needs both, starts at 10.
    for policy in POLICIES:
        run = simulate_classic(
            exact((0, 1, 10), (1, 2, 5)), down((4, 1, 6)), nodes=2, policy=policy
        )
        assert run.start == [0, 10]


def test_easy_shadow_counts_known_recoveries() -> None:
    # 3 nodes: A on 0 until 10; node 2 down from 2 to 22. B needs 3: shadow 22, no extra.
    # C until 22 goes first (node 1); if it lasted one second more it would wait.
    failures = down((2, 2, 20))
    jobs = exact((0, 1, 10), (3, 3, 5), (4, 1, 18))
    assert simulate_classic(jobs, failures, nodes=3, policy="easy").start == [0, 22, 4]
    jobs = exact((0, 1, 10), (3, 3, 5), (4, 1, 19))
    assert simulate_classic(jobs, failures, nodes=3, policy="easy").start == [0, 22, 27]


def test_conservative_is_rebuilt_after_a_failure() -> None:
    # A has both nodes until 10; B is promised 10. Node 1 fails at 6 (up at 16): A loses 12.
    # now: B before A: 16-21, then A 21-31. original: A 16-26, B 26-31.
    jobs = exact((0, 2, 10), (1, 2, 5))
    now = simulate_classic(jobs, down((6, 1, 10)), nodes=2, policy="conservative")
    assert (now.last_start, now.lost) == ([21, 16], [12, 0])
    original = simulate_classic(
        jobs, down((6, 1, 10)), nodes=2, policy="conservative", requeue="original"
    )
    assert original.last_start == [16, 26]


def test_conservative_reservations_move_back_when_an_idle_node_fails() -> None:
    # A on node 0 until 10, B (2 nodes) promised 10. Node 1 fails idle at 4, up at 24: B at 24.
    # C arrives in the same second as the failure and is placed after B is: it fits at 10.
    jobs = exact((0, 1, 10), (1, 2, 5), (4, 1, 14))
    run = simulate_classic(jobs, down((4, 1, 20)), nodes=2, policy="conservative")
    assert run.start == [0, 24, 10]
    assert run.failures[0].job is None


def test_jobs_of_one_second_go_by_the_log_and_a_log_need_not_be_sorted() -> None:
    for policy in POLICIES:
        assert starts(exact((5, 1, 3), (0, 1, 10), (0, 1, 10)), policy, 1) == [20, 0, 10]


def test_profile() -> None:
    profile = Profile(10, 4)
    profile.occupy(0, 15, 3)  # what is past is cut
    profile.occupy(20, 30, 4)
    assert (profile.times, profile.free) == ([10, 15, 20, 30], [1, 4, 0, 4])
    assert profile.earliest(1, 10) == 10
    assert profile.earliest(2, 5) == 15
    assert profile.earliest(2, 6) == 30
    profile.occupy(20, 30, -4)
    assert profile.earliest(2, 6) == 15


def test_conservative_with_nodes_keeps_to_fixed_nodes() -> None:
    # 3 nodes: A on 0 until 10, B on 1 until 5, C on 2 until 10. D (1 node) at 5 on node 1 until 10.
    # E (3 nodes): 10.
    jobs = exact((0, 1, 10), (0, 1, 5), (0, 1, 10), (1, 1, 5), (2, 3, 5))
    run = conservative_with_nodes(jobs, nodes=3)
    assert run.start == [0, 0, 0, 5, 10]
    assert run.nodes == [[0], [1], [2], [1], [0, 1, 2]]


def test_fixed_nodes_can_wait_where_counts_do_not() -> None:
    # 2 nodes. A on 0 (asked until 5, ends at 2), B on 1 until 5, C promised [5, 15): on node 0.
    # D comes at 2 for 8 s. One node is free at any time from 2 on, so counted it starts at 2. With
    # fixed nodes it is node 0 before 5 and node 1 after: D starts at 5.
    jobs = [(0, 1, 2, 5), (0, 1, 5, 5), (1, 1, 10, 10), (2, 1, 8, 8)]
    counted = simulate_classic(jobs, [], nodes=2, policy="conservative", compression=False)
    assert (counted.start, counted.nodes) == ([0, 0, 5, 2], [[0], [1], [1], [0]])
    fixed = conservative_with_nodes(jobs, nodes=2)
    assert (fixed.start, fixed.nodes) == ([0, 0, 5, 5], [[0], [1], [0], [1]])
