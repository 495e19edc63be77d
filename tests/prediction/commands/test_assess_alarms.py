"""`forestall assess alarms` as users call it: the verdict, the numbers, the folder, bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from core.commands.calls import call
from forestall.core.show import style
from forestall.prediction.judge.alarms import report
from forestall.prediction.judge.alarms.report import FOLDER

Capsys = pytest.CaptureFixture[str]
Ends = tuple[float, float] | None
HOUR = 3600
DAY = 24 * HOUR
KEYS = {
    "verdict", "source", "failures_source", "window", "nodes", "node_days", "alarms",
    "alarms_about_the_machine", "alarms_outside_the_window", "failures",
    "failures_before_the_window", "nodes_failed", "lead_s",
    "level", "main_horizon_s", "recall", "chance_recall", "precision",
    "false_alarms_per_node_day", "lead_time_median_s", "horizons", "by_score", "remarks",
    "parameters", "versions",
}  # fmt: skip


def write(path: Path, head: str, rows: list[tuple[object, ...]]) -> Path:
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return alarms, half of them 1 to 5 h before a failure, and the failures of 16 nodes."""
    folder = tmp_path_factory.mktemp("logs")
    rng = np.random.default_rng(1)
    when, node = np.sort(rng.integers(DAY, 60 * DAY, 120)), rng.integers(0, 16, 120)
    failures = write(folder / "failures.csv", "time,node", list(zip(when, node, strict=True)))
    good = [
        (int(t) - int(rng.integers(3600, 18_000)), int(n), 0.9)
        for t, n in zip(when[::2], node[::2], strict=True)
    ]
    wild = [(int(rng.integers(0, 60 * DAY)), int(rng.integers(0, 16)), 0.2) for _ in range(60)]
    return write(folder / "alarms.csv", "time,node,score", good + wild), failures


def summary(capsys: Capsys, *arguments: object) -> dict[str, Any]:
    done = call(capsys, "assess", "alarms", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_the_first_line_is_a_verdict(logs: tuple[Path, Path], capsys: Capsys) -> None:
    done = call(capsys, "assess", "alarms", logs[0], "--failures", logs[1])
    assert (done.code, done.err) == (0, "")
    first = done.out.splitlines()[0]
    assert first.startswith("Better than chance: alarms within 6 h before caught 6")
    for word in ("1 h", "24 h", "Recall", "By chance", "Precision", "Repeats", "Only alarms of"):
        assert word in done.out
    tables = [line for line in done.out.splitlines()[1:] if "  " in line]
    assert max(map(len, tables)) <= 100


def test_the_numbers(logs: tuple[Path, Path], capsys: Capsys) -> None:
    found = summary(capsys, logs[0], "--failures", logs[1], "--nodes", 20)
    assert set(found) == KEYS
    assert (found["alarms"], found["failures"], found["nodes"]) == (120, 120, 20)
    rows = {row["horizon_s"]: row for row in found["horizons"]}
    assert list(rows) == [3600, 6 * 3600, DAY]
    six = rows[6 * 3600]
    assert six["caught"] >= 60
    assert six["recall"] == pytest.approx(six["caught"] / 120)
    assert six["recall_ci"][0] < six["recall"] < six["recall_ci"][1]
    assert six["precision"] > 0.45
    assert six["chance_recall"] < 0.05
    assert six["beats_chance"] is True
    assert 3600 <= six["lead_time_s"]["median"] <= 18_000
    assert six["right"] + six["false_alarms"] + six["late"] + six["undecided"] == 120
    assert six["false_alarms_per_node_day"] == six["false_alarms"] / found["node_days"]
    for name in ("recall", "chance_recall", "precision", "false_alarms_per_node_day"):
        assert found[name] == six[name]
    by_score = found["by_score"]
    assert by_score[-1]["precision"] > by_score[0]["precision"]
    late = summary(capsys, logs[0], "--failures", logs[1], "--lead", "3h", "--horizons", "6h")
    assert late["horizons"][0]["late"] > 0
    assert late["horizons"][0]["caught"] < six["caught"]


@pytest.fixture(scope="module")
def one_week(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return alarms from day 101 on that foresee one week, and failures of 200 days."""
    folder, rng = tmp_path_factory.mktemp("week"), np.random.default_rng(4)
    bursts = [rng.integers(7 * w * DAY, (7 * w + 2) * DAY, 40) for w in (20, 27)]
    when = np.sort(np.concatenate([rng.integers(0, 200 * DAY, 150), *bursts]))
    node = rng.integers(0, 16, len(when))
    good = [(t - HOUR, n) for t, n in zip(when, node, strict=True) if 140 <= t / DAY < 141.2]
    wild = [(rng.integers(101 * DAY, 200 * DAY), rng.integers(0, 16)) for _ in range(900)]
    failures = write(folder / "failures.csv", "time,node", list(zip(when, node, strict=True)))
    return write(folder / "alarms.csv", "time,node", [*good, *wild]), failures


def test_the_interval_that_decides_is_shown(one_week: tuple[Path, Path], capsys: Capsys) -> None:
    found = summary(capsys, one_week[0], "--failures", one_week[1])
    row = found["horizons"][1]
    assert row["beats_chance"] is None
    assert row["recall_ci_weeks"][0] < row["chance_recall"] < row["recall_ci"][0]
    low, high = (f"{100 * end:.1f} %" for end in row["recall_ci_weeks"])
    assert found["verdict"].startswith("No better than chance: ")
    assert f"{low} to {high}, bootstrap over weeks)" in found["verdict"]
    done = call(capsys, "assess", "alarms", one_week[0], "--failures", one_week[1])
    assert "which decides: " in done.out
    assert max(map(len, done.out.splitlines()[1:])) <= 100


@pytest.mark.parametrize(
    ("by_count", "by_weeks", "chance", "decides"),
    [
        ((0.2, 0.4), (0.1, 0.5), 0.05, "recall_ci"),
        ((0.1, 0.5), (0.2, 0.4), 0.05, "recall_ci"),
        ((0.1, 0.5), (0.05, 0.6), 0.3, "recall_ci"),
        ((0.2, 0.4), (0.1, 0.5), 0.15, "recall_ci_weeks"),
        ((0.2, 0.4), (0.1, 0.5), 0.9, "recall_ci"),
        ((0.2, 0.4), None, 0.3, "recall_ci"),
        (None, None, 0.3, None),
    ],
)
def test_which_interval_decides(
    by_count: Ends, by_weeks: Ends, chance: float, decides: str | None
) -> None:
    row = {"recall_ci": by_count, "recall_ci_weeks": by_weeks, "chance_recall": chance}
    assert report.deciding(row) == decides


def test_the_window_begins_at_the_first_alarm(one_week: tuple[Path, Path], capsys: Capsys) -> None:
    alarms, failures = one_week
    times = pl.read_csv(failures)["time"]
    first = pl.read_csv(alarms)["time"].min()
    found = summary(capsys, alarms, "--failures", failures)
    assert found["window"]["from_s"] == first
    assert found["failures_before_the_window"] == (times < first).sum() > 50
    assert found["failures"] == (times >= first).sum()
    done = call(capsys, "assess", "alarms", alarms, "--failures", failures)
    assert "the window begins at the first alarm: " in done.out
    whole = summary(capsys, alarms, "--failures", failures, "--from", 0)
    assert (whole["window"]["from_s"], whole["failures"]) == (0, len(times))
    assert whole["failures_before_the_window"] == 0
    assert whole["recall"] < found["recall"]
    early = summary(capsys, alarms, "--failures", failures, "--days", 90)
    assert (early["alarms"], early["failures"] > 50) == (0, True)


def test_crying_wolf_is_called_so(logs: tuple[Path, Path], tmp_path: Path, capsys: Capsys) -> None:
    hours: list[tuple[object, ...]] = [(t, "*") for t in range(0, 60 * DAY, 3600)]
    wolf = write(tmp_path / "wolf.csv", "time,node", hours)
    found = summary(capsys, wolf, "--failures", logs[1])
    assert found["verdict"].startswith("No better than chance")
    assert found["horizons"][1]["recall"] == 1.0
    assert found["alarms_about_the_machine"] == len(hours)


def test_bad_nodes_are_told_from_bad_times(tmp_path: Path, capsys: Capsys) -> None:
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 60 * DAY, 100))
    failures = write(tmp_path / "f.csv", "time,node", [(t, 3) for t in times])
    hours = [(t, 3) for t in range(0, 60 * DAY, 3600)]
    alarms = write(tmp_path / "a.csv", "time,node", hours)
    found = summary(capsys, alarms, "--failures", failures, "--nodes", 10)
    assert found["verdict"].startswith("Better than chance")
    assert "hardly when" in found["verdict"]


def test_dates_and_a_window(tmp_path: Path, capsys: Capsys) -> None:
    failures = write(
        tmp_path / "f.csv", "time,node", [("2020-01-02T00:00:00", 0), ("2020-01-05T00:00:00", 1)]
    )
    alarms = write(
        tmp_path / "a.csv",
        "time,node",
        [("2020-01-01T23:00:00", 0), ("2020-01-04T12:00", 1), ("2020-03-01T00:00", 1)],
    )
    window = ("--from", "2020-01-01", "--days", 30)
    found = summary(capsys, alarms, "--failures", failures, *window)
    assert [row["caught"] for row in found["horizons"]] == [1, 1, 2]
    assert found["alarms_outside_the_window"] == 1
    assert found["window"]["from"] == "2020-01-01T00:00:00"
    assert found["node_days"] == 60
    assert "2 failures are too few for a firm conclusion" in found["verdict"]


def test_nothing_was_announced(logs: tuple[Path, Path], tmp_path: Path, capsys: Capsys) -> None:
    none = write(tmp_path / "none.csv", "time,node", [])
    done = call(capsys, "assess", "alarms", none, "--failures", logs[1])
    assert done.code == 0
    assert done.out.startswith("No alarms: none of 120 failures was announced.")


@pytest.fixture(scope="module")
def written(logs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from forestall.runs.commands.entry import main

    out = tmp_path_factory.mktemp("reports") / "deep" / "report"
    files = [str(logs[0]), "--failures", str(logs[1]), "--out", str(out), "--quiet"]
    assert main(["assess", "alarms", *files]) == 0
    return out


def test_the_folder(written: Path, logs: tuple[Path, Path], tmp_path: Path, capsys: Capsys) -> None:
    pytest.importorskip("matplotlib")
    assert {path.name for path in written.iterdir()} == set(FOLDER.files)
    assert set(json.loads((written / "summary.json").read_text())) == KEYS
    failed = pl.read_csv(written / "failures.csv")
    found = json.loads((written / "summary.json").read_text())
    assert failed["caught"].sum() == found["horizons"][1]["caught"]
    page = (written / "report.html").read_text()
    assert len(re.findall(r'role="img" aria-label="[^"]{20,}"', page)) == len(FOLDER.figures)
    assert not re.search("https?://", page)
    again = tmp_path / "again"
    done = call(capsys, "assess", "alarms", *logs[:1], "--failures", logs[1], "--out", again, "-q")
    assert done == (0, "", "")
    for path in written.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_a_folder_of_something_else_and_no_matplotlib(
    logs: tuple[Path, Path], tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "has_matplotlib", lambda: False)
    (tmp_path / "notes.txt").write_text("mine")
    options = ("assess", "alarms", logs[0], "--failures", logs[1], "--out")
    assert call(capsys, *options, tmp_path).code == 2
    done = call(capsys, *options, tmp_path / "new")
    assert "forestall[plot]" in done.out
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {*FOLDER.tables, "report.html", "summary.json"}


BAD: dict[str, tuple[tuple[object, ...], str]] = {
    "horizons": (("--horizons", "soon"), "--horizons"),
    "no horizon": (("--horizons", ","), "--horizons"),
    "zero": (("--horizons", "0s"), "--horizons"),
    "lead": (("--lead", "2h"), "--lead"),
    "lead text": (("--lead", "early"), "--lead"),
    "nodes": (("--nodes", 3), "--nodes"),
    "level": (("--level", 1.5), "--level"),
    "from": (("--from", "yesterday"), "--from"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options_are_one_line(
    name: str, logs: tuple[Path, Path], tmp_path: Path, capsys: Capsys
) -> None:
    options, says = BAD[name]
    out = tmp_path / "report"
    done = call(capsys, "assess", "alarms", logs[0], "--failures", logs[1], *options, "--out", out)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    assert says in done.err
    assert not out.exists()


def test_bad_files_are_one_line(logs: tuple[Path, Path], tmp_path: Path, capsys: Capsys) -> None:
    for text in ("", "when,who\n1,2\n", "time,node\nx,y\n"):
        bad = tmp_path / "bad.csv"
        bad.write_text(text)
        done = call(capsys, "assess", "alarms", bad, "--failures", logs[1])
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
        assert "bad.csv" in done.err
    done = call(capsys, "assess", "alarms", logs[0], "--failures", tmp_path / "none.csv")
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_nothing_is_compiled(logs: tuple[Path, Path]) -> None:
    arguments = ["assess", "alarms", str(logs[0]), "--failures", str(logs[1])]
    imported = "import sys; from forestall.runs.commands.entry import main"
    script = f"{imported}\nmain({arguments!r}); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Better")
    assert not {"numba", "scipy.stats", "matplotlib"} & set(done.stdout.splitlines()[-1].split())
