"""The main job from Python, and the same bytes however it is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import forestall as fs
from forestall.core.kit.checked import checked
from forestall.core.model.errors import InputError, ParameterError
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.simulation.parameters import Parameters
from scheduling.simulation.cases import (
    assert_equal_outcomes,
    failures_of,
    jobs_of,
    loaded_case,
    schedule,
)

CASE = loaded_case(5, jobs=60)
JOBS, FAILURES = jobs_of(CASE.jobs), failures_of(CASE.failures)
COMMON: dict[str, Any] = {"nodes": CASE.nodes, "checkpoint_overhead": 5, "checkpoint_interval": 60}

# ------------------------------------------------------------------------------- the same bytes

FILES = ("jobs.csv", "runs.csv", "failures.csv", "events.csv", "decisions.csv", "foreseen.csv")
SCRIPT = """
import sys
from forestall.scheduling.simulate import simulate
from scheduling.simulation.cases import failures_of, jobs_of, loaded_case
case = loaded_case(5, jobs=60)
for policy in ("promise", "fcfs", "easy", "conservative"):
    result = simulate(
        jobs_of(case.jobs), failures_of(case.failures), nodes=case.nodes, policy=policy, seed=3,
        checkpoint="risk", checkpoint_overhead=5, checkpoint_interval=60, estimates="requested",
        log_events=True,
    )
    result.save(sys.argv[1] + "/" + policy, report=False)
"""
TESTS = Path(__file__).resolve().parents[1]


def bytes_of(folder: Path, **environment: str) -> dict[str, bytes]:
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        cwd=TESTS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.csv"))}


@pytest.mark.slow
def test_same_bytes_compiled_or_not_and_whatever_the_hash_seed(tmp_path: Path) -> None:
    compiled = bytes_of(tmp_path / "one", PYTHONHASHSEED="0")
    assert {name for name in compiled if name.startswith("easy/")} >= {f"easy/{n}" for n in FILES}
    assert b"node_failed" in compiled["promise/decisions.csv"]
    assert bytes_of(tmp_path / "two", PYTHONHASHSEED="12345") == compiled
    assert bytes_of(tmp_path / "three", NUMBA_DISABLE_JIT="1", PYTHONHASHSEED="7") == compiled


# ------------------------------------------------------------------------------- what goes in


def test_jobs_and_failures_in_any_form(tmp_path: Path) -> None:
    expected = fs.simulate(JOBS, FAILURES, **COMMON)
    jobs, failures = JOBS.table(), FAILURES.table()
    jobs.write_csv(tmp_path / "jobs.csv")
    failures.write_csv(tmp_path / "failures.csv")
    for one, other in (
        (jobs, failures),
        (jobs, FAILURES),
        (tmp_path / "jobs.csv", tmp_path / "failures.csv"),
        (str(tmp_path / "jobs.csv"), str(tmp_path / "failures.csv")),
    ):
        found = fs.simulate(one, other, **COMMON)
        assert_equal_outcomes(expected.outcome, found.outcome)
    pandas = pytest.importorskip("pandas")
    found = fs.simulate(pandas.DataFrame(jobs.to_dict(as_series=False)), FAILURES, **COMMON)
    assert_equal_outcomes(expected.outcome, found.outcome)


def test_the_predictor_brings_its_accuracy() -> None:
    named = fs.simulate(JOBS, FAILURES, predictor=TracePredictor(0.3), **COMMON)
    assert named.outcome.parameters.accuracy == 0.3
    assert_equal_outcomes(
        named.outcome, fs.simulate(JOBS, FAILURES, accuracy=0.3, **COMMON).outcome
    )


def test_the_seed_draws_what_is_not_told() -> None:
    silent = fs.Failures.build(FAILURES.time, FAILURES.node)
    promises = [
        tuple(fs.simulate(JOBS, silent, seed=seed, **COMMON).jobs["promise"].to_list())
        for seed in (1, 1, 2)
    ]
    assert promises[0] == promises[1] != promises[2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nodes", 0), ("nodes", 10**7), ("accuracy", 1.5), ("accuracy", float("nan")),
        ("risk", -0.1), ("risk", float("inf")), ("checkpoint_interval", 0),
        ("checkpoint_overhead", -1),
        ("downtime", 0), ("policy", "best"), ("placement", "worst"), ("checkpoint", "always"),
        ("estimates", "guess"), ("overrun", "forgive"), ("requeue", "never"), ("min_runtime", 0),
        ("seed", -1), ("mtbf", 0), ("nodez", 1),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name) as caught:
        fs.simulate(JOBS, FAILURES, **{**COMMON, name: value})
    assert len(str(caught.value).splitlines()) == 1


def test_defaults_by_policy() -> None:
    assert checked(Parameters, {}).checkpoint == "risk"
    assert checked(Parameters, {"policy": "easy"}).checkpoint == "none"
    assert (
        checked(Parameters, {"policy": "easy", "checkpoint": "periodic"}).checkpoint == "periodic"
    )


def test_nothing_to_simulate() -> None:
    with pytest.raises(InputError, match="no job"):
        fs.simulate(fs.Jobs.build([0], [9], [5]), nodes=4)
    with pytest.raises(ParameterError, match="column"):
        fs.simulate(JOBS, pl.DataFrame({"when": [1]}), **COMMON)


@pytest.mark.parametrize("time", [-1, -(10**12), 2**36])
def test_times_out_of_range(time: int) -> None:
    with pytest.raises(ParameterError, match="submit time"):
        fs.simulate(fs.Jobs.build([time], [1], [5]), nodes=4)
    if time == -1:
        return
    with pytest.raises(ParameterError, match="failure's time"):
        fs.simulate(JOBS, fs.Failures.build([time], [1]), **COMMON)


def test_progress_is_reported() -> None:
    told: list[tuple[int, int]] = []
    placement = lambda free, size, risk, start, end: free[:size]  # noqa: E731
    fs.simulate(JOBS, placement=placement, progress=lambda *t: told.append(t), **COMMON)
    assert told[-1] == (len(JOBS), len(JOBS))
    assert told == sorted(told)


# ------------------------------------------------------------------------------- what comes out


def test_tables_and_summary_agree() -> None:
    found = fs.simulate(JOBS, FAILURES, **COMMON)
    jobs, runs, summary = found.jobs, found.runs, found.summary
    assert jobs["job"].to_list() == JOBS.job.tolist()
    assert (
        runs["lost"].sum() == jobs["lost"].sum() == found.failures["lost"].sum() == found.lost_work
    )
    assert len(runs) == len(jobs) + jobs["restarts"].sum()
    assert (runs["outcome"] == "finished").sum() == len(jobs)
    last = runs.group_by("job", maintain_order=True).last().sort("job")
    assert last["nodes"].to_list() == jobs.sort("job")["nodes"].to_list()
    assert (jobs["kept"] == (jobs["finish"] <= jobs["deadline"])).all()
    assert summary["qos"] == found.qos
    assert summary["seed"] == summary["parameters"]["seed"] == 1
    assert set(summary["versions"]) >= {"forestall", "numpy", "numba"}


def test_policies_without_promises_have_none() -> None:
    found = fs.simulate(JOBS, FAILURES, policy="easy", **COMMON)
    assert found.qos is None
    for column in ("deadline", "promise", "kept"):
        assert found.jobs[column].null_count() == len(JOBS)


def test_a_failure_log_repeats_as_if_it_were_written_out() -> None:
    case = loaded_case(2, jobs=150)
    log = failures_of(case.with_quiet_end().failures)
    late = jobs_of([(v + k * 90_000, *more) for k in range(4) for v, *more in case.jobs])
    copies = int((late.submit[-1] + 10**6) // log.span) + 1
    shift = np.repeat(np.arange(copies) * log.span, len(log))
    written = fs.Failures.build(
        np.tile(log.time, copies) + shift, np.tile(log.node, copies),
        np.tile(log.downtime, copies), np.tile(log.detectability, copies),
    )  # fmt: skip
    common = {"nodes": case.nodes, "checkpoint_overhead": 5, "checkpoint_interval": 60}
    for policy in ("promise", "easy", "conservative"):
        repeated = fs.simulate(late, log, policy=policy, repeat_failures=True, **common).outcome
        expected = fs.simulate(late, written, policy=policy, **common).outcome
        assert len(repeated.played) > 2 * len(log)
        assert schedule(repeated) == {
            **schedule(expected),
            "failures": schedule(repeated)["failures"],
        }
        told = [(h.time, h.node, h.downtime, h.job) for h in schedule(repeated)["failures"]]
        assert [t for t, *_ in told] == expected.played["time"].tolist()
        assert [j for *_, j in told] == [h.job for h in schedule(expected)["failures"]]


def test_a_job_that_repeated_failures_end_again_and_again_is_an_error() -> None:
    """It never fits between them, and without prediction nothing is ever saved."""
    failures = fs.Failures.build([100, 200, 300, 5000], [0, 1, 2, 3], detectability=[0.5] * 4)
    jobs = fs.Jobs.build([0, 0], [4, 1], [6000, 100])
    with pytest.raises(InputError, match="job 1 can never finish"):
        fs.simulate(jobs, failures, nodes=4, accuracy=0, repeat_failures=True)


def test_a_schedule_past_what_event_keys_hold_is_an_error() -> None:
    jobs = fs.Jobs.build([0, 0, 0], [4, 4, 4], [2**35] * 3)
    with pytest.raises(InputError, match="past 2,178 years"):
        fs.simulate(jobs, nodes=4)
