"""`forestall traces generate memory` and `hosts`, as commands of a group of their own."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from forestall.core.model.errors import ParameterError, TraceError
from forestall.logs.commands.generate import made
from forestall.logs.generate.guests import draw_speeds
from forestall.logs.host_traces import read_host_traces
from forestall.logs.jobs.job_records import read_job_records
from forestall.logs.metrics.read import read_metrics
from forestall.logs.read import read_jobs


def run(*arguments: object) -> Result:
    return CliRunner().invoke(made, [str(argument) for argument in arguments])


def test_memory(tmp_path: Path) -> None:
    done = run("memory", tmp_path / "s", "--nodes", 8, "--days", 2, "--period", "5m", "--seed", 5)
    assert done.exit_code == 0, done.output
    assert "15 jobs (11 COMPLETED, 2 FAILED, 1 CANCELLED, 1 TIMEOUT)" in done.output
    assert {p.name for p in (tmp_path / "s").iterdir()} == {
        *("jobs.csv", "metrics.parquet", "truth.csv", "leaks.csv", "oom.csv"),
    }
    records = read_job_records(tmp_path / "s" / "jobs.csv", strict=True)
    metrics = read_metrics(tmp_path / "s" / "metrics.parquet", strict=True)
    assert len(records) == 15
    assert (metrics.names, metrics.nodes, metrics.period) == (("memory_share",), 8, 300)
    truth = pl.read_csv(tmp_path / "s" / "truth.csv")
    assert truth.columns == ["job", "killed", "worst_node", "leak_at_start", "campaign"]
    assert pl.read_csv(tmp_path / "s" / "leaks.csv").columns == ["time", "node", "leak"]


def test_memory_as_csv_and_json(tmp_path: Path) -> None:
    asked = ("--nodes", 4, "--days", 1, "--jobs", 9, "--relation", 0, "--format", "csv", "--json")
    done = run("memory", tmp_path, *asked)
    told = json.loads(done.output)
    assert (told["jobs"], told["nodes"], told["killed_by_memory"]) == (9, 4, 0)
    assert told["samples"] == len(read_metrics(tmp_path / "metrics.csv"))
    assert sum(told["states"].values()) == 9


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("memory", tmp_path / name, "--nodes", 4, "--days", 1).exit_code == 0
        assert run("hosts", tmp_path / f"{name}.csv.gz", "--hosts", 2, "--days", 1).exit_code == 0
    for file in ("jobs.csv", "metrics.parquet", "truth.csv", "leaks.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_hosts(tmp_path: Path) -> None:
    out = tmp_path / "hosts.csv"
    done = run("hosts", out, "--hosts", 3, "--days", 2, "--period", "1m")
    assert done.exit_code == 0, done.output
    metrics = read_metrics(out, strict=True)
    assert f"{len(metrics):,} samples of 3 hosts in " in done.output
    assert (metrics.names, metrics.nodes, metrics.period) == (("cpu", "memory_free"), 3, 60)
    assert metrics.origin == 1_704_067_200


def test_hosts_with_speeds_are_what_simulations_read(tmp_path: Path) -> None:
    out, speeds = tmp_path / "hosts.parquet", tmp_path / "speeds.csv"
    more = ("--period", "300s", "--owners", "own", "--speeds", speeds, "--seed", 3)
    done = run("hosts", out, "--hosts", 3, "--days", 2, *more)
    assert done.exit_code == 0, done.output
    assert "and their speeds in" in done.output
    hosts = read_host_traces(out, speeds=speeds, strict=True)
    assert (len(hosts), hosts.samples) == (3, 576)
    assert hosts.speed.tolist() == draw_speeds(3, 3).tolist()


def test_guests(tmp_path: Path) -> None:
    out = tmp_path / "guests.csv"
    done = run(
        "guests", out, "--count", 9, "--days", 2, "--lengths", "30m,1h,90s", "--hours", "9:17"
    )
    assert done.exit_code == 0, done.output
    assert "9 jobs in " in done.output
    jobs = read_jobs(out, strict=True)
    assert sorted(jobs.runtime.tolist()) == [90] * 3 + [1800] * 3 + [3600] * 3
    hours = jobs.submit % 86_400 // 3600
    assert (hours.min() >= 9, hours.max() < 17, jobs.submit.max() < 2 * 86_400) == (True,) * 3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("guests", "x.csv", "--hours", "9"), ParameterError, "hours: '9'"),
        (("guests", "x.csv", "--hours", "22:6"), ParameterError, "hours: '22:6'"),
        (("guests", "x.csv", "--lengths", "1h,long"), ParameterError, "lengths: 'long'"),
        (("guests", "x.txt"), TraceError, "does not say a format"),
        (("hosts", "x.txt"), TraceError, "does not say a format"),
        (("hosts", "x.csv", "--days", "-1"), ParameterError, "days: -1.0"),
        (("hosts", "x.csv", "--th2", "2"), ParameterError, "th2: 2.0"),
        (
            ("hosts", "x.csv", "--th1", "0.9"),
            ParameterError,
            "th1: 0.9 is not allowed; expected from 0.05 to 0.75",
        ),
        (("hosts", "x.csv", "--period", "0"), ParameterError, "period: 0"),
        (("hosts", "x.csv", "--period", "soon"), ParameterError, "period: 'soon'"),
        (("memory", "x", "--period", "0s"), ParameterError, "period: 0"),
        (("memory", "x", "--relation", "nan"), ParameterError, "relation: nan"),
        (("memory", "x", "--load", "0"), ParameterError, "load: 0.0"),
    ],
)
def test_refused(
    tmp_path: Path, arguments: tuple[str, ...], error: type[Exception], message: str
) -> None:
    command, name, *rest = arguments
    done = run(command, tmp_path / name, *rest)
    assert isinstance(done.exception, error)
    assert message in str(done.exception)
    assert list(tmp_path.iterdir()) == []
