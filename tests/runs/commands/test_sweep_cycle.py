"""Sweeps of cycle sharing: lengths of jobs, schedulers and seeds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call
from forestall.runs import sweep_run
from forestall.runs.sweep import plan_of
from forestall.sharing.settings import CYCLE
from sharing.report.cycle_small import QUICK, guests_file, hosts_file

Capsys = pytest.CaptureFixture[str]
SCHEDULERS = ["falcon", "condor", "omniscient"]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    hosts_file(folder / "hosts.parquet")
    guests_file(folder / "guests.csv", 20)
    return folder


def cycle(logs: Path, *more: object) -> tuple[object, ...]:
    hosts = ("--hosts", logs / "hosts.parquet")
    return (logs / "guests.csv", "--model", "cycle", *hosts, *QUICK, *more)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The runs that are played, one entry each."""
    played: list[int] = []
    real = sweep_run.measured

    def count(*given: object) -> object:
        played.append(1)
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(sweep_run, "measured", count)
    return played


def test_lengths_schedulers_and_seeds(
    logs: Path, tmp_path: Path, capsys: Capsys, counted: list[int]
) -> None:
    out = tmp_path / "out"
    done = call(
        capsys, "sweep", *cycle(logs, "--out", out, "--workers", 1), "--scheduler",
        ",".join(SCHEDULERS), "--job-length", "30m,2h,4h", "--seed", "1:3",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert "27 points: 3 values of scheduler, 3 values of job_length, 3 values of seed" in done.out
    # three lengths with Falcon and the omniscient, nine with Condor
    assert len(counted) == 2 * 3 + 9
    for words in ("Mean makespan of a job", "Failures per job", "Makespan, mean",
                  "the seed only decides which of several hosts of equal rank"):  # fmt: skip
        assert words in done.out
    assert max(len(line) for line in done.out.splitlines() if str(out) not in line) <= 120
    table = pl.read_csv(out / "sweep.csv")
    rare = {"vault", "move_below", "look_ahead", "look_every"}  # told only where there are any
    fields = [name for name in CYCLE.fields if name not in rare]
    assert table.columns[: len(fields)] == fields
    assert table["scheduler"].to_list() == [name for name in SCHEDULERS for _ in range(9)]
    assert (
        table["job_length"].to_list()
        == [1800] * 3 + [7200] * 3 + [14_400] * 3 + ([1800] * 3 + [7200] * 3 + [14_400] * 3) * 2
    )
    assert table["seed"].to_list() == [1, 2, 3] * 9
    alike = table.filter(pl.col("scheduler") != "condor").drop("seed")
    assert len(alike.unique()) == 6
    assert {path.stem for path in (out / "figures").iterdir()} == {"lengths"}
    about = json.loads((out / "sweep.json").read_text())
    assert (about["model"], about["hosts"]) == ("cycle", str(logs / "hosts.parquet"))
    assert about["failures"] is None
    page = (out / "report.html").read_text()
    assert str(logs / "hosts.parquet") in page


def test_a_point_is_what_simulate_gives(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    more = ("--restart", "scratch,checkpoint", "--checkpoint-interval", "10m,none")
    swept = call(capsys, "sweep", *cycle(logs, *more), "--no-report", "--out", tmp_path / "out",
                 "--json")  # fmt: skip
    rows = json.loads(swept.out)
    assert [(r["restart"], r["checkpoint_interval"]) for r in rows] == [
        ("scratch", 600), ("scratch", None), ("checkpoint", 600), ("checkpoint", None),
    ]  # fmt: skip
    one = call(capsys, "simulate", *cycle(logs, "--restart", "checkpoint"),
               "--checkpoint-interval", "10m", "--json")  # fmt: skip
    summary = json.loads(one.out)
    for name in ("makespan", "failures_per_job", "checkpoints", "lost_work", "jobs_completed"):
        assert rows[2][name] == pytest.approx(summary[name], rel=1e-12), name
    assert rows[0]["checkpoints"] == rows[1]["checkpoints"] == 0 < rows[2]["checkpoints"]


def test_workers_do_not_change_a_byte_and_a_sweep_goes_on(
    logs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    base = cycle(
        logs, "--scheduler", "condor,omniscient", "--job-length", "30m,1h", "--seed", "1:2"
    )
    for workers in (1, 2):
        out = tmp_path / str(workers)
        done = call(capsys, "sweep", *base, "--no-report", "--workers", workers, "--out", out, "-q")
        assert (done.code, done.err) == (0, "")
    whole = (tmp_path / "1" / "sweep.csv").read_bytes()
    assert (tmp_path / "2" / "sweep.csv").read_bytes() == whole
    points = tmp_path / "1" / "points.jsonl"
    lines = points.read_bytes().splitlines(keepends=True)
    points.write_bytes(b"".join(lines[:4]))
    done = call(capsys, "sweep", *base, "--no-report", "--workers", 1, "--out", tmp_path / "1")
    assert "8 points, 3 of them from before" in done.out
    assert (tmp_path / "1" / "sweep.csv").read_bytes() == whole
    assert points.read_bytes().splitlines(keepends=True) == lines


def test_other_axes_get_figures_of_their_own(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "out"
    done = call(capsys, "sweep", *cycle(logs), "--th2", "0.4:0.8:0.2", "--restart",
                "scratch,checkpoint", "--scheduler", "condor", "--out", out, "-q")  # fmt: skip
    assert (done.code, done.err) == (0, "")
    drawn = {path.stem for path in (out / "figures").iterdir()}
    assert drawn == {"makespan", "failures_per_job", "unscheduled_share"}


def test_fingerprints_differ_by_what_results_depend_on(logs: Path, tmp_path: Path) -> None:
    other = hosts_file(tmp_path / "other.parquet", seed=2)
    speeds = tmp_path / "speeds.csv"
    speeds.write_text("host,speed\n0,2\n")
    base = {"model": "cycle", "hosts": str(logs / "hosts.parquet")}
    changes = (
        {}, {"hosts": str(other)}, {"host_speeds": str(speeds)}, {"period": "10m"}, {"days": "12"},
        {"scheduler": "condor"},
    )  # fmt: skip
    plans = [plan_of(logs / "guests.csv", {**base, **more}) for more in changes]
    assert len({plan.fingerprint for plan in plans}) == len(plans)
    assert plan_of(logs / "guests.csv", base).fingerprint == plans[0].fingerprint


@pytest.mark.parametrize(
    "more",
    [["--job-length", "30m,long"], ["--scheduler", "falcon,best"], ["--hosts", "a,b"],
     ["--seed", "5:1"], ["--warm-up", "1d,90d"], ["--vary", "nodes=3"], ["--retries", "1:3"]],
    ids=" ".join,
)  # fmt: skip
def test_what_is_wrong_is_one_line(
    more: list[str], logs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    done = (
        call(capsys, "sweep", *cycle(logs, *more), "--out", out, "-q", "--scheduler", "condor")
        if "--scheduler" not in more
        else call(capsys, "sweep", *cycle(logs, *more), "--out", out)
    )
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("forestall: ")
    assert done.err.count("\n") == 1


def test_the_page_tells_units(logs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "out"
    words = ("--out", out, "--scheduler", "condor", "--job-length", "30m,2h", "--workers", 1)
    assert call(capsys, "sweep", *cycle(logs, *words)).code == 0
    page = (out / "report.html").read_text()
    assert '<table class="many"' in page  # eleven columns
    same = page[page.index("The same in all runs") :]
    for name, said in (("warm_up", "7 d"), ("checkpoint_interval", "1 h"), ("horizon", "6 h")):
        assert re.search(rf'<th scope="row"[^>]*>{name}</th><td[^>]*>{said}</td>', same), name
    assert json.loads((out / "sweep.json").read_text())["parameters"]["warm_up"] == 604_800
