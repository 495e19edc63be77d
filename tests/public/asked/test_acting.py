"""Metrics, trials and collecting judged from Python, as their commands do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import forestall as fs
from forestall.logs.jobs.job_records import write_job_records

MACHINE = {"nodes": 40, "days": 60, "relation": 60.0, "period": 3600}


def records_at(path: Path, seed: int) -> Path:
    write_job_records(fs.generate_memory(seed, **MACHINE)[0], path)  # type: ignore[arg-type]
    return path


def test_a_trial_is_planned_and_judged(tmp_path: Path) -> None:
    asked = fs.judge.TrialPlanSettings(effect=0.3)
    plan = fs.plan_trial(records_at(tmp_path / "before.csv", 1), asked)
    assert plan.to_dict()["pairs"] == 20
    plan.table.write_csv(tmp_path / "arms.csv")
    after = records_at(tmp_path / "after.csv", 3)
    found = fs.assess_trial(tmp_path / "arms.csv", after, days=30)
    assert found.to_dict()["verdict"].startswith("Not shown that acting helps: ")
    assert " more to " in found.to_dict()["verdict"]
    with pytest.raises(fs.errors.ParameterError, match="one of start, days, strict"):
        fs.assess_trial(tmp_path / "arms.csv", after, system=20)  # type: ignore[call-arg]


def test_a_metric_is_judged_before_jobs_fail(tmp_path: Path) -> None:
    records, metrics, *_ = fs.generate_memory(1, **MACHINE)  # type: ignore[arg-type]
    write_job_records(records, tmp_path / "jobs.csv")
    metrics.table().write_csv(tmp_path / "memory.csv")
    cheap = fs.assess_jobs(tmp_path / "jobs.csv", tmp_path / "memory.csv")
    asked = fs.judge.JobStudySettings(action_cost=1e6)
    dear = fs.assess_jobs(tmp_path / "jobs.csv", tmp_path / "memory.csv", asked=asked)
    assert cheap.to_dict()["auc"] == dear.to_dict()["auc"] > 0.5
    assert cheap.to_dict() != dear.to_dict()


def test_collecting_less_is_judged(tmp_path: Path) -> None:
    rng, hours, nodes = np.random.default_rng(1), 60 * 24, 8
    time = np.sort(rng.integers(24, hours, 80)) * 3600
    failures = pl.DataFrame({"time": time, "node": rng.integers(0, nodes, 80), "downtime": 600})
    failures.write_csv(tmp_path / "failures.csv")
    moment = np.tile(np.arange(hours) * 3600, nodes)
    samples = {"time": moment, "node": np.repeat(np.arange(nodes), hours)}
    samples |= {name: rng.standard_normal(len(moment)) for name in ("heat", "hum")}
    pl.DataFrame(samples).write_csv(tmp_path / "metrics.csv")
    found = fs.assess_collection(
        tmp_path / "failures.csv", tmp_path / "metrics.csv", how=fs.judge.How(draws=20),
        asked=fs.judge.CollectionSettings(counts=(1, 2), intervals=(3600,)),
    )  # fmt: skip
    assert found.table.height >= 2
    assert found.to_dict()
