"""The promise reference on cases small enough for paper: C 2 s, I 10 s and downtime 3 s."""

from __future__ import annotations

import random

import pytest

from reference.classic_reference import conservative_with_nodes
from reference.promise_reference import simulate_promise
from reference.result import FailureRow, Hit, JobRow, ReferenceRun


def play(
    jobs: list[JobRow],
    failures: list[FailureRow],
    *,
    nodes: int = 1,
    accuracy: float = 1.0,
    risk: float = 0.0,
    checkpoint: str = "risk",
    placement: str = "fault-aware",
) -> ReferenceRun:
    return simulate_promise(
        jobs,
        failures,
        nodes=nodes,
        accuracy=accuracy,
        risk=risk,
        overhead=2,
        interval=10,
        downtime=3,
        checkpoint=checkpoint,
        placement=placement,
    )


@pytest.mark.parametrize(("runtime", "requests"), [(10, 0), (11, 1), (20, 1), (21, 2), (25, 2)])
def test_reserved_length_and_requests(runtime: int, requests: int) -> None:
    # K = ceil(w / 10) - 1 requests of 2 s each; without risk all are skipped.
    job = [(0, 1, runtime, runtime)]
    run = play(job, [])
    assert run.deadline == [runtime + 2 * requests]
    assert (run.finish, run.skipped, run.checkpoints) == ([runtime], [requests], [0])
    assert (run.promise, run.qos, run.utilization) == ([1.0], 1.0, 1.0)
    every = play(job, [], checkpoint="periodic")
    assert (every.finish, every.checkpoints) == ([runtime + 2 * requests], [requests])
    none = play(job, [], checkpoint="none")
    assert (none.deadline, none.finish, none.skipped) == ([runtime], [runtime], [0])


def test_fault_aware_and_first_placement() -> None:
    # Node 0 fails at 5 (detectability .4). Aware: node 1, p = 1. First: node 0, p = .6; killed at
    # 5, placed again at once on node 1, 5-15: later than the deadline 10.
    job, failure = [(0, 1, 10, 10)], [(5, 0, 3, 0.4)]
    aware = play(job, failure, nodes=2, accuracy=0.5)
    assert (aware.nodes, aware.promise, aware.finish, aware.qos) == ([[1]], [1.0], [10], 1.0)
    first = play(job, failure, nodes=2, accuracy=0.5, placement="first")
    assert first.promise == [0.6]
    assert [r[:5] for r in first.runs] == [(0, 0, 5, (0,), "failed"), (0, 5, 15, (1,), "finished")]
    assert (first.deadline, first.qos, first.lost_work) == ([10], 0.0, 5)
    assert (first.start, first.last_start, first.restarts) == ([0], [5], [1])
    assert first.failures == [Hit(5, 0, 3, 0.4, 0, 5)]


def test_negotiation() -> None:
    job, failure = [(0, 1, 10, 10)], [(5, 0, 3, 0.4)]
    # p = .6 from 0 is good enough for U = .5: killed at 5, down until 8, 8-18.
    taken = play(job, failure, accuracy=0.5, risk=0.5)
    assert (taken.promise, taken.deadline, taken.finish, taken.qos) == ([0.6], [10], [18], 0.0)
    # U = .7 waits for the recovery at 8.
    waits = play(job, failure, accuracy=0.5, risk=0.7)
    assert (waits.start, waits.promise, waits.deadline, waits.qos) == ([8], [1.0], [18], 1.0)
    # What cannot be predicted is not seen.
    blind = play(job, failure, accuracy=0.3, risk=0.7)
    assert (blind.start, blind.promise, blind.finish) == ([0], [1.0], [18])


def test_a_failure_shortly_before_the_start_counts() -> None:
    # 2 nodes; node 0 fails at 5 until 8. A takes node 1, 0-7. B needs both for 5 s. At 7 the window
    # is [max(1, 7 - 3 + 1), 12): the failure counts, p = .6.
    jobs, failure = [(0, 1, 7, 7), (1, 2, 5, 5)], [(5, 0, 3, 0.4)]
    run = play(jobs, failure, nodes=2, accuracy=0.5, risk=0.5)
    assert (run.promise[1], run.deadline[1]) == (0.6, 12)
    # At 7 node 0 is down: B is placed again, 8-13, its promise unchanged; no run has failed.
    assert (run.start[1], run.finish[1], run.restarts[1], run.lost_work) == (8, 13, 0, 0)
    # U = .7 goes for 8, where nothing counts any more.
    run = play(jobs, failure, nodes=2, accuracy=0.5, risk=0.7)
    assert (run.promise[1], run.deadline[1], run.start[1]) == (1.0, 13, 8)


def test_failures_with_downtimes_of_their_own() -> None:
    # The failure at 5 lasts 20 s: it counts for every start before 25, which is the candidate.
    run = play([(0, 1, 10, 10)], [(5, 0, 20, 0.4)], risk=0.7)
    assert (run.start, run.promise) == ([25], [1.0])
    run = play([(0, 1, 5, 5)], [(5, 0, 20, 0.4)], risk=0.7)
    assert (run.start, run.promise) == ([0], [1.0])
    # An unknown one takes the general downtime, 3 s.
    assert play([(0, 1, 10, 10)], [(5, 0, -1, 0.4)], risk=0.7).start == [8]


def test_checkpoint_saves_what_was_done_when_it_was_requested() -> None:
    # Request at 10: .5 * 1 * 10 >= 2, deadline 20 >= 10 + 2 + 8: performed, done at 12.
    # Failure at 15: lost are [10, 15). Up at 18, the remaining 8 s: 18-26.
    run = play([(0, 1, 18, 18)], [(15, 0, 3, 0.5)])
    assert (run.promise, run.deadline, run.finish) == ([0.5], [20], [26])
    assert (run.checkpoints, run.lost, run.last_start) == ([1], [5], [18])
    assert run.runs[0] == (0, 0, 15, (0,), "failed", 1, 5)


def test_risk_grows_with_skipped_intervals() -> None:
    # Failure at 25, detectability .1. Request at 10: window [10, 24): no risk. At 20: [20, 34), and
    # .1 * 2 * 10 >= 2: performed until 22. Lost [20, 25). Up at 28, 8 s left: 36.
    run = play([(0, 1, 28, 28)], [(25, 0, 3, 0.1)])
    assert (run.skipped, run.checkpoints, run.lost, run.finish) == ([1], [1], [5], [36])
    # With .09 it is not worth it: all 25 s are lost; again from 28, requests at 38 and 48 skipped.
    run = play([(0, 1, 28, 28)], [(25, 0, 3, 0.09)])
    assert (run.skipped, run.checkpoints, run.lost, run.finish) == ([4], [0], [25], [56])


def test_a_checkpoint_that_would_break_the_promise_is_skipped() -> None:
    # Deadline 22. An unforeseen failure at 1 (until 2) moves the job to 2-22: just kept. At the
    # request at 12 the failure at 24 is worth a checkpoint, but 12 + 2 + 10 > 22 >= 12 + 10.
    failures = [(1, 0, 1, 0.9), (24, 0, 3, 0.5)]
    run = play([(0, 1, 20, 20)], failures, accuracy=0.5)
    assert (run.deadline, run.finish, run.skipped, run.checkpoints) == ([22], [22], [1], [0])
    assert run.qos == 1.0
    every = play([(0, 1, 20, 20)], failures, accuracy=0.5, checkpoint="periodic")
    assert (every.finish, every.qos, every.lost_work) == ([24], 0.0, 1)


def test_a_broken_promise_does_not_stop_checkpoints() -> None:
    # As before, but back only at 3: 13 + 10 > 22, the promise is lost anyway, so it is performed.
    # Finish 25; the failure at 24 comes in between: lost [13, 24), up at 27, 10 s left: 37.
    run = play([(0, 1, 20, 20)], [(1, 0, 2, 0.9), (24, 0, 3, 0.5)], accuracy=0.5)
    assert (run.checkpoints, run.skipped, run.lost, run.finish) == ([1], [0], [12], [37])


def test_checkpoint_finish_comes_before_a_failure_of_its_second() -> None:
    job = [(0, 1, 15, 15)]
    # Requested at 10, done at 12: the failure at 12 takes [10, 12). 15-20 remain.
    run = play(job, [(12, 0, 3, 0.5)])
    assert (run.lost, run.last_start, run.finish) == ([2], [15], [20])
    # At 11 it is in progress and lost: all again, 14-29, where the request at 24 is skipped.
    run = play(job, [(11, 0, 3, 0.5)])
    assert (run.lost, run.finish, run.checkpoints, run.skipped) == ([11], [29], [1], [1])
    assert run.runs[0].checkpoints == 0


def test_failure_comes_before_a_request_of_its_second_and_after_a_finish() -> None:
    run = play([(0, 1, 15, 15)], [(10, 0, 3, 0.5)])
    assert (run.lost, run.checkpoints, run.skipped) == ([10], [0], [1])
    # The failure at the second of the last finish is not played.
    run = play([(0, 1, 10, 10)], [(10, 0, 3, 0.5)])
    assert (run.finish, run.lost_work, run.failures) == ([10], 0, [])


def test_two_failures_of_one_second() -> None:
    # Nodes 0 and 1 fail at 5, unforeseen. A, killed on 0, is placed on 1 at 5; node 1 fails before
    # the start, so A is placed again, on 2: one run lost, one restart.
    run = play([(0, 1, 10, 10)], [(5, 0, 3, 0.9), (5, 1, 3, 0.9)], nodes=3, accuracy=0.5)
    assert [r[:5] for r in run.runs] == [(0, 0, 5, (0,), "failed"), (0, 5, 15, (2,), "finished")]
    assert [(hit.job, hit.lost) for hit in run.failures] == [(0, 5), (None, 0)]
    # Had the second been foreseen, it would have been avoided at once: nothing changes in the runs.
    seen = play([(0, 1, 10, 10)], [(5, 0, 3, 0.9), (5, 1, 3, 0.2)], nodes=3, accuracy=0.5)
    assert seen.runs == run.runs


def test_a_failure_while_down_extends() -> None:
    # Down 5-8, again at 7: until 10. The candidate recovery known at 5 was 8: the job is placed for
    # 8, finds the node down and goes to 10.
    run = play([(0, 1, 10, 10)], [(5, 0, 3, 0.9), (7, 0, 3, 0.9)], accuracy=0.5)
    assert (run.last_start, run.finish) == ([10], [20])


def test_the_rest_of_a_reservation_is_freed_and_others_do_not_move() -> None:
    # A asked for 10, ends at 4. B stays at 10. C takes [5, 10). D comes after all: 15.
    jobs = [(0, 1, 4, 10), (1, 1, 5, 5), (5, 1, 5, 5), (6, 1, 1, 1)]
    run = play(jobs, [])
    assert run.start == [0, 10, 5, 15]
    assert run.deadline == [10, 15, 10, 16]
    assert conservative_with_nodes(jobs, nodes=1).start == run.start


def test_measures() -> None:
    # A (2 nodes, 10 s, p = .6) misses; B (1 node, 10 s, p = 1) is kept.
    jobs, failures = [(0, 2, 10, 10), (20, 1, 10, 10)], [(5, 0, 3, 0.4)]
    run = play(jobs, failures, nodes=2)
    # A: 0-5 lost 10, 8-18; B: 20-30.
    assert run.finish == [18, 30]
    assert (run.qos, run.utilization, run.lost_work) == (10 / 30, 30 / 60, 10)


def _random_case(seed: int) -> tuple[list[JobRow], list[FailureRow], int]:
    rng = random.Random(seed)
    nodes = rng.choice([1, 3, 8])
    jobs = []
    for _ in range(40):
        runtime = rng.randrange(1, 60)
        jobs.append((rng.randrange(300), rng.randrange(1, nodes + 1), runtime, runtime))
    hits = sorted((rng.randrange(600), rng.randrange(nodes)) for _ in range(15))
    return jobs, [(x, node, rng.choice([0, 3, 9]), rng.random()) for x, node in hits], nodes


@pytest.mark.parametrize("seed", range(10))
def test_what_must_come_out(seed: int) -> None:
    jobs, failures, nodes = _random_case(seed)
    perfect = play(jobs, failures, nodes=nodes, accuracy=1.0, risk=1.0)
    assert (perfect.qos, perfect.lost_work) == (1.0, 0)
    same = [play(jobs, failures, nodes=nodes, accuracy=0.4, risk=u) for u in (0.0, 0.3, 0.6)]
    assert same[0] == same[1] == same[2]
    plain = play(jobs, [], nodes=nodes, checkpoint="none")
    assert plain.runs == conservative_with_nodes(jobs, nodes=nodes).runs
