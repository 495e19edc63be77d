"""`forestall traces filter` and `traces generate ras`: from an event log to failures."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call
from forestall.logs import read_failures
from forestall.logs.observed import observed
from forestall.logs.ras import pipeline, read_ras

Capsys = pytest.CaptureFixture[str]
PLACES = ("R00-M0-N0-C:J02-U01", "R00-M0-N1-C:J02-U01", "R01-M0-N0-C:J02-U01")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two incidents of one kind, each told three times by each of three places, and noise."""
    lines = []
    for begin in (1_117_838_570, 1_117_938_570):
        for k in range(9):
            at = begin + 20 * k
            clock = f"2005-06-{3 if begin < 1_117_900_000 else 4:02d}-15.42.50"
            clock = clock[:-2] + f"{k:02d}"
            lines.append(f"- {at} 2005.06.03 {PLACES[k % 3]} {clock}.1 {PLACES[k % 3]} RAS KERNEL "
                         f"FATAL machine check {k}")  # fmt: skip
            lines.append(f"- {at} 2005.06.03 {PLACES[k % 3]} {clock}.2 {PLACES[k % 3]} RAS KERNEL "
                         "INFO all well")  # fmt: skip
    path = tmp_path / "bgl.log"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_what_each_step_took(log: Path, tmp_path: Path, capsys: Capsys) -> None:
    out, names = tmp_path / "failures.csv", tmp_path / "names.csv"
    left = tmp_path / "left.csv"
    code, printed, err = call(
        capsys, "traces", "filter", log, "--out", out, "--names", names, "--records", left
    )
    assert (code, err) == (0, "")
    assert printed.startswith("2 failures from 36 records of ")
    rows = [line.split() for line in printed.splitlines()]
    assert ["severity", "36", "18", "50.0", "%", "2.00"] in [row[:6] for row in rows]
    assert ["temporal", "5", "min", "18", "6", "66.7", "%", "3.00"] in [row[:8] for row in rows]
    assert ["spatial", "5", "min", "6", "2", "66.7", "%", "3.00"] in [row[:8] for row in rows]
    assert "KERNEL machine check <*>" in printed
    assert all(len(line) <= 100 for line in printed.splitlines()[1:-3])
    failures = read_failures(out)
    assert (failures.time.tolist(), failures.node.tolist()) == ([0, 86_400], [0, 0])
    assert failures.kind == ("KERNEL machine check <*>",) * 2
    assert failures.names == tuple(sorted(PLACES))
    assert failures.origin == 1_117_813_320  # the first record's
    assert pl.read_csv(names)["name"].to_list() == sorted(PLACES)
    assert len(read_ras(left)) == 2


def test_json_and_quiet(log: Path, tmp_path: Path, capsys: Capsys) -> None:
    said = json.loads(call(capsys, "traces", "filter", log, "--json", "--granularity", "rack").out)
    assert [(s["name"], s["before"], s["after"], s["threshold_s"]) for s in said["steps"]] == [
        ("severity", 36, 18, None), ("temporal", 18, 6, 300), ("spatial", 6, 2, 300),
        ("causal", 2, 2, 300),
    ]  # fmt: skip
    assert said["steps"][0]["most_removed"] == [{"kind": "KERNEL all well", "count": 18}]
    assert said["failures"]["nodes"] == 2
    assert said["failures"]["count"] == 2
    assert said["failures"]["by_month"] == [
        {"month": "2005-06", "days": 2, "failures": 2, "per_day": 1.0}
    ]
    assert said["begin"] == "2005-06-03T15:42:00"
    out = tmp_path / "failures.csv"
    assert call(capsys, "traces", "filter", log, "--quiet", "--out", out) == (0, "", "")
    assert out.exists()


def test_options_reach_the_filters(log: Path, capsys: Capsys) -> None:
    def count(*options: object) -> int:
        called = call(capsys, "traces", "filter", log, "--json", *options)
        assert called.code == 0, called.err
        return int(json.loads(called.out)["left"])

    assert count("--steps", "severity,temporal") == 6
    assert count("--steps", "severity,temporal", "--temporal", "1s") == 18
    assert count("--spatial", 0) == 6
    assert count("--within", "rack") == 4
    assert count("--severity", "INFO", "--steps", "severity,clusters") == 2
    assert count("--severity", "INFO", "--steps", "severity,clusters", "--clusters", "2d") == 1
    assert count("--from", "2005-06-04", "--days", 1) == 1
    assert count("--templates", "none") == 2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--steps", "temporal,magic"], "magic"),
        (["--steps", ","], "steps"),
        (["--severity", "awful"], "severity"),
        (["--temporal", "soon"], "temporal"),
        (["--rule", "any"], "rule"),
        (["--templates", "any"], "templates"),
        (["--lift", "much"], "lift"),
        (["--support", "2.5"], "support"),
        (["--year", "MMXX"], "year"),
        (["--granularity", "aisle"], "granularity"),
        (["--within", "aisle"], "within"),
        (["--format", "xml"], "format"),
        (["--days", "nan"], "--days"),
        (["--from", "2006-01-01"], "no records in that window"),
        (["--support", 0], "support"),
        (["--year", 3], "year"),
        (["--steps", "alerts", "--out", "OUT"], "no record is left of 36"),
    ],
)
def test_what_is_refused(
    options: list[object], named: str, log: Path, tmp_path: Path, capsys: Capsys
) -> None:
    given = [tmp_path / "out.csv" if option == "OUT" else option for option in options]
    code, out, err = call(capsys, "traces", "filter", log, *given)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert named in err
    assert not (tmp_path / "out.csv").exists()


def test_dirt_is_told_or_refused(log: Path, capsys: Capsys) -> None:
    log.write_text(log.read_text() + "garbage\n")
    done = call(capsys, "traces", "filter", log)
    assert done.code == 0
    assert "1 malformed line" in done.out
    assert "(left out)" in done.out
    code, _, err = call(capsys, "traces", "filter", log, "--strict")
    assert (code, err.count("\n")) == (2, 1)
    assert "bgl.log:37: 'garbage'" in err


def test_logs_without_severities(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "messages"
    path.write_text("Nov  9 12:01:01 n1 kernel: bad\nNov  9 12:09:01 n1 kernel: bad\n")
    done = call(capsys, "traces", "filter", path, "--year", 2023)
    assert done.code == 0
    assert done.out.startswith("2 failures from 2 records")
    assert not any(line.startswith("severity") for line in done.out.splitlines())
    assert "Warning: the log has neither severities nor alert labels, so every record" in done.out
    code, _, err = call(capsys, "traces", "filter", path, "--severity", "FATAL")
    assert (code, err.count("\n")) == (2, 1)
    assert "has no severities" in err


def test_a_made_up_log_goes_all_the_way(tmp_path: Path, capsys: Capsys) -> None:
    out, truth = tmp_path / "events.csv", tmp_path / "truth.csv"
    made = call(
        capsys, "traces", "generate", "ras", out, "--nodes", 256, "--days", 180, "--truth", truth
    )
    assert (made.code, made.err) == (0, "")
    known, table = read_failures(truth), pl.read_csv(truth)
    assert len(known) == len(table)
    assert f"{len(known):,} failures" in made.out
    assert f"{table['warned'].sum():,} of them warned of" in made.out
    assert table["records"].min() >= 1  # type: ignore[operator]
    left = len(pipeline(read_ras(out)).log)
    assert left == pytest.approx(table["incident"].n_unique(), rel=0.1)
    said = json.loads(call(capsys, "traces", "filter", out, "--json").out)
    assert said["left"] == left
    again = tmp_path / "again.csv"
    call(capsys, "traces", "generate", "ras", again, "--nodes", 256, "--days", 180)
    assert again.read_bytes() == out.read_bytes()
    code, _, err = call(capsys, "traces", "generate", "ras", out, "--warned", 2)
    assert (code, err.count("\n")) == (2, 1)
    assert "warned" in err


def test_a_failure_log_for_a_predictor(log: Path, tmp_path: Path, capsys: Capsys) -> None:
    """What the filter writes fits its event log: dates and names go through the file."""
    out, learnt = tmp_path / "failures.csv", tmp_path / "rules.predictor"
    assert (
        call(capsys, "traces", "filter", log, "--granularity", "midplane", "--out", out).code == 0
    )
    done = call(
        capsys, "predict", "train", "rules", out, "--events", log, "--nodes", 2, "--out", learnt
    )
    assert (done.code, done.err) == (0, "")
    assert "2 failures of 2 nodes" in done.out


def test_names_with_like_numbers_stay_apart(tmp_path: Path, capsys: Capsys) -> None:
    path, out = tmp_path / "events.csv", tmp_path / "f.csv"
    head = "time,place,severity,kind\n"
    path.write_text(f"{head}10,web-a1,FATAL,x\n5000,web-b1,FATAL,y\n90000,db7,FATAL,z\n")
    assert call(capsys, "traces", "filter", path, "--out", out, "--quiet").code == 0
    seen = observed(read_failures(out), read_ras(path), nodes=3)
    assert seen.events is not None
    assert seen.events.place.tolist() == seen.failures.node.tolist() == [1, 2, 0]


def test_days_of_a_log_without_a_year(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "messages"
    path.write_text(
        "Nov  9 12:01:01 n1 kernel: a\nNov 11 12:09:01 n1 b: c\nNov 11 15:09:01 n1 d: e\n"
    )
    done = call(capsys, "traces", "filter", path)
    assert "Days: median 1, most 2 (day 3), none on 1 of 3." in done.out
    told = call(capsys, "traces", "filter", path, "--year", 2023)
    assert "Days: median 1, most 2 (2023-11-11), none on 1 of 3." in told.out


def test_steps_that_take_every_record(log: Path, capsys: Capsys) -> None:
    done = call(capsys, "traces", "filter", log, "--steps", "temporal")
    assert "Every record counts as a failure: --steps" in done.out
    assert "Every record" not in call(capsys, "traces", "filter", log).out


def test_a_job_log_is_no_event_log(tmp_path: Path, capsys: Capsys) -> None:
    path = tmp_path / "jobs.swf"
    for top in ("; MaxNodes: 4\n", ""):
        path.write_text(top + "1 0 5 1451 128 -1 -1 128 -1 -1 1 1 1 -1 -1 -1 -1 -1\n")
        for command in (["filter", path], ["info", path, "--as", "events"]):
            code, out, err = call(capsys, "traces", *command)
            assert (code, out, err.count("\n")) == (2, "", 1)
            assert "is a job log (SWF); expected an event log" in err


def test_a_name_without_a_format(tmp_path: Path, capsys: Capsys) -> None:
    code, out, err = call(capsys, "traces", "generate", "ras", tmp_path / "r.txt")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "r.txt: does not say a format; expected a name in .csv, .parquet" in err
    assert list(tmp_path.iterdir()) == []
