"""The compiled classic schedulers against their plain reference, textbook cases, and invariants."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.logs import read_jobs
from forestall.runs.certify import certify
from forestall.scheduling.simulation.run import play
from scheduling.simulation.cases import (
    CLASSIC,
    Case,
    assert_equal_outcomes,
    assert_same,
    at_the_same_seconds,
    cases,
    classic_reference,
    failures_of,
    loaded_case,
    prepared,
    random_case,
    result,
    run,
    schedule,
)

REQUEUE = ("now", "original")


def compare(case: Case, policy: str, compression: bool = True, requeue: str = "now") -> None:
    chosen: dict[str, Any] = {"policy": policy, "compression": compression, "requeue": requeue}
    ours = run(case, placement="first", **chosen)
    assert_same(ours, classic_reference(case, **chosen), case.seed, chosen)


@settings(max_examples=300)
@given(cases(), st.sampled_from(CLASSIC), st.booleans(), st.sampled_from(REQUEUE))
def test_small_cases(case: Case, policy: str, compression: bool, requeue: str) -> None:
    compare(case, policy, compression, requeue)


@pytest.mark.parametrize("policy", CLASSIC)
@pytest.mark.parametrize("first", [0, 100])
def test_random_cases(policy: str, first: int) -> None:
    for seed in range(first, first + 100):
        case = random_case(seed)
        compare(case, policy, seed % 3 > 0, REQUEUE[seed % 2])
        compare(case.without_failures(), policy, seed % 3 > 0)


@pytest.mark.parametrize("policy", CLASSIC)
def test_failures_at_the_seconds_of_other_events(policy: str) -> None:
    for seed in range(300):
        compare(at_the_same_seconds(seed), policy, seed % 3 > 0, REQUEUE[seed % 2])


@pytest.mark.parametrize("policy", CLASSIC)
@pytest.mark.parametrize("seed", range(5))
def test_loaded_cases(policy: str, seed: int) -> None:
    # Queues longer than the blocks of 64 entries by which passes skip what cannot start.
    case = loaded_case(seed, failures=0 if seed % 2 else 40)
    compare(case, policy, seed != 3, REQUEUE[seed // 2 % 2])
    waits = [
        s - row[0]
        for s, row in zip(schedule(run(case, policy=policy))["start"], case.jobs, strict=True)
    ]
    assert max(waits) > 1000


@pytest.mark.parametrize("policy", CLASSIC)
@pytest.mark.parametrize("load", [3.0, 50.0])
def test_overloaded(policy: str, load: float) -> None:
    compare(loaded_case(11, jobs=450, load=load), policy)


def test_all_nodes_fail_at_once_again_and_again() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        nodes = rng.choice([2, 9, 70])
        times = sorted(rng.sample(range(100), 4))
        hits = [(t, node, rng.randint(1, 30), rng.random()) for t in times for node in range(nodes)]
        jobs = [
            (
                rng.randrange(90),
                rng.randint(1, nodes),
                k := rng.randint(1, 25),
                k + rng.randrange(9),
            )
            for _ in range(12)
        ]
        case = Case(sorted(jobs, key=lambda row: row[0]), hits, nodes, seed=seed)
        for policy in CLASSIC:
            compare(case, policy, seed % 3 > 0, REQUEUE[seed % 2])


# ------------------------------------------------------------------------------- real logs


def real_case(data: Path, log: str, jobs: str, nodes: int) -> Case:
    table = read_jobs(data / "swf-misc" / log, jobs=jobs)
    rows = zip(
        table.submit.tolist(), table.size.tolist(), table.runtime.tolist(), table.estimate.tolist(),
        strict=True,
    )  # fmt: skip
    # As the reader leaves them, without what a preparation would change.
    return Case(
        [(v, n, min(e, r), r) for v, n, e, r in rows if e > 0 and r > 0 and 0 < n <= nodes],
        [],
        nodes,
    )


@pytest.mark.slow
@pytest.mark.parametrize("policy", CLASSIC)
@pytest.mark.parametrize(
    ("log", "jobs", "nodes"),
    [("KTH-SP2-1996-2.swf.gz", "1:2000", 100), ("UniLu-Gaia-2014-1.swf.gz", "5000:6500", 500)],
)
def test_real_logs(data: Path, log: str, jobs: str, nodes: int, policy: str) -> None:
    compare(real_case(data, log, jobs, nodes), policy)


# ------------------------------------------------------------------------------- textbook cases


def starts(jobs: list[tuple[int, ...]], nodes: int, policy: str, **more: Any) -> list[int]:
    rows = [(v, n, e, r[0] if r else e) for v, n, e, *r in jobs]
    started: list[int] = schedule(run(Case(rows, [], nodes), policy=policy, **more))["start"]
    return started


def test_fcfs_never_overtakes() -> None:
    # The second needs all nodes and waits; the third could run at once and may not.
    jobs = [(0, 3, 10), (1, 4, 5), (2, 1, 1)]
    assert starts(jobs, 4, "fcfs") == [0, 10, 15]


def test_easy_fills_holes_before_the_shadow_time() -> None:
    # Shadow 10. The third ends at 10 and fits; the fourth would end at 11.
    jobs = [(0, 3, 10), (1, 4, 5), (2, 1, 8), (2, 1, 9)]
    assert starts(jobs, 4, "easy") == [0, 10, 2, 15]
    assert starts([*jobs[:2], jobs[3], jobs[2]], 4, "easy") == [0, 10, 15, 2]


def test_easy_lets_long_jobs_use_what_the_head_leaves_over() -> None:
    # At the shadow time 10 five nodes are free, the head takes three: two are extra.
    jobs = [(0, 3, 10), (1, 3, 5), (2, 1, 100), (3, 1, 100), (4, 1, 100)]
    assert starts(jobs, 5, "easy") == [0, 10, 2, 3, 15]


def test_easy_may_delay_later_jobs_and_conservative_does_not() -> None:
    # The head takes three nodes at 10 and leaves one over: under EASY the last takes it until 30,
    # so that the third, which needs all four, waits for it. Conservative had promised the third 20.
    jobs = [(0, 2, 10), (1, 3, 10), (2, 4, 10), (3, 1, 27)]
    assert starts(jobs, 4, "easy") == [0, 10, 30, 3]
    assert starts(jobs, 4, "conservative") == [0, 10, 20, 30]


def test_conservative_compresses_after_an_early_end() -> None:
    # The first asked for 100 s and ends at 10: the second moves from 100 to 10.
    jobs = [(0, 4, 10, 100), (1, 4, 5, 5), (2, 1, 1, 1)]
    assert starts(jobs, 4, "conservative") == [0, 10, 15]
    assert starts(jobs, 4, "conservative", compression=False) == [0, 100, 105]


def test_requested_times_and_not_true_ones_decide() -> None:
    # With its true run time (3) the third would end before the shadow; it asked for 20.
    jobs = [(0, 3, 10, 10), (1, 4, 5, 5), (2, 1, 3, 20)]
    assert starts(jobs, 4, "easy") == [0, 10, 15]
    assert starts(jobs, 4, "easy", estimates="runtime") == [0, 10, 2]


def test_all_of_a_second_is_taken_in_before_one_pass() -> None:
    # At 10 the first ends and two arrive in log order; all are seen together: both fit.
    assert starts([(0, 4, 10), (10, 2, 5), (10, 2, 5)], 4, "fcfs") == [0, 10, 10]
    # A job that arrives when another ends does not wait for a second pass.
    assert starts([(0, 4, 10), (3, 4, 5), (10, 4, 5)], 4, "easy") == [0, 10, 15]


def test_ties_go_by_log_order() -> None:
    for policy in CLASSIC:
        assert starts([(0, 2, 5), (0, 2, 5), (0, 2, 5)], 2, policy) == [0, 5, 10]


def test_killed_jobs_queue_by_failure_or_by_submission() -> None:
    # One node. A is killed at 5, when B (submitted at 1) waits.
    case = Case([(0, 1, 10, 10), (1, 1, 10, 10)], [(5, 0, 2, 0.5)], 1)
    for policy in CLASSIC:
        now = schedule(run(case, policy=policy, requeue="now"))
        assert (now["last_start"], now["lost"]) == ([17, 7], [5, 0]), policy
        original = schedule(run(case, policy=policy, requeue="original"))
        assert original["last_start"] == [7, 17], policy


# ------------------------------------------------------------------------------- other properties


@settings(max_examples=60)
@given(cases(fails=False), st.sampled_from(CLASSIC), st.booleans())
def test_counting_and_placing_schedule_alike(case: Case, policy: str, compression: bool) -> None:
    arguments = prepared(case, policy=policy, compression=compression)
    placed, counted = play(*arguments), play(*arguments, placed=False)
    for name in ("first_start", "finish"):
        assert placed.jobs[name].tolist() == counted.jobs[name].tolist()
    assert len(counted.ranges) == 0


@pytest.mark.parametrize("policy", CLASSIC)
def test_placement_among_free_nodes_does_not_move_starts_without_failures(policy: str) -> None:
    for seed in range(20):
        case = random_case(seed).without_failures()
        assert_equal_outcomes(
            run(case, policy=policy, placement="first"),
            run(case, policy=policy, placement="fault-aware"),
            seed,
        )


def test_fault_aware_placement_avoids_what_is_foreseen() -> None:
    case = Case([(0, 1, 10, 10)], [(5, 0, 3, 0.4)], 2)
    for policy in CLASSIC:
        aware = schedule(run(case, policy=policy, accuracy=0.5, placement="fault-aware"))
        assert (aware["runs"][0].nodes, aware["restarts"]) == ((1,), [0])
        blind = schedule(run(case, policy=policy, accuracy=0.3, placement="fault-aware"))
        assert blind["restarts"] == [1]
        assert schedule(run(case, policy=policy, accuracy=0.5))["restarts"] == [1]


@pytest.mark.parametrize("policy", CLASSIC)
def test_the_certifier_passes_what_was_saved(tmp_path: Path, policy: str) -> None:
    for seed in range(24):
        case = loaded_case(seed, jobs=80) if seed % 6 == 0 else random_case(seed)
        chosen = {
            "checkpoint": ("none", "risk", "periodic", "daly")[seed % 4],
            "requeue": REQUEUE[seed % 2],
            "compression": seed % 3 > 0,
            "placement": ("fault-aware", "first")[seed // 2 % 2],
            "accuracy": 0.7,
        }
        result(case, policy=policy, **chosen).save(tmp_path, report=False)
        certificate = certify(tmp_path)
        assert certificate.passed, f"seed {seed}, {chosen}: {certificate}"


def test_no_failures_is_a_source_too() -> None:
    assert len(failures_of([])) == 0
    assert run(Case([(0, 1, 1, 1)], [], 1), policy="easy").jobs["finish"].tolist() == [1]
