"""The commands as users call them: what they print, what they write, what they return."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call, failure_log, job_log
from forestall.core.kit.folder import RUN_FILES

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return job_log(tmp_path / "jobs.csv")


@pytest.fixture
def failures(tmp_path: Path) -> Path:
    return failure_log(tmp_path / "failures.csv")


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_simulate_prints_and_writes(
    jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "deep" / "run"
    done = call(
        capsys, "simulate", jobs, "--failures", failures, "--nodes", 16, "--out", out,
        "--log-events",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    for words in ("Promises kept", "Utilization", "node-hours", "Wait", str(out / "report.html")):
        assert words in done.out
    table = done.out.split("\n\n")[1]
    assert max(map(len, table.splitlines())) <= 100
    assert set(files(out)) == set(RUN_FILES)
    summary = json.loads((out / "summary.json").read_text())
    assert summary["parameters"]["nodes"] == 16
    assert call(capsys, "certify", out).code == 0
    replayed = call(capsys, "replay", out)
    assert replayed.code == 0, replayed.out
    assert "every byte the same" in replayed.out


def test_a_run_folder_is_replaced_whole(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "run"
    base = ("simulate", jobs, "--nodes", 16, "--out", out)
    assert call(capsys, *base, "--log-events", "--quiet") == (0, "", "")
    (out / "notes.txt").write_text("mine")
    assert call(capsys, *base, "--no-report", "--quiet").code == 0
    gone = {"events.csv", "decisions.csv", "foreseen.csv", "report.html"}
    assert set(files(out)) == set(RUN_FILES) - gone | {"notes.txt"}


def test_no_failures_are_said(jobs: Path, capsys: Capsys) -> None:
    assert "nothing failed" in call(capsys, "simulate", jobs, "--nodes", 16).out


def test_json_is_json(jobs: Path, failures: Path, capsys: Capsys) -> None:
    for policy in ("promise", "easy"):
        out = call(
            capsys, "simulate", jobs, "--failures", failures, "--policy", policy, "--json"
        ).out
        assert "NaN" not in out
        assert json.loads(out)["policy"] == policy


def test_what_is_left_out_is_named(tmp_path: Path, capsys: Capsys) -> None:
    jobs = tmp_path / "jobs.swf"
    rows = [(1, 0, 10, 4), (2, 5, 0, 4), (3, 9, 60, 900)]
    lines = [f"{j} {t} -1 {r} {n} -1 -1 {n} -1 -1 1 1 1 -1 1 -1 -1 -1" for j, t, r, n in rows]
    jobs.write_text("\n".join(["; MaxProcs: 100", *lines]) + "\n")
    out = call(capsys, "simulate", jobs).out
    assert "left out: 1 job that ran 0 s (2)" in out
    assert "left out: 1 job larger than the 128 nodes (3)" in out
    assert "--nodes 100" in out


def test_hints_on_failures(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    with failures.open("a") as file:
        file.write("300000,15\n")
    out = call(capsys, "simulate", jobs, "--failures", failures, "--nodes", 8).out
    assert "--fold-nodes 2" in out
    late = tmp_path / "late.csv"
    late.write_text("time,node\n90000000,1\n")
    out = call(capsys, "simulate", jobs, "--failures", late, "--nodes", 16).out
    assert "no failure occurred" in out
    early = tmp_path / "early.csv"
    early.write_text("time,node\n50,1\n")
    out = call(capsys, "simulate", jobs, "--failures", early, "--nodes", 16).out
    assert "--repeat-failures" in out


def test_options_from_a_file(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        f'nodes = 16\naccuracy = 0.25\n"checkpoint-interval" = "30m"\nfailures = "{failures}"\n'
        "compression = false\nfold_nodes = 1\ndays = 2.5\n"
    )
    base = ("simulate", jobs, "--config", config, "--json")
    parameters = json.loads(call(capsys, *base).out)["parameters"]
    assert parameters["nodes"] == 16
    assert parameters["accuracy"] == 0.25
    assert parameters["checkpoint_interval"] == 1800
    assert parameters["compression"] is False
    summary = json.loads(call(capsys, *base, "--accuracy", 0.5, "--compression").out)
    assert summary["parameters"]["accuracy"] == 0.5
    assert summary["parameters"]["compression"] is True
    assert summary["sources"]["days"] == "2.5"


@pytest.mark.parametrize("text", ["36h", "1-12:00:00", "129600", "1d12h"])
def test_durations(text: str, jobs: Path, capsys: Capsys) -> None:
    out = call(capsys, "simulate", jobs, "--checkpoint-interval", text, "--json").out
    assert json.loads(out)["parameters"]["checkpoint_interval"] == 129_600


def test_long_lines_stay_whole_in_a_pipe(tmp_path: Path, capsys: Capsys) -> None:
    deep = tmp_path / ("a" * 120)
    deep.mkdir()
    jobs = job_log(deep / "jobs.csv")
    out = call(capsys, "simulate", jobs, "--nodes", 16, "--out", deep / "run").out
    assert str(deep / "run" / "report.html") in out
    assert str(deep / "no.csv") in call(capsys, "simulate", deep / "no.csv").err


def test_certify_fails_on_a_false_run(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "run"
    call(capsys, "simulate", jobs, "--nodes", 16, "--out", out, "--no-report")
    table = pl.read_csv(out / "jobs.csv")
    table.with_columns(finish=pl.col("finish") + 1).write_csv(out / "jobs.csv")
    done = call(capsys, "certify", out)
    assert done.code == 1
    assert "FAILED" in done.out
    verdict = json.loads(call(capsys, "certify", out, "--json").out)
    assert verdict["passed"] is False


def test_replay_names_the_first_difference(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "run"
    call(capsys, "simulate", jobs, "--nodes", 16, "--out", out, "--no-report", "--log-events")
    lines = (out / "decisions.csv").read_text().splitlines(keepends=True)
    time, rest = lines[4].split(",", 1)
    lines[4] = f"{int(time) + 1},{rest}"
    (out / "decisions.csv").write_text("".join(lines[:-1]))
    done = call(capsys, "replay", out)
    assert done.code == 1
    assert "line 5" in done.out


def test_compare(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    folders = [tmp_path / f"a{accuracy}" for accuracy in (0, 0.5, 0.7, 1)]
    for folder in folders:
        call(
            capsys, "simulate", jobs, "--failures", failures, "--nodes", 16, "--accuracy",
            folder.name[1:], "--out", folder, "--no-report", "--quiet",
        )  # fmt: skip
    page = tmp_path / "page.html"
    done = call(capsys, "compare", *folders, "--out", page)
    assert done.code == 0
    assert all(folder.name in done.out for folder in folders)
    assert "accuracy" in done.out
    assert max(len(line) for line in done.out.splitlines() if str(page) not in line) <= 100
    assert page.read_text().startswith("<!")
    plain = json.loads(call(capsys, "compare", *folders, "--json").out)
    assert plain["differing"]["accuracy"] == [0, 0.5, 0.7, 1]
    same = call(capsys, "compare", folders[0], folders[0]).out
    assert "the same" in same


def test_traces(tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = ("traces", "generate", "jobs", "jobs.swf", "--nodes", 16, "--count", 200)
    assert call(capsys, *made).out == "200 jobs in jobs.swf\n"
    for target in ("jobs.csv", "jobs.parquet", "again.swf.gz"):
        assert call(capsys, "traces", "convert", "jobs.swf", target).code == 0
        assert "200 (" in call(capsys, "traces", "info", target).out
    made = ("traces", "generate", "failures", "failures.csv", "--nodes", 16, "--days", 365)
    assert call(capsys, *made).code == 0
    assert call(capsys, "traces", "convert", "failures.csv", "part.csv", "--days", 200).code == 0
    info = call(capsys, "traces", "info", "part.csv", "--json")
    assert json.loads(info.out)[0] == {"what": "failure log", "value": "part.csv"}
    assert call(capsys, "traces", "info", "part.csv", "--jobs", "1:5").code == 2
    assert call(capsys, "traces", "info", "jobs.swf", "--days", 5).code == 2
    assert call(capsys, "traces", "convert", "part.csv", "jobs.swf").code == 2


@pytest.mark.slow
def test_demo(tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "shown"
    done = call(capsys, "demo", "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "promises" in done.out
    assert {path.name for path in out.iterdir()} == {
        "jobs.swf", "failures.csv", "report.html", "comparison.html",
    }  # fmt: skip
    first = files(out)
    summaries = json.loads(call(capsys, "demo", "--out", out, "--json").out)
    assert list(summaries) == ["no prediction", "accuracy 0.7", "perfect"]
    assert files(out) == first
    again = call(capsys, "simulate", out / "jobs.swf", "--failures", out / "failures.csv", "--json")
    assert json.loads(again.out)["qos"] == summaries["accuracy 0.7"]["qos"]


def test_a_reader_that_goes_away(jobs: Path) -> None:
    code = "from forestall.runs.commands.entry import main; raise SystemExit(main())"
    pipe = subprocess.Popen(
        [sys.executable, "-c", code, "traces", "info", str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert pipe.stdout is not None
    assert pipe.stderr is not None
    pipe.stdout.close()
    assert pipe.stderr.read() == b""
    pipe.stderr.close()
    assert pipe.wait() == 4


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_ctrl_c_is_one_line(tmp_path: Path, sent: str) -> None:
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from forestall.runs import single\n"
        f"single.run = lambda *a, **k: os.kill(os.getpid(), signal.{sent}) or 1 / 0\n"
        "from forestall.runs.commands.entry import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "simulate", str(job_log(tmp_path / "jobs.csv"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "forestall: interrupted; nothing was written\n"


@pytest.mark.parametrize(
    ("module", "function", "arguments", "left"),
    [
        ("vaults.api.run", "run_program", ["run", "--", "true"],
         "completed checkpoints stay in the vault"),
        ("sharing.api.guest.guest", "run_guest", ["guest", "run", "--", "true"],
         "`forestall guest list` shows the state of the guest"),
        ("vaults.api.checkpoints", "collected", ["checkpoint", "gc", "--store", "vault"],
         "what was removed stays removed; `forestall checkpoint gc` removes the rest"),
    ],
)  # fmt: skip
def test_an_interrupted_command_that_writes_as_it_goes_says_what_is_left(
    module: str, function: str, arguments: list[str], left: str,
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys,
) -> None:  # fmt: skip
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module(f"forestall.{module}"), function, stop)
    done = call(capsys, *arguments)
    assert (done.code, done.err) == (130, f"forestall: interrupted; {left}\n")


def test_python_m(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "forestall", "simulate", "no.swf"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ},
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_the_span_of_the_gantt_chart(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert call(capsys, "simulate", jobs, "--out", whole).code == 0
    assert call(capsys, "simulate", jobs, "--out", part, "--gantt", "0s:2h").code == 0
    assert (whole / "report.html").read_bytes() != (part / "report.html").read_bytes()
    assert (whole / "jobs.csv").read_bytes() == (part / "jobs.csv").read_bytes()
    for wrong in ("3d", "6d:3d", "a:b"):
        done = call(capsys, "simulate", jobs, "--out", tmp_path / "no", "--gantt", wrong)
        assert (done.code, done.err.count("\n")) == (2, 1)
    assert not (tmp_path / "no").exists()


def test_one_thread_of_linear_algebra_and_what_we_start_may_have_its_own() -> None:
    code = (
        "import os; from forestall.runs.commands.entry import main; "
        "main(['--version']); import numpy; "
        "print(len(os.listdir('/proc/self/task')), os.environ.get('OPENBLAS_NUM_THREADS'))"
    )
    for given, told in ({}, "1 None"), ({"OPENBLAS_NUM_THREADS": "2"}, "2 2"):
        around = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"} | given
        done = subprocess.run(
            [sys.executable, "-c", code], env=around, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == told


def test_cycles_are_not_looked_for_while_modules_load() -> None:
    code = (
        "import gc; from forestall.runs.commands.entry import main; "
        "main(['checkpoint', 'save', '--help']); "
        "print(gc.isenabled(), gc.get_stats()[2]['collections'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True 0"
