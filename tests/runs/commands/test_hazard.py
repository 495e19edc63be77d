"""`--predictor hazard --train FILE`: from the command line to the folder, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call, failure_log, job_log

Capsys = pytest.CaptureFixture[str]
LATER = 1_000_000


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return job_log(tmp_path / "jobs.csv")


@pytest.fixture
def failures(tmp_path: Path) -> Path:
    """A log of 40 days; runs begin at its second 1,000,000."""
    return failure_log(tmp_path / "failures.csv", count=300, span=3_000_000)


def base(jobs: Path, failures: Path) -> list[object]:
    return ["simulate", jobs, "--failures", failures, "--nodes", 16, "--from", LATER, "--risk", 0.3]


def test_a_run_its_certificate_and_its_replay(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    learnt = [*base(jobs, failures), "--predictor", "hazard", "--train", failures]
    done = call(capsys, *learnt, "--log-events", "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "predictor hazard" in done.out
    assert "accuracy" not in done.out
    summary = json.loads((out / "summary.json").read_text())
    log = pl.read_csv(failures)
    assert summary["predictor"]["trained_failures"] == int((log["time"] < LATER).sum())
    assert summary["predictor"]["trained_to"] == 0
    assert summary["sources"]["train"] == str(failures)
    failures.unlink()  # the folder is enough
    assert call(capsys, "certify", out).code == 0
    assert call(capsys, "replay", out).code == 0


def test_a_file_of_options(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    learnt = [*base(jobs, failures), "--predictor", "hazard", "--train", failures]
    window = ["--train-from", 100_000, "--train-days", 9]
    wanted = call(capsys, *learnt, *window, "--json")
    assert wanted.code == 0
    config = tmp_path / "run.toml"
    config.write_text(
        f'predictor = "hazard"\ntrain = "{failures}"\ntrain-from = 100000\ntrain-days = 9\n'
    )
    assert call(capsys, *base(jobs, failures), "--config", config, "--json") == wanted
    told = json.loads(wanted.out)
    assert told["predictor"]["trained_to"] == 100_000 + 9 * 86_400 - LATER
    assert told["sources"]["train_days"] == "9.0"


def test_a_sweep_over_predictors(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    _, log, *more = base(jobs, failures)[:-2]
    both = ["sweep", log, *more, "--predictor", "trace,hazard", "--train", failures]
    rows = []
    for workers in (1, 2):
        out = tmp_path / str(workers)
        done = call(capsys, *both, "--risk", "0,0.5,0.9", "--nodes", "16,20", "--out", out,
                    "--workers", workers, "--no-report", "--json")  # fmt: skip
        assert done.code == 0, done.err
        rows.append(json.loads(done.out))
    assert rows[0] == rows[1]
    assert [row["predictor"] for row in rows[0]] == [*["trace"] * 3, *["hazard"] * 3] * 2
    one = call(capsys, "simulate", log, *more, "--predictor", "hazard", "--train", failures,
               "--risk", 0.5, "--nodes", 20, "--json")  # fmt: skip
    same = next(
        row for row in rows[0]
        if (row["predictor"], row["risk"], row["nodes"]) == ("hazard", 0.5, 20)
    )  # fmt: skip
    assert json.loads(one.out)["qos"] == same["qos"]
    learnt = ["--predictor", "hazard", "--train", failures, "--policy", "promise,easy"]
    classic = call(capsys, "sweep", log, *more, *learnt, "--out", tmp_path / "c", "--no-report")
    assert classic.code == 0


def test_runs_with_both_predictors_compare(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    mine = [*base(jobs, failures), "--no-report", "-q", "--out"]
    assert call(capsys, *mine, tmp_path / "a").code == 0
    learnt = ["--predictor", "hazard", "--train", failures]
    assert call(capsys, *mine, tmp_path / "b", *learnt).code == 0
    done = call(capsys, "compare", tmp_path / "a", tmp_path / "b")
    assert done.code == 0
    assert "predictor" in done.out
    assert "hazard" in done.out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--predictor", "hazard"], "--train FILE"),
        (["--train", "FAILURES"], "--predictor hazard"),
        (["--predictor", "oracle"], "--predictor"),
        (["--predictor", "hazard", "--train-days", 3], "--train FILE"),
        (["--predictor", "hazard", "--train", "nowhere.csv"], "nowhere.csv"),
        (["--predictor", "hazard", "--train", "JOBS"], "jobs.csv"),
        (["--predictor", "hazard", "--train", "FAILURES", "--train-days", 30], "--train-days"),
        (["--predictor", "hazard", "--train", "FAILURES", "--train-days", "nan"], "--train-days"),
        (["--predictor", "hazard", "--train", "FAILURES", "--train-from", 2_000_000],
         "--train-from"),
        (["--predictor", "hazard", "--train", "FAILURES", "--policy", "easy", "--checkpoint",
          "risk"], "--predictor"),
    ],
)  # fmt: skip
def test_what_is_refused(
    options: list[object], named: str, jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    places = {"FAILURES": failures, "JOBS": jobs}
    given = [places.get(str(option), option) for option in options]
    out = tmp_path / "out"
    code, printed, err = call(capsys, *base(jobs, failures), *given, "--out", out)
    assert (code, printed, err.count("\n")) == (2, "", 1)
    assert named in err
    assert not out.exists()


def test_without_failures_nothing_is_learnt(jobs: Path, failures: Path, capsys: Capsys) -> None:
    done = call(capsys, "simulate", jobs, "--predictor", "hazard", "--train", failures)
    assert done.code == 2
    assert "--failures" in done.err
    code, _, err = call(
        capsys, "simulate", jobs, "--failures", failures, "--predictor", "hazard", "--train",
        failures,
    )  # fmt: skip
    assert (code, err.count("\n")) == (2, 1)
    assert "before the run begins" in err
