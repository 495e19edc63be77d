"""Runs with users who bargain: kept in a folder, certified, replayed; without them nothing is
new."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import forestall as fs
from core.commands.calls import call, job_log
from forestall.core.model.errors import ParameterError
from forestall.scheduling.report.result import Result

USERS = "eager share=1 least=0.9 patience=0:2 value=10; calm share=2 least=0.5:0.99 patience=1:40"
TABLE = """
[[users]]
name = "eager"
share = 1
least = 0.9
patience = [0, 2]
value = 10
[[users]]
name = "calm"
share = 2
least = [0.5, 0.99]
patience = [1, 40]
"""


def logs(count: int, failures: int) -> tuple[fs.Jobs, pl.DataFrame]:
    """Return jobs for 8 nodes, and failures of them."""
    rng = np.random.default_rng(3)
    submit = np.sort(rng.integers(0, 1000 * count, count))
    jobs = fs.Jobs.build(submit, rng.integers(1, 9, count), rng.integers(60, 9000, count))
    times = np.sort(rng.choice(2000 * count, failures, replace=False))
    return jobs, pl.DataFrame({"time": times, "node": rng.integers(0, 8, failures)})


def made() -> Result:
    """Return a run in which some users leave."""
    jobs, failures = logs(150, 200)
    return fs.simulate(jobs, failures, nodes=8, accuracy=0.8, users=USERS, log_events=True)


def test_a_folder_is_certified_and_replayed_and_always_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        made().save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert "users.csv" in files
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert fs.certify(tmp_path / "one").passed
    assert "users who bargain" in str(fs.certify(tmp_path / "one"))
    assert fs.replay(tmp_path / "one").same
    table = pl.read_csv(tmp_path / "one" / "users.csv")
    told = json.loads((tmp_path / "one" / "summary.json").read_text())["users"]
    assert told["jobs"] == len(table) == told["took"] + told["left"] == 150
    assert 0 < told["left"] < 150
    assert told["kinds"]["eager"]["jobs"] + told["kinds"]["calm"]["jobs"] == 150
    assert 0 < told["value_kept"] <= told["value"]
    page = (tmp_path / "one" / "report.html").read_text()
    assert "Users who bargain" in page


@pytest.mark.parametrize(
    ("column", "change", "words"),
    [
        ("least", pl.lit(1.0), "below its user's minimum"),
        ("latest", pl.col("soonest"), "outside its user's patience"),
        ("worth", pl.col("worth") + 1, "is worth"),
        ("shown", pl.lit(0), "was not shown"),
        ("probability", pl.lit(1.0), "in jobs.csv"),
        ("asked", pl.col("asked") + 1, "users.asked is"),
    ],
)
def test_what_was_changed_is_found(
    tmp_path: Path, column: str, change: pl.Expr, words: str
) -> None:
    made().save(tmp_path, report=False)
    path = tmp_path / "users.csv"
    table = pl.read_csv(path)
    changed = table.with_columns(
        pl.when(pl.col("row").is_not_null()).then(change).otherwise(pl.col(column)).alias(column)
    )
    changed.write_csv(path)
    certificate = fs.certify(tmp_path)
    assert not certificate.passed
    assert words in str(certificate)


def test_without_users_nothing_tells_of_them(tmp_path: Path) -> None:
    jobs, failures = logs(40, 30)
    run = fs.simulate(jobs, failures, nodes=8, log_events=True)
    assert run.users is None
    assert "users" not in run.summary
    assert "users" not in run.summary["parameters"]
    run.save(tmp_path)
    assert not (tmp_path / "users.csv").exists()
    assert "wanted" not in (tmp_path / "events.csv").read_text().splitlines()[0]
    with pytest.raises(ParameterError, match="only with"):
        fs.simulate(jobs, failures, nodes=8, policy="easy", users="least=0.5")
    with pytest.raises(ParameterError, match="from 0 to 1"):
        fs.simulate(jobs, failures, nodes=8, users="least=2")


def test_a_file_says_it_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, users = job_log(tmp_path / "jobs.csv"), tmp_path / "users.toml"
    users.write_text(TABLE)
    told = []
    for given in (users, USERS):
        done = call(capsys, "simulate", log, "--nodes", 8, "--users", given, "--json")
        assert done.code == 0, done.err
        told.append(json.loads(done.out))
    assert told[0] == told[1]
    assert told[0]["users"]["jobs"] == 60
    text = call(capsys, "simulate", log, "--nodes", 8, "--users", users, "--quiet").out
    assert text == ""
    shown = call(capsys, "simulate", log, "--nodes", 8, "--users", users).out
    assert "users who bargain" in shown
    assert "Value kept" in shown
    for bad in ("least=2", tmp_path / "none.toml"):
        refused = call(
            capsys, "simulate", log, "--nodes", 8, "--users", bad, "--out", tmp_path / "o"
        )
        assert refused.code == 2
        assert len(refused.err.strip().splitlines()) == 1
        assert not (tmp_path / "o").exists()
