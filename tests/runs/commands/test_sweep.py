"""Sweeps: the same bytes whatever the number of workers, and after having been stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call, failure_log, job_log

Capsys = pytest.CaptureFixture[str]
MAIN = "import sys; from forestall.runs.commands.entry import main; sys.exit(main())"


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return job_log(tmp_path / "jobs.csv", 100)


@pytest.fixture
def failures(tmp_path: Path) -> Path:
    return failure_log(tmp_path / "failures.csv")


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def sweep(jobs: Path, failures: Path, *more: object) -> tuple[object, ...]:
    return ("sweep", jobs, "--failures", failures, "--nodes", 16, *more)


def test_one_worker_or_two(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    base = sweep(jobs, failures, "--accuracy", "0:1:0.25", "--policy", "promise,easy")
    for workers in (1, 2):
        out = tmp_path / str(workers)
        assert call(capsys, *base, "--out", out, "--workers", workers, "-q") == (0, "", "")
    assert files(tmp_path / "1") == files(tmp_path / "2")
    table = pl.read_csv(tmp_path / "1" / "sweep.csv")
    assert table["policy"].to_list() == ["promise"] * 5 + ["easy"] * 5
    assert table["accuracy"].to_list() == [0, 0.25, 0.5, 0.75, 1] * 2
    assert {"sweep.json", "report.html", "points.jsonl"} < set(files(tmp_path / "1"))
    assert any(name.startswith("figures/") for name in files(tmp_path / "1"))


def test_a_point_is_what_simulate_gives(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    base = sweep(jobs, failures, "--no-report", "--out", tmp_path / "out")
    rows = json.loads(call(capsys, *base, "--accuracy", "0.3,0.9", "--json").out)
    one = json.loads(call(capsys, "simulate", *base[1:6], "--accuracy", 0.9, "--json").out)
    assert rows[1]["qos"] == one["qos"]
    assert rows[1]["wait_p95"] == one["wait"]["p95"]
    assert rows[1]["node_seconds_idle"] == one["node_seconds"]["idle"]


def test_it_prints_where_least_and_most_are(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = call(
        capsys, *sweep(jobs, failures, "--out", tmp_path / "out"),
        "--risk", "0,0.5", "--vary", "repeat-failures=true,false",
    ).out  # fmt: skip
    assert "4 points: 2 values of risk, 2 values of repeat_failures" in out
    assert "node-hours" in out


def test_stopped_by_force_it_goes_on(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    base = sweep(jobs, failures, "--accuracy", "0:1:0.01", "--no-report", "--workers", 2)
    whole, out = tmp_path / "whole", tmp_path / "stopped"
    assert call(capsys, *base, "--out", whole, "-q").code == 0
    kept = stopped(base, out, signal.SIGKILL)[0]
    assert not (out / "sweep.csv").exists()
    assert call(capsys, *base, "--out", out, "-q").code == 0
    assert files(out) == files(whole)
    assert 0 < kept < 101


def test_ctrl_c_keeps_what_is_finished(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    base = sweep(jobs, failures, "--accuracy", "0:1:0.01", "--no-report", "--workers", 2)
    kept, code, err = stopped(base, out, signal.SIGINT)
    assert code == 130
    assert err.count("\n") == 1
    assert "interrupted" in err
    assert str(out) in err
    done = call(capsys, *base, "--out", out)
    assert "of them from before" in done.out
    assert kept > 0


def stopped(base: tuple[object, ...], out: Path, how: signal.Signals) -> tuple[int, int, str]:
    """Start a sweep, stop it after its first points; return lines kept, exit code and errors."""
    words = [str(word) for word in (*base, "--out", out)]
    sweeping = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *words], stderr=subprocess.PIPE, text=True
    )
    points, patience = out / "points.jsonl", time.monotonic() + 100
    while time.monotonic() < patience and sweeping.poll() is None:
        if points.exists() and points.read_bytes().count(b"\n") > 3:
            break
        time.sleep(0.01)
    sweeping.send_signal(how)
    assert sweeping.stderr is not None
    error = sweeping.stderr.read()
    sweeping.stderr.close()
    code = sweeping.wait()
    return points.read_bytes().count(b"\n") - 1, code, error


# A process started in the background of a shell is deaf to Ctrl-C; the tests' own must not be.
SLOWLY = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "from forestall.runs import sweep_kept\n"
    "add = sweep_kept.Kept.add\n"
    "def slowly(self, points):\n"
    "    add(self, points)\n"
    "    time.sleep(0.2)\n"
    "sweep_kept.Kept.add = slowly\n"
    "from forestall.runs.commands.entry import main\n"
    "if __name__ == '__main__':\n"
    "    sys.exit(main())\n"
)
"""A sweep that dawdles, so that there is time to stop it."""


@pytest.mark.parametrize("damage", ["cut", "garbage", "flipped", "no newline"])
def test_damaged_lines_are_done_again(
    damage: str, jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    base = sweep(jobs, failures, "--accuracy", "0:1:0.25", "--no-report", "--out", out)
    assert call(capsys, *base, "-q").code == 0
    whole, points = files(out), out / "points.jsonl"
    data = points.read_bytes()
    damaged = {
        "cut": data[:-200],
        "garbage": data + b"\x00\xffrubbish",
        "flipped": data.replace(b"qos", b"sqo", 2),
        "no newline": data[:-1],
    }[damage]
    points.write_bytes(damaged)
    (out / "sweep.csv").unlink()
    assert call(capsys, *base, "-q").code == 0
    assert files(out) == whole


def test_another_sweep_is_refused(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    base = sweep(jobs, failures, "--no-report", "-q", "--out", out)
    assert call(capsys, *base, "--accuracy", "0,1").code == 0
    before = files(out)
    code, _, err = call(capsys, *base, "--accuracy", "0,0.5")
    assert (code, err.count("\n")) == (2, 1)
    assert "--force" in err
    assert files(out) == before
    job_log(jobs, 50)
    assert call(capsys, *base, "--accuracy", "0,1").code == 2
    assert call(capsys, *base, "--accuracy", "0,0.5", "--force").code == 0
    assert pl.read_csv(out / "sweep.csv")["accuracy"].to_list() == [0, 0.5]


def test_a_sweep_without_axes(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    done = call(capsys, *sweep(jobs, failures, "--out", tmp_path / "out"))
    assert done.code == 0
    assert "1 points" in done.out or "1 point" in done.out


def test_options_from_a_file(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    config = tmp_path / "sweep.toml"
    config.write_text(
        f'accuracy = "0:1:0.5"\nrisk = [0, 1]\nnodes = 16\nfailures = "{failures}"\n'
        f'compression = [true, false]\nreport = false\nout = "{tmp_path / "there"}"\n'
    )
    done = call(capsys, "sweep", jobs, "--config", config, "--risk", "0.5", "--json")
    assert len(json.loads(done.out)) == 3 * 2
    assert set(files(tmp_path / "there")) == {"sweep.csv", "sweep.json", "points.jsonl"}


def test_flags_are_varied_by_their_keys(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    """A flag takes no value: its key says both, and what is typed wins."""
    base = ("sweep", "jobs", jobs, "--nodes", 16, "--no-report", "--json", "--force")
    base += ("--out", tmp_path / "there")
    (tmp_path / "s.toml").write_text("compression = [true, false]\n")
    told = [
        [one["compression"] for one in json.loads(call(capsys, *base, *more).out)]
        for more in (
            ("--set", "compression=true,false"),
            ("--settings", tmp_path / "s.toml"),
            ("--settings", tmp_path / "s.toml", "--no-compression"),
            ("--settings", tmp_path / "s.toml", "--vary", "compression=false"),
        )
    ]
    assert told == [[True, False], [True, False], [False], [False]]
    wrong = call(capsys, *base, "--set", "compression=true,maybe")
    assert (wrong.code, "true or false, or both" in wrong.err) == (2, True)
