"""`forestall calibrate`: a real short run, refusals, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.commands.calls import call
from sharing.contention.contention_cases import all_gone, children_of

CORE = max(os.sched_getaffinity(0))
SHORT = (
    "--cpus", CORE, "--groups", "1", "--loads", "100%", "--seconds", 0.1, "--repeats", 1,
    "--no-memory", "--force",
)  # fmt: skip


def test_a_short_run_writes_files_and_thresholds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, folder = tmp_path / "out", tmp_path / "agent"
    done = call(capsys, "calibrate", *SHORT, "--out", out, "--folder", folder)
    assert done.code == 0, done.err
    assert done.err.startswith("This takes about ")
    assert "Th1 = " in done.out
    assert "Memory was left out: it was not asked for." in done.out
    told = json.loads((folder / "calibration.json").read_text())
    assert 0 <= told["th1"] <= told["th2"] <= 1
    summary = json.loads((out / "summary.json").read_text())
    assert summary["calibration"] == told
    assert {"points.csv", "report.html"} <= {path.name for path in out.iterdir()}


def test_json_alone_on_standard_output_and_thresholds_in_the_default_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = call(capsys, "calibrate", *SHORT, "--json", "--quiet", "--save")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["parameters"]["cpus"] == [CORE]
    assert (tmp_path / "forestall" / "calibration.json").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--loads", "half"), "--loads: 'half' is not allowed; expected shares such as 5% or 0.05"),
        (("--cpus", "x"), "--cpus: 'x' is not allowed; expected cores"),
        (("--limit", "0%"), "--limit: '0%' is not allowed"),
        (("--repeats", 0), "--repeats: 0 is not allowed"),
        (("--seconds", -1), "--seconds: -1.0 is not allowed"),
        (("--groups", "1", "--loads", "5%,0%"), "--loads: '5%,0%' is not allowed"),
        (("--save", "--folder", "x"), "--folder: 'x' is not allowed; expected nothing with --save"),
    ],
)
def test_refusals_are_one_line(
    capsys: pytest.CaptureFixture[str], options: tuple[object, ...], said: str
) -> None:
    done = call(capsys, "calibrate", *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_foreign_folder_is_refused_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    without = [one for one in SHORT if one != "--force"]
    done = call(capsys, "calibrate", *without, "--out", tmp_path)
    assert done.code == 2
    assert "holds something else" in done.err


def test_folders_that_cannot_be_used_are_refused_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "forestall.sharing.api.calibrate.calibrate.background", None
    )  # nothing is measured
    file = tmp_path / "file"
    file.write_text("")
    taken = tmp_path / "agent"
    (taken / "calibration.json").mkdir(parents=True)
    cases = {
        ("--folder", file): f"{file}: is a file; expected a folder for the agent",
        ("--folder", file / "below"): f"{file / 'below'}: cannot be",
        ("--folder", taken): f"{taken / 'calibration.json'}: is a folder",
        ("--folder", "/proc/none/here"): "/proc/none/here: cannot be written to: /proc",
        ("--out", "/proc/none/here"): "/proc/none/here: cannot be",
        ("--out", file): f"{file}: is a file",
        ("--folder", tmp_path / ("x" * 300)): "cannot be",
    }
    for options, said in cases.items():
        done = call(capsys, "calibrate", *SHORT, *options)
        assert (done.code, done.out) == (2, ""), options
        assert said in done.err
        assert done.err.count("\n") == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["agent", "file"]


def test_a_load_or_group_twice_counts_once() -> None:
    from forestall.sharing.api.calibrate.calibrate import ExperimentSettings

    plan = ExperimentSettings(loads="10%,0.1,20%", groups="2,2", cpus=str(CORE)).plan()
    assert (plan.loads, plan.groups) == ((0.1, 0.2), (2,))


MAIN = """
import sys
from forestall.runs.commands.entry import main
sys.exit(main())
"""


def test_an_interrupted_run_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    out, folder = tmp_path / "out", tmp_path / "agent"
    with subprocess.Popen(
        [
            sys.executable, "-c", MAIN, "calibrate", "--cpus", str(CORE), "--force", "--seconds",
            "20", "--groups", "2", "--out", str(out), "--folder", str(folder),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        pids: list[int] = []
        end = time.monotonic() + 30
        while len(pids) < 7 and time.monotonic() < end and process.poll() is None:
            pids = children_of(process.pid)  # three leaders, two of the owner, two guests
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert len(pids) == 7
    assert all_gone(pids)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "forestall: interrupted; nothing was written"
    assert not out.exists()
    assert not folder.exists()
