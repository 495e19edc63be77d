"""Runs as rows: what is counted, what the strategies share, and studies that are broken off."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.predictions import Predictions
from forestall.core.model.virtual_books import Ended
from studies.kit.kept_runs import play_all
from studies.virtual import study
from studies.virtual.runs import (
    Given,
    account,
    failures_of,
    parameters_of,
    play_alone,
    play_case,
    predictions_of,
    result_of,
)
from studies.virtual.study import (
    BEST,
    DYNAMIC,
    FIRST,
    NETWORK,
    OMNISCIENT,
    RANDOM,
    REAL,
    STAYS,
    USAGE,
    Case,
    Plan,
)

GIVEN = Given(days=3)
HIGH = Case("grid", 1, STAYS, rate=100.0)


def test_every_case_is_played_once_and_shares_its_seed() -> None:
    for plan, real in ((Plan(), True), (Plan(), False), (study.QUICK, False)):
        found = study.cases(plan, real=real)
        assert len(set(found)) == len(found)
        assert {case.seed for case in found} == set(range(1, plan.seeds + 1))
        assert [case.seed for case in found] == sorted(case.seed for case in found)
        assert any(case.failures == REAL for case in found) == real
    assert Plan().seeds >= 20


def test_cases_say_what_is_simulated() -> None:
    case = Case("x", 7, DYNAMIC, 0.4, error="two-sided", misses=0.1, cost=5, width=1.5)
    found = parameters_of(case)
    told = ("strategy", "alpha", "seed", "nodes", "processors_per_node", "downtime")
    assert [found[name] for name in told] == ["best-fit", "dynamic", 7, 256, 4, "log"]
    assert (found["migration_cost"], found["task_processors"]) == (5, 1.5)
    assert (found["prediction_accuracy"], found["prediction_error"]) == (0.4, "two-sided")
    assert parameters_of(replace(case, checkpoints=True))["checkpoint"] == "periodic"
    blind = parameters_of(replace(case, strategy=STAYS))
    assert (blind["strategy"], blind["random_stays"], blind["false_negatives"]) == (RANDOM, True, 0)
    assert not parameters_of(replace(case, strategy=RANDOM))["random_stays"]


def test_jobs_of_the_usage_log_take_the_place_of_generated_ones() -> None:
    jobs = Jobs.build([0, 50], [2, 1], [100, 100])
    real = Failures.build([5], [3], [60])
    given = Given(365, real, None, jobs)
    mine = [one for one in study.cases(Plan(seeds=1), real=True, usage=True) if one.study == USAGE]
    assert {one.strategy for one in mine} == {RANDOM, STAYS, FIRST, BEST, OMNISCIENT}
    rows = [play_case(one, given) for one in mine]
    assert {(row["jobs"], row["tasks"], row["failures_played"]) for row in rows} == {(2, 3, 1)}


def foreseen(case: Case) -> Predictions:
    return result_of(case, GIVEN).outcome.predictions


def test_failures_and_predictions_of_a_case() -> None:
    assert len(failures_of(replace(HIGH, rate=0.0), GIVEN)) == 0
    real = Failures.build([5], [3], [60])
    given = replace(GIVEN, real=real)
    assert failures_of(replace(HIGH, failures=REAL), given) is real
    log = failures_of(HIGH, GIVEN)
    assert len(foreseen(HIGH)) == 0
    assert len(foreseen(replace(HIGH, strategy=RANDOM, accuracy=0.5))) > 0
    one, two = (foreseen(replace(HIGH, strategy=s, accuracy=0.5)) for s in (BEST, FIRST))
    assert np.array_equal(one.expected, two.expected)
    true = foreseen(replace(HIGH, strategy=OMNISCIENT))
    assert set(true.expected) <= set(log.time)
    said = Predictions(np.array([0]), np.array([3]), np.array([70]), "said before")
    heard = replace(GIVEN, network=said)
    asked = replace(HIGH, strategy=BEST, accuracy=0.5, predictor=NETWORK)
    assert predictions_of(asked, heard) is said
    assert result_of(asked, heard).outcome.predictions is said
    assert predictions_of(replace(asked, strategy=RANDOM), heard) is said
    assert len(predictions_of(replace(asked, strategy=STAYS), heard)) == 0
    assert predictions_of(replace(asked, strategy=OMNISCIENT), heard) is None


def test_a_row_adds_up() -> None:
    result = result_of(HIGH, GIVEN)
    outcome, row = result.outcome, account(result, GIVEN.days)
    runs, jobs = outcome.runs, outcome.workload.jobs
    assert row["tasks"] == jobs.size.sum()
    assert row["aborted"] == (runs["ended"] == Ended.ABORTED).sum() > 0
    assert row["tasks_hit"] == row["aborted"]
    assert row["tasks_hit_twice"] == 0
    assert 0 < row["jobs_hit"] <= row["tasks_hit"]
    assert row["task_completion"] == outcome.jobs["done"].sum() / jobs.size.sum()
    kept = runs[runs["ended"] == Ended.COMPLETED]["work"].sum()
    offered = (jobs.size * outcome.workload.work).sum()
    assert row["work_completion"] == pytest.approx(kept / offered)
    assert row["utilization"] == pytest.approx(kept / (1000 * 1024 * 3 * 86_400))
    assert row["lost_work"] == pytest.approx(runs["lost"].sum() / 3.6e6)


def test_without_failures_strategies_differ_in_nothing_but_places() -> None:
    idle = replace(HIGH, rate=0.0, load=1.5)
    rows = [
        play_case(replace(idle, strategy=s, accuracy=0.5), GIVEN)
        for s in (RANDOM, FIRST, BEST)
    ]  # fmt: skip
    names = ("job_completion", "task_completion", "dropped_jobs", "wait_mean")
    assert len({tuple(row[name] for name in names) for row in rows}) == 1
    assert rows[0]["task_completion"] < 1


def test_tasks_that_do_not_divide_a_node_tell_the_strategies_apart() -> None:
    wide = replace(HIGH, rate=0.0, load=0.7, width=3.0)
    random, best = (
        play_case(replace(wide, strategy=s, accuracy=0.5), GIVEN) for s in (STAYS, BEST)
    )
    assert best["work_completion"] > random["work_completion"] + 0.02


def test_true_predictions_save_what_random_loses() -> None:
    random, all_known = (play_case(replace(HIGH, strategy=s), GIVEN) for s in (STAYS, OMNISCIENT))
    assert all_known["aborted"] < random["aborted"] / 2
    assert all_known["work_completion"] > random["work_completion"]


@pytest.mark.slow
def test_the_same_rows_from_any_number_of_workers(tmp_path: Path) -> None:
    cases = [replace(HIGH, strategy=s, accuracy=0.5, seed=n) for n in (1, 2) for s in (FIRST, BEST)]
    todo = [(case,) for case in cases]
    (tmp_path / "two").mkdir()
    one = play_all(play_alone, todo, GIVEN, tmp_path, {}, workers=1)
    assert play_all(play_alone, todo, GIVEN, tmp_path / "two", {}, workers=2, chunk=2) == one
    assert [asdict(case) for case in cases] == [
        {name: row[name] for name in asdict(cases[0])} for row in one
    ]
    assert len(one) == len(cases)
