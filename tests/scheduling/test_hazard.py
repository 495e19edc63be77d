"""Runs with the hazard predictor: their folders, replays, certificates, reports and sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import forestall as fs
from forestall.core.model.errors import TraceError
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.runs.certify import certify
from forestall.runs.replay import replay
from forestall.scheduling.hazard import read_hazard
from forestall.scheduling.report.result import Result
from forestall.scheduling.simulate import simulate


def run(seed: int = 1, **chosen: object) -> Result:
    train = fs.generate_failures(24, 400, seed, mttf_hours=24 * 20)
    test = fs.generate_failures(24, 40, seed + 50, mttf_hours=24 * 20)
    jobs = fs.generate_jobs(24, seed, days=30, load=0.8)
    predictor = HazardPredictor()
    predictor.fit(train, nodes=24, end=-3600)
    given = {"risk": 0.8, "downtime": 300, "checkpoint_interval": 600, "checkpoint_overhead": 30}
    result: Result = simulate(
        jobs, test, predictor=predictor, nodes=24, log_events=True, **{**given, **chosen}
    )
    return result


@pytest.mark.parametrize("risk", [0.0, 0.8])
def test_a_folder_is_certified_and_replayed_without_the_training_log(
    tmp_path: Path, risk: float
) -> None:
    result = run(risk=risk)
    result.save(tmp_path, report=False)
    assert (tmp_path / "hazard.csv").exists()
    assert not (tmp_path / "foreseen.csv").exists()
    assert certify(tmp_path).passed
    found = replay(tmp_path)
    assert found.same, found
    assert found.decisions > 500
    assert result.measures["restarts"] > 0  # so that what the replay learns counts


def test_what_was_known_comes_back_to_the_byte(tmp_path: Path) -> None:
    result = run()
    result.save(tmp_path, report=False)
    told = json.loads((tmp_path / "summary.json").read_text())["predictor"]
    back, known = read_hazard(tmp_path, told, 24), result.predictor.arrays()
    assert back.nodes.tobytes() == known.nodes.tobytes()
    assert back[1:] == known[1:]
    (tmp_path / "hazard.csv").unlink()
    with pytest.raises(TraceError, match=r"hazard.csv.*with log_events"):
        replay(tmp_path)


def test_a_changed_number_changes_the_replay(tmp_path: Path) -> None:
    run(risk=0.0, placement="first", checkpoint="none").save(tmp_path, report=False)
    path = tmp_path / "hazard.csv"
    table = pl.read_csv(path)
    table.with_columns(pl.col("failures") * 2).write_csv(path)
    assert not replay(tmp_path).same


def test_the_summary_says_who_promised() -> None:
    told = run().summary
    assert told["parameters"]["predictor"] == "hazard"
    assert told["predictor"]["name"] == "hazard"
    assert told["predictor"]["trained_to"] == -3600
    assert told["predictor"]["trained_from"] == -3600 - 400 * 86_400
    assert told["predictor"]["downtime"] == 300
    assert told["own_rules"] is False
    jobs = fs.Jobs.build([0], [1], [60])
    assert simulate(jobs, nodes=1, accuracy=0.4).summary["predictor"] == {
        "name": "trace", "accuracy": 0.4,
    }  # fmt: skip

    class Never:
        def failure_probability(self, nodes, start, end):  # type: ignore[no-untyped-def]
            return [0.0] * len(nodes)

        def partition_failure_probability(self, nodes, start, end):  # type: ignore[no-untyped-def]
            return 0.0

        def update(self, time, node):  # type: ignore[no-untyped-def]
            pass

    own = simulate(jobs, predictor=Never(), nodes=1)
    assert own.summary["predictor"] == {"name": "own"}
    assert own.own_rules


def test_the_report_does_not_speak_of_accuracy(tmp_path: Path) -> None:
    run().save(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "predictor hazard" in page
    assert "predictor_shape" in page
    assert "accuracy" not in page.lower()
    fresh = tmp_path / "trace"
    simulate(fs.Jobs.build([0], [1], [60]), nodes=1).save(fresh)
    page = (fresh / "report.html").read_text()
    assert "accuracy" in page
    assert "predictor hazard" not in page


def test_a_trace_run_in_the_same_folder_leaves_nothing_behind(tmp_path: Path) -> None:
    run().save(tmp_path, report=False)
    jobs = fs.Jobs.build([0], [1], [60])
    simulate(jobs, nodes=1, log_events=True).save(tmp_path, report=False)
    assert not (tmp_path / "hazard.csv").exists()
    assert replay(tmp_path).same
