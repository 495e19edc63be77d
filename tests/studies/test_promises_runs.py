"""Runs as rows: exact ends of the grid, mechanisms apart, the same bytes from any workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import forestall as fs
from forestall.core.model.jobs import Jobs
from studies.kit import workers
from studies.promises import runs as r
from studies.promises import study
from studies.promises.claims import ODD, POWERS
from studies.promises.inputs import NASA, SDSC, Inputs, read_inputs
from studies.promises.runs import Case, play_all, play_case, runs_table
from studies.promises.sizes import size_claims
from studies.promises.surface import fragmented, sizes_of
from synthetic_promises import small_inputs

SAME = ("qos", "utilization", "lost_work", "makespan", "restarts", "wait_mean")


@pytest.fixture(scope="module")
def small() -> Inputs:
    return small_inputs()


@pytest.fixture(scope="module")
def real(data: Path) -> Inputs:
    return read_inputs(data)


def results(case: Case, inputs: Inputs) -> list[object]:
    row = play_case(case, inputs).row
    return [row[name] for name in SAME]


@pytest.mark.slow
@pytest.mark.parametrize("log", [NASA, SDSC])
def test_perfect_prediction_keeps_every_promise(real: Inputs, log: str) -> None:
    row = play_case(Case("grid", log, 1.0, 1.0, 1), real).row
    assert (row["qos"], row["lost_work"]) == (1.0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("log", [NASA, SDSC])
@pytest.mark.parametrize("tenths", [3, 7])
def test_nothing_depends_on_risk_below_its_rest(real: Inputs, log: str, tenths: int) -> None:
    found = [
        results(Case("grid", log, tenths / 10, risk / 10, 1), real) for risk in range(11 - tenths)
    ]
    assert all(one == found[0] for one in found)
    assert results(Case("grid", log, tenths / 10, 1.0, 1), real) != found[0]


@pytest.mark.slow
def test_the_failures_do_not_run_out(real: Inputs) -> None:
    case = Case("grid", SDSC, 0.0, 0.0, 1)
    once = play_case(case, real).row
    assert once["makespan"] < 365 * 86_400
    assert results(replace(case, repeat=True), real) == [once[name] for name in SAME]


def test_room_without_checkpoints_is_the_paper_without_prediction(small: Inputs) -> None:
    """The ablation's ground: risk-based checkpoints at a = 0 take room and are never taken."""
    paper = Case("grid", NASA, 0.0, 0.0, 1)
    bare = replace(paper, checkpoint="none", placement="first", room=True)
    assert results(paper, small) == results(bare, small)
    assert results(replace(bare, room=False), small) != results(bare, small)


def test_seeds_do_not_matter_without_prediction(small: Inputs) -> None:
    one = Case("grid", NASA, 0.0, 0.0, 1)
    assert results(one, small) == results(replace(one, seed=2), small)


def test_variants_of_a_case(small: Inputs) -> None:
    case = Case("grid", SDSC, 0.5, 0.9, 1)
    assert play_case(replace(case, jobs=10), small).row["jobs_played"] == 10
    moved = Inputs(
        {SDSC: replace(small.jobs[SDSC], submit=small.jobs[SDSC].submit + 5)}, small.failures
    )
    begun = replace(small.jobs[SDSC], submit=small.jobs[SDSC].submit - small.jobs[SDSC].submit[0])
    zero = Inputs({SDSC: begun}, small.failures)
    assert results(replace(case, from_zero=True), moved) == results(case, zero)


def test_promises_are_counted_once() -> None:
    promise = np.array([0.05, 0.3, 0.31, 0.95, 0.999, 1.0, 1.0])
    kept = np.array([False, True, False, True, False, True, True])
    struck = np.array([True, True, True, False, True, False, True])
    work = np.arange(1.0, 8.0)
    rows = {row["low"]: row for row in r.promise_tally(promise, kept, struck, work)}
    assert sorted(rows) == [0.0, 0.3, 0.94, 0.98, 1.0]
    assert rows[0.3] | {"promised": 0} == {
        "low": 0.3, "high": 0.4, "promises": 2, "promised": 0, "kept": 1, "struck": 2,
        "struck_and_kept": 1, "work": 5, "work_kept": 2,
    }  # fmt: skip
    assert (rows[1.0]["promises"], rows[1.0]["high"], rows[0.98]["high"]) == (2, 1.0, 1.0)
    assert sum(row["promises"] for row in rows.values()) == len(promise)


def test_the_papers_sweep_has_242_runs() -> None:
    plan = study.Plan(seeds=(1,), logs=(NASA, SDSC), controls=False)
    cases = study.cases(plan)
    assert len(cases) == len(set(cases)) == 242


def test_no_run_is_played_twice() -> None:
    cases = study.cases(study.Plan())
    assert len(cases) == len(set(cases))
    assert {case.study for case in cases} >= {"grid", study.BURSTS, "ablation", "rolled"}


def test_ablation_has_every_combination() -> None:
    assert sorted(study.MECHANISMS.values()) == sorted(
        (p, n, k)
        for p in (False, True)
        for n in (False, True)
        for k in (False, True)
        if p or n or k
    )


@pytest.fixture(scope="module")
def played_alone(small: Inputs) -> str:
    return runs_table(play_all(small_grid(), small, workers=1)).write_csv()


def small_grid() -> list[Case]:
    plan = study.Plan(
        seeds=(1, 2), logs=(NASA, SDSC), accuracies=(0, 0.7, 1), risks=(0, 0.9), controls=False
    )
    return study.cases(plan)


@pytest.mark.slow
def test_the_same_bytes_from_one_worker_and_from_two(small: Inputs, played_alone: str) -> None:
    reported: list[tuple[int, int]] = []
    two = play_all(
        small_grid(), small, workers=2, progress=lambda done, all_: reported.append((done, all_))
    )
    assert runs_table(two).write_csv() == played_alone
    assert reported == [(k, len(two)) for k in range(1, len(two) + 1)]


def test_few_cases_start_no_workers(
    small: Inputs, played_alone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "ProcessPoolExecutor", None)
    assert runs_table(play_all(small_grid(), small)).write_csv() == played_alone


def idle_while_jobs_wait(result: fs.Result) -> float:
    """Return the share of node-time that is idle while jobs wait, second by second."""
    jobs, size = result.outcome.jobs, result.outcome.workload.jobs.size
    idle, end = 0, int(jobs["finish"].max())
    for now in range(int(jobs["submit"].min()), end):
        runs = (jobs["first_start"] <= now) & (now < jobs["finish"])
        waits = (jobs["submit"] <= now) & (now < jobs["first_start"])
        idle += (128 - int(size[runs].sum())) * bool(waits.any())
    return idle / (128 * (end - int(jobs["submit"].min())))


@pytest.mark.parametrize("seed", range(3))
def test_fragmentation_is_idle_time_while_jobs_wait(seed: int) -> None:
    draw = np.random.default_rng(seed)
    submit = np.sort(draw.integers(0, 900, 30))
    jobs = Jobs.build(submit, draw.integers(1, 128, 30), draw.integers(1, 300, 30))
    result = fs.simulate(jobs, None, accuracy=0.0, risk=0.0)
    assert r.fragmentation(result) == pytest.approx(idle_while_jobs_wait(result))
    assert r.fragmentation(result) > 0
    apart = Jobs.build(np.arange(9) * 1000, [100] * 9, [500] * 9)
    assert r.fragmentation(fs.simulate(apart, None, accuracy=0.0, risk=0.0)) == 0


def test_runs_with_other_sizes(small: Inputs) -> None:
    cases = list(study.sizes(study.Plan(seeds=(1, 2))))
    assert len(cases) == 2 * (2 + 3 * 2)
    table = runs_table([play_case(case, small) for case in cases])
    hit = sizes_of(table, "failures_hit")
    assert hit is not None
    assert {name: counts.shape for name, counts in hit.items()} == {
        ODD: (4, 2), POWERS: (4, 2),
    }  # fmt: skip
    for name, counts in hit.items():
        mine = [case for case in cases if case.sizes == name and case.failures == "log"]
        for case in mine:
            row = (0.0, *study.SIZES_ACCURACIES).index(case.accuracy)
            column = (1, 2).index(case.seed) if case.accuracy else 0
            assert counts[row, column] == play_case(case, small).row["failures_hit"]
    assert set(fragmented(table)) == {ODD, POWERS}
    assert [one.name for one in size_claims(table)] == ["fragments", "avoids"]
    assert size_claims(table.filter(pl.col("study") != study.SIZES)) == ()
